//! The table of register words of a pipeline ELF and their bit fields, by family: defined once for both writers, the checks
//! and the tools (pal-abi 6.1, 6.2; numbers and fields from Mesa's register data base). Only this table knows the number of
//! a register and the place of a field ([`super::register`] looks them up).
//!
//! A row is `module NAME [number] * count owner merge { FIELD low width … }`, with `* count` for a range of equal registers.
//! The brackets have a number for each family, in the order of [`dovetail_base::target::Family`], or `-` where the family has no such
//! register; or one number, which is then that of every family. A field without brackets is in the same place in every family that has the register; one with brackets has a
//! place for each family, or `-`: `FIELD [low width, -]`.
//!
//! The rows are in the order of their numbers in the first family that has them: the order of the words in an ELF. A new
//! register is a row; a new family is a column in the brackets of all rows, and in those of the fields that it has elsewhere.

pub use super::register::{Field, HardwareRegister, RegisterInfo};
use super::register::{by_family, first_place, placed};
pub use super::register_words::RegisterWords;
use super::schema::{MergeRule, Owner};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::HardwareStage;

macro_rules! number {
    (-) => {
        None
    };
    ($number:literal) => {
        Some($number)
    };
}

macro_rules! place {
    (-) => {
        None
    };
    ($low:literal $width:literal) => {
        Some($crate::register::FieldPlace { low: $low, width: $width })
    };
}

macro_rules! places {
    ([$($low:tt $($width:literal)?),*]) => {
        [$(place!($low $($width)?)),*]
    };
    ($low:literal $width:literal) => {
        [place!($low $width); dovetail_base::target::Family::COUNT]
    };
}

macro_rules! registers {
    ($($module:ident $name:ident [$($number:tt),*] $(* $count:literal)? $owner:ident $merge:ident {
        $($field:ident $low:tt $($width:literal)?)*
    })*) => {
        /// The number of each row.
        #[allow(non_camel_case_types, reason = "the names are the hardware's own")]
        enum Row { $($name),* }
        /// By row: the number of registers in the range.
        const COUNTS: &[u8] = &[$(1 $(+ $count - 1)?),*];
        $(
            #[allow(missing_docs, reason = "the names are the hardware's own")]
            pub const $name: HardwareRegister = first_place(COUNTS, Row::$name as usize);
            #[allow(missing_docs, reason = "the names are the hardware's own")]
            pub mod $module {
                use super::Field;
                #[allow(dead_code, reason = "some ranges have no fields")]
                const NUMBERS: &[Option<u16>] = &[$(number!($number)),*];
                $(pub const $field: Field =
                    Field::new(super::$name, stringify!($field), super::placed(places!($low $($width)?), NUMBERS));)*
                pub(super) const FIELDS: &[Field] = &[$($field),*];
            }
        )*
        /// Every register, in the order of the numbers of the first family that has it.
        pub const TABLE: &[RegisterInfo] = &[$(RegisterInfo {
            first: $name,
            count: COUNTS[Row::$name as usize] as u32,
            name: stringify!($name),
            numbers: by_family(&[$(number!($number)),*]),
            merge: MergeRule::$merge,
            owner: Owner::$owner,
            fields: $module::FIELDS,
        }),*];
    };
}

