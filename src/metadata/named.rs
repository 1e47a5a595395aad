//! Metadata 3.0: every register field by name, converted from the words of 2.6, and back.
//!
//! Names and types are those of PAL's `g_palPipelineAbiMetadata.h` (docs/hardware.md): one-bit fields are booleans,
//! wider ones numbers, and two fields are names of enumerators. Fields without a name are set by 3.x drivers
//! themselves: wave-size bits follow from `.wavefront_size`, register counts from `.vgpr_count` and `.sgpr_count`.

use super::document::{Document, Map, get, set, submap};
use super::registers::*;
use super::user_data::pal::NOT_MAPPED;
use crate::error::{Error, Result};
use crate::target::{Family, Gpu, HardwareStage, WaveSize};
use rmpv::Value;

/// Version of the metadata of a pipeline ELF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataVersion {
    /// 2.6: registers by number. Every PAL reads it on this GPU, and a prepared link does not allocate.
    #[default]
    Registers,
    /// 3.0: register fields by name, as current drivers write it. Converted from 2.6, in newly allocated memory.
    Named,
}

/// Major and minor version of this form.
pub const VERSION: (u32, u32) = (3, 0);

/// A named field: name, lowest bit, width.
type Field3 = (&'static str, u32, u32);

/// Fields of a nested map in `.graphics_registers`.
struct Group {
    name: &'static str,
    register: HardwareRegister,
    fields: &'static [Field3],
}

const INPUTS: &[Field3] = &[
    (".persp_sample_ena", 0, 1),
    (".persp_center_ena", 1, 1),
    (".persp_centroid_ena", 2, 1),
    (".persp_pull_model_ena", 3, 1),
    (".linear_sample_ena", 4, 1),
    (".linear_center_ena", 5, 1),
    (".linear_centroid_ena", 6, 1),
    (".line_stipple_tex_ena", 7, 1),
    (".pos_x_float_ena", 8, 1),
    (".pos_y_float_ena", 9, 1),
    (".pos_z_float_ena", 10, 1),
    (".pos_w_float_ena", 11, 1),
    (".front_face_ena", 12, 1),
    (".ancillary_ena", 13, 1),
    (".sample_coverage_ena", 14, 1),
    (".pos_fixed_pt_ena", 15, 1),
];

const GROUPS: &[Group] = &[
    Group {
        name: ".pa_cl_clip_cntl",
        register: PA_CL_CLIP_CNTL,
        fields: &[
            (".user_clip_plane0_ena", 0, 1),
            (".user_clip_plane1_ena", 1, 1),
            (".user_clip_plane2_ena", 2, 1),
            (".user_clip_plane3_ena", 3, 1),
            (".user_clip_plane4_ena", 4, 1),
            (".user_clip_plane5_ena", 5, 1),
            (".clip_disable", 16, 1),
            (".rasterization_kill", 22, 1),
            (".dx_linear_attr_clip_ena", 24, 1),
            (".zclip_near_disable", 26, 1),
            (".zclip_far_disable", 27, 1),
        ],
    },
    Group {
        name: ".pa_cl_vte_cntl",
        register: PA_CL_VTE_CNTL,
        fields: &[
            (".x_scale_ena", 0, 1),
            (".x_offset_ena", 1, 1),
            (".y_scale_ena", 2, 1),
            (".y_offset_ena", 3, 1),
            (".z_scale_ena", 4, 1),
            (".z_offset_ena", 5, 1),
            (".vtx_xy_fmt", 8, 1),
            (".vtx_z_fmt", 9, 1),
            (".vtx_w0_fmt", 10, 1),
        ],
    },
    Group {
        name: ".pa_cl_vs_out_cntl",
        register: PA_CL_VS_OUT_CNTL,
        fields: &[
            (".clip_dist_ena_0", 0, 1),
            (".clip_dist_ena_1", 1, 1),
            (".clip_dist_ena_2", 2, 1),
            (".clip_dist_ena_3", 3, 1),
            (".clip_dist_ena_4", 4, 1),
            (".clip_dist_ena_5", 5, 1),
            (".clip_dist_ena_6", 6, 1),
            (".clip_dist_ena_7", 7, 1),
            (".cull_dist_ena_0", 8, 1),
            (".cull_dist_ena_1", 9, 1),
            (".cull_dist_ena_2", 10, 1),
            (".cull_dist_ena_3", 11, 1),
            (".cull_dist_ena_4", 12, 1),
            (".cull_dist_ena_5", 13, 1),
            (".cull_dist_ena_6", 14, 1),
            (".cull_dist_ena_7", 15, 1),
            (".use_vtx_point_size", 16, 1),
            (".use_vtx_render_target_indx", 18, 1),
            (".use_vtx_viewport_indx", 19, 1),
            (".vs_out_misc_vec_ena", 21, 1),
            (".vs_out_cc_dist0_vec_ena", 22, 1),
            (".vs_out_cc_dist1_vec_ena", 23, 1),
            (".vs_out_misc_side_bus_ena", 24, 1),
            (".use_vtx_vrs_rate", 28, 1),
        ],
    },
    Group {
        name: ".pa_su_vtx_cntl",
        register: PA_SU_VTX_CNTL,
        fields: &[(".pix_center", 0, 1), (".round_mode", 1, 2), (".quant_mode", 3, 3)],
    },
    Group {
        name: ".vgt_shader_stages_en",
        register: VGT_SHADER_STAGES_EN,
        // The local-shader stage is a boolean; its second bit has no use here.
        fields: &[
            (".ls_stage_en", 0, 1),
            (".hs_stage_en", 2, 1),
            (".es_stage_en", 3, 2),
            (".gs_stage_en", 5, 1),
            (".vs_stage_en", 6, 2),
            (".primgen_en", 13, 1),
            (".max_primgroup_in_wave", 15, 4),
        ],
    },
    Group { name: ".ia_multi_vgt_param", register: IA_MULTI_VGT_PARAM_PIPED, fields: &[(".primgroup_size", 0, 16)] },
    Group {
        name: ".spi_vs_out_config",
        register: SPI_VS_OUT_CONFIG,
        fields: &[(".vs_export_count", 1, 5), (".no_pc_export", 7, 1), (".prim_export_count", 8, 5)],
    },
    Group {
        name: ".cb_shader_mask",
        register: CB_SHADER_MASK,
        fields: &[
            (".output0_enable", 0, 4),
            (".output1_enable", 4, 4),
            (".output2_enable", 8, 4),
            (".output3_enable", 12, 4),
            (".output4_enable", 16, 4),
            (".output5_enable", 20, 4),
            (".output6_enable", 24, 4),
            (".output7_enable", 28, 4),
        ],
    },
    Group {
        name: ".spi_shader_col_format",
        register: SPI_SHADER_COL_FORMAT,
        fields: &[
            (".col_0_export_format", 0, 4),
            (".col_1_export_format", 4, 4),
            (".col_2_export_format", 8, 4),
            (".col_3_export_format", 12, 4),
            (".col_4_export_format", 16, 4),
            (".col_5_export_format", 20, 4),
            (".col_6_export_format", 24, 4),
            (".col_7_export_format", 28, 4),
        ],
    },
    Group {
        name: ".db_shader_control",
        register: DB_SHADER_CONTROL,
        fields: &[
            (".z_export_enable", 0, 1),
            (".stencil_test_val_export_enable", 1, 1),
            (".stencil_op_val_export_enable", 2, 1),
            (".z_order", 4, 2),
            (".kill_enable", 6, 1),
            (".coverage_to_mask_en", 7, 1),
            (".mask_export_enable", 8, 1),
            (".exec_on_hier_fail", 9, 1),
            (".exec_on_noop", 10, 1),
            (".alpha_to_mask_disable", 11, 1),
            (".depth_before_shader", 12, 1),
            (".conservative_z_export", 13, 2),
            (".primitive_ordered_pixel_shader", 16, 1),
            (".pre_shader_depth_coverage_enable", 23, 1),
        ],
    },
    Group {
        name: ".spi_ps_in_control",
        register: SPI_PS_IN_CONTROL,
        fields: &[
            (".num_interps", 0, 6),
            (".param_gen", 6, 1),
            (".offchip_param_en", 7, 1),
            (".late_pc_dealloc", 8, 1),
            (".num_prim_interp", 9, 5),
            (".bc_optimize_disable", 14, 1),
        ],
    },
    Group {
        name: ".pa_sc_shader_control",
        register: PA_SC_SHADER_CONTROL,
        fields: &[(".wave_break_region_size", 5, 2)],
    },
    Group {
        name: ".spi_baryc_cntl",
        register: SPI_BARYC_CNTL,
        fields: &[(".pos_float_location", 16, 2), (".front_face_all_bits", 24, 1)],
    },
    Group { name: ".spi_ps_input_ena", register: SPI_PS_INPUT_ENA, fields: INPUTS },
    Group { name: ".spi_ps_input_addr", register: SPI_PS_INPUT_ADDR, fields: INPUTS },
];

/// `.spi_interp_control`, whose selectors are enumerator names.
const SPRITE: &str = ".spi_interp_control";
const SPRITE_ENA: Field3 = (".point_sprite_ena", 1, 1);
const SPRITE_SELECTORS: [Field3; 4] = [
    (".point_sprite_override_x", 2, 3),
    (".point_sprite_override_y", 5, 3),
    (".point_sprite_override_z", 8, 3),
    (".point_sprite_override_w", 11, 3),
];
const SELECTED: [&str; 5] = ["Zero", "One", "S", "T", "None"];
/// `.aa_coverage_to_shader_select`.
const COVERAGE: Field3 = (".aa_coverage_to_shader_select", 26, 2);
const COVERAGES: [&str; 4] = ["InputCoverage", "InputInnerCoverage", "InputDepthCoverage", "Raw"];

/// The fields of an item of `.spi_ps_input_cntl`.
const ATTRIBUTE: &[Field3] = &[
    (".offset", 0, 6),
    (".default_val", 8, 2),
    (".flat_shade", 10, 1),
    (".rotate_pc_ptr", 11, 1),
    (".pt_sprite_tex", 17, 1),
    (".fp16_interp_mode", 19, 1),
    (".attr0_valid", 24, 1),
    (".attr1_valid", 25, 1),
];

/// Fields directly in `.graphics_registers`.
const SCALARS: &[(HardwareRegister, Field3)] = &[
    (SPI_SHADER_PGM_RSRC1_VS, (".vs_vgpr_comp_cnt", 24, 2)),
    (SPI_SHADER_PGM_RSRC2_VS, (".vs_streamout_en", 12, 1)),
    (SPI_SHADER_PGM_RSRC1_PS, (".ps_load_provoking_vtx", 27, 1)),
    (SPI_SHADER_PGM_RSRC2_PS, (".ps_wave_cnt_en", 7, 1)),
    (PA_SC_MODE_CNTL_1, (".ps_iter_sample", 16, 1)),
    (VGT_REUSE_OFF, (".vgt_reuse_off", 0, 1)),
    (VGT_PRIMITIVEID_EN, (".vgt_primitive_id_en", 0, 1)),
    (SPI_SHADER_Z_FORMAT, (".spi_shader_z_format", 0, 4)),
];

/// `.compute_registers`.
const COMPUTE: &[Field3] = &[
    (".tgid_x_en", 7, 1),
    (".tgid_y_en", 8, 1),
    (".tgid_z_en", 9, 1),
    (".tg_size_en", 10, 1),
    (".tidig_comp_cnt", 11, 2),
];

/// Fields in the map of a hardware stage, from its own registers.
fn stage_fields(stage: HardwareStage) -> &'static [(HardwareRegister, Field3)] {
    match stage {
        HardwareStage::Hs | HardwareStage::Gs => &[],
        HardwareStage::Vs => &[
            (SPI_SHADER_PGM_RSRC1_VS, (".float_mode", 12, 8)),
            (SPI_SHADER_PGM_RSRC1_VS, (".ieee_mode", 23, 1)),
            (SPI_SHADER_PGM_RSRC1_VS, (".mem_ordered", 27, 1)),
            (SPI_SHADER_PGM_RSRC1_VS, (".forward_progress", 28, 1)),
            (SPI_SHADER_PGM_RSRC1_VS, (".fp16_overflow", 31, 1)),
            (SPI_SHADER_PGM_RSRC2_VS, (".scratch_en", 0, 1)),
            (SPI_SHADER_PGM_RSRC2_VS, (".trap_present", 6, 1)),
            (SPI_SHADER_PGM_RSRC2_VS, (".offchip_lds_en", 7, 1)),
            (SPI_SHADER_PGM_RSRC2_VS, (".excp_en", 13, 9)),
            (SPI_SHADER_PGM_RSRC2_VS, (".shared_vgpr_cnt", 28, 4)),
        ],
        HardwareStage::Ps => &[
            (SPI_SHADER_PGM_RSRC1_PS, (".float_mode", 12, 8)),
            (SPI_SHADER_PGM_RSRC1_PS, (".ieee_mode", 23, 1)),
            (SPI_SHADER_PGM_RSRC1_PS, (".mem_ordered", 25, 1)),
            (SPI_SHADER_PGM_RSRC1_PS, (".forward_progress", 26, 1)),
            (SPI_SHADER_PGM_RSRC1_PS, (".fp16_overflow", 29, 1)),
            (SPI_SHADER_PGM_RSRC2_PS, (".scratch_en", 0, 1)),
            (SPI_SHADER_PGM_RSRC2_PS, (".trap_present", 6, 1)),
            (SPI_SHADER_PGM_RSRC2_PS, (".excp_en", 16, 9)),
            (SPI_SHADER_PGM_RSRC2_PS, (".shared_vgpr_cnt", 28, 4)),
        ],
        HardwareStage::Cs => &[
            (COMPUTE_PGM_RSRC1, (".float_mode", 12, 8)),
            (COMPUTE_PGM_RSRC1, (".ieee_mode", 23, 1)),
            (COMPUTE_PGM_RSRC1, (".fp16_overflow", 26, 1)),
            (COMPUTE_PGM_RSRC1, (".wgp_mode", 29, 1)),
            (COMPUTE_PGM_RSRC1, (".mem_ordered", 30, 1)),
            (COMPUTE_PGM_RSRC1, (".forward_progress", 31, 1)),
            (COMPUTE_PGM_RSRC2, (".scratch_en", 0, 1)),
            (COMPUTE_PGM_RSRC2, (".trap_present", 6, 1)),
            (COMPUTE_PGM_RSRC2, (".excp_en", 24, 7)),
            (COMPUTE_PGM_RSRC3, (".shared_vgpr_cnt", 0, 4)),
        ],
    }
}

