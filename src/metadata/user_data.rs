//! PAL's numbers for what a user-data SGPR holds, and what it asserts of their order (pal-abi 4).
//!
//! A number below [`MAX_ROOT_DWORDS`] is a dword of the root table; the others name something that PAL provides.

/// Root dwords that every PAL has which reads metadata 2.6. Those from June 2024 on have 160; the ones before leave the
/// SGPR of a larger number unmapped without a word, and an ELF does not know which of them loads it.
pub const MAX_ROOT_DWORDS: u32 = 128;

/// Numbers that PAL gives to what it provides itself.
pub mod pal {
    #![allow(missing_docs, reason = "the names are PAL's own")]
    pub const GLOBAL_TABLE: u32 = 0x1000_0000;
    pub const PER_SHADER_TABLE: u32 = 0x1000_0001;
    pub const SPILL_TABLE: u32 = 0x1000_0002;
    pub const BASE_VERTEX: u32 = 0x1000_0003;
    pub const BASE_INSTANCE: u32 = 0x1000_0004;
    pub const DRAW_INDEX: u32 = 0x1000_0005;
    pub const WORKGROUP: u32 = 0x1000_0006;
    pub const VIEW_ID: u32 = 0x1000_000B;
    pub const VERTEX_BUFFER_TABLE: u32 = 0x1000_000F;
    /// Also what an absent register counts as.
    pub const NOT_MAPPED: u32 = 0xFFFF_FFFF;
}

/// Why a number cannot stand in the register of user-data SGPR `index`, if it cannot.
pub fn objection(index: u32, number: u32, before: Option<u32>) -> Option<String> {
    let order = |ok: bool, rule: &str| (!ok).then(|| rule.to_owned());
    match number {
        0..MAX_ROOT_DWORDS => None,
        pal::GLOBAL_TABLE => order(index == 0, "the global table must be in SGPR 0"),
        pal::PER_SHADER_TABLE => order(index == 1, "the per-shader table must be in SGPR 1"),
        pal::BASE_INSTANCE => order(before == Some(pal::BASE_VERTEX), "the base instance must follow the base vertex"),
        pal::SPILL_TABLE
        | pal::BASE_VERTEX
        | pal::DRAW_INDEX
        | pal::WORKGROUP
        | pal::VIEW_ID
        | pal::VERTEX_BUFFER_TABLE
        | pal::NOT_MAPPED => None,
        0x8000_0000..=0x8000_01FF => Some(format!("{number:#x} is a number of unlinked ELFs")),
        _ => Some(format!("PAL knows no user data {number:#x}")),
    }
}
