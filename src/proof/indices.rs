//! Limits indices to elements that exist: of descriptor arrays, and of the shader's own arrays and vectors.

use super::declared::Declared;
use super::reads::{Extent, Reads};
use dovetail_emu::inputs::{Bound, Inputs};
use dovetail_ir::{Bits, Resource, Shader};

/// The indices that are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limited {
    /// Of descriptors only: a descriptor that does not exist ends the run.
    Descriptors,
    /// Also of the shader's own arrays and vectors, where an index beyond them makes results uncertain. Numbers that only
    /// decide how often a loop runs are limited too, such as the sizes of a matrix, and then little may be computed.
    All,
}

impl Declared {
    /// Limits the integers of push constants and buffers that are indices, or that indices are computed from.
    pub(super) fn limit_indices(&self, ir: &Shader, limited: Limited, inputs: &mut Inputs) {
        if limited == Limited::All {
            for (bound, reads) in Reads::of_indices_within(ir) {
                self.limit_read(ir, &reads, bound, inputs);
            }
        }
        let arrays = ir.resources.iter().filter(|r| r.count != Some(1));
        let elements = |r: &Resource| {
            inputs.bindings.iter().filter(|b| (b.set, b.binding) == (r.set, r.binding)).map(|b| b.element + 1).max()
        };
        if let Some(least) = arrays.filter_map(elements).min() {
            self.limit_read(ir, &Reads::of_descriptor_indices(ir), least, inputs);
        }
    }

    fn limit_read(&self, ir: &Shader, reads: &Reads, least: u32, inputs: &mut Inputs) {
        if let Some(block) = self.push_constants() {
            self.limit(block, &reads.push_constants, least, &mut inputs.push_constants.0);
        }
        for binding in &mut inputs.bindings {
            let place = (binding.set, binding.binding);
            let resource = ir.resources.iter().find(|r| (r.set, r.binding) == place);
            let (Some(resource), Some(read)) = (resource, reads.buffers.get(&place)) else { continue };
            let (Bound::UniformBuffer(data) | Bound::StorageBuffer(data)) = &mut binding.bound else { continue };
            for ty in self.bound_at(resource) {
                self.limit(ty, read, least, &mut data.0);
            }
        }
    }

    fn limit(&self, ty: u32, read: &Extent, least: u32, data: &mut [u8]) {
        let leaves = self.leaves(ty, data.len()).into_iter();
        let integers = leaves.filter(|leaf| !leaf.float && leaf.pointee.is_none() && leaf.bits == Bits::B32);
        for leaf in integers.filter(|leaf| read.has(leaf.at)) {
            if let Some(to) = data.get_mut(leaf.at..).and_then(|rest| rest.first_chunk_mut()) {
                *to = (u32::from_le_bytes(*to) % least.max(1)).to_le_bytes();
            }
        }
    }
}
