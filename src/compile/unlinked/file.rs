//! Writes machine code as a relocatable ELF with sections, symbols and relocations, in a fixed order, so that equal
//! content gives equal bytes.

use crate::compile::backend::{ConstantData, MachineCode, PatchTarget};
use crate::elf::OSABI_PAL;
use crate::error::{Error, Result};
use crate::reloc::symbol::LinkSymbol;
use crate::target::GfxIp;
use object::Endianness;
use object::elf;
use object::write::elf as out;

/// Name of the note section.
pub(super) const NOTE: &str = ".note";
/// Smallest alignment of code in bytes: that of an instruction.
const CODE_ALIGN: u64 = 4;

/// A section's header, with the object library's constants.
struct Section<'a> {
    name: String,
    kind: elf::SectionType,
    flags: elf::SectionFlags,
    align: u64,
    entry_size: u64,
    bytes: &'a [u8],
}

/// A symbol of the file.
struct Symbol {
    /// Empty for a section symbol.
    name: String,
    info: elf::SymbolInfo,
    /// Section index in the file; `None`: undefined.
    section: Option<u32>,
    value: u32,
    size: u32,
}

/// The file: `.text`, read-only data, `.note`, `.strtab`, `.symtab`, `.rel.text`, `.shstrtab`.
///
/// # Errors
/// Bug: the target of a patch is not in the code.
pub(super) fn write(code: &MachineCode, target: GfxIp, note: &[u8]) -> Result<Vec<u8>> {
    let wrong = |e: object::write::Error| Error::bug(format!("writing the unlinked ELF: {e}"));
    let sections = sections(code, note);
    let (symbols, relocs) = symbols(code)?;
    let mut bytes = Vec::with_capacity(code.code.len() + note.len() + 4096);
    let mut head = Vec::with_capacity(64);
    let mut w = out::Writer::new_single_phase(Endianness::Little, true, &mut bytes);
    w.write_file_header(&out::FileHeader {
        os_abi: elf::OsAbi(OSABI_PAL),
        abi_version: 0,
        e_type: elf::ET_REL,
        e_machine: elf::EM_AMDGPU,
        e_entry: 0,
        e_flags: elf::FileFlags(target.elf_flags()),
    })
    .map_err(wrong)?;

    let mut contents = Vec::with_capacity(sections.len());
    for section in &sections {
        let offset = w.write_align(section.align);
        w.write(section.bytes);
        contents.push((w.add_section_name(section.name.as_bytes()), offset));
    }
    w.write_null_symbol();
    for symbol in &symbols {
        let name = (!symbol.name.is_empty()).then(|| w.add_string(symbol.name.as_bytes()));
        w.write_symbol(&out::Sym {
            section: symbol.section,
            st_name: w.string_offset(name),
            st_info: symbol.info,
            st_other: elf::SymbolOther(0),
            st_shndx: elf::SymbolSection(0),
            st_value: symbol.value.into(),
            st_size: symbol.size.into(),
        });
    }
    let mut rel_section = None;
    if !relocs.is_empty() {
        let offset = w.write_align_relocation();
        for (patch, symbol) in code.patches.iter().zip(&relocs) {
            let (r_sym, r_type) = (*symbol, elf::RelocationType(patch.kind.number()));
            w.write_relocation(false, &out::Rel { r_offset: patch.offset.into(), r_sym, r_type, r_addend: 0 });
        }
        rel_section = Some((w.add_section_name(b".rel.text"), offset));
    }
    w.write_strtab().map_err(wrong)?;
    w.write_shstrtab().map_err(wrong)?;

    w.write_null_section_header();
    for (section, (name, offset)) in sections.iter().zip(contents) {
        w.write_section_header(&out::SectionHeader {
            sh_name: w.section_name_offset(Some(name)),
            sh_type: section.kind,
            sh_flags: section.flags,
            sh_addr: 0,
            sh_offset: offset,
            sh_size: section.bytes.len() as u64,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: section.align,
            sh_entsize: section.entry_size,
        });
    }
    w.write_strtab_section_header();
    // Symbol 0 is local too.
    w.write_symtab_section_header(code.tables.len() as u32 + 1);
    if let Some((name, offset)) = rel_section {
        // After the null section: .text, the constants, .note, .strtab, .symtab.
        let symtab = out::SectionIndex(sections.len() as u32 + 2);
        w.write_relocation_section_header(name, TEXT, symtab, offset, relocs.len(), false);
    }
    w.write_shstrtab_section_header();
    w.write_file_header_to(&mut head).map_err(wrong)?;
    drop(w);
    match bytes.get_mut(..head.len()) {
        Some(start) => start.copy_from_slice(&head),
        None => return Err(Error::bug("the unlinked ELF is shorter than its header")),
    }
    Ok(bytes)
}