// Owner `Code`: the code generator writes it, and the link adds fields. `Link`: only the link writes it.
//
// gfx12's driver takes names only (metadata 3.0). The words of that family are those that the names are made of: a register or a
// field that its hardware lacks, or has elsewhere (the counts of SPI_PS_IN_CONTROL are in SPI_SHADER_GS_OUT_CONFIG_PS, with all
// of SPI_VS_OUT_CONFIG), keeps gfx11's place if a name is made of it.
//
// There is no VGT_GS_ONCHIP_CNTL from gfx11 on, but PAL takes the sizes of groups from it (`InitGeCntl`).
registers! {
    spi_shader_pgm_chksum_ps SPI_SHADER_PGM_CHKSUM_PS [0x2C06, 0x2C06, 0x2C06, 0x2C05] Link Same { ALL 0 32 }
    rsrc1_ps SPI_SHADER_PGM_RSRC1_PS [0x2C0A] Code Same { VGPRS 0 6 SGPRS 6 4 FLOAT_MODE 12 8 DX10_CLAMP [21 1, 21 1, 21 1, -]
        IEEE_MODE [23 1, 23 1, 23 1, -] CU_GROUP_DISABLE 24 1 MEM_ORDERED 25 1 FWD_PROGRESS 26 1 LOAD_PROVOKING_VTX [-, 27 1, 27 1, 27 1]
        FP16_OVFL 29 1 }
    rsrc2_ps SPI_SHADER_PGM_RSRC2_PS [0x2C0B] Code Same { SCRATCH_EN 0 1 USER_SGPR 1 5 TRAP_PRESENT 6 1
        WAVE_CNT_EN 7 1 EXTRA_LDS_SIZE 8 8 EXCP_EN 16 9 LOAD_COLLISION_WAVEID 25 1 LOAD_INTRAWAVE_COLLISION 26 1
        USER_SGPR_MSB 27 1 SHARED_VGPR_CNT 28 4 }
    user_data_ps SPI_SHADER_USER_DATA_PS [0x2C0C] * 32 Link Same {}
    spi_shader_pgm_chksum_vs SPI_SHADER_PGM_CHKSUM_VS [0x2C45, 0x2C45, -, -] Link Same { ALL 0 32 }
    rsrc1_vs SPI_SHADER_PGM_RSRC1_VS [0x2C4A, 0x2C4A, -, -] Code Same { VGPRS 0 6 SGPRS 6 4 FLOAT_MODE 12 8
        DX10_CLAMP [21 1, 21 1, 21 1, -] IEEE_MODE [23 1, 23 1, 23 1, -] VGPR_COMP_CNT 24 2 CU_GROUP_ENABLE 26 1 MEM_ORDERED 27 1 FWD_PROGRESS 28 1
        FP16_OVFL 31 1 }
    rsrc2_vs SPI_SHADER_PGM_RSRC2_VS [0x2C4B, 0x2C4B, -, -] Code Same { SCRATCH_EN 0 1 USER_SGPR 1 5 TRAP_PRESENT 6 1
        OC_LDS_EN 7 1 SO_EN 12 1 EXCP_EN 13 9 USER_SGPR_MSB 27 1 SHARED_VGPR_CNT 28 4 }
    user_data_vs SPI_SHADER_USER_DATA_VS [0x2C4C, 0x2C4C, -, -] * 32 Link Same {}
    spi_shader_pgm_chksum_gs SPI_SHADER_PGM_CHKSUM_GS [0x2C80] Link Same { ALL 0 32 }
    rsrc1_gs SPI_SHADER_PGM_RSRC1_GS [0x2C8A] Code Same { VGPRS 0 6 SGPRS 6 4 FLOAT_MODE 12 8 DX10_CLAMP [21 1, 21 1, 21 1, -]
        IEEE_MODE [23 1, 23 1, 23 1, -] CU_GROUP_ENABLE 24 1 MEM_ORDERED 25 1 FWD_PROGRESS 26 1 WGP_MODE 27 1 GS_VGPR_COMP_CNT 29 2
        FP16_OVFL 31 1 }
    rsrc2_gs SPI_SHADER_PGM_RSRC2_GS [0x2C8B] Code Same { SCRATCH_EN 0 1 USER_SGPR 1 5 TRAP_PRESENT 6 1 EXCP_EN 7 9
        ES_VGPR_COMP_CNT 16 2 OC_LDS_EN 18 1 LDS_SIZE 19 8 USER_SGPR_MSB 27 1 SHARED_VGPR_CNT 28 4 }
    user_data_gs SPI_SHADER_USER_DATA_GS [0x2C8C] * 32 Link Same {}
    compute_dispatch_initiator COMPUTE_DISPATCH_INITIATOR [0x2E00] Code Same { CS_W32_EN 15 1 }
    compute_num_thread COMPUTE_NUM_THREAD [0x2E07] * 3 Link Same { NUM_THREAD_FULL 0 16 NUM_THREAD_PARTIAL 16 16 }
    compute_pgm_rsrc1 COMPUTE_PGM_RSRC1 [0x2E12] Code Same { VGPRS 0 6 SGPRS 6 4 FLOAT_MODE 12 8 DX10_CLAMP [21 1, 21 1, 21 1, -]
        IEEE_MODE [23 1, 23 1, 23 1, -] FP16_OVFL 26 1 WGP_MODE 29 1 MEM_ORDERED 30 1 FWD_PROGRESS 31 1 }
    compute_pgm_rsrc2 COMPUTE_PGM_RSRC2 [0x2E13] Code Same { SCRATCH_EN 0 1 USER_SGPR 1 5 TRAP_PRESENT 6 1
        TGID_X_EN 7 1 TGID_Y_EN 8 1 TGID_Z_EN 9 1 TG_SIZE_EN 10 1 TIDIG_COMP_CNT 11 2 EXCP_EN_MSB 13 2 LDS_SIZE 15 9
        EXCP_EN 24 7 }
    compute_resource_limits COMPUTE_RESOURCE_LIMITS [0x2E15] Link Same { WAVES_PER_SH 0 10 }
    compute_pgm_rsrc3 COMPUTE_PGM_RSRC3 [0x2E28] Link Same { SHARED_VGPR_CNT 0 4 }
    compute_shader_chksum COMPUTE_SHADER_CHKSUM [0x2E2A] Link Same { ALL 0 32 }
    compute_user_data COMPUTE_USER_DATA [0x2E40] * 16 Link Same {}
    cb_shader_mask CB_SHADER_MASK [0xA08F, 0xA08F, 0xA08F, 0xA215] Link Same { ALL 0 32 }
    spi_ps_input_cntl SPI_PS_INPUT_CNTL [0xA191, 0xA191, 0xA191, 0xA199] * 32 Link Same { OFFSET 0 6 DEFAULT_VAL 8 2 FLAT_SHADE 10 1
        ROTATE_PC_PTR [-, 11 1, 11 1, 11 1] PRIM_ATTR [-, -, 12 1, 12 1] PT_SPRITE_TEX 17 1 FP16_INTERP_MODE 19 1
        ATTR0_VALID 24 1 ATTR1_VALID 25 1 }
    spi_vs_out_config SPI_VS_OUT_CONFIG [0xA1B1, 0xA1B1, 0xA1B1, 0x2C31] Link Same {
        VS_EXPORT_COUNT [1 5, 1 5, 1 5, 0 5] NO_PC_EXPORT [7 1, 7 1, 7 1, 10 1] PRIM_EXPORT_COUNT [-, 8 5, 8 5, 5 5] }
    spi_ps_input_ena SPI_PS_INPUT_ENA [0xA1B3, 0xA1B3, 0xA1B3, 0xA197] Code Same { ENA 0 16 }
    spi_ps_input_addr SPI_PS_INPUT_ADDR [0xA1B4, 0xA1B4, 0xA1B4, 0xA198] Code Same { ENA 0 16 }
    spi_interp_control SPI_INTERP_CONTROL_0 [0xA1B5, 0xA1B5, 0xA1B5, 0xA191] Link Same { FLAT_SHADE_ENA 0 1 PNT_SPRITE_ENA 1 1 OVRD_X 2 3
        OVRD_Y 5 3 OVRD_Z 8 3 OVRD_W 11 3 PNT_SPRITE_TOP_1 14 1 }
    spi_ps_in_control SPI_PS_IN_CONTROL [0xA1B6, 0xA1B6, 0xA1B6, 0xA190] Code Same { NUM_INTERP 0 6 PARAM_GEN 6 1 OFFCHIP_PARAM_EN 7 1
        LATE_PC_DEALLOC 8 1 NUM_PRIM_INTERP [-, 9 5, 9 5, 9 5] BC_OPTIMIZE_DISABLE 14 1 PS_W32_EN 15 1 }
    spi_baryc_cntl SPI_BARYC_CNTL [0xA1B8, 0xA1B8, 0xA1B8, 0xA196] Link Same { POS_FLOAT_LOCATION 16 2 POS_FLOAT_ULC 20 1
        FRONT_FACE_ALL_BITS 24 1 }
    spi_shader_idx_format SPI_SHADER_IDX_FORMAT [0xA1C2, 0xA1C2, 0xA1C2, 0xA192] Link Same { IDX0_EXPORT_FORMAT 0 4 }
    spi_shader_pos_format SPI_SHADER_POS_FORMAT [0xA1C3, 0xA1C3, 0xA1C3, 0xA193] Link Same { POS0 0 4 POS1 4 4 POS2 8 4 POS3 12 4 POS4 16 4 }
    spi_shader_z_format SPI_SHADER_Z_FORMAT [0xA1C4, 0xA1C4, 0xA1C4, 0xA194] Link Same { Z_EXPORT_FORMAT 0 4 }
    spi_shader_col_format SPI_SHADER_COL_FORMAT [0xA1C5, 0xA1C5, 0xA1C5, 0xA195] Link Same { ALL 0 32 }
    ge_max_output_per_subgroup GE_MAX_OUTPUT_PER_SUBGROUP [0xA1FF] Link Same { MAX_VERTS_PER_SUBGROUP 0 10 }
    db_shader_control DB_SHADER_CONTROL [0xA203, 0xA203, 0xA203, 0xA01B] Link Same { Z_EXPORT_ENABLE 0 1 STENCIL_TEST_VAL_EXPORT 1 1
        STENCIL_OP_VAL_EXPORT 2 1 Z_ORDER 4 2 KILL_ENABLE 6 1 COVERAGE_TO_MASK 7 1 MASK_EXPORT_ENABLE 8 1
        EXEC_ON_HIER_FAIL 9 1 EXEC_ON_NOOP 10 1 ALPHA_TO_MASK_DISABLE 11 1 DEPTH_BEFORE_SHADER 12 1
        CONSERVATIVE_Z_EXPORT 13 2 DUAL_QUAD_DISABLE 15 1 PRIMITIVE_ORDERED_PIXEL_SHADER 16 1
        PRE_SHADER_DEPTH_COVERAGE_ENABLE 23 1 }
    pa_cl_clip_cntl PA_CL_CLIP_CNTL [0xA204] Link Same { UCP_ENA 0 6 CLIP_DISABLE 16 1 DX_CLIP_SPACE_DEF 19 1
        DX_RASTERIZATION_KILL 22 1 DX_LINEAR_ATTR_CLIP_ENA 24 1 VTE_VPORT_PROVOKE_DISABLE 25 1 ZCLIP_NEAR_DISABLE 26 1
        ZCLIP_FAR_DISABLE 27 1 }
    pa_cl_vte_cntl PA_CL_VTE_CNTL [0xA206, 0xA206, 0xA206, 0xA205] Link Same { VPORT_ENA 0 6 VTX_XY_FMT 8 1 VTX_Z_FMT 9 1 VTX_W0_FMT 10 1 }
    pa_cl_vs_out_cntl PA_CL_VS_OUT_CNTL [0xA207, 0xA207, 0xA207, 0xA206] Link Same { CLIP_DIST_ENA 0 8 CULL_DIST_ENA 8 8
        USE_VTX_POINT_SIZE 16 1 USE_VTX_RENDER_TARGET_INDX 18 1 USE_VTX_VIEWPORT_INDX 19 1 VS_OUT_MISC_VEC_ENA 21 1
        VS_OUT_CCDIST0_VEC_ENA 22 1 VS_OUT_CCDIST1_VEC_ENA 23 1 VS_OUT_MISC_SIDE_BUS_ENA 24 1
        USE_VTX_VRS_RATE [-, 28 1, 28 1, 28 1] }
    pa_stereo_cntl PA_STEREO_CNTL [0xA210] Link Same { STEREO_MODE 1 4 RT_SLICE_MODE 5 3 RT_SLICE_OFFSET 8 4
        VP_ID_MODE 16 3 VP_ID_OFFSET 19 4 }
    vgt_gs_mode VGT_GS_MODE [0xA290] Link Same { MODE 0 3 ES_WRITE_OPTIMIZE 19 1 GS_WRITE_OPTIMIZE 20 1 ONCHIP 21 2 }
    vgt_gs_onchip_cntl VGT_GS_ONCHIP_CNTL [0xA291] Link Same { ES_VERTS_PER_SUBGRP 0 11
        GS_PRIMS_PER_SUBGRP 11 11 GS_INST_PRIMS_IN_SUBGRP 22 10 }
    pa_sc_mode_cntl_1 PA_SC_MODE_CNTL_1 [0xA293] Link Same { WALK_ALIGN8_PRIM_FITS_ST 2 1 WALK_FENCE_ENABLE 3 1
        SUPERTILE_WALK_ORDER_ENABLE 7 1 TILE_WALK_ORDER_ENABLE 8 1 PS_ITER_SAMPLE 16 1
        MULTI_SHADER_ENGINE_PRIM_DISCARD 17 1 FORCE_EOV_CNTDWN 25 1 FORCE_EOV_REZ 26 1 }
    vgt_gs_out_prim_type VGT_GS_OUT_PRIM_TYPE [0xA29B, 0xA29B, 0xC266, 0xC266] Link Same { OUTPRIM_TYPE 0 6 }
    vgt_primitiveid_en VGT_PRIMITIVEID_EN [0xA2A1, 0xA2A1, 0xA2A1, 0xC262] Link Same { PRIMITIVEID_EN 0 1 }
    vgt_esgs_ring_itemsize VGT_ESGS_RING_ITEMSIZE [0xA2AB] Link Same { ITEMSIZE 0 15 }
    vgt_reuse_off VGT_REUSE_OFF [0xA2AD, 0xA2AD, 0xA2AD, 0xA2A7] Link Same { REUSE_OFF 0 1 }
    vgt_gs_max_vert_out VGT_GS_MAX_VERT_OUT [0xA2CE] Link Same { MAX_VERT_OUT 0 11 }
    ge_ngg_subgrp_cntl GE_NGG_SUBGRP_CNTL [0xA2D3] Link Same { PRIM_AMP_FACTOR 0 9 THDS_PER_SUBGRP 9 9 }
    vgt_shader_stages_en VGT_SHADER_STAGES_EN [0xA2D5, 0xA2D5, 0xA2D5, 0xA2A6] Code Or { LS_EN 0 2 HS_EN 2 1 ES_EN 3 2 GS_EN 5 1 VS_EN 6 2
        PRIMGEN_EN 13 1 MAX_PRIMGRP_IN_WAVE 15 4 HS_W32_EN 21 1 GS_W32_EN 22 1 VS_W32_EN 23 1 PRIMGEN_PASSTHRU_EN 25 1
        PRIMGEN_PASSTHRU_NO_MSG [-, -, 26 1, 26 1] }
    vgt_gs_instance_cnt VGT_GS_INSTANCE_CNT [0xA2E4, 0xA2E4, 0xA2E4, 0xA2CF] Link Same { ENABLE 0 1 CNT 2 7 EN_MAX_VERT_OUT_PER_GS_INSTANCE 31 1 }
    vgt_strmout_config VGT_STRMOUT_CONFIG [0xA2E5, 0xA2E5, -, -] Link Same { ALL 0 32 }
    vgt_strmout_buffer_config VGT_STRMOUT_BUFFER_CONFIG [0xA2E6, 0xA2E6, -, -] Link Same { ALL 0 32 }
    pa_sc_aa_config PA_SC_AA_CONFIG [0xA2F8] Link Same { COVERAGE_TO_SHADER_SELECT 26 2 }
    pa_su_vtx_cntl PA_SU_VTX_CNTL [0xA2F9] Link Same { PIX_CENTER 0 1 ROUND_MODE 1 2 QUANT_MODE 3 3 }
    pa_sc_shader_control PA_SC_SHADER_CONTROL [0xA310, 0xA310, 0xA310, 0xA316] Link Same { WAVE_BREAK_REGION_SIZE 5 2 }
    ia_multi_vgt_param IA_MULTI_VGT_PARAM_PIPED [0xC258, 0xC258, -, -] Link Same { PRIMGROUP_SIZE 0 16 }
}

