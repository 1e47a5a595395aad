//! The head of a final ELF: its header, the section headers, the names and the symbols, in one run of bytes before the
//! code.
//!
//! Nearly all pipelines have the names that our own parts have. Then their heads are the same except for a few numbers:
//! sizes, and places in the file and in the code; and, if there is constant data, what [`DataHead`] says. Such heads are
//! kept by the process; a link copies one and sets its numbers.

use super::attach::{Unit, UnitStage};
use super::layout::{ENTRY_ALIGN, Layout, Placement};
use super::places::Patched;
use dovetail_base::elf::{MACHINE, OSABI_PAL, RELOCATABLE, shf, sht, size, stt};
use dovetail_base::error::{Error, Result};
use dovetail_base::fixed::FixedWriter;
use dovetail_base::table::{SharedTable, hash};
use dovetail_base::target::{Gpu, MOST_HARDWARE_STAGES, Stage};
use dovetail_glue::{COLOR_EXPORT_SYMBOL, PARAM_EXPORT_SYMBOL};
use smallvec::SmallVec;
use std::ops::Deref;
use std::sync::OnceLock;

/// Section index of `.text` in every final ELF.
pub(super) const TEXT: u16 = 3;
/// Index of the first section after those that every file has.
pub(super) const FIRST_OPTIONAL: u16 = 5;
/// Index of the symbol table.
const SYMBOL_TABLE: u16 = 2;
/// Alignments of notes and relocations in bytes.
pub(super) const NOTE_ALIGN: u32 = 4;
pub(super) const RELOCATIONS_ALIGN: u32 = 8;

/// Words of a section header and of a symbol, and those among them that are numbers of a link.
const SECTION_WORDS: usize = size::SECTION as usize / 4;
const SYMBOL_WORDS: usize = size::SYMBOL as usize / 4;
const ELF_FLAGS: usize = 12;
const SECTION_PLACE: usize = 6;
const SECTION_SIZE: usize = 8;
const SYMBOL_VALUE: usize = 2;
const SYMBOL_SIZE: usize = 4;

/// A head that the process keeps, or one made for this link. It is filled in its place, since one that is made is
/// expensive to copy.
#[derive(Default)]
pub(super) struct FileHead {
    kept: Option<&'static HeadBytes>,
    made: HeadBytes,
}

/// The bytes before `.text`, with 0 for the numbers of a link.
#[derive(Default, PartialEq)]
pub(super) struct HeadBytes {
    /// Those of two stages with constant data, and relocations of both, fit.
    bytes: SmallVec<[u8; 1536]>,
    /// Offset of the symbol table.
    symbols: usize,
}

/// What a head says about a section that a link fills.
pub(super) struct NamedSection<'a> {
    /// Two strings that make the name.
    name: [&'a str; 2],
    kind: u32,
    flags: u64,
    align: u32,
    link: u16,
    info: u32,
    entry_size: u64,
}

impl<'a> NamedSection<'a> {
    const fn plain(name: &'a str, kind: u32, flags: u64, align: u32) -> Self {
        Self { name: ["", name], kind, flags, align, link: 0, info: 0, entry_size: 0 }
    }

    /// The code.
    pub(super) const fn text() -> Self {
        Self::plain(".text", sht::PROGBITS, shf::ALLOC | shf::EXECUTE, ENTRY_ALIGN)
    }

    /// The metadata.
    pub(super) const fn note() -> Self {
        Self::plain(".note", sht::NOTE, 0, NOTE_ALIGN)
    }

    /// Constant data.
    pub(super) const fn data(name: &'a str, flags: u64, align: u32) -> Self {
        Self::plain(name, sht::PROGBITS, flags, align)
    }

    /// The relocations of the section with this name and index.
    pub(super) fn relocations(of: &'a str, index: u16) -> Self {
        let plain = Self::plain("", sht::REL, shf::INFO_LINK, RELOCATIONS_ALIGN);
        Self { name: [".rel", of], link: SYMBOL_TABLE, info: index.into(), entry_size: size::REL, ..plain }
    }
}

/// What a head says about a symbol.
pub(super) struct NamedSymbol<'a> {
    pub name: &'a str,
    /// The symbol name of constant data is extended by its stage.
    pub of: Option<Stage>,
    pub kind: u8,
    pub local: bool,
    pub section: u16,
}

impl<'a> NamedSymbol<'a> {
    /// A symbol of the code.
    pub(super) const fn code(name: &'a str, local: bool) -> Self {
        Self { name, of: None, kind: stt::FUNC, local, section: TEXT }
    }

    /// A place in constant data of a stage.
    pub(super) const fn data(name: &'a str, of: Stage, section: u16) -> Self {
        Self { name, of: Some(of), kind: stt::OBJECT, local: true, section }
    }
}

