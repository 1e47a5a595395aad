//! Loads a final pipeline ELF into the machine as PAL's loader does (pal-abi 3.4, 3.5, 4).
//!
//! It uses only what PAL's loader reads: sections to upload, relocations, notes, registers. A setting missing from
//! registers and metadata keys is missing here too, so the run exposes a wrong one.

use super::machine::Machine;
use super::mode::Mode;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::{Gpu, HardwareStage, Stage, WaveSize};
use dovetail_metadata::document::{Document, Map, get, submap};
use dovetail_metadata::named;
use dovetail_metadata::note;
use dovetail_metadata::registers::{RegisterWords, StageRegisters};
use dovetail_metadata::schema::MetadataKey;
use object::elf;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags};
use std::collections::BTreeMap;

/// A pipeline in memory.
#[derive(Clone, Debug)]
pub struct LoadedPipeline {
    /// The GPU that it is for.
    pub gpu: Gpu,
    /// Its hardware stages.
    pub stages: BTreeMap<Stage, StageCode>,
    /// Register words.
    pub registers: RegisterWords,
    /// First root dword that the code reads from the spill table.
    pub spill_threshold: u32,
    /// Its code parts (prolog, body, epilog), by address.
    pub parts: Vec<CodePart>,
}

/// A part of a stage's code, identified by its symbol; it extends to the next part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePart {
    /// Address of its first byte.
    pub start: u64,
    /// Its offset in the code's section.
    pub offset: u64,
    /// Its symbol.
    pub symbol: String,
    /// Prolog, body or epilog.
    pub role: &'static str,
}

/// Finds the parts by symbol. A stage's own symbol names its first part, which is a prolog if the body has a symbol of
/// its own.
fn parts(gpu: Gpu, file: &ElfFile64<'_, LittleEndian>, places: &Places) -> Vec<CodePart> {
    let text: Vec<_> = file.symbols().filter(|s| s.kind() == object::SymbolKind::Text).collect();
    let has = |name: &str| text.iter().any(|symbol| symbol.name() == Ok(name));
    let stages: Vec<HardwareStage> = gpu.family().hardware_stages().map(|stage| stage.hardware).collect();
    let role = |name: &str| match stages.iter().find(|stage| stage.entry_symbol() == name) {
        Some(stage) if stage.unlinked_symbol() != name && has(stage.unlinked_symbol()) => "prolog",
        Some(_) => "body",
        None if stages.iter().any(|stage| stage.unlinked_symbol() == name) => "body",
        None => "epilog",
    };
    let part = |symbol: &object::read::elf::ElfSymbol64<'_, '_, LittleEndian>| {
        let start = places.get(&symbol.section_index()?.0)?.checked_add(symbol.address())?;
        let name = symbol.name().ok()?;
        Some(CodePart { start, offset: symbol.address(), symbol: name.to_owned(), role: role(name) })
    };
    let mut parts: Vec<CodePart> = text.iter().filter_map(part).collect();
    parts.sort_by_key(|part| part.start);
    parts
}

/// One stage of a pipeline.
#[derive(Clone, Debug)]
pub struct StageCode {
    /// The hardware stage.
    pub hardware: HardwareStage,
    /// Address of the first instruction.
    pub entry: u64,
    /// Wave size.
    pub wave: WaveSize,
    /// The user-data entry of each user-data SGPR, in PAL's numbers; RSRC2 gives the count.
    pub user_data: Vec<u32>,
    /// Vector registers per wave.
    pub vgprs: usize,
    /// Scratch bytes per lane; 0 if RSRC2 does not enable scratch.
    pub scratch: u32,
    /// Initial MODE.
    pub mode: Mode,
}

impl LoadedPipeline {
    /// Loads an ELF into the memory of a machine.
    ///
    /// # Errors
    /// Malformed: an ELF that the loader rejects. Unsupported: it is for a GPU that executes other code than the machine.
    pub fn load(machine: &mut Machine, bytes: &[u8]) -> Result<Self> {
        let gpu = Gpu::of_elf(bytes)?;
        if gpu.family() != machine.gpu().family() {
            return Err(Error::unsupported(format!("code for {gpu} on {}", machine.gpu()), "another instruction set"));
        }
        let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(|e| Error::malformed(format!("no ELF: {e}")))?;
        let places = upload(machine, &file)?;
        let notes = file.sections().find(|s| s.kind() == object::SectionKind::Note);
        let notes = notes.ok_or_else(|| Error::malformed("no notes"))?;
        let notes = notes.data().map_err(|e| Error::malformed(format!("notes: {e}")))?;
        let document = Document::parse(note::metadata(notes)?)?;
        let registers = named::loaded(&document, gpu)?;
        let pipeline = document.pipeline;
        let mut stages = BTreeMap::new();
        for (stage, hardware) in gpu.family().api_stages() {
            let all = submap(&pipeline, MetadataKey::HardwareStages.name())?;
            let Some(own) = all.map(|all| submap(all, hardware.key())).transpose()?.flatten() else { continue };
            let symbol = file.symbols().find(|symbol| symbol.name() == Ok(hardware.entry_symbol()));
            let symbol = symbol.ok_or_else(|| Error::malformed(format!("no symbol {}", hardware.entry_symbol())))?;
            let place = symbol.section_index().and_then(|section| places.get(&section.0));
            let place = place.ok_or_else(|| Error::malformed(format!("{stage} code is not uploaded")))?;
            let code =
                stage_code(gpu, hardware, own, &registers, place.wrapping_add(symbol.address())).at(|| stage.name())?;
            stages.insert(stage, code);
        }
        let spill_threshold = number(&pipeline, MetadataKey::SpillThreshold)?.unwrap_or(u32::MAX);
        Ok(Self { gpu, stages, registers, spill_threshold, parts: parts(gpu, &file, &places) })
    }
}

