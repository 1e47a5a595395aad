//! Places in a part that get a value: at a link, or from the loader.

use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;

/// Size of an instruction word in bytes.
pub(super) const DWORD: u32 = 4;

/// Largest code or data section of one part, in bytes (16 MiB).
pub(super) const MAX_SECTION: usize = 1 << 24;

/// A place in the code that needs a value.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    pub offset: u32,
    pub kind: RelocKind,
    pub symbol: LinkSymbol,
}

/// The section that a relocation patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Patched {
    Code,
    /// Index in [`super::input::Object::data`].
    Data(usize),
}

/// A relocation against constant data: only the loader knows the address.
#[derive(Clone, Debug)]
pub(super) struct LoadReloc {
    pub patched: Patched,
    pub offset: u32,
    pub kind: RelocKind,
    /// Index in [`super::input::Object::targets`]. The addend in place is added to its offset.
    pub target: usize,
}

/// A place in constant data that relocations refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DataTarget {
    /// Index in [`super::input::Object::data`].
    pub section: usize,
    /// Offset in that section.
    pub offset: u32,
}
