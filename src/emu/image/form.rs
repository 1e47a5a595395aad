//! Maps the row of an image instruction to its operation and its address operands (isa-gfx10 4.6).
//!
//! Operands are in this order: `[offset] [bias] [reference] [gradients] coordinates [LOD or LOD clamp]`.

use super::ImageOperation;
use crate::atomic;
use crate::mode::from_f16;
use crate::wave::Wave;
use dovetail_base::error::{Error, Result};
use dovetail_isa::instruction::ImageFields;
use dovetail_isa::{Op, OpcodeRow, Traits};

/// Result of a sampling instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Filtered components.
    Filtered,
    /// One component of four texels.
    Four,
    /// The level of detail.
    Level,
}

/// Source of the level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelFrom {
    /// Implicit derivatives.
    Quad,
    /// Implicit derivatives, and a bias.
    Bias,
    /// Explicit gradients.
    Gradients,
    /// An operand.
    Operand,
    /// Level 0.
    Zero,
}

/// A sampling instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Its result.
    pub gives: Gives,
    /// Depth comparison.
    pub compare: bool,
    /// Source of the level of detail.
    pub level: LevelFrom,
    /// It has an LOD clamp operand.
    pub clamp: bool,
    /// It has a texel offset.
    pub offset: bool,
    /// Gradients are f16.
    pub g16: bool,
}

/// Operation of an instruction row.
pub fn resolve(entry: &OpcodeRow) -> Option<ImageOperation> {
    match entry.op {
        Op::ImageLoad => return Some(ImageOperation::Load { mip: false }),
        Op::ImageLoadMip => return Some(ImageOperation::Load { mip: true }),
        Op::ImageStore => return Some(ImageOperation::Store { mip: false }),
        Op::ImageStoreMip => return Some(ImageOperation::Store { mip: true }),
        Op::ImageGetResinfo => return Some(ImageOperation::Info),
        Op::ImageMsaaLoad => return Some(ImageOperation::Samples),
        // Gathers four components of each of four texels in a row: not implemented.
        Op::ImageGather4h => return None,
        _ => {}
    }
    if entry.is(Traits::ATOMIC) {
        return atomic::of_memory(entry).map(|a| ImageOperation::Atomic { operation: a.apply, compares: a.compares });
    }
    if !entry.is(Traits::SAMPLES) {
        return None;
    }
    let gives = match () {
        () if entry.op == Op::ImageGetLod => Gives::Level,
        () if entry.is(Traits::FOUR) => Gives::Four,
        () => Gives::Filtered,
    };
    let level = match () {
        () if entry.is(Traits::GRADIENTS) => LevelFrom::Gradients,
        () if entry.is(Traits::LEVEL_ZERO) => LevelFrom::Zero,
        () if entry.is(Traits::LEVEL) => LevelFrom::Operand,
        () if entry.is(Traits::BIAS) => LevelFrom::Bias,
        () => LevelFrom::Quad,
    };
    Some(ImageOperation::Sample(Form {
        gives,
        compare: entry.is(Traits::REFERENCE),
        level,
        clamp: entry.is(Traits::LEAST_LEVEL),
        offset: entry.is(Traits::OFFSET),
        g16: entry.is(Traits::G16),
    }))
}

/// Number of coordinates, and of gradient components, of a dimension.
fn counts(fields: &ImageFields, sampled: bool) -> (usize, usize) {
    match fields.dim {
        0 => (1, 1),
        1 => (2, 2),
        2 => (3, 3),
        3 => (3, 2),
        4 => (2, 1),
        // 2D arrays, and multisampled images.
        5 | 6 => (3, 2),
        _ => (if sampled { 3 } else { 4 }, 2),
    }
}

/// Reads address operands one after the other.
struct Operands<'a> {
    wave: &'a Wave,
    fields: &'a ImageFields,
    lane: usize,
    dword: usize,
    /// The next f16 is the upper half of the previous dword.
    upper: bool,
}

