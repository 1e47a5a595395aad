//! Joins of values: block parameters, `OpPhi` and `OpSelect`.

use super::cx::{Cx, Pointer};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Align, Type, Value};

/// Checks that values passed to parameters have their types.
pub(super) fn check(cx: &Cx<'_>, values: &[Value], types: &[Type]) -> Result<()> {
    let same = values.len() == types.len() && values.iter().zip(types).all(|(v, t)| cx.b.ty(*v) == *t);
    if same { Ok(()) } else { Err(Error::malformed("a value of another type than the place it goes to")) }
}

/// Whether `OpPhi` or `OpSelect` of two pointers can be one pointer: same storage, different offset.
pub(super) fn joinable(a: &Pointer, b: &Pointer) -> bool {
    a.place == b.place && a.ty == b.ty && a.layout == b.layout
}

/// The pointer at an offset in the storage of another.
pub(super) fn at_offset(cx: &Cx<'_>, like: &Pointer, offset: Value) -> Pointer {
    if let Some(known) = cx.b.shader.as_const(offset) {
        return Pointer { dynamic: None, dynamic_align: Align::of_offset(0), constant: known as u32, ..like.clone() };
    }
    let natural = Align::from_bytes(cx.types.packed_align(like.ty).min(8));
    Pointer {
        dynamic: Some(offset),
        reach: None,
        // The other side's offset is not known yet, but every pointee has at least its scalars' alignment.
        dynamic_align: natural.unwrap_or(Align::A1),
        constant: 0,
        ..like.clone()
    }
}