const USER_SGPRS: &str = ".user_sgprs";
const REG_MAP: &str = ".user_data_reg_map";
const CHECKSUM: &str = ".checksum_value";
const GRAPHICS: &str = ".graphics_registers";
const COMPUTE_REGISTERS: &str = ".compute_registers";
const ATTRIBUTES: &str = ".spi_ps_input_cntl";
const POSITIONS: &str = ".spi_shader_pos_format";
const INTERPOLANTS: &str = ".num_interpolants";

/// The hardware stages that pipelines of a GPU have.
fn stages_of(gpu: Gpu) -> impl Iterator<Item = HardwareStage> {
    gpu.family().hardware_stages().map(|stage| stage.hardware)
}

const fn mask(width: u32) -> u32 {
    if width >= 32 { u32::MAX } else { (1 << width) - 1 }
}

fn named((_, low, width): Field3, word: u32) -> Value {
    let value = word >> low & mask(width);
    if width == 1 { Value::Boolean(value == 1) } else { value.into() }
}

fn fields(list: &[Field3], word: u32) -> Map {
    list.iter().map(|field| (field.0.into(), named(*field, word))).collect()
}

/// Converts a document of version 2.6 for this GPU to version 3.0.
///
/// # Errors
/// Malformed: not a document written by Dovetail. Unsupported: a value without a name in 3.0.
pub fn from_registers(document: &Document, gpu: Gpu) -> Result<Document> {
    let mut pipeline = document.pipeline.clone();
    let words = words(&pipeline, gpu.family())?;
    let word = |register| words.get(register).unwrap_or(0);
    if words.field(spi_baryc_cntl::POS_FLOAT_ULC) == 1 {
        return Err(Error::unsupported("pixel centres at integers", "metadata 3.0 has no name for them"));
    }
    pipeline.retain(|(key, _)| key.as_str() != Some(".registers"));
    let mut stages = submap(&pipeline, ".hardware_stages")?.cloned().unwrap_or_default();
    for stage in stages_of(gpu) {
        let Some((_, Value::Map(own))) = stages.iter_mut().find(|(k, _)| k.as_str() == Some(stage.key())) else {
            continue;
        };
        for (register, field) in stage_fields(stage) {
            set(own, field.0, named(*field, word(*register)));
        }
        let of = StageRegisters::of(stage)?;
        let count = words.field(of.user_sgpr) + 32 * of.user_sgpr_msb.map_or(0, |msb| words.field(msb));
        set(own, USER_SGPRS, count.into());
        let mapped = (0..stage.max_user_sgprs()).map(|n| words.get(of.user_data.nth(n)).unwrap_or(NOT_MAPPED).into());
        set(own, REG_MAP, Value::Array(mapped.collect()));
        if let Some(sum) = words.get(of.checksum) {
            set(own, CHECKSUM, sum.into());
        }
    }
    let is_compute = get(&stages, HardwareStage::Cs.key()).is_some();
    set(&mut pipeline, ".hardware_stages", Value::Map(stages));
    if is_compute {
        set(&mut pipeline, COMPUTE_REGISTERS, Value::Map(fields(COMPUTE, word(COMPUTE_PGM_RSRC2))));
    } else {
        let attributes: Vec<Value> = (0..32)
            .map_while(|n| words.get(SPI_PS_INPUT_CNTL.nth(n)))
            .map(|word| Value::Map(fields(ATTRIBUTE, word)))
            .collect();
        set(&mut pipeline, INTERPOLANTS, (attributes.len() as u64).into());
        // An export of which no attachment takes a channel: it only reports the live pixels.
        if word(SPI_SHADER_COL_FORMAT) != 0 && word(CB_SHADER_MASK) == 0 {
            set(&mut pipeline, ".ps_dummy_export", true.into());
        }
        set(&mut pipeline, GRAPHICS, Value::Map(graphics(&words, attributes)));
    }
    Ok(Document { version: Some(VERSION), pipeline })
}

