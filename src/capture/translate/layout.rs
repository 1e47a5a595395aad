//! Translates pipeline layouts: descriptor sets and push constants to a `ResourceLayout`.

use super::{sampler, tables};
use crate::model::{Binding, Hash, Next, PushConstantRange, s_type};
use crate::source::DefinitionSource;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::kinds::ResourceKind;
use dovetail_state::{BindingKind, BindingLayout, ResourceLayout, SetLayout};

/// A pipeline layout, possibly merged from several.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sets {
    /// By set number; no name where there is no set.
    sets: Vec<Hash>,
    push_constants: Vec<PushConstantRange>,
}

impl Sets {
    /// Adds the sets of another layout that this one lacks: libraries may have sets of their own.
    pub(super) fn add(&mut self, other: Self) {
        self.sets.resize(self.sets.len().max(other.sets.len()), Hash::default());
        for (mine, other) in self.sets.iter_mut().zip(other.sets) {
            if mine.is_none() {
                *mine = other;
            }
        }
        self.push_constants.extend(other.push_constants);
    }
}

/// The layout with a name; without a name an empty layout.
pub(super) fn of_pipeline(name: Hash, source: &dyn DefinitionSource) -> Result<Sets> {
    if name.is_none() {
        return Ok(Sets::default());
    }
    let layout = source.pipeline_layout(name).at(|| "pipeline layout")?;
    Ok(Sets { sets: layout.set_layouts.clone(), push_constants: layout.push_constant_ranges.clone() })
}

pub(super) fn translate(given: &Sets, source: &dyn DefinitionSource) -> Result<ResourceLayout> {
    let mut sets = Vec::new();
    for (number, name) in (0u32..).zip(&given.sets).filter(|(_, name)| !name.is_none()) {
        sets.push(set(number, *name, source).at(|| format!("descriptor set {number}"))?);
    }
    let end = |range: &PushConstantRange| {
        let end = range.offset.checked_add(range.size);
        end.ok_or_else(|| Error::malformed("a push constant range ends after 4 GiB"))
    };
    let ends = given.push_constants.iter().map(end).collect::<Result<Vec<u32>>>()?;
    let push_constant_bytes = ends.into_iter().max().unwrap_or(0);
    Ok(ResourceLayout { sets, push_constant_bytes, push_constant_root: None })
}

fn set(number: u32, name: Hash, source: &dyn DefinitionSource) -> Result<SetLayout> {
    /// Push descriptors, update after bind, host only, descriptor buffers and samplers embedded there: where and when descriptors
    /// are written, which is the driver's.
    const HARMLESS: u32 = 0x37;
    let layout = source.set_layout(name)?;
    tables::chain(&layout.p_next)?;
    if layout.flags & !HARMLESS != 0 {
        return Err(Error::unsupported(format!("set layout flags {:#x}", layout.flags & !HARMLESS), ""));
    }
    let kinds =
        Next::find(&layout.p_next, s_type::MUTABLE_TYPES).map_or(&[][..], |next| &next.mutable_descriptor_type_lists);
    let mut bindings = Vec::new();
    for (index, given) in layout.bindings.iter().enumerate() {
        let place = || format!("binding {}", given.binding);
        // Without descriptors it only keeps a number from being used.
        if given.descriptor_count == 0 {
            continue;
        }
        let translated = binding(given, kinds.get(index).map_or(&[], Vec::as_slice)).at(place)?;
        bindings.push(BindingLayout { samplers: sampler::immutable(given, source).at(place)?, ..translated });
    }
    Ok(SetLayout { set: number, root: None, bindings })
}

fn binding(given: &Binding, mutable: &[u32]) -> Result<BindingLayout> {
    /// `VK_DESCRIPTOR_TYPE_MUTABLE_EXT`.
    const MUTABLE: u32 = 1_000_351_000;
    let (kind, dynamic) = match given.descriptor_type {
        MUTABLE => {
            let kinds = mutable.iter().map(|ty| kind(*ty).map(|(kind, _)| kind)).collect::<Result<_>>()?;
            (BindingKind::Mutable(kinds), false)
        }
        ty => kind(ty).map(|(kind, dynamic)| (BindingKind::One(kind), dynamic))?,
    };
    Ok(BindingLayout {
        binding: given.binding,
        kind,
        count: given.descriptor_count,
        dynamic,
        offset: None,
        samplers: Vec::new(),
    })
}

/// The kind of a `VkDescriptorType`, and whether it is dynamic.
fn kind(number: u32) -> Result<(ResourceKind, bool)> {
    use ResourceKind as K;
    const KINDS: [(ResourceKind, bool); 11] = [
        (K::Sampler, false),
        (K::CombinedImageSampler, false),
        (K::SampledImage, false),
        (K::StorageImage, false),
        (K::UniformTexelBuffer, false),
        (K::StorageTexelBuffer, false),
        (K::UniformBuffer, false),
        (K::StorageBuffer, false),
        (K::UniformBuffer, true),
        (K::StorageBuffer, true),
        (K::InputAttachment, false),
    ];
    const OTHERS: &[(u32, &str)] = &[
        (1_000_138_000, "inline uniform block"),
        (1_000_150_000, "acceleration structure"),
        (1_000_165_000, "acceleration structure"),
        (1_000_440_000, "image processing descriptor"),
        (1_000_440_001, "image processing descriptor"),
    ];
    let known = usize::try_from(number).ok().and_then(|number| KINDS.get(number)).copied();
    known.ok_or_else(|| match OTHERS.iter().find(|(ty, _)| *ty == number) {
        Some((_, name)) => Error::unsupported(*name, ""),
        None => Error::unsupported(format!("VkDescriptorType {number}"), ""),
    })
}
