//! Writes the final ELF from layout, values and notes (pal-abi 2.6, 3).
//!
//! Sections: null, `.strtab`, `.symtab`, `.text`, `.note`, `.rel.text` if the loader has relocations to apply to it,
//! then constant data. All offsets are computed before the first byte is written, so the caller may supply the memory;
//! a section whose size then differs is a bug that is reported, not a shifted file.

use super::attach::Unit;
use super::input::{DWORD, LoadReloc, Patched};
use super::layout::{ENTRY_ALIGN, Layout, PartId, PlacedData, PlacedPart, Placement};
use super::resolve::Resolved;
use crate::elf::{MACHINE, OSABI_PAL, RELOCATABLE, shf, sht, size, stt};
use crate::error::{Context, Error, Result};
use crate::fixed::FixedWriter;
use crate::isa::words::{S_BRANCH, S_CODE_END, S_NOP};
use crate::metadata::document::Document;
use crate::metadata::finalize::FinalNotes;
use crate::metadata::named::{self, MetadataVersion};
use crate::metadata::{note, write_v2};
use crate::reloc::apply::apply;
use crate::reloc::kind::RelocKind;
use crate::target::{GfxIp, Stage};
use smallvec::SmallVec;

/// Section index of `.text` in every final ELF.
const TEXT: u16 = 3;
/// Index of the first section after those that every file has.
const FIRST_OPTIONAL: u16 = 5;

/// The content to write.
#[derive(Clone, Copy)]
pub(super) struct Contents<'a, 'u> {
    pub target: GfxIp,
    pub unit: &'u Unit<'u>,
    pub layout: &'a Layout<'u>,
    /// In the order of the stages.
    pub resolved: &'a [Resolved],
    pub notes: &'a FinalNotes<'u>,
    pub metadata: MetadataVersion,
}

/// A file in which every byte has its place.
pub(super) struct Output<'a, 'u> {
    contents: Contents<'a, 'u>,
    names: Names<'a>,
    symbols: SmallVec<[OutSymbol<'a>; 8]>,
    targets: Targets,
    sections: SmallVec<[OutSection; 12]>,
    /// Size of the metadata document in bytes.
    document: usize,
    /// The document, if it was made beforehand instead of written in place.
    named: Option<Vec<u8>>,
    /// Size of the file in bytes.
    size: usize,
}

/// A section, with its place in the file.
struct OutSection {
    name: u32,
    kind: u32,
    flags: u32,
    align: u32,
    link: u32,
    info: u32,
    entry_size: u32,
    size: u32,
    place: u32,
    content: Content,
}

/// The content of a section.
#[derive(Clone, Copy)]
enum Content {
    Nothing,
    Strings,
    Symbols,
    Text,
    Note,
    /// Relocations of the code, or of an output section of constant data.
    Relocations(Option<usize>),
    /// An output section of constant data.
    Data(usize),
}

/// A symbol of the table.
struct OutSymbol<'a> {
    name: &'a str,
    /// The symbol name of constant data is extended by its stage.
    of: Option<Stage>,
    value: u32,
    size: u32,
    kind: u8,
    local: bool,
    section: u16,
}

/// For the loader's relocations: the symbol of each target.
type Targets = SmallVec<[Target; 4]>;

/// The symbol of an offset in a stage's constant data.
struct Target {
    stage: usize,
    section: usize,
    value: u32,
    symbol: u32,
}

impl Target {
    fn is(&self, stage: usize, load: &LoadReloc) -> bool {
        (self.stage, self.section, self.value) == (stage, load.target, load.value)
    }
}

impl<'a, 'u> Output<'a, 'u> {
    /// A file without any places yet.
    pub(super) fn new(contents: Contents<'a, 'u>) -> Self {
        let (names, symbols, sections) = (Names::default(), SmallVec::new(), SmallVec::new());
        Self { contents, names, symbols, targets: Targets::new(), sections, document: 0, named: None, size: 0 }
    }