impl Operands<'_> {
    fn dword(&mut self) -> Result<u32> {
        self.upper = false;
        let register = self.fields.address(self.dword);
        let register = register.ok_or_else(|| Error::malformed("an image instruction lacks addresses"))?;
        self.dword += 1;
        Ok(self.wave.vgpr(register, 0, self.lane))
    }

    fn float(&mut self) -> Result<f32> {
        self.dword().map(f32::from_bits)
    }

    fn half(&mut self) -> Result<u32> {
        if self.upper {
            self.dword -= 1;
            return self.dword().map(|word| word >> 16);
        }
        let word = self.dword()?;
        self.upper = true;
        Ok(word & 0xffff)
    }

    /// Floats of 32 bits, or packed f16.
    fn floats(&mut self, count: usize, half: bool) -> Result<[f32; 3]> {
        let mut out = [0.0; 3];
        for out in out.iter_mut().take(count) {
            *out = if half { from_f16(self.half()? as u16) as f32 } else { self.float()? };
        }
        Ok(out)
    }
}

/// The operands of a sampling instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct SampleOperands {
    /// Texel offset.
    pub offset: [i32; 3],
    /// LOD bias.
    pub bias: f32,
    /// Reference of the comparison.
    pub reference: Option<f32>,
    /// Gradients in x and y.
    pub gradients: [[f32; 3]; 2],
    /// Coordinates.
    pub at: [f32; 3],
    /// LOD, or LOD clamp.
    pub level: f32,
}

/// Reads the operands of a lane.
pub fn sample_operands(form: Form, wave: &Wave, fields: &ImageFields, lane: usize) -> Result<SampleOperands> {
    let mut operands = Operands { wave, fields, lane, dword: 0, upper: false };
    let mut out = SampleOperands::default();
    let (coordinates, gradients) = counts(fields, true);
    if form.offset {
        let word = operands.dword()?;
        out.offset = [0, 8, 16].map(|low| (word << (26 - low)).cast_signed() >> 26);
    }
    if form.level == LevelFrom::Bias {
        let word = operands.dword()?;
        out.bias = if fields.a16 { from_f16(word as u16) as f32 } else { f32::from_bits(word) };
    }
    if form.compare {
        out.reference = Some(operands.float()?);
    }
    if form.level == LevelFrom::Gradients {
        for gradient in &mut out.gradients {
            *gradient = operands.floats(gradients, form.g16)?;
            operands.upper = false;
        }
    }
    out.at = operands.floats(coordinates, fields.a16)?;
    if form.level == LevelFrom::Operand || form.clamp {
        out.level = operands.floats(1, fields.a16)?[0];
    }
    Ok(out)
}

/// Reads the integer coordinates of a lane, and one more operand.
pub fn texel_operands(wave: &Wave, fields: &ImageFields, lane: usize, more: bool) -> Result<[u32; 5]> {
    let mut operands = Operands { wave, fields, lane, dword: 0, upper: false };
    let mut out = [0; 5];
    for out in out.iter_mut().take(counts(fields, false).0) {
        *out = if fields.a16 { operands.half()? } else { operands.dword()? };
    }
    if more {
        out[4] = if fields.a16 { operands.half()? } else { operands.dword()? };
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::target::Gpu;
    use dovetail_isa::Format;
    use dovetail_isa::Isa;

    #[test]
    fn every_row_of_images_but_two_kinds_is_known() {
        let rows: Vec<&OpcodeRow> = Isa::of(Gpu::Gfx1030).rows().filter(|row| row.format == Format::Mimg).collect();
        let unknown: Vec<&&OpcodeRow> = rows.iter().filter(|entry| resolve(entry).is_none()).collect();
        let expected = |e: &OpcodeRow| e.is(Traits::RAY.or(Traits::RAW)) || e.op == Op::ImageGather4h;
        assert!(rows.len() > 90 && unknown.iter().all(|entry| expected(entry)), "{unknown:?}");
    }
}