/// The registers and fields that every hardware stage has, for one stage.
#[derive(Clone, Copy, Debug)]
pub struct StageRegisters {
    /// First user-data register.
    pub user_data: HardwareRegister,
    /// RSRC1.VGPRS.
    pub vgprs: Field,
    /// RSRC1.SGPRS.
    pub sgprs: Field,
    /// RSRC1.FLOAT_MODE.
    pub float_mode: Field,
    /// RSRC2.USER_SGPR.
    pub user_sgpr: Field,
    /// RSRC2.USER_SGPR_MSB, if the stage has it.
    pub user_sgpr_msb: Option<Field>,
    /// RSRC2.SCRATCH_EN.
    pub scratch_en: Field,
    /// The checksum of the shader.
    pub checksum: HardwareRegister,
    /// The wave32 enable bit.
    pub wave32: Field,
}

impl StageRegisters {
    /// The registers of a stage.
    ///
    /// # Errors
    /// A bug: code for a stage whose registers are not in the table.
    pub fn of(stage: HardwareStage) -> Result<&'static Self> {
        Ok(match stage {
            HardwareStage::Hs => return Err(no_registers(stage)),
            HardwareStage::Gs => &Self {
                user_data: SPI_SHADER_USER_DATA_GS,
                vgprs: rsrc1_gs::VGPRS,
                sgprs: rsrc1_gs::SGPRS,
                float_mode: rsrc1_gs::FLOAT_MODE,
                user_sgpr: rsrc2_gs::USER_SGPR,
                user_sgpr_msb: Some(rsrc2_gs::USER_SGPR_MSB),
                scratch_en: rsrc2_gs::SCRATCH_EN,
                checksum: SPI_SHADER_PGM_CHKSUM_GS,
                wave32: vgt_shader_stages_en::GS_W32_EN,
            },
            HardwareStage::Vs => &Self {
                user_data: SPI_SHADER_USER_DATA_VS,
                vgprs: rsrc1_vs::VGPRS,
                sgprs: rsrc1_vs::SGPRS,
                float_mode: rsrc1_vs::FLOAT_MODE,
                user_sgpr: rsrc2_vs::USER_SGPR,
                user_sgpr_msb: Some(rsrc2_vs::USER_SGPR_MSB),
                scratch_en: rsrc2_vs::SCRATCH_EN,
                checksum: SPI_SHADER_PGM_CHKSUM_VS,
                wave32: vgt_shader_stages_en::VS_W32_EN,
            },
            HardwareStage::Ps => &Self {
                user_data: SPI_SHADER_USER_DATA_PS,
                vgprs: rsrc1_ps::VGPRS,
                sgprs: rsrc1_ps::SGPRS,
                float_mode: rsrc1_ps::FLOAT_MODE,
                user_sgpr: rsrc2_ps::USER_SGPR,
                user_sgpr_msb: Some(rsrc2_ps::USER_SGPR_MSB),
                scratch_en: rsrc2_ps::SCRATCH_EN,
                checksum: SPI_SHADER_PGM_CHKSUM_PS,
                wave32: spi_ps_in_control::PS_W32_EN,
            },
            HardwareStage::Cs => &Self {
                user_data: COMPUTE_USER_DATA,
                vgprs: compute_pgm_rsrc1::VGPRS,
                sgprs: compute_pgm_rsrc1::SGPRS,
                float_mode: compute_pgm_rsrc1::FLOAT_MODE,
                user_sgpr: compute_pgm_rsrc2::USER_SGPR,
                user_sgpr_msb: None,
                scratch_en: compute_pgm_rsrc2::SCRATCH_EN,
                checksum: COMPUTE_SHADER_CHKSUM,
                wave32: compute_dispatch_initiator::CS_W32_EN,
            },
        })
    }
}

