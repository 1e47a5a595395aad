//! Ordering between invocations (barriers, fences) and queries about neighbours and device: derivatives, helper state,
//! clock.

use super::cx::{Cx, LeafValues, SpirvInst};
use super::float::FloatOps;
use super::operands::{result_component, set_result, words};
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, DerivativeKind, FenceOrder, MemoryClasses, Op as IrOp, Scope, Type};
use spirv::{MemorySemantics, Op};

/// Translates one of these instructions; false if it is not one.
///
/// # Errors
/// Malformed operands, unsupported scopes.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    match inst.op() {
        Op::ControlBarrier => {
            let exec = scope(cx, inst, 0)?;
            let memory = scope(cx, inst, 1)?;
            let (order, classes) = semantics(cx, inst, 2)?;
            cx.b.effect(IrOp::Barrier { exec, memory, order, classes }, &[]);
        }
        Op::MemoryBarrier => {
            let scope = scope(cx, inst, 0)?;
            let (order, classes) = semantics(cx, inst, 1)?;
            fence(cx, scope, order, classes);
        }
        Op::DemoteToHelperInvocation => {
            helpers(cx, inst)?;
            let always = cx.b.cbool(true);
            cx.b.effect(IrOp::DemoteIf, &[always]);
        }
        Op::IsHelperInvocationEXT => {
            helpers(cx, inst)?;
            let helper = cx.b.value(IrOp::IsHelper, &[], Type::B1);
            set_result(cx, inst, LeafValues::from_slice(&[helper]))?;
        }
        Op::ReadClockKHR => {
            let scope = scope(cx, inst, 0)?;
            let clock = cx.b.value(IrOp::ReadClock(scope), &[], Type::B64);
            let whole = result_component(cx, inst)? == Type::B64;
            let parts = if whole { LeafValues::from_slice(&[clock]) } else { words(&mut cx.b, clock) };
            set_result(cx, inst, parts)?;
        }
        op => return derivative(cx, inst, op),
    }
    Ok(true)
}

/// Checks that the stage has helper invocations, for instructions that make or query them.
///
/// # Errors
/// Malformed: it has none.
pub fn helpers(cx: &Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let stage = cx.b.shader.stage;
    if !stage.shades_pixels() {
        return Err(inst.malformed(format!("a {stage} shader has no helper invocations")));
    }
    Ok(())
}

/// Orders memory accesses, if the semantics require an order.
pub fn fence(cx: &mut Cx<'_>, scope: Scope, order: FenceOrder, classes: MemoryClasses) {
    let fence = IrOp::Fence { scope, order, classes };
    if fence.orders_memory() {
        cx.b.effect(fence, &[]);
    }
}

/// Operand `at` as a scope.
///
/// # Errors
/// Malformed: not a constant; unsupported: ray tracing scopes.
pub fn scope(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize) -> Result<Scope> {
    Ok(match spirv::Scope::from_u32(cx.const_u32(inst.id(at)?)?) {
        Some(spirv::Scope::CrossDevice) => Scope::System,
        Some(spirv::Scope::Device | spirv::Scope::QueueFamily) => Scope::Device,
        Some(spirv::Scope::Workgroup) => Scope::Workgroup,
        Some(spirv::Scope::Subgroup) => Scope::Subgroup,
        Some(spirv::Scope::Invocation) => Scope::Invocation,
        Some(other) => return Err(inst.unsupported(format!("scope {other:?}"))),
        None => return Err(inst.malformed("no such scope")),
    })
}

/// Operand `at` as memory semantics: the order, and the memory classes.
///
/// # Errors
/// Malformed: not a constant.
pub fn semantics(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize) -> Result<(FenceOrder, MemoryClasses)> {
    let bits = MemorySemantics::from_bits_retain(cx.const_u32(inst.id(at)?)?);
    let both = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::SEQUENTIALLY_CONSISTENT;
    let order = if bits.intersects(both) || bits.contains(MemorySemantics::ACQUIRE | MemorySemantics::RELEASE) {
        FenceOrder::AcqRel
    } else if bits.contains(MemorySemantics::ACQUIRE) {
        FenceOrder::Acquire
    } else if bits.contains(MemorySemantics::RELEASE) {
        FenceOrder::Release
    } else {
        FenceOrder::None
    };
    let classes = MemoryClasses {
        buffer: bits.intersects(MemorySemantics::UNIFORM_MEMORY | MemorySemantics::CROSS_WORKGROUP_MEMORY),
        image: bits.contains(MemorySemantics::IMAGE_MEMORY),
        shared: bits.contains(MemorySemantics::WORKGROUP_MEMORY),
    };
    Ok((order, classes))
}

fn derivative(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: Op) -> Result<bool> {
    let (x, y, fine) = match op {
        Op::DPdx | Op::DPdxCoarse => (true, false, false),
        Op::DPdxFine => (true, false, true),
        Op::DPdy | Op::DPdyCoarse => (false, true, false),
        Op::DPdyFine => (false, true, true),
        Op::Fwidth | Op::FwidthCoarse => (true, true, false),
        Op::FwidthFine => (true, true, true),
        _ => return Ok(false),
    };
    if !cx.b.shader.has_derivatives() {
        return Err(inst.malformed("a derivative where invocations make no quads"));
    }
    let mut results = LeafValues::new();
    for v in cx.values(inst.id(0)?)? {
        if !matches!(cx.b.ty(v), Type::B16 | Type::B32) {
            return Err(inst.unsupported("of what is neither 16 nor 32 bits"));
        }
        // Lanes exchange 32 bits at a time.
        let result = cx.b.wide(v, |b, v| {
            let mut along = |vertical| b.value(IrOp::Derivative(DerivativeKind { vertical, fine }), &[v], Type::B32);
            match (x, y) {
                (true, true) => {
                    let (dx, dy) = (along(false), along(true));
                    let (dx, dy) = (b.f1(AluOp::FAbs, dx), b.f1(AluOp::FAbs, dy));
                    b.fadd(dx, dy)
                }
                (horizontal, _) => along(!horizontal),
            }
        });
        results.push(result);
    }
    set_result(cx, inst, results)?;
    Ok(true)
}
