//! Checks of operands and results that several instruction modules share.

use super::cx::{Cx, LeafValues, SpirvInst};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Builder, Type, Value};

/// The scalar type of an instruction's result, or of its components.
///
/// # Errors
/// Malformed: the result is neither scalar nor vector.
pub fn result_component(cx: &Cx<'_>, inst: &SpirvInst<'_>) -> Result<Type> {
    let ty = cx.result_type(inst)?;
    cx.types.component(ty).ok_or_else(|| inst.malformed("the result is neither scalar nor vector"))
}

/// The low and the high word of a 64-bit value.
pub fn words(b: &mut Builder<'_>, v: Value) -> LeafValues {
    let pair = match Type::vector(Type::B32.bits(), 2) {
        Some(ty) => b.bitcast(v, ty),
        None => v,
    };
    b.split(pair).into_iter().collect()
}

/// A 64-bit value from its low and high word.
pub fn from_words(b: &mut Builder<'_>, words: &[Value]) -> Value {
    let pair = b.compose(words);
    b.bitcast(pair, Type::B64)
}

/// Sets the result of an instruction.
///
/// # Errors
/// Malformed: the values do not match the result type, which happens only with wrong operands.
pub fn set_result(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, values: impl Into<LeafValues>) -> Result<()> {
    let values = values.into();
    let ty = cx.result_type(inst)?;
    let want = cx.types.leaf_types(ty)?;
    if want.len() != values.len() || want.iter().zip(&values).any(|(&ty, &v)| cx.b.ty(v) != ty) {
        return Err(inst.malformed("operands do not fit the result type"));
    }
    cx.set(inst.result()?, values);
    Ok(())
}

/// The components of an integer, in 32 bits: extended as its type says. A component that does not fit becomes the
/// nearest number that does, because one that is out of range has to stay so.
///
/// # Errors
/// Malformed: not an integer.
pub fn saturated(cx: &mut Cx<'_>, id: u32) -> Result<LeafValues> {
    let (ty, values) = (cx.type_id(id)?, cx.values(id)?);
    let signed = cx.types.is_signed(ty);
    let one = |v: Value| {
        let from = cx.b.ty(v);
        if !from.is_scalar() || from == Type::B1 {
            return Err(Error::malformed(format!("{from} where an integer is needed")));
        }
        let mut v = v;
        if from == Type::B64 {
            let most = cx.b.iconst(from, i32::MAX as u64);
            v = cx.b.alu(if signed { AluOp::SMin } else { AluOp::UMin }, &[v, most]);
            if signed {
                let least = cx.b.iconst(from, i64::from(i32::MIN) as u64);
                v = cx.b.alu(AluOp::SMax, &[v, least]);
            }
        }
        let op = match (from.bits() < Type::B32.bits(), signed) {
            (true, true) => AluOp::SExt,
            (true, false) => AluOp::ZExt,
            (false, _) => AluOp::Trunc,
        };
        Ok(cx.b.convert(op, v, Type::B32))
    };
    values.into_iter().map(one).collect()
}

/// Operand `at`, which must be a boolean.
///
/// # Errors
/// Malformed: it is not.
pub fn condition(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize) -> Result<Value> {
    let v = cx.value(inst.id(at)?)?;
    if cx.b.ty(v) == Type::B1 { Ok(v) } else { Err(inst.malformed(format!("operand {at} is not a truth value"))) }
}