/// The numbers of a section or of a symbol.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Offset in the file, or the symbol's value.
    pub at: u32,
    /// In bytes.
    pub size: u32,
}

/// Shapes of pipelines: compute, and graphics with or without each of three pieces of glue, and those whose vertex stage is a
/// primitive shader.
const SHAPES: usize = 1 + 8 + 8;
/// The name of a section of constant data.
const DATA: &str = ".rodata";

/// Without constant data: by placement and shape.
static KEPT: [[OnceLock<HeadBytes>; SHAPES]; 2] = [const { [const { OnceLock::new() }; SHAPES] }; 2];
/// With one section of constant data.
static KEPT_WITH_DATA: SharedTable<DataHead, HeadBytes, 248> = SharedTable::new();

/// What decides a head with one section of constant data, which only the code refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct DataHead {
    chained: bool,
    shape: usize,
    flags: u64,
    align: u32,
    /// Number of places that each stage's code refers to.
    targets: [usize; MOST_HARDWARE_STAGES],
}

impl FileHead {
    /// Fills it for a pipeline.
    ///
    /// # Errors
    /// As `make`.
    pub(super) fn fill(
        &mut self,
        unit: &Unit<'_>,
        layout: &Layout<'_>,
        make: impl Fn() -> Result<HeadBytes>,
    ) -> Result<()> {
        let chained = layout.placement == Placement::Chained;
        match (shape(unit), &layout.data[..]) {
            (Some(shape), []) => {
                let Some(kept) = KEPT[usize::from(chained)].get(shape) else { return Err(Error::bug("a shape")) };
                self.kept = kept.get();
                if self.kept.is_none() {
                    let made = make()?;
                    self.kept = Some(kept.get_or_init(|| made));
                }
            }
            (Some(shape), [data]) if data.name == DATA && unit.stages().all(patches_code) => {
                let mut targets = [0; MOST_HARDWARE_STAGES];
                targets.iter_mut().zip(unit.stages()).for_each(|(count, stage)| *count = stage.targets().len());
                let key = DataHead { chained, shape, flags: data.flags, align: data.align, targets };
                self.kept = KEPT_WITH_DATA.find(hash(key), |kept| *kept == key);
                if self.kept.is_none() {
                    match KEPT_WITH_DATA.keep(hash(key), key, make()?) {
                        Ok(kept) => self.kept = Some(kept),
                        Err(made) => self.made = made,
                    }
                }
            }
            _ => self.made = make()?,
        }
        debug_assert!(self.kept.is_none_or(|kept| make().is_ok_and(|made| made == *kept)), "the head of another shape");
        Ok(())
    }
}

/// Whether all relocations of a stage patch its code.
fn patches_code(stage: &UnitStage<'_>) -> bool {
    stage.loads().iter().all(|load| load.patched == Patched::Code)
}

impl Deref for FileHead {
    type Target = HeadBytes;
    fn deref(&self) -> &HeadBytes {
        self.kept.unwrap_or(&self.made)
    }
}

