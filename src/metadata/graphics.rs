//! The registers of a vertex and a fragment stage: those that follow from their interfaces, computed once per part, and
//! those that follow from the state, computed at each link (pal-abi 6.1, 6.3, 9).
//!
//! All of them are written, even if they are 0, because PAL reads a fixed list of registers without checking that they
//! are present.

use super::facts::PipelineFacts;
use super::final_registers::{FinalRegisters, ReadyRegisters};
use super::interface::{
    ExportedFormats, FragmentInterface, PositionExports, PreRasterizationInterface, Semantic, StageInterface,
    VertexInterface,
};
use super::ngg;
use super::notes::Notes;
use super::part_notes::vgpr_comp_cnt;
use super::registers::*;
use super::schema::MetadataKey;
use dovetail_base::error::{Error, FullCompile, Result};
use dovetail_base::kinds::DepthMode;
use dovetail_base::target::{Gpu, HardwareStage};
use dovetail_state::ColorState;

/// `SPI_SHADER_POS_FORMAT` of one vector.
const FOUR_COMPONENTS: u32 = 4;
/// `PA_STEREO_CNTL.STEREO_MODE`: the shader outputs nothing stereoscopic. Without it, PAL of 2022 programs 0, which is
/// SHADER_STEREO_X; PAL of 2025 writes the register itself.
const STATE_STEREO_X: u32 = 1;
/// Sample coverage in SPI_PS_INPUT_ENA.
const SAMPLE_COVERAGE_ENA: u32 = 1 << 14;
/// `DB_SHADER_CONTROL.Z_ORDER`.
const LATE_Z: u32 = 0;
const EARLY_Z_THEN_LATE_Z: u32 = 1;

/// Number of `SPI_PS_INPUT_CNTL` words.
const MAX_ATTRIBUTES: usize = 32;

/// `PA_SC_AA_CONFIG.COVERAGE_TO_SHADER_SELECT`: inner coverage, only pixels that the primitive covers fully.
const INNER_COVERAGE: u32 = 1;

/// Registers and counts that depend on a vertex part alone.
pub(super) fn vertex_part(
    part: &mut Notes,
    hardware: HardwareStage,
    interface: &StageInterface,
    vertex: &VertexInterface,
) -> Result<()> {
    let words = &mut part.registers;
    let positions = &vertex.pre_rasterization.positions;
    if hardware.runs_primitives() {
        ngg::registers(words, interface, vertex)?;
    } else {
        words.set_field(rsrc1_vs::VGPR_COMP_CNT, vgpr_comp_cnt(interface, vertex.vgpr_comp_cnt))?;
        words.set(VGT_GS_ONCHIP_CNTL, 0)?;
    }
    words.set_field(vgt_shader_stages_en::MAX_PRIMGRP_IN_WAVE, 2)?;
    words.set(VGT_PRIMITIVEID_EN, u32::from(vertex.uses_primitive_id))?;
    words.set(VGT_REUSE_OFF, u32::from(positions.viewport_index))?;
    words.set_known(VGT_STRMOUT_CONFIG, 0)?;
    words.set_known(VGT_STRMOUT_BUFFER_CONFIG, 0)?;
    words.set_known_field(ia_multi_vgt_param::PRIMGROUP_SIZE, 127)?;
    words.reserve(SPI_VS_OUT_CONFIG)?;
    words.set(PA_STEREO_CNTL, 0)?;
    words.set_field(pa_stereo_cntl::STEREO_MODE, STATE_STEREO_X)?;

    let vectors = [
        spi_shader_pos_format::POS0,
        spi_shader_pos_format::POS1,
        spi_shader_pos_format::POS2,
        spi_shader_pos_format::POS3,
    ];
    if !(1..=4).contains(&positions.count) {
        return Err(Error::malformed(format!("{} position exports", positions.count)));
    }
    words.set(SPI_SHADER_POS_FORMAT, 0)?;
    for field in vectors.into_iter().take(positions.count as usize) {
        words.set_field(field, FOUR_COMPONENTS)?;
    }
    out_control(words, positions)?;
    rasterizer(words, positions)?;
    if positions.viewport_index {
        part.pipeline.insert(MetadataKey::UsesViewportArrayIndex, 1);
    }
    if vertex.uses_primitive_id {
        part.stage.insert(MetadataKey::UsesPrimId, 1);
    }
    Ok(())
}

