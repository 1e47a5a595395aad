//! Converts [`Inputs`] to the interpreter's memory, and that memory back to known values after a run.

use super::logic::Allowed;
use super::plain::Alike;
use dovetail_base::error::Result;
use dovetail_emu::inputs::{Address, BindingElement, Bound, Image, InputBytes, Inputs, Sampler};
use dovetail_emu::pointers::StoredAddresses;
use dovetail_emu::{DataFormat, NamedFormat};
use dovetail_interp::{
    AddressMode, Difference, Filter, InterpretedSampler as InterpSampler, MemoryVerdict, Shadow, ShadowedMemory,
    ShadowedTexel, Texture, World,
};
use dovetail_ir::Bits;
use dovetail_state::Swizzle;
use std::collections::BTreeMap;

/// The interpreter's memory and bindings for the same inputs.
///
/// # Errors
/// An unknown format, or one without texels; invalid pointers.
pub fn world(inputs: &Inputs) -> Result<World> {
    let addresses = addresses(inputs)?;
    let with_addresses = |within, data: &InputBytes| {
        let mut bytes = data.0.clone();
        addresses.write(within, &mut bytes);
        ShadowedMemory::new(bytes)
    };
    let mut world = World { push_constants: with_addresses(None, &inputs.push_constants), ..Default::default() };
    for (n, b) in inputs.bindings.iter().enumerate() {
        let place = (b.set, b.binding, b.element);
        world.kinds.extend(b.bound.kind().map(|kind| (place, kind)));
        if b.bound.storage_buffer().is_some() {
            world.addresses.insert(address(n), place);
        }
        match &b.bound {
            Bound::UniformBuffer(data) | Bound::StorageBuffer(data) | Bound::PhysicalStorageBuffer(data) => {
                world.buffers.insert(place, with_addresses(Some(n), data));
            }
            Bound::UniformTexelBuffer(t) | Bound::StorageTexelBuffer(t) => {
                let format = NamedFormat::new(&t.format)?;
                let levels = vec![texels(&format, &t.data.0)];
                let extent = [levels[0].len() as u32, 1, 1];
                let integer = format.format.is_integer();
                world.textures.insert(place, Texture { extent, integer, levels, ..Texture::default() });
            }
            Bound::SampledImage(image) | Bound::InputAttachment(image) | Bound::StorageImage(image) => {
                if !matches!(b.bound, Bound::SampledImage(_)) {
                    image.check_identity()?;
                }
                world.textures.insert(place, texture(image)?);
            }
            Bound::Sampler(s) => {
                world.samplers.insert(place, sampler(s));
            }
            Bound::CombinedImageSampler(image, s) => {
                world.textures.insert(place, texture(image)?);
                world.samplers.insert(place, sampler(s));
            }
        }
    }
    for absent in &inputs.absent {
        absent.check(inputs)?;
        let place = (absent.image.set, absent.image.binding, absent.image.element);
        *world.absent.entry(place).or_default() |= 1u32.checked_shl(absent.level).unwrap_or(0);
        let level = world.textures.get_mut(&place).and_then(|t| t.levels.get_mut(absent.level as usize));
        level.into_iter().flatten().for_each(|texel| *texel = ([0; 4], [Shadow::NONE; 4]));
    }
    Ok(world)
}

/// The interpreter's address of a binding, by its index: so far from the others that address arithmetic cannot reach
/// them.
fn address(binding: usize) -> u64 {
    (binding as u64 + 1) << 40
}

fn addresses(inputs: &Inputs) -> Result<StoredAddresses> {
    StoredAddresses::new(inputs, address)
}

