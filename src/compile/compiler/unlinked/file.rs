//! Writes machine code as a relocatable ELF with sections, symbols and relocations, in a fixed order, so that equal
//! content gives equal bytes.

use crate::unlinked::strings::Strings;
use dovetail_base::elf::OSABI_PAL;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Gpu;
use dovetail_base::workspace::{Kept, List, take};
use dovetail_passes::backend::{DataName, MachineCode, PatchTarget};
use dovetail_reloc::symbol::LinkSymbol;
use object::elf::{self, FileHeader64, Rel64, SectionHeader64, Sym64};
use object::pod::{Pod, bytes_of};
use object::{LittleEndian as LE, U16, U32, U64};
use std::fmt;
use std::mem::size_of;

/// Name of the note section.
pub(super) const NOTE: &str = ".note";
/// Smallest alignment of code in bytes: that of an instruction.
const CODE_ALIGN: u64 = 4;
/// Alignment of the tables of symbols, relocations and section headers.
const TABLE_ALIGN: u64 = 8;
/// Index of `.text` in the file; the read-only data follows.
const TEXT: u32 = 1;
/// Limit of sections with constants: more than a code generator makes, and fewer than an ELF file can have.
const MAX_CONSTANTS: usize = 1 << 12;

/// What a section's header says.
#[derive(Clone, Copy)]
struct Section {
    /// Offset of its name.
    name: u32,
    kind: elf::SectionType,
    flags: elf::SectionFlags,
    offset: usize,
    size: usize,
    link: u32,
    info: u32,
    align: u64,
    entry_size: usize,
}

/// The header of bytes that are not loaded.
const PLAIN: Section = Section {
    name: 0,
    kind: elf::SHT_PROGBITS,
    flags: elf::SectionFlags(0),
    offset: 0,
    size: 0,
    link: 0,
    info: 0,
    align: 1,
    entry_size: 0,
};

/// A symbol of the file.
struct Symbol {
    /// Offset of its name; 0 for a section symbol.
    name: u32,
    info: elf::SymbolInfo,
    /// Section index in the file; 0: undefined.
    section: u32,
    value: u32,
    size: u32,
}

/// The file: `.text`, read-only data, `.note`, `.symtab`, `.rel.text`, `.strtab`.
///
/// # Errors
/// Bug: the target of a patch is not in the code.
pub(super) fn write(code: &MachineCode, target: Gpu, note: &[u8]) -> Result<Vec<u8>> {
    if code.constants.len() > MAX_CONSTANTS {
        return Err(Error::bug("too many sections of constants for an unlinked ELF"));
    }
    let mut names = take::<Strings>();
    let (symbols, relocs) = symbols(code, &mut names)?;
    let tables = symbols.len() * size_of::<Sym64<LE>>() + relocs.len() * size_of::<Rel64<LE>>() + names.len();
    // With alignment, headers and names of sections.
    let constants: usize = code.constants.iter().map(|data| data.bytes.len() + data.align as usize + 128).sum();
    let mut w = Writer {
        bytes: Vec::with_capacity(code.code.len() + constants + note.len() + tables + 1024),
        headers: List::default(),
        names,
    };
    w.bytes.resize(size_of::<FileHeader64<LE>>(), 0);

    let flags = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
    w.section(".text", Section { flags, align: CODE_ALIGN.max(code.align.into()), ..PLAIN }, &code.code);
    for data in &code.constants {
        let header = Section { flags: elf::SHF_ALLOC, align: data.align.into(), ..PLAIN };
        match data.entry {
            Some(size) => {
                let flags = elf::SHF_ALLOC | elf::SHF_MERGE;
                let header = Section { flags, entry_size: size as usize, ..header };
                w.section(format_args!(".rodata.cst{size}"), header, &data.bytes);
            }
            None => w.section(".rodata", header, &data.bytes),
        }
    }
    w.section(NOTE, Section { kind: elf::SHT_NOTE, align: 4, ..PLAIN }, note);

    // After the null section's.
    let symtab = w.headers.len() as u32 + 1;
    let strtab = symtab + 1 + u32::from(!relocs.is_empty());
    // Symbol 0 is local too.
    w.symbols(&symbols, Section { link: strtab, info: code.tables.len() as u32 + 1, ..PLAIN });
    if !relocs.is_empty() {
        w.relocations(code, &relocs, Section { flags: elf::SHF_INFO_LINK, link: symtab, info: TEXT, ..PLAIN });
    }
    w.finish(target)
}

