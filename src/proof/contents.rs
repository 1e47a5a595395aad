//! Generates contents for resources and push constants by their declared types, for a shader without given inputs:
//! floats of moderate size, small integers, or any bytes; sizes in push constants come from a [`Choice`].

use super::declared::Declared;
use super::float_words::{FloatWords, WordUse};
use super::images;
use super::indices::Limited;
use super::kinds::Descriptors;
use super::random::Random;
use dovetail_base::error::{Error, Result};
use dovetail_emu::inputs::{BindingElement, Bound, InputBytes, Inputs};
use dovetail_interp::encode;
use dovetail_ir::{Bits, Op as IrOp, ResourceKind, Shader};
use rspirv::spirv::Op;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Largest size of a uniform buffer in bytes.
const UNIFORM: usize = 1 << 14;
/// Range of floats in push constants, which are scales and limits.
const SCALE: [f64; 2] = [0.25, 1.0];
/// Elements of an array of descriptors without a length.
const RUNTIME_ARRAY: u32 = 4;

/// A candidate: facts about a shader's inputs that its types do not tell.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Choice {
    /// Workgroups per dimension.
    pub grid: [u32; 3],
    /// Candidate values of integers in push constants, besides those of `push`.
    pub numbers: Vec<u32>,
    /// Push constants, dword by dword.
    pub push: Vec<Dword>,
    /// Members of push constants by their debug names.
    pub names: BTreeMap<String, Dword>,
    /// Exclusive bound of 32-bit integers in buffers.
    pub below: u32,
    /// Inclusive range of 8-bit integers, and of each byte of a 16-bit integer.
    pub bytes: [u8; 2],
    /// Storage buffer size in bytes.
    pub buffer: usize,
    /// Range of floats in images and texel buffers.
    pub texels: [f64; 2],
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            grid: [2, 1, 1],
            numbers: vec![16, 32, 64],
            push: Vec::new(),
            names: BTreeMap::new(),
            below: 16,
            bytes: [0, 255],
            buffer: 1 << 16,
            texels: images::UNIT,
        }
    }
}

/// A dword, given as a number with or without a decimal point.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub enum Dword {
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
}

impl Dword {
    fn bits(self) -> u32 {
        match self {
            Self::Integer(n) => n as u32,
            Self::Float(x) => (x as f32).to_bits(),
        }
    }
}

/// State of a fill.
#[derive(Clone, Copy)]
struct Filling<'a> {
    choice: &'a Choice,
    /// Whether the block is push constants, whose integers are sizes.
    push: bool,
    /// Whether integers are packed data, which may have any bits.
    packed: bool,
}

