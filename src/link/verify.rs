//! Checks a final ELF by the rules of PAL's loader (pal-abi 3 to 6): reports what PAL would reject, assert or misread.
//!
//! It reports every violation, not only the first. It uses only the bytes and the loader's rules, and knows nothing
//! about how the ELF was made. To add a rule, add a variant of [`ElfRule`], a check, and a mutation in the tests that
//! violates it.

use dovetail_base::elf::{Elf, Home, MACHINE, OSABI_PAL, RELOCATABLE, Section, Symbol, shf, sht, stt};
use dovetail_base::error::Result;
use dovetail_base::target::{Family, FamilyFacts, Gpu, HardwareStage, PipelineShape, ShapeStage, Stage, WaveSize};
use dovetail_isa::Isa;
use dovetail_metadata::document::{Document, Map, get};
use dovetail_metadata::named;
use dovetail_metadata::note;
use dovetail_metadata::note::isa_name;
use dovetail_metadata::notes::unlinked_key;
use dovetail_metadata::registers::*;
use dovetail_metadata::user_data;
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;
use rmpv::Value;
use serde::Serialize;
use std::fmt;

/// A rule for final ELFs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ElfRule {
    /// ELF identification and flags.
    Identification,
    /// The file has the sections that the loader looks for, and none that it cannot load.
    Sections,
    /// No linking is left to do: no undefined symbols, no keys or values of unlinked ELFs.
    Linked,
    /// The instruction-set note and the metadata note.
    Notes,
    /// A metadata version that PAL reads.
    Version,
    /// Enumerations, hashes and limits in the metadata.
    Metadata,
    /// The registers that PAL reads without checking that they are present.
    MandatoryRegisters,
    /// Register words agree with counts and with each other.
    Registers,
    /// User data have known numbers in a legal order.
    UserData,
    /// Entry symbols are where the hardware can start.
    Entry,
    /// Only relocations that the loader applies.
    Relocations,
    /// Padding at the ends of the code.
    Padding,
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The rule.
    pub rule: ElfRule,
    /// Description of the violation, with the values.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.what)
    }
}

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// The API stages that its hardware stages run.
    pub stages: Vec<Stage>,
    /// All violations, in the order of the checks.
    pub violations: Vec<Violation>,
}

impl VerifyReport {
    /// Whether PAL would load the ELF.
    pub fn is_ok(&self) -> bool {
        self.violations.is_empty()
    }

    fn add(&mut self, rule: ElfRule, what: impl Into<String>) {
        self.violations.push(Violation { rule, what: what.into() });
    }

    fn require(&mut self, holds: bool, rule: ElfRule, what: impl FnOnce() -> String) {
        if !holds {
            self.add(rule, what());
        }
    }
}

/// The sample coverage bit of SPI_PS_INPUT_ENA.
const SAMPLE_COVERAGE: u32 = 1 << 14;

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

/// Checks a final ELF.
///
/// # Errors
/// Malformed: the bytes cannot be read as an ELF.
pub fn verify(bytes: &[u8]) -> Result<VerifyReport> {
    let elf = Elf::parse(bytes)?;
    let mut report = VerifyReport::default();
    identification(&elf, &mut report);
    sections(&elf, &mut report);
    symbols(&elf, &mut report);
    relocations(&elf, &mut report);
    if let Some(document) = notes(&elf, &mut report) {
        Metadata { elf: &elf, document: &document }.check(&mut report);
    }
    Ok(report)
}

fn identification(elf: &Elf<'_>, report: &mut VerifyReport) {
    let rule = ElfRule::Identification;
    report.require((elf.os_abi, elf.abi_version) == (OSABI_PAL, 0), rule, || {
        format!("OS ABI {} version {}", elf.os_abi, elf.abi_version)
    });
    report.require(elf.machine == MACHINE, rule, || format!("machine {}", elf.machine));
    report.require(elf.file_type == RELOCATABLE, rule, || format!("file type {}", elf.file_type));
    let known = Gpu::of_elf_flags(elf.flags).is_ok();
    report.require(known, rule, || format!("flags {:#x} are not those of a supported GPU", elf.flags));
}

