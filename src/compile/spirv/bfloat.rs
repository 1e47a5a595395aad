//! `SPV_KHR_bfloat16`: floats with the exponent of 32 bits and a significand of 8, kept as their 16 bits.
//!
//! No operation of the IR knows them, so a value must never reach one that takes a 16-bit float for IEEE's: [`check`]
//! lets the type through only where the extension allows it, which is where bits are moved, conversions, and `OpDot`.
//! All of these go through 32 bits, as the extension defines them: [`widen`] is exact, [`narrow`] rounds. Nothing here
//! flushes denormals unless the shader requires it.

use super::cx::{Cx, SpirvInst};
use super::modes;
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, Builder, DenormMode, RoundMode, Type, Value};
use rspirv::dr::Operand;
use spirv::{Capability, Op};

/// The bits of a 32-bit float that a bfloat16 does not have.
pub(super) const LOST: u32 = 16;

/// Checks that an instruction may have values of this type, or pointers to them, as operands and as its result.
///
/// # Errors
/// Malformed: the extension does not list the instruction, or the capability for it is not declared.
pub(super) fn check(cx: &Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    if !cx.types.has_bfloat() || takes(inst.op()) {
        return Ok(());
    }
    let holds = |id: u32| cx.named_type(id).is_ok_and(|ty| cx.types.reaches_bfloat(ty));
    let of = |id: u32| cx.module.result_types.get(id as usize).is_some_and(|&ty| ty != 0 && holds(ty));
    let operand = |operand: &Operand| matches!(operand, Operand::IdRef(id) if of(*id));
    if !inst.result_type.is_some_and(holds) && !inst.operands.iter().any(operand) {
        return Ok(());
    }
    match inst.op() {
        Op::Dot if cx.module.capabilities.contains(&Capability::BFloat16DotProductKHR) => Ok(()),
        Op::Dot => Err(inst.malformed("of bfloat16 without the capability BFloat16DotProductKHR")),
        op => Err(inst.malformed(format!("Op{op:?} does not take bfloat16"))),
    }
}

/// Instructions that the extension allows: those on constants, memory, functions and composites, conversions, and
/// choices between whole values. A value that is undefined is not computed with either.
fn takes(op: Op) -> bool {
    matches!(
        op,
        Op::ConstantNull
            | Op::Constant
            | Op::ConstantComposite
            | Op::SpecConstant
            | Op::SpecConstantComposite
            | Op::ConstantCompositeReplicateEXT
            | Op::SpecConstantCompositeReplicateEXT
            | Op::Undef
            | Op::Variable
            | Op::Load
            | Op::Store
            | Op::CopyMemory
            | Op::CopyMemorySized
            | Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::ArrayLength
            | Op::PtrEqual
            | Op::PtrNotEqual
            | Op::PtrDiff
            | Op::FunctionCall
            | Op::FunctionParameter
            | Op::ReturnValue
            | Op::FConvert
            | Op::ConvertFToU
            | Op::ConvertFToS
            | Op::ConvertSToF
            | Op::ConvertUToF
            | Op::ConvertPtrToU
            | Op::ConvertUToPtr
            | Op::Bitcast
            | Op::VectorExtractDynamic
            | Op::VectorInsertDynamic
            | Op::VectorShuffle
            | Op::CompositeConstruct
            | Op::CompositeConstructReplicateEXT
            | Op::CompositeExtract
            | Op::CompositeInsert
            | Op::CopyObject
            | Op::CopyLogical
            | Op::Transpose
            | Op::Select
            | Op::Phi
    )
}

/// The exact value in 32 bits.
pub(super) fn widen(b: &mut Builder<'_>, x: Value) -> Value {
    let wide = b.convert(AluOp::ZExt, x, Type::B32);
    let by = b.c32(LOST);
    let wide = b.alu(AluOp::Shl, &[wide, by]);
    // The denormals of both formats are the same numbers.
    let [narrow, single, _] = b.shader.modes.denorm;
    if [narrow, single].contains(&DenormMode::Flush) { flushed(b, wide) } else { wide }
}

/// A 32-bit float rounded to nearest even, or towards zero. NaN stays NaN, though its payload may be in the lost bits.
pub(super) fn narrow(b: &mut Builder<'_>, x: Value, toward_zero: bool) -> Value {
    let [narrow, single, _] = b.shader.modes.denorm;
    let x = if single == DenormMode::Flush { flushed(b, x) } else { x };
    let (by, quiet) = (b.c32(LOST), b.c32(0x40));
    let high = b.alu(AluOp::LShr, &[x, by]);
    let rounded = if toward_zero {
        high
    } else {
        // Half of the last place kept, and one more if that place is odd: a tie then carries only into an odd one. The
        // carry out of the significand is the next exponent, and out of the largest one infinity.
        let (one, below_half) = (b.c32(1), b.c32(0x7fff));
        let odd = b.alu(AluOp::IAnd, &[high, one]);
        let up = b.alu(AluOp::IAdd, &[odd, below_half]);
        let sum = b.alu(AluOp::IAdd, &[up, x]);
        b.alu(AluOp::LShr, &[sum, by])
    };
    let nan = b.alu(AluOp::IOr, &[high, quiet]);
    let is_nan = b.alu(AluOp::FIsNan, &[x]);
    let result = b.select(is_nan, nan, rounded);
    let result = if narrow == DenormMode::Flush {
        let wide = b.alu(AluOp::Shl, &[result, by]);
        let wide = flushed(b, wide);
        b.alu(AluOp::LShr, &[wide, by])
    } else {
        result
    };
    b.convert(AluOp::Trunc, result, Type::B16)
}

