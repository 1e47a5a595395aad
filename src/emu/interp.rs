//! Parameter interpolation (isa-gfx10 3.9): one multiply-add per step, rounded once (K).
//!
//! Parameters are kept in a table, since code cannot see their LDS layout; M0 gives the primitive of each quad.

use super::mode::from_f16;
use super::wave::{Wave, ones};
use dovetail_base::error::{Error, Result};
use dovetail_isa::Op;
use dovetail_isa::instruction::{Instruction, InterpFields};
use dovetail_isa::{OperandKind, Scalar, Src};

/// Executes one instruction.
pub fn execute(inst: &Instruction, fields: &InterpFields, wave: &mut Wave) -> Result<()> {
    let parameters = wave.parameters.clone();
    let parameters = parameters.ok_or_else(|| Error::malformed("interpolates where no primitive is"))?;
    let [m0, mode] = [wave.scalar(Scalar::M0), wave.mode.0];
    let mode = super::mode::Mode(mode);
    if fields.mods.clamp || fields.mods.omod != 0 {
        return Err(Error::unsupported("interpolation", "clamp or output modifier"));
    }
    let sign = |source: u8, value: f32| {
        let value = if fields.mods.abs >> source & 1 == 1 { value.abs() } else { value };
        if fields.mods.neg >> source & 1 == 1 { -value } else { value }
    };
    for lane in ones(wave.exec()) {
        // Bit 16 + n: quad n + 1 starts a new primitive.
        let started = m0 >> 16 & ((1 << (lane / 4)) - 1) & 0x7fff;
        let primitive = parameters.primitives.get(started.count_ones() as usize);
        let plane = primitive.and_then(|attributes| attributes.get(usize::from(fields.attribute)));
        let plane = plane.and_then(|channels| channels.get(usize::from(fields.channel)));
        let [p0, p10, p20] = *plane.ok_or_else(|| {
            Error::malformed(format!("attribute {} of quad {} is not there", fields.attribute, lane / 4))
        })?;
        let coordinate = match fields.src {
            Src::Vgpr(v) => sign(0, mode.in32(u64::from(wave.vgpr(v, 0, lane)))),
            _ => 0.0,
        };
        let old = wave.vgpr(fields.dst, 0, lane);
        let float = |bits: u32| mode.in32(u64::from(bits));
        let half = |bits: u32| from_f16((if fields.high { bits >> 16 } else { bits }) as u16);
        let addend = match fields.addend {
            Some(Src::Vgpr(v)) => wave.vgpr(v, 0, lane),
            _ => 0,
        };
        let result = match inst.entry.op {
            Op::VInterpP1F32E64 | Op::VInterpP1F32 => mode.fma32(float(p10), coordinate, float(p0)),
            Op::VInterpP2F32E64 | Op::VInterpP2F32 => mode.fma32(float(p20), coordinate, float(old)),
            Op::VInterpMovF32E64 | Op::VInterpMovF32 => match fields.src {
                Src::Int(0) => u64::from(p10),
                Src::Int(1) => u64::from(p20),
                _ => u64::from(p0),
            },
            Op::VInterpP1llF16 => mode.fma32(half(p10) as f32, coordinate, half(p0) as f32),
            // Here P0 comes from a register, where `v_interp_mov` wrote it.
            Op::VInterpP1lvF16 => mode.fma32(half(p10) as f32, coordinate, sign(1, half(addend) as f32)),
            Op::VInterpP2F16 => {
                let product = half(p20) * f64::from(coordinate);
                let sum = super::mode::odd_add(product, f64::from(sign(1, float(addend))));
                u64::from(old & 0xffff_0000) | mode.out16(sum)
            }
            _ => return Err(Error::unsupported("interpolation", inst.entry.mnemonic)),
        };
        wave.set_vgpr(fields.dst, 0, lane, result as u32);
    }
    debug_assert!(inst.entry.dst.first().is_none_or(|kind| *kind != OperandKind::Mask));
    Ok(())
}
