//! Large values that are only moved: a structure that a call takes by value is loaded from one variable, and stored to
//! another as it is. A loop copies it, instead of a load and a store for each leaf. It must have more leaves than
//! registers could hold, must come from a variable of the invocation, and must have one use, a store or a return that
//! follows in its block before anything else is written.

use super::cx::{Cx, Def, Pointer, SpirvInst, Storage};
use super::decode::Insts;
use super::types::MemoryLayout;
use super::usage::Usage;
use dovetail_base::error::Result;
use dovetail_ir::{Align, AluOp, Bits, LocalId, Merge, Op as Ir, Type};
use spirv::Op;

/// Leaves that a lane could hold in registers.
const MOST_LEAVES: usize = 256;
/// Limit of instructions between a load and the use of its value.
const MOST_STEPS: usize = 64;

/// Instructions of a block after the one at hand.
#[derive(Clone, Copy)]
pub(super) struct Rest<'m> {
    /// All instructions of the block.
    pub insts: Insts<'m>,
    /// Number of them that are done, with the one at hand.
    pub done: usize,
}

/// Defines the result of a load as moved, if it is only moved.
///
/// # Errors
/// Malformed operands.
pub(super) fn load(cx: &mut Cx<'_>, usage: &Usage, rest: Rest<'_>, at: &SpirvInst<'_>) -> Result<bool> {
    let result = at.result()?;
    let ty = cx.result_type(at)?;
    if at.op() != Op::Load || at.len() > 1 || cx.types.leaf_count(ty)? <= MOST_LEAVES || !is_moved(usage, rest, result)
    {
        return Ok(false);
    }
    let pointer = cx.pointer(at.id(0)?)?;
    if pointer.ty != ty || local(&pointer).is_none() || pointer.access.volatile {
        return Ok(false);
    }
    let Def::Pointer(moved) = cx.pointer_def(pointer) else { return Ok(false) };
    cx.define(result, Def::Moved(moved));
    Ok(true)
}

/// Loads what a call has returned as moved, unless the call's result is only moved itself.
///
/// # Errors
/// Those of a load.
pub(super) fn returned(cx: &mut Cx<'_>, usage: &Usage, rest: Rest<'_>, result: u32) -> Result<()> {
    if matches!(cx.known(result), Some(Def::Moved(_))) && !is_moved(usage, rest, result) {
        let values = cx.values(result)?;
        cx.set(result, values);
    }
    Ok(())
}

/// Stores a moved value by a loop; false if it is not one, or other memory than a variable's.
///
/// # Errors
/// Malformed operands.
pub(super) fn store(cx: &mut Cx<'_>, to: &Pointer, value: u32) -> Result<bool> {
    let Some(Def::Moved(from)) = cx.known(value) else { return Ok(false) };
    let from = cx.pointer_at(*from)?.clone();
    let (Some(source), Some(target)) = (local(&from), local(to)) else { return Ok(false) };
    let align = from.align(0).min(to.align(0)).min(Align::A16);
    let (bytes, step) = (cx.types.size(from.ty, MemoryLayout::PACKED), align.bytes());
    let Some(unit) = Type::vector(Bits::B32, step / 4).filter(|_| from.ty == to.ty) else { return Ok(false) };
    if to.access.volatile || !bytes.is_multiple_of(step) {
        return Ok(false);
    }
    let offsets = [cx.byte_offset(&from, 0), cx.byte_offset(to, 0)];
    let [header, body, latch, after] = [(); 4].map(|()| cx.b.new_block());
    let (first, end) = (cx.b.c32(0), cx.b.c32(bytes));
    cx.b.jump(header, &[first]);
    cx.b.switch_to(header);
    let at = cx.b.shader.add_param(header, Type::B32);
    cx.b.set_merge(Merge::Loop { merge: after, continue_to: latch });
    let more = cx.b.alu(AluOp::ULt, &[at, end]);
    cx.b.branch(more, body, after);
    cx.b.switch_to(body);
    let places = offsets.map(|offset| cx.b.alu(AluOp::IAdd, &[offset, at]));
    let moved = cx.b.value(Ir::LocalLoad { local: source, align }, &[places[0]], unit);
    cx.b.effect(Ir::LocalStore { local: target, align }, &[places[1], moved]);
    cx.b.jump(latch, &[]);
    cx.b.switch_to(latch);
    let step = cx.b.c32(step);
    let next = cx.b.alu(AluOp::IAdd, &[at, step]);
    cx.b.jump(header, &[next]);
    cx.b.switch_to(after);
    cx.contents.forget(target);
    Ok(true)
}

/// The variable of the invocation that a pointer points into.
fn local(pointer: &Pointer) -> Option<LocalId> {
    match pointer.place {
        Storage::Local(local) if pointer.layout == MemoryLayout::PACKED => Some(local),
        _ => None,
    }
}

/// Whether the only use of a value stores or returns it, and nothing is written before.
fn is_moved(usage: &Usage, rest: Rest<'_>, id: u32) -> bool {
    if !usage.is_used_once(id) {
        return false;
    }
    for inst in rest.insts.iter().skip(rest.done).take(MOST_STEPS) {
        match inst.op() {
            Op::Store => return inst.id(1) == Ok(id),
            Op::ReturnValue => return inst.id(0) == Ok(id),
            Op::Load | Op::AccessChain | Op::InBoundsAccessChain => {}
            _ => return false,
        }
    }
    false
}
