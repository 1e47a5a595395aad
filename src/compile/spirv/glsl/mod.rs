//! `OpExtInst`: the instruction set GLSL.std.450, and AMD's, a file each. The decoder leaves out the sets without an
//! effect on code.
//!
//! Most functions work by component and are lines in the tables [`unary`], [`binary`] and [`ternary`]; the formulas are
//! in `math`, `vector` and `pack`. Functions on whole vectors, on pointers or with another result shape are arms of
//! [`special`].

mod ballot;
mod gcn;
mod math;
mod pack;
#[cfg(test)]
mod tests;
mod trinary;
mod vector;
mod vertex;

use self::pack::Norm;
use super::cx::{Cx, LeafValues, SpirvInst, Ty};
use super::float::FloatOps;
use super::image::operands::{floats, integer};
use super::memory::Operands;
use super::operands::{from_words, result_component, saturated, set_result, words};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Builder, FpFlags, InterpPlace, Type, Value};
use spirv::{GlslStd450Op as G, Op};
use std::f64::consts::PI;

/// Translates an extended instruction; false if it is not one.
///
/// # Errors
/// Malformed operands; unsupported instruction sets.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    if inst.op() != Op::ExtInst {
        return Ok(false);
    }
    match cx.import(inst.id(0)?)? {
        "GLSL.std.450" => standard(cx, inst)?,
        ballot::SET => ballot::translate(cx, inst)?,
        gcn::SET => gcn::translate(cx, inst)?,
        trinary::SET => trinary::translate(cx, inst)?,
        vertex::SET => vertex::translate(cx, inst)?,
        set => return Err(Error::unsupported(format!("instruction set {set}"), inst.place())),
    }
    Ok(true)
}

/// Translates an instruction of GLSL.std.450.
fn standard(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    // The instruction's fast-math flags concern its result, not the intermediate values of its expansion.
    cx.b.fp = FpFlags(cx.b.fp.0 & FpFlags::NO_CONTRACT.0);
    let number = inst.literal(1)?;
    let op = G::from_u32(number).ok_or_else(|| Error::unsupported(format!("GLSL.std.450 {number}"), inst.place()))?;
    let values = if let Some(f) = unary(op) {
        let [x] = operands(cx, inst, op)?;
        check_width(cx, inst, op, &x)?;
        x.iter().map(|&x| f(&mut cx.b, x)).collect()
    } else if let Some(f) = binary(op) {
        let [x, y] = operands(cx, inst, op)?;
        check_width(cx, inst, op, &x)?;
        x.iter().zip(&y).map(|(&x, &y)| f(&mut cx.b, x, y)).collect()
    } else if let Some(f) = ternary(op) {
        let [x, y, z] = operands(cx, inst, op)?;
        x.iter().zip(&y).zip(&z).map(|((&x, &y), &z)| f(&mut cx.b, [x, y, z])).collect()
    } else {
        special(cx, inst, op).map_err(|e| e.at(format!("GLSL.std.450 {op:?}")))?
    };
    set_result(cx, inst, values)
}

/// Operands with equal numbers of components; each has one type, of the kind that the function takes.
fn operands<const N: usize>(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: G) -> Result<[LeafValues; N]> {
    let mut out: [LeafValues; N] = std::array::from_fn(|_| LeafValues::new());
    for (i, slot) in out.iter_mut().enumerate() {
        *slot = cx.values(inst.id(i + 2)?)?;
    }
    let Some(&first) = out.first().and_then(|v| v.first()) else {
        return Err(inst.malformed("an operand without components"));
    };
    let ty = cx.b.ty(first);
    let fits = if takes_integers(op) { ty != Type::B1 } else { ty.can_be_float() };
    let same = |v: &LeafValues| v.iter().all(|&v| cx.b.ty(v) == ty);
    if !fits || out.iter().any(|v| v.len() != out[0].len()) || !out.iter().all(same) {
        return Err(inst.malformed(format!("operands that {op:?} does not take")));
    }
    Ok(out)
}

fn takes_integers(op: G) -> bool {
    matches!(
        op,
        G::SAbs
            | G::SSign
            | G::UMin
            | G::SMin
            | G::UMax
            | G::SMax
            | G::UClamp
            | G::SClamp
            | G::FindILsb
            | G::FindSMsb
            | G::FindUMsb
            | G::PackDouble2x32
    )
}