/// The contents of every binding that shaders may write; `None` for the others.
///
/// # Errors
/// A format without texels.
pub fn known(inputs: &Inputs, world: &World) -> Result<Vec<Option<KnownContents>>> {
    let addresses = addresses(inputs)?;
    let of = |(n, b): (usize, &BindingElement)| {
        let place = (b.set, b.binding, b.element);
        let (format, data) = match &b.bound {
            Bound::StorageBuffer(_) | Bound::PhysicalStorageBuffer(_) => {
                let mut memory = world.buffers.get(&place).cloned();
                memory.iter_mut().for_each(|memory| {
                    addresses.restore(inputs, n, memory.bytes_mut());
                    if !inputs.pointers.is_empty() {
                        doubt_addresses(inputs, memory);
                    }
                });
                memory.iter_mut().filter(|_| world.doubtful).for_each(ShadowedMemory::open_unwritten);
                return Ok(memory.map(KnownContents::buffer));
            }
            Bound::StorageImage(image) => (&image.format, &image.data.0),
            Bound::StorageTexelBuffer(texels) => (&texels.format, &texels.data.0),
            _ => return Ok(None),
        };
        // It is unknown which texels were written, so unchanged texels are not compared.
        let before = if world.doubtful { texels(&NamedFormat::new(format)?, data) } else { Vec::new() };
        world.textures.get(&place).map(|texture| KnownContents::texels(format, texture, &before)).transpose()
    };
    inputs.bindings.iter().enumerate().map(of).collect()
}

/// Stored addresses differ between implementations: no value that is one of this world's is known.
fn doubt_addresses(inputs: &Inputs, memory: &mut ShadowedMemory) {
    for at in (0..memory.bytes().len()).step_by(4).filter(|at| memory.is_written(*at)).collect::<Vec<_>>() {
        let (value, _) = memory.load(at as u64, Bits::B64);
        let found = (value >> 40).checked_sub(1).and_then(|n| inputs.bindings.get(usize::try_from(n).ok()?));
        let length = found.filter(|b| b.bound.storage_buffer().is_some()).and_then(|b| b.bound.buffer());
        if length.is_some_and(|data| value & ((1 << 40) - 1) <= data.0.len() as u64) {
            for half in [at, at + 4] {
                let (word, _) = memory.load(half as u64, Bits::B32);
                memory.store(half as u64, Bits::B32, word, Shadow::UNCERTAIN);
            }
        }
    }
}

fn texture(image: &Image) -> Result<Texture> {
    let format = NamedFormat::new(&image.format)?;
    let selects = Swizzle::of_view(image.swizzle, format.selects, 0, 1);
    let slack = std::array::from_fn(|component| format.format.slack(component));
    let mut rest = image.data.0.as_slice();
    let mut levels = Vec::new();
    for level in 0..image.levels.min(32) {
        let [width, height, depth] = image.extent.map(|x| x.checked_shr(level).unwrap_or(0).max(1));
        let elements = format.format.elements([width, height]).map(|n| n as usize);
        let bytes = elements.iter().fold(format.format.bytes(), |all, n| all.saturating_mul(*n));
        let slices = depth.saturating_mul(image.layers).saturating_mul(image.samples) as usize;
        let (own, later) = rest.split_at(bytes.saturating_mul(slices).min(rest.len()));
        rest = later;
        let texels = own.chunks(bytes.max(1)).flat_map(|slice| format.format.decode_slice(slice, [width, height]));
        levels.push(texels.map(|texel| selected(&format, selects, texel, slack)).collect());
    }
    let step = if format.is_normalized() { format.step(0, 1.0) } else { 0.0 };
    let (integer, samples) = (format.format.is_integer(), image.samples);
    let (layers, selects) = (image.layers * samples, Swizzle::of_view(image.swizzle, [4, 5, 6, 7], 0, 1));
    Ok(Texture { extent: image.extent, layers, samples, integer, step, selects, levels })
}

