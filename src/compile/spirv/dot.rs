//! Dot products: `OpSDot`, `OpUDot`, `OpSUDot`, their saturating accumulating forms, and f16 dot products with a wider
//! sum.
//!
//! Operands are vectors, or four bytes packed into 32 bits. Four bytes of one signedness are one operation; all other
//! forms are split, extended to the result's width and summed. Only the last sum, with the accumulator, saturates:
//! SPIR-V leaves an earlier overflow undefined. Dot products of f16 are decoded as a stand-in, see `beyond`.

use super::cx::{Cx, LeafValues, SpirvInst};
use super::float::FloatOps;
use super::operands::{result_component, set_result};
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, Builder, Type, Value};
use spirv::Op;

/// Signedness of the operands.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Signs {
    left: bool,
    right: bool,
}

/// Translates a dot product; false if it is not one.
///
/// # Errors
/// Malformed operands.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    let (left, right, accumulates) = match inst.op() {
        Op::SDot => (true, true, false),
        Op::UDot => (false, false, false),
        Op::SUDot => (true, false, false),
        Op::SDotAccSat => (true, true, true),
        Op::UDotAccSat => (false, false, true),
        Op::SUDotAccSat => (true, false, true),
        _ => return Ok(false),
    };
    let (x, y) = (cx.values(inst.id(0)?)?, cx.values(inst.id(1)?)?);
    let ty = result_component(cx, inst)?;
    if x.is_empty() || x.len() != y.len() || cx.b.ty(x[0]) != cx.b.ty(y[0]) {
        return Err(inst.malformed("vectors of different types"));
    }
    if cx.types.is_float(cx.type_id(inst.id(0)?)?) {
        let start = cx.value(inst.id(2)?)?;
        if !cx.b.ty(start).can_be_float() {
            return Err(inst.malformed("the accumulator is not a float"));
        }
        let sum = mixed(&mut cx.b, &x, &y, start);
        set_result(cx, inst, LeafValues::from_slice(&[sum]))?;
        return Ok(true);
    }
    let accumulator = if accumulates { Some(cx.value(inst.id(2)?)?) } else { None };
    let packed = x.len() == 1;
    if ty == Type::B1 || (packed && cx.b.ty(x[0]) != Type::B32) || accumulator.is_some_and(|a| cx.b.ty(a) != ty) {
        return Err(inst.malformed("operands that no dot product takes"));
    }
    let result = dot(&mut cx.b, Signs { left, right }, (&x, &y), accumulator, ty);
    set_result(cx, inst, LeafValues::from_slice(&[result]))?;
    Ok(true)
}

/// The sum of products of f16 values, starting at `start`, computed in 32 bits and rounded to `start`'s width.
fn mixed(b: &mut Builder<'_>, x: &[Value], y: &[Value], start: Value) -> Value {
    b.wide(start, |b, start| {
        x.iter().zip(y).fold(start, |sum, (&x, &y)| {
            let (x, y) = (b.convert(AluOp::FConv, x, Type::B32), b.convert(AluOp::FConv, y, Type::B32));
            b.ffma(x, y, sum)
        })
    })
}

/// The sum of the products in `ty`, plus an accumulator of that type.
fn dot(b: &mut Builder<'_>, signs: Signs, (x, y): (&[Value], &[Value]), accumulator: Option<Value>, ty: Type) -> Value {
    let packed = x.len() == 1;
    let bytes = packed || (x.len() == 4 && b.ty(x[0]) == Type::B8);
    if bytes && signs.left == signs.right {
        let (x, y) = (pack(b, x), pack(b, y));
        if ty == Type::B32 {
            let op = match (signs.left, accumulator.is_some()) {
                (true, true) => AluOp::SDot4Sat,
                (true, false) => AluOp::SDot4,
                (false, true) => AluOp::UDot4Sat,
                (false, false) => AluOp::UDot4,
            };
            let start = accumulator.unwrap_or_else(|| b.c32(0));
            return b.alu(op, &[x, y, start]);
        }
        let op = if signs.left { AluOp::SDot4 } else { AluOp::UDot4 };
        let zero = b.c32(0);
        let sum = b.alu(op, &[x, y, zero]);
        let sum = resize(b, signs.left, sum, ty);
        return accumulate(b, signs.left, sum, accumulator);
    }
    let mut sum = b.iconst(ty, 0);
    let (x, y) = if packed {
        (unpack(b, signs.left, x[0]), unpack(b, signs.right, y[0]))
    } else {
        (LeafValues::from_slice(x), LeafValues::from_slice(y))
    };
    for (x, y) in x.into_iter().zip(y) {
        let (x, y) = (resize(b, signs.left, x, ty), resize(b, signs.right, y, ty));
        let product = b.alu(AluOp::IMul, &[x, y]);
        sum = b.iadd(sum, product);
    }
    accumulate(b, signs.left, sum, accumulator)
}