    /// Converts the metadata from register numbers to register names.
    fn document_by_name(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.document];
        let mut out = FixedWriter::new(&mut bytes);
        write_v2::write(self.contents.notes, &mut out);
        out.finish("metadata")?;
        Ok(named::from_registers(&Document::parse(&bytes)?)?.to_bytes())
    }

    /// Gives every byte its place.
    ///
    /// # Errors
    /// Malformed: the parts together are too large.
    pub(super) fn arrange(&mut self) -> Result<()> {
        let text_rels = self.loads().filter(|(_, load)| load.patched == Patched::Code).count();
        let first_data = FIRST_OPTIONAL + u16::from(text_rels > 0);
        self.collect_symbols(first_data)?;

        let Contents { target, layout, notes, metadata, .. } = self.contents;
        self.document = write_v2::size(notes);
        if metadata == MetadataVersion::Named {
            let document = self.document_by_name()?;
            (self.document, self.named) = (document.len(), Some(document));
        }
        let note = note::section_size(target, self.document);
        let locals = self.symbols.iter().filter(|s| s.local).count() + 1;
        let symbols = size::SYMBOL as usize * (self.symbols.len() + 1);
        let [null, strtab, symtab, text_name, note_name] = FIXED_NAMES;
        self.section(null, 0, 0, 0, Content::Nothing, 0)?;
        self.section(strtab, sht::STRTAB, 0, 1, Content::Strings, 0)?;
        let table = self.section(symtab, sht::SYMTAB, 0, 8, Content::Symbols, symbols)?;
        (table.link, table.info) = (1, u32::try_from(locals).map_err(|_| too_large())?);
        table.entry_size = size::SYMBOL as u32;
        let executable = (shf::ALLOC | shf::EXECUTE) as u32;
        let code = layout.text_size as usize;
        self.section(text_name, sht::PROGBITS, executable, ENTRY_ALIGN, Content::Text, code)?;
        self.section(note_name, sht::NOTE, 0, 4, Content::Note, note)?;
        self.relocations(".text", TEXT, None, text_rels)?;
        for (index, data) in layout.data.iter().enumerate() {
            let flags = data.flags as u32;
            let name = self.names.add(["", data.name]);
            self.section(name, sht::PROGBITS, flags, data.align, Content::Data(index), data.size as usize)?;
        }
        for (index, data) in layout.data.iter().enumerate() {
            let section = first_data + u16::try_from(index).map_err(|_| too_large())?;
            let rels = self.loads().filter(|(stage, load)| self.base(*stage, load, Some(index)).is_some()).count();
            self.relocations(data.name, section, Some(index), rels)?;
        }
        self.place()
    }

    /// Size of the file in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Every relocation for the loader, with its stage.
    fn loads(&self) -> impl Iterator<Item = (usize, &'u LoadReloc)> + use<'u> {
        let stages = self.contents.unit.stages().enumerate();
        stages.flat_map(|(index, stage)| stage.loads().iter().map(move |load| (index, load)))
    }

    fn section(
        &mut self,
        name: u32,
        kind: u32,
        flags: u32,
        align: u32,
        content: Content,
        size: usize,
    ) -> Result<&mut OutSection> {
        let size = u32::try_from(size).map_err(|_| too_large())?;
        let (link, info, entry_size, place) = (0, 0, 0, 0);
        self.sections.push(OutSection { name, kind, flags, align, link, info, entry_size, size, place, content });
        self.sections.last_mut().ok_or_else(|| Error::bug("a section that was just added"))
    }

    /// Adds the relocation section of a section that has relocations.
    fn relocations(&mut self, of: &'a str, index: u16, data: Option<usize>, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let bytes = size::REL as usize * count;
        let name = self.names.add([".rel", of]);
        let section = self.section(name, sht::REL, shf::INFO_LINK as u32, 8, Content::Relocations(data), bytes)?;
        (section.link, section.info, section.entry_size) = (2, index.into(), size::REL as u32);
        Ok(())
    }

    /// Assigns the places: all names are known, and so are all sizes.
    fn place(&mut self) -> Result<()> {
        let of_symbols: u32 = self.symbols.iter().map(OutSymbol::name_bytes).sum();
        let strings = self.names.size.checked_add(of_symbols).ok_or_else(too_large)?;
        let mut at = size::HEADER as usize + size::SECTION as usize * self.sections.len();
        for section in self.sections.iter_mut().skip(1) {
            if matches!(section.content, Content::Strings) {
                section.size = strings;
            }
            at = at.next_multiple_of(section.align.max(1) as usize);
            section.place = u32::try_from(at).map_err(|_| too_large())?;
            at += section.size as usize;
        }
        self.size = at;
        Ok(())
    }

    /// Writes the file to memory of exactly its size.
    ///
    /// # Errors
    /// Malformed: a value that does not fit its field.
    pub(super) fn write(&self, to: &mut [u8]) -> Result<()> {
        let mut out = FixedWriter::new(to);
        let count = u16::try_from(self.sections.len()).map_err(|_| too_large())?;
        out.put(&[0x7f, b'E', b'L', b'F', 2, 1, 1, OSABI_PAL, 0, 0, 0, 0, 0, 0, 0, 0]);
        // Version; no entry point, no program headers; offset of the section headers.
        let kind = u32::from(RELOCATABLE) | u32::from(MACHINE) << 16;
        out.words([kind, 1, 0, 0, 0, 0, size::HEADER as u32, 0, self.contents.target.elf_flags()]);
        // Size of this header and of a section header, number of sections, index of the section with the names.
        out.words([size::HEADER as u32, (size::SECTION as u32) << 16, u32::from(count) | 1 << 16]);
        self.sections.iter().for_each(|section| section.header(&mut out));
        for section in self.sections.iter().skip(1) {
            out.zeros_to(section.place as usize);
            match section.content {
                Content::Nothing => {}
                Content::Strings => self.strings(&mut out),
                Content::Symbols => self.symbol_table(&mut out),
                Content::Text => self.text(out.take(section.size as usize))?,
                Content::Note => {
                    let notes = self.contents.notes;
                    let target = self.contents.target;
                    note::write_section_into(&mut out, target, self.document, |out| match &self.named {
                        Some(document) => out.put(document),
                        None => write_v2::write(notes, out),
                    });
                }
                Content::Relocations(data) => self.records(data, &mut out)?,
                Content::Data(index) => {
                    let data = self.contents.layout.data.get(index);
                    self.data(data.ok_or_else(|| Error::bug("lost data"))?, section.place, &mut out)?;
                }
            }
        }
        out.finish("pipeline ELF")
    }

    fn text(&self, text: &mut [u8]) -> Result<()> {
        let layout = self.contents.layout;
        let mut end = 0;
        for placed in &layout.parts {
            let runs_on = placed.id.part > 0 && layout.placement == Placement::Adjacent;
            match placed.offset.saturating_sub(end) / DWORD {
                gap @ BRANCHED_GAP.. if runs_on => {
                    fill(text, end, end.saturating_add(DWORD), S_BRANCH | (gap - 1))?;
                    fill(text, end.saturating_add(DWORD), placed.offset, S_NOP)?;
                }
                _ => fill(text, end, placed.offset, S_NOP)?,
            }
            let code = placed.part.code;
            end = placed.end();
            let place = text.get_mut(placed.offset as usize..).and_then(|rest| rest.get_mut(..code.len()));
            place.ok_or_else(misplaced)?.copy_from_slice(code);
            if let Some(next) = placed.joint {
                let at = end.saturating_sub(DWORD);
                fill(text, at, end, S_BRANCH)?;
                apply(text, at, RelocKind::Rel16, next.into(), at.into()).map_err(|e| {
                    Error::bug(format!(
                        "the joint after `{}`, which the layout found to reach: {e}",
                        placed.part.symbol
                    ))
                })?;
            }
            let values = self.contents.resolved.get(placed.id.stage).map_or(&[][..], |values| values);
            for (patch, value) in placed.part.patches.iter().zip(values) {
                let at = placed.offset.checked_add(patch.offset).ok_or_else(too_large)?;
                apply(text, at, patch.kind, u32::from_le_bytes(*value).into(), at.into())
                    .at(|| format!("`{}`, symbol `{}`", placed.part.symbol, patch.symbol))?;
            }
        }
        if end != layout.code_end {
            return Err(misplaced());
        }
        fill(text, end, layout.text_size, S_CODE_END)
    }

    fn data(&self, data: &PlacedData<'_>, start: u32, out: &mut FixedWriter<'_>) -> Result<()> {
        for &(stage, index, offset) in &data.pieces {
            let section = self.contents.unit.stage(stage).and_then(|s| s.data().get(index));
            out.zeros_to(start as usize + offset as usize);
            out.put(&section.ok_or_else(|| Error::bug("constant data of no stage"))?.bytes);
        }
        Ok(())
    }

    /// Collects all symbols, locals first, and the symbol of each relocation target.
    fn collect_symbols(&mut self, first_data: u16) -> Result<()> {
        let Contents { unit, layout, .. } = self.contents;
        for (index, load) in self.loads() {
            if self.targets.iter().any(|t| t.is(index, load)) {
                continue;
            }
            let lost = || Error::bug("lost data");
            let (output, base) = layout.data_place(index, load.target).ok_or_else(lost)?;
            let stage = unit.stage(index).ok_or_else(lost)?;
            let section = stage.data().get(load.target).ok_or_else(lost)?;
            self.targets.push(Target {
                stage: index,
                section: load.target,
                value: load.value,
                symbol: self.symbols.len() as u32 + 1,
            });
            self.symbols.push(OutSymbol {
                name: &section.name,
                of: Some(stage.stage()),
                value: base.checked_add(load.value).ok_or_else(too_large)?,
                size: u32::try_from(section.bytes.len()).map_err(|_| too_large())?.saturating_sub(load.value),
                kind: stt::OBJECT,
                local: true,
                section: first_data + u16::try_from(output).map_err(|_| too_large())?,
            });
        }
        let code =
            |name, value, size, local| OutSymbol { name, of: None, value, size, kind: stt::FUNC, local, section: TEXT };
        // A stage's first part has the stage's own symbol, added below.
        for placed in layout.parts.iter().filter(|p| p.id.part > 0) {
            self.symbols.push(code(placed.part.symbol, placed.offset, placed.size, true));
        }
        for (index, stage) in unit.stages().enumerate() {
            let first = layout.part(PartId { stage: index, part: 0 });
            let first = first.ok_or_else(|| Error::bug("a stage without parts"))?;
            // The parts of a stage are contiguous and begin with the first.
            let ends = layout.parts.iter().filter(|p| p.id.stage == index).map(PlacedPart::end);
            let size = ends.max().unwrap_or(0).saturating_sub(first.offset);
            self.symbols.push(code(stage.stage().entry_symbol(), first.offset, size, false));
        }
        Ok(())
    }

    /// The only string table: names of sections, then of symbols.
    fn strings(&self, out: &mut FixedWriter<'_>) {
        out.put(FIXED_STRINGS);
        for [before, name] in &self.names.rest {
            out.put(before.as_bytes());
            out.put(name.as_bytes());
            out.put(&[0]);
        }
        for symbol in &self.symbols {
            out.put(symbol.name.as_bytes());
            if let Some(stage) = symbol.of {
                out.put(b".");
                out.put(stage.name().as_bytes());
            }
            out.put(&[0]);
        }
    }

    fn symbol_table(&self, out: &mut FixedWriter<'_>) {
        out.words([0; 6]);
        let mut name = self.names.size;
        for symbol in &self.symbols {
            let binding = if symbol.local { 0 } else { 1 };
            let kind = u32::from(binding << 4 | symbol.kind) | u32::from(symbol.section) << 16;
            out.words([name, kind, symbol.value, 0, symbol.size, 0]);
            name += symbol.name_bytes();
        }
    }

    /// Offset in an output section (`None`: the code; else constant data) at which the section that a relocation
    /// patches begins; `None` if it is not there.
    fn base(&self, stage: usize, load: &LoadReloc, data: Option<usize>) -> Option<u32> {
        let Contents { unit, layout, .. } = self.contents;
        match (load.patched, data) {
            (Patched::Code, None) => {
                let part = unit.stage(stage)?.body_index();
                Some(layout.part(PartId { stage, part })?.offset)
            }
            (Patched::Data(index), Some(data)) => {
                layout.data_place(stage, index).filter(|(output, _)| *output == data).map(|(_, base)| base)
            }
            _ => None,
        }
    }

    fn records(&self, data: Option<usize>, out: &mut FixedWriter<'_>) -> Result<()> {
        for (stage, load) in self.loads() {
            let Some(base) = self.base(stage, load, data) else { continue };
            let target = self.targets.iter().find(|t| t.is(stage, load));
            let symbol = target.ok_or_else(|| Error::bug("a relocation without symbol"))?.symbol;
            let offset = base.checked_add(load.offset).ok_or_else(too_large)?;
            out.words([offset, 0, load.kind.number(), symbol]);
        }
        Ok(())
    }
}

