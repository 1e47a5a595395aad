//! Writes the final ELF from layout, values and notes (pal-abi 2.6, 3).
//!
//! Sections: null, `.strtab`, `.symtab`, `.text`, `.note`, `.rel.text` if the loader has relocations to apply to it,
//! then constant data. All offsets are computed before the first byte is written, so the caller may supply the memory.
//! If a section then has another size than computed, the writer reports a bug instead of writing a shifted file.

use super::attach::Unit;
use super::calls;
use super::head::{
    Extent, FIRST_OPTIONAL, FileHead, HeadBytes, NOTE_ALIGN, NamedSection, NamedSymbol, RELOCATIONS_ALIGN, TEXT,
};
use super::layout::{ENTRY_ALIGN, Layout, PartId, PlacedData, Placement};
use super::places::{DWORD, DataTarget, LoadReloc, Patched};
use super::resolve::Resolved;
use dovetail_base::elf::size;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::fallible;
use dovetail_base::fixed::FixedWriter;
use dovetail_base::target::Gpu;
use dovetail_isa::{Isa, WordRun};
use dovetail_metadata::document::Document;
use dovetail_metadata::finalize::FinalNotes;
use dovetail_metadata::named;
use dovetail_metadata::named::MetadataVersion;
use dovetail_metadata::{note, write_v2};
use dovetail_reloc::apply::apply;
use dovetail_reloc::kind::RelocKind;
use smallvec::SmallVec;

/// The content to write.
#[derive(Clone, Copy)]
pub(super) struct Contents<'a, 'u> {
    pub target: Gpu,
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
    head: FileHead,
    targets: Targets,
    /// Those that a link fills, in the order of their indexes.
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
    content: Content,
    extent: Extent,
}

/// The content of a section.
#[derive(Clone, Copy)]
enum Content {
    Text,
    Note,
    /// Relocations of the code, or of an output section of constant data.
    Relocations(Option<usize>),
    /// An output section of constant data.
    Data(usize),
}

/// The symbol of a place in constant data that relocations refer to.
struct Target {
    stage: usize,
    /// Index of the stage's section.
    section: usize,
    /// The output section, and the extent in it.
    output: usize,
    extent: Extent,
}

/// Those of a pipeline, by stage.
type Targets = SmallVec<[Target; 4]>;

