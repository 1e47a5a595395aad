//! Resolves a [`ResourceLayout`]: gives every descriptor its offset.
//!
//! The root table is the source of the driver's user data: one dword per set pointer, four dwords per dynamic buffer,
//! then push constants. Sizes: pal-abi 1.2.
//!
//! In a set's table, bindings with a given offset are at that offset, and no two may overlap. The other bindings are
//! packed in the order of their numbers: each goes to the first offset at or after the end of the previous binding
//! (given or packed) where it overlaps no other.
//!
//! A binding whose immutable samplers convert from Y'CBCR holds all image descriptors of the conversion one after the
//! other, then the sampler ([`super::samplers`]).

use super::content_id::ContentId;
use super::samplers::{COMBINED_SAMPLER_OFFSET, IMAGE_BYTES, check_samplers, images};
use dovetail_base::error::{Context, Error, Result};
use dovetail_reloc::symbol::PartLetter;
use dovetail_state::{BindingKind, BindingLayout, ImmutableSampler, ResourceLayout, SetLayout};
use dovetail_state::{KindSet, ResourceKind};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

pub use dovetail_metadata::user_data::MAX_ROOT_DWORDS;

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

/// The kinds of descriptors that contain this part.
const fn kinds_with(part: PartLetter) -> KindSet {
    use ResourceKind as K;
    KindSet::of(match part {
        PartLetter::Buffer => &[K::UniformBuffer, K::StorageBuffer],
        PartLetter::TexelBuffer => &[K::UniformTexelBuffer, K::StorageTexelBuffer],
        PartLetter::Sampler => &[K::Sampler, K::CombinedImageSampler],
        PartLetter::Image => &[K::SampledImage, K::StorageImage, K::InputAttachment, K::CombinedImageSampler],
    })
}

/// Location of a binding's first descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescriptorPlace {
    /// Its set and binding.
    of: u64,
    /// The kind that the layout declares.
    pub kind: BindingKind,
    /// Array length.
    pub count: u32,
    /// In the root table rather than in the set's table.
    pub in_root: bool,
    /// Byte offset in that table.
    pub offset: u32,
    /// Bytes from one array element to the next: the size of the largest kind.
    pub stride: u32,
    /// Image descriptors per element: more than one only if the sampler converts from Y'CBCR.
    pub images: u32,
    /// Immutable samplers: one for each element, or none.
    pub samplers: Box<[ImmutableSampler]>,
}

impl DescriptorPlace {
    /// Byte offset of this part of the first descriptor; `None` if no kind here has this part.
    ///
    /// Code uses one offset for all kinds of element. So if elements may be combined descriptors, a lone sampler is at
    /// the offset that it has in a combined one.
    pub fn part_offset(&self, part: PartLetter) -> Option<u32> {
        let kinds = self.kind.set();
        let second = part == PartLetter::Sampler && kinds.contains(ResourceKind::CombinedImageSampler);
        let has = kinds.meets(kinds_with(part));
        let more = IMAGE_BYTES.saturating_mul(self.images.saturating_sub(1));
        has.then(|| self.offset.saturating_add(if second { COMBINED_SAMPLER_OFFSET.saturating_add(more) } else { 0 }))
    }

    /// Byte offset of an image descriptor of the first element: 0 is the image itself, the others are further planes.
    pub fn image_offset(&self, image: u32) -> Option<u32> {
        let first = self.part_offset(PartLetter::Image).filter(|_| image < self.images)?;
        Some(first.saturating_add(IMAGE_BYTES.saturating_mul(image)))
    }

    /// Whether a sampler here converts from Y'CBCR: only code compiled with the conversion can read the images.
    pub fn converts(&self) -> bool {
        self.samplers.iter().any(|sampler| sampler.conversion.is_some())
    }
}

/// Identifies a resolved layout in this process, by its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayoutId(ContentId);

impl LayoutId {
    /// Some of its bits, as random as all.
    pub fn bits(self) -> u64 {
        self.0.bits()
    }
}

/// A layout in which every offset is known.
#[derive(Clone, Default)]
pub struct ResolvedLayout {
    places: Places,
    /// Computed when it is first asked for: links without plans do not need it.
    id: OnceLock<LayoutId>,
}

impl fmt::Debug for ResolvedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.places.fmt(f)
    }
}

impl PartialEq for ResolvedLayout {
    fn eq(&self, other: &Self) -> bool {
        self.places == other.places
    }
}

