//! Addresses of tables that user data point to, and loads from them.
//!
//! All driver tables are in the same 4 GiB as the code, so a pointer is one SGPR, and its high half is that of the
//! program counter. The 64-bit address is built once, in the prelude.

use super::entry_values::Entry;
use super::prelude::Prelude;
use dovetail_base::error::Result;
use dovetail_ir::{Align, AmdOp, Builder, Op, Shader, Type, Value};
use dovetail_metadata::interface::UserData;

/// A pair of dwords.
pub(super) const PAIR: Type = match Type::vector(dovetail_ir::Bits::B32, 2) {
    Some(t) => t,
    None => Type::B64,
};

/// The 64-bit address whose low half is user data.
pub(super) fn table(p: &mut Prelude, shader: &mut Shader, entry: &Entry, which: UserData) -> Result<Value> {
    let low = entry.user(which)?;
    let high = high(p, shader);
    Ok(join(p, shader, low, high))
}

/// High half of every driver address.
pub(super) fn high(p: &mut Prelude, shader: &mut Shader) -> Value {
    p.value(shader, Op::Target(AmdOp::AddressHigh), &[], Type::B32)
}

/// An address from its halves, in the prelude.
pub(super) fn join(p: &mut Prelude, shader: &mut Shader, low: Value, high: Value) -> Value {
    let pair = p.value(shader, Op::Compose, &[low, high], PAIR);
    p.value(shader, Op::Bitcast, &[pair], Type::B64)
}

/// An address whose low half was computed in the current block.
pub(super) fn widen(p: &mut Prelude, b: &mut Builder<'_>, low: Value) -> Value {
    let high = high(p, b.shader);
    let pair = b.compose(&[low, high]);
    b.bitcast(pair, Type::B64)
}

/// Loads from a table.
pub(super) fn load(b: &mut Builder<'_>, address: Value, offset: Value, ty: Type, align: Align) -> Value {
    b.value(Op::Target(AmdOp::TableLoad { align }), &[address, offset], ty)
}
