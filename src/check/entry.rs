//! Finds the registers that the hardware sets before a stage's first instruction, from the register words alone
//! (pal-abi 2.3 to 2.5).

use super::code::{Code, StageCode};
use dovetail_base::target::{FamilyFacts, ParameterPath, ScratchAccess, Stage};
use dovetail_isa::{Register, RegisterSet, Scalar, Vgpr};
use dovetail_metadata::registers::{
    RegisterWords, compute_pgm_rsrc2 as rsrc2, rsrc1_gs, rsrc1_ps, rsrc1_vs, rsrc2_gs, spi_ps_input_addr,
    spi_ps_input_ena,
};
use dovetail_metadata::user_data::pal;

/// VGPRs per pixel input, in the order of the bits of SPI_PS_INPUT_ADDR.
const PIXEL_INPUTS: [u8; 16] = [2, 2, 2, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1];

/// Adds those of a wave of a primitive shader besides the user data: numbers of the group and of the wave, the scratch wave
/// offset or the place in the attribute ring; the primitive, the vertex id, and those up to the instance id.
fn ngg(set: &mut RegisterSet, offset: bool, words: &RegisterWords, facts: &FamilyFacts) {
    let offset = (offset || facts.parameters == ParameterPath::Ring).then_some(5);
    [2, 3].into_iter().chain(offset).for_each(|n| set.insert(Register::sgpr(n)));
    set.vgprs(Vgpr(0), words.field(rsrc1_gs::GS_VGPR_COMP_CNT).min(3) as u8 + 1);
    set.vgprs(Vgpr(facts.primitive_entry.vertex_id), words.field(rsrc2_gs::ES_VGPR_COMP_CNT).min(3) as u8 + 1);
}

/// Registers set at entry.
pub(super) fn registers(stage: &StageCode, code: &Code<'_>) -> RegisterSet {
    let (words, facts) = (&code.registers, code.isa.facts());
    let offset = stage.scratch && facts.scratch == ScratchAccess::Descriptor;
    let mut set = RegisterSet::EMPTY;
    let primitives = stage.hardware.runs_primitives();
    // A wave with vertices and primitives has no mask yet.
    if !primitives {
        set.mask(Register::EXEC, stage.wave);
    }
    let mut before = None;
    let mut next = u8::try_from(stage.hardware.first_user_sgpr()).unwrap_or(u8::MAX);
    for &what in &stage.user_data {
        // The high half of a pointer has no user-data entry.
        let high = before == Some(pal::WORKGROUP);
        if what != pal::NOT_MAPPED || high {
            set.insert(Register::sgpr(next));
        }
        before = Some(what);
        next = next.saturating_add(1);
    }
    let on = |field| words.field(field) == 1;
    let system = match stage.stage {
        Stage::Vertex => 0,
        // The primitive mask, and the provoking vertices.
        Stage::Fragment => 1 + u8::from(on(rsrc1_ps::LOAD_PROVOKING_VTX)),
        Stage::Compute if facts.workgroup_ids_apart => {
            [Scalar::WorkgroupX, Scalar::WorkgroupYz].into_iter().for_each(|ids| set.scalars(ids, 1));
            0
        }
        Stage::Compute => {
            let ids = [rsrc2::TGID_X_EN, rsrc2::TGID_Y_EN, rsrc2::TGID_Z_EN, rsrc2::TG_SIZE_EN];
            ids.into_iter().map(|field| u8::from(on(field))).sum()
        }
    };
    if primitives {
        ngg(&mut set, offset, words, facts);
        return set;
    }
    for n in 0..system + u8::from(offset) {
        set.insert(Register::sgpr(next.saturating_add(n)));
    }
    match stage.stage {
        Stage::Vertex => {
            // Relative vertex and primitive ids need at least two components, the instance id three.
            let components = words.field(rsrc1_vs::VGPR_COMP_CNT).min(3) as u8;
            set.vgprs(Vgpr(0), components + 1);
        }
        Stage::Fragment => {
            let [places, enabled] = [words.field(spi_ps_input_addr::ENA), words.field(spi_ps_input_ena::ENA)];
            let mut first = 0u8;
            for (bit, count) in PIXEL_INPUTS.into_iter().enumerate().filter(|(bit, _)| places >> bit & 1 == 1) {
                if enabled >> bit & 1 == 1 {
                    set.vgprs(Vgpr(first), count);
                }
                first = first.saturating_add(count);
            }
        }
        Stage::Compute if facts.packed_local_ids => set.vgprs(Vgpr(0), 1),
        Stage::Compute => set.vgprs(Vgpr(0), words.field(rsrc2::TIDIG_COMP_CNT).min(2) as u8 + 1),
    }
    set
}