/// A texel with its components in the view's order, which `selects` gives. `slack`: how far the components of other
/// decoders of compressed blocks may be from these. Those decoders, and formats of 24 bits, whose fractions a float
/// does not hold, round all numbers but 0 and 1 in their own way.
fn selected(format: &NamedFormat, selects: [u8; 4], texel: [u32; 4], slack: [f64; 4]) -> ShadowedTexel {
    let rounds = format.is_normalized() && (format.format.block() != [1; 2] || format.number == DataFormat::DEPTH_24);
    let shadows = selects.map(|select| {
        let component = usize::from(select.saturating_sub(4));
        let value = f64::from(f32::from_bits(texel[component]));
        match slack[component] {
            _ if select < 4 || !rounds => Shadow::NONE,
            0.0 if value == 0.0 || value == 1.0 => Shadow::NONE,
            slack => Shadow { value, bound: slack.max(2f64.powi(-24)) },
        }
    });
    (selects.map(|select| format.format.select(texel, select)), shadows)
}

fn texels(format: &NamedFormat, data: &[u8]) -> Vec<ShadowedTexel> {
    data.chunks_exact(format.format.bytes()).map(|texel| (format.decode(texel), [Shadow::NONE; 4])).collect()
}

/// What the interpreter knows of a binding after a run: exact values, and for the others error bounds.
#[derive(Clone, Debug)]
pub struct KnownContents {
    /// For texels: each channel of the format as 32 bits.
    memory: ShadowedMemory,
    format: Option<NamedFormat>,
    /// By index of a word: the values of which it must have one, if there are several, as results of logic operations.
    allowed: BTreeMap<usize, Vec<u32>>,
}

impl KnownContents {
    /// A buffer.
    pub fn buffer(memory: ShadowedMemory) -> Self {
        Self { memory, format: None, allowed: BTreeMap::new() }
    }

    /// See [`ShadowedMemory::without_strays`].
    #[must_use]
    pub fn without_strays(&self) -> Self {
        Self { memory: self.memory.without_strays(), ..self.clone() }
    }

    /// An image or a texel buffer, rounded to its format. Values equal to `before` are not compared.
    ///
    /// # Errors
    /// An unknown format, or one without texels.
    pub fn texels(format: &str, texture: &Texture, before: &[ShadowedTexel]) -> Result<Self> {
        let format = NamedFormat::new(format)?;
        let texels: Vec<&ShadowedTexel> = texture.levels.iter().flatten().collect();
        let words = texels.iter().flat_map(|(bits, _)| format.channels().map(|channel| bits[channel]));
        let mut memory = ShadowedMemory::new(words.flat_map(u32::to_le_bytes).collect());
        if !before.is_empty() {
            memory.open_unwritten();
        }
        let mut at = 0;
        for (n, (bits, shadows)) in texels.into_iter().enumerate() {
            let unchanged = before.get(n).is_some_and(|texel| *texel == (*bits, *shadows));
            for channel in format.channels() {
                let (value, shadow) = (bits[channel], shadows[channel]);
                if unchanged {
                    at += 4;
                    continue;
                }
                memory.store(at, Bits::B32, u64::from(value), rounded(&format, channel, value, shadow));
                at += 4;
            }
        }
        Ok(Self { memory, format: Some(format), allowed: BTreeMap::new() })
    }

    /// An attachment of a draw: the pixels drawn, or the clear colour.
    pub(super) fn attachment(format: NamedFormat, clear: [u32; 4], pixels: &[Option<ShadowedTexel>]) -> Self {
        let cleared = format.encode(clear).map_or(clear, |texel| format.decode(&texel));
        let channels: Vec<usize> = format.channels().collect();
        let words = pixels.iter().flat_map(|_| channels.iter().map(|&channel| cleared[channel]));
        let mut memory = ShadowedMemory::new(words.flat_map(u32::to_le_bytes).collect());
        for (n, pixel) in pixels.iter().enumerate() {
            let Some((bits, shadows)) = pixel else { continue };
            for (k, &channel) in channels.iter().enumerate() {
                let shadow = rounded(&format, channel, bits[channel], shadows[channel]);
                memory.store(((n * channels.len() + k) * 4) as u64, Bits::B32, bits[channel].into(), shadow);
            }
        }
        Self { memory, format: Some(format), allowed: BTreeMap::new() }
    }