impl HeadBytes {
    /// Writes a head for these sections, from [`TEXT`] on, and these symbols, local ones first.
    ///
    /// # Errors
    /// Malformed: too many sections.
    pub(super) fn new(sections: &[NamedSection<'_>], symbols: &[NamedSymbol<'_>]) -> Result<Self> {
        let too_many = || Error::malformed("the parts together have too many sections");
        let mut names: SmallVec<[u8; 512]> = SmallVec::new();
        let mut add = |name: &[&str]| {
            let at = names.len() as u32;
            name.iter().for_each(|text| names.extend_from_slice(text.as_bytes()));
            names.push(0);
            at
        };
        let [null, strtab, symtab] = [add(&[]), add(&[".strtab"]), add(&[".symtab"])];
        let of_sections: SmallVec<[u32; 12]> = sections.iter().map(|section| add(&section.name)).collect();
        let of_symbols: SmallVec<[u32; 16]> = symbols
            .iter()
            .map(|symbol| match symbol.of {
                Some(stage) => add(&[symbol.name, ".", stage.name()]),
                None => add(&[symbol.name]),
            })
            .collect();

        let count = u16::try_from(usize::from(TEXT) + sections.len()).map_err(|_| too_many())?;
        let first_name = size::HEADER as usize + size::SECTION as usize * usize::from(count);
        let table = (first_name + names.len()).next_multiple_of(8);
        let end = table + size::SYMBOL as usize * (symbols.len() + 1);
        let mut bytes = SmallVec::from_elem(0, end);
        let mut out = FixedWriter::new(&mut bytes);
        out.put(&[0x7f, b'E', b'L', b'F', 2, 1, 1, OSABI_PAL, 0, 0, 0, 0, 0, 0, 0, 0]);
        // Version; no entry point, no program headers; offset of the section headers; flags.
        let kind = u32::from(RELOCATABLE) | u32::from(MACHINE) << 16;
        out.words([kind, 1, 0, 0, 0, 0, size::HEADER as u32, 0, 0]);
        // Size of this header and of a section header, number of sections, index of the section with the names.
        out.words([size::HEADER as u32, (size::SECTION as u32) << 16, u32::from(count) | 1 << 16]);

        let locals = symbols.iter().filter(|symbol| symbol.local).count() as u32 + 1;
        let tables = [
            (null, NamedSection::plain("", 0, 0, 0), [0, 0]),
            (strtab, NamedSection::plain("", sht::STRTAB, 0, 1), [first_name, names.len()]),
            (
                symtab,
                NamedSection {
                    link: 1,
                    info: locals,
                    entry_size: size::SYMBOL,
                    ..NamedSection::plain("", sht::SYMTAB, 0, 8)
                },
                [table, end - table],
            ),
        ];
        let header = |out: &mut FixedWriter<'_>, name: u32, section: &NamedSection<'_>, [place, bytes]: [usize; 2]| {
            let NamedSection { name: _, kind, flags, align, link, info, entry_size } = *section;
            let [place, bytes] = [place as u32, bytes as u32];
            let link = link.into();
            out.words([
                name,
                kind,
                flags as u32,
                0,
                0,
                0,
                place,
                0,
                bytes,
                0,
                link,
                info,
                align,
                0,
                entry_size as u32,
                0,
            ]);
        };
        for (name, section, extent) in &tables {
            header(&mut out, *name, section, *extent);
        }
        for (section, name) in sections.iter().zip(&of_sections) {
            header(&mut out, *name, section, [0, 0]);
        }
        out.put(&names);
        out.zeros_to(table);
        out.words([0; SYMBOL_WORDS]);
        for (symbol, name) in symbols.iter().zip(&of_symbols) {
            let binding = if symbol.local { 0 } else { 1 };
            let kind = u32::from(binding << 4 | symbol.kind) | u32::from(symbol.section) << 16;
            out.words([*name, kind, 0, 0, 0, 0]);
        }
        out.finish("head of the ELF")?;
        Ok(Self { bytes, symbols: table })
    }

    /// Its size in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Writes the head with these numbers, those of the sections from [`TEXT`] on.
    pub(super) fn write(
        &self,
        target: Gpu,
        sections: impl Iterator<Item = Extent>,
        symbols: &[Extent],
        out: &mut FixedWriter<'_>,
    ) {
        let own = out.take(self.bytes.len());
        if own.len() != self.bytes.len() {
            return;
        }
        own.copy_from_slice(&self.bytes);
        let (before, table) = own.split_at_mut_checked(self.symbols).unwrap_or_default();
        let (words, _) = before.as_chunks_mut::<4>();
        if let Some(flags) = words.get_mut(ELF_FLAGS) {
            *flags = target.elf_flags().to_le_bytes();
        }
        let first = size::HEADER as usize / 4 + usize::from(TEXT) * SECTION_WORDS;
        let (headers, _) = words.get_mut(first..).unwrap_or_default().as_chunks_mut::<SECTION_WORDS>();
        for (header, Extent { at, size }) in headers.iter_mut().zip(sections) {
            (header[SECTION_PLACE], header[SECTION_SIZE]) = (at.to_le_bytes(), size.to_le_bytes());
        }
        let (words, _) = table.as_chunks_mut::<4>();
        let (entries, _) = words.as_chunks_mut::<SYMBOL_WORDS>();
        for (entry, &Extent { at, size }) in entries.iter_mut().skip(1).zip(symbols) {
            (entry[SYMBOL_VALUE], entry[SYMBOL_SIZE]) = (at.to_le_bytes(), size.to_le_bytes());
        }
    }
}

/// Number of the shape that a pipeline has; `None` if its glue has other names.
fn shape(unit: &Unit<'_>) -> Option<usize> {
    let mut shape = 0;
    let mut ngg = false;
    for stage in unit.stages() {
        // Their symbols have any names.
        if !stage.object.functions.is_empty() {
            return None;
        }
        ngg |= stage.ready.hardware.runs_primitives();
        let (epilog, usual) = match stage.stage() {
            Stage::Compute => return Some(0),
            Stage::Vertex => (stage.epilog().map(|piece| &*piece.symbol), PARAM_EXPORT_SYMBOL),
            Stage::Fragment => (stage.ready.epilog().map(|run| run.symbol), COLOR_EXPORT_SYMBOL),
        };
        if epilog.is_some_and(|symbol| symbol != usual) {
            return None;
        }
        shape = shape << 2 | usize::from(stage.ready.prolog().is_some()) << 1 | usize::from(epilog.is_some());
    }
    // Fragment stages have no prolog, so this bit is free.
    Some(1 + (shape >> 1 & 0b110 | shape & 1) + if ngg { 8 } else { 0 })
}
