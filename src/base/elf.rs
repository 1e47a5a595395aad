//! Parses an ELF's bytes into its sections, symbols and relocations, with every name and bound checked.
//!
//! One reader for a code generator's objects, for unlinked ELFs and for pipeline ELFs: 64-bit little-endian AMDGPU
//! ELFs, at any alignment in memory. It does not interpret sections.

use crate::error::{Error, Result};
use object::LittleEndian as LE;
use object::elf::{self, SHN_UNDEF};
use object::read::SectionIndex;
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym};

type Header = elf::FileHeader64<LE>;

/// `ELFOSABI_AMDGPU_PAL`.
pub const OSABI_PAL: u8 = 65;
/// `EM_AMDGPU`.
pub const MACHINE: u16 = 224;
/// `ET_REL`.
pub const RELOCATABLE: u16 = 1;

/// Section types.
pub mod sht {
    /// What the program defines.
    pub const PROGBITS: u32 = 1;
    /// Symbols.
    pub const SYMTAB: u32 = 2;
    /// Names.
    pub const STRTAB: u32 = 3;
    /// Relocations with addends.
    pub const RELA: u32 = 4;
    /// Notes.
    pub const NOTE: u32 = 7;
    /// Relocations without addends.
    pub const REL: u32 = 9;
}

/// Section flags.
pub mod shf {
    /// Written at run time.
    pub const WRITE: u64 = 1;
    /// In memory at run time.
    pub const ALLOC: u64 = 2;
    /// Code.
    pub const EXECUTE: u64 = 4;
    /// Equal entries may be merged.
    pub const MERGE: u64 = 0x10;
    /// `sh_info` is a section.
    pub const INFO_LINK: u64 = 0x40;
}

/// Symbol types.
pub mod stt {
    /// Data.
    pub const OBJECT: u8 = 1;
    /// Code.
    pub const FUNC: u8 = 2;
    /// A section.
    pub const SECTION: u8 = 3;
}

/// Sizes of table entries, in bytes.
pub mod size {
    /// The file header.
    pub const HEADER: u64 = 64;
    /// A section header.
    pub const SECTION: u64 = 64;
    /// A symbol.
    pub const SYMBOL: u64 = 24;
    /// A relocation without an addend.
    pub const REL: u64 = 16;
}

/// A parsed ELF.
pub struct Elf<'a> {
    /// `EI_OSABI`.
    pub os_abi: u8,
    /// `EI_ABIVERSION`.
    pub abi_version: u8,
    /// `e_type`.
    pub file_type: u16,
    /// `e_machine`.
    pub machine: u16,
    /// `e_flags`, which name the GPU.
    pub flags: u32,
    /// The sections, with the null section.
    pub sections: Vec<Section<'a>>,
    /// The symbols of the first symbol table, including the null symbol.
    pub symbols: Vec<Symbol<'a>>,
}

/// A section.
pub struct Section<'a> {
    /// Name, empty if it has none.
    pub name: &'a str,
    /// Type, of [`sht`].
    pub kind: u32,
    /// Flags, of [`shf`].
    pub flags: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Bytes per entry if the section is a table; otherwise 0.
    pub entry_size: u64,
    /// `sh_link`: another section.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// Contents.
    pub data: &'a [u8],
}

/// Section of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// Undefined: another file has to define it.
    Undefined,
    /// In the section with this index.
    Section(u32),
    /// A reserved index: absolute, common, or the machine's own.
    Reserved(u16),
}

/// A symbol.
pub struct Symbol<'a> {
    /// Name, empty if it has none.
    pub name: &'a str,
    /// Offset in its section, in bytes.
    pub value: u64,
    /// Size in bytes.
    pub size: u64,
    /// Type, of [`stt`].
    pub kind: u8,
    /// Whether it is local to its file.
    pub local: bool,
    /// Where it is defined.
    pub home: Home,
}

/// A relocation with its addend in place.
pub struct Rel {
    /// Offset of the place in its section, in bytes.
    pub offset: u64,
    /// Number of the kind of relocation.
    pub kind: u32,
    /// Index of the symbol.
    pub symbol: u32,
}

