//! Where every descriptor stands: a [`ResourceLayout`] with nothing left implicit.
//!
//! The root table is what the driver's user data are taken from: one dword a set pointer, four a dynamic buffer, then
//! push constants. Offsets in sets are packed by binding number unless given. Sizes: pal-abi 1.2.

use crate::error::{Error, Result};
use crate::ir::ResourceKind;
use crate::reloc::symbol::PartLetter;
use crate::state::{BindingLayout, ResourceLayout, SetLayout};
use std::collections::BTreeMap;

pub use crate::metadata::user_data::MAX_ROOT_DWORDS;

/// Bytes of one descriptor of this kind.
pub const fn descriptor_bytes(kind: ResourceKind) -> u32 {
    match kind {
        ResourceKind::UniformBuffer
        | ResourceKind::StorageBuffer
        | ResourceKind::Sampler
        | ResourceKind::UniformTexelBuffer
        | ResourceKind::StorageTexelBuffer => 16,
        ResourceKind::SampledImage | ResourceKind::StorageImage | ResourceKind::InputAttachment => 32,
        ResourceKind::CombinedImageSampler => 48,
    }
}

/// Where the sampler of a combined image and sampler stands, behind its image.
pub const COMBINED_SAMPLER_OFFSET: u32 = 32;

/// Where a binding's first descriptor stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorPlace {
    /// Kind the layout declares.
    pub kind: ResourceKind,
    /// Array length.
    pub count: u32,
    /// In the root table rather than in the set's table.
    pub in_root: bool,
    /// Byte offset in that table.
    pub offset: u32,
    /// Bytes from one array element to the next.
    pub stride: u32,
}

impl DescriptorPlace {
    /// Byte offset of this half of the first descriptor; `None` if this kind has no such half.
    pub fn part_offset(&self, part: PartLetter) -> Option<u32> {
        use ResourceKind as K;
        let has = match part {
            PartLetter::Buffer => matches!(self.kind, K::UniformBuffer | K::StorageBuffer),
            PartLetter::TexelBuffer => matches!(self.kind, K::UniformTexelBuffer | K::StorageTexelBuffer),
            PartLetter::Sampler => matches!(self.kind, K::Sampler | K::CombinedImageSampler),
            PartLetter::Image => {
                matches!(self.kind, K::SampledImage | K::StorageImage | K::InputAttachment | K::CombinedImageSampler)
            }
        };
        let second = part == PartLetter::Sampler && self.kind == K::CombinedImageSampler;
        has.then(|| self.offset.saturating_add(if second { COMBINED_SAMPLER_OFFSET } else { 0 }))
    }

    /// Whether a shader that declares this kind can work on what stands here: the same, or its half of a combined one.
    pub fn serves(&self, used: ResourceKind) -> bool {
        let half = matches!(used, ResourceKind::SampledImage | ResourceKind::Sampler);
        used == self.kind || (half && self.kind == ResourceKind::CombinedImageSampler)
    }
}

/// A layout with every place fixed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedLayout {
    set_pointers: BTreeMap<u32, u32>,
    bindings: BTreeMap<(u32, u32), DescriptorPlace>,
    push_constants: Option<PushPlace>,
    root_dwords: u32,
}

/// Where push constants stand in the root table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushPlace {
    /// First root dword.
    pub root: u32,
    /// Dwords.
    pub dwords: u32,
}

impl ResolvedLayout {
    /// Fixes every place.
    ///
    /// # Errors
    /// Malformed: a set or binding given twice, places that overlap or leave the root table, misaligned offsets.
    pub fn new(layout: &ResourceLayout) -> Result<Self> {
        let mut out = Self::default();
        let mut root = RootAllocator::default();
        let mut sets: Vec<&SetLayout> = layout.sets.iter().collect();
        sets.sort_by_key(|s| s.set);
        if let Some(w) = sets.windows(2).find(|w| w[0].set == w[1].set) {
            return Err(Error::malformed(format!("descriptor set {} is laid out twice", w[0].set)));
        }
        // Given places first, so that packed ones flow around them.
        for set in sets.iter().filter(|s| s.root.is_some()).chain(sets.iter().filter(|s| s.root.is_none())) {
            let dword = root.place(set.root, 1, || format!("pointer of set {}", set.set))?;
            out.set_pointers.insert(set.set, dword);
        }
        for set in &sets {
            out.add_bindings(set, &mut root)?;
        }
        if layout.push_constant_bytes > 0 {
            let dwords = layout.push_constant_bytes.div_ceil(4);
            let at = root.place(layout.push_constant_root, dwords, || "push constants".into())?;
            out.push_constants = Some(PushPlace { root: at, dwords });
        }
        out.root_dwords = root.end();
        Ok(out)
    }