/// Adds to the last part before the rasterizer what depends on the state and the other stage.
pub(super) fn pre_rasterization(
    words: &mut FinalRegisters<'_>,
    target: Gpu,
    hardware: HardwareStage,
    last: &PreRasterizationInterface,
    facts: &PipelineFacts<'_>,
) -> Result<()> {
    if facts.state.view_mask != 0 && !last.multiview {
        // Without this, every view would be drawn to the first layer.
        return Err(Error::needs_full(FullCompile::State { item: "view_mask".into() }));
    }
    let slots = facts.slots.max(last.exported_params);
    let family = words.family();
    if hardware.runs_primitives() {
        words.set_field(vgt_gs_out_prim_type::OUTPRIM_TYPE, facts.state.raster.primitive.number())?;
    }
    if slots > spi_vs_out_config::VS_EXPORT_COUNT.max(family) + 1 {
        return Err(Error::malformed(format!("{slots} parameter slots")));
    }
    let count = spi_vs_out_config::VS_EXPORT_COUNT.put(family, 0, slots.saturating_sub(1))?;
    let none = u32::from(slots == 0 && facts.primitive_slots == 0);
    words.set(SPI_VS_OUT_CONFIG, spi_vs_out_config::NO_PC_EXPORT.put(family, count, none)?)?;
    if facts.primitive_slots > 0 {
        words.set_field(spi_vs_out_config::PRIM_EXPORT_COUNT, facts.primitive_slots)?;
        words.set_field(rsrc1_gs::GS_VGPR_COMP_CNT, target.facts().primitive_entry.primitive_id_count())?;
    }
    let raster = &facts.state.raster;
    if u32::from(raster.clip_plane_mask) > pa_cl_clip_cntl::UCP_ENA.max(family) {
        return Err(Error::malformed(format!("clip plane mask {:#x}: there are six planes", raster.clip_plane_mask)));
    }
    words.set_fields([
        (pa_cl_clip_cntl::UCP_ENA, u32::from(raster.clip_plane_mask)),
        (pa_cl_clip_cntl::DX_RASTERIZATION_KILL, u32::from(raster.discard)),
    ])?;
    let coverage = if raster.inner_coverage { INNER_COVERAGE } else { 0 };
    words.set_field(pa_sc_aa_config::COVERAGE_TO_SHADER_SELECT, coverage)
}

/// PA_CL_VS_OUT_CNTL: contents of the position vectors after the first.
fn out_control(words: &mut RegisterWords, positions: &PositionExports) -> Result<()> {
    use pa_cl_vs_out_cntl as f;
    let (clips, culls) = (u32::from(positions.clip_distances), u32::from(positions.cull_distances));
    let distances = clips + culls;
    if distances > 8 {
        return Err(Error::malformed(format!("{clips} clip and {culls} cull distances")));
    }
    let misc = positions.has_misc();
    let below = |n: u32| (1u32 << n) - 1;
    words.set(PA_CL_VS_OUT_CNTL, 0)?;
    for (field, value) in [
        (f::USE_VTX_POINT_SIZE, u32::from(positions.point_size)),
        (f::USE_VTX_RENDER_TARGET_INDX, u32::from(positions.layer)),
        (f::USE_VTX_VIEWPORT_INDX, u32::from(positions.viewport_index)),
        (f::USE_VTX_VRS_RATE, u32::from(positions.shading_rate)),
        (f::VS_OUT_MISC_VEC_ENA, u32::from(misc)),
        // On gfx10.3 distances also use the side bus.
        (f::VS_OUT_MISC_SIDE_BUS_ENA, u32::from(misc || distances > 0)),
        (f::VS_OUT_CCDIST0_VEC_ENA, u32::from(distances > 0)),
        (f::VS_OUT_CCDIST1_VEC_ENA, u32::from(distances > 4)),
        (f::CLIP_DIST_ENA, below(clips)),
        // Cull distances come after the clip distances; a point is also culled by the latter.
        (f::CULL_DIST_ENA, below(distances)),
    ] {
        words.set_field(field, value)?;
    }
    Ok(())
}

