//! The contents of a stage's user-data SGPRs in PAL's numbers: root dwords from the layout, other contents by number.
//!
//! Invariant: the order satisfies PAL's assertions, and values that only unlinked ELFs use do not occur.

use dovetail_abi::layout::{MAX_ROOT_DWORDS, ResolvedLayout};
use dovetail_base::error::{Error, Result};
use dovetail_metadata::interface::{StageInterface, UserData};
use dovetail_metadata::user_data::pal;
use smallvec::SmallVec;

/// Checks the user data of a part; done once per part.
///
/// # Errors
/// Malformed: more SGPRs than the stage has, or an order that PAL rejects.
pub(super) fn check(interface: &StageInterface) -> Result<()> {
    let data = &interface.user_data;
    let max = interface.hardware_stage().max_user_sgprs() as usize;
    if data.len() > max {
        return Err(Error::malformed(format!(
            "{} user-data SGPRs, the {} stage has {max}",
            data.len(),
            interface.stage
        )));
    }
    if let Some(first) = data.first().filter(|first| **first != UserData::GlobalTable) {
        return Err(Error::malformed(format!("user-data SGPR 0 is {first:?}, and PAL needs the global table there")));
    }
    let before = |i: usize| i.checked_sub(1).and_then(|i| data.get(i)).copied();
    for (i, &what) in data.iter().enumerate() {
        let in_place = match what {
            UserData::PerShaderTable => i == 1,
            UserData::BaseInstance => before(i) == Some(UserData::BaseVertex),
            UserData::WorkgroupCountHigh => before(i) == Some(UserData::WorkgroupCountLow),
            _ => true,
        };
        let twice = what != UserData::Unused && data.iter().take(i).any(|&other| other == what);
        if !in_place || twice {
            return Err(Error::malformed(format!("user-data SGPR {i} cannot be {what:?}")));
        }
    }
    Ok(())
}

/// The number of each user-data SGPR of a stage.
pub(super) type Numbers = SmallVec<[Option<u32>; 32]>;

/// Appends the number of each user-data SGPR of a stage; `None`: PAL writes nothing useful to it.
///
/// # Errors
/// Malformed: the layout lacks something that the stage uses.
pub(super) fn map(interface: &StageInterface, layout: &ResolvedLayout, to: &mut Numbers) -> Result<()> {
    for what in &interface.user_data {
        to.push(number(*what, layout)?);
    }
    Ok(())
}

fn number(what: UserData, layout: &ResolvedLayout) -> Result<Option<u32>> {
    Ok(Some(match what {
        UserData::GlobalTable => pal::GLOBAL_TABLE,
        UserData::PerShaderTable | UserData::WorkgroupCountHigh | UserData::Unused => return Ok(None),
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
