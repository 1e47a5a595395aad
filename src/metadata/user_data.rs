//! PAL's numbers for the contents of user-data SGPRs, and its assertions about their order (pal-abi 4).
//!
//! A number below [`MAX_ROOT_DWORDS`] is a dword of the root table; the others name values that PAL provides.

/// Root dwords supported by every PAL that reads metadata 2.6. PAL from June 2024 on has 160; earlier versions silently
/// leave the SGPR of a larger number unmapped, and an ELF cannot know which version loads it.
pub const MAX_ROOT_DWORDS: u32 = 128;

/// Numbers of values that PAL provides.
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
    /// Also the meaning of an absent register.
    pub const NOT_MAPPED: u32 = 0xFFFF_FFFF;
}

/// The reason why a number is invalid for user-data SGPR `index`, if it is.
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