/// Smallest gap in dwords that is branched over, because that many no-ops would take longer.
const BRANCHED_GAP: u32 = 6;

impl OutSection {
    fn header(&self, out: &mut FixedWriter<'_>) {
        let Self { name, kind, flags, align, link, info, entry_size, size, place, content: _ } = *self;
        out.words([name, kind, flags, 0, 0, 0, place, 0, size, 0, link, info, align, 0, entry_size, 0]);
    }
}

impl OutSymbol<'_> {
    fn name_bytes(&self) -> u32 {
        let of = self.of.map_or(0, |stage| 1 + stage.name().len());
        (self.name.len() + of) as u32 + 1
    }
}

/// The empty name, and the names of the sections that every file has.
const FIXED_STRINGS: &[u8] = b"\0.strtab\0.symtab\0.text\0.note\0";
/// Offsets of these sections' names in it, in the order of the sections.
const FIXED_NAMES: [u32; 5] = [0, 1, 9, 17, 23];

/// Names of the other sections, each made of two strings.
struct Names<'a> {
    rest: SmallVec<[[&'a str; 2]; 6]>,
    /// Bytes of names so far.
    size: u32,
}

impl Default for Names<'_> {
    fn default() -> Self {
        Self { rest: SmallVec::new(), size: FIXED_STRINGS.len() as u32 }
    }
}

impl<'a> Names<'a> {
    fn add(&mut self, name: [&'a str; 2]) -> u32 {
        let at = self.size;
        self.rest.push(name);
        let [before, name] = name;
        self.size += (before.len() + name.len()) as u32 + 1;
        at
    }
}

fn fill(text: &mut [u8], from: u32, to: u32, word: u32) -> Result<()> {
    let gap = text.get_mut(from as usize..to as usize).ok_or_else(misplaced)?;
    let (words, _) = gap.as_chunks_mut::<4>();
    words.fill(word.to_le_bytes());
    Ok(())
}

fn misplaced() -> Error {
    Error::bug("the code does not stand where its layout says")
}

fn too_large() -> Error {
    Error::malformed("the parts together are too large")
}
