//! What user-data SGPRs hold, in PAL's numbers (pal-abi 4).
//!
//! A number below 160 is a dword of the root table; the others name something that PAL provides. Invariant: no number of
//! an unlinked ELF gets through, and what PAL asserts of the order holds.

use crate::abi::layout::{MAX_ROOT_DWORDS, ResolvedLayout};
use crate::error::{Error, Result};
use crate::metadata::interface::{StageInterface, UserData};

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

/// The number for each user-data SGPR of a stage; `None` where PAL loads nothing of meaning.
///
/// # Errors
/// Malformed: more SGPRs than the stage has, an order that PAL refuses, or something the layout does not have.
pub fn map(interface: &StageInterface, layout: &ResolvedLayout) -> Result<Vec<Option<u32>>> {
    let data = &interface.user_data;
    let max = interface.stage.max_user_sgprs() as usize;
    if data.len() > max {
        return Err(Error::malformed(format!(
            "{} user-data SGPRs, the {} stage has {max}",
            data.len(),
            interface.stage
        )));
    }
    let before = |i: usize| i.checked_sub(1).and_then(|i| data.get(i)).copied();
    let mut out = Vec::with_capacity(data.len());
    for (i, &what) in data.iter().enumerate() {
        let in_place = match what {
            UserData::GlobalTable => i == 0,
            UserData::PerShaderTable => i == 1,
            UserData::BaseInstance => before(i) == Some(UserData::BaseVertex),
            UserData::WorkgroupCountHigh => before(i) == Some(UserData::WorkgroupCountLow),
            _ => true,
        };
        if !in_place || data.iter().take(i).any(|&other| other == what) {
            return Err(Error::malformed(format!("user-data SGPR {i} cannot be {what:?}")));
        }
        out.push(number(what, layout)?);
    }
    Ok(out)
}

fn number(what: UserData, layout: &ResolvedLayout) -> Result<Option<u32>> {
    Ok(Some(match what {
        UserData::GlobalTable => pal::GLOBAL_TABLE,
        // PAL keeps the slot and gives it no content; the high half of a pointer comes with its low one.
        UserData::PerShaderTable | UserData::WorkgroupCountHigh => return Ok(None),
        UserData::DescriptorSet(set) => layout
            .set_pointer(set)
            .ok_or_else(|| Error::malformed(format!("descriptor set {set} is used, and not in the layout")))?,
        UserData::PushConstant(dword) => {
            let place = layout.push_constants().filter(|p| dword < p.dwords);
            let place = place.ok_or_else(|| {
                Error::malformed(format!("dword {dword} of the push constants is used, and not in the layout"))
            })?;
            place.root.saturating_add(dword)
        }
        UserData::Root(dword) if dword < MAX_ROOT_DWORDS => dword,
        UserData::Root(dword) => {
            return Err(Error::malformed(format!("root dword {dword}: PAL has {MAX_ROOT_DWORDS}")));
        }
        UserData::SpillTable => pal::SPILL_TABLE,
        UserData::VertexBufferTable => pal::VERTEX_BUFFER_TABLE,
        UserData::BaseVertex => pal::BASE_VERTEX,
        UserData::BaseInstance => pal::BASE_INSTANCE,
        UserData::DrawIndex => pal::DRAW_INDEX,
        UserData::ViewId => pal::VIEW_ID,
        UserData::WorkgroupCountLow => pal::WORKGROUP,
    }))
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
