//! Inputs and outputs of a run: options, bound resources, single invocations.

use super::memory::ShadowedMemory;
use super::plane::Plane;
use super::races::Races;
use super::shadow::Shadow;
use super::texture::{InterpretedSampler, Texture};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{BuiltIn, InterpPlace, OutputSlot, Resource, ResourceKind, Value};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Lanes of a subgroup: a power of two, 4 to 64.
    pub subgroup_size: u32,
    /// Limit of executed instructions, each counted once per wave.
    pub limit: u64,
    /// Whether floats carry shadows.
    pub shadow: bool,
    /// Reverse workgroup, wave and lane order wherever the order is unspecified.
    pub backwards: bool,
    /// Stop at an index beyond its array, which otherwise makes what it gives uncertain.
    pub strict: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { subgroup_size: 32, limit: 10_000_000, shadow: false, backwards: false, strict: false }
    }
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterpreterStats {
    /// Instructions, each counted once per wave.
    pub instructions: u64,
    /// Waves.
    pub waves: u64,
}

/// Bound resources, by descriptor set, binding and array element.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Buffers.
    pub buffers: BTreeMap<(u32, u32, u32), ShadowedMemory>,
    /// Buffers that can be accessed by address, keyed by the address of their first byte.
    pub addresses: BTreeMap<u64, (u32, u32, u32)>,
    /// Images and texel buffers.
    pub textures: BTreeMap<(u32, u32, u32), Texture>,
    /// Levels of images that are not resident, one bit each; their texels read as zeros.
    pub absent: BTreeMap<(u32, u32, u32), u32>,
    /// Samplers.
    pub samplers: BTreeMap<(u32, u32, u32), InterpretedSampler>,
    /// Kind of the bound descriptor, if known: using it as another kind is an error.
    pub kinds: BTreeMap<(u32, u32, u32), ResourceKind>,
    /// Push constants.
    pub push_constants: ShadowedMemory,
    /// Sets and bindings that have several variables, one of them declared `Restrict`, that is, as the only one.
    pub restricted: BTreeSet<(u32, u32)>,
    /// Words that the last run read through such variables or through never-written ones.
    pub seen: BTreeSet<((u32, u32, u32), u64)>,
    /// Those of these words that the run also wrote: the order of read and write is uncertain.
    pub conflicts: BTreeSet<((u32, u32, u32), u64)>,
    /// After a run: some invocation may have taken another path and written bytes that are unwritten here.
    pub doubtful: bool,
    /// A byte whose writer is to be found.
    pub watch: Option<WatchedByte>,
    /// Races of a dispatch, if they are to be found.
    pub races: Option<Races>,
    /// Sample positions in a pixel, from its top left corner; empty: one sample at the centre.
    pub sample_places: Vec<[f64; 2]>,
    /// The operands of comparisons, if requested.
    pub compared: Option<Compared>,
}

/// Operands of comparisons and subtractions in execution order, by the index of the result value.
pub type Compared = BTreeMap<usize, Vec<[u64; 2]>>;

/// Largest number of operand pairs kept per comparison.
const COMPARED: usize = 4096;

impl World {
    /// Records the operands of a comparison, if requested.
    pub(super) fn compare(&mut self, result: Value, operands: [u64; 2]) {
        let Some(compared) = &mut self.compared else { return };
        let kept = compared.entry(result.index()).or_default();
        if kept.len() < COMPARED {
            kept.push(operands);
        }
    }

    /// Words that the run both read through a never-written or `Restrict` variable and wrote.
    pub fn contradicted(&self) -> BTreeSet<((u32, u32, u32), u64)> {
        let written = |(place, word): &&((u32, u32, u32), u64)| {
            let memory = self.buffers.get(place);
            memory.is_some_and(|m| (0..4).any(|n| m.is_written(*word as usize * 4 + n)))
        };
        self.seen.iter().filter(written).copied().collect()
    }

    /// Checks a descriptor before it is read: in a mutable binding, reading one as another kind is undefined, as is
    /// reading one beyond the array.
    ///
    /// # Errors
    /// Malformed: a descriptor of another kind is bound there, or the array has no such element.
    pub(super) fn check_descriptor(&self, used: &Resource, element: u64) -> Result<()> {
        let place = || format!("set {} binding {} element {element}", used.set, used.binding);
        if let Some(count) = used.count.filter(|count| element >= u64::from(*count)) {
            return Err(Error::malformed(format!("a descriptor beyond {count}")).at(place()));
        }
        match self.kinds.get(&(used.set, used.binding, element as u32)) {
            Some(bound) if !bound.serves(used.kind) => {
                let what = format!("a {bound:?} is bound, the shader loads a {:?}", used.kind);
                Err(Error::malformed(what).at(place()))
            }
            _ => Ok(()),
        }
    }
}

/// A byte of a buffer, and after the run of a compute shader its last writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedByte {
    /// Descriptor set, binding and array element.
    pub place: (u32, u32, u32),
    /// Byte offset in it.
    pub byte: u64,
    /// Last writer; `None` if unwritten.
    pub writer: Option<WriterInvocation>,
}

/// An invocation of a compute shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WriterInvocation {
    /// Its workgroup.
    pub workgroup: [u32; 3],
    /// Local invocation id.
    pub local: [u32; 3],
}

/// One vertex or fragment.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// Inputs by location and component: bits, and their shadows.
    pub inputs: BTreeMap<(u32, u8), (u64, Shadow)>,
    /// Inputs interpolated in the pixel, by their place in it; others are in `inputs`.
    pub placed: BTreeMap<(InterpPlace, (u32, u8)), (u64, Shadow)>,
    /// Inputs that are interpolated at computed positions.
    pub planes: BTreeMap<(u32, u8), Plane>,
    /// Uninterpolated inputs at each vertex of the primitive (`PerVertexKHR`): bits and shadows.
    pub vertices: BTreeMap<(u32, u8), [(u64, Shadow); 3]>,
    /// Built-in inputs by component: bits and shadows.
    pub builtins: BTreeMap<(BuiltIn, u8), (u64, Shadow)>,
    /// Built-in inputs interpolated in the pixel, by their place in it; others are in `builtins`.
    pub placed_builtins: BTreeMap<(InterpPlace, BuiltIn, u8), (u64, Shadow)>,
    /// It exists only for its quad; after the run: or it was discarded.
    pub helper: bool,
    /// It is uncertain whether it exists; after the run: or which path it took.
    pub doubtful: bool,
    /// After the run: outputs, and their shadows.
    pub outputs: BTreeMap<OutputSlot, (u64, Shadow)>,
}
