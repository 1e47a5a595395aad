//! Image access through a T# and an S# (isa-gfx10 4.4 to 4.6).
//!
//! [`form`] decodes the instruction, [`descriptor`] the descriptors; [`texture`] addresses texels, [`mod@sample`]
//! filters them. Outside an image, reads give 0 and stores do nothing (K).

mod cube;
mod descriptor;
mod form;
mod sample;
mod texture;

pub use descriptor::{Clamp, CompareFunction, DescriptorShape, ImageDescriptor, SamplerDescriptor};
pub use form::resolve;
pub use texture::{TexelPosition, TextureView};

use super::access;
use super::atomic::{Atomic, Cell};
use super::memory::Memory;
use super::wave::Wave;
use dovetail_base::error::{Error, Result};
use dovetail_isa::instruction::{ImageFields, Instruction};
use form::{Form, Gives, LevelFrom, SampleOperands};
use sample::{Coordinates, Footprint, Sampled};

/// Operation of an image instruction.
#[derive(Clone, Copy)]
pub enum ImageOperation {
    /// A texel load by integer coordinates.
    Load {
        /// It has a level operand.
        mip: bool,
    },
    /// A texel store.
    Store {
        /// It has a level operand.
        mip: bool,
    },
    /// An atomic operation on a texel.
    Atomic {
        /// The operation.
        operation: Atomic,
        /// It takes two operands.
        compares: bool,
    },
    /// Size and level count.
    Info,
    /// One component of four samples.
    Samples,
    /// A filtered sample.
    Sample(Form),
}

/// The dimension number of a cube.
const CUBE: u8 = 3;

/// Executes one instruction.
pub fn execute(
    op: ImageOperation,
    inst: &Instruction,
    fields: &ImageFields,
    wave: &mut Wave,
    memory: &mut Memory,
) -> Result<()> {
    if fields.r128 {
        return Err(Error::unsupported("image descriptor of four dwords", inst.entry.mnemonic));
    }
    let descriptor = ImageDescriptor::new(std::array::from_fn(|n| wave.sgpr(fields.resource, n)))?;
    let texture = descriptor.map(TextureView::new).transpose()?;
    let sampler = match op {
        ImageOperation::Sample(_) => {
            Some(SamplerDescriptor::new(std::array::from_fn(|n| wave.sgpr(fields.sampler, n)))?)
        }
        _ => None,
    };
    let mut results = Vec::new();
    for lane in wave.active() {
        // A null descriptor reads 0 and drops stores.
        let Some(texture) = &texture else {
            results.push((lane, [0; 4], false));
            continue;
        };
        let at = |e: Error| e.at(format!("lane {lane}"));
        let result = match (op, &sampler) {
            (ImageOperation::Sample(form), Some(sampler)) => {
                let sampled = Sampled { memory, texture, sampler, reference: None };
                sample(form, fields, wave, lane, sampled)
            }
            (ImageOperation::Store { mip }, _) => store(texture, fields, wave, lane, mip, memory).map(|()| [0; 4]),
            (ImageOperation::Atomic { operation, compares }, _) => {
                atomic(texture, fields, wave, lane, (operation, compares), memory)
            }
            (ImageOperation::Info, _) => info(texture, fields, wave, lane),
            (ImageOperation::Samples, _) => samples(texture, fields, wave, lane, memory),
            (ImageOperation::Load { mip }, _) => load(texture, fields, wave, lane, mip, memory),
            _ => Err(Error::bug("a sampling instruction without a sampler")),
        };
        results.push((lane, result.map_err(at)?, memory.take_missed()));
    }
    let four = matches!(op, ImageOperation::Samples | ImageOperation::Sample(Form { gives: Gives::Four, .. }));
    let returns = match op {
        ImageOperation::Store { .. } => false,
        ImageOperation::Atomic { .. } => fields.cache.returns(),
        _ => true,
    };
    if returns {
        let dmask = if four { 15 } else { fields.dmask };
        let narrow = texture.as_ref().filter(|_| fields.d16).map(|t| |c| t.format.narrow(c));
        for (lane, components, missed) in results {
            put(wave, fields, lane, dmask, (components, missed), narrow.as_ref());
        }
    }
    Ok(())
}