#[cold]
fn no_registers(stage: HardwareStage) -> Error {
    Error::bug(format!("the table has no registers of hardware stage {}", stage.key()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register::FieldPlace;
    use dovetail_base::target::Family;

    #[test]
    fn registers_and_fields_do_not_overlap() {
        for family in Family::ALL {
            let of = |info: &RegisterInfo| (0..info.count).filter_map(|n| info.first.nth(n).number(family)).collect();
            let mut numbers: Vec<u32> = TABLE.iter().flat_map::<Vec<u32>, _>(of).collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all);
            for info in TABLE {
                let mut taken = 0u32;
                for field in info.fields {
                    assert_eq!(field.register(), info.first);
                    assert_eq!(taken & field.mask(family), 0, "{}.{}", info.name, field.name);
                    taken |= field.mask(family);
                }
            }
        }
    }

    #[test]
    fn rows_are_in_the_order_of_the_first_family_that_has_them() {
        for (n, family) in Family::ALL.into_iter().enumerate() {
            let new = |info: &&RegisterInfo| info.numbers[..n].iter().all(Option::is_none);
            let numbers: Vec<_> = TABLE.iter().filter(new).filter_map(|info| info.first.number(family)).collect();
            assert!(numbers.is_sorted(), "{family:?}: {numbers:x?}");
        }
    }

    #[test]
    fn fields_are_set_in_their_word_and_checked() {
        let mut registers = RegisterWords::new(Family::Gfx103);
        registers.set(SPI_SHADER_PGM_RSRC1_VS, 0x082F_0000).unwrap();
        registers.set_field(rsrc1_vs::VGPRS, 63).unwrap();
        registers.set_field(rsrc1_vs::VGPR_COMP_CNT, 3).unwrap();
        assert_eq!(registers.get(SPI_SHADER_PGM_RSRC1_VS), Some(0x0b2f_003f));
        assert_eq!(registers.field(rsrc1_vs::VGPRS), 63);
        assert!(registers.set_field(rsrc1_vs::VGPRS, 64).is_err());
        registers.set_field(cb_shader_mask::ALL, u32::MAX).unwrap();
        assert_eq!(registers.get(CB_SHADER_MASK), Some(u32::MAX));
    }

    #[test]
    fn a_field_may_differ_between_families() {
        assert_eq!(places!([6 2, -]), [Some(FieldPlace { low: 6, width: 2 }), None]);
        let absent = Field::new(SPI_PS_IN_CONTROL, "ABSENT", places!([-, -, -, -]));
        let mut registers = RegisterWords::new(Family::Gfx103);
        let refused = registers.set_field(absent, 1).unwrap_err();
        assert!(refused.to_string().contains("SPI_PS_IN_CONTROL.ABSENT"), "{refused}");
        assert_eq!((registers.len(), registers.field(absent)), (0, 0));
        assert_eq!(absent.put(Family::Gfx103, 7, 0), Ok(7));
        assert_eq!([number!(-), number!(7)], [None, Some(7)]);
    }

    #[test]
    fn names_count_along_a_row() {
        assert_eq!(COMPUTE_USER_DATA.nth(3).name(), "COMPUTE_USER_DATA_3");
        assert_eq!(CB_SHADER_MASK.name(), "CB_SHADER_MASK");
        assert_eq!(COMPUTE_USER_DATA.nth(16).info().map(|i| i.name), None);
        assert_eq!(COMPUTE_USER_DATA.nth(u32::MAX).nth(1).number(Family::Gfx103), None);
    }
}