fn accumulate(b: &mut Builder<'_>, signed: bool, sum: Value, accumulator: Option<Value>) -> Value {
    match accumulator {
        Some(a) => b.alu(if signed { AluOp::SAddSat } else { AluOp::UAddSat }, &[sum, a]),
        None => sum,
    }
}

fn resize(b: &mut Builder<'_>, signed: bool, x: Value, ty: Type) -> Value {
    let op = match (b.ty(x).bits() < ty.bits(), signed) {
        (true, true) => AluOp::SExt,
        (true, false) => AluOp::ZExt,
        (false, _) => AluOp::Trunc,
    };
    b.convert(op, x, ty)
}

/// Four bytes packed into a word; a word is returned as it is.
fn pack(b: &mut Builder<'_>, x: &[Value]) -> Value {
    let bytes = b.compose(x);
    b.bitcast(bytes, Type::B32)
}

/// The four bytes of a word, extended.
fn unpack(b: &mut Builder<'_>, signed: bool, word: Value) -> LeafValues {
    let width = b.c32(8);
    let op = if signed { AluOp::SBitExtract } else { AluOp::UBitExtract };
    let byte = |at: u32| {
        let at = b.c32(at);
        b.alu(op, &[word, at, width])
    };
    [0, 8, 16, 24].map(byte).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::run;
    use super::*;

    /// (−1, 2, −3, 100) · (5, −6, 7, 200) with these signs, packed and as vectors, into 32 and 64 bits.
    #[test]
    fn every_form_gives_the_same_sum() {
        let (x, y) = ([0xffu64, 2, 0xfd, 100], [5u64, 0xfa, 7, 200]);
        let pack = |v: [u64; 4]| v.iter().rev().fold(0, |word, byte| word << 8 | byte);
        let value = |byte: u64, signed: bool| if signed { i64::from(byte as u8 as i8) } else { byte as i64 };
        for (left, right) in [(true, true), (false, false), (true, false)] {
            let want: i64 = x.iter().zip(y).map(|(&x, y)| value(x, left) * value(y, right)).sum();
            for ty in [Type::B32, Type::B64] {
                let signs = Signs { left, right };
                let packed = run(&[(Type::B32, pack(x)), (Type::B32, pack(y))], |b, a| {
                    vec![dot(b, signs, (&a[..1], &a[1..]), None, ty)]
                });
                let args: Vec<(Type, u64)> = x.iter().chain(&y).map(|&byte| (Type::B8, byte)).collect();
                let vectors = run(&args, |b, a| vec![dot(b, signs, (&a[..4], &a[4..]), None, ty)]);
                let wide: Vec<(Type, u64)> = x
                    .iter()
                    .map(|&byte| (Type::B16, value(byte, left) as u64 & 0xffff))
                    .chain(y.iter().map(|&byte| (Type::B16, value(byte, right) as u64 & 0xffff)))
                    .collect();
                let halves = run(&wide, |b, a| vec![dot(b, signs, (&a[..4], &a[4..]), None, ty)]);
                let want = want as u64 & ty.bits().mask();
                assert_eq!([packed[0], vectors[0], halves[0]], [want; 3], "{left} {right} {ty}");
            }
        }
    }

    #[test]
    fn halves_sum_up_wider() {
        // 2048 · 1 + 1 · 1, which f16 cannot hold.
        let halves = [0x6800, 0x3c00, 0x3c00, 0x3c00].map(|h| (Type::B16, h));
        let args = [&halves[..], &[(Type::B32, u64::from(0.5f32.to_bits()))]].concat();
        let got = run(&args, |b, a| vec![mixed(b, &a[..2], &a[2..4], a[4])]);
        assert_eq!(got, [u64::from(2049.5f32.to_bits())]);
    }

    #[test]
    fn only_the_accumulation_saturates() {
        for (ty, limit) in [(Type::B32, i64::from(i32::MAX)), (Type::B64, i64::MAX)] {
            let args = [(Type::B32, 0x0101_0101), (Type::B32, 0x0101_0101), (ty, limit as u64 - 1)];
            let got =
                run(&args, |b, a| vec![dot(b, Signs { left: true, right: true }, (&a[..1], &a[1..2]), Some(a[2]), ty)]);
            assert_eq!(got, [limit as u64]);
        }
    }
}
