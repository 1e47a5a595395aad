//! Atomic instructions on buffers, workgroup memory, physical memory and texels.
//!
//! Memory semantics become fences around a relaxed operation: a release before it, an acquire after it. An atomic flag
//! is a 32-bit integer, 0 when clear.

use super::addresses::PointerMemory;
use super::cx::{Cx, LeafValues, SpirvInst, Storage};
use super::image;
use super::operands::{result_component, set_result};
use super::sync::{fence, scope, semantics};
use dovetail_base::error::Result;
use dovetail_ir::{Access, AluOp, AtomicOp, FenceOrder, Op as IrOp, Type, Value};
use smallvec::{SmallVec, smallvec};
use spirv::Op;

/// Translates an atomic instruction; false if it is not one.
///
/// # Errors
/// Malformed operands, memory that has no atomics.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    let Some(op) = operation(inst.op()) else { return Ok(false) };
    let compare_exchange = op == AtomicOp::CompareExchange;
    let scope = scope(cx, inst, 1)?;
    let (order, classes) = semantics(cx, inst, 2)?;
    let ty = match inst.op() {
        Op::AtomicStore => {
            let data = cx.value(inst.id(3)?)?;
            cx.b.ty(data)
        }
        Op::AtomicFlagTestAndSet | Op::AtomicFlagClear => Type::B32,
        _ => result_component(cx, inst)?,
    };
    if !matches!(ty, Type::B32 | Type::B64) {
        return Err(inst.unsupported(format!("on {} bits", ty.bits().count())));
    }
    let data: LeafValues = match inst.op() {
        Op::AtomicLoad => smallvec![],
        Op::AtomicIIncrement | Op::AtomicIDecrement | Op::AtomicFlagTestAndSet => smallvec![cx.b.iconst(ty, 1)],
        Op::AtomicFlagClear => smallvec![cx.b.iconst(ty, 0)],
        // Two memory semantics, then the new value and the comparator.
        _ if compare_exchange => smallvec![cx.value(inst.id(4)?)?, cx.value(inst.id(5)?)?],
        _ => smallvec![cx.value(inst.id(3)?)?],
    };
    if data.iter().any(|&d| cx.b.ty(d) != ty) {
        return Err(inst.malformed("data of another type than the memory"));
    }
    let releases = matches!(order, FenceOrder::Release | FenceOrder::AcqRel);
    let acquires = matches!(order, FenceOrder::Acquire | FenceOrder::AcqRel);
    if releases && op != AtomicOp::Load {
        fence(cx, scope, FenceOrder::Release, classes);
    }
    let old = perform(cx, inst, op, &data, ty)?;
    if acquires && op != AtomicOp::Store {
        fence(cx, scope, FenceOrder::Acquire, classes);
    }
    match old {
        Some(old) if inst.op() == Op::AtomicFlagTestAndSet => {
            let zero = cx.b.iconst(ty, 0);
            let was_set = cx.b.alu(AluOp::INe, &[old, zero]);
            set_result(cx, inst, [was_set].as_slice())?;
        }
        Some(old) => set_result(cx, inst, [old].as_slice())?,
        None => {}
    }
    Ok(true)
}

fn operation(op: Op) -> Option<AtomicOp> {
    Some(match op {
        Op::AtomicLoad => AtomicOp::Load,
        Op::AtomicStore | Op::AtomicFlagClear => AtomicOp::Store,
        Op::AtomicExchange | Op::AtomicFlagTestAndSet => AtomicOp::Exchange,
        Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => AtomicOp::CompareExchange,
        Op::AtomicIIncrement | Op::AtomicIAdd => AtomicOp::IAdd,
        Op::AtomicIDecrement | Op::AtomicISub => AtomicOp::ISub,
        Op::AtomicSMin => AtomicOp::SMin,
        Op::AtomicUMin => AtomicOp::UMin,
        Op::AtomicSMax => AtomicOp::SMax,
        Op::AtomicUMax => AtomicOp::UMax,
        Op::AtomicAnd => AtomicOp::And,
        Op::AtomicOr => AtomicOp::Or,
        Op::AtomicXor => AtomicOp::Xor,
        Op::AtomicFAddEXT => AtomicOp::FAdd,
        Op::AtomicFMinEXT => AtomicOp::FMin,
        Op::AtomicFMaxEXT => AtomicOp::FMax,
        _ => return None,
    })
}

/// The operation itself, on the memory that operand 0 points to; returns the old value (`None` for a store).
fn perform(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: AtomicOp, data: &[Value], ty: Type) -> Result<Option<Value>> {
    let id = inst.id(0)?;
    let pointer = cx.pointer(id)?;
    let mut access = Access { coherent: true, ..pointer.access };
    access.non_uniform |= cx.non_uniform(id);
    let (op, place) = if let Storage::Texel(texel) = &pointer.place {
        image::texel_atomic(cx, inst, texel, op, access)?
    } else {
        match cx.memory(&pointer, 0)? {
            PointerMemory::Shared(offset) => (IrOp::SharedAtomic(op), smallvec![offset]),
            PointerMemory::Buffer { descriptor, offset, .. } => {
                (IrOp::BufferAtomic { op, access }, smallvec![descriptor, offset])
            }
            PointerMemory::Global(address) => (IrOp::GlobalAtomic { op, access }, smallvec![address]),
            PointerMemory::Local(..) => return Err(inst.unsupported("on a variable of the invocation")),
        }
    };
    let args: SmallVec<[Value; 8]> = place.iter().chain(data).copied().collect();
    if inst.result_id.is_none() {
        cx.b.effect(op, &args);
        return Ok(None);
    }
    Ok(Some(cx.b.value(op, &args, ty)))
}
