//! Parameter interpolation (isa-gfx10 3.9): one multiply-add per step, rounded once (K). From gfx11 on code loads the
//! parameters to registers, which vector arithmetic then interpolates (`valu/interp.rs`).
//!
//! Parameters are kept in a table, since code cannot see their LDS layout; M0 gives the primitive of each quad.

use super::fixed_function::{InterpolationPlane, Parameters};
use super::mode::from_f16;
use super::wave::{POISON, Wave, ones};
use dovetail_base::error::{Error, Result};
use dovetail_isa::Op;
use dovetail_isa::instruction::{Instruction, InterpFields, LdsDirectFields};
use dovetail_isa::{OperandKind, Scalar, Src};
use std::sync::Arc;

/// Executes one instruction.
pub fn execute(inst: &Instruction, fields: &InterpFields, wave: &mut Wave) -> Result<()> {
    let parameters = parameters(wave)?;
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
        let [p0, p10, p20] = plane(&parameters, m0, lane / 4, [fields.attribute, fields.channel])?;
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

/// Executes a load of parameters: each quad with an active lane gets P0, P10 and P20 in its first lanes. EXEC does not protect
/// the others (LLVM, `SIWholeQuadMode`, runs these loads with whole quads).
pub fn load(fields: &LdsDirectFields, wave: &mut Wave) -> Result<()> {
    let parameters = parameters(wave)?;
    let (m0, exec) = (wave.scalar(Scalar::M0), wave.exec());
    for quad in (0..wave.lanes() / 4).filter(|quad| exec >> (4 * quad) & 15 != 0) {
        let [p0, p10, p20] = plane(&parameters, m0, quad, [fields.attribute, fields.channel])?;
        // No source says what the fourth lane gets: code must not depend on it.
        for (lane, value) in (4 * quad..).zip([p0, p10, p20, POISON]) {
            wave.set_vgpr(fields.dst, 0, lane, value);
        }
    }
    Ok(())
}

fn parameters(wave: &Wave) -> Result<Arc<Parameters>> {
    wave.parameters.clone().ok_or_else(|| Error::malformed("interpolates where no primitive is"))
}

/// The values of a channel of an attribute for the primitive of a quad.
fn plane(parameters: &Parameters, m0: u32, quad: usize, [attribute, channel]: [u8; 2]) -> Result<InterpolationPlane> {
    // Bit 16 + n: quad n + 1 starts a new primitive.
    let started = m0 >> 16 & ((1 << quad) - 1) & 0x7fff;
    let primitive = parameters.primitives.get(started.count_ones() as usize);
    let plane = primitive.and_then(|attributes| attributes.get(usize::from(attribute)));
    let plane = plane.and_then(|channels| channels.get(usize::from(channel)));
    plane.copied().ok_or_else(|| Error::malformed(format!("attribute {attribute} of quad {quad} is not there")))
}
