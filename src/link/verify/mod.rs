//! Checks a final ELF by the rules of PAL's loader (pal-abi 3 to 6): reports what PAL would reject, assert or misread.
//!
//! It reports every violation, not only the first. It uses only the bytes and the loader's rules, and knows nothing
//! about how the ELF was made. To add a rule, add a variant of [`ElfRule`], a check, and a mutation in the tests that
//! violates it.

mod words;

use dovetail_base::elf::{Elf, Home, MACHINE, OSABI_PAL, RELOCATABLE, Section, Symbol, shf, sht, stt};
use dovetail_base::error::Result;
use dovetail_base::target::{Gpu, HardwareStage, PipelineShape, ShapeStage, Stage};
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
use words::*;

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
        let numbered = self.gpu().facts().numbered_metadata;
        let read = version.is_some_and(|(major, _)| major == 3 || major == 2 && numbered);
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
        if shape.is_some_and(|shape| !shape.is_ngg()) {
            no_early_stages(&words, report);
        }
        let said = number(pipeline, ".num_interpolants");
        let made = get(pipeline, ".graphics_registers").and_then(Value::as_map);
        let made = made.and_then(|own| get(own, ".spi_ps_input_cntl")).and_then(Value::as_array).map_or(0, Vec::len);
        // PAL's loader reads so many items of the list.
        let enough = !by_name || !shape.is_some_and(PipelineShape::draws) || said.is_some_and(|n| n as usize >= made);
        report.require(enough, ElfRule::Metadata, || format!(".num_interpolants {said:?}, and {made} are listed"));
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
