//! Places in a part that get a value: at a link, or from the loader.

use crate::reloc::kind::RelocKind;
use crate::reloc::symbol::LinkSymbol;

/// Size of an instruction word in bytes.
pub(super) const DWORD: u32 = 4;

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
    /// Index in [`super::input::Object::data`].
    pub target: usize,
    /// Offset in that section; the addend in place is added to it.
    pub value: u32,
}
