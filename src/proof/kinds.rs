//! Bindings that several shaders share, and the kind of each element if several kinds share a binding.
//!
//! A state template and these inputs agree because both use [`BindingKind::of_uses`]. In a mutable binding, an element
//! with a constant index gets the kind that the shader reads there; the other elements take the kinds in turn.

use super::declared::Declared;
use crate::template::RUNTIME_ARRAY;
use dovetail_ir::{Op, Resource, ResourceKind, Shader};
use dovetail_state::BindingKind;
use rspirv::spirv::Dim;
use std::collections::BTreeMap;

/// The descriptors of one binding that some shaders declare.
pub(super) struct Descriptors {
    /// The first variable of the binding.
    first: Resource,
    /// The longest array; `None`: one is a run-time array.
    count: Option<u32>,
    kind: BindingKind,
    /// Elements read with a constant index, and their kinds.
    named: BTreeMap<u32, ResourceKind>,
}

impl Descriptors {
    /// Every binding of these shaders, in the order of their variables.
    pub fn all(shaders: &[&Shader]) -> Vec<Self> {
        let mut out: Vec<Self> = Vec::new();
        for r in shaders.iter().flat_map(|shader| &shader.resources) {
            match out.iter_mut().find(|there| (there.first.set, there.first.binding) == (r.set, r.binding)) {
                Some(there) => {
                    there.kind = BindingKind::of_uses(there.kind.kinds().chain([r.kind]));
                    // A run-time array has no length.
                    there.count = there.count.zip(r.count).map(|(a, b)| a.max(b));
                }
                None => {
                    out.push(Self { first: r.clone(), count: r.count, kind: r.kind.into(), named: BTreeMap::new() });
                }
            }
        }
        for shader in shaders {
            for inst in &shader.insts {
                let Op::Descriptor { resource, .. } = inst.op else { continue };
                let Some(r) = shader.resources.get(resource.index()) else { continue };
                let index = inst.args.first().and_then(|index| shader.as_const(*index));
                let there = out.iter_mut().find(|there| (there.first.set, there.first.binding) == (r.set, r.binding));
                if let (Some(index), Some(there)) = (index, there) {
                    there.named.insert(index as u32, r.kind);
                }
            }
        }
        out
    }

    /// Number of elements to make; `open` or more for a run-time array.
    pub fn count(&self, open: u32) -> u32 {
        let several = matches!(self.kind, BindingKind::Mutable(_));
        let named = self.named.keys().next_back().filter(|_| several).map_or(0, |last| last.saturating_add(1));
        self.count.unwrap_or_else(|| open.max(named).min(RUNTIME_ARRAY))
    }

    /// The variable that gives an element its kind.
    pub fn element(&self, n: u32) -> Resource {
        let named = self.named.get(&n).and_then(|used| self.kind.kinds().find(|kind| kind.serves(*used)));
        let count = self.kind.kinds().count().max(1);
        let kind = named.or_else(|| self.kind.kinds().nth(n as usize % count));
        Resource { kind: kind.unwrap_or(self.first.kind), count: self.count, ..self.first.clone() }
    }
}

impl Declared {
    /// [`Declared::bound_at`], limited to variables that a resource's kind can serve.
    pub(super) fn made_as(&self, resource: &Resource) -> Vec<u32> {
        use ResourceKind as K;
        let mut types = self.bound_at(resource);
        types.retain(|ty| match (resource.kind, self.image(*ty)) {
            (K::UniformBuffer | K::StorageBuffer, image) => image.is_none() && !self.is_sampler(*ty),
            (K::Sampler, _) => true,
            (K::UniformTexelBuffer | K::StorageTexelBuffer, image) => image.is_some_and(|i| i.dim == Dim::DimBuffer),
            (_, image) => image.is_some_and(|i| i.dim != Dim::DimBuffer),
        });
        types
    }

    fn is_sampler(&self, ty: u32) -> bool {
        self.opcode(ty) == rspirv::spirv::Op::TypeSampler
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_ir::parse::parse;

    /// The shader reads element 2 of a heap as an image; other elements of the heap are buffers.
    const HEAP: &str = "shader upper compute \"t\"\nmodes 1 1 1 any any any any rte rte rte\n\
        res0 \"images\" set0 binding1 sampled_image unbounded\nres1 \"buffers\" set0 binding1 storage_buffer unbounded\n\
        res2 \"image\" set0 binding0 sampled_image count3\nres3 \"its_sampler\" set0 binding0 sampler count2\n\
        block0:\n v0: b32 = const 0x5\n v1: b32x8 = descriptor[res0 image] v0\n return\n";

    #[test]
    fn elements_are_of_the_kind_that_is_read_or_take_turns() {
        let shader = parse(HEAP).unwrap();
        let [heap, combined] = &Descriptors::all(&[&shader, &shader])[..] else { panic!() };
        let kinds = |of: &Descriptors, open| (0..of.count(open)).map(|n| of.element(n).kind).collect::<Vec<_>>();
        let (buffer, image) = (ResourceKind::StorageBuffer, ResourceKind::SampledImage);
        assert_eq!(kinds(heap, 4), [buffer, image, buffer, image, buffer, image], "as far as the one that is named");
        assert_eq!(kinds(combined, 4), [ResourceKind::CombinedImageSampler; 3], "as many as the longer array has");
    }
}