/// Transcendental functions have no 64-bit form.
fn check_width(cx: &Cx<'_>, inst: &SpirvInst<'_>, op: G, x: &[Value]) -> Result<()> {
    let transcendental = (G::Radians as u32..=G::Log2 as u32).contains(&(op as u32));
    if transcendental && x.iter().any(|&x| cx.b.ty(x) == Type::B64) {
        return Err(inst.malformed(format!("{op:?} of 64 bits")));
    }
    Ok(())
}

/// A function of one component.
fn unary(op: G) -> Option<fn(&mut Builder<'_>, Value) -> Value> {
    Some(match op {
        // Ties may round either way.
        G::Round | G::RoundEven => |b, x| b.f1(AluOp::FRoundEven, x),
        G::Trunc => |b, x| b.f1(AluOp::FTrunc, x),
        G::FAbs => |b, x| b.f1(AluOp::FAbs, x),
        G::SAbs => |b, x| b.alu(AluOp::IAbs, &[x]),
        G::FSign => |b, x| b.f1(AluOp::FSign, x),
        G::SSign => math::int_sign,
        G::Floor => |b, x| b.f1(AluOp::FFloor, x),
        G::Ceil => |b, x| b.f1(AluOp::FCeil, x),
        G::Fract => |b, x| b.f1(AluOp::FFract, x),
        G::Radians => |b, x| b.fscale(x, PI / 180.0),
        G::Degrees => |b, x| b.fscale(x, 180.0 / PI),
        G::Sin => |b, x| math::native(b, AluOp::FSin, x),
        G::Cos => |b, x| math::native(b, AluOp::FCos, x),
        G::Tan => math::tan,
        G::Asin => math::asin,
        G::Acos => math::acos,
        G::Atan => math::atan,
        G::Sinh => math::sinh,
        G::Cosh => math::cosh,
        G::Tanh => math::tanh,
        G::Asinh => math::asinh,
        G::Acosh => math::acosh,
        G::Atanh => math::atanh,
        G::Exp => math::exp,
        G::Log => math::log,
        G::Exp2 => |b, x| math::native(b, AluOp::FExp2, x),
        G::Log2 => |b, x| math::native(b, AluOp::FLog2, x),
        G::Sqrt => |b, x| b.f1(AluOp::FSqrt, x),
        G::InverseSqrt => math::rsq,
        _ => return None,
    })
}

/// A function of two components.
fn binary(op: G) -> Option<fn(&mut Builder<'_>, Value, Value) -> Value> {
    Some(match op {
        G::Atan2 => math::atan2,
        G::Pow => math::pow,
        G::FMin | G::NMin => |b, x, y| b.alu(AluOp::FMin, &[x, y]),
        G::FMax | G::NMax => |b, x, y| b.alu(AluOp::FMax, &[x, y]),
        G::UMin => |b, x, y| b.alu(AluOp::UMin, &[x, y]),
        G::UMax => |b, x, y| b.alu(AluOp::UMax, &[x, y]),
        G::SMin => |b, x, y| b.alu(AluOp::SMin, &[x, y]),
        G::SMax => |b, x, y| b.alu(AluOp::SMax, &[x, y]),
        G::Step => math::step,
        _ => return None,
    })
}

/// A function of three components.
fn ternary(op: G) -> Option<fn(&mut Builder<'_>, [Value; 3]) -> Value> {
    Some(match op {
        G::FClamp | G::NClamp => |b, x| math::clamp(b, AluOp::FMin, AluOp::FMax, x),
        G::UClamp => |b, x| math::clamp(b, AluOp::UMin, AluOp::UMax, x),
        G::SClamp => |b, x| math::clamp(b, AluOp::SMin, AluOp::SMax, x),
        G::FMix => |b, [x, y, a]| math::mix(b, x, y, a),
        G::SmoothStep => |b, [low, high, x]| math::smooth_step(b, low, high, x),
        G::Fma => |b, [x, y, z]| b.ffma(x, y, z),
        _ => return None,
    })
}

fn resize_signed(b: &mut Builder<'_>, x: Value, ty: Type) -> Value {
    let op = if b.ty(x).bits() < ty.bits() { AluOp::SExt } else { AluOp::Trunc };
    b.convert(op, x, ty)
}