fn graphics(words: &RegisterWords, attributes: Vec<Value>) -> Map {
    let word = |register| words.get(register).unwrap_or(0);
    let mut out = Map::new();
    for group in GROUPS {
        set(&mut out, group.name, Value::Map(fields(group.fields, word(group.register))));
    }
    for (register, field) in SCALARS {
        set(&mut out, field.0, named(*field, word(*register)));
    }
    let sprite = word(SPI_INTERP_CONTROL_0);
    let name = |names: &[&'static str], (_, low, width): Field3, word: u32| -> Value {
        names.get((word >> low & mask(width)) as usize).copied().unwrap_or("None").into()
    };
    let mut selectors: Map = vec![(SPRITE_ENA.0.into(), named(SPRITE_ENA, sprite))];
    selectors.extend(SPRITE_SELECTORS.iter().map(|field| (field.0.into(), name(&SELECTED, *field, sprite))));
    set(&mut out, SPRITE, Value::Map(selectors));
    set(&mut out, COVERAGE.0, name(&COVERAGES, COVERAGE, word(PA_SC_AA_CONFIG)));
    let positions = word(SPI_SHADER_POS_FORMAT);
    set(&mut out, POSITIONS, Value::Array((0..5).map(|n| (positions >> (4 * n) & 15).into()).collect()));
    set(&mut out, ATTRIBUTES, Value::Array(attributes));
    out
}

