//! What a run is given, and what is left of it: options, what is bound, single invocations.

use super::super::{BuiltIn, OutputSlot, Resource, ResourceKind};
use super::memory::Memory;
use super::shadow::Shadow;
use super::texture::{Sampler, Texture};
use crate::error::{Error, Result};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Lanes of a subgroup: a power of two, 4 to 64.
    pub subgroup_size: u32,
    /// Instructions (once a wave, whatever its lanes) after which a run is given up.
    pub limit: u64,
    /// Whether floats carry shadows.
    pub shadow: bool,
    /// Workgroups, waves and lanes in the opposite order, where there is none that counts.
    pub backwards: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { subgroup_size: 32, limit: 10_000_000, shadow: false, backwards: false }
    }
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions, once a wave.
    pub instructions: u64,
    /// Waves.
    pub waves: u64,
}

/// What is bound, by descriptor set, binding and array element.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Buffers.
    pub buffers: BTreeMap<(u32, u32, u32), Memory>,
    /// Buffers that can be reached by address, by that of their first byte.
    pub addresses: BTreeMap<u64, (u32, u32, u32)>,
    /// Images and texel buffers.
    pub textures: BTreeMap<(u32, u32, u32), Texture>,
    /// Levels of images that have no memory, a bit each; their texels are zeros.
    pub absent: BTreeMap<(u32, u32, u32), u32>,
    /// Samplers.
    pub samplers: BTreeMap<(u32, u32, u32), Sampler>,
    /// What kind of descriptor is bound, where that is known: a shader that takes it for another kind gets no answer.
    pub kinds: BTreeMap<(u32, u32, u32), ResourceKind>,
    /// Push constants.
    pub push_constants: Memory,
    /// Sets and bindings of which several variables are, one of them declared to be the only one (`Restrict`).
    pub restricted: BTreeSet<(u32, u32)>,
    /// Words of buffers that such variables, or those that are never written, read in the last run.
    pub seen: BTreeSet<((u32, u32, u32), u64)>,
    /// Of those, what is written too: it is uncertain which of the two is first.
    pub conflicts: BTreeSet<((u32, u32, u32), u64)>,
    /// After a run: some invocation may have gone another way, and have written what nobody wrote here.
    pub doubtful: bool,
    /// A byte of which it is asked who wrote it.
    pub watch: Option<Watch>,
}

impl World {
    /// Of what was read by a name that says that nobody writes it: the words that were written.
    pub fn contradicted(&self) -> BTreeSet<((u32, u32, u32), u64)> {
        let written = |(place, word): &&((u32, u32, u32), u64)| {
            let memory = self.buffers.get(place);
            memory.is_some_and(|m| (0..4).any(|n| m.is_written(*word as usize * 4 + n)))
        };
        self.seen.iter().filter(written).copied().collect()
    }

    /// A binding may be mutable, and what a shader reads of a descriptor that is of another kind is undefined.
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

/// A byte of a buffer, and after the run of a compute shader: who wrote it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Descriptor set, binding and array element.
    pub place: (u32, u32, u32),
    /// Byte in it.
    pub byte: u64,
    /// Who wrote it.
    pub writer: Option<Writer>,
}

/// An invocation of a compute shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Writer {
    /// Its workgroup.
    pub workgroup: [u32; 3],
    /// Its place in it.
    pub local: [u32; 3],
}

/// One vertex or fragment.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// Inputs by location and component: bits, and their shadows.
    pub inputs: BTreeMap<(u32, u8), (u64, Shadow)>,
    /// Inputs that come as they are at each vertex of the primitive (`PerVertexKHR`), likewise.
    pub vertices: BTreeMap<(u32, u8), [(u64, Shadow); 3]>,
    /// Built-in inputs by component, likewise.
    pub builtins: BTreeMap<(BuiltIn, u8), (u64, Shadow)>,
    /// Only there for its quad; after the run: or discarded.
    pub helper: bool,
    /// It is uncertain whether it is there at all; after the run: or which way it went.
    pub doubtful: bool,
    /// After the run: outputs, and their shadows.
    pub outputs: BTreeMap<OutputSlot, (u64, Shadow)>,
}