fn rasterizer(words: &mut RegisterWords, positions: &PositionExports) -> Result<()> {
    use pa_sc_mode_cntl_1 as mode;
    words.set_field(pa_cl_clip_cntl::DX_LINEAR_ATTR_CLIP_ENA, 1)?;
    words.set_field(pa_cl_clip_cntl::VTE_VPORT_PROVOKE_DISABLE, u32::from(positions.viewport_index))?;
    words.set_field(pa_cl_vte_cntl::VPORT_ENA, pa_cl_vte_cntl::VPORT_ENA.max(words.family()))?;
    words.set_field(pa_cl_vte_cntl::VTX_W0_FMT, 1)?;
    words.set(PA_SU_VTX_CNTL, 0)?;
    words.set_field(pa_su_vtx_cntl::PIX_CENTER, 1)?;
    // Round to even, in 1/256 of a pixel.
    words.set_field(pa_su_vtx_cntl::ROUND_MODE, 2)?;
    words.set_field(pa_su_vtx_cntl::QUANT_MODE, 5)?;
    for field in [
        mode::WALK_ALIGN8_PRIM_FITS_ST,
        mode::WALK_FENCE_ENABLE,
        mode::SUPERTILE_WALK_ORDER_ENABLE,
        mode::TILE_WALK_ORDER_ENABLE,
        mode::MULTI_SHADER_ENGINE_PRIM_DISCARD,
        mode::FORCE_EOV_CNTDWN,
        mode::FORCE_EOV_REZ,
    ] {
        words.set_field(field, 1)?;
    }
    words.set(PA_SC_SHADER_CONTROL, 0)?;
    words.set(PA_SC_AA_CONFIG, 0)?;
    Ok(())
}

/// Registers and counts that depend on a fragment part alone.
pub(super) fn fragment_part(part: &mut Notes, interface: &StageInterface, fragment: &FragmentInterface) -> Result<()> {
    let words = &mut part.registers;
    let (ena, addr) = (words.get(SPI_PS_INPUT_ENA).unwrap_or(0), words.get(SPI_PS_INPUT_ADDR).unwrap_or(0));
    // A pixel wave cannot start without a pair of barycentrics; ENA must be a subset of ADDR, which determines the
    // register layout.
    if ena & 0x7f == 0 || ena & !addr != 0 || addr & !spi_ps_input_addr::ENA.mask(words.family()) != 0 {
        return Err(Error::malformed(format!("SPI_PS_INPUT_ENA {ena:#x}, SPI_PS_INPUT_ADDR {addr:#x}")));
    }
    // Entry SGPRs after the user data: the primitive mask, and the provoking vertices of the quads.
    let system = interface.entry_sgprs.saturating_sub(interface.user_data.len() as u32);
    if !(1..=2).contains(&system) {
        return Err(Error::malformed(format!(
            "{system} SGPRs after the user data, not a primitive mask and provoking vertices"
        )));
    }
    words.set_field(rsrc1_ps::LOAD_PROVOKING_VTX, system - 1)?;
    words.set(SPI_BARYC_CNTL, 0)?;
    words.set_field(spi_baryc_cntl::FRONT_FACE_ALL_BITS, 1)?;
    words.set_field(spi_baryc_cntl::POS_FLOAT_ULC, u32::from(fragment.pixel_center_integer))?;
    depth_control(words, interface, fragment)?;
    // One for each attribute, and one if there are none. A link refuses more than the rasterizer has.
    let attributes = fragment.inputs.len().min(MAX_ATTRIBUTES) as u32;
    (0..attributes.max(1)).try_for_each(|n| words.reserve(SPI_PS_INPUT_CNTL.nth(n)))?;
    // From gfx11 on the count has attributes of primitives too, and their own count is 0 (LLPC, `RegisterMetadataBuilder`).
    words.set_field(spi_ps_in_control::NUM_INTERP, attributes)?;
    if fragment.inputs.iter().any(|input| input.semantic == Semantic::PointCoord) {
        // Sprite coordinates: S, T, 0, 1.
        for (field, value) in [
            (spi_interp_control::PNT_SPRITE_ENA, 1),
            (spi_interp_control::OVRD_X, 2),
            (spi_interp_control::OVRD_Y, 3),
            (spi_interp_control::OVRD_Z, 0),
            (spi_interp_control::OVRD_W, 1),
        ] {
            words.set_field(field, value)?;
        }
    }
    for register in [SPI_SHADER_COL_FORMAT, CB_SHADER_MASK, SPI_SHADER_Z_FORMAT] {
        words.reserve(register)?;
    }

    if fragment.writes_sample_mask || ena & SAMPLE_COVERAGE_ENA != 0 {
        // The driver then shades each pixel, whatever the shading rate.
        part.pipeline.insert(MetadataKey::PsSampleMask, 1);
    }
    for (key, holds) in [
        (MetadataKey::UsesUavs, interface.uses_storage()),
        (MetadataKey::WritesUavs, interface.writes_memory),
        (MetadataKey::WritesDepth, fragment.writes_depth),
    ] {
        if holds {
            part.stage.insert(key, 1);
        }
    }
    Ok(())
}