impl Declared {
    /// Generates inputs for a shader of this module from a seed. `words` says how the shader uses the words of its
    /// blocks.
    ///
    /// # Errors
    /// Unsupported: a kind of resource for which no contents can be generated.
    pub(super) fn inputs(
        &self,
        ir: &Shader,
        words: &FloatWords,
        seed: u64,
        choice: &Choice,
        limited: Limited,
    ) -> Result<Inputs> {
        let mut random = Random::new(seed);
        let mut inputs = Inputs { grid: choice.grid, ..Default::default() };
        // Where a shader asks how long a buffer is, that is an input too.
        let asked = ir.has(|op| matches!(op, IrOp::BufferSize));
        let length = choice.buffer + if asked { 256 * (seed as usize % 16) } else { 0 };
        // Integer texels are never filtered, and one sampler may serve all images, so no filter is linear then.
        let linear = !ir.resources.iter().any(|r| self.bound_at(r).iter().any(|ty| self.is_integer_image(*ty)));
        for descriptors in Descriptors::all(&[ir]) {
            for element in 0..descriptors.count(RUNTIME_ARRAY) {
                let r = descriptors.element(element);
                let types = self.made_as(&r);
                let image = || {
                    let ty = types.iter().find_map(|ty| self.image(*ty));
                    ty.ok_or_else(|| Error::bug("an image without a type"))
                };
                let bound = match r.kind {
                    ResourceKind::StorageBuffer => {
                        Bound::StorageBuffer(self.buffer(&types, length, &mut random, choice)?)
                    }
                    ResourceKind::UniformBuffer => {
                        let mut data = self.buffer(&types, UNIFORM, &mut random, choice)?;
                        let used = |at| words.uniform((r.set, r.binding), at);
                        types.iter().for_each(|ty| self.put_floats(&mut data.0, *ty, &mut random, used));
                        Bound::UniformBuffer(data)
                    }
                    ResourceKind::Sampler => Bound::Sampler(images::sampler(linear, None)),
                    ResourceKind::SampledImage => {
                        Bound::SampledImage(images::image(self, image()?, choice.texels, &mut random)?)
                    }
                    ResourceKind::InputAttachment => {
                        Bound::InputAttachment(images::image(self, image()?, choice.texels, &mut random)?)
                    }
                    ResourceKind::StorageImage => {
                        Bound::StorageImage(images::image(self, image()?, choice.texels, &mut random)?)
                    }
                    ResourceKind::CombinedImageSampler => {
                        let ty = image()?;
                        let sampler = images::sampler(!self.is_integer(ty.sampled), Some(ty.depth));
                        Bound::CombinedImageSampler(images::image(self, ty, choice.texels, &mut random)?, sampler)
                    }
                    ResourceKind::UniformTexelBuffer => {
                        Bound::UniformTexelBuffer(images::texels(self, image()?, choice.texels, &mut random)?)
                    }
                    ResourceKind::StorageTexelBuffer => {
                        Bound::StorageTexelBuffer(images::texels(self, image()?, choice.texels, &mut random)?)
                    }
                };
                inputs.bindings.push(BindingElement { set: r.set, binding: r.binding, element, bound });
            }
        }
        if let Some(block) = self.push_constants() {
            let mut data = vec![0; ir.push_constant_bytes as usize];
            self.fill(&mut data, block, &mut random, Filling { choice, push: true, packed: false });
            self.put_floats(&mut data, block, &mut random, |at| words.push_constant(at));
            let floats = self.float_offsets(block, 0);
            for (n, (to, dword)) in data.as_chunks_mut::<4>().0.iter_mut().zip(&choice.push).enumerate() {
                // A candidate for a family of shaders may give a size where one shader has a float scale, which stays
                // random.
                if matches!(dword, Dword::Float(_)) || !floats.contains(&(n * 4)) {
                    *to = dword.bits().to_le_bytes();
                }
            }
            inputs.push_constants = InputBytes(data);
        }
        self.limit_indices(ir, limited, &mut inputs);
        self.add_references(ir, &mut inputs, choice.buffer, |ty, to| {
            self.fill(to, ty, &mut random, Filling { choice, push: false, packed: false });
        });
        Ok(inputs)
    }

    fn buffer(&self, types: &[u32], bytes: usize, random: &mut Random, choice: &Choice) -> Result<InputBytes> {
        let ty = types.iter().max_by_key(|ty| self.floats(**ty));
        let ty = ty.ok_or_else(|| Error::bug("a resource without a variable"))?;
        let mut data = vec![0; bytes];
        self.fill(&mut data, *ty, random, Filling { choice, push: false, packed: false });
        Ok(InputBytes(data))
    }