    /// These contents, with the stored bits that channels of some texels may have.
    pub(super) fn with_allowed(mut self, texels: impl Iterator<Item = (usize, Allowed)>) -> Self {
        let Some(format) = &self.format else { return self };
        let channels: Vec<usize> = format.channels().collect();
        for (n, texel) in texels {
            for (k, &channel) in channels.iter().enumerate() {
                if let Some(several) = texel[channel].as_deref().filter(|all| all.len() > 1) {
                    let values = several.iter().map(|stored| format.value(channel, *stored));
                    self.allowed.insert(n * channels.len() + k, values.collect());
                }
            }
        }
        self
    }

    /// The bytes of the binding.
    ///
    /// # Errors
    /// A format that cannot be written.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let Some(format) = &self.format else { return Ok(self.memory.bytes().to_vec()) };
        let channels: Vec<usize> = format.channels().collect();
        let mut out = Vec::new();
        for texel in self.memory.bytes().chunks_exact(channels.len().max(1) * 4) {
            let mut color = [0; 4];
            for (channel, word) in channels.iter().zip(texel.as_chunks::<4>().0) {
                color[*channel] = u32::from_le_bytes(*word);
            }
            out.extend(format.encode(color)?);
        }
        Ok(out)
    }

    /// Channels per texel; 1 for a buffer.
    pub(super) fn channels(&self) -> usize {
        self.format.as_ref().map_or(1, |format| format.channels().count()).max(1)
    }

    /// Compares two outputs of the binding.
    pub fn judge_between(&self, ours: &[u8], theirs: &[u8], floor_ulps: f64) -> MemoryVerdict {
        let Some(format) = &self.format else { return self.memory.judge_between(ours, theirs, floor_ulps) };
        let [ours, theirs] = [ours, theirs].map(|bytes| words(format, bytes));
        let mut verdict = self.memory.judge_between(&ours, &theirs, floor_ulps);
        let word = |bytes: &[u8], n: usize| bytes.as_chunks::<4>().0.get(n).map(|word| u32::from_le_bytes(*word));
        for (n, allowed) in &self.allowed {
            let found = [&ours, &theirs].map(|bytes| word(bytes, *n).unwrap_or(0));
            verdict.exact += 1;
            if found.iter().any(|value| !allowed.contains(value)) {
                let [ours, theirs] = found.map(|bits| f64::from(f32::from_bits(bits)));
                verdict.wrong.push(Difference { at: n * 4, ours, theirs, limit: 0.0 });
            }
        }
        verdict
    }

    /// How many written values agree in two outputs by a plain bound; those of a buffer are words.
    pub(super) fn alike(&self, ours: &[u8], theirs: &[u8]) -> Alike {
        let [ours, theirs] = [ours, theirs].map(|bytes| match &self.format {
            Some(format) => words(format, bytes),
            None => bytes.to_vec(),
        });
        let integer = self.format.as_ref().is_some_and(|format| format.format.is_integer());
        let step = if self.format.as_ref().is_some_and(NamedFormat::is_normalized) { 2.1 / 255.0 } else { 2e-3 };
        let pairs = ours.as_chunks::<4>().0.iter().zip(theirs.as_chunks::<4>().0).enumerate();
        let written = pairs.filter(|(n, _)| self.memory.is_written(n * 4)).map(|(_, pair)| pair);
        let one = |(a, b): (&[u8; 4], &[u8; 4])| {
            let floats = [a, b].map(|word| f32::from_le_bytes(*word));
            let [x, y] = floats;
            // A small integer is a denormal, and near every other.
            let numbers = !integer && (self.format.is_some() || floats.iter().all(|x| x.is_normal()));
            let near = numbers && f64::from((x - y).abs()) <= step * f64::from(y.abs().max(1.0));
            Alike { alike: usize::from(a == b || near), all: 1 }
        };
        written.map(one).sum()
    }
}

/// The channels of texels, as 32 bits each.
fn words(format: &NamedFormat, bytes: &[u8]) -> Vec<u8> {
    let colors = bytes.chunks(format.format.bytes()).map(|texel| format.decode(texel));
    let words = colors.flat_map(|color| format.channels().map(move |channel| color[channel]));
    words.flat_map(u32::to_le_bytes).collect()
}

