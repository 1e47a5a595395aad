//! Conversions between formats (isa-gfx10 3.6): conversion to integer saturates, and turns NaN into 0.

use super::float::f32s;
use super::lane::LaneFn;
use crate::mode::{Round, from_f16, odd_add, to_f16};
use dovetail_isa::Op;

/// Operation of an opcode.
pub fn resolve(op: Op) -> Option<LaneFn> {
    let lane: LaneFn = match op {
        Op::VCvtF32I32 => |m, [a, _, _]| m.narrow32(f64::from(a as i32)),
        Op::VCvtF32U32 => |m, [a, _, _]| m.narrow32(f64::from(a as u32)),
        // Rust's casts truncate, saturate, and turn NaN into 0.
        Op::VCvtU32F32 => f32s!(|m, a| u64::from(a as u32)),
        Op::VCvtI32F32 => f32s!(|m, a| u64::from((a as i32).cast_unsigned())),
        Op::VCvtRpiI32F32 => f32s!(|m, a| u64::from(((f64::from(a) + 0.5).floor() as i32).cast_unsigned())),
        Op::VCvtFlrI32F32 => f32s!(|m, a| u64::from((a.floor() as i32).cast_unsigned())),
        Op::VCvtOffF32I4 => |m, [a, _, _]| m.out32(((a as u32) << 28).cast_signed() as f32 / 4_294_967_296.0),
        Op::VCvtF32Ubyte0 => |m, [a, _, _]| m.out32((a & 0xff) as f32),
        Op::VCvtF32Ubyte1 => |m, [a, _, _]| m.out32((a >> 8 & 0xff) as f32),
        Op::VCvtF32Ubyte2 => |m, [a, _, _]| m.out32((a >> 16 & 0xff) as f32),
        Op::VCvtF32Ubyte3 => |m, [a, _, _]| m.out32((a >> 24 & 0xff) as f32),
        Op::VCvtF16F32 => f32s!(|m, a| m.out16(f64::from(a))),
        Op::VCvtF32F16 => |m, [a, _, _]| m.out32(m.in16(a) as f32),
        Op::VCvtF64I32 => |_, [a, _, _]| f64::from(a as i32).to_bits(),
        Op::VCvtF64U32 => |_, [a, _, _]| f64::from(a as u32).to_bits(),
        Op::VCvtI32F64 => |m, [a, _, _]| u64::from((m.in64(a) as i32).cast_unsigned()),
        Op::VCvtU32F64 => |m, [a, _, _]| u64::from(m.in64(a) as u32),
        Op::VCvtF32F64 => |m, [a, _, _]| m.narrow32(m.in64(a)),
        Op::VCvtF64F32 => f32s!(|m, a| m.out64(f64::from(a))),
        Op::VCvtF16U16 => |m, [a, _, _]| m.out16(f64::from(a as u16)),
        Op::VCvtF16I16 => |m, [a, _, _]| m.out16(f64::from(a as i16)),
        Op::VCvtU16F16 => |m, [a, _, _]| u64::from(m.in16(a) as u16),
        Op::VCvtI16F16 => |m, [a, _, _]| u64::from((m.in16(a) as i16).cast_unsigned()),
        Op::VCvtNormI16F16 => |m, [a, _, _]| snorm(m.in16(a)),
        Op::VCvtNormU16F16 => |m, [a, _, _]| unorm(m.in16(a)),
        Op::VCvtPknormI16F16 => |m, [a, b, _]| snorm(m.in16(a)) | snorm(m.in16(b)) << 16,
        Op::VCvtPknormU16F16 => |m, [a, b, _]| unorm(m.in16(a)) | unorm(m.in16(b)) << 16,
        Op::VCvtPknormI16F32 => f32s!(|m, a, b| snorm(f64::from(a)) | snorm(f64::from(b)) << 16),
        Op::VCvtPknormU16F32 => f32s!(|m, a, b| unorm(f64::from(a)) | unorm(f64::from(b)) << 16),
        Op::VCvtPkrtzF16F32 => f32s!(|m, a, b| {
            let half = |x: f32| u64::from(to_f16(f64::from(x), Round::Zero));
            half(a) | half(b) << 16
        }),
        Op::VCvtPkU8F32 => |m, [a, b, c]| {
            let shift = 8 * (b & 3);
            c & !(0xff << shift) | u64::from(m.in32(a) as u8) << shift
        },
        Op::VPackB32F16 => |m, [a, b, _]| {
            // Only denormals change the value (K).
            let half = |bits: u64| {
                let x = from_f16(bits as u16);
                if x != 0.0 && m.in16(bits) == 0.0 { bits & 0x8000 } else { bits & 0xffff }
            };
            half(a) | half(b) << 16
        },
        Op::VDot2F32F16 | Op::VDot2cF32F16 => |m, [a, b, c]| {
            let product = |shift: u32| from_f16((a >> shift) as u16) * from_f16((b >> shift) as u16);
            // Both products are exact; no source says how the hardware rounds the sums (K).
            m.narrow32(odd_add(odd_add(product(0), product(16)), f64::from(m.in32(c))))
        },
        _ => return None,
    };
    Some(lane)
}

/// Clamps to ±1, multiplies by 32767, rounds to nearest even (K); NaN gives 0 (K).
fn snorm(x: f64) -> u64 {
    u64::from(((x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16).cast_unsigned())
}

fn unorm(x: f64) -> u64 {
    u64::from((x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16)
}
