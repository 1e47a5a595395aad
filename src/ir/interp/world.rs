//! Inputs and outputs of a run: options, bound resources, single invocations.

use super::super::{BuiltIn, InterpPlace, OutputSlot, Resource, ResourceKind, Value};
use super::memory::ShadowedMemory;
use super::plane::Plane;
use super::shadow::Shadow;
use super::texture::{InterpretedSampler, Texture};
use crate::error::{Error, Result};
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
}

impl Default for Options {
    fn default() -> Self {
        Self { subgroup_size: 32, limit: 10_000_000, shadow: false, backwards: false }
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
    /// Buffers that can be accessed by address, by that of their first byte.
    pub addresses: BTreeMap<u64, (u32, u32, u32)>,
    /// Images and texel buffers.
    pub textures: BTreeMap<(u32, u32, u32), Texture>,
    /// Levels of images that are not resident, one bit each; their texels are zeros.
    pub absent: BTreeMap<(u32, u32, u32), u32>,
    /// Samplers.
    pub samplers: BTreeMap<(u32, u32, u32), InterpretedSampler>,
    /// Kind of the bound descriptor, where known: a shader that uses it as another kind is refused.
    pub kinds: BTreeMap<(u32, u32, u32), ResourceKind>,
    /// Push constants.
    pub push_constants: ShadowedMemory,
    /// Sets and bindings that several variables share, one of them declared the only one (`Restrict`).
    pub restricted: BTreeSet<(u32, u32)>,
    /// Words of buffers that such variables, or never-written ones, read in the last run.
    pub seen: BTreeSet<((u32, u32, u32), u64)>,
    /// Those of them that are also written: their order is uncertain.
    pub conflicts: BTreeSet<((u32, u32, u32), u64)>,
    /// After a run: some invocation may have taken another path, and have written bytes that are unwritten here.
    pub doubtful: bool,
    /// A byte whose writer is wanted.
    pub watch: Option<WatchedByte>,
    /// Places of a pixel's samples, from its top left corner; none: one in the middle.
    pub sample_places: Vec<[f64; 2]>,
    /// The operands of comparisons, if they are wanted.
    pub compared: Option<Compared>,
}

/// Operands of comparisons and differences, by the index of the value that they give, in the order of execution.
pub type Compared = BTreeMap<usize, Vec<[u64; 2]>>;

/// Operands that are kept of one comparison.
const COMPARED: usize = 4096;

impl World {
    /// Keeps the operands of a comparison, if they are wanted.
    pub(super) fn compare(&mut self, result: Value, operands: [u64; 2]) {
        let Some(compared) = &mut self.compared else { return };
        let kept = compared.entry(result.index()).or_default();
        if kept.len() < COMPARED {
            kept.push(operands);
        }
    }

    /// Words read through a never-written or `Restrict` variable that the run also wrote.
    pub fn contradicted(&self) -> BTreeSet<((u32, u32, u32), u64)> {
        let written = |(place, word): &&((u32, u32, u32), u64)| {
            let memory = self.buffers.get(place);
            memory.is_some_and(|m| (0..4).any(|n| m.is_written(*word as usize * 4 + n)))
        };
        self.seen.iter().filter(written).copied().collect()
    }

    /// A binding may be mutable; what a shader reads from a descriptor of another kind is undefined.
    ///
    /// # Errors
    /// Malformed: such a descriptor is bound there.
    pub(super) fn check_kind(&self, used: &Resource, element: u32) -> Result<()> {
        match self.kinds.get(&(used.set, used.binding, element)) {
            Some(bound) if !bound.serves(used.kind) => {
                let what = format!("a {bound:?} is bound, the shader loads a {:?}", used.kind);
                Err(Error::malformed(what).at(format!("set {} binding {} element {element}", used.set, used.binding)))
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
    /// Inputs that are interpolated in the pixel, by their place in it; others are in `inputs`.
    pub placed: BTreeMap<(InterpPlace, (u32, u8)), (u64, Shadow)>,
    /// Inputs that are interpolated at any place.
    pub planes: BTreeMap<(u32, u8), Plane>,
    /// Uninterpolated inputs at each vertex of the primitive (`PerVertexKHR`), likewise.
    pub vertices: BTreeMap<(u32, u8), [(u64, Shadow); 3]>,
    /// Built-in inputs by component, likewise.
    pub builtins: BTreeMap<(BuiltIn, u8), (u64, Shadow)>,
    /// Present only for its quad; after the run: or discarded.
    pub helper: bool,
    /// Uncertain whether it exists at all; after the run: or which path it took.
    pub doubtful: bool,
    /// After the run: outputs, and their shadows.
    pub outputs: BTreeMap<OutputSlot, (u64, Shadow)>,
}