/// A 32-bit float with a zero of its sign for a denormal.
fn flushed(b: &mut Builder<'_>, x: Value) -> Value {
    let [exponent, sign, zero] = [0x7f80_0000, 0x8000_0000, 0].map(|bits| b.c32(bits));
    let magnitude = b.alu(AluOp::IAnd, &[x, exponent]);
    let tiny = b.alu(AluOp::IEq, &[magnitude, zero]);
    let signed_zero = b.alu(AluOp::IAnd, &[x, sign]);
    b.select(tiny, signed_zero, x)
}

/// Whether results are rounded towards zero: by an instruction's own decoration, or else by the mode of 16 bits.
pub(super) fn rounds_toward_zero(cx: &Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    let mode = modes::own_rounding(cx, inst)?.unwrap_or(cx.b.shader.modes.round[0]);
    Ok(mode == RoundMode::TowardZero)
}

/// [`narrow`] of a constant.
pub(super) fn narrowed(single: u32, toward_zero: bool) -> u64 {
    let high = single >> LOST;
    let result = match (f32::from_bits(single).is_nan(), toward_zero) {
        (true, _) => high | 0x40,
        (false, true) => high,
        (false, false) => (single + 0x7fff + (high & 1)) >> LOST,
    };
    result.into()
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::run;
    use super::*;

    /// The same by the code and as a constant.
    fn narrow_both(bits: u32, toward_zero: bool) -> u64 {
        let by_code = run(&[(Type::B32, u64::from(bits))], |b, a| vec![narrow(b, a[0], toward_zero)])[0];
        assert_eq!(narrowed(bits, toward_zero), by_code, "{bits:#x}");
        by_code
    }

    /// Bits of a float, rounded to nearest even and towards zero.
    const ROUNDED: &[(u32, u64, u64)] = &[
        (0x3f80_0000, 0x3f80, 0x3f80),
        (0x3f80_7fff, 0x3f80, 0x3f80),
        (0x3f80_8000, 0x3f80, 0x3f80),
        (0x3f80_8001, 0x3f81, 0x3f80),
        (0x3f81_8000, 0x3f82, 0x3f81),
        (0xbf81_8000, 0xbf82, 0xbf81),
        // Into the next exponent, and beyond the largest number.
        (0x3fff_8000, 0x4000, 0x3fff),
        (0x7f7f_7fff, 0x7f7f, 0x7f7f),
        (0x7f7f_8000, 0x7f80, 0x7f7f),
        (0xff7f_ffff, 0xff80, 0xff7f),
        (0x7f80_0000, 0x7f80, 0x7f80),
        (0xff80_0000, 0xff80, 0xff80),
        // NaN, quiet and with a payload only in the lost bits.
        (0x7fc0_0000, 0x7fc0, 0x7fc0),
        (0x7f80_0001, 0x7fc0, 0x7fc0),
        (0xffff_ffff, 0xffff, 0xffff),
        (0x7fff_8000, 0x7fff, 0x7fff),
        // Denormals, the largest of which rounds to a normal number.
        (0x0000_8000, 0, 0),
        (0x0000_8001, 1, 0),
        (0x0001_8000, 2, 1),
        (0x007f_ffff, 0x80, 0x7f),
        (0x8000_0000, 0x8000, 0x8000),
    ];

    #[test]
    fn rounds_by_hand() {
        for &(bits, nearest, truncated) in ROUNDED {
            assert_eq!((narrow_both(bits, false), narrow_both(bits, true)), (nearest, truncated), "{bits:#x}");
        }
    }

    /// Every bfloat16 has its value in 32 bits, from where it comes back.
    #[test]
    fn widening_is_exact() {
        for bits in (0..=0xffff_u64).step_by(7) {
            let wide = run(&[(Type::B16, bits)], |b, a| vec![widen(b, a[0])])[0];
            assert_eq!(wide, bits << 16);
            let quiet = if f32::from_bits(wide as u32).is_nan() { 0x40 } else { 0 };
            assert_eq!(narrow_both(wide as u32, false), bits | quiet);
        }
    }

    #[test]
    fn denormals_are_flushed_where_the_shader_requires_it() {
        let flush = |b: &mut Builder<'_>, width: usize| b.shader.modes.denorm[width] = DenormMode::Flush;
        for width in [0, 1] {
            let widened = |bits: u64| {
                run(&[(Type::B16, bits)], |b, a| {
                    flush(b, width);
                    vec![widen(b, a[0])]
                })[0]
            };
            assert_eq!([0x7f, 0x8001, 0x80].map(widened), [0, 0x8000_0000, 0x80_0000]);
            let narrowed = |bits: u64| {
                run(&[(Type::B32, bits)], |b, a| {
                    flush(b, width);
                    vec![narrow(b, a[0], false)]
                })[0]
            };
            // The largest denormal of 32 bits is one, but its result is not.
            let largest = if width == 1 { 0 } else { 0x80 };
            assert_eq!([0x1_0000, 0x807f_0000, 0x7f_ffff, 0x80_0000].map(narrowed), [0, 0x8000, largest, 0x80]);
        }
    }
}