impl Eq for ResolvedLayout {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Places {
    /// For each set the root dword of the pointer to its table; sorted.
    set_pointers: Box<[(u32, u32)]>,
    /// Sorted by set and binding.
    bindings: Box<[DescriptorPlace]>,
    push_constants: Option<PushPlace>,
    root_dwords: u32,
}

/// A layout as given, for keys and whole-pipeline compiles, and with resolved offsets, for links.
#[derive(Clone, Debug)]
pub struct PreparedLayout {
    given: ResourceLayout,
    resolved: ResolvedLayout,
}

impl PreparedLayout {
    /// Resolves every offset.
    ///
    /// # Errors
    /// As [`ResolvedLayout::new`].
    pub fn new(given: ResourceLayout) -> Result<Self> {
        let resolved = ResolvedLayout::new(&given).at(|| "resource layout")?;
        Ok(Self { given, resolved })
    }

    /// The layout as given.
    pub fn given(&self) -> &ResourceLayout {
        &self.given
    }

    /// The resolved offsets.
    pub fn resolved(&self) -> &ResolvedLayout {
        &self.resolved
    }
}

/// Place of push constants in the root table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PushPlace {
    /// First root dword.
    pub root: u32,
    /// Dwords.
    pub dwords: u32,
}

impl ResolvedLayout {
    /// Resolves every offset.
    ///
    /// # Errors
    /// Malformed: a set or binding given twice, given ranges that overlap or leave the root table, misaligned offsets.
    /// Unsupported: more push constants, sets and dynamic buffers than the root table has room for.
    pub fn new(layout: &ResourceLayout) -> Result<Self> {
        let mut out = Places::default();
        let mut root = RootAllocator::default();
        let mut sets: SmallVec<[&SetLayout; 8]> = layout.sets.iter().collect();
        sets.sort_by_key(|s| s.set);
        if let Some(w) = sets.windows(2).find(|w| w[0].set == w[1].set) {
            return Err(Error::malformed(format!("descriptor set {} is listed twice", w[0].set)));
        }
        let mut pointers = Vec::with_capacity(sets.len());
        // Given offsets first, so that packed ones avoid them.
        for set in sets.iter().filter(|s| s.root.is_some()).chain(sets.iter().filter(|s| s.root.is_none())) {
            let dword = root.place(set.root, 1, || format!("pointer of set {}", set.set))?;
            pointers.push((set.set, dword));
        }
        pointers.sort_unstable();
        let mut places = Vec::with_capacity(sets.iter().map(|set| set.bindings.len()).sum());
        for set in &sets {
            add_bindings(&mut places, set, &mut root)?;
        }
        (out.set_pointers, out.bindings) = (pointers.into(), places.into());
        if layout.push_constant_bytes > 0 {
            let dwords = layout.push_constant_bytes.div_ceil(4);
            let at = root.place(layout.push_constant_root, dwords, || "push constants".into())?;
            out.push_constants = Some(PushPlace { root: at, dwords });
        }
        out.root_dwords = root.end();
        Ok(Self { places: out, id: OnceLock::new() })
    }

    /// Its id.
    pub fn id(&self) -> LayoutId {
        *self.id.get_or_init(|| LayoutId(ContentId::of(&self.places)))
    }

    /// Place of a binding's descriptors.
    pub fn binding(&self, set: u32, binding: u32) -> Option<&DescriptorPlace> {
        let of = key(set, binding);
        let at = |n: usize| self.places.bindings.get(n).filter(|place| place.of == of);
        // A binding is usually at its number, which saves the search.
        at(binding as usize).or_else(|| at(self.places.bindings.partition_point(|place| place.of < of)))
    }

    /// Root dword of the pointer to a set's table.
    pub fn set_pointer(&self, set: u32) -> Option<u32> {
        self.places.set_pointers.iter().find(|(of, _)| *of == set).map(|(_, dword)| *dword)
    }

    /// Place of push constants.
    pub fn push_constants(&self) -> Option<PushPlace> {
        self.places.push_constants
    }

    /// Number of root dwords in use: the highest + 1.
    pub fn root_dwords(&self) -> u32 {
        self.places.root_dwords
    }
}

/// A set and a binding as one number, in the same order: faster to compare than two.
fn key(set: u32, binding: u32) -> u64 {
    u64::from(set) << 32 | u64::from(binding)
}

