//! Plans vertex fetches: the typed loads, and the source of each input register.
//!
//! Rules (pal-abi 8.1, 8.2): one typed load may read several channels only if Vulkan guarantees the alignment that the
//! hardware needs, which is four bytes for loads of that size. This holds for packed words and for channels of 32 and
//! 64 bits. Channels of 8 and 16 bits are aligned only to their own size, so each is loaded by itself. Components
//! missing from the format, or from all attributes, read (0, 0, 0, 1). Invariant: one [`FetchedDword`] per register, in
//! the order of the inputs.

use super::formats::{Format, Number, buffer_number};
use dovetail_base::error::{Context, Error, FullCompile, Result};
use dovetail_base::kinds::NumericKind;
use dovetail_base::target::Gpu;
use dovetail_metadata::interface::{ComponentType, MAX_JOINT_VGPRS, VertexInput};
use dovetail_state::{VertexAttribute, VertexBinding, VertexInputState, VertexRate};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The most VGPRs that a prolog fetches: with the system values of the hardware VS stage, as many as pass a joint.
pub const MAX_FETCHED: u32 = MAX_JOINT_VGPRS - 4;
/// SGPRs of the scratch wave offset, which follows the entry SGPRs.
const SCRATCH_OFFSET_SGPRS: u32 = 1;

/// SGPRs that a prolog keeps: the entry SGPRs of its body, and the scratch wave offset whether there is one or not.
pub const fn kept_sgprs(entry_sgprs: u32) -> u32 {
    entry_sgprs.saturating_add(SCRATCH_OFFSET_SGPRS)
}

/// The first SGPR of the pair in which a prolog makes the address of the vertex-buffer table. It leaves the high half, which all
/// driver addresses share, to the body.
pub const fn table_address_sgpr(kept_sgprs: u32) -> u32 {
    kept_sgprs.next_multiple_of(2)
}

/// Fetches of a vertex shader's attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FetchPlan {
    /// Loads, in order of their first use.
    pub loads: Vec<FetchLoad>,
    /// Source of each fetched VGPR.
    pub dwords: Vec<FetchedDword>,
}

/// One typed load.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FetchLoad {
    /// Vertex buffer: slot of its descriptor in the table.
    pub binding: u32,
    /// Element index.
    pub index: VertexIndex,
    /// Added to the index: the attribute begins this many strides after its element.
    pub skip: u32,
    /// Byte offset in the element.
    pub offset: u32,
    /// Unified buffer format number.
    pub format: u8,
    /// Number of channels loaded, from the format's first.
    pub components: u8,
    /// Channels arrive as 16 bits, two per register.
    pub half: bool,
}

/// Index of an element in a vertex buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VertexIndex {
    /// Vertex id + base vertex.
    Vertex,
    /// Instance id / divisor + base instance; with divisor 0 the base instance alone.
    Instance {
        /// Instances per element.
        divisor: u32,
    },
}

/// Source of a register's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchedDword {
    /// A constant's bits.
    Constant(u32),
    /// A loaded channel, zero-extended from `bits` bits.
    Loaded {
        /// Index in [`FetchPlan::loads`].
        load: u32,
        /// Channel of the load.
        component: u8,
        /// 8, 16, or 32 for all bits.
        bits: u8,
    },
}

impl FetchPlan {
    /// Plans the fetch of `inputs` from `state`.
    ///
    /// # Errors
    /// Malformed: a location or binding given twice, an attribute without binding, a format that vertices cannot have
    /// or whose width class (64 bits) differs from the input's. Needs a full compile: more values than parts can pass.
    pub fn new(gfx: Gpu, inputs: &[VertexInput], state: &VertexInputState) -> Result<Self> {
        check_unique("vertex attribute location", state.attributes.iter().map(|a| a.location))?;
        check_unique("vertex binding", state.bindings.iter().map(|b| b.binding))?;
        let dwords = inputs.iter().map(|input| usize::from(input.count) * input.ty.dwords() as usize).sum();
        let mut plan = Self { loads: Vec::with_capacity(inputs.len()), dwords: Vec::with_capacity(dwords) };
        for input in inputs {
            plan.input(gfx, input, state).at(|| format!("vertex input location {}", input.location))?;
        }
        if plan.dwords.len() > MAX_FETCHED as usize {
            let count = u32::try_from(plan.dwords.len()).unwrap_or(u32::MAX);
            return Err(Error::needs_full(FullCompile::TooManyValues { what: "vertex inputs".into(), count }));
        }
        Ok(plan)
    }

    fn input(&mut self, gfx: Gpu, input: &VertexInput, state: &VertexInputState) -> Result<()> {
        let components = check_type(input)?;
        let Some(attribute) = state.attributes.iter().find(|a| a.location == input.location) else {
            self.dwords.extend(components.flat_map(|c| default(input.ty, c)));
            return Ok(());
        };
        let binding = state
            .bindings
            .iter()
            .find(|b| b.binding == attribute.binding)
            .ok_or_else(|| Error::malformed(format!("vertex binding {} is not described", attribute.binding)))?;
        let format = Format::of(attribute.format)?;
        if (input.ty.bits == 64) != (format.max_bits() == 64) {
            let why = format!("an input of {} bits cannot read `{}`", input.ty.bits, attribute.format);
            return Err(Error::malformed(why));
        }
        let source = Source { gfx, attribute, binding, format: &format, ty: input.ty };
        if format.packed { self.packed(&source, components) } else { self.array(&source, components) }
    }