    fn add_bindings(&mut self, set: &SetLayout, root: &mut RootAllocator) -> Result<()> {
        let mut bindings: Vec<&BindingLayout> = set.bindings.iter().collect();
        bindings.sort_by_key(|b| b.binding);
        let mut next = 0u32;
        for b in bindings {
            let name = || format!("set {} binding {}", set.set, b.binding);
            let stride = descriptor_bytes(b.kind);
            let bytes = stride
                .checked_mul(b.count.max(1))
                .ok_or_else(|| Error::malformed(format!("{}: array of {} is too large", name(), b.count)))?;
            let offset = if b.dynamic {
                if !matches!(b.kind, ResourceKind::UniformBuffer | ResourceKind::StorageBuffer) {
                    return Err(Error::malformed(format!("{}: only buffers can be dynamic", name())));
                }
                root.place(b.offset, bytes / 4, name)? * 4
            } else {
                let at = b.offset.unwrap_or(next);
                if at % 4 != 0 {
                    return Err(Error::malformed(format!("{}: offset {at} is not a multiple of 4", name())));
                }
                next = at
                    .checked_add(bytes)
                    .ok_or_else(|| Error::malformed(format!("{}: offset {at} is too large", name())))?;
                at
            };
            let place = DescriptorPlace { kind: b.kind, count: b.count, in_root: b.dynamic, offset, stride };
            if self.bindings.insert((set.set, b.binding), place).is_some() {
                return Err(Error::malformed(format!("{} is laid out twice", name())));
            }
        }
        Ok(())
    }

    /// Where a binding's descriptors stand.
    pub fn binding(&self, set: u32, binding: u32) -> Option<&DescriptorPlace> {
        self.bindings.get(&(set, binding))
    }

    /// Root dword of the pointer to a set's table.
    pub fn set_pointer(&self, set: u32) -> Option<u32> {
        self.set_pointers.get(&set).copied()
    }

    /// Where push constants stand.
    pub fn push_constants(&self) -> Option<PushPlace> {
        self.push_constants
    }

    /// Root dwords in use, the highest + 1.
    pub fn root_dwords(&self) -> u32 {
        self.root_dwords
    }
}

/// Hands out root dwords, given ones and then packed ones, and refuses overlaps.
#[derive(Default)]
struct RootAllocator {
    taken: Vec<(u32, u32)>,
}

impl RootAllocator {
    fn place(&mut self, at: Option<u32>, dwords: u32, what: impl Fn() -> String) -> Result<u32> {
        let at = at.unwrap_or_else(|| self.end());
        let end = at.checked_add(dwords).filter(|&e| e <= MAX_ROOT_DWORDS).ok_or_else(|| {
            Error::malformed(format!(
                "{}: root dwords {at} to {at}+{dwords} leave the root table of {MAX_ROOT_DWORDS}",
                what()
            ))
        })?;
        if self.taken.iter().any(|&(a, b)| at < b && a < end) {
            return Err(Error::malformed(format!("{}: root dword {at} is taken already", what())));
        }
        self.taken.push((at, end));
        Ok(at)
    }

    fn end(&self) -> u32 {
        self.taken.iter().map(|&(_, end)| end).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(binding: u32, kind: ResourceKind, dynamic: bool) -> BindingLayout {
        BindingLayout { binding, kind, count: 1, dynamic, offset: None }
    }

    #[test]
    fn packs_sets_root_buffers_and_push_constants() {
        let layout = ResourceLayout {
            sets: vec![SetLayout {
                set: 1,
                root: None,
                bindings: vec![
                    binding(4, ResourceKind::UniformBuffer, true),
                    binding(2, ResourceKind::CombinedImageSampler, false),
                    binding(3, ResourceKind::StorageBuffer, false),
                ],
            }],
            push_constant_bytes: 20,
            push_constant_root: None,
        };
        let r = ResolvedLayout::new(&layout).unwrap();
        assert_eq!(r.set_pointer(1), Some(0));
        assert_eq!(r.binding(1, 2).unwrap().offset, 0);
        assert_eq!(r.binding(1, 3).unwrap().offset, 48);
        assert!(r.binding(1, 4).unwrap().in_root);
        assert_eq!(r.binding(1, 4).unwrap().offset, 4);
        assert_eq!(r.push_constants(), Some(PushPlace { root: 5, dwords: 5 }));
        assert_eq!(r.root_dwords(), 10);
    }

    #[test]
    fn refuses_overlap() {
        let set = |set, root| SetLayout { set, root: Some(root), bindings: vec![] };
        let layout = ResourceLayout { sets: vec![set(0, 3), set(1, 3)], ..Default::default() };
        assert!(ResolvedLayout::new(&layout).is_err());
    }
}