    /// Writes floats into the integers that the shader uses as floats: scales and limits.
    fn put_floats(&self, data: &mut [u8], ty: u32, random: &mut Random, used: impl Fn(usize) -> Option<WordUse>) {
        let words = self.leaves(ty, data.len()).into_iter().filter(|leaf| !leaf.float && leaf.bits == Bits::B32);
        for (at, used) in words.filter_map(|leaf| Some((leaf.at, used(leaf.at)?))) {
            let one = |random: &mut Random, bits| encode(random.between(SCALE[0], SCALE[1]), bits);
            let word = match used {
                WordUse::Float => one(random, Bits::B32),
                WordUse::Halves => one(random, Bits::B16) | one(random, Bits::B16) << 16,
                WordUse::Other => continue,
            };
            if let Some(to) = data.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                *to = (word as u32).to_le_bytes();
            }
        }
    }

    /// Rank of a type among several that declare the same bytes: by number of floats, then by size.
    fn floats(&self, ty: u32) -> u32 {
        match self.opcode(ty) {
            Op::TypeFloat => 4,
            Op::TypeInt => u32::from(self.operand(ty, 0) == 8),
            Op::TypeStruct => (0..self.operands(ty)).map(|n| self.floats(self.operand(ty, n))).max().unwrap_or(0),
            Op::TypeArray | Op::TypeRuntimeArray | Op::TypeVector | Op::TypeMatrix => self.floats(self.operand(ty, 0)),
            _ => 0,
        }
    }

    /// Offsets of 32-bit floats in a structure.
    fn float_offsets(&self, ty: u32, at: usize) -> Vec<usize> {
        match self.opcode(ty) {
            Op::TypeFloat => vec![at],
            Op::TypeStruct => {
                let member = |n| self.float_offsets(self.operand(ty, n), at + self.offset(ty, n as u32).unwrap_or(0));
                (0..self.operands(ty)).flat_map(member).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether it is an integer type.
    pub(super) fn is_integer(&self, ty: u32) -> bool {
        self.opcode(ty) == Op::TypeInt
    }

    fn is_integer_image(&self, ty: u32) -> bool {
        self.image(ty).is_some_and(|image| self.is_integer(image.sampled))
    }

    /// Fills a value as far as there is room; returns its size in bytes.
    fn fill(&self, to: &mut [u8], ty: u32, random: &mut Random, place: Filling<'_>) -> usize {
        let mut put = |value: u64, bytes: usize| {
            to.iter_mut().zip(value.to_le_bytes()).take(bytes).for_each(|(to, from)| *to = from);
            bytes
        };
        let choice = place.choice;
        match self.opcode(ty) {
            Op::TypeFloat => {
                let [low, high] = if place.push { SCALE } else { [-1.0, 1.0] };
                let bits = match self.operand(ty, 0) {
                    16 => Bits::B16,
                    64 => Bits::B64,
                    _ => Bits::B32,
                };
                let number = random.between(low, high);
                // A bfloat16 is the high half of a float.
                let value = if self.is_bfloat(ty) { encode(number, Bits::B32) >> 16 } else { encode(number, bits) };
                put(value, bits.bytes() as usize)
            }
            Op::TypeInt => {
                let bytes = self.operand(ty, 0) as usize / 8;
                let any = random.bits();
                let [low, high] = choice.bytes.map(u64::from);
                let one = |byte: u8| low + u64::from(byte) % (high.saturating_sub(low) + 1);
                let value = match bytes {
                    _ if place.push => {
                        let n = choice.numbers.len().max(1) as u64;
                        choice.numbers.get((any % n) as usize).copied().map_or(0, u64::from)
                    }
                    _ if place.packed || bytes <= 2 => any.to_le_bytes().iter().rfold(0, |n, b| n << 8 | one(*b)),
                    _ => any % u64::from(choice.below.max(1)),
                };
                put(value, bytes)
            }
            // An address; the pointers of the inputs supply it.
            Op::TypePointer => put(0, 8),
            Op::TypeVector | Op::TypeMatrix => {
                let mut at = 0;
                for _ in 0..self.operand(ty, 1) {
                    at += self.fill(to.get_mut(at..).unwrap_or_default(), self.operand(ty, 0), random, place);
                }
                at
            }
            op @ (Op::TypeArray | Op::TypeRuntimeArray) => {
                let element = self.operand(ty, 0);
                let stride = self.stride(ty).unwrap_or(1);
                let count =
                    if op == Op::TypeArray { self.operand(self.operand(ty, 1), 0) as usize } else { usize::MAX };
                let starts = (0..to.len()).step_by(stride).take(count);
                for at in starts {
                    self.fill(to.get_mut(at..).unwrap_or_default(), element, random, place);
                }
                stride.saturating_mul(count)
            }
            Op::TypeStruct => {
                let count = self.operands(ty);
                // Integers next to a float scale are packed data.
                let members = (0..count).map(|n| self.operand(ty, n));
                let packed = place.packed || (count > 1 && members.clone().any(|m| self.floats(m) != 0));
                let mut end = 0;
                for (n, member) in members.enumerate() {
                    let at = self.offset(ty, n as u32).unwrap_or(end);
                    let rest = to.get_mut(at..).unwrap_or_default();
                    end = at.saturating_add(self.fill(rest, member, random, Filling { packed, ..place }));
                    let named = self.member_name(ty, n as u32).and_then(|name| choice.names.get(name));
                    if let (Some(dword), Some(to)) = (named.filter(|_| place.push), to.get_mut(at..at + 4)) {
                        to.copy_from_slice(&dword.bits().to_le_bytes());
                    }
                }
                end
            }
            _ => 0,
        }
    }
}