/// The register words of a document of either version; for 3.0, the bits that it names, and those that the driver
/// derives from other keys.
///
/// # Errors
/// Malformed: fields of another type, or registers that are not in the table.
pub fn registers(document: &Document, gpu: Gpu) -> Result<RegisterWords> {
    if document.version.is_none_or(|(major, _)| major < VERSION.0) {
        return words(&document.pipeline, gpu.family());
    }
    let (pipeline, family, facts) = (&document.pipeline, gpu.family(), gpu.facts());
    let mut out = RegisterWords::new(family);
    let none = Map::new();
    let stages = submap(pipeline, ".hardware_stages")?.unwrap_or(&none);
    for stage in stages_of(gpu) {
        let Some(own) = submap(stages, stage.key())? else { continue };
        for (register, field) in stage_fields(stage) {
            put(&mut out, *register, own, *field)?;
        }
        let of = StageRegisters::of(stage)?;
        let number = |key: &str| get(own, key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let missing = |key: &str| Error::malformed(format!("metadata: {} has no {key}", stage.key()));
        let count = number(USER_SGPRS).ok_or_else(|| missing(USER_SGPRS))?;
        out.set_field(of.user_sgpr, count & 31)?;
        if let Some(msb) = of.user_sgpr_msb {
            out.set_field(msb, count >> 5 & 1)?;
        }
        let lanes = number(".wavefront_size").ok_or_else(|| missing(".wavefront_size"))?;
        let wave = WaveSize::try_from(lanes)?;
        out.set_field(of.wave32, u32::from(wave == WaveSize::W32))?;
        for (key, field, granule) in
            [(".vgpr_count", of.vgprs, facts.vgpr_unit(wave)), (".sgpr_count", of.sgprs, facts.sgpr_unit)]
        {
            let count = number(key).ok_or_else(|| missing(key))?.max(1);
            out.set_field(field, ((count - 1) / granule).min(field.max(family)))?;
        }
        if let Some(sum) = number(CHECKSUM) {
            out.set(of.checksum, sum)?;
        }
        let mapped = get(own, REG_MAP).and_then(Value::as_array).ok_or_else(|| missing(REG_MAP))?;
        for (n, value) in (0..stage.max_user_sgprs()).zip(mapped) {
            match value.as_u64().and_then(|n| u32::try_from(n).ok()) {
                Some(NOT_MAPPED) => {}
                Some(number) => out.set(of.user_data.nth(n), number)?,
                None => return Err(Error::malformed(format!("metadata: {REG_MAP} has {value}"))),
            }
        }
        if let Some(sizes) = get(own, ".threadgroup_dimensions").and_then(Value::as_array) {
            for (n, size) in (0u32..3).zip(sizes) {
                let size = size.as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
                out.set(COMPUTE_NUM_THREAD.nth(n), size)?;
            }
        }
    }
    if let Some(compute) = submap(pipeline, COMPUTE_REGISTERS)? {
        for field in COMPUTE {
            put(&mut out, COMPUTE_PGM_RSRC2, compute, *field)?;
        }
        let lds = submap(stages, HardwareStage::Cs.key())?.and_then(|own| get(own, ".lds_size")?.as_u64());
        out.set_field(
            compute_pgm_rsrc2::LDS_SIZE,
            (lds.unwrap_or(0) / u64::from(facts.lds_unit)) as u32 & compute_pgm_rsrc2::LDS_SIZE.max(family),
        )?;
    }
    if let Some(graphics) = submap(pipeline, GRAPHICS)? {
        read_graphics(&mut out, graphics)?;
    }
    Ok(out)
}

fn read_graphics(out: &mut RegisterWords, graphics: &Map) -> Result<()> {
    for group in GROUPS {
        let Some(map) = submap(graphics, group.name)? else { continue };
        for field in group.fields {
            put(out, group.register, map, *field)?;
        }
    }
    for (register, field) in SCALARS {
        put(out, *register, graphics, *field)?;
    }
    let mut name = |register, names: &[&str], map: &Map, (key, low, _): Field3| -> Result<()> {
        let found = get(map, key).and_then(Value::as_str).and_then(|name| names.iter().position(|n| *n == name));
        let number = found.ok_or_else(|| Error::malformed(format!("metadata: PAL has no name {key}")))?;
        out.set(register, out.get(register).unwrap_or(0) | (number as u32) << low)
    };
    if let Some(map) = submap(graphics, SPRITE)? {
        SPRITE_SELECTORS.iter().try_for_each(|field| name(SPI_INTERP_CONTROL_0, &SELECTED, map, *field))?;
    }
    name(PA_SC_AA_CONFIG, &COVERAGES, graphics, COVERAGE)?;
    if let Some(map) = submap(graphics, SPRITE)? {
        put(out, SPI_INTERP_CONTROL_0, map, SPRITE_ENA)?;
    }
    let list = |key: &str| get(graphics, key).and_then(Value::as_array).cloned().unwrap_or_default();
    let formats = list(POSITIONS)
        .iter()
        .zip(0u32..5)
        .fold(0, |word, (format, n)| word | (format.as_u64().unwrap_or(0) as u32 & 15) << (4 * n));
    out.set(SPI_SHADER_POS_FORMAT, formats)?;
    for (n, item) in (0u32..32).zip(list(ATTRIBUTES)) {
        let Value::Map(map) = item else { return Err(Error::malformed(format!("metadata: {ATTRIBUTES} has no map"))) };
        let register = SPI_PS_INPUT_CNTL.nth(n);
        out.set(register, 0)?;
        for field in ATTRIBUTE {
            put(out, register, &map, *field)?;
        }
    }
    Ok(())
}

/// Adds a named field to its word; one that is absent is 0.
fn put(out: &mut RegisterWords, register: HardwareRegister, map: &Map, (key, low, width): Field3) -> Result<()> {
    let wrong = |value: &Value| Error::malformed(format!("metadata: {key} is {value}"));
    let value = match get(map, key) {
        None => 0,
        Some(value @ Value::Boolean(set)) => {
            if width == 1 {
                u32::from(*set)
            } else {
                return Err(wrong(value));
            }
        }
        Some(value) => match value.as_u64() {
            Some(number) if width > 1 && number <= u64::from(mask(width)) => number as u32,
            _ => return Err(wrong(value)),
        },
    };
    out.set(register, out.get(register).unwrap_or(0) & !(mask(width) << low) | value << low)
}

/// The register words that PAL takes from a document of either version: unlike [`registers`], it passes over unknown ones.
///
/// # Errors
/// Malformed: fields of another type.
pub fn loaded(document: &Document, gpu: Gpu) -> Result<RegisterWords> {
    let by_name = document.version.is_some_and(|(major, _)| major >= VERSION.0);
    let mut out = if by_name { registers(document, gpu)? } else { RegisterWords::new(gpu.family()) };
    for (number, word) in entries(&document.pipeline)? {
        if let Some(register) = HardwareRegister::of_number(gpu.family(), number) {
            out.set(register, word)?;
        }
    }
    Ok(out)
}

/// The words of a `.registers` map.
fn words(pipeline: &Map, family: Family) -> Result<RegisterWords> {
    let mut out = RegisterWords::new(family);
    for (number, word) in entries(pipeline)? {
        let Some(register) = HardwareRegister::of_number(family, number) else {
            return Err(Error::malformed(format!("metadata: register {number:#x} is not in our table")));
        };
        out.set(register, word)?;
    }
    Ok(out)
}

/// The entries of a `.registers` map, if there is one: numbers of registers, and words.
fn entries(pipeline: &Map) -> Result<Vec<(u32, u32)>> {
    let number = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
    let entry = |(register, word): &(Value, Value)| {
        let pair = number(register).zip(number(word));
        pair.ok_or_else(|| Error::malformed(format!("metadata: register {register} = {word}")))
    };
    submap(pipeline, ".registers")?.into_iter().flatten().map(entry).collect()
}

/// The bits of a register that version 3.0 can express, or that the driver derives from other keys.
pub fn named_bits(register: HardwareRegister, gpu: Gpu) -> u32 {
    let bits = |(_, low, width): Field3| mask(width) << low;
    let all = |list: &[Field3]| list.iter().fold(0, |all, field| all | bits(*field));
    let field = |field: Field| if field.register() == register { field.mask(gpu.family()) } else { 0 };
    let mut out =
        GROUPS.iter().filter(|group| group.register == register).fold(0, |out, group| out | all(group.fields));
    let own = stages_of(gpu).flat_map(stage_fields).chain(SCALARS);
    out |= own.filter(|(of, _)| *of == register).fold(0, |out, (_, field)| out | bits(*field));
    let first = register.info().map(|info| info.first);
    for of in stages_of(gpu).filter_map(|stage| StageRegisters::of(stage).ok()) {
        out |= field(of.user_sgpr) | of.user_sgpr_msb.map_or(0, field) | field(of.wave32);
        out |= field(of.vgprs) | field(of.sgprs);
        if register == of.checksum || first == Some(of.user_data) {
            out = u32::MAX;
        }
    }
    match register {
        SPI_INTERP_CONTROL_0 => out | bits(SPRITE_ENA) | all(&SPRITE_SELECTORS),
        PA_SC_AA_CONFIG => out | bits(COVERAGE),
        COMPUTE_PGM_RSRC2 => out | all(COMPUTE) | field(compute_pgm_rsrc2::LDS_SIZE),
        SPI_SHADER_POS_FORMAT => mask(20),
        _ if first == Some(SPI_PS_INPUT_CNTL) => all(ATTRIBUTE),
        _ if first == Some(COMPUTE_NUM_THREAD) => mask(16),
        _ => out,
    }
}
