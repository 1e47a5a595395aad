//! Assigns the user-data SGPRs of a stage, in order (pal-abi 2.3 to 2.5).
//!
//! | register | contents | condition |
//! |---|---|---|
//! | s0, s1 | global table, per-shader table | always |
//! | then | pointer to the grid size | compute, if read |
//! | then | descriptor set pointers, by set number | if used; the rest is read through the spill table |
//! | then | push-constant dwords, by offset | if read at constant offsets; loads that do not fit: spill table |
//! | then | view, vertex buffers, base vertex, base instance, draw | vertex (view: fragment too), if used |
//! | then | spill table | if anything is read through it |
//! | last | nothing | where the GPU wants more SGPRs than that |
//!
//! Planning cannot fail: in the worst case everything but the fixed registers goes through the spill table. To add a
//! kind of user data, add a variant of [`UserData`], a field of [`UserDataNeeds`], and a line in [`plan`].

use dovetail_base::target::HardwareStage;
use dovetail_metadata::interface::UserData;
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;

/// User data that a stage reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserDataNeeds {
    /// Descriptor sets that the stage reads.
    pub sets: BTreeSet<u32>,
    /// Push-constant loads at constant offsets: first dword, number of dwords.
    pub push_constants: BTreeSet<(u32, u32)>,
    /// The stage always reads the spill table.
    pub spill: bool,
    /// The stage reads the address of the grid size.
    pub workgroup_count: bool,
    /// The stage reads the view index.
    pub view: bool,
    /// The stage reads the vertex buffer table.
    pub vertex_buffers: bool,
    /// The stage reads base vertex or base instance: always both are passed, because PAL wants them side by side.
    pub base: bool,
    /// The stage reads the draw index.
    pub draw: bool,
}

/// Contents of user SGPRs, in order.
pub type UserSgprs = SmallVec<[UserData; 32]>;

/// Adds SGPRs with nothing up to a number that a stage has at least.
pub fn pad(plan: &mut UserSgprs, least: u32) {
    plan.resize(plan.len().max(least as usize), UserData::Unused);
}

/// Contents of each user SGPR of a hardware stage, from s0.
pub fn plan(stage: HardwareStage, needs: &UserDataNeeds) -> UserSgprs {
    let mut head: UserSgprs = smallvec![UserData::GlobalTable, UserData::PerShaderTable];
    if needs.workgroup_count {
        head.extend([UserData::WorkgroupCountLow, UserData::WorkgroupCountHigh]);
    }
    let specials = specials(needs);
    let fixed = head.len() + specials.len();
    let free = (stage.max_user_sgprs() as usize).saturating_sub(fixed);

    // Try without a spill table first, because it needs a register itself.
    let (middle, spill) = match middle(needs, free) {
        (middle, true) if !needs.spill => (middle, false),
        _ => (self::middle(needs, free.saturating_sub(1)).0, true),
    };
    let mut out = head;
    out.extend(middle);
    out.extend(specials);
    if spill {
        out.push(UserData::SpillTable);
    }
    out
}

fn specials(needs: &UserDataNeeds) -> UserSgprs {
    let mut out = UserSgprs::new();
    let mut add = |wanted: bool, what: &[UserData]| {
        if wanted {
            out.extend_from_slice(what);
        }
    };
    add(needs.view, &[UserData::ViewId]);
    add(needs.vertex_buffers, &[UserData::VertexBufferTable]);
    add(needs.base, &[UserData::BaseVertex, UserData::BaseInstance]);
    add(needs.draw, &[UserData::DrawIndex]);
    out
}

/// Assigns sets and push constants to `free` registers; returns whether all of them fit.
fn middle(needs: &UserDataNeeds, free: usize) -> (UserSgprs, bool) {
    let mut out: UserSgprs = needs.sets.iter().take(free).map(|&s| UserData::DescriptorSet(s)).collect();
    let mut fits = out.len() == needs.sets.len();
    let mut dwords = SmallVec::<[u32; 32]>::new();
    for &(first, count) in &needs.push_constants {
        // A load is in registers as a whole or not at all: with half of it in registers the load would still be needed.
        let mut with = dwords.clone();
        with.extend(first..first.saturating_add(count));
        with.sort_unstable();
        with.dedup();
        if out.len() + with.len() <= free {
            dwords = with;
        } else {
            fits = false;
        }
    }
    out.extend(dwords.into_iter().map(UserData::PushConstant));
    (out, fits)
}

#[cfg(test)]
mod tests {
    use super::UserData as U;
    use super::*;

    fn needs(sets: u32, push: &[(u32, u32)]) -> UserDataNeeds {
        UserDataNeeds {
            sets: (0..sets).collect(),
            push_constants: push.iter().copied().collect(),
            ..Default::default()
        }
    }

    #[test]
    fn the_order_is_fixed() {
        let n = UserDataNeeds {
            spill: true,
            view: true,
            vertex_buffers: true,
            base: true,
            draw: true,
            ..needs(2, &[(4, 2), (0, 1)])
        };
        assert_eq!(
            plan(HardwareStage::Vs, &n)[..],
            [
                U::GlobalTable,
                U::PerShaderTable,
                U::DescriptorSet(0),
                U::DescriptorSet(1),
                U::PushConstant(0),
                U::PushConstant(4),
                U::PushConstant(5),
                U::ViewId,
                U::VertexBufferTable,
                U::BaseVertex,
                U::BaseInstance,
                U::DrawIndex,
                U::SpillTable,
            ]
        );
        let n = UserDataNeeds { workgroup_count: true, ..needs(1, &[]) };
        assert_eq!(
            plan(HardwareStage::Cs, &n)[..],
            [U::GlobalTable, U::PerShaderTable, U::WorkgroupCountLow, U::WorkgroupCountHigh, U::DescriptorSet(0)]
        );
    }

    #[test]
    fn a_load_that_does_not_fit_brings_the_spill_table() {
        // 14 free registers: exactly full without a spill table.
        let full = plan(HardwareStage::Cs, &needs(2, &[(0, 12)]));
        assert_eq!(full.len(), 16);
        assert!(!full.contains(&U::SpillTable));
        // One dword more: the whole load moves to the spill table.
        let over = plan(HardwareStage::Cs, &needs(2, &[(0, 13)]));
        assert_eq!(
            over[..],
            [U::GlobalTable, U::PerShaderTable, U::DescriptorSet(0), U::DescriptorSet(1), U::SpillTable]
        );
        // A smaller load after it still fits, and overlapping loads share registers.
        let mixed = plan(HardwareStage::Cs, &needs(2, &[(0, 13), (20, 2), (21, 2)]));
        assert!(mixed.contains(&U::PushConstant(22)) && !mixed.contains(&U::PushConstant(0)));
        assert_eq!(mixed.len(), 2 + 2 + 3 + 1);
    }

    #[test]
    fn sets_beyond_the_limit_are_left_to_the_spill_table() {
        let p = plan(HardwareStage::Cs, &needs(20, &[]));
        assert_eq!(p.len(), 16);
        assert_eq!(p.last(), Some(&U::SpillTable));
        assert!(p.contains(&U::DescriptorSet(12)) && !p.contains(&U::DescriptorSet(13)));
    }
}
