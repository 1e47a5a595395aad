//! Image access through a T# and an S# (isa-gfx10 4.4 to 4.6): the instruction's name says what its address registers
//! hold, and [`Address`] takes them apart in that order.

mod descriptor;
mod sample;

use super::access::number;
use super::atomic::{self, Atomic, Cell};
use super::memory::Memory;
use super::mode::from_f16;
use super::wave::Wave;
use crate::error::{Error, Result};
use crate::isa::instruction::{ImageFields, Instruction};
use descriptor::{Sampler, Shape, Texture};

/// What an image instruction does.
#[derive(Clone, Copy)]
pub enum Image {
    /// Texels by number.
    Load {
        /// A level comes last.
        mip: bool,
    },
    /// The same, stored.
    Store {
        /// A level comes last.
        mip: bool,
    },
    /// An atomic operation on a texel.
    Atomic(Atomic),
    /// Filtered texels.
    Sample(Variant),
    /// One channel of the four texels that a filter would use.
    Gather(Variant),
    /// The level of detail.
    GetLod(Variant),
    /// The size.
    GetSize,
}

/// The suffixes of a sample's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    compare: bool,
    offset: bool,
    bias: bool,
    gradients: bool,
    half_gradients: bool,
    lod: bool,
    zero: bool,
    clamp: bool,
}

/// The operation of a name.
pub fn resolve(name: &str) -> Option<Image> {
    let name = name.strip_prefix("image_")?;
    Some(match name {
        "load" => Image::Load { mip: false },
        "load_mip" => Image::Load { mip: true },
        "store" => Image::Store { mip: false },
        "store_mip" => Image::Store { mip: true },
        "get_resinfo" => Image::GetSize,
        "get_lod" => Image::GetLod(Variant::default()),
        _ => {
            if let Some(atomic) = name.strip_prefix("atomic_") {
                return atomic::resolve(atomic, "").map(Image::Atomic);
            }
            let sample = name.strip_prefix("sample").map(|rest| (true, rest));
            let (sample, rest) = sample.or_else(|| Some((false, name.strip_prefix("gather4")?)))?;
            let mut variant = Variant::default();
            for suffix in rest.split('_').skip(1) {
                *match suffix {
                    "c" => &mut variant.compare,
                    "o" => &mut variant.offset,
                    "b" => &mut variant.bias,
                    "d" | "cd" => &mut variant.gradients,
                    "g16" => &mut variant.half_gradients,
                    "l" => &mut variant.lod,
                    "lz" => &mut variant.zero,
                    "cl" => &mut variant.clamp,
                    _ => return None,
                } = true;
            }
            if rest.starts_with('h') {
                return None;
            }
            if sample { Image::Sample(variant) } else { Image::Gather(variant) }
        }
    })
}

/// The address registers of a lane, read in order.
struct Address<'a> {
    wave: &'a Wave,
    fields: &'a ImageFields,
    lane: usize,
    /// Next dword.
    next: usize,
    /// Halves of the current dword are read, this many so far.
    halves: usize,
}

impl<'a> Address<'a> {
    fn new(wave: &'a Wave, fields: &'a ImageFields, lane: usize) -> Self {
        Self { wave, fields, lane, next: 0, halves: 0 }
    }

    /// A dword of its own.
    fn dword(&mut self) -> Result<u32> {
        let register = self.fields.address(self.next);
        self.next += 1;
        let register = register.ok_or_else(|| Error::malformed("too few address registers"))?;
        Ok(self.wave.row(register, 0)?[self.lane])
    }

    /// The next of a sequence of halves.
    fn half(&mut self) -> Result<u16> {
        self.halves += 1;
        if self.halves.is_multiple_of(2) {
            self.next -= 1;
            return Ok((self.dword()? >> 16) as u16);
        }
        Ok(self.dword()? as u16)
    }

    /// The sequence ends with its dword.
    fn end_halves(&mut self) {
        self.halves = 0;
    }

    /// A float of the instruction's address size.
    fn float(&mut self) -> Result<f32> {
        if self.fields.a16 { Ok(from_f16(self.half()?) as f32) } else { self.dword().map(f32::from_bits) }
    }

    /// An integer of that size.
    fn integer(&mut self) -> Result<u32> {
        if self.fields.a16 { self.half().map(u32::from) } else { self.dword() }
    }
}

/// The texel that a load, store or atomic means.
struct Texel {
    at: [i64; 3],
    layer: i64,
    sample: u32,
    level: u32,
}

fn texel(address: &mut Address<'_>, shape: Shape, mip: bool) -> Result<Texel> {
    let mut out = Texel { at: [0; 3], layer: 0, sample: 0, level: 0 };
    for at in out.at.iter_mut().take(shape.axes()) {
        *at = i64::from(address.integer()?);
    }
    if shape.layered() {
        out.layer = i64::from(address.integer()?);
    }
    if shape.multisampled() {
        out.sample = address.integer()?;
    }
    if mip {
        out.level = address.integer()?;
    }
    Ok(out)
}