impl<'a> Elf<'a> {
    /// Reads an ELF.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let broken = |e: object::read::Error| Error::malformed(format!("ELF: {e}"));
        let header = Header::parse(bytes).map_err(broken)?;
        header.endian().map_err(broken)?;
        let table = header.sections(LE, bytes).map_err(broken)?;
        let names = header.shstrndx(LE, bytes).map_err(broken)?;
        let names = table.section(SectionIndex(names as usize)).and_then(|section| section.data(LE, bytes));
        let names = Names::new(names.unwrap_or_default());
        let mut sections = Vec::with_capacity(table.len());
        for section in table.iter() {
            sections.push(read_section(&table, section, bytes, names)?);
        }
        let symbols = read_symbols(&table, bytes, &sections)?;
        let ident = header.e_ident();
        Ok(Self {
            os_abi: ident.os_abi.0,
            abi_version: ident.abi_version,
            file_type: header.e_type(LE).0,
            machine: header.e_machine(LE).0,
            flags: header.e_flags(LE).0,
            sections,
            symbols,
        })
    }

    /// The first section with this name, with its index.
    pub fn section(&self, name: &str) -> Option<(u32, &Section<'a>)> {
        (0u32..).zip(&self.sections).find(|(_, s)| s.name == name)
    }

    /// The section with this index.
    pub fn at(&self, index: u32) -> Option<&Section<'a>> {
        self.sections.get(usize::try_from(index).ok()?)
    }

    /// The symbol with this index.
    pub fn symbol(&self, index: u32) -> Option<&Symbol<'a>> {
        self.symbols.get(usize::try_from(index).ok()?)
    }
}

impl Section<'_> {
    /// Whether PAL uploads it to the GPU's memory.
    pub fn is_uploaded(&self) -> bool {
        self.flags & shf::ALLOC != 0
    }

    /// The entries of a section of relocations without addends.
    pub fn rels(&self) -> Result<impl ExactSizeIterator<Item = Rel> + use<'_>> {
        let (records, rest) = self.data.as_chunks::<16>();
        if !rest.is_empty() {
            return Err(Error::malformed(format!(
                "{}: {} bytes are not a whole number of records",
                self.name,
                self.data.len()
            )));
        }
        Ok(records.iter().map(Rel::read))
    }
}

impl Rel {
    fn read(record: &[u8; 16]) -> Self {
        let all = u128::from_le_bytes(*record);
        Self { offset: all as u64, kind: (all >> 64) as u32, symbol: (all >> 96) as u32 }
    }
}

fn read_section<'a>(
    table: &SectionTable<'a, Header>,
    section: &elf::SectionHeader64<LE>,
    bytes: &'a [u8],
    names: Names<'a>,
) -> Result<Section<'a>> {
    let broken = |e: object::read::Error| Error::malformed(format!("ELF section: {e}"));
    let name = table.section_name(LE, section).map_err(broken)?;
    Ok(Section {
        name: names.text(section.sh_name(LE), name)?,
        kind: section.sh_type(LE).0,
        flags: section.sh_flags(LE).0,
        align: section.sh_addralign(LE),
        entry_size: section.sh_entsize(LE),
        link: section.sh_link(LE),
        info: section.sh_info(LE),
        data: section.data(LE, bytes).map_err(broken)?,
    })
}

fn read_symbols<'a>(
    table: &SectionTable<'a, Header>,
    bytes: &'a [u8],
    sections: &[Section<'a>],
) -> Result<Vec<Symbol<'a>>> {
    let broken = |e: object::read::Error| Error::malformed(format!("ELF symbols: {e}"));
    let table = table.symbols(LE, bytes, elf::SHT_SYMTAB).map_err(broken)?;
    let names = sections.get(table.string_section().0).map_or(&[][..], |section| section.data);
    let names = Names::new(names);
    let mut symbols = Vec::with_capacity(table.len());
    for symbol in table.iter() {
        let name = table.symbol_name(LE, symbol).map_err(broken)?;
        let shndx = symbol.st_shndx(LE);
        let home = match shndx.index() {
            Some(index) => Home::Section(index.into()),
            None if shndx == SHN_UNDEF => Home::Undefined,
            None => Home::Reserved(shndx.0),
        };
        symbols.push(Symbol {
            name: names.text(symbol.st_name(LE), name)?,
            value: symbol.st_value(LE),
            size: symbol.st_size(LE),
            kind: symbol.st_type().0,
            local: symbol.is_local(),
            home,
        });
    }
    Ok(symbols)
}

/// A table of names that is checked once, which takes less time than to check each.
#[derive(Clone, Copy)]
struct Names<'a>(Option<&'a str>);

impl<'a> Names<'a> {
    fn new(table: &'a [u8]) -> Self {
        Self(std::str::from_utf8(table).ok())
    }

    /// The text of a name at this offset.
    fn text(self, at: u32, name: &'a [u8]) -> Result<&'a str> {
        let at = at as usize;
        let known = self.0.and_then(|table| table.get(at..at.checked_add(name.len())?));
        match known {
            Some(text) if text.as_bytes() == name => Ok(text),
            _ => std::str::from_utf8(name).map_err(|_| Error::malformed(format!("ELF: name {name:?} is not UTF-8"))),
        }
    }
}
