//! The names that metadata 3.0 has for register fields: those of PAL's `g_palPipelineAbiMetadata.h` (docs/hardware.md). A name may
//! be of some bits of a field of [`super::registers`].

use super::registers::*;
use dovetail_base::target::HardwareStage;

/// A field with its name.
pub(super) type NamedField = (&'static str, Field);

/// Fields of a nested map in `.graphics_registers`.
pub(super) struct Group {
    pub name: &'static str,
    /// All of one register.
    pub fields: &'static [NamedField],
}

/// Those of the two registers of pixel inputs.
const fn inputs(of: Field) -> [NamedField; 16] {
    [
        (".persp_sample_ena", of.bits(0, 1)),
        (".persp_center_ena", of.bits(1, 1)),
        (".persp_centroid_ena", of.bits(2, 1)),
        (".persp_pull_model_ena", of.bits(3, 1)),
        (".linear_sample_ena", of.bits(4, 1)),
        (".linear_center_ena", of.bits(5, 1)),
        (".linear_centroid_ena", of.bits(6, 1)),
        (".line_stipple_tex_ena", of.bits(7, 1)),
        (".pos_x_float_ena", of.bits(8, 1)),
        (".pos_y_float_ena", of.bits(9, 1)),
        (".pos_z_float_ena", of.bits(10, 1)),
        (".pos_w_float_ena", of.bits(11, 1)),
        (".front_face_ena", of.bits(12, 1)),
        (".ancillary_ena", of.bits(13, 1)),
        (".sample_coverage_ena", of.bits(14, 1)),
        (".pos_fixed_pt_ena", of.bits(15, 1)),
    ]
}

const STAGES_EN: &str = ".vgt_shader_stages_en";
/// Its fields; only primitive shaders have the last one. The local-shader stage is a boolean: its second bit has no use here.
const ENABLES: &[NamedField] = &[
    (".ls_stage_en", vgt_shader_stages_en::LS_EN.bits(0, 1)),
    (".hs_stage_en", vgt_shader_stages_en::HS_EN),
    (".es_stage_en", vgt_shader_stages_en::ES_EN),
    (".gs_stage_en", vgt_shader_stages_en::GS_EN),
    (".vs_stage_en", vgt_shader_stages_en::VS_EN),
    (".primgen_en", vgt_shader_stages_en::PRIMGEN_EN),
    (".max_primgroup_in_wave", vgt_shader_stages_en::MAX_PRIMGRP_IN_WAVE),
    (".primgen_passthru_no_msg", vgt_shader_stages_en::PRIMGEN_PASSTHRU_NO_MSG),
    (".primgen_passthru_en", vgt_shader_stages_en::PRIMGEN_PASSTHRU_EN),
];

pub(super) const GROUPS: &[Group] = &[
    Group {
        name: ".pa_cl_clip_cntl",
        fields: &[
            (".user_clip_plane0_ena", pa_cl_clip_cntl::UCP_ENA.bits(0, 1)),
            (".user_clip_plane1_ena", pa_cl_clip_cntl::UCP_ENA.bits(1, 1)),
            (".user_clip_plane2_ena", pa_cl_clip_cntl::UCP_ENA.bits(2, 1)),
            (".user_clip_plane3_ena", pa_cl_clip_cntl::UCP_ENA.bits(3, 1)),
            (".user_clip_plane4_ena", pa_cl_clip_cntl::UCP_ENA.bits(4, 1)),
            (".user_clip_plane5_ena", pa_cl_clip_cntl::UCP_ENA.bits(5, 1)),
            (".clip_disable", pa_cl_clip_cntl::CLIP_DISABLE),
            (".rasterization_kill", pa_cl_clip_cntl::DX_RASTERIZATION_KILL),
            (".vte_vport_provoke_disable", pa_cl_clip_cntl::VTE_VPORT_PROVOKE_DISABLE),
            (".dx_linear_attr_clip_ena", pa_cl_clip_cntl::DX_LINEAR_ATTR_CLIP_ENA),
            (".zclip_near_disable", pa_cl_clip_cntl::ZCLIP_NEAR_DISABLE),
            (".zclip_far_disable", pa_cl_clip_cntl::ZCLIP_FAR_DISABLE),
        ],
    },
    Group {
        name: ".pa_cl_vte_cntl",
        fields: &[
            (".x_scale_ena", pa_cl_vte_cntl::VPORT_ENA.bits(0, 1)),
            (".x_offset_ena", pa_cl_vte_cntl::VPORT_ENA.bits(1, 1)),
            (".y_scale_ena", pa_cl_vte_cntl::VPORT_ENA.bits(2, 1)),
            (".y_offset_ena", pa_cl_vte_cntl::VPORT_ENA.bits(3, 1)),
            (".z_scale_ena", pa_cl_vte_cntl::VPORT_ENA.bits(4, 1)),
            (".z_offset_ena", pa_cl_vte_cntl::VPORT_ENA.bits(5, 1)),
            (".vtx_xy_fmt", pa_cl_vte_cntl::VTX_XY_FMT),
            (".vtx_z_fmt", pa_cl_vte_cntl::VTX_Z_FMT),
            (".vtx_w0_fmt", pa_cl_vte_cntl::VTX_W0_FMT),
        ],
    },
    Group {
        name: ".pa_cl_vs_out_cntl",
        fields: &[
            (".clip_dist_ena_0", pa_cl_vs_out_cntl::CLIP_DIST_ENA.bits(0, 1)),
            (".clip_dist_ena_1", pa_cl_vs_out_cntl::CLIP_DIST_ENA.bits(1, 1)),
            (".clip_dist_ena_2", pa_cl_vs_out_cntl::CLIP_DIST_ENA.bits(2, 1)),
            (".clip_dist_ena_3", pa_cl_vs_out_cntl::CLIP_DIST_ENA.bits(3, 1)),
            (".clip_dist_ena_4", pa_cl_vs_out_cntl::CLIP_DIST_ENA.bits(4, 1)),
            (".clip_dist_ena_5", pa_cl_vs_out_cntl::CLIP_DIST_ENA.bits(5, 1)),
            (".clip_dist_ena_6", pa_cl_vs_out_cntl::CLIP_DIST_ENA.bits(6, 1)),
            (".clip_dist_ena_7", pa_cl_vs_out_cntl::CLIP_DIST_ENA.bits(7, 1)),
            (".cull_dist_ena_0", pa_cl_vs_out_cntl::CULL_DIST_ENA.bits(0, 1)),
            (".cull_dist_ena_1", pa_cl_vs_out_cntl::CULL_DIST_ENA.bits(1, 1)),
            (".cull_dist_ena_2", pa_cl_vs_out_cntl::CULL_DIST_ENA.bits(2, 1)),
            (".cull_dist_ena_3", pa_cl_vs_out_cntl::CULL_DIST_ENA.bits(3, 1)),
            (".cull_dist_ena_4", pa_cl_vs_out_cntl::CULL_DIST_ENA.bits(4, 1)),
            (".cull_dist_ena_5", pa_cl_vs_out_cntl::CULL_DIST_ENA.bits(5, 1)),
            (".cull_dist_ena_6", pa_cl_vs_out_cntl::CULL_DIST_ENA.bits(6, 1)),
            (".cull_dist_ena_7", pa_cl_vs_out_cntl::CULL_DIST_ENA.bits(7, 1)),
            (".use_vtx_point_size", pa_cl_vs_out_cntl::USE_VTX_POINT_SIZE),
            (".use_vtx_render_target_indx", pa_cl_vs_out_cntl::USE_VTX_RENDER_TARGET_INDX),
            (".use_vtx_viewport_indx", pa_cl_vs_out_cntl::USE_VTX_VIEWPORT_INDX),
            (".vs_out_misc_vec_ena", pa_cl_vs_out_cntl::VS_OUT_MISC_VEC_ENA),
            (".vs_out_cc_dist0_vec_ena", pa_cl_vs_out_cntl::VS_OUT_CCDIST0_VEC_ENA),
            (".vs_out_cc_dist1_vec_ena", pa_cl_vs_out_cntl::VS_OUT_CCDIST1_VEC_ENA),
            (".vs_out_misc_side_bus_ena", pa_cl_vs_out_cntl::VS_OUT_MISC_SIDE_BUS_ENA),
            (".use_vtx_vrs_rate", pa_cl_vs_out_cntl::USE_VTX_VRS_RATE),
        ],
    },
    Group {
        name: ".pa_su_vtx_cntl",
        fields: &[
            (".pix_center", pa_su_vtx_cntl::PIX_CENTER),
            (".round_mode", pa_su_vtx_cntl::ROUND_MODE),
            (".quant_mode", pa_su_vtx_cntl::QUANT_MODE),
        ],
    },
    Group {
        name: STAGES_EN,
        fields: match ENABLES.split_last() {
            Some((_, all)) => all,
            None => &[],
        },
    },
    Group { name: ".ia_multi_vgt_param", fields: &[(".primgroup_size", ia_multi_vgt_param::PRIMGROUP_SIZE)] },
    Group {
        name: ".spi_vs_out_config",
        fields: &[
            (".vs_export_count", spi_vs_out_config::VS_EXPORT_COUNT),
            (".no_pc_export", spi_vs_out_config::NO_PC_EXPORT),
            (".prim_export_count", spi_vs_out_config::PRIM_EXPORT_COUNT),
        ],
    },
    Group {
        name: ".cb_shader_mask",
        fields: &[
            (".output0_enable", cb_shader_mask::ALL.bits(0, 4)),
            (".output1_enable", cb_shader_mask::ALL.bits(4, 4)),
            (".output2_enable", cb_shader_mask::ALL.bits(8, 4)),
            (".output3_enable", cb_shader_mask::ALL.bits(12, 4)),
            (".output4_enable", cb_shader_mask::ALL.bits(16, 4)),
            (".output5_enable", cb_shader_mask::ALL.bits(20, 4)),
            (".output6_enable", cb_shader_mask::ALL.bits(24, 4)),
            (".output7_enable", cb_shader_mask::ALL.bits(28, 4)),
        ],
    },
    Group {
        name: ".spi_shader_col_format",
        fields: &[
            (".col_0_export_format", spi_shader_col_format::ALL.bits(0, 4)),
            (".col_1_export_format", spi_shader_col_format::ALL.bits(4, 4)),
            (".col_2_export_format", spi_shader_col_format::ALL.bits(8, 4)),
            (".col_3_export_format", spi_shader_col_format::ALL.bits(12, 4)),
            (".col_4_export_format", spi_shader_col_format::ALL.bits(16, 4)),
            (".col_5_export_format", spi_shader_col_format::ALL.bits(20, 4)),
            (".col_6_export_format", spi_shader_col_format::ALL.bits(24, 4)),
            (".col_7_export_format", spi_shader_col_format::ALL.bits(28, 4)),
        ],
    },
    Group {
        name: ".db_shader_control",
        fields: &[
            (".z_export_enable", db_shader_control::Z_EXPORT_ENABLE),
            (".stencil_test_val_export_enable", db_shader_control::STENCIL_TEST_VAL_EXPORT),
            (".stencil_op_val_export_enable", db_shader_control::STENCIL_OP_VAL_EXPORT),
            (".z_order", db_shader_control::Z_ORDER),
            (".kill_enable", db_shader_control::KILL_ENABLE),
            (".coverage_to_mask_en", db_shader_control::COVERAGE_TO_MASK),
            (".mask_export_enable", db_shader_control::MASK_EXPORT_ENABLE),
            (".exec_on_hier_fail", db_shader_control::EXEC_ON_HIER_FAIL),
            (".exec_on_noop", db_shader_control::EXEC_ON_NOOP),
            (".alpha_to_mask_disable", db_shader_control::ALPHA_TO_MASK_DISABLE),
            (".depth_before_shader", db_shader_control::DEPTH_BEFORE_SHADER),
            (".conservative_z_export", db_shader_control::CONSERVATIVE_Z_EXPORT),
            (".primitive_ordered_pixel_shader", db_shader_control::PRIMITIVE_ORDERED_PIXEL_SHADER),
            (".pre_shader_depth_coverage_enable", db_shader_control::PRE_SHADER_DEPTH_COVERAGE_ENABLE),
        ],
    },
    Group {
        name: ".spi_ps_in_control",
        fields: &[
            (".num_interps", spi_ps_in_control::NUM_INTERP),
            (".param_gen", spi_ps_in_control::PARAM_GEN),
            (".offchip_param_en", spi_ps_in_control::OFFCHIP_PARAM_EN),
            (".late_pc_dealloc", spi_ps_in_control::LATE_PC_DEALLOC),
            (".num_prim_interp", spi_ps_in_control::NUM_PRIM_INTERP),
            (".bc_optimize_disable", spi_ps_in_control::BC_OPTIMIZE_DISABLE),
        ],
    },
    Group {
        name: ".pa_sc_shader_control",
        fields: &[(".wave_break_region_size", pa_sc_shader_control::WAVE_BREAK_REGION_SIZE)],
    },
    Group {
        name: ".spi_baryc_cntl",
        fields: &[
            (".pos_float_location", spi_baryc_cntl::POS_FLOAT_LOCATION),
            (".front_face_all_bits", spi_baryc_cntl::FRONT_FACE_ALL_BITS),
        ],
    },
    Group { name: ".spi_ps_input_ena", fields: &inputs(spi_ps_input_ena::ENA) },
    Group { name: ".spi_ps_input_addr", fields: &inputs(spi_ps_input_addr::ENA) },
];

/// Of primitive shaders, in addition to [`GROUPS`], or in place of one of the same name.
pub(super) const NGG_GROUPS: &[Group] = &[
    Group { name: STAGES_EN, fields: ENABLES },
    Group {
        name: ".vgt_gs_mode",
        fields: &[
            (".mode", vgt_gs_mode::MODE),
            (".es_write_optimize", vgt_gs_mode::ES_WRITE_OPTIMIZE),
            (".gs_write_optimize", vgt_gs_mode::GS_WRITE_OPTIMIZE),
            (".onchip", vgt_gs_mode::ONCHIP),
        ],
    },
    Group {
        name: ".vgt_gs_onchip_cntl",
        fields: &[
            (".es_verts_per_subgroup", vgt_gs_onchip_cntl::ES_VERTS_PER_SUBGRP),
            (".gs_prims_per_subgroup", vgt_gs_onchip_cntl::GS_PRIMS_PER_SUBGRP),
            (".gs_inst_prims_per_subgrp", vgt_gs_onchip_cntl::GS_INST_PRIMS_IN_SUBGRP),
        ],
    },
    Group {
        name: ".ge_ngg_subgrp_cntl",
        fields: &[
            (".prim_amp_factor", ge_ngg_subgrp_cntl::PRIM_AMP_FACTOR),
            (".threads_per_subgroup", ge_ngg_subgrp_cntl::THDS_PER_SUBGRP),
        ],
    },
    Group {
        name: ".vgt_gs_instance_cnt",
        fields: &[
            (".enable", vgt_gs_instance_cnt::ENABLE),
            (".count", vgt_gs_instance_cnt::CNT),
            (".en_max_vert_out_per_gs_instance", vgt_gs_instance_cnt::EN_MAX_VERT_OUT_PER_GS_INSTANCE),
        ],
    },
];
/// Of primitive shaders, directly in `.graphics_registers`.
pub(super) const NGG_SCALARS: &[NamedField] = &[
    (".gs_vgpr_comp_cnt", rsrc1_gs::GS_VGPR_COMP_CNT),
    (".es_vgpr_comp_cnt", rsrc2_gs::ES_VGPR_COMP_CNT),
    (".vgt_gs_max_vert_out", vgt_gs_max_vert_out::MAX_VERT_OUT),
    (".vgt_esgs_ring_itemsize", vgt_esgs_ring_itemsize::ITEMSIZE),
    (".max_verts_per_subgroup", ge_max_output_per_subgroup::MAX_VERTS_PER_SUBGROUP),
    (".spi_shader_idx_format", spi_shader_idx_format::IDX0_EXPORT_FORMAT),
];
/// `.vgt_gs_out_prim_type`, whose field is an enumerator name.
pub(super) const PRIMITIVE: &str = ".vgt_gs_out_prim_type";
pub(super) const PRIMITIVE_TYPE: NamedField = (".outprim_type", vgt_gs_out_prim_type::OUTPRIM_TYPE);
pub(super) const PRIMITIVE_TYPES: [&str; 3] = ["PointList", "LineStrip", "TriStrip"];

/// `.spi_interp_control`, whose selectors are enumerator names.
pub(super) const SPRITE: &str = ".spi_interp_control";
pub(super) const SPRITE_ENA: NamedField = (".point_sprite_ena", spi_interp_control::PNT_SPRITE_ENA);
pub(super) const SPRITE_SELECTORS: [NamedField; 4] = [
    (".point_sprite_override_x", spi_interp_control::OVRD_X),
    (".point_sprite_override_y", spi_interp_control::OVRD_Y),
    (".point_sprite_override_z", spi_interp_control::OVRD_Z),
    (".point_sprite_override_w", spi_interp_control::OVRD_W),
];
pub(super) const SELECTED: [&str; 5] = ["Zero", "One", "S", "T", "None"];
/// `.aa_coverage_to_shader_select`.
pub(super) const COVERAGE: NamedField = (".aa_coverage_to_shader_select", pa_sc_aa_config::COVERAGE_TO_SHADER_SELECT);
pub(super) const COVERAGES: [&str; 4] = ["InputCoverage", "InputInnerCoverage", "InputDepthCoverage", "Raw"];

/// The fields of an item of `.spi_ps_input_cntl`.
pub(super) const ATTRIBUTE: &[NamedField] = &[
    (".offset", spi_ps_input_cntl::OFFSET),
    (".default_val", spi_ps_input_cntl::DEFAULT_VAL),
    (".flat_shade", spi_ps_input_cntl::FLAT_SHADE),
    (".rotate_pc_ptr", spi_ps_input_cntl::ROTATE_PC_PTR),
    (".prim_attr", spi_ps_input_cntl::PRIM_ATTR),
    (".pt_sprite_tex", spi_ps_input_cntl::PT_SPRITE_TEX),
    (".fp16_interp_mode", spi_ps_input_cntl::FP16_INTERP_MODE),
    (".attr0_valid", spi_ps_input_cntl::ATTR0_VALID),
    (".attr1_valid", spi_ps_input_cntl::ATTR1_VALID),
];

/// Fields directly in `.graphics_registers`.
pub(super) const SCALARS: &[NamedField] = &[
    (".vs_vgpr_comp_cnt", rsrc1_vs::VGPR_COMP_CNT),
    (".vs_streamout_en", rsrc2_vs::SO_EN),
    (".ps_load_provoking_vtx", rsrc1_ps::LOAD_PROVOKING_VTX),
    (".ps_wave_cnt_en", rsrc2_ps::WAVE_CNT_EN),
    (".ps_iter_sample", pa_sc_mode_cntl_1::PS_ITER_SAMPLE),
    (".vgt_reuse_off", vgt_reuse_off::REUSE_OFF),
    (".vgt_primitive_id_en", vgt_primitiveid_en::PRIMITIVEID_EN),
    (".spi_shader_z_format", spi_shader_z_format::Z_EXPORT_FORMAT),
];

/// `.compute_registers`.
pub(super) const COMPUTE: &[NamedField] = &[
    (".tgid_x_en", compute_pgm_rsrc2::TGID_X_EN),
    (".tgid_y_en", compute_pgm_rsrc2::TGID_Y_EN),
    (".tgid_z_en", compute_pgm_rsrc2::TGID_Z_EN),
    (".tg_size_en", compute_pgm_rsrc2::TG_SIZE_EN),
    (".tidig_comp_cnt", compute_pgm_rsrc2::TIDIG_COMP_CNT),
];

/// Fields in the map of a hardware stage, from its own registers.
pub(super) fn stage_fields(stage: HardwareStage) -> &'static [NamedField] {
    match stage {
        HardwareStage::Hs => &[],
        HardwareStage::Gs => &[
            (".float_mode", rsrc1_gs::FLOAT_MODE),
            (".ieee_mode", rsrc1_gs::IEEE_MODE),
            (".wgp_mode", rsrc1_gs::WGP_MODE),
            (".mem_ordered", rsrc1_gs::MEM_ORDERED),
            (".forward_progress", rsrc1_gs::FWD_PROGRESS),
            (".fp16_overflow", rsrc1_gs::FP16_OVFL),
            (".scratch_en", rsrc2_gs::SCRATCH_EN),
            (".trap_present", rsrc2_gs::TRAP_PRESENT),
            (".offchip_lds_en", rsrc2_gs::OC_LDS_EN),
            (".excp_en", rsrc2_gs::EXCP_EN),
            (".shared_vgpr_cnt", rsrc2_gs::SHARED_VGPR_CNT),
        ],
        HardwareStage::Vs => &[
            (".float_mode", rsrc1_vs::FLOAT_MODE),
            (".ieee_mode", rsrc1_vs::IEEE_MODE),
            (".mem_ordered", rsrc1_vs::MEM_ORDERED),
            (".forward_progress", rsrc1_vs::FWD_PROGRESS),
            (".fp16_overflow", rsrc1_vs::FP16_OVFL),
            (".scratch_en", rsrc2_vs::SCRATCH_EN),
            (".trap_present", rsrc2_vs::TRAP_PRESENT),
            (".offchip_lds_en", rsrc2_vs::OC_LDS_EN),
            (".excp_en", rsrc2_vs::EXCP_EN),
            (".shared_vgpr_cnt", rsrc2_vs::SHARED_VGPR_CNT),
        ],
        HardwareStage::Ps => &[
            (".float_mode", rsrc1_ps::FLOAT_MODE),
            (".ieee_mode", rsrc1_ps::IEEE_MODE),
            (".mem_ordered", rsrc1_ps::MEM_ORDERED),
            (".forward_progress", rsrc1_ps::FWD_PROGRESS),
            (".fp16_overflow", rsrc1_ps::FP16_OVFL),
            (".scratch_en", rsrc2_ps::SCRATCH_EN),
            (".trap_present", rsrc2_ps::TRAP_PRESENT),
            (".excp_en", rsrc2_ps::EXCP_EN),
            (".shared_vgpr_cnt", rsrc2_ps::SHARED_VGPR_CNT),
        ],
        HardwareStage::Cs => &[
            (".float_mode", compute_pgm_rsrc1::FLOAT_MODE),
            (".ieee_mode", compute_pgm_rsrc1::IEEE_MODE),
            (".fp16_overflow", compute_pgm_rsrc1::FP16_OVFL),
            (".wgp_mode", compute_pgm_rsrc1::WGP_MODE),
            (".mem_ordered", compute_pgm_rsrc1::MEM_ORDERED),
            (".forward_progress", compute_pgm_rsrc1::FWD_PROGRESS),
            (".scratch_en", compute_pgm_rsrc2::SCRATCH_EN),
            (".trap_present", compute_pgm_rsrc2::TRAP_PRESENT),
            (".excp_en", compute_pgm_rsrc2::EXCP_EN),
            (".shared_vgpr_cnt", compute_pgm_rsrc3::SHARED_VGPR_CNT),
        ],
    }
}
