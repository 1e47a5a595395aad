//! A relocatable AMDGPU ELF in memory: what of it the linker needs, read and written.
//!
//! Kept are the sections that are loaded, with their relocations, the symbols that name or need them, and the notes. What
//! the file format wants besides (string tables, section headers) is made anew, always in the same order, so that equal
//! content gives equal bytes.

use crate::error::{Error, Result};
use crate::target::GfxIp;
use object::elf;
use object::read::elf::{FileHeader as _, Rel as _, SectionHeader as _, Sym as _};
use object::write::elf as out;
use object::{Endianness, SectionIndex, SymbolIndex};
use std::borrow::Cow;

/// `e_ident[EI_OSABI]` of PAL.
const ELFOSABI_AMDGPU_PAL: elf::OsAbi = elf::OsAbi(65);
const NOTE: &str = ".note";

/// The parts of an object.
#[derive(Debug)]
pub(super) struct ObjectFile<'a> {
    flags: u32,
    /// What is loaded.
    pub sections: Vec<Section<'a>>,
    /// Local ones first.
    pub symbols: Vec<Symbol<'a>>,
    /// Content of `.note`.
    pub note: Vec<u8>,
}

/// A section that is loaded.
#[derive(Debug)]
pub(super) struct Section<'a> {
    name: &'a str,
    kind: elf::SectionType,
    flags: elf::SectionFlags,
    align: u64,
    entry_size: u64,
    /// Bytes.
    pub data: Cow<'a, [u8]>,
    /// In the order of the file.
    pub relocs: Vec<Reloc>,
}

/// A relocation; its addend is in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reloc {
    /// In its section.
    pub offset: u64,
    /// `R_AMDGPU_*`.
    pub kind: u32,
    /// Position in the list of symbols.
    pub symbol: usize,
}

/// A symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol<'a> {
    /// Name; empty for a section's own.
    pub name: &'a str,
    info: elf::SymbolInfo,
    other: elf::SymbolOther,
    /// Position in the list of sections; none: undefined.
    pub section: Option<usize>,
    /// Offset in its section.
    pub value: u64,
    /// Bytes.
    pub size: u64,
}

impl Symbol<'_> {
    /// One that somebody else defines.
    pub fn undefined(name: &str) -> Symbol<'_> {
        let info = elf::SymbolInfo::new(elf::STB_GLOBAL, elf::STT_NOTYPE);
        Symbol { name, info, other: elf::SymbolOther(0), section: None, value: 0, size: 0 }
    }

    fn is_local(&self) -> bool {
        self.info.st_bind() == elf::STB_LOCAL
    }
}

impl<'a> ObjectFile<'a> {
    /// Reads an object for this target.
    pub fn read(bytes: &'a [u8], target: GfxIp) -> Result<Self> {
        let wrong = |e: object::Error| Error::bug(format!("object file: {e}"));
        let le = Endianness::Little;
        let header = elf::FileHeader64::<Endianness>::parse(bytes).map_err(wrong)?;
        let flags = header.e_flags(le).0;
        let osabi = header.e_ident().os_abi;
        if header.endian().map_err(wrong)? != le
            || header.e_machine(le) != elf::EM_AMDGPU
            || header.e_type(le) != elf::ET_REL
            || osabi != ELFOSABI_AMDGPU_PAL
            || flags != target.elf_flags()
        {
            return Err(Error::bug(format!("object file: not a relocatable one of PAL's for {target}")));
        }
        let table = header.sections(le, bytes).map_err(wrong)?;
        let text =
            |name: &'a [u8]| std::str::from_utf8(name).map_err(|_| Error::bug("object file: a name is no UTF-8"));

        // Positions in our lists by the file's indices.
        let mut kept = vec![None; table.len()];
        let (mut sections, mut note) = (Vec::new(), Vec::new());
        for (index, section) in table.enumerate() {
            let name = text(table.section_name(le, section).map_err(wrong)?)?;
            let loaded = section.sh_flags(le).0 & elf::SHF_ALLOC.0 != 0;
            if name == NOTE {
                note = section.data(le, bytes).map_err(wrong)?.to_vec();
            }
            if !loaded || section.sh_type(le) != elf::SHT_PROGBITS {
                if loaded {
                    return Err(Error::bug(format!("object file: section {name} is loaded, but holds no bytes")));
                }
                continue;
            }
            if let Some(slot) = kept.get_mut(index.0) {
                *slot = Some(sections.len());
            }
            sections.push(Section {
                name,
                kind: section.sh_type(le),
                flags: section.sh_flags(le),
                align: section.sh_addralign(le),
                entry_size: section.sh_entsize(le),
                data: Cow::Borrowed(section.data(le, bytes).map_err(wrong)?),
                relocs: Vec::new(),
            });
        }
        let ours = |index: SectionIndex| kept.get(index.0).copied().flatten();

        let symtab = table.symbols(le, bytes, elf::SHT_SYMTAB).map_err(wrong)?;
        let mut symbols = Vec::new();
        let mut numbers = vec![None; symtab.len()];
        for local in [true, false] {
            for (index, symbol) in symtab.enumerate().filter(|(i, _)| i.0 != 0) {
                let section = symtab.symbol_section(le, symbol, index).map_err(wrong)?;
                let section = match section {
                    Some(section) => match ours(section) {
                        Some(section) => Some(section),
                        None => continue,
                    },
                    None if symbol.st_shndx(le) == elf::SHN_UNDEF => None,
                    None => return Err(Error::bug("object file: an absolute or common symbol")),
                };
                if (symbol.st_bind() == elf::STB_LOCAL) != local {
                    continue;
                }
                if let Some(number) = numbers.get_mut(index.0) {
                    *number = Some(symbols.len());
                }
                symbols.push(Symbol {
                    name: text(symtab.symbol_name(le, symbol).map_err(wrong)?)?,
                    info: symbol.st_info(),
                    other: symbol.st_other(),
                    section,
                    value: symbol.st_value(le),
                    size: symbol.st_size(le),
                });
            }
        }

        for section in table.iter() {
            let target = SectionIndex(section.sh_info(le) as usize);
            if section.sh_type(le) == elf::SHT_RELA {
                return Err(Error::bug("object file: relocations with addends"));
            }
            let (Some((relocs, _)), Some(target)) = (section.rel(le, bytes).map_err(wrong)?, ours(target)) else {
                continue;
            };
            for reloc in relocs {
                let symbol = reloc.symbol(le).and_then(|SymbolIndex(n)| numbers.get(n).copied().flatten());
                let symbol = symbol.ok_or_else(|| Error::bug("object file: a relocation without a symbol"))?;
                let reloc = Reloc { offset: reloc.r_offset(le), kind: reloc.r_type(le).0, symbol };
                if let Some(section) = sections.get_mut(target) {
                    section.relocs.push(reloc);
                }
            }
        }
        Ok(Self { flags, sections, symbols, note })
    }

