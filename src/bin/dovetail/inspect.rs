//! `dovetail inspect`: decodes everything in one of our ELFs.

mod listing;

use crate::common::{print_json, read_elf};
use dovetail::error::{Context, Error, Result};
use dovetail::metadata::document::Document;
use dovetail::metadata::interface_io::INTERFACE_KEY;
use dovetail::metadata::named;
use dovetail::metadata::note;
use dovetail::metadata::notes::unlinked_key;
use dovetail::metadata::read_unlinked::interface_of;
use dovetail::metadata::registers::HardwareRegister as Word;
use dovetail::reloc::kind;
use dovetail::reloc::symbol::LinkSymbol;
use dovetail::target::{Gpu, WaveSize};
use object::elf;
use object::read::elf::{ElfFile64, FileHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SymbolKind};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show an unlinked or linked ELF: sections, symbols, relocations, metadata, registers, code.
///
/// For an unlinked ELF, shows what the linker must supply; for a linked one, each register field by field, and the
/// boundaries of prolog, body and epilog in the disassembly.
#[derive(clap::Args)]
pub struct Args {
    /// The ELF.
    #[arg(value_name = "ELF")]
    file: PathBuf,
    /// Omit the disassembly.
    #[arg(long)]
    no_code: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    kind: &'static str,
    flags: String,
    /// The GPU, if Dovetail knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<Gpu>,
    sections: Vec<Section>,
    symbols: Vec<Symbol>,
    relocations: Vec<Relocation>,
    metadata: serde_json::Value,
    registers: Vec<Register>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Vec<String>>,
    /// Wave size of an unlinked stage.
    #[serde(skip)]
    wave: Option<WaveSize>,
}

#[derive(Serialize)]
struct Section {
    name: String,
    kind: String,
    offset: u64,
    size: u64,
    align: u64,
}

#[derive(Serialize)]
struct Symbol {
    name: String,
    section: Option<String>,
    value: u64,
    size: u64,
    global: bool,
}

#[derive(Serialize)]
struct Relocation {
    section: String,
    offset: u64,
    kind: String,
    symbol: String,
    meaning: String,
}

impl Relocation {
    /// Whether it leads to the part after the body.
    fn is_joint(&self) -> bool {
        LinkSymbol::parse(&self.symbol) == LinkSymbol::Next
    }
}

#[derive(Serialize)]
struct Register {
    number: u32,
    name: String,
    value: u32,
    fields: Vec<(String, u32)>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let place = || args.file.display().to_string();
    let bytes = read_elf(&args.file)?;
    let mut report = inspect(&bytes).at(place)?;
    if !args.no_code {
        report.code = Some(code(&bytes, &report).at(place)?);
    }
    if args.json {
        print_json(&report)?
    } else {
        print(&report)
    }
    Ok(ExitCode::SUCCESS)
}

/// The listing, or the reason why there is none.
fn code(elf: &[u8], report: &Report) -> Result<Vec<String>> {
    let Some(gpu) = report.gpu else {
        return Ok(vec![format!("(no disassembly: the GPU of the e_flags {} is not known)", report.flags)]);
    };
    if !report.sections.iter().any(|section| section.name == ".text") {
        return Ok(vec!["(no code)".to_owned()]);
    }
    listing::listing(elf, report, gpu, report.wave)
}

