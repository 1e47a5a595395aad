//! The name of an image instruction to what it does and which address operands it takes (isa-gfx10 4.6).
//!
//! Operands come as `[offset] [bias] [reference] [gradients] coordinates [level or least level]`.

use super::Image;
use crate::emu::atomic;
use crate::emu::mode::from_f16;
use crate::emu::wave::Wave;
use crate::error::{Error, Result};
use crate::isa::instruction::ImageFields;

/// What a sampling instruction gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Filtered components.
    Filtered,
    /// A component of four texels.
    Four,
    /// The level of detail.
    Level,
}

/// Where the level of detail comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelFrom {
    /// The neighbours.
    Quad,
    /// The neighbours, and something added.
    Bias,
    /// Gradients.
    Gradients,
    /// An operand.
    Operand,
    /// It is 0.
    Zero,
}

/// A sampling instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// What it gives.
    pub gives: Gives,
    /// It compares.
    pub compare: bool,
    /// Where the level of detail comes from.
    pub level: LevelFrom,
    /// A least level follows.
    pub clamp: bool,
    /// Texels are added.
    pub offset: bool,
    /// Gradients are halves.
    pub g16: bool,
}

/// The operation of a name.
pub fn resolve(name: &str) -> Option<Image> {
    match name {
        "image_load" => return Some(Image::Load { mip: false }),
        "image_load_mip" => return Some(Image::Load { mip: true }),
        "image_store" => return Some(Image::Store { mip: false }),
        "image_store_mip" => return Some(Image::Store { mip: true }),
        "image_get_resinfo" => return Some(Image::Info),
        "image_msaa_load" => return Some(Image::Samples),
        _ => {}
    }
    if name.starts_with("image_atomic_") {
        return atomic::of_memory(name).map(|a| Image::Atomic { operation: a.apply, compares: a.compares });
    }
    let mut parts = name.strip_prefix("image_")?.split('_').peekable();
    let gives = match parts.next()? {
        "sample" => Gives::Filtered,
        "gather4" => Gives::Four,
        "get" if parts.next() == Some("lod") => Gives::Level,
        _ => return None,
    };
    let mut has = |part: &str| parts.next_if_eq(&part).is_some();
    let compare = has("c");
    let level = if has("d") || has("cd") {
        LevelFrom::Gradients
    } else if has("lz") {
        LevelFrom::Zero
    } else if has("l") {
        LevelFrom::Operand
    } else if has("b") {
        LevelFrom::Bias
    } else {
        LevelFrom::Quad
    };
    let form = Form { gives, compare, level, clamp: has("cl"), offset: has("o"), g16: has("g16") };
    parts.next().is_none().then_some(Image::Sample(form))
}

/// Coordinates and gradients of a dimension.
fn counts(fields: &ImageFields, sampled: bool) -> (usize, usize) {
    match fields.dim {
        0 => (1, 1),
        1 => (2, 2),
        2 => (3, 3),
        3 => (3, 2),
        4 => (2, 1),
        // An array of planes, and samples of a plane.
        5 | 6 => (3, 2),
        _ => (if sampled { 3 } else { 4 }, 2),
    }
}

/// Address operands, one after the other.
struct Operands<'a> {
    wave: &'a Wave,
    fields: &'a ImageFields,
    lane: usize,
    dword: usize,
    /// The next half is the upper one of the dword before.
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

    /// Floats of 32 bits, or packed ones of 16.
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
    /// Texels added.
    pub offset: [i32; 3],
    /// Added to the level.
    pub bias: f32,
    /// Compared with texels.
    pub reference: Option<f32>,
    /// Gradients in x and y.
    pub gradients: [[f32; 3]; 2],
    /// Coordinates.
    pub at: [f32; 3],
    /// Level, or least level.
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

    #[test]
    fn every_name_of_the_table_but_two_kinds_is_known() {
        let table = include_str!("../../../testdata/isa/opcodes-gfx1030.tsv");
        let names = table.lines().filter_map(|line| line.split('\t').nth(2)).filter(|n| n.starts_with("image_"));
        let unknown: Vec<&str> = names.clone().filter(|name| resolve(name).is_none()).collect();
        assert!(names.count() > 90);
        assert!(
            unknown.iter().all(|n| n.contains("bvh") || n.contains("pck") || *n == "image_gather4h"),
            "{unknown:?}"
        );
    }
}