/// Writes the components that the mask selects to the data registers of a lane, then the residency code if asked for.
fn put(
    wave: &mut Wave,
    fields: &ImageFields,
    lane: usize,
    dmask: u8,
    (components, missed): ([u32; 4], bool),
    narrow: Option<&impl Fn(u32) -> u32>,
) {
    let chosen: Vec<u32> = (0..4).filter(|n| dmask >> n & 1 == 1).map(|n| components[n]).collect();
    let words: Vec<u32> = match narrow {
        // Two 16-bit values per register; an odd last value has a register of its own.
        _ if !fields.d16 => chosen,
        Some(narrow) => chosen.chunks(2).map(|c| narrow(c[0]) | c.get(1).map_or(0, |c| narrow(*c) << 16)).collect(),
        None => vec![0; chosen.len().div_ceil(2)],
    };
    let status = (fields.tfe || fields.lwe).then_some(u32::from(missed));
    for (n, word) in words.into_iter().chain(status).enumerate() {
        wave.set_vgpr(fields.data, n, lane, word);
    }
}

/// The texel at integer coordinates.
fn place(fields: &ImageFields, [x, y, z, w, mip]: [u32; 5]) -> TexelPosition {
    let (at, sample) = match fields.dim {
        0 => ([x, 0, 0], 0),
        4 => ([x, 0, y], 0),
        1 => ([x, y, 0], 0),
        6 => ([x, y, 0], z),
        7 => ([x, y, z], w),
        _ => ([x, y, z], 0),
    };
    TexelPosition { level: mip, at, sample }
}

fn load(
    texture: &TextureView,
    fields: &ImageFields,
    wave: &Wave,
    lane: usize,
    mip: bool,
    memory: &Memory,
) -> Result<[u32; 4]> {
    let place = place(fields, form::texel_operands(wave, fields, lane, mip)?);
    Ok(texture.texel(memory, place)?.map_or([0; 4], |texel| texture.selected(texel)))
}

fn samples(texture: &TextureView, fields: &ImageFields, wave: &Wave, lane: usize, memory: &Memory) -> Result<[u32; 4]> {
    let first = place(fields, form::texel_operands(wave, fields, lane, false)?);
    let component = fields.dmask.trailing_zeros() as usize;
    let mut out = [0; 4];
    for (out, sample) in out.iter_mut().zip(0..) {
        let texel = texture.texel(memory, TexelPosition { sample, ..first })?;
        *out = texel.and_then(|texel| texture.selected(texel).get(component).copied()).unwrap_or(0);
    }
    Ok(out)
}

fn store(
    texture: &TextureView,
    fields: &ImageFields,
    wave: &Wave,
    lane: usize,
    mip: bool,
    memory: &mut Memory,
) -> Result<()> {
    let place = place(fields, form::texel_operands(wave, fields, lane, mip)?);
    let mut components = [0; 4];
    let enabled = components.iter_mut().enumerate().filter(|(n, _)| fields.dmask >> n & 1 == 1);
    for (n, (_, component)) in enabled.enumerate() {
        *component = if fields.d16 {
            let half = wave.vgpr(fields.data, n / 2, lane) >> (16 * (n % 2)) & 0xffff;
            texture.format.widen(half)
        } else {
            wave.vgpr(fields.data, n, lane)
        };
    }
    texture.store(memory, place, components)
}

fn atomic(
    texture: &TextureView,
    fields: &ImageFields,
    wave: &Wave,
    lane: usize,
    (operation, compares): (Atomic, bool),
    memory: &mut Memory,
) -> Result<[u32; 4]> {
    let place = place(fields, form::texel_operands(wave, fields, lane, false)?);
    let bytes = texture.format.bytes();
    // The mask counts the data registers, including the register of the comparison value.
    let registers = fields.dmask.count_ones() as usize / if compares { 2 } else { 1 };
    if !matches!(bytes, 4 | 8) || 4 * registers != bytes {
        return Err(Error::unsupported("image atomic", format!("{registers} registers for texels of {bytes} bytes")));
    }
    let operand = |first: usize| {
        let words = (0..registers).rev().map(|n| u64::from(wave.vgpr(fields.data, first + n, lane)));
        words.fold(0, |all, word| all << 32 | word)
    };
    let Some(address) = texture.address(place) else { return Ok([0; 4]) };
    let old = access::number(memory.read(address, bytes)?);
    let compare = if compares { operand(registers) } else { 0 };
    let new = operation(Cell { old, data: operand(0), compare, bits: 8 * bytes as u32 });
    memory.write(address, &new.to_le_bytes()[..bytes])?;
    Ok([old as u32, (old >> 32) as u32, 0, 0])
}