/// A file that is being written.
struct Writer {
    bytes: Vec<u8>,
    /// Headers of the sections after the null section.
    headers: List<Section>,
    /// Names of symbols and sections.
    names: Kept<Strings>,
}

impl Writer {
    /// Starts a section here.
    fn start(&mut self, name: impl fmt::Display, header: Section) -> Section {
        self.bytes.resize(self.bytes.len().next_multiple_of(header.align.max(1) as usize), 0);
        Section { name: self.names.add(name), offset: self.bytes.len(), ..header }
    }

    /// Ends a section here.
    fn end(&mut self, section: Section) {
        self.headers.push(Section { size: self.bytes.len() - section.offset, ..section });
    }

    fn put<T: Pod>(&mut self, part: &T) {
        self.bytes.extend_from_slice(bytes_of(part));
    }

    fn section(&mut self, name: impl fmt::Display, header: Section, content: &[u8]) {
        let section = self.start(name, header);
        self.bytes.extend_from_slice(content);
        self.end(section);
    }

    fn symbols(&mut self, symbols: &[Symbol], header: Section) {
        let entry_size = size_of::<Sym64<LE>>();
        let header = Section { kind: elf::SHT_SYMTAB, align: TABLE_ALIGN, entry_size, ..header };
        let section = self.start(".symtab", header);
        self.bytes.resize(section.offset + entry_size, 0);
        for symbol in symbols {
            self.put(&Sym64 {
                st_name: U32::new(LE, symbol.name),
                st_info: symbol.info,
                st_other: elf::SymbolOther(0),
                st_shndx: U16::new(LE, elf::SymbolSection(symbol.section as u16)),
                st_value: U64::new(LE, symbol.value.into()),
                st_size: U64::new(LE, symbol.size.into()),
            });
        }
        self.end(section);
    }

    fn relocations(&mut self, code: &MachineCode, symbols: &[u32], header: Section) {
        let entry_size = size_of::<Rel64<LE>>();
        let header = Section { kind: elf::SHT_REL, align: TABLE_ALIGN, entry_size, ..header };
        let section = self.start(".rel.text", header);
        for (patch, symbol) in code.patches.iter().zip(symbols) {
            let kind = elf::RelocationType(patch.kind.number());
            self.put(&Rel64 {
                r_offset: U64::new(LE, patch.offset.into()),
                r_info: Rel64::<LE>::r_info(LE, *symbol, kind),
            });
        }
        self.end(section);
    }