/// Executes one instruction.
pub fn execute(op: Image, inst: &Instruction, f: &ImageFields, wave: &mut Wave, memory: &mut Memory) -> Result<()> {
    if f.r128 {
        return Err(Error::unsupported(inst.entry.mnemonic, "a descriptor of four dwords"));
    }
    let texture = Texture::read(wave, f.resource)?;
    let sampler = Sampler::read(wave, f.sampler);
    let shape = Shape::of_dim(f.dim);
    for lane in wave.active() {
        let mut address = Address::new(wave, f, lane);
        let Some(texture) = &texture else {
            // A null descriptor: reads 0, swallows writes (K).
            if !matches!(op, Image::Store { .. }) {
                put(f, inst, wave, lane, [0; 4], None);
            }
            continue;
        };
        let place = |texel: &Texel| {
            let level = texture.levels[0].saturating_add(texel.level);
            texture.address(texel.at, texel.layer, texel.sample, level)
        };
        let bytes = texture.format.bytes();
        match op {
            Image::Load { mip } => {
                let texel = texel(&mut address, shape, mip)?;
                let components = match place(&texel) {
                    Some(at) => texture.select(texture.format.decode(memory.read(at, bytes)?)),
                    None => [0; 4],
                };
                put(f, inst, wave, lane, components, Some(texture));
            }
            Image::Store { mip } => {
                let texel = texel(&mut address, shape, mip)?;
                if let Some(at) = place(&texel) {
                    memory.write(at, &texture.format.encode(take(f, wave, lane, texture))?)?;
                }
            }
            Image::Atomic(atomic) => {
                let texel = texel(&mut address, shape, false)?;
                // Twice the registers where a compare and swap has two operands.
                let swaps = inst.entry.mnemonic.contains("cmpswap");
                let width = f.dmask.count_ones() as usize / if swaps { 2 } else { 1 };
                let word = |n: usize| u64::from(wave.vgpr(f.data, n, lane));
                let pair = |first: usize| (0..width).rev().fold(0, |all, n| all << 32 | word(first + n));
                let (data, compare, bits) = (pair(0), pair(width), 32 * width as u32);
                let mut old = 0;
                if let Some(at) = place(&texel) {
                    let cell = memory.slice_mut(at, 4 * width)?;
                    old = number(cell);
                    cell.copy_from_slice(&atomic(Cell { old, data, compare, bits }).to_le_bytes()[..4 * width]);
                }
                if f.cache.glc {
                    (0..width).for_each(|n| wave.set_vgpr(f.data, n, lane, (old >> (32 * n)) as u32));
                }
            }
            Image::GetSize => {
                let level = texture.levels[0].saturating_add(address.integer()?);
                let [width, height, depth] = texture.extent(level.min(31));
                let layers = if shape == Shape::Cube { texture.layers() / 6 } else { texture.layers() };
                let third = if shape == Shape::D3 { depth } else { layers };
                let second = if shape == Shape::D1Array { layers } else { height };
                let levels = texture.levels[1] - texture.levels[0] + 1;
                put(f, inst, wave, lane, [width, second, third, levels], None);
            }
            Image::Sample(variant) | Image::Gather(variant) | Image::GetLod(variant) => {
                let request = sample::Request::read(&mut address, shape, variant)?;
                let neighbours = request.neighbours(wave, f, lane, shape, variant)?;
                let unit = sample::Unit { texture, sampler: &sampler, shape, memory, unnormalized: f.unorm };
                let lod = unit.lod(&request, &neighbours, variant);
                let components = match op {
                    Image::GetLod(_) => unit.get_lod(lod),
                    Image::Gather(_) => unit.gather(&request, lod, variant, f.dmask)?,
                    _ => unit.sample(&request, lod, variant)?,
                };
                let plain = matches!(op, Image::GetLod(_));
                put(f, inst, wave, lane, components, if plain { None } else { Some(texture) });
            }
        }
    }
    Ok(())
}

/// Writes the components that the mask names, packed; gathers have four of one channel.
fn put(f: &ImageFields, inst: &Instruction, wave: &mut Wave, lane: usize, components: [u32; 4], of: Option<&Texture>) {
    let gather = inst.entry.mnemonic.contains("gather4");
    let wanted = components.into_iter().enumerate().filter(|(n, _)| gather || f.dmask >> n & 1 == 1);
    for (n, (_, value)) in wanted.enumerate() {
        match of.filter(|_| f.d16) {
            Some(texture) => {
                let half = texture.format.narrow(value);
                let old = wave.vgpr(f.data, n / 2, lane);
                let merged = if n % 2 == 1 { old & 0xffff | half << 16 } else { old & 0xffff_0000 | half };
                wave.set_vgpr(f.data, n / 2, lane, merged);
            }
            None => wave.set_vgpr(f.data, n, lane, value),
        }
    }
    if f.tfe || f.lwe {
        let registers = usize::from(f.data_registers(inst.entry.mnemonic));
        wave.set_vgpr(f.data, registers, lane, 0);
    }
}

/// The components that a lane stores; those that the mask leaves out are 0 (K).
fn take(f: &ImageFields, wave: &Wave, lane: usize, texture: &Texture) -> [u32; 4] {
    let mut components = [0; 4];
    let wanted = components.iter_mut().enumerate().filter(|(n, _)| f.dmask >> n & 1 == 1);
    for (n, (_, component)) in wanted.enumerate() {
        *component = if f.d16 {
            texture.format.widen(wave.vgpr(f.data, n / 2, lane) >> (16 * (n % 2)) & 0xffff)
        } else {
            wave.vgpr(f.data, n, lane)
        };
    }
    components
}