fn sections(elf: &Elf<'_>, report: &mut VerifyReport) {
    let rule = ElfRule::Sections;
    let text = elf.section(".text").map(|(_, s)| s);
    report.require(
        text.is_some_and(|s| {
            s.kind == sht::PROGBITS && s.flags & (shf::ALLOC | shf::EXECUTE) == shf::ALLOC | shf::EXECUTE
        }),
        rule,
        || "no executable .text".into(),
    );
    report.require(text.is_none_or(|s| s.align >= 256 && s.data.len() % 4 == 0), rule, || ".text is misaligned".into());
    let symtab = elf.sections.iter().find(|s| s.kind == sht::SYMTAB);
    report.require(symtab.is_some_and(|s| s.link != 0), rule, || "no symbol table with names".into());
    report.require(elf.section(".note.GNU-stack").is_none(), rule, || ".note.GNU-stack is left".into());
    for section in elf.sections.iter().filter(|s| s.is_uploaded() && s.name != ".text") {
        let constant = section.kind == sht::PROGBITS && section.flags & (shf::WRITE | shf::EXECUTE) == 0;
        report.require(constant, rule, || format!("{} is uploaded and not constant data", section.name));
        report.require(section.align.is_power_of_two(), rule, || {
            format!("{}: alignment {}", section.name, section.align)
        });
    }
}

fn symbols(elf: &Elf<'_>, report: &mut VerifyReport) {
    for symbol in elf.symbols.iter().skip(1) {
        let name = symbol.name;
        match symbol.home {
            Home::Undefined => report.add(ElfRule::Linked, format!("symbol `{name}` is undefined")),
            Home::Reserved(index) => report.add(ElfRule::Sections, format!("symbol `{name}` in section {index:#x}")),
            Home::Section(index) => {
                let len = elf.at(index).map(|s| s.data.len() as u64);
                let inside = len.is_some_and(|len| symbol.value.checked_add(symbol.size).is_some_and(|end| end <= len));
                report.require(inside, ElfRule::Entry, || format!("symbol `{name}` leaves its section"));
            }
        }
        let open = !matches!(LinkSymbol::parse(name), LinkSymbol::Opaque(_));
        report.require(!open, ElfRule::Linked, || format!("link-time symbol `{name}` is left"));
    }
    let mut globals: Vec<&str> = elf.symbols.iter().filter(|s| !s.local).map(|s| s.name).collect();
    globals.sort_unstable();
    for pair in globals.windows(2) {
        if let [a, b] = pair {
            report.require(a != b, ElfRule::Entry, || format!("symbol `{a}` is defined twice"));
        }
    }
}

fn relocations(elf: &Elf<'_>, report: &mut VerifyReport) {
    let rule = ElfRule::Relocations;
    for section in &elf.sections {
        if section.kind == sht::RELA {
            report.add(rule, format!("{} has addends", section.name));
        }
        if section.kind != sht::REL {
            continue;
        }
        let target = elf.at(section.info).filter(|t| t.is_uploaded());
        report.require(target.is_some(), rule, || format!("{} relocates a section that is not uploaded", section.name));
        let Ok(rels) = section.rels() else {
            report.add(rule, format!("{} has no whole records", section.name));
            continue;
        };
        let len = target.map_or(0, |t| t.data.len() as u64);
        for rel in rels {
            let at = format!("{} at {:#x}", section.name, rel.offset);
            match RelocKind::from_number(rel.kind) {
                Ok(kind) if kind.is_loaded() => {
                    let end = rel.offset.checked_add(kind.bytes().into());
                    report.require(end.is_some_and(|end| end <= len), rule, || format!("{at} leaves its section"));
                }
                _ => report.add(rule, format!("{at}: kind {}", rel.kind)),
            }
            let uploaded = elf.symbol(rel.symbol).is_some_and(|s| match s.home {
                Home::Section(index) => elf.at(index).is_some_and(Section::is_uploaded),
                _ => false,
            });
            report.require(uploaded, rule, || format!("{at}: its symbol is not uploaded"));
        }
    }
}

fn notes(elf: &Elf<'_>, report: &mut VerifyReport) -> Option<Document> {
    let section = elf.sections.iter().find(|s| s.kind == sht::NOTE && s.name == ".note");
    let Some(section) = section else {
        report.add(ElfRule::Notes, "no .note section");
        return None;
    };
    let notes = match note::read_notes(section.data) {
        Ok(notes) => notes,
        Err(e) => {
            report.add(ElfRule::Notes, e.to_string());
            return None;
        }
    };
    let isa = notes.iter().find(|n| n.is_isa_name()).map(|n| n.desc);
    // Another rule reports unknown flags.
    let right = Gpu::of_elf_flags(elf.flags).map_or(isa.is_some(), |gpu| isa == Some(isa_name(gpu).as_bytes()));
    report.require(right, ElfRule::Notes, || "no instruction-set note of its GPU".into());
    // PAL takes the first note of this type, whatever its owner name.
    let Some(metadata) = notes.iter().find(|n| n.kind == note::NT_AMDGPU_METADATA) else {
        report.add(ElfRule::Notes, "no metadata note");
        return None;
    };
    match Document::parse(metadata.desc) {
        Ok(document) => Some(document),
        Err(e) => {
            report.add(ElfRule::Notes, e.to_string());
            None
        }
    }
}

