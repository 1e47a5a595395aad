//! Rules for register words: those that PAL reads without asking whether they are there, and what they say of each other.

use super::{ElfRule, VerifyReport, map, number};
use dovetail_base::target::{Family, FamilyFacts, HardwareStage, WaveSize};
use dovetail_metadata::document::{Map, get};
use dovetail_metadata::registers::*;
use dovetail_metadata::user_data;
use rmpv::Value;

/// The sample coverage bit of SPI_PS_INPUT_ENA.
pub(super) const SAMPLE_COVERAGE: u32 = 1 << 14;

/// Registers of pal-abi 6.1 that PAL reads unconditionally from a graphics ELF.
const MANDATORY: [HardwareRegister; 13] = [
    PA_CL_CLIP_CNTL,
    PA_CL_VTE_CNTL,
    PA_SU_VTX_CNTL,
    PA_SC_MODE_CNTL_1,
    VGT_REUSE_OFF,
    SPI_PS_IN_CONTROL,
    DB_SHADER_CONTROL,
    SPI_BARYC_CNTL,
    SPI_PS_INPUT_ADDR,
    SPI_PS_INPUT_ENA,
    VGT_PRIMITIVEID_EN,
    PA_SC_SHADER_CONTROL,
    PA_SC_AA_CONFIG,
];

pub(super) fn registers(pipeline: &Map, family: Family, report: &mut VerifyReport) -> RegisterWords {
    let mut out = RegisterWords::new(family);
    for (number, word) in map(pipeline, ".registers") {
        let narrow = |v: &Value| v.as_u64().and_then(|v| u32::try_from(v).ok());
        let register = narrow(number).and_then(|number| HardwareRegister::of_number(family, number));
        let read = register.zip(narrow(word)).is_some_and(|(register, word)| out.set(register, word).is_ok());
        report.require(read, ElfRule::Registers, || format!("register {number} = {word}"));
    }
    out
}

/// Checks that registers are present.
fn mandatory(words: &RegisterWords, registers: impl IntoIterator<Item = HardwareRegister>, report: &mut VerifyReport) {
    for register in registers {
        report
            .require(words.get(register).is_some(), ElfRule::MandatoryRegisters, || format!("no {}", register.name()));
    }
}

/// Checks the words of every stage.
pub(super) fn stage_words(
    stage: HardwareStage,
    own: &Map,
    words: &RegisterWords,
    facts: &FamilyFacts,
    report: &mut VerifyReport,
) {
    let rule = ElfRule::Registers;
    let name = stage.key();
    let fields = match StageRegisters::of(stage) {
        Ok(fields) => fields,
        Err(e) => return report.add(rule, format!("{name}: {e}")),
    };
    mandatory(words, [fields.vgprs.register(), fields.user_sgpr.register()], report);
    let wave = number(own, ".wavefront_size").and_then(|n| WaveSize::try_from(n).ok());
    report.require(wave.is_some(), ElfRule::Metadata, || format!("{name}: no .wavefront_size"));
    let wave = wave.unwrap_or(WaveSize::W64);
    report.require(words.field(fields.wave32) == u32::from(wave == WaveSize::W32), rule, || {
        format!("{name}: {} has another wave size", fields.wave32.name)
    });
    let counts = (number(own, ".vgpr_count"), number(own, ".sgpr_count"));
    let (Some(vgprs @ 1..=256), Some(sgprs @ 1..=128)) = counts else {
        report.add(ElfRule::Metadata, format!("{name}: register counts {counts:?}"));
        return;
    };
    report.require(words.field(fields.vgprs) == (vgprs - 1) / facts.vgpr_unit(wave), rule, || {
        format!("{name}: VGPRS {} for {vgprs} VGPRs", words.field(fields.vgprs))
    });
    report.require(words.field(fields.sgprs) == (sgprs - 1) / facts.sgpr_unit, rule, || {
        format!("{name}: SGPRS {} for {sgprs} SGPRs", words.field(fields.sgprs))
    });
    let msb = fields.user_sgpr_msb.map_or(0, |f| words.field(f));
    let user = words.field(fields.user_sgpr) + 32 * msb;
    report.require(user <= stage.max_user_sgprs() && user <= sgprs, rule, || format!("{name}: {user} user SGPRs"));
    let least = facts.least_user_sgprs(stage, wave);
    report.require(user >= least, rule, || format!("{name}: {user} user SGPRs, and the GPU needs {least}"));
    let scratch = number(own, ".scratch_memory_size");
    report.require(scratch.is_some_and(|s| (s > 0) == (words.field(fields.scratch_en) == 1)), rule, || {
        format!("{name}: scratch size {scratch:?} with SCRATCH_EN {}", words.field(fields.scratch_en))
    });
    let mut before = None;
    for index in 0..stage.max_user_sgprs() {
        let word = words.get(fields.user_data.nth(index));
        if let Some(word) = word {
            report.require(index < user, ElfRule::UserData, || {
                format!("{name}: SGPR {index} is mapped, {user} are loaded")
            });
            if let Some(why) = user_data::objection(index, word, before) {
                let rule = if word & 0xF000_0000 == 0x8000_0000 { ElfRule::Linked } else { ElfRule::UserData };
                report.add(rule, format!("{name}: {why}"));
            }
        }
        before = word;
    }
    let table = words.get(fields.user_data) == Some(user_data::pal::GLOBAL_TABLE);
    report.require(user == 0 || table, ElfRule::UserData, || format!("{name}: SGPR 0 is not the global table"));
    match stage {
        HardwareStage::Cs => workgroup_size(words, report),
        HardwareStage::Hs | HardwareStage::Gs | HardwareStage::Vs | HardwareStage::Ps => {}
    }
}