/// Functions that are not componentwise.
fn special(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: G) -> Result<LeafValues> {
    // A function on whole vectors returns `None` only for shapes that it does not support.
    let shape = || inst.malformed("operands of the wrong shape");
    let one = |v: Value| LeafValues::from_slice(&[v]);
    Ok(match op {
        G::FindILsb => find(cx, inst, op, AluOp::FindILsb)?,
        G::FindSMsb => find(cx, inst, op, AluOp::FindSMsb)?,
        G::FindUMsb => find(cx, inst, op, AluOp::FindUMsb)?,
        G::Determinant => {
            let [m] = operands(cx, inst, op)?;
            one(vector::determinant(&mut cx.b, &m).ok_or_else(shape)?)
        }
        G::MatrixInverse => {
            let [m] = operands(cx, inst, op)?;
            vector::inverse(&mut cx.b, &m).ok_or_else(shape)?
        }
        G::Length => {
            let [x] = operands(cx, inst, op)?;
            one(vector::length(&mut cx.b, &x).ok_or_else(shape)?)
        }
        G::Distance => {
            let [x, y] = operands(cx, inst, op)?;
            let d = vector::difference(&mut cx.b, &x, &y);
            one(vector::length(&mut cx.b, &d).ok_or_else(shape)?)
        }
        G::Normalize => {
            let [x] = operands(cx, inst, op)?;
            vector::normalize(&mut cx.b, &x).ok_or_else(shape)?
        }
        G::Cross => {
            let [x, y] = operands(cx, inst, op)?;
            let three = |v: &LeafValues| <[Value; 3]>::try_from(v.as_slice()).map_err(|_| shape());
            vector::cross(&mut cx.b, three(&x)?, three(&y)?)
        }
        G::FaceForward => {
            let [n, i, reference] = operands(cx, inst, op)?;
            vector::face_forward(&mut cx.b, &n, &i, &reference).ok_or_else(shape)?
        }
        G::Reflect => {
            let [i, n] = operands(cx, inst, op)?;
            vector::reflect(&mut cx.b, &i, &n).ok_or_else(shape)?
        }
        G::Refract => {
            let [i, n] = operands(cx, inst, op)?;
            let eta = cx.value(inst.id(4)?)?;
            if !cx.b.ty(eta).can_be_float() {
                return Err(shape());
            }
            vector::refract(&mut cx.b, &i, &n, eta).ok_or_else(shape)?
        }
        G::Ldexp => {
            let [x] = operands(cx, inst, op)?;
            // The exponents have their own width, and one of 64 bits may be beyond 32.
            let exponents = saturated(cx, inst.id(3)?)?;
            if exponents.len() != x.len() {
                return Err(shape());
            }
            x.iter().zip(&exponents).map(|(&x, &n)| cx.b.alu(AluOp::FLdexp, &[x, n])).collect()
        }
        G::Modf => {
            let (fraction, whole) = parts(cx, inst, op)?;
            store(cx, inst, &whole)?;
            fraction
        }
        G::ModfStruct => {
            let (fraction, whole) = parts(cx, inst, op)?;
            fraction.into_iter().chain(whole).collect()
        }
        G::Frexp => {
            let pointer = cx.type_id(inst.id(3)?)?;
            let Ty::Pointer { pointee, .. } = *cx.types.get(pointer) else { return Err(shape()) };
            let ty = cx.types.component(pointee).ok_or_else(shape)?;
            let (mantissa, exponent) = frexp(cx, inst, op, ty)?;
            store(cx, inst, &exponent)?;
            mantissa
        }
        G::FrexpStruct => {
            let result = cx.result_type(inst)?;
            let ty = cx.types.leaf_types(result)?.last().copied().ok_or_else(shape)?;
            let (mantissa, exponent) = frexp(cx, inst, op, ty)?;
            mantissa.into_iter().chain(exponent).collect()
        }
        G::PackSnorm4x8
        | G::PackUnorm4x8
        | G::PackSnorm2x16
        | G::PackUnorm2x16
        | G::PackHalf2x16
        | G::PackDouble2x32 => {
            let [x] = operands(cx, inst, op)?;
            one(pack(&mut cx.b, op, &x).ok_or_else(shape)?)
        }
        G::UnpackSnorm2x16
        | G::UnpackUnorm2x16
        | G::UnpackHalf2x16
        | G::UnpackSnorm4x8
        | G::UnpackUnorm4x8
        | G::UnpackDouble2x32 => {
            let x = cx.value(inst.id(2)?)?;
            unpack(&mut cx.b, op, x).ok_or_else(shape)?
        }
        G::InterpolateAtCentroid => cx.interpolate_at(inst.id(2)?, InterpPlace::Centroid, &[])?,
        G::InterpolateAtSample => {
            let sample = integer(cx, inst.id(3)?)?;
            cx.interpolate_at(inst.id(2)?, InterpPlace::AtSample, &[sample])?
        }
        G::InterpolateAtOffset => {
            let offset = floats(cx, inst.id(3)?)?;
            if offset.len() != 2 {
                return Err(shape());
            }
            cx.interpolate_at(inst.id(2)?, InterpPlace::AtOffset, &offset)?
        }
        other => return Err(Error::unsupported(format!("GLSL.std.450 {other:?}"), inst.place())),
    })
}