struct Metadata<'a> {
    elf: &'a Elf<'a>,
    document: &'a Document,
}

impl Metadata<'_> {
    /// The GPU of the file; any, if it is not known, which another rule reports.
    fn gpu(&self) -> Gpu {
        Gpu::of_elf_flags(self.elf.flags).unwrap_or_default()
    }

    fn check(&self, report: &mut VerifyReport) {
        let (pipeline, facts) = (&self.document.pipeline, self.gpu().facts());
        let version = self.document.version;
        let read = version.is_some_and(|(major, _)| major == 2 || major == 3);
        report.require(read, ElfRule::Version, || format!("version {version:?}"));
        if let Some(key) = unlinked_key(pipeline) {
            report.add(ElfRule::Linked, format!("key {key} of an unlinked ELF is left"));
        }
        self.pipeline_keys(report);
        let by_name = version.is_some_and(|(major, _)| major == 3);
        let words = if by_name {
            named::registers(self.document, self.gpu()).unwrap_or_else(|e| {
                report.add(ElfRule::Registers, e.to_string());
                RegisterWords::new(self.gpu().family())
            })
        } else {
            registers(pipeline, self.gpu().family(), report)
        };
        let stages = self.stages(report);
        let kind = text(pipeline, ".type");
        let shape = self.shape();
        let found: Vec<Stage> = stages.iter().flat_map(|(s, _)| s.api).copied().collect();
        let right = shape.is_some_and(|shape| shape.stages.iter().eq(stages.iter().map(|(stage, _)| stage)));
        report.require(right, ElfRule::Metadata, || {
            format!("a pipeline of type {kind:?} with hardware stages {found:?}")
        });
        for (ShapeStage { hardware, .. }, own) in &stages {
            stage_words(*hardware, own, &words, facts, report);
            self.entry(*hardware, report);
            match hardware {
                HardwareStage::Cs => compute_keys(own, &words, facts, report),
                HardwareStage::Gs => primitive_words(&words, report),
                HardwareStage::Hs | HardwareStage::Vs | HardwareStage::Ps => {}
            }
        }
        if shape.is_some_and(PipelineShape::draws) {
            graphics_words(&words, by_name, report);
            let uses = words.field(spi_ps_input_ena::ENA) & SAMPLE_COVERAGE != 0
                || words.field(db_shader_control::MASK_EXPORT_ENABLE) == 1;
            let said = get(pipeline, ".ps_sample_mask").and_then(Value::as_bool).unwrap_or(false);
            report.require(uses == said, ElfRule::Metadata, || {
                format!(".ps_sample_mask {said}, and the registers say {uses}")
            });
        }
        self.parts(report);
        report.stages = found;
        self.tail(report);
    }

    /// The shape of its type, if it has one that the GPU knows.
    fn shape(&self) -> Option<&'static PipelineShape> {
        PipelineShape::of_type(self.gpu().family(), text(&self.document.pipeline, ".type")?)
    }

    fn pipeline_keys(&self, report: &mut VerifyReport) {
        let pipeline = &self.document.pipeline;
        let rule = ElfRule::Metadata;
        report.require(text(pipeline, ".api").is_some_and(|api| api.len() <= 15), rule, || "no .api".into());
        let hash = get(pipeline, ".internal_pipeline_hash");
        report.require(is_hash(hash), rule, || ".internal_pipeline_hash is not a pair of numbers".into());
        let limit = number(pipeline, ".user_data_limit");
        report.require(limit.is_some_and(|n| n <= user_data::MAX_ROOT_DWORDS), rule, || {
            format!(".user_data_limit {limit:?}: metadata 2.x has {} dwords", user_data::MAX_ROOT_DWORDS)
        });
        let spill = number(pipeline, ".spill_threshold");
        let fits = spill.is_some_and(|s| s == 0xffff || limit.is_some_and(|l| s < l));
        report.require(fits, rule, || format!(".spill_threshold {spill:?} with .user_data_limit {limit:?}"));
        let shape = self.shape();
        for (key, shader) in map(pipeline, ".shaders") {
            let mapped = Stage::ALL.into_iter().find(|s| key.as_str() == Some(s.api_key()));
            let shader = shader.as_map();
            let to = shader.and_then(|m| get(m, ".hardware_mapping")).and_then(Value::as_array);
            let to = to.and_then(|a| a.first()).and_then(Value::as_str);
            let runs = |api: Stage, stage: &ShapeStage| stage.api.contains(&api) && to == Some(stage.hardware.key());
            let right = mapped.zip(shape).is_some_and(|(s, shape)| shape.stages.iter().any(|stage| runs(s, stage)));
            report.require(right, rule, || format!(".shaders: {key} on {to:?}"));
            report.require(is_hash(shader.and_then(|m| get(m, ".api_shader_hash"))), rule, || {
                format!(".shaders: {key} has no hash")
            });
        }
    }

    fn stages(&self, report: &mut VerifyReport) -> Vec<(ShapeStage, Map)> {
        let mut out = Vec::new();
        for (name, own) in map(&self.document.pipeline, ".hardware_stages") {
            let mut stages = self.gpu().family().hardware_stages();
            let stage = stages.find(|stage| name.as_str() == Some(stage.hardware.key()));
            match (stage, own) {
                (Some(stage), Value::Map(own)) => {
                    let entry = text(own, ".entry_point");
                    report.require(entry == Some(stage.hardware.entry_symbol()), ElfRule::Metadata, || {
                        format!("{name}: PAL knows no entry point {entry:?}")
                    });
                    out.push((stage, own.clone()));
                }
                _ => report.add(ElfRule::Metadata, format!("hardware stage {name}")),
            }
        }
        out
    }

    fn entry(&self, stage: HardwareStage, report: &mut VerifyReport) {
        let name = stage.entry_symbol();
        let text = self.elf.section(".text");
        let symbol = self.elf.symbols.iter().find(|s| s.name == name && !s.local);
        let right = symbol.zip(text).is_some_and(|(s, (index, section))| {
            let inside = s.value.checked_add(s.size).is_some_and(|end| end <= section.data.len() as u64);
            s.home == Home::Section(index) && s.kind == stt::FUNC && s.size > 0 && s.value % 256 == 0 && inside
        });
        report.require(right, ElfRule::Entry, || format!("no entry `{name}` at a multiple of 256 with a size"));
    }

    /// Tools get the bytes of a stage's symbol, so it must cover every part.
    fn parts(&self, report: &mut VerifyReport) {
        let code = |s: &&Symbol<'_>| {
            s.kind == stt::FUNC && self.elf.section(".text").is_some_and(|(i, _)| s.home == Home::Section(i))
        };
        let ranges = |local: bool| {
            let symbols = self.elf.symbols.iter().filter(code).filter(move |s| s.local == local);
            symbols.map(|s| (s.name, s.value..s.value.saturating_add(s.size)))
        };
        for (name, part) in ranges(true) {
            let covered = ranges(false).any(|(_, stage)| stage.start <= part.start && part.end <= stage.end);
            report.require(covered, ElfRule::Entry, || format!("part `{name}` is outside of its stage's symbol"));
        }
    }

    /// The prefetcher reads beyond the last instruction: three lines of `s_code_end` must follow.
    fn tail(&self, report: &mut VerifyReport) {
        let Some((_, text)) = self.elf.section(".text") else { return };
        let (words, _) = text.data.as_chunks::<4>();
        let isa = Isa::of(self.gpu());
        let ends = words.iter().rev().take_while(|w| u32::from_le_bytes(**w) == isa.words.code_end).count();
        let line = isa.facts().code_line as usize;
        report.require(4 * ends >= 3 * line && text.data.len() % line == 0, ElfRule::Padding, || {
            format!("{ends} s_code_end after the code, in .text of {:#x} bytes", text.data.len())
        });
    }
}

