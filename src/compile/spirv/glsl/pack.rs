//! The Pack and Unpack functions of GLSL.std.450: lists of components to and from one word.

use super::super::cx::LeafValues;
use super::super::float::FloatOps;
use dovetail_ir::{AluOp, Bits, Builder, Type, Value};
use smallvec::SmallVec;

/// Conversion between a component and a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// [-1, 1] to a signed integer.
    Signed,
    /// [0, 1] to an unsigned integer.
    Unsigned,
}

/// Four floats to four 8-bit fields, first lowest.
pub fn pack_norm_4x8(b: &mut Builder<'_>, norm: Norm, parts: &[Value]) -> Value {
    let mut word = b.c32(0);
    for (&part, at) in parts.iter().zip([0, 8, 16, 24]) {
        let (low, scale, op) = match norm {
            Norm::Signed => (-1.0, 127.0, AluOp::F2S),
            Norm::Unsigned => (0.0, 255.0, AluOp::F2U),
        };
        let x = b.fclamp(part, low, 1.0);
        let x = b.fscale(x, scale);
        let x = b.f1(AluOp::FRoundEven, x);
        let n = b.convert(op, x, Type::B32);
        let byte = b.c32(0xff);
        let n = b.alu(AluOp::IAnd, &[n, byte]);
        let at = b.c32(at);
        let field = b.alu(AluOp::Shl, &[n, at]);
        word = b.alu(AluOp::IOr, &[word, field]);
    }
    word
}

/// Two floats to two 16-bit fields, first lowest.
pub fn pack_norm_2x16(b: &mut Builder<'_>, norm: Norm, parts: &[Value]) -> Value {
    let op = match norm {
        Norm::Signed => AluOp::PackSnorm16,
        Norm::Unsigned => AluOp::PackNorm16,
    };
    b.alu(op, parts)
}

/// Two floats to two f16 values, first lowest.
pub fn pack_half_2x16(b: &mut Builder<'_>, parts: &[Value]) -> Value {
    let halves: SmallVec<[Value; 2]> = parts.iter().map(|&p| b.convert(AluOp::FConv, p, Type::B16)).collect();
    let pair = b.compose(&halves);
    b.bitcast(pair, Type::B32)
}

/// Fields of `width` (8 or 16) bits of a word to floats.
pub fn unpack_norm(b: &mut Builder<'_>, norm: Norm, width: u32, word: Value) -> LeafValues {
    let width_value = b.c32(width);
    (0..32 / width)
        .map(|i| {
            let at = b.c32(i * width);
            match norm {
                Norm::Signed => {
                    let n = b.alu(AluOp::SBitExtract, &[word, at, width_value]);
                    let x = b.convert(AluOp::S2F, n, Type::B32);
                    let x = b.fscale(x, 1.0 / f64::from((1u32 << (width - 1)) - 1));
                    b.fclamp(x, -1.0, 1.0)
                }
                Norm::Unsigned => {
                    let n = b.alu(AluOp::UBitExtract, &[word, at, width_value]);
                    let x = b.convert(AluOp::U2F, n, Type::B32);
                    b.fscale(x, 1.0 / f64::from((1u32 << width) - 1))
                }
            }
        })
        .collect()
}

/// The two f16 values of a word as floats.
pub fn unpack_half_2x16(b: &mut Builder<'_>, word: Value) -> LeafValues {
    let pair = match Type::vector(Bits::B16, 2) {
        Some(ty) => b.bitcast(word, ty),
        None => word,
    };
    b.split(pair).iter().map(|&h| b.convert(AluOp::FConv, h, Type::B32)).collect()
}
