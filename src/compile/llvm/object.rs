//! Reads LLVM's object file into [`MachineCode`].
//!
//! LLVM writes a relocatable ELF with its own metadata note. This reads the code without the padding after it, the
//! read-only data, relocations, and the note's counts and register words. Anything else is a bug.

use super::emit::processor;
use super::written;
use dovetail_base::elf::{Elf, Home, MACHINE, OSABI_PAL, RELOCATABLE, Section, Symbol, shf, sht, stt};
use dovetail_base::error::{Context, Error, Result};
use dovetail_isa::Isa;
use dovetail_metadata::document::Document;
use dovetail_metadata::interface::StageInterface;
use dovetail_metadata::{note, read_unlinked};
use dovetail_passes::backend::{
    ConstantData, DataAddress, DataName, FunctionSymbol, MachineCode, Patch, PatchTarget, Results,
};
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;

const TEXT: &str = ".text";
const REL_TEXT: &str = ".rel.text";
const NOTE: &str = ".note";
/// Bits of the flags that say which GPU it is (`EF_AMDGPU_MACH`). For gfx1010 to gfx1013 LLVM adds that XNACK may be on or off.
const GPU: u32 = 0xff;
const RODATA: &str = ".rodata";
/// Prefix of the names of sections of mergeable constants; the size of an entry follows.
const MERGEABLE: &str = ".rodata.cst";

/// Reads an object of one stage's body.
///
/// # Errors
/// Bug: the object is not what our use of LLVM produces (another machine, no body at the start of `.text`, code or data
/// in other sections), or its metadata cannot be read.
pub(super) fn read(object: &[u8], interface: &StageInterface) -> Result<MachineCode> {
    // Errors in the object are never the fault of the user's input.
    let bug = |e: Error| Error::bug(format!("LLVM's object: {e}"));
    let elf = Elf::parse(object).map_err(bug)?;
    let flags = processor(interface.target).elf_flags();
    if (elf.os_abi, elf.machine, elf.file_type, elf.flags & GPU) != (OSABI_PAL, MACHINE, RELOCATABLE, flags) {
        return Err(Error::bug(format!("LLVM's object is not a relocatable one of PAL's for {}", interface.target)));
    }
    let (text_index, text) = elf.section(TEXT).ok_or_else(|| Error::bug("LLVM's object has no .text"))?;
    let body = body(&elf, interface, text_index, text)?;
    let mut code = MachineCode {
        code: text.data.get(..body.size as usize).unwrap_or_default().to_vec(),
        functions: vec![body],
        // LLVM aligns loops in the code to lines of the instruction cache.
        align: interface.target.facts().code_line,
        ..MachineCode::new(interface.target.family())
    };
    let tables = read_data(&elf, &mut code)?;
    read_patches(&elf, &tables, &mut code).map_err(bug)?;
    read_note(&elf, interface, &mut code).map_err(bug)?;
    if interface.epilog {
        let written = written::vgprs(interface, &code.code, &code.registers).at(|| "LLVM's object")?;
        code.results = written.map_or(Results::InOrder, Results::Written);
    }
    Ok(code)
}

/// The body: the only function, at the start of `.text`, followed only by padding.
fn body(elf: &Elf<'_>, interface: &StageInterface, text_index: u32, text: &Section<'_>) -> Result<FunctionSymbol> {
    let name = interface.body_symbol();
    let found = elf.symbols.iter().find(|s| s.home == Home::Section(text_index) && s.name == name);
    let body = found.ok_or_else(|| Error::bug(format!("LLVM's object does not define {name}")))?;
    let (start, end) = (body.value, body.value.saturating_add(body.size));
    if start != 0 || !end.is_multiple_of(4) {
        return Err(Error::bug(format!("LLVM's object: the body is at {start:#x}..{end:#x} of {TEXT}")));
    }
    let padding = usize::try_from(end).ok().and_then(|end| text.data.get(end..));
    let padding = padding.ok_or_else(|| Error::bug(format!("LLVM's object: the body leaves {TEXT} at {end:#x}")))?;
    if !padding.chunks(4).all(|word| word == Isa::of(interface.target).words.code_end.to_le_bytes()) {
        return Err(Error::bug("LLVM's object: something else than padding follows the body"));
    }
    let size = u32::try_from(end).map_err(|_| Error::bug("LLVM's object: more than 4 GiB of code"))?;
    Ok(FunctionSymbol { symbol: name.to_owned(), start: 0, size })
}