/// Adds the places of a set's bindings in order of their numbers.
fn add_bindings(places: &mut Vec<DescriptorPlace>, set: &SetLayout, root: &mut RootAllocator) -> Result<()> {
    let mut bindings: SmallVec<[&BindingLayout; 16]> = set.bindings.iter().collect();
    bindings.sort_by_key(|b| b.binding);
    let name = |b: &BindingLayout| format!("set {} binding {}", set.set, b.binding);
    let mut table = TableAllocator::default();
    for b in bindings.iter().filter(|b| !b.dynamic) {
        if let Some(at) = b.offset {
            table.give(at, size(b).at(|| name(b))?.bytes).at(|| name(b))?;
        }
    }
    for b in bindings {
        let Size { stride, bytes } = size(b).at(|| name(b))?;
        check_samplers(b).at(|| name(b))?;
        let offset = if b.dynamic {
            if !matches!(b.kind, BindingKind::One(ResourceKind::UniformBuffer | ResourceKind::StorageBuffer)) {
                return Err(Error::malformed(format!("{}: only buffers can be dynamic", name(b))));
            }
            root.place(b.offset, bytes / 4, || name(b))? * 4
        } else {
            table.place(b.offset, bytes).at(|| name(b))?
        };
        let of = key(set.set, b.binding);
        if places.last().is_some_and(|before| before.of == of) {
            return Err(Error::malformed(format!("{} is listed twice", name(b))));
        }
        places.push(DescriptorPlace {
            of,
            kind: b.kind,
            count: b.count,
            in_root: b.dynamic,
            offset,
            stride,
            images: images(b),
            samplers: b.samplers.as_slice().into(),
        });
    }
    Ok(())
}

/// Bytes per descriptor of a binding, and of all its descriptors.
struct Size {
    stride: u32,
    bytes: u32,
}

fn size(b: &BindingLayout) -> Result<Size> {
    let stride = b.kind.kinds().map(descriptor_bytes).max();
    let stride = stride.ok_or_else(|| Error::malformed("a mutable binding without kinds"))?;
    let stride = stride.saturating_add(IMAGE_BYTES.saturating_mul(images(b).saturating_sub(1)));
    let bytes = stride.checked_mul(b.count.max(1));
    let bytes = bytes.ok_or_else(|| Error::malformed(format!("array of {} is too large", b.count)))?;
    Ok(Size { stride, bytes })
}

/// Allocates bytes of a set's table: first all given offsets, then the rest in the order of binding numbers.
#[derive(Default)]
struct TableAllocator {
    /// Reserved ranges: from start to end.
    taken: BTreeMap<u32, u32>,
    /// End of the previous binding.
    next: u32,
}

impl TableAllocator {
    /// Reserves a given range.
    fn give(&mut self, at: u32, bytes: u32) -> Result<()> {
        if !at.is_multiple_of(4) {
            return Err(Error::malformed(format!("offset {at} is not a multiple of 4")));
        }
        let end = end(at, bytes)?;
        if let Some((from, to)) = self.touched(at, end) {
            return Err(Error::malformed(format!(
                "bytes {at} to {end} overlap those of another binding, {from} to {to}"
            )));
        }
        self.taken.insert(at, end);
        Ok(())
    }

    /// The offset of the next binding.
    fn place(&mut self, given: Option<u32>, bytes: u32) -> Result<u32> {
        let mut at = given.unwrap_or(self.next);
        if given.is_none() && !self.taken.is_empty() {
            while let Some((_, to)) = self.touched(at, end(at, bytes)?) {
                at = to;
            }
            self.taken.insert(at, end(at, bytes)?);
        }
        self.next = end(at, bytes)?;
        Ok(at)
    }

    /// The last reserved range that overlaps these bytes.
    fn touched(&self, from: u32, to: u32) -> Option<(u32, u32)> {
        self.taken.range(..to).next_back().map(|(a, b)| (*a, *b)).filter(|&(_, end)| from < end)
    }
}

fn end(at: u32, bytes: u32) -> Result<u32> {
    at.checked_add(bytes).ok_or_else(|| Error::malformed(format!("offset {at} is too large")))
}

/// Allocates root dwords, first given ones and then packed ones, and rejects overlaps.
#[derive(Default)]
struct RootAllocator {
    taken: Vec<(u32, u32)>,
}

