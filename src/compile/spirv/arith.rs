//! Integer, float and logical arithmetic, component by component.
//!
//! To add an operation, add a line to [`simple`] if it maps to one IR operation on equal types; otherwise add an arm to
//! [`translate`].

use super::cx::{Cx, LeafValues, SpirvInst};
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, Type, Value};
use spirv::Op;

/// Operations whose operands and result have one scalar type, or whose result is a boolean.
fn simple(op: Op) -> Option<AluOp> {
    use AluOp as A;
    Some(match op {
        Op::IAdd => A::IAdd,
        Op::ISub => A::ISub,
        Op::IMul => A::IMul,
        Op::UDiv => A::UDiv,
        Op::SDiv => A::SDiv,
        Op::UMod => A::UMod,
        Op::SRem => A::SRem,
        Op::SMod => A::SMod,
        Op::SNegate => A::INeg,
        Op::Not | Op::LogicalNot => A::INot,
        Op::BitwiseOr | Op::LogicalOr => A::IOr,
        Op::BitwiseAnd | Op::LogicalAnd => A::IAnd,
        Op::BitwiseXor => A::IXor,
        Op::BitReverse => A::BitReverse,
        Op::FAdd => A::FAdd,
        Op::FSub => A::FSub,
        Op::FMul => A::FMul,
        Op::FDiv => A::FDiv,
        Op::FRem => A::FRem,
        Op::FMod => A::FMod,
        Op::FNegate => A::FNeg,
        Op::IEqual | Op::LogicalEqual => A::IEq,
        Op::INotEqual | Op::LogicalNotEqual => A::INe,
        Op::ULessThan => A::ULt,
        Op::ULessThanEqual => A::ULe,
        Op::UGreaterThan => A::UGt,
        Op::UGreaterThanEqual => A::UGe,
        Op::SLessThan => A::SLt,
        Op::SLessThanEqual => A::SLe,
        Op::SGreaterThan => A::SGt,
        Op::SGreaterThanEqual => A::SGe,
        Op::FOrdEqual => A::FOEq,
        Op::FOrdNotEqual | Op::LessOrGreater => A::FONe,
        Op::FOrdLessThan => A::FOLt,
        Op::FOrdLessThanEqual => A::FOLe,
        Op::FOrdGreaterThan => A::FOGt,
        Op::FOrdGreaterThanEqual => A::FOGe,
        Op::FUnordEqual => A::FUEq,
        Op::FUnordNotEqual => A::FUNe,
        Op::FUnordLessThan => A::FULt,
        Op::FUnordLessThanEqual => A::FULe,
        Op::FUnordGreaterThan => A::FUGt,
        Op::FUnordGreaterThanEqual => A::FUGe,
        Op::Ordered => A::FOrd,
        Op::Unordered => A::FUno,
        Op::IsNan => A::FIsNan,
        Op::IsInf => A::FIsInf,
        _ => return None,
    })
}

/// Translates an arithmetic instruction; false if it is not one.
///
/// # Errors
/// Malformed operands.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    if let Some(op) = simple(inst.op()) {
        let values = by_component(cx, inst, op.arity(), |cx, args| {
            let float = args.iter().all(|v| matches!(cx.b.ty(*v), Type::B16 | Type::B32 | Type::B64));
            if op.takes_float() && !float {
                return Err(inst.malformed("not of floats"));
            }
            Ok(cx.b.alu(op, args))
        })?;
        cx.set(inst.result()?, values);
        return Ok(true);
    }
    let values = match inst.op() {
        Op::ShiftLeftLogical => shift(cx, inst, AluOp::Shl)?,
        Op::ShiftRightLogical => shift(cx, inst, AluOp::LShr)?,
        Op::ShiftRightArithmetic => shift(cx, inst, AluOp::AShr)?,
        Op::BitCount => {
            let to = component(cx, inst)?;
            by_component(cx, inst, 1, |cx, args| {
                let n = cx.b.alu(AluOp::BitCount, args);
                Ok(cx.b.zext_or_trunc(n, to))
            })?
        }
        Op::BitFieldSExtract => extract_field(cx, inst, AluOp::SBitExtract)?,
        Op::BitFieldUExtract => extract_field(cx, inst, AluOp::UBitExtract)?,
        Op::BitFieldInsert => insert_field(cx, inst)?,
        Op::IAddCarry => pair(cx, inst, AluOp::IAdd, AluOp::UAddCarry)?,
        Op::ISubBorrow => pair(cx, inst, AluOp::ISub, AluOp::USubBorrow)?,
        Op::UMulExtended => pair(cx, inst, AluOp::IMul, AluOp::UMulHigh)?,
        Op::SMulExtended => pair(cx, inst, AluOp::IMul, AluOp::SMulHigh)?,
        Op::Any => fold(cx, inst, AluOp::IOr)?,
        Op::All => fold(cx, inst, AluOp::IAnd)?,
        Op::QuantizeToF16 => by_component(cx, inst, 1, |cx, args| Ok(cx.b.alu(AluOp::FQuantize16, args)))?,
        _ => return Ok(false),
    };
    cx.set(inst.result()?, values);
    Ok(true)
}

