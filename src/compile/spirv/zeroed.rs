//! Workgroup variables with a null initializer (`VK_KHR_zero_initialize_workgroup_memory`): the invocations of a workgroup
//! write the zeros together before the entry point's code, and wait for each other.

use super::cx::Cx;
use dovetail_ir::{Access, Align, AluOp, BuiltIn, FenceOrder, MemoryClasses, Op, Scope, Type, Value};

/// Bytes that one invocation writes at once; the variables are padded to it.
pub(super) const UNIT: u32 = 16;

/// Writes the zeros of all such variables. The workgroup's size is known.
pub(super) fn write(cx: &mut Cx<'_>) {
    let ranges = std::mem::take(&mut cx.zeroed);
    if ranges.is_empty() {
        return;
    }
    let invocations = cx.b.shader.modes.local_size.iter().fold(1u32, |n, size| n.saturating_mul(*size)).max(1);
    let own = cx.b.value(Op::load_builtin(BuiltIn::LocalInvocationIndex, 0), &[], Type::B32);
    let zero = cx.b.c32(0);
    let zeros = cx.b.compose(&[zero; (UNIT / 4) as usize]);
    for range in &ranges {
        let units = (range.end - range.start) / UNIT;
        for first in (0..units).step_by(invocations as usize) {
            let offset = place(cx, own, first, units, invocations, range.start);
            cx.b.effect(Op::SharedStore { align: Align::A16, access: Access::default() }, &[offset, zeros]);
        }
    }
    let classes = MemoryClasses { shared: true, ..MemoryClasses::default() };
    let scope = Scope::Workgroup;
    cx.b.effect(Op::Barrier { exec: scope, memory: scope, order: FenceOrder::AcqRel, classes }, &[]);
}

/// The offset of an invocation's unit, counted from `first`. Invocations beyond the last unit write that one too.
fn place(cx: &mut Cx<'_>, own: Value, first: u32, units: u32, invocations: u32, start: u32) -> Value {
    let first = cx.b.c32(first);
    let mut unit = cx.b.alu(AluOp::IAdd, &[own, first]);
    if !units.is_multiple_of(invocations) {
        let last = cx.b.c32(units - 1);
        unit = cx.b.alu(AluOp::UMin, &[unit, last]);
    }
    let bytes = cx.b.imul_const(unit, u64::from(UNIT));
    let start = cx.b.c32(start);
    cx.b.alu(AluOp::IAdd, &[bytes, start])
}