fn workgroup_size(words: &RegisterWords, report: &mut VerifyReport) {
    for n in 0..3 {
        let size =
            words.get(COMPUTE_NUM_THREAD.nth(n)).map(|_| words.field(compute_num_thread::NUM_THREAD_FULL.nth(n)));
        report.require(size.is_some_and(|s| s > 0), ElfRule::MandatoryRegisters, || "no workgroup size".into());
    }
}

/// Checks the keys of a compute stage that the loader reads in addition to registers.
pub(super) fn compute_keys(own: &Map, words: &RegisterWords, facts: &FamilyFacts, report: &mut VerifyReport) {
    let sizes: Vec<u64> = (0..3)
        .filter(|n| words.get(COMPUTE_NUM_THREAD.nth(*n)).is_some())
        .map(|n| words.field(compute_num_thread::NUM_THREAD_FULL.nth(n)).into())
        .collect();
    let said = get(own, ".threadgroup_dimensions").and_then(Value::as_array);
    let said: Option<Vec<u64>> = said.map(|sizes| sizes.iter().filter_map(Value::as_u64).collect());
    // Another rule reports missing registers.
    report.require(sizes.len() < 3 || said.as_ref() == Some(&sizes), ElfRule::Metadata, || {
        format!(".threadgroup_dimensions {said:?} with COMPUTE_NUM_THREAD {sizes:?}")
    });
    let lds = words.field(compute_pgm_rsrc2::LDS_SIZE) * facts.lds_unit;
    let said = number(own, ".lds_size");
    report.require(said == Some(lds), ElfRule::Metadata, || {
        format!(".lds_size {said:?} with {lds} bytes in the register")
    });
}

/// The registers of the geometry engine that a primitive shader needs.
const PRIMITIVE: [HardwareRegister; 9] = [
    VGT_GS_MODE,
    VGT_GS_ONCHIP_CNTL,
    VGT_GS_OUT_PRIM_TYPE,
    VGT_GS_MAX_VERT_OUT,
    VGT_GS_INSTANCE_CNT,
    VGT_ESGS_RING_ITEMSIZE,
    GE_NGG_SUBGRP_CNTL,
    GE_MAX_OUTPUT_PER_SUBGROUP,
    SPI_SHADER_IDX_FORMAT,
];

/// Stages before the rasterizer, besides the hardware VS stage, that only other pipelines have.
const EARLY_STAGES: [Field; 5] = [
    vgt_shader_stages_en::LS_EN,
    vgt_shader_stages_en::HS_EN,
    vgt_shader_stages_en::ES_EN,
    vgt_shader_stages_en::GS_EN,
    vgt_shader_stages_en::PRIMGEN_EN,
];