/// Adds to a fragment part what depends on the state of its colours.
pub(super) fn fragment_colors(
    words: &mut ReadyRegisters<'_>,
    fragment: &FragmentInterface,
    color: &ColorState,
    formats: ExportedFormats,
) -> Result<()> {
    if color.shades_samples() && fragment.per_pixel {
        return Err(Error::needs_full(FullCompile::State { item: "color.sample_shading".into() }));
    }
    let location = if per_sample(fragment, color) && !fragment.pixel_center_integer { 2 } else { 0 };
    words.set_field(spi_baryc_cntl::POS_FLOAT_LOCATION, location)?;
    words.set(SPI_SHADER_COL_FORMAT, formats.col_format);
    words.set(CB_SHADER_MASK, formats.cb_mask);
    words.set(SPI_SHADER_Z_FORMAT, formats.z_format);
    // Together with a sample mask from the shader, too: Vulkan ("Multisample Coverage") combines both, as RADV does, which
    // never disables it for a mask, and LLPC since it links colour exports (`PalMetadata::finalizePipeline`); it used to.
    words.set_field(db_shader_control::ALPHA_TO_MASK_DISABLE, u32::from(!color.alpha_to_coverage))
}

fn per_sample(fragment: &FragmentInterface, color: &ColorState) -> bool {
    fragment.per_sample || color.shades_samples()
}

/// Adds to a fragment stage what depends on the other stage, and to the vertex stage's registers what it decides there.
pub(super) fn fragment(
    words: &mut FinalRegisters<'_>,
    fragment: &FragmentInterface,
    facts: &PipelineFacts<'_>,
) -> Result<()> {
    words.set_controls(facts.controls.ok_or_else(|| Error::bug("a fragment stage without attributes"))?);
    words.set_field(pa_sc_mode_cntl_1::PS_ITER_SAMPLE, u32::from(per_sample(fragment, &facts.state.color)))?;
    if fragment.fully_covered {
        words.set_field(pa_sc_aa_config::COVERAGE_TO_SHADER_SELECT, INNER_COVERAGE)?;
    }
    Ok(())
}

/// DB_SHADER_CONTROL: the time of the depth test, and the shader's declarations about depth.
fn depth_control(words: &mut RegisterWords, interface: &StageInterface, fragment: &FragmentInterface) -> Result<()> {
    use db_shader_control as f;
    let early = fragment.early_fragment_tests;
    let writes = interface.writes_memory;
    // Memory writes also happen where the depth test fails, unless the shader declares early tests; so test late.
    let late = writes && !early;
    let conservative = match fragment.depth_mode {
        DepthMode::Any | DepthMode::Unchanged => 0,
        DepthMode::Less => 1,
        DepthMode::Greater => 2,
    };
    words.set(DB_SHADER_CONTROL, 0)?;
    for (field, value) in [
        (f::Z_EXPORT_ENABLE, u32::from(fragment.writes_depth)),
        (f::STENCIL_TEST_VAL_EXPORT, u32::from(fragment.writes_stencil)),
        (f::MASK_EXPORT_ENABLE, u32::from(fragment.writes_sample_mask)),
        (f::Z_ORDER, if late { LATE_Z } else { EARLY_Z_THEN_LATE_Z }),
        (f::EXEC_ON_HIER_FAIL, u32::from(late)),
        (f::EXEC_ON_NOOP, u32::from(early && writes)),
        (f::DEPTH_BEFORE_SHADER, u32::from(early)),
        (f::KILL_ENABLE, u32::from(fragment.kills)),
        (f::CONSERVATIVE_Z_EXPORT, conservative),
        (f::PRE_SHADER_DEPTH_COVERAGE_ENABLE, u32::from(fragment.post_depth_coverage)),
    ] {
        words.set_field(field, value)?;
    }
    Ok(())
}