impl RootAllocator {
    fn place(&mut self, at: Option<u32>, dwords: u32, what: impl Fn() -> String) -> Result<u32> {
        let given = at.is_some();
        let at = at.unwrap_or_else(|| self.end());
        let end = at.checked_add(dwords).filter(|&e| e <= MAX_ROOT_DWORDS).ok_or_else(|| {
            let where_to = format!("{}: root dwords {at} to {at}+{dwords}", what());
            if given {
                Error::malformed(format!("{where_to} exceed the root table of {MAX_ROOT_DWORDS}"))
            } else {
                Error::unsupported(format!("root table of over {MAX_ROOT_DWORDS} dwords"), where_to)
            }
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
        BindingLayout { binding, kind: kind.into(), count: 1, dynamic, offset: None, samplers: Vec::new() }
    }

    fn one_set(bindings: Vec<BindingLayout>) -> Result<ResolvedLayout> {
        let sets = vec![SetLayout { set: 0, root: None, bindings }];
        ResolvedLayout::new(&ResourceLayout { sets, ..Default::default() })
    }

    /// Places samplers of 16 bytes each, as their given offsets say.
    fn samplers(offsets: &[Option<u32>]) -> Result<Vec<u32>> {
        let one = |(n, offset): (u32, &Option<u32>)| BindingLayout {
            offset: *offset,
            ..binding(n, ResourceKind::Sampler, false)
        };
        let layout = one_set((0..).zip(offsets).map(one).collect())?;
        Ok((0..offsets.len() as u32).filter_map(|n| layout.binding(0, n)).map(|place| place.offset).collect())
    }

    #[test]
    fn given_offsets_never_overlap_and_packed_ones_flow_around() {
        assert_eq!(samplers(&[Some(64), None, Some(0), None]).unwrap(), [64, 80, 0, 16]);
        assert_eq!(samplers(&[None, Some(0), None]).unwrap(), [16, 0, 32]);
        assert_eq!(samplers(&[None, None, Some(16), None, Some(40), None]).unwrap(), [0, 56, 16, 72, 40, 88]);
        for overlapping in [[Some(0), Some(0)], [Some(32), Some(44)], [Some(20), Some(8)]] {
            let why = samplers(&overlapping).unwrap_err();
            assert_eq!(why.exit_code(), 2, "{why}");
            assert!(why.to_string().contains("set 0 binding 1: malformed input: bytes"), "{why}");
        }
        assert!(samplers(&[Some(6)]).unwrap_err().to_string().contains("not a multiple of 4"));
        assert!(samplers(&[Some(u32::MAX - 7)]).unwrap_err().to_string().contains("too large"));
    }

    #[test]
    fn mutable_descriptors_take_the_room_of_the_largest() {
        use ResourceKind as K;
        let mutable = |kinds: &[K]| BindingLayout {
            kind: BindingKind::Mutable(kinds.iter().copied().collect()),
            count: 3,
            ..binding(0, K::Sampler, false)
        };
        let place = |kinds: &[K]| one_set(vec![mutable(kinds)]).unwrap().binding(0, 0).cloned().unwrap();
        let parts = |kinds: &[K]| {
            let place = place(kinds);
            let of = |part| place.part_offset(part);
            let letters = [PartLetter::Buffer, PartLetter::Image, PartLetter::Sampler, PartLetter::TexelBuffer];
            (place.stride, letters.map(of))
        };
        assert_eq!(parts(&[K::UniformBuffer, K::StorageBuffer]), (16, [Some(0), None, None, None]));
        let heap = [K::StorageBuffer, K::StorageImage, K::UniformTexelBuffer];
        assert_eq!(parts(&heap), (32, [Some(0), Some(0), None, Some(0)]));
        assert_eq!(parts(&[K::Sampler, K::SampledImage]), (32, [None, Some(0), Some(0), None]));
        assert_eq!(parts(&[K::Sampler, K::CombinedImageSampler]), (48, [None, Some(0), Some(32), None]));
        let refused = |b: BindingLayout| one_set(vec![b]).unwrap_err().to_string();
        assert!(refused(mutable(&[])).contains("without kinds"));
        let dynamic = BindingLayout { dynamic: true, ..mutable(&[K::UniformBuffer, K::StorageBuffer]) };
        assert!(refused(dynamic).contains("only buffers can be dynamic"));
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

    #[test]
    fn more_than_the_root_table_holds_is_unsupported_and_a_place_beyond_it_malformed() {
        let buffers = |count| (0..count).map(|n| binding(n, ResourceKind::StorageBuffer, true)).collect();
        assert!(one_set(buffers(31)).is_ok());
        let why = one_set(buffers(32)).unwrap_err();
        assert_eq!(why.exit_code(), 3, "{why}");
        let beyond = SetLayout { set: 0, root: Some(MAX_ROOT_DWORDS), bindings: vec![] };
        let why = ResolvedLayout::new(&ResourceLayout { sets: vec![beyond], ..Default::default() }).unwrap_err();
        assert_eq!(why.exit_code(), 2, "{why}");
    }
}