/// The error bound of a channel after its format has rounded it, in either direction.
fn rounded(format: &NamedFormat, channel: usize, value: u32, shadow: Shadow) -> Shadow {
    let number = f32::from_bits(value);
    let step = if format.format.is_integer() { 0.0 } else { format.step(channel, number) };
    let mut color = [0; 4];
    color[channel] = value;
    let held = || format.encode(color).is_ok_and(|texel| format.decode(&texel)[channel] == value);
    if step == 0.0 || shadow.is_uncertain() || (shadow.is_exact() && held()) {
        return shadow;
    }
    let exact = if shadow.is_float() { shadow } else { Shadow { value: f64::from(number), bound: 0.0 } };
    Shadow { bound: exact.bound + step, ..exact }
}

fn sampler(s: &Sampler) -> InterpSampler {
    let filter = |linear| if linear { Filter::Linear } else { Filter::Nearest };
    InterpSampler {
        mag: filter(s.mag_linear),
        min: filter(s.min_linear),
        mip: filter(s.mip_linear),
        address: s.address.map(|a| match a {
            Address::Repeat => AddressMode::Repeat,
            Address::MirroredRepeat => AddressMode::MirroredRepeat,
            Address::ClampToEdge => AddressMode::ClampToEdge,
            Address::ClampToBorder => AddressMode::ClampToBorder,
            Address::MirrorClampToEdge => AddressMode::MirrorClampToEdge,
        }),
        lod: [f64::from(s.min_lod), f64::from(s.max_lod), f64::from(s.lod_bias)],
        border: [false, true].map(|integer| s.border.words(integer)),
        compare: s.compare.map(|c| {
            use dovetail_emu::inputs::Compare as C;
            [
                matches!(c, C::Less | C::LessOrEqual | C::NotEqual | C::Always),
                matches!(c, C::Equal | C::LessOrEqual | C::GreaterOrEqual | C::Always),
                matches!(c, C::Greater | C::GreaterOrEqual | C::NotEqual | C::Always),
            ]
        }),
        unnormalized: s.unnormalized,
        non_seamless: s.non_seamless,
        anisotropy: s.anisotropy.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_one_of_the_values_that_it_may_have() {
        let format = NamedFormat::new("R8G8_UNORM").unwrap();
        let texel = ([0; 4], [Shadow::NONE, Shadow::UNCERTAIN, Shadow::NONE, Shadow::NONE]);
        let known = KnownContents::attachment(format, [0; 4], &[Some(texel); 2]);
        let allowed = || [None, Some(vec![0x70, 0x8f]), None, None];
        let known = known.with_allowed([(1, allowed())].into_iter());
        let wrong = |ours: u8, theirs: u8| {
            let verdict = known.judge_between(&[0, 9, 0, ours], &[0, 1, 0, theirs], 0.0);
            verdict.wrong.iter().map(|one| one.at).collect::<Vec<_>>()
        };
        assert!(wrong(0x70, 0x8f).is_empty() && wrong(0x8f, 0x8f).is_empty());
        assert_eq!([wrong(0x71, 0x70), wrong(0x8f, 0)], [vec![12], vec![12]]);
    }

    #[test]
    fn written_words_are_alike_if_equal_or_near_as_floats() {
        let mut memory = ShadowedMemory::new(vec![0; 20]);
        (0..16).step_by(4).for_each(|at| memory.store(at, Bits::B32, 0, Shadow::UNCERTAIN));
        let bytes = |words: [u32; 5]| words.map(u32::to_le_bytes).concat();
        let one = 1f32.to_bits();
        // A near float, a far one, a near integer, an equal word; the last is unwritten.
        let (ours, theirs) = ([one, one, 5, 7, 1], [one + 9, 1.1f32.to_bits(), 6, 7, 2]);
        assert_eq!(KnownContents::buffer(memory).alike(&bytes(ours), &bytes(theirs)), Alike { alike: 2, all: 4 });
    }
}