fn registers(pipeline: &Map, family: Family, report: &mut VerifyReport) -> RegisterWords {
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
fn stage_words(stage: HardwareStage, own: &Map, words: &RegisterWords, facts: &FamilyFacts, report: &mut VerifyReport) {
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
fn compute_keys(own: &Map, words: &RegisterWords, facts: &FamilyFacts, report: &mut VerifyReport) {
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

/// Checks the words of a primitive shader.
fn primitive_words(words: &RegisterWords, report: &mut VerifyReport) {
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

fn graphics_words(words: &RegisterWords, by_name: bool, report: &mut VerifyReport) {
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
    let slots = if no_params { 0 } else { words.field(spi_vs_out_config::VS_EXPORT_COUNT) + 1 };
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

fn map<'a>(of: &'a Map, key: &str) -> impl Iterator<Item = &'a (Value, Value)> {
    get(of, key).and_then(Value::as_map).into_iter().flatten()
}

fn text<'a>(of: &'a Map, key: &str) -> Option<&'a str> {
    get(of, key)?.as_str()
}

fn number(of: &Map, key: &str) -> Option<u32> {
    get(of, key)?.as_u64()?.try_into().ok()
}

fn is_hash(value: Option<&Value>) -> bool {
    value.and_then(Value::as_array).is_some_and(|a| a.len() == 2 && a.iter().all(Value::is_u64))
}
