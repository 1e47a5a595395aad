//! A vertex part as a primitive shader (NGG), pass-through: the registers of the hardware GS stage, also for a part that was
//! compiled for the hardware VS stage. A prologue (`glue/ngg.rs`) makes the one's waves look like the other's.
//!
//! Values as LLPC and Mesa write them for a vertex shader without a geometry shader (pal-abi 11).

use super::interface::{StageInterface, VertexInterface};
use super::part_notes::vgpr_comp_cnt;
use super::registers::*;
use dovetail_base::error::Result;

/// Vertices, and primitives, of a group.
const GROUP: u32 = 128;
/// The most threads of a group.
const THREADS: u32 = 256;
/// `VGT_SHADER_STAGES_EN.ES_EN`: the vertices come from a vertex shader.
const ES_STAGE_REAL: u32 = 2;
/// `VGT_GS_MODE.MODE`.
const GS_SCENARIO_G: u32 = 3;
/// `SPI_SHADER_IDX_FORMAT`: a primitive is one dword.
const ONE_COMPONENT: u32 = 1;
/// `VGPR_COMP_CNT` of the hardware VS stage with the instance id.
const INSTANCE_ID: u32 = 3;

/// Fields of the hardware VS stage with those of the hardware GS stage that mean the same.
const SAME: [(Field, Field); 10] = [
    (rsrc1_vs::FLOAT_MODE, rsrc1_gs::FLOAT_MODE),
    (rsrc1_vs::DX10_CLAMP, rsrc1_gs::DX10_CLAMP),
    (rsrc1_vs::IEEE_MODE, rsrc1_gs::IEEE_MODE),
    (rsrc1_vs::MEM_ORDERED, rsrc1_gs::MEM_ORDERED),
    (rsrc1_vs::FWD_PROGRESS, rsrc1_gs::FWD_PROGRESS),
    (rsrc1_vs::FP16_OVFL, rsrc1_gs::FP16_OVFL),
    (rsrc2_vs::SCRATCH_EN, rsrc2_gs::SCRATCH_EN),
    (rsrc2_vs::TRAP_PRESENT, rsrc2_gs::TRAP_PRESENT),
    (rsrc2_vs::EXCP_EN, rsrc2_gs::EXCP_EN),
    (rsrc2_vs::SHARED_VGPR_CNT, rsrc2_gs::SHARED_VGPR_CNT),
];

/// The words of a part for the hardware VS stage, as words for the hardware GS stage.
///
/// # Errors
/// A bug: the family lacks a field.
pub(super) fn moved(vertex: &RegisterWords) -> Result<RegisterWords> {
    let mut out = RegisterWords::new(vertex.family());
    let replaced = [SPI_SHADER_PGM_RSRC1_VS, SPI_SHADER_PGM_RSRC2_VS, VGT_SHADER_STAGES_EN];
    for (register, word) in vertex.iter().filter(|(register, _)| !replaced.contains(register)) {
        out.set(register, word)?;
    }
    SAME.into_iter().try_for_each(|(from, to)| out.set_known_field(to, vertex.field(from)))?;
    Ok(out)
}

/// The registers that only a primitive shader has.
///
/// # Errors
/// A bug: the family lacks a field.
pub(super) fn registers(words: &mut RegisterWords, interface: &StageInterface, vertex: &VertexInterface) -> Result<()> {
    let entry = interface.target.facts().primitive_entry;
    for (field, value) in [
        (rsrc1_gs::WGP_MODE, 0),
        // Of a primitive, pass-through needs v0 only.
        (rsrc1_gs::GS_VGPR_COMP_CNT, 0),
        (rsrc2_gs::ES_VGPR_COMP_CNT, if has_instance_id(interface, vertex) { entry.instance_id_count() } else { 0 }),
        (vgt_shader_stages_en::ES_EN, ES_STAGE_REAL),
        (vgt_shader_stages_en::PRIMGEN_EN, 1),
        (vgt_shader_stages_en::PRIMGEN_PASSTHRU_EN, 1),
        // Where there is this field, nobody has to ask for room.
        (vgt_shader_stages_en::PRIMGEN_PASSTHRU_NO_MSG, 1),
        (vgt_gs_mode::MODE, GS_SCENARIO_G),
        (vgt_gs_mode::GS_WRITE_OPTIMIZE, 1),
        (vgt_gs_onchip_cntl::ES_VERTS_PER_SUBGRP, GROUP),
        (vgt_gs_onchip_cntl::GS_PRIMS_PER_SUBGRP, GROUP),
        (vgt_gs_onchip_cntl::GS_INST_PRIMS_IN_SUBGRP, GROUP),
        (ge_ngg_subgrp_cntl::PRIM_AMP_FACTOR, 1),
        (ge_ngg_subgrp_cntl::THDS_PER_SUBGRP, THREADS),
        (ge_max_output_per_subgroup::MAX_VERTS_PER_SUBGROUP, GROUP),
        (vgt_gs_max_vert_out::MAX_VERT_OUT, 1),
        (vgt_esgs_ring_itemsize::ITEMSIZE, 1),
        (vgt_gs_instance_cnt::ENABLE, 0),
        (spi_shader_idx_format::IDX0_EXPORT_FORMAT, ONE_COMPONENT),
    ] {
        words.set_known_field(field, value)?;
    }
    words.reserve(VGT_GS_OUT_PRIM_TYPE)
}

/// Whether the hardware loads the instance id: the body reads it, or a prolog may.
pub fn has_instance_id(interface: &StageInterface, vertex: &VertexInterface) -> bool {
    vgpr_comp_cnt(interface, vertex.vgpr_comp_cnt) == INSTANCE_ID
}