fn inspect(bytes: &[u8]) -> Result<Report> {
    let broken = |e: object::Error| Error::malformed(e.to_string());
    let file: ElfFile64<'_, LittleEndian> = ElfFile64::parse(bytes).map_err(broken)?;
    let header = file.elf_header();
    if header.e_machine(LittleEndian) != elf::EM_AMDGPU {
        return Err(Error::malformed(format!("e_machine is {}, not AMDGPU", header.e_machine(LittleEndian))));
    }
    let mut report = Report {
        kind: "linked pipeline ELF",
        flags: format!("{:#x}", header.e_flags(LittleEndian)),
        sections: Vec::new(),
        symbols: Vec::new(),
        relocations: Vec::new(),
        metadata: serde_json::Value::Null,
        registers: Vec::new(),
        code: None,
        // Other bits say how the code was compiled.
        gpu: Gpu::of_elf_flags(header.e_flags(LittleEndian).0 & 0xff).ok(),
        wave: None,
    };
    for section in file.sections() {
        let name = section.name().map_err(broken)?.to_owned();
        if name == ".note" {
            let data = section.data().map_err(broken)?;
            let document = Document::parse(note::metadata(data)?)?;
            let target = report.gpu.unwrap_or_default();
            report.registers = registers_of(&document, target)?;
            report.metadata = json(&rmpv::Value::Map(document.pipeline.clone()));
            if unlinked_key(&document.pipeline).is_some() {
                report.kind = "unlinked stage ELF";
            }
            // With the names of the fields, which the file does not have. Other generations of the format are shown as they are.
            let interface = interface_of(&document, target).ok();
            if let (Some(shown), Some(interface)) = (report.metadata.get_mut(INTERFACE_KEY), interface) {
                report.wave = Some(interface.wave);
                *shown = serde_json::to_value(interface).map_err(|e| Error::bug(e.to_string()))?;
            }
        }
        for (offset, relocation) in section.relocations() {
            report.relocations.push(describe(&file, &name, offset, &relocation));
        }
        let (offset, size) = section.file_range().unwrap_or_default();
        let kind = format!("{:?}", section.kind());
        report.sections.push(Section { name, kind, offset, size, align: section.align() });
    }
    for symbol in file.symbols() {
        let section = symbol.section_index().and_then(|i| file.section_by_index(i).ok());
        if symbol.kind() == SymbolKind::Section && symbol.size() == 0 {
            continue;
        }
        report.symbols.push(Symbol {
            name: symbol.name().unwrap_or_default().to_owned(),
            section: section.and_then(|s| s.name().ok().map(str::to_owned)),
            value: symbol.address(),
            size: symbol.size(),
            global: symbol.is_global(),
        });
    }
    report.symbols.sort_by(|a, b| (&a.section, a.value, &a.name).cmp(&(&b.section, b.value, &b.name)));
    Ok(report)
}

fn describe(
    file: &ElfFile64<'_, LittleEndian>,
    section: &str,
    offset: u64,
    relocation: &object::Relocation,
) -> Relocation {
    let number = match relocation.flags() {
        RelocationFlags::Elf { r_type } => r_type.0,
        _ => 0,
    };
    let symbol = match relocation.target() {
        RelocationTarget::Symbol(i) => file.symbol_by_index(i).ok(),
        _ => None,
    };
    let undefined = symbol.as_ref().is_some_and(|s| s.is_undefined());
    let name = symbol.as_ref().and_then(|s| s.name().ok()).unwrap_or_default().to_owned();
    let name = match symbol.as_ref().and_then(|s| s.section_index()).filter(|_| name.is_empty()) {
        Some(i) => file.section_by_index(i).ok().and_then(|s| s.name().ok().map(str::to_owned)).unwrap_or_default(),
        None => name,
    };
    let meaning = if undefined { meaning(&LinkSymbol::parse(&name)) } else { "address in this file".into() };
    let kind = kind::RelocKind::from_number(number).map_or_else(|_| format!("type {number}"), |k| format!("{k:?}"));
    Relocation { section: section.to_owned(), offset, kind, symbol: name, meaning }
}

fn meaning(symbol: &LinkSymbol) -> String {
    match symbol {
        LinkSymbol::DescriptorOffset { set, binding, part } => {
            format!("byte offset of the {part:?} descriptor of set {set} binding {binding}").to_lowercase()
        }
        LinkSymbol::DescriptorStride { set, binding } => {
            format!("descriptor stride in bytes of set {set} binding {binding}")
        }
        LinkSymbol::UsesSpill { set, binding } => format!("1 if set {set} binding {binding} is in the root table"),
        LinkSymbol::RootBuffers => "1 if a buffer of the part is in the root table".into(),
        LinkSymbol::SetPointer(set) => format!("byte offset in the root table of the pointer to set {set}"),
        LinkSymbol::PushConstants => "byte offset in the root table of the push constants".into(),
        LinkSymbol::NumSamples => "sample count".into(),
        LinkSymbol::SamplePattern => "sample pattern index".into(),
        LinkSymbol::DeviceIndex => "index of the device in its group".into(),
        LinkSymbol::Primitive => "kind of primitives: 0 points, 1 lines, 2 triangles".into(),
        LinkSymbol::SpecConstant { id, dword } => format!("dword {dword} of specialization constant {id}"),
        LinkSymbol::Next => "the part that this one continues in".into(),
        LinkSymbol::ShadowTable(_) => "FMASK or its descriptor table, unsupported".into(),
        LinkSymbol::Opaque(_) => "the caller's own".into(),
    }
}