    /// The position of a section.
    pub fn section(&self, name: &str) -> Result<usize> {
        let found = self.sections.iter().position(|s| s.name == name);
        found.ok_or_else(|| Error::bug(format!("object file: no section {name}")))
    }

    /// Adds a global symbol, or finds it.
    pub fn add_symbol(&mut self, symbol: Symbol<'a>) -> usize {
        let found = self.symbols.iter().position(|s| s.name == symbol.name && !s.is_local());
        found.unwrap_or_else(|| {
            self.symbols.push(symbol);
            self.symbols.len() - 1
        })
    }

    /// The file: loaded sections, `.note`, `.strtab`, `.symtab`, relocations, `.shstrtab`.
    pub fn write(&self) -> Result<Vec<u8>> {
        let wrong = |e: object::write::Error| Error::bug(format!("writing the unlinked ELF: {e}"));
        let rel_names: Vec<String> = self.sections.iter().map(|s| format!(".rel{}", s.name)).collect();
        let mut bytes = Vec::new();
        let mut head = Vec::new();
        let mut w = out::Writer::new_single_phase(Endianness::Little, true, &mut bytes);
        w.write_file_header(&out::FileHeader {
            os_abi: ELFOSABI_AMDGPU_PAL,
            abi_version: 0,
            e_type: elf::ET_REL,
            e_machine: elf::EM_AMDGPU,
            e_entry: 0,
            e_flags: elf::FileFlags(self.flags),
        })
        .map_err(wrong)?;

        let mut contents = Vec::new();
        for section in &self.sections {
            let offset = w.write_align(section.align.max(1));
            w.write(&section.data);
            contents.push((w.add_section_name(section.name.as_bytes()), offset));
        }
        let note = (w.add_section_name(NOTE.as_bytes()), w.write_align(4));
        w.write(&self.note);

        w.write_null_symbol();
        for symbol in &self.symbols {
            let name = (!symbol.name.is_empty()).then(|| w.add_string(symbol.name.as_bytes()));
            w.write_symbol(&out::Sym {
                // Behind the null section.
                section: symbol.section.map(|s| s as u32 + 1),
                st_name: w.string_offset(name),
                st_info: symbol.info,
                st_other: symbol.other,
                st_shndx: elf::SymbolSection(0),
                st_value: symbol.value,
                st_size: symbol.size,
            });
        }
        let mut rels = Vec::new();
        for ((i, section), name) in self.sections.iter().enumerate().zip(&rel_names) {
            if section.relocs.is_empty() {
                continue;
            }
            let offset = w.write_align_relocation();
            for reloc in &section.relocs {
                let (r_sym, r_type) = (reloc.symbol as u32 + 1, elf::RelocationType(reloc.kind));
                w.write_relocation(false, &out::Rel { r_offset: reloc.offset, r_sym, r_type, r_addend: 0 });
            }
            rels.push((w.add_section_name(name.as_bytes()), i, offset, section.relocs.len()));
        }
        w.write_strtab().map_err(wrong)?;
        // The writer names the table itself, and only at its header.
        w.write_shstrtab().map_err(wrong)?;

        w.write_null_section_header();
        for (section, (name, offset)) in self.sections.iter().zip(contents) {
            w.write_section_header(&out::SectionHeader {
                sh_name: w.section_name_offset(Some(name)),
                sh_type: section.kind,
                sh_flags: section.flags,
                sh_addr: 0,
                sh_offset: offset,
                sh_size: section.data.len() as u64,
                sh_link: 0,
                sh_info: 0,
                sh_addralign: section.align,
                sh_entsize: section.entry_size,
            });
        }
        w.write_section_header(&out::SectionHeader {
            sh_name: w.section_name_offset(Some(note.0)),
            sh_type: elf::SHT_NOTE,
            sh_flags: elf::SectionFlags(0),
            sh_addr: 0,
            sh_offset: note.1,
            sh_size: self.note.len() as u64,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: 4,
            sh_entsize: 0,
        });
        w.write_strtab_section_header();
        let locals = self.symbols.iter().filter(|s| s.is_local()).count();
        w.write_symtab_section_header(locals as u32 + 1);
        let symtab = out::SectionIndex(self.sections.len() as u32 + 3);
        for (name, section, offset, count) in rels {
            let section = out::SectionIndex(section as u32 + 1);
            w.write_relocation_section_header(name, section, symtab, offset, count, false);
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
}