fn component(cx: &Cx<'_>, inst: &SpirvInst<'_>) -> Result<Type> {
    let ty = cx.result_type(inst)?;
    cx.types.component(ty).ok_or_else(|| inst.malformed("the result is neither scalar nor vector"))
}

/// Applies a function to the n-th components of the first `arity` operands, for each n; checks their types.
fn by_component(
    cx: &mut Cx<'_>,
    inst: &SpirvInst<'_>,
    arity: usize,
    mut f: impl FnMut(&mut Cx<'_>, &[Value]) -> Result<Value>,
) -> Result<LeafValues> {
    let to = component(cx, inst)?;
    let count = cx.types.leaf_count(cx.result_type(inst)?)?;
    let mut operands: smallvec::SmallVec<[LeafValues; 3]> = smallvec::SmallVec::new();
    for n in 0..arity {
        operands.push(cx.values_n(inst.id(n)?, count)?);
    }
    let mut out = LeafValues::with_capacity(count);
    for i in 0..count {
        let args: LeafValues = operands.iter().filter_map(|o| o.get(i).copied()).collect();
        if args.windows(2).any(|w| matches!(w, [a, b] if cx.b.ty(*a) != cx.b.ty(*b))) {
            return Err(inst.malformed("operands of different types"));
        }
        let v = f(cx, &args)?;
        if cx.b.ty(v) != to {
            return Err(inst.malformed("the result type does not fit the operands"));
        }
        out.push(v);
    }
    Ok(out)
}

fn shift(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: AluOp) -> Result<LeafValues> {
    let to = component(cx, inst)?;
    let count = cx.types.leaf_count(cx.result_type(inst)?)?;
    let values = cx.values_n(inst.id(0)?, count)?;
    let amounts = cx.values_n(inst.id(1)?, count)?;
    let mut out = LeafValues::new();
    for (v, n) in values.into_iter().zip(amounts) {
        if cx.b.ty(v) != to {
            return Err(inst.malformed("the result type does not fit the operands"));
        }
        let n = cx.b.zext_or_trunc(n, to);
        out.push(cx.b.alu(op, &[v, n]));
    }
    Ok(out)
}

/// Offset and count of a bit field, each as 32 bits.
fn field(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize) -> Result<[Value; 2]> {
    let (offset, count) = (cx.value(inst.id(at)?)?, cx.value(inst.id(at + 1)?)?);
    Ok([cx.b.zext_or_trunc(offset, Type::B32), cx.b.zext_or_trunc(count, Type::B32)])
}

fn extract_field(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: AluOp) -> Result<LeafValues> {
    let [offset, count] = field(cx, inst, 1)?;
    by_component(cx, inst, 1, |cx, args| {
        let [v] = *args else { return Err(inst.malformed("no base")) };
        Ok(cx.b.alu(op, &[v, offset, count]))
    })
}

fn insert_field(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<LeafValues> {
    let [offset, count] = field(cx, inst, 2)?;
    by_component(cx, inst, 2, |cx, args| {
        let [base, insert] = *args else { return Err(inst.malformed("no base")) };
        let ty = cx.b.ty(base);
        let ones = cx.b.iconst(ty, u64::MAX);
        let zero = cx.b.c32(0);
        let low = cx.b.alu(AluOp::UBitExtract, &[ones, zero, count]);
        // An offset equal to the width implies a count of 0; even then the shift must have a defined result.
        let width = cx.b.c32(ty.bits().count() - 1);
        let offset = cx.b.alu(AluOp::IAnd, &[offset, width]);
        let offset = cx.b.zext_or_trunc(offset, ty);
        let mask = cx.b.alu(AluOp::Shl, &[low, offset]);
        let insert = cx.b.alu(AluOp::Shl, &[insert, offset]);
        let insert = cx.b.alu(AluOp::IAnd, &[insert, mask]);
        let keep = cx.b.alu(AluOp::INot, &[mask]);
        let base = cx.b.alu(AluOp::IAnd, &[base, keep]);
        Ok(cx.b.alu(AluOp::IOr, &[base, insert]))
    })
}

/// A struct of two: all low results, then all high ones.
fn pair(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, low: AluOp, high: AluOp) -> Result<LeafValues> {
    let (a, b) = (cx.values(inst.id(0)?)?, cx.values(inst.id(1)?)?);
    if cx.types.leaf_types(cx.result_type(inst)?)?.len() != 2 * a.len() || a.len() != b.len() {
        return Err(inst.malformed("the result type does not fit the operands"));
    }
    let mut out = LeafValues::new();
    for op in [low, high] {
        for (&x, &y) in a.iter().zip(&b) {
            let ty = cx.b.ty(x);
            if ty != cx.b.ty(y) {
                return Err(inst.malformed("operands of different types"));
            }
            let v = cx.b.alu(op, &[x, y]);
            out.push(cx.b.convert(AluOp::ZExt, v, ty));
        }
    }
    Ok(out)
}

fn fold(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: AluOp) -> Result<LeafValues> {
    let all = cx.values(inst.id(0)?)?;
    if all.iter().any(|v| cx.b.ty(*v) != Type::B1) {
        return Err(inst.malformed("not of truth values"));
    }
    let one = all.into_iter().reduce(|a, b| cx.b.alu(op, &[a, b]));
    Ok(one.into_iter().collect())
}