/// The register words of a document. Version 3 names fields instead of words: of its words, only the bits that the
/// named fields and other keys give are known.
fn registers_of(document: &Document, gpu: Gpu) -> Result<Vec<Register>> {
    let found = document.pipeline.iter().find(|(k, _)| k.as_str() == Some(".registers")).and_then(|(_, v)| v.as_map());
    let given = found.into_iter().flatten().filter_map(|(k, v)| {
        let number = |v: &rmpv::Value| u32::try_from(v.as_u64()?).ok();
        Some((number(k)?, number(v)?))
    });
    let words = match document.version {
        Some((3.., _)) => named::registers(document, gpu)?.numbered().collect(),
        _ => given.collect::<Vec<_>>(),
    };
    let register = |(number, value)| {
        let known = Word::of_number(gpu.family(), number).map(|word| (word, gpu.family()));
        let fields = known.into_iter().flat_map(|(word, family)| {
            let fields = word.info().map_or(&[][..], |info| info.fields);
            fields.iter().map(move |f| (f.name.to_owned(), f.of(family, value)))
        });
        let fields = fields.collect();
        let name = known.map_or_else(|| format!("register {number:#x}"), |(word, _)| word.name());
        Register { number, name, value, fields }
    };
    let mut out: Vec<Register> = words.into_iter().map(register).collect();
    out.sort_by_key(|r| r.number);
    Ok(out)
}

/// Converts MessagePack to JSON; keys that are not strings become text.
fn json(value: &rmpv::Value) -> serde_json::Value {
    use serde_json::Value as J;
    match value {
        rmpv::Value::Map(map) => {
            let key = |k: &rmpv::Value| k.as_str().map_or_else(|| k.to_string(), str::to_owned);
            J::Object(map.iter().map(|(k, v)| (key(k), json(v))).collect())
        }
        rmpv::Value::Array(list) => J::Array(list.iter().map(json).collect()),
        rmpv::Value::Boolean(b) => J::Bool(*b),
        rmpv::Value::Nil => J::Null,
        rmpv::Value::Integer(i) => i.as_u64().map(J::from).or_else(|| i.as_i64().map(J::from)).unwrap_or(J::Null),
        other => J::String(other.as_str().map_or_else(|| other.to_string(), str::to_owned)),
    }
}

fn print(report: &Report) {
    let gpu = report.gpu.map_or_else(|| "an unknown GPU".to_owned(), |gpu| gpu.to_string());
    println!("{} for {gpu}, e_flags {}", report.kind, report.flags);
    println!("\nsections");
    for s in &report.sections {
        println!("  {:<24} {:<18} offset {:#08x} size {:>7} align {}", s.name, s.kind, s.offset, s.size, s.align);
    }
    println!("\nsymbols");
    for s in &report.symbols {
        let section = s.section.as_deref().unwrap_or("undefined");
        println!(
            "  {:<36} {section:<12} {:#08x} size {:>6} {}",
            s.name,
            s.value,
            s.size,
            if s.global { "global" } else { "local" }
        );
    }
    println!("\nrelocations ({})", report.relocations.len());
    for r in &report.relocations {
        println!("  {}+{:#06x} {:<18} {:<20} {}", r.section, r.offset, r.kind, r.symbol, r.meaning);
    }
    println!("\nmetadata");
    let text = serde_json::to_string_pretty(&without_registers(&report.metadata)).unwrap_or_default();
    text.lines().for_each(|l| println!("  {l}"));
    println!("\nregisters");
    for r in &report.registers {
        println!("  {:#06x} {:<28} {:#010x}", r.number, r.name, r.value);
        for (field, value) in r.fields.iter().filter(|(_, v)| *v != 0) {
            println!("         {field} = {value}");
        }
    }
    if let Some(code) = &report.code {
        println!("\ncode");
        code.iter().for_each(|l| println!("{l}"));
    }
}

/// Registers have their own table.
fn without_registers(metadata: &serde_json::Value) -> serde_json::Value {
    let mut out = metadata.clone();
    if let Some(map) = out.as_object_mut() {
        map.remove(".registers");
    }
    out
}