    /// Loads the whole word once; each component comes from its channel.
    fn packed(&mut self, source: &Source<'_>, components: std::ops::Range<u8>) -> Result<()> {
        let positions: SmallVec<[Option<u8>; 4]> = components.clone().map(|c| source.format.position(c)).collect();
        let Some(last) = positions.iter().flatten().max() else {
            self.dwords.extend(components.flat_map(|c| default(source.ty, c)));
            return Ok(());
        };
        let load = self.load(source.load(0, &source.format.widths(), last + 1)?)?;
        for (component, position) in components.zip(positions) {
            match position {
                Some(component) => self.dwords.push(source.loaded(load, component)),
                None => self.dwords.extend(default(source.ty, component)),
            }
        }
        Ok(())
    }

    /// Loads adjacent 32-bit channels together, all other channels one by one.
    fn array(&mut self, source: &Source<'_>, components: std::ops::Range<u8>) -> Result<()> {
        // A channel of 64 bits is two of 32.
        let halves = source.ty.dwords();
        let width = if halves == 2 { 32 } else { source.format.max_bits() };
        let mut wanted: SmallVec<[Wanted; 8]> = SmallVec::new();
        for component in components {
            match source.format.position(component) {
                Some(p) => wanted.extend((0..halves).map(|half| Wanted::Channel(u32::from(p) * halves + half))),
                None => wanted.extend(default(source.ty, component).map(Wanted::Constant)),
            }
        }
        let mut rest = wanted.as_slice();
        while let Some(first) = rest.first() {
            let first = match *first {
                Wanted::Channel(first) => first,
                Wanted::Constant(dword) => {
                    self.dwords.push(dword);
                    rest = rest.get(1..).unwrap_or(&[]);
                    continue;
                }
            };
            let longest = if width == 32 { 4 } else { 1 };
            let run = (0u32..).zip(rest).take(longest).take_while(|(i, w)| **w == Wanted::Channel(first + i)).count();
            let bytes = u32::from(width) / 8;
            let run = if source.within_stride(first * bytes, u8::try_from(run).unwrap_or(1), bytes) { run } else { 1 };
            let components = u8::try_from(run).unwrap_or(1);
            let load = source.load(first * bytes, &SmallVec::<[u8; 4]>::from_elem(width, run), components)?;
            let load = self.load(load)?;
            self.dwords.extend((0..components).map(|component| source.loaded(load, component)));
            rest = rest.get(run..).unwrap_or(&[]);
        }
        Ok(())
    }

    fn load(&mut self, load: FetchLoad) -> Result<u32> {
        let index = u32::try_from(self.loads.len()).map_err(|_| Error::malformed("too many vertex loads"))?;
        self.loads.push(load);
        Ok(index)
    }
}

/// A dword of an input that needs a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Channel(u32),
    Constant(FetchedDword),
}

/// Source of an input.
struct Source<'a> {
    gfx: Gpu,
    attribute: &'a VertexAttribute,
    binding: &'a VertexBinding,
    format: &'a Format,
    ty: ComponentType,
}

impl Source<'_> {
    /// A load of channels that begin `at` bytes into the attribute.
    fn load(&self, at: u32, widths: &[u8], components: u8) -> Result<FetchLoad> {
        let (skip, offset) = self.place(at);
        // A half of a 64-bit channel is loaded without conversion.
        let number = if self.ty.bits == 64 { Number::Uint } else { self.format.number };
        let format = buffer_number(self.gfx, widths, number)
            .ok_or_else(|| Error::malformed(format!("`{}` is not a vertex format", self.attribute.format)))?;
        let index = match self.binding.rate {
            VertexRate::Vertex => VertexIndex::Vertex,
            VertexRate::Instance => VertexIndex::Instance { divisor: self.binding.divisor },
        };
        let half = self.ty == ComponentType { kind: NumericKind::Float, bits: 16 };
        Ok(FetchLoad { binding: self.binding.binding, index, skip, offset, format, components, half })
    }

    /// Structured access treats an offset of a stride or more as out of bounds, so whole strides are added to the
    /// index.
    fn place(&self, at: u32) -> (u32, u32) {
        let offset = self.attribute.offset.saturating_add(at);
        match self.binding.stride {
            0 => (0, offset),
            stride => (offset / stride, offset % stride),
        }
    }

    /// Whether a load stays within its element. If not, the bounds check would cut it off at the last element.
    fn within_stride(&self, at: u32, count: u8, bytes: u32) -> bool {
        let (_, offset) = self.place(at);
        self.binding.stride == 0 || offset.saturating_add(u32::from(count) * bytes) <= self.binding.stride
    }

    fn loaded(&self, load: u32, component: u8) -> FetchedDword {
        // If an unsigned channel is at most as wide as the input, the bits above it are zero.
        let narrow = self.format.number == Number::Uint && self.format.max_bits() <= self.ty.bits;
        let bits = if self.ty.bits >= 32 || (narrow && self.ty.kind != NumericKind::Float) { 32 } else { self.ty.bits };
        FetchedDword::Loaded { load, component, bits }
    }
}

