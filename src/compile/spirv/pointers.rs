//! Comparisons of pointers, and their difference.
//!
//! Pointers into different variables are different; into one variable, their byte offsets are compared, and for an array
//! of bindings the indices of the bindings. A null pointer equals only a null pointer.

use super::cx::{Cx, Def, Pointer, SpirvInst, Storage};
use super::operands::set_result;
use crate::error::Result;
use crate::ir::{AluOp, Type, Value};
use spirv::Op;

/// Translates a comparison or a difference of pointers; false if it is neither.
///
/// # Errors
/// Malformed operands. Unsupported: the difference of pointers into different variables.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    let value = match inst.op() {
        Op::PtrEqual => equal(cx, inst)?,
        Op::PtrNotEqual => {
            let (equal, yes) = (equal(cx, inst)?, cx.b.cbool(true));
            cx.b.alu(AluOp::IXor, &[equal, yes])
        }
        Op::PtrDiff => difference(cx, inst)?,
        _ => return Ok(false),
    };
    set_result(cx, inst, [value].as_slice())?;
    Ok(true)
}

fn equal(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<Value> {
    let (a, b) = (inst.id(0)?, inst.id(1)?);
    if !cx.is_logical_pointer(cx.type_id(a)?) {
        let (a, b) = (cx.value(a)?, cx.value(b)?);
        if [a, b].iter().any(|v| cx.b.ty(*v) != Type::B64) {
            return Err(inst.malformed("operands that are not pointers"));
        }
        return Ok(cx.b.alu(AluOp::IEq, &[a, b]));
    }
    let [null_a, null_b] = [is_null(cx, a)?, is_null(cx, b)?];
    if null_a || null_b {
        return Ok(cx.b.cbool(null_a && null_b));
    }
    let (a, b) = (cx.pointer(a)?, cx.pointer(b)?);
    let Some(same_place) = same_place(cx, &a, &b) else { return Ok(cx.b.cbool(false)) };
    let (x, y) = (cx.byte_offset(&a, 0), cx.byte_offset(&b, 0));
    let same_offset = cx.b.alu(AluOp::IEq, &[x, y]);
    Ok(cx.b.alu(AluOp::IAnd, &[same_place, same_offset]))
}

fn is_null(cx: &mut Cx<'_>, id: u32) -> Result<bool> {
    Ok(matches!(cx.def(id)?, Def::Constant(_)))
}

/// Whether two pointers point into the same binding of a variable; `None` if into different variables.
fn same_place(cx: &mut Cx<'_>, a: &Pointer, b: &Pointer) -> Option<Value> {
    match (&a.place, &b.place) {
        (Storage::Buffer { resource: x, index: i, .. }, Storage::Buffer { resource: y, index: j, .. }) if x == y => {
            let [i, j] = [*i, *j].map(|index| cx.binding_index(index));
            Some(cx.b.alu(AluOp::IEq, &[i, j]))
        }
        (x, y) => (x == y).then(|| cx.b.cbool(true)),
    }
}

/// The number of elements from the second pointer to the first.
fn difference(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<Value> {
    let (a, b) = (cx.pointer(inst.id(0)?)?, cx.pointer(inst.id(1)?)?);
    let to = cx.types.scalar(cx.result_type(inst)?).filter(|ty| *ty != Type::B1);
    let to = to.ok_or_else(|| inst.malformed("a result that is not an integer"))?;
    let (x, y, ty) = match (&a.place, &b.place) {
        (Storage::Global(_), Storage::Global(_)) => (cx.address(&a, 0), cx.address(&b, 0), Type::B64),
        (x, y) if x == y => (cx.byte_offset(&a, 0), cx.byte_offset(&b, 0), Type::B32),
        _ => return Err(inst.unsupported("of pointers into different variables")),
    };
    let stride = cx.element_stride(inst.id(0)?, &a)?;
    let bytes = cx.b.alu(AluOp::ISub, &[x, y]);
    let stride = cx.b.iconst(ty, stride.max(1).into());
    let elements = cx.b.alu(AluOp::SDiv, &[bytes, stride]);
    let op = if ty.bits() < to.bits() { AluOp::SExt } else { AluOp::Trunc };
    Ok(cx.b.convert(op, elements, to))
}