/// Reads the read-only data and its tables. Returns the index of a table by its symbol number.
fn read_data(elf: &Elf<'_>, code: &mut MachineCode) -> Result<Vec<Option<usize>>> {
    let mut positions = vec![None; elf.sections.len()];
    for (section, position) in elf.sections.iter().zip(&mut positions) {
        if section.is_uploaded() && section.name != TEXT {
            *position = Some(code.constants.len());
            code.constants.push(constants(section)?);
        }
    }
    let mut tables = vec![None; elf.symbols.len()];
    for (symbol, table) in elf.symbols.iter().zip(&mut tables) {
        let Home::Section(section) = symbol.home else { continue };
        let Some(section) = positions.get(section as usize).copied().flatten() else { continue };
        let name = match symbol.kind {
            stt::SECTION if symbol.value == 0 => DataName::Section,
            stt::OBJECT if symbol.local => DataName::Text(symbol.name.to_owned()),
            _ => return Err(Error::bug(format!("LLVM's object: {} in {RODATA} is no local table", symbol.name))),
        };
        let word = |n: u64| u32::try_from(n).map_err(|_| Error::bug("LLVM's object: more than 4 GiB of data"));
        let (start, size) = (word(symbol.value)?, word(symbol.size)?);
        *table = Some(code.tables.len());
        code.tables.push(DataAddress { name, section, start, size });
    }
    Ok(tables)
}

fn constants(section: &Section<'_>) -> Result<ConstantData> {
    let other = || Error::bug(format!("LLVM's object: section {}", section.name));
    let entry = match section.name.strip_prefix(MERGEABLE) {
        Some(size) => Some(size.parse().map_err(|_| other())?),
        None => None,
    };
    let flags = if entry.is_some() { shf::ALLOC | shf::MERGE } else { shf::ALLOC };
    let named = entry.is_some() || section.name == RODATA;
    let sized = section.entry_size == u64::from(entry.unwrap_or(0));
    let align = u32::try_from(section.align).ok().filter(|align| align.is_power_of_two());
    match align {
        Some(align) if named && sized && section.kind == sht::PROGBITS && section.flags == flags => {
            Ok(ConstantData { bytes: section.data.to_vec(), align, entry })
        }
        _ => Err(other()),
    }
}

fn read_patches(elf: &Elf<'_>, tables: &[Option<usize>], code: &mut MachineCode) -> Result<()> {
    for section in &elf.sections {
        if section.kind == sht::RELA || section.kind == sht::REL && section.name != REL_TEXT {
            return Err(Error::bug(format!("relocations in {}", section.name)));
        }
    }
    let Some((_, section)) = elf.section(REL_TEXT) else { return Ok(()) };
    for rel in section.rels()? {
        let kind = RelocKind::from_number(rel.kind)?;
        let offset = u32::try_from(rel.offset).unwrap_or(u32::MAX);
        if offset.saturating_add(kind.bytes()) as usize > code.code.len() {
            return Err(Error::bug(format!("{kind} at {offset:#x} is outside of the body")));
        }
        let table = || tables.get(rel.symbol as usize).copied().flatten();
        let target = match elf.symbol(rel.symbol) {
            Some(Symbol { home: Home::Undefined, name, .. }) if !name.is_empty() => {
                PatchTarget::Link(LinkSymbol::parse(name))
            }
            _ => PatchTarget::Table(table().ok_or_else(|| Error::bug(format!("{kind} at {offset:#x}: no symbol")))?),
        };
        code.patches.push(Patch { offset, kind, target });
    }
    code.patches.sort_by_key(|patch| patch.offset);
    Ok(())
}

fn read_note(elf: &Elf<'_>, interface: &StageInterface, code: &mut MachineCode) -> Result<()> {
    let (_, section) = elf.section(NOTE).ok_or_else(|| Error::bug("no section .note"))?;
    let document = Document::parse(note::metadata(section.data)?)?;
    let notes = read_unlinked::notes_of(&document, interface.target, interface.stage)?;
    if !notes.pipeline.is_empty() {
        return Err(Error::bug(format!("metadata of the whole pipeline: {:?}", notes.pipeline)));
    }
    code.counts = notes.stage;
    code.registers = notes.registers;
    Ok(())
}
