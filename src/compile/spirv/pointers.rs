//! Comparisons of pointers, and their difference.
//!
//! Pointers are equal if their values are: see `variable_pointers`.

use super::cx::{Cx, SpirvInst, Storage, Ty};
use super::operands::set_result;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Type, Value};
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
    let [a, b] = [inst.id(0)?, inst.id(1)?];
    for id in [a, b] {
        if !matches!(cx.types.get(cx.type_id(id)?), Ty::Pointer { .. }) {
            return Err(inst.malformed("operands that are not pointers"));
        }
    }
    let (a, b) = (cx.values(a)?, cx.values(b)?);
    if a.len() != b.len() || a.is_empty() {
        return Err(inst.malformed("operands of different types"));
    }
    let mut same = None;
    for (&x, &y) in a.iter().zip(&b) {
        let equal = cx.b.alu(AluOp::IEq, &[x, y]);
        same = Some(same.map_or(equal, |same| cx.b.alu(AluOp::IAnd, &[same, equal])));
    }
    same.ok_or_else(|| Error::bug("a pointer without leaves"))
}

/// The number of elements from the second pointer to the first.
fn difference(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<Value> {
    let (a, b) = (cx.pointer(inst.id(0)?)?, cx.pointer(inst.id(1)?)?);
    let to = cx.types.scalar(cx.result_type(inst)?).filter(|ty| *ty != Type::B1);
    let to = to.ok_or_else(|| inst.malformed("a result that is not an integer"))?;
    // Both point into one array, whichever it is.
    let (x, y, ty) = match (&a.place, &b.place) {
        (Storage::Global(_), Storage::Global(_)) => (cx.address(&a, 0), cx.address(&b, 0), Type::B64),
        (x, y) if x == y || [x, y].iter().any(|place| matches!(place, Storage::Chosen { .. })) => {
            (cx.byte_offset(&a, 0), cx.byte_offset(&b, 0), Type::B32)
        }
        _ => return Err(inst.unsupported("of pointers into different variables")),
    };
    let stride = cx.element_stride(inst.id(0)?, &a)?;
    let bytes = cx.b.alu(AluOp::ISub, &[x, y]);
    let stride = cx.b.iconst(ty, stride.max(1).into());
    let elements = cx.b.alu(AluOp::SDiv, &[bytes, stride]);
    let op = if ty.bits() < to.bits() { AluOp::SExt } else { AluOp::Trunc };
    Ok(cx.b.convert(op, elements, to))
}