fn uint(value: &rmpv::Value) -> Option<u32> {
    value.as_u64()?.try_into().ok()
}

fn number(map: &Map, key: MetadataKey) -> Result<Option<u32>> {
    get(map, key.name())
        .map(|value| uint(value).ok_or_else(|| Error::malformed(format!("metadata: {} is {value}", key.name()))))
        .transpose()
}

fn stage_code(
    gpu: Gpu,
    hardware: HardwareStage,
    own: &Map,
    registers: &RegisterWords,
    entry: u64,
) -> Result<StageCode> {
    let fields = StageRegisters::of(hardware)?;
    let wave = WaveSize::try_from(number(own, MetadataKey::WavefrontSize)?.unwrap_or(64))?;
    let count = registers.field(fields.user_sgpr) + 32 * fields.user_sgpr_msb.map_or(0, |field| registers.field(field));
    let not_mapped = dovetail_metadata::user_data::pal::NOT_MAPPED;
    let slot = |n| registers.get(fields.user_data.nth(n)).unwrap_or(not_mapped);
    let rsrc1 = registers.get(fields.float_mode.register());
    let rsrc1 = rsrc1.ok_or_else(|| Error::malformed(format!("no {}", fields.float_mode.register().name())))?;
    // PAL sets DX10_CLAMP itself; IEEE is bit 23 of RSRC1 in every stage.
    let mode = registers.field(fields.float_mode) | 1 << 8 | (rsrc1 >> 23 & 1) << 9;
    let scratch = if registers.field(fields.scratch_en) == 1 {
        number(own, MetadataKey::ScratchMemorySize)?.unwrap_or(0)
    } else {
        0
    };
    Ok(StageCode {
        hardware,
        entry,
        wave,
        user_data: (0..count).map(slot).collect(),
        vgprs: (registers.field(fields.vgprs) as usize + 1) * gpu.facts().vgpr_unit(wave) as usize,
        scratch,
        mode: Mode(mode),
    })
}

/// Relocation types.
mod r {
    pub const ABS32_LO: u32 = 1;
    pub const ABS32_HI: u32 = 2;
    pub const ABS64: u32 = 3;
    pub const REL32: u32 = 4;
    pub const REL64: u32 = 5;
    pub const ABS32: u32 = 6;
    pub const REL32_LO: u32 = 10;
    pub const REL32_HI: u32 = 11;
}

/// Address of each uploaded section.
type Places = BTreeMap<usize, u64>;

fn upload(machine: &mut Machine, file: &ElfFile64<'_, LittleEndian>) -> Result<Places> {
    let uploaded = |section: &object::read::elf::ElfSection64<'_, '_, LittleEndian>| match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & elf::SHF_ALLOC.0 != 0,
        _ => false,
    };
    let mut image = Vec::new();
    let mut offsets = BTreeMap::new();
    for section in file.sections().filter(uploaded) {
        let align = usize::try_from(section.align().max(1)).ok().filter(|align| *align <= 0x1_0000);
        let align = align.ok_or_else(|| Error::malformed("a section with an absurd alignment"))?;
        image.resize(image.len().next_multiple_of(align), 0);
        offsets.insert(section.index().0, image.len());
        image.extend_from_slice(section.data().map_err(|e| Error::malformed(format!("a section: {e}")))?);
    }
    // Reading a quadword at the last dword must stay inside.
    image.extend([0; 4]);
    let base = machine.alloc(image.len())?;
    let places: Places = offsets.iter().map(|(index, offset)| (*index, base + *offset as u64)).collect();
    for section in file.sections().filter(uploaded) {
        let Some(&start) = offsets.get(&section.index().0) else { continue };
        for (offset, relocation) in section.relocations() {
            let at = usize::try_from(offset).ok().and_then(|offset| start.checked_add(offset));
            let word = at.and_then(|at| image.get_mut(at..at.checked_add(8)?).map(|bytes| (at, bytes)));
            let (at, bytes) = word.ok_or_else(|| Error::malformed("a relocation beyond its section"))?;
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                return Err(Error::malformed("a relocation without a symbol"));
            };
            let symbol = file.symbol_by_index(symbol).map_err(|e| Error::malformed(format!("a relocation: {e}")))?;
            let home = symbol.section_index().and_then(|section| places.get(&section.0));
            let home = home.ok_or_else(|| {
                Error::malformed(format!("relocation against {}, which is nowhere", symbol.name().unwrap_or("?")))
            })?;
            let implicit = if relocation.has_implicit_addend() {
                i64::from(super::access::number(&bytes[..4]) as i32)
            } else {
                relocation.addend()
            };
            let value = home.wrapping_add(symbol.address()).wrapping_add_signed(implicit);
            let relative = value.wrapping_sub(base + at as u64);
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                return Err(Error::malformed("a relocation of no type"));
            };
            match r_type.0 {
                r::ABS32_LO | r::ABS32 => bytes[..4].copy_from_slice(&value.to_le_bytes()[..4]),
                r::ABS32_HI => bytes[..4].copy_from_slice(&value.to_le_bytes()[4..]),
                r::REL32 | r::REL32_LO => {
                    bytes[..4].copy_from_slice(&relative.to_le_bytes()[..4]);
                }
                r::REL32_HI => bytes[..4].copy_from_slice(&relative.to_le_bytes()[4..]),
                r::ABS64 => bytes.copy_from_slice(&value.to_le_bytes()),
                r::REL64 => bytes.copy_from_slice(&relative.to_le_bytes()),
                other => return Err(Error::malformed(format!("relocation type {other}"))),
            }
        }
    }
    machine.write(base, &image)?;
    machine.mark_code(base, &image);
    Ok(places)
}