/// Checks that a pipeline without a primitive shader enables no stage of one, nor of tessellation.
pub(super) fn no_early_stages(words: &RegisterWords, report: &mut VerifyReport) {
    let enabled = EARLY_STAGES.iter().filter(|field| words.field(**field) != 0);
    let wrong: Vec<&str> = enabled.map(|field| field.name).collect();
    report.require(wrong.is_empty(), ElfRule::Registers, || {
        format!("VGT_SHADER_STAGES_EN has {}, which the pipeline's type has not", wrong.join(", "))
    });
}

/// Checks the words of a primitive shader.
pub(super) fn primitive_words(words: &RegisterWords, report: &mut VerifyReport) {
    mandatory(words, PRIMITIVE, report);
    use vgt_shader_stages_en as en;
    let enabled = [en::PRIMGEN_EN, en::ES_EN, en::VS_EN].map(|field| words.field(field));
    report.require(enabled == [1, 2, 0], ElfRule::Registers, || {
        format!("a primitive shader with PRIMGEN_EN, ES_EN, VS_EN {enabled:?}")
    });
    use vgt_gs_onchip_cntl as group;
    for field in [group::ES_VERTS_PER_SUBGRP, group::GS_PRIMS_PER_SUBGRP] {
        let count = words.field(field);
        report.require((1..=256).contains(&count), ElfRule::Registers, || format!("{} {count}", field.name));
    }
}

pub(super) fn graphics_words(words: &RegisterWords, by_name: bool, report: &mut VerifyReport) {
    // Metadata 3.0 has no name for the stereo mode: drivers that read 3.0 write this register themselves.
    let stereo = (!by_name).then_some(PA_STEREO_CNTL);
    mandatory(words, MANDATORY.into_iter().chain([VGT_SHADER_STAGES_EN, SPI_PS_INPUT_CNTL]).chain(stereo), report);
    let rule = ElfRule::Registers;
    let present = |n: &u32| words.get(SPI_PS_INPUT_CNTL.nth(*n)).is_some();
    let controls = (0..32).take_while(present).count() as u32;
    report.require((controls..32).all(|n| !present(&n)), rule, || "SPI_PS_INPUT_CNTL has gaps".into());
    let interp = words.field(spi_ps_in_control::NUM_INTERP);
    report.require(interp == controls || (interp == 0 && controls == 1), rule, || {
        format!("NUM_INTERP {interp} with {controls} attributes")
    });
    let no_params = words.field(spi_vs_out_config::NO_PC_EXPORT) == 1;
    // Those of primitives follow those of vertices.
    let slots = words.field(spi_vs_out_config::VS_EXPORT_COUNT) + 1 + words.field(spi_vs_out_config::PRIM_EXPORT_COUNT);
    let slots = if no_params { 0 } else { slots };
    for n in 0..controls {
        let offset = words.field(spi_ps_input_cntl::OFFSET.nth(n));
        let flat = words.field(spi_ps_input_cntl::FLAT_SHADE.nth(n)) == 1;
        // Bit 5 selects a default value, or with flat shading the values of all vertices.
        let slot = if offset < 0x20 { Some(offset) } else { flat.then_some(offset & 0x1f) };
        let made = interp == 0 || slot.is_none_or(|s| s < slots);
        report.require(made, rule, || format!("attribute {n} reads slot {offset:#x} of {slots}"));
    }
    let ena = words.get(SPI_PS_INPUT_ENA).unwrap_or(0);
    let addr = words.get(SPI_PS_INPUT_ADDR).unwrap_or(0);
    report.require(ena & 0x7f != 0 && ena & !addr == 0, rule, || format!("SPI_PS_INPUT_ENA {ena:#x}, ADDR {addr:#x}"));
    let positions = words.get(SPI_SHADER_POS_FORMAT).unwrap_or(0);
    report.require(positions & 0xf != 0, rule, || "no position is exported".into());
    let z_format = words.get(SPI_SHADER_Z_FORMAT).unwrap_or(0);
    let db = |field: Field| words.field(field) == 1;
    let depth = db(db_shader_control::Z_EXPORT_ENABLE)
        || db(db_shader_control::STENCIL_TEST_VAL_EXPORT)
        || db(db_shader_control::MASK_EXPORT_ENABLE);
    report.require(depth == (z_format != 0), rule, || format!("SPI_SHADER_Z_FORMAT {z_format} with DB_SHADER_CONTROL"));
}