/// Width, height, layers or depth, levels.
fn info(texture: &TextureView, fields: &ImageFields, wave: &Wave, lane: usize) -> Result<[u32; 4]> {
    let register = fields.address(0).ok_or_else(|| Error::malformed("no level"))?;
    let level = wave.vgpr(register, 0, lane);
    let level = if fields.a16 { level & 0xffff } else { level };
    let levels = texture.image.levels();
    if level >= levels {
        return Ok([0, 0, 0, levels]);
    }
    let [width, height, layers] = texture.extent(level);
    Ok([width, height, layers, levels])
}

/// The slice of a cube face. `joined` is 8 * cube + face; the view has six slices per cube. The cube index is clamped
/// to the view, the face is not (PAL and Mesa rely on it from gfx9 on).
fn cube_layer(joined: f32, layers: u32) -> f32 {
    let joined = joined.round_ties_even();
    let cube = (joined / 8.0).floor();
    let last = (layers / 6).max(1) - 1;
    cube.clamp(0.0, last as f32) * 6.0 + (joined - cube * 8.0)
}

/// The coordinates of a sample.
fn coordinates(fields: &ImageFields, form: Form, operands: &SampleOperands, sampled: &Sampled<'_>) -> Coordinates {
    let [s, t, r] = operands.at;
    let query = form.gives == Gives::Level;
    let mut out = Coordinates {
        at: operands.at,
        layer: 0.0,
        offset: operands.offset,
        unnormalized: fields.unorm || sampled.sampler.unnormalized,
        cube: fields.dim == CUBE,
    };
    match fields.dim {
        CUBE => {
            out.at = [s - 1.0, t - 1.0, 0.0];
            out.layer = cube_layer(r, sampled.texture.extent(0)[2]);
        }
        4 if !query => out.layer = t,
        5 if !query => out.layer = r,
        _ => {}
    }
    out
}

/// The derivatives of coordinates in the quad of a lane, inactive lanes included.
fn derivatives(form: Form, fields: &ImageFields, wave: &Wave, lane: usize) -> Result<[[f32; 3]; 2]> {
    let of = |n: usize| form::sample_operands(form, wave, fields, (lane & !3) + n).map(|operands| operands.at);
    let [origin, right, below] = [of(0)?, of(1)?, of(2)?];
    let minus = |a: [f32; 3]| std::array::from_fn(|n| a[n] - origin[n]);
    Ok([minus(right), minus(below)])
}

fn sample(form: Form, fields: &ImageFields, wave: &Wave, lane: usize, sampled: Sampled<'_>) -> Result<[u32; 4]> {
    let operands = form::sample_operands(form, wave, fields, lane)?;
    let at = coordinates(fields, form, &operands, &sampled);
    let sampled = Sampled { reference: operands.reference, ..sampled };
    let covered = |[dx, dy]: [[f32; 3]; 2]| match form.gives {
        Gives::Filtered if sampled.sampler.anisotropy > 0 => sampled.footprint(dx, dy, at.unnormalized),
        _ => Footprint::point(sampled.level_of(dx, dy, at.unnormalized)),
    };
    let footprint = match form.level {
        LevelFrom::Zero => Footprint::point(0.0),
        LevelFrom::Operand => Footprint::point(operands.level),
        LevelFrom::Gradients => covered(operands.gradients),
        LevelFrom::Quad | LevelFrom::Bias => covered(derivatives(form, fields, wave, lane)?),
    };
    let lod = footprint.level + if matches!(form.level, LevelFrom::Bias) { operands.bias } else { 0.0 };
    let least = if form.clamp { operands.level } else { 0.0 };
    let clamped = sampled.clamped(lod, least);
    match form.gives {
        Gives::Filtered => sampled.sample_along(&at, &footprint, clamped),
        Gives::Four => sampled.gather(&at, clamped, fields.dmask.trailing_zeros() as usize),
        Gives::Level => {
            let (first, second, weight) = sampled.levels(clamped);
            let read = f64::from(first) + f64::from(second - first) * weight;
            Ok([(read as f32).to_bits(), (lod + sampled.sampler.bias).to_bits(), 0, 0])
        }
    }
}

#[cfg(test)]
mod tests;