/// Index of `.text` in the file; the read-only data follows.
const TEXT: out::SectionIndex = out::SectionIndex(1);

fn sections<'a>(code: &'a MachineCode, note: &'a [u8]) -> Vec<Section<'a>> {
    let text = Section {
        name: ".text".to_owned(),
        kind: elf::SHT_PROGBITS,
        flags: elf::SHF_ALLOC | elf::SHF_EXECINSTR,
        align: CODE_ALIGN.max(code.align.into()),
        entry_size: 0,
        bytes: &code.code,
    };
    let constants = code.constants.iter().map(constant_section);
    let note = Section {
        name: NOTE.to_owned(),
        kind: elf::SHT_NOTE,
        flags: elf::SectionFlags(0),
        align: 4,
        entry_size: 0,
        bytes: note,
    };
    std::iter::once(text).chain(constants).chain([note]).collect()
}

fn constant_section(data: &ConstantData) -> Section<'_> {
    let (name, flags) = match data.entry {
        Some(size) => (format!(".rodata.cst{size}"), elf::SHF_ALLOC | elf::SHF_MERGE),
        None => (".rodata".to_owned(), elf::SHF_ALLOC),
    };
    Section {
        name,
        kind: elf::SHT_PROGBITS,
        flags,
        align: data.align.into(),
        entry_size: data.entry.unwrap_or(0).into(),
        bytes: &data.bytes,
    }
}

/// All symbols except the null symbol: tables, functions, and symbols that the link supplies, in order of first use;
/// and the symbol of each patch, by its number in the file.
fn symbols(code: &MachineCode) -> Result<(Vec<Symbol>, Vec<u32>)> {
    let mut symbols = Vec::new();
    for table in &code.tables {
        let kind = if table.name.is_some() { elf::STT_OBJECT } else { elf::STT_SECTION };
        symbols.push(Symbol {
            name: table.name.clone().unwrap_or_default(),
            info: elf::SymbolInfo::new(elf::STB_LOCAL, kind),
            section: Some(TEXT.0 + 1 + table.section as u32),
            value: table.start,
            size: table.size,
        });
    }
    for function in &code.functions {
        symbols.push(Symbol {
            name: function.symbol.clone(),
            info: elf::SymbolInfo::new(elf::STB_GLOBAL, elf::STT_FUNC),
            section: Some(TEXT.0),
            value: function.start,
            size: function.size,
        });
    }
    let mut external: Vec<&LinkSymbol> = Vec::new();
    let mut numbers = Vec::with_capacity(code.patches.len());
    let (tables, functions) = (code.tables.len(), code.functions.len());
    for patch in &code.patches {
        let position = match &patch.target {
            PatchTarget::Table(table) if *table < tables => *table,
            PatchTarget::Function(function) if *function < functions => tables + function,
            PatchTarget::Link(symbol) => {
                let known = external.iter().position(|s| *s == symbol);
                let position = known.unwrap_or(external.len());
                if known.is_none() {
                    external.push(symbol);
                    symbols.push(Symbol {
                        name: symbol.to_string(),
                        info: elf::SymbolInfo::new(elf::STB_GLOBAL, elf::STT_NOTYPE),
                        section: None,
                        value: 0,
                        size: 0,
                    });
                }
                tables + functions + position
            }
            other => return Err(Error::bug(format!("a patch waits for {other:?}, which the code does not have"))),
        };
        numbers.push(position as u32 + 1);
    }
    Ok((symbols, numbers))
}