/// Default of a component without a source, in the type of the shader: (0, 0, 0, 1).
fn default(ty: ComponentType, component: u8) -> impl Iterator<Item = FetchedDword> {
    let one: u64 = match (ty.kind, ty.bits) {
        (NumericKind::Float, 16) => 0x3c00,
        (NumericKind::Float, 64) => 1f64.to_bits(),
        (NumericKind::Float, _) => u64::from(1f32.to_bits()),
        _ => 1,
    };
    let value = if component == 3 { one } else { 0 };
    let dwords = [value as u32, (value >> 32) as u32];
    dwords.into_iter().take(ty.dwords() as usize).map(FetchedDword::Constant)
}

fn check_type(input: &VertexInput) -> Result<std::ops::Range<u8>> {
    let known = match input.ty.kind {
        NumericKind::Float => matches!(input.ty.bits, 16 | 32 | 64),
        _ => matches!(input.ty.bits, 8 | 16 | 32 | 64),
    };
    let end = input.component.checked_add(input.count).filter(|end| *end <= 4);
    end.filter(|_| known)
        .map(|end| input.component..end)
        .ok_or_else(|| Error::malformed(format!("no such vertex input type: {:?} from {}", input.ty, input.component)))
}

fn check_unique(what: &str, numbers: impl Iterator<Item = u32>) -> Result<()> {
    let mut numbers: SmallVec<[u32; 16]> = numbers.collect();
    numbers.sort_unstable();
    match numbers.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => Err(Error::malformed(format!("{what} {} is given twice", pair.first().unwrap_or(&0)))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(formats: &[&str]) -> VertexInputState {
        let attribute = |(location, format): (u32, &&str)| VertexAttribute {
            location,
            binding: 0,
            format: format.parse().expect("a format"),
            offset: 16 * location,
        };
        VertexInputState {
            bindings: vec![VertexBinding { binding: 0, stride: 256, rate: VertexRate::Vertex, divisor: 1 }],
            attributes: (0u32..).zip(formats).map(attribute).collect(),
        }
    }

    fn input(location: u32, count: u8, bits: u8) -> VertexInput {
        let ty = ComponentType { kind: NumericKind::Float, bits };
        VertexInput { location, component: 0, count, ty }
    }

    fn plan(inputs: &[VertexInput], state: &VertexInputState) -> Result<FetchPlan> {
        FetchPlan::new(Gpu::Gfx1030, inputs, state)
    }

    #[test]
    fn an_input_without_attribute_reads_the_default() {
        let plan = plan(&[input(7, 4, 32)], &state(&[])).expect("plan");
        let bits = [0, 0, 0, 1f32.to_bits()];
        assert_eq!(plan, FetchPlan { loads: vec![], dwords: bits.map(FetchedDword::Constant).to_vec() });
    }

    #[test]
    fn contradictions_are_refused() {
        let good = state(&["R32G32B32A32_SFLOAT", "R64_SFLOAT"]);
        assert!(plan(&[input(0, 4, 32), input(1, 1, 64)], &good).is_ok());
        assert!(plan(&[input(0, 2, 64)], &good).is_err(), "64 bits from 32");
        assert!(plan(&[input(1, 1, 32)], &good).is_err(), "32 bits from 64");
        assert!(plan(&[input(0, 5, 32)], &good).is_err(), "five components");
        assert!(plan(&[input(0, 1, 8)], &good).is_err(), "an 8-bit float");
        assert!(plan(&[VertexInput { component: 255, ..input(0, 255, 32) }], &good).is_err());
        let mut twice = good.clone();
        twice.attributes.extend_from_within(..1);
        assert!(plan(&[], &twice).is_err(), "a location twice");
        let mut twice = good.clone();
        twice.bindings.extend_from_within(..1);
        assert!(plan(&[], &twice).is_err(), "a binding twice");
        assert!(plan(&[input(0, 1, 32)], &state(&["R5G6B5_UNORM_PACK16"])).is_err(), "a colour format");
    }

    #[test]
    fn more_than_the_joint_carries_needs_the_whole_pipeline() {
        let inputs: Vec<VertexInput> = (0..33).map(|location| input(location, 4, 32)).collect();
        assert!(plan(&inputs, &state(&[])).is_ok());
        let inputs: Vec<VertexInput> = (0..34).map(|location| input(location, 4, 32)).collect();
        let error = plan(&inputs, &state(&[])).expect_err("too many");
        assert!(error.full_compile().is_some());
    }
}