impl<'u> Contents<'_, 'u> {
    /// Every relocation for the loader, with its stage.
    fn loads(&self) -> impl Iterator<Item = (usize, &'u LoadReloc)> + use<'u> {
        let stages = self.unit.stages().enumerate();
        stages.flat_map(|(index, stage)| stage.loads().iter().map(move |load| (index, load)))
    }

    /// The number of relocations of the code (`None`), or of an output section of constant data.
    fn relocations(&self, of: Option<usize>) -> usize {
        let patches = |stage, load: &LoadReloc| match (load.patched, of) {
            (Patched::Code, None) => true,
            (Patched::Data(index), Some(data)) => self.layout.data_place(stage, index).is_some_and(|p| p.0 == data),
            _ => false,
        };
        self.loads().filter(|(stage, load)| patches(*stage, load)).count()
    }

    /// Offset in an output section (`None`: the code; else constant data) at which the section that a relocation
    /// patches begins; `None` if it is not there.
    fn base(&self, stage: usize, load: &LoadReloc, data: Option<usize>) -> Option<u32> {
        let Self { unit, layout, .. } = *self;
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

    /// A head with the sections and symbols of this file.
    fn make_head(&self, targets: &[Target]) -> Result<HeadBytes> {
        let Self { unit, layout, .. } = *self;
        let of_text = self.relocations(None) > 0;
        let first_data = FIRST_OPTIONAL + u16::from(of_text);
        let section_of = |data: usize| u16::try_from(data).map(|data| first_data + data).map_err(|_| too_large());

        let mut sections: SmallVec<[NamedSection<'_>; 12]> = SmallVec::new();
        sections.extend([NamedSection::text(), NamedSection::note()]);
        if of_text {
            sections.push(NamedSection::relocations(".text", TEXT));
        }
        sections.extend(layout.data.iter().map(|data| NamedSection::data(data.name, data.flags, data.align)));
        for (index, data) in layout.data.iter().enumerate() {
            if self.relocations(Some(index)) > 0 {
                sections.push(NamedSection::relocations(data.name, section_of(index)?));
            }
        }

        let mut symbols: SmallVec<[NamedSymbol<'_>; 16]> = SmallVec::new();
        for target in targets {
            let stage = unit.stage(target.stage).ok_or_else(lost)?;
            let section = stage.data().get(target.section).ok_or_else(lost)?;
            symbols.push(NamedSymbol::data(&section.name, stage.stage(), section_of(target.output)?));
        }
        let inner = layout.parts.iter().filter(|placed| placed.is_inner());
        symbols.extend(inner.map(|placed| NamedSymbol::code(placed.part.symbol, true)));
        symbols.extend(unit.stages().map(|stage| NamedSymbol::code(stage.entry_symbol(), false)));
        HeadBytes::new(&sections, &symbols)
    }
}

impl<'a, 'u> Output<'a, 'u> {
    /// A file without any places yet.
    pub(super) fn new(contents: Contents<'a, 'u>) -> Self {
        let (head, targets, sections) = (FileHead::default(), Targets::new(), SmallVec::new());
        Self { contents, head, targets, sections, document: 0, named: None, size: 0 }
    }

    /// Converts the metadata from register numbers to register names.
    fn document_by_name(&self) -> Result<Vec<u8>> {
        let mut bytes = fallible::zeros(self.document)?;
        let mut out = FixedWriter::new(&mut bytes);
        write_v2::write(self.contents.notes, &mut out);
        out.finish("metadata")?;
        Ok(named::from_registers(&Document::parse(&bytes)?, self.contents.target)?.to_bytes())
    }

    /// Gives every byte its place.
    ///
    /// # Errors
    /// Malformed: the parts together are too large.
    pub(super) fn arrange(&mut self) -> Result<()> {
        let Contents { target, unit, layout, notes, metadata, .. } = self.contents;
        self.document = write_v2::size(notes);
        if metadata.read_by(target) == MetadataVersion::Named {
            let document = self.document_by_name()?;
            (self.document, self.named) = (document.len(), Some(document));
        }
        self.find_targets()?;
        let (contents, targets) = (self.contents, &self.targets);
        self.head.fill(unit, layout, || contents.make_head(targets))?;
        let mut end = self.head.len();
        let note = note::section_size(target, self.document);
        self.place(&mut end, Content::Text, ENTRY_ALIGN, layout.text_size as usize)?;
        self.place(&mut end, Content::Note, NOTE_ALIGN, note)?;
        self.place_relocations(&mut end, None)?;
        for (index, data) in layout.data.iter().enumerate() {
            self.place(&mut end, Content::Data(index), data.align, data.size as usize)?;
        }
        for index in 0..layout.data.len() {
            self.place_relocations(&mut end, Some(index))?;
        }
        self.size = end;
        Ok(())
    }

    /// Size of the file in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Adds a section at the next multiple of its alignment.
    fn place(&mut self, end: &mut usize, content: Content, align: u32, size: usize) -> Result<()> {
        let at = end.next_multiple_of(align.max(1) as usize);
        *end = at.checked_add(size).ok_or_else(too_large)?;
        let [at, size] = [at, size].map(u32::try_from);
        let extent = Extent { at: at.map_err(|_| too_large())?, size: size.map_err(|_| too_large())? };
        self.sections.push(OutSection { content, extent });
        Ok(())
    }

    /// Adds the relocations of a section that has some.
    fn place_relocations(&mut self, end: &mut usize, of: Option<usize>) -> Result<()> {
        match self.contents.relocations(of) {
            0 => Ok(()),
            count => self.place(end, Content::Relocations(of), RELOCATIONS_ALIGN, size::REL as usize * count),
        }
    }

    /// Adds the numbers of the symbols, in the order of [`Contents::make_head`].
    fn symbols(&self, symbols: &mut SmallVec<[Extent; 16]>) {
        symbols.extend(self.targets.iter().map(|target| target.extent));
        let parts = &self.contents.layout.parts;
        for placed in parts.iter().filter(|placed| placed.is_inner()) {
            symbols.push(Extent { at: placed.offset, size: placed.size });
        }
        // The parts of a stage are contiguous and begin with the first, whose name is the stage's own symbol.
        for stage in parts.chunk_by(|one, next| one.id.stage == next.id.stage) {
            if let (Some(first), Some(last)) = (stage.first(), stage.last()) {
                symbols.push(Extent { at: first.offset, size: last.end().saturating_sub(first.offset) });
            }
        }
    }

    /// Writes the file to memory of exactly its size.
    ///
    /// # Errors
    /// Malformed: a value that does not fit its field.
    pub(super) fn write(&self, to: &mut [u8]) -> Result<()> {
        let mut out = FixedWriter::new(to);
        let target = self.contents.target;
        let mut symbols = SmallVec::new();
        self.symbols(&mut symbols);
        self.head.write(target, self.sections.iter().map(|section| section.extent), &symbols, &mut out);
        for section in &self.sections {
            let Extent { at, size } = section.extent;
            out.zeros_to(at as usize);
            match section.content {
                Content::Text => self.text(out.take(size as usize))?,
                Content::Note => {
                    let notes = self.contents.notes;
                    note::write_section_into(&mut out, target, self.document, |out| match &self.named {
                        Some(document) => out.put(document),
                        None => write_v2::write(notes, out),
                    });
                }
                Content::Relocations(data) => self.records(data, &mut out)?,
                Content::Data(index) => {
                    let data = self.contents.layout.data.get(index);
                    self.data(data.ok_or_else(lost)?, at, &mut out)?;
                }
            }
        }
        out.finish("pipeline ELF")
    }

    fn text(&self, text: &mut [u8]) -> Result<()> {
        let layout = self.contents.layout;
        let words = &Isa::of(self.contents.target).words;
        let mut end = 0;
        for placed in &layout.parts {
            let runs_on = placed.id.part > 0 && layout.placement == Placement::Adjacent;
            match placed.offset.saturating_sub(end) / DWORD {
                gap @ BRANCHED_GAP.. if runs_on => {
                    put_word(text, end, words.branch | (gap - 1))?;
                    fill(text, end.saturating_add(DWORD), placed.offset, &words.nops)?;
                }
                _ => fill(text, end, placed.offset, &words.nops)?,
            }
            let code = placed.part.code;
            end = placed.end();
            let place = text.get_mut(placed.offset as usize..).and_then(|rest| rest.get_mut(..code.len()));
            place.ok_or_else(misplaced)?.copy_from_slice(code);
            if let Some(next) = placed.joint {
                let at = end.saturating_sub(DWORD);
                put_word(text, at, words.branch)?;
                apply(words, text, at, RelocKind::Rel16, next.into(), at.into()).map_err(|e| {
                    Error::bug(format!(
                        "the joint after `{}`, which the layout found to reach: {e}",
                        placed.part.symbol
                    ))
                })?;
            }
            let values = self.contents.resolved.get(placed.id.stage).map_or(&[][..], |values| values);
            for (patch, value) in placed.part.patches.iter().zip(values) {
                let at = placed.offset.checked_add(patch.offset).ok_or_else(too_large)?;
                apply(words, text, at, patch.kind, u32::from_le_bytes(*value).into(), at.into())
                    .at(|| format!("`{}`, symbol `{}`", placed.part.symbol, patch.symbol))?;
            }
        }
        if end != layout.code_end {
            return Err(misplaced());
        }
        for (number, stage) in self.contents.unit.stages().enumerate() {
            calls::resolve(words, stage, number, layout, text)?;
        }
        fill(text, end, layout.text_size, &words.code_ends)
    }

    fn data(&self, data: &PlacedData<'_>, start: u32, out: &mut FixedWriter<'_>) -> Result<()> {
        for &(stage, index, offset) in &data.pieces {
            let section = self.contents.unit.stage(stage).and_then(|s| s.data().get(index));
            out.zeros_to(start as usize + offset as usize);
            out.put(&section.ok_or_else(|| Error::bug("constant data of no stage"))?.bytes);
        }
        Ok(())
    }

    /// Finds the places in constant data that relocations refer to.
    fn find_targets(&mut self) -> Result<()> {
        let Contents { unit, layout, .. } = self.contents;
        for (stage, of_stage) in unit.stages().enumerate() {
            for &DataTarget { section, offset } in of_stage.targets() {
                let (output, base) = layout.data_place(stage, section).ok_or_else(lost)?;
                let bytes = of_stage.data().get(section).map_or(0, |section| section.bytes.len());
                let size = u32::try_from(bytes).map_err(|_| too_large())?.saturating_sub(offset);
                let extent = Extent { at: base.checked_add(offset).ok_or_else(too_large)?, size };
                self.targets.push(Target { stage, section, output, extent });
            }
        }
        Ok(())
    }

    fn records(&self, data: Option<usize>, out: &mut FixedWriter<'_>) -> Result<()> {
        for (stage, load) in self.contents.loads() {
            let Some(base) = self.contents.base(stage, load, data) else { continue };
            let offset = base.checked_add(load.offset).ok_or_else(too_large)?;
            // The symbols of targets come first, after the null symbol, and those of the first stage before others.
            let before = self.contents.unit.stages().take(stage).map(|other| other.targets().len()).sum::<usize>();
            out.words([offset, 0, load.kind.number(), (before + load.target) as u32 + 1]);
        }
        Ok(())
    }
}

/// Smallest gap in dwords that is branched over, because that many no-ops would take longer.
const BRANCHED_GAP: u32 = 6;

fn fill(text: &mut [u8], from: u32, to: u32, run: &WordRun) -> Result<()> {
    let gap = text.get_mut(from as usize..to as usize).ok_or_else(misplaced)?;
    for gap in gap.chunks_mut(size_of::<WordRun>()) {
        gap.copy_from_slice(run.as_flattened().get(..gap.len()).ok_or_else(misplaced)?);
    }
    Ok(())
}

fn put_word(text: &mut [u8], at: u32, word: u32) -> Result<()> {
    let place = text.get_mut(at as usize..).and_then(<[u8]>::first_chunk_mut).ok_or_else(misplaced)?;
    *place = word.to_le_bytes();
    Ok(())
}

fn misplaced() -> Error {
    Error::bug("the code does not stand where its layout says")
}

fn lost() -> Error {
    Error::bug("lost data")
}

fn too_large() -> Error {
    Error::malformed("the parts together are too large")
}