/// A bit's index, as wide as the result; -1 if there is none.
fn find(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: G, which: AluOp) -> Result<LeafValues> {
    let [x] = operands(cx, inst, op)?;
    let ty = result_component(cx, inst)?;
    Ok(x.iter()
        .map(|&x| {
            let index = cx.b.alu(which, &[x]);
            resize_signed(&mut cx.b, index, ty)
        })
        .collect())
}

fn parts(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: G) -> Result<(LeafValues, LeafValues)> {
    let [x] = operands(cx, inst, op)?;
    Ok(x.iter().map(|&x| math::modf(&mut cx.b, x)).unzip())
}

/// Mantissas, and exponents of type `ty`.
fn frexp(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: G, ty: Type) -> Result<(LeafValues, LeafValues)> {
    let [x] = operands(cx, inst, op)?;
    Ok(x.iter()
        .map(|&x| {
            let exponent = cx.b.alu(AluOp::FFrexpExp, &[x]);
            (cx.b.f1(AluOp::FFrexpMant, x), resize_signed(&mut cx.b, exponent, ty))
        })
        .unzip())
}

/// Stores to the pointer in the second operand.
fn store(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, values: &[Value]) -> Result<()> {
    let pointer = cx.pointer(inst.id(3)?)?;
    cx.store(&pointer, values, Operands::default())
}

fn pack(b: &mut Builder<'_>, op: G, x: &[Value]) -> Option<Value> {
    let count = if matches!(op, G::PackSnorm4x8 | G::PackUnorm4x8) { 4 } else { 2 };
    if x.len() != count || x.iter().any(|&x| b.ty(x) != Type::B32) {
        return None;
    }
    Some(match op {
        G::PackSnorm4x8 => pack::pack_norm_4x8(b, Norm::Signed, x),
        G::PackUnorm4x8 => pack::pack_norm_4x8(b, Norm::Unsigned, x),
        G::PackSnorm2x16 => pack::pack_norm_2x16(b, Norm::Signed, x),
        G::PackUnorm2x16 => pack::pack_norm_2x16(b, Norm::Unsigned, x),
        G::PackHalf2x16 => pack::pack_half_2x16(b, x),
        _ => from_words(b, x),
    })
}

fn unpack(b: &mut Builder<'_>, op: G, x: Value) -> Option<LeafValues> {
    let want = if op == G::UnpackDouble2x32 { Type::B64 } else { Type::B32 };
    if b.ty(x) != want {
        return None;
    }
    Some(match op {
        G::UnpackSnorm2x16 => pack::unpack_norm(b, Norm::Signed, 16, x),
        G::UnpackUnorm2x16 => pack::unpack_norm(b, Norm::Unsigned, 16, x),
        G::UnpackHalf2x16 => pack::unpack_half_2x16(b, x),
        G::UnpackSnorm4x8 => pack::unpack_norm(b, Norm::Signed, 8, x),
        G::UnpackUnorm4x8 => pack::unpack_norm(b, Norm::Unsigned, 8, x),
        _ => words(b, x),
    })
}