    /// Writes the names, the sections' headers, and the header of the file.
    fn finish(mut self, target: Gpu) -> Result<Vec<u8>> {
        let names = self.start(".strtab", Section { kind: elf::SHT_STRTAB, ..PLAIN });
        self.names.write(&mut self.bytes);
        self.end(names);

        self.bytes.resize(self.bytes.len().next_multiple_of(TABLE_ALIGN as usize), 0);
        let (start, size) = (self.bytes.len(), size_of::<SectionHeader64<LE>>());
        let headers = std::mem::take(&mut self.headers);
        // The null section.
        self.bytes.resize(start + size, 0);
        for header in &headers {
            self.put(&SectionHeader64 {
                sh_name: U32::new(LE, header.name),
                sh_type: U32::new(LE, header.kind),
                sh_flags: U64::new(LE, header.flags),
                sh_addr: U64::new(LE, 0),
                sh_offset: U64::new(LE, header.offset as u64),
                sh_size: U64::new(LE, header.size as u64),
                sh_link: U32::new(LE, header.link),
                sh_info: U32::new(LE, header.info),
                sh_addralign: U64::new(LE, header.align),
                sh_entsize: U64::new(LE, header.entry_size as u64),
            });
        }
        let last = headers.len() as u16;
        let header = FileHeader64 {
            e_ident: elf::Ident {
                magic: elf::ELFMAG,
                class: elf::ELFCLASS64,
                data: elf::ELFDATA2LSB,
                version: elf::EV_CURRENT,
                os_abi: elf::OsAbi(OSABI_PAL),
                abi_version: 0,
                padding: [0; 7],
            },
            e_type: U16::new(LE, elf::ET_REL),
            e_machine: U16::new(LE, elf::EM_AMDGPU),
            e_version: U32::new(LE, elf::EV_CURRENT.0.into()),
            e_entry: U64::new(LE, 0),
            e_phoff: U64::new(LE, 0),
            e_shoff: U64::new(LE, start as u64),
            e_flags: U32::new(LE, elf::FileFlags(target.elf_flags())),
            e_ehsize: U16::new(LE, size_of::<FileHeader64<LE>>() as u16),
            e_phentsize: U16::new(LE, 0),
            e_phnum: U16::new(LE, 0),
            e_shentsize: U16::new(LE, size as u16),
            e_shnum: U16::new(LE, last + 1),
            e_shstrndx: U16::new(LE, elf::SymbolSection(last)),
        };
        match self.bytes.get_mut(..size_of::<FileHeader64<LE>>()) {
            Some(start) => start.copy_from_slice(bytes_of(&header)),
            None => return Err(Error::bug("the unlinked ELF is shorter than its header")),
        }
        Ok(self.bytes)
    }
}

/// All symbols except the null symbol: tables, functions, and symbols that the link supplies, in order of first use;
/// and the symbol of each patch, by its number in the file.
fn symbols(code: &MachineCode, names: &mut Strings) -> Result<(List<Symbol>, List<u32>)> {
    let mut symbols = List::default();
    for table in &code.tables {
        let kind = if table.name == DataName::Section { elf::STT_SECTION } else { elf::STT_OBJECT };
        symbols.push(Symbol {
            name: names.add(&table.name),
            info: elf::SymbolInfo::new(elf::STB_LOCAL, kind),
            section: TEXT + 1 + table.section as u32,
            value: table.start,
            size: table.size,
        });
    }
    for function in &code.functions {
        symbols.push(Symbol {
            name: names.add(&function.symbol),
            info: elf::SymbolInfo::new(elf::STB_GLOBAL, elf::STT_FUNC),
            section: TEXT,
            value: function.start,
            size: function.size,
        });
    }
    // By the number of the first patch with the symbol.
    let mut external = List::<usize>::default();
    let link = |patch: usize| match code.patches.get(patch).map(|patch| &patch.target) {
        Some(PatchTarget::Link(symbol)) => Some(symbol),
        _ => None,
    };
    let mut numbers = List::default();
    let (tables, functions) = (code.tables.len(), code.functions.len());
    for (n, patch) in code.patches.iter().enumerate() {
        let position = match &patch.target {
            PatchTarget::Table(table) if *table < tables => *table,
            PatchTarget::Function(function) if *function < functions => tables + function,
            PatchTarget::Link(symbol) => {
                let known = external.iter().position(|patch| link(*patch) == Some(symbol));
                let position = known.unwrap_or(external.len());
                if known.is_none() {
                    external.push(n);
                    symbols.push(undefined(names, symbol));
                }
                tables + functions + position
            }
            other => return Err(Error::bug(format!("a patch waits for {other:?}, which the code does not have"))),
        };
        numbers.push(position as u32 + 1);
    }
    if names.has_null() {
        return Err(Error::bug("a symbol's name with a null byte"));
    }
    if symbols.iter().any(|symbol| symbol.section as usize > code.constants.len() + TEXT as usize) {
        return Err(Error::bug("a table in a section that the code does not have"));
    }
    Ok((symbols, numbers))
}

/// A symbol that the link supplies.
fn undefined(names: &mut Strings, symbol: &LinkSymbol) -> Symbol {
    Symbol {
        name: names.add(symbol),
        info: elf::SymbolInfo::new(elf::STB_GLOBAL, elf::STT_NOTYPE),
        section: 0,
        value: 0,
        size: 0,
    }
}
