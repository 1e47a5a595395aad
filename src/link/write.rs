//! Writes the final ELF from a layout, its values and the notes (pal-abi 2.6, 3).
//!
//! Sections: null, `.strtab`, `.symtab`, `.text`, `.note`, `.rel.text` if there is anything to relocate at load, then
//! constant data. All sizes are reserved first; a section that comes out otherwise is a bug, not a shifted file.

use super::attach::Unit;
use super::input::{LoadReloc, Patched};
use super::layout::{ENTRY_ALIGN, Layout, PartId, PlacedPart};
use super::resolve::Resolved;
use crate::elf::{MACHINE, OSABI_PAL, RELOCATABLE, shf, sht, size, stt};
use crate::error::{Context, Error, Result};
use crate::isa::words::{S_BRANCH, S_CODE_END, S_NOP};
use crate::reloc::apply::apply;
use crate::reloc::kind::RelocKind;
use crate::target::GfxIp;
use std::borrow::Cow;

/// Section index of `.text` in every final ELF.
const TEXT: u16 = 3;
/// Section index of the first section after those that are always there.
const FIRST_OPTIONAL: u16 = 5;

/// What is written.
pub(super) struct Output<'a> {
    pub target: GfxIp,
    pub unit: &'a Unit<'a>,
    pub layout: &'a Layout<'a>,
    /// By stage.
    pub resolved: &'a [Resolved],
    /// Content of `.note`.
    pub note: &'a [u8],
}

/// A section on its way into the file.
struct OutSection {
    name: u32,
    kind: u32,
    flags: u64,
    align: u64,
    link: u32,
    info: u32,
    entry_size: u64,
    bytes: Vec<u8>,
}

/// A symbol on its way into the table.
struct OutSymbol<'a> {
    name: Cow<'a, str>,
    value: u32,
    size: u32,
    kind: u8,
    local: bool,
    section: u16,
}

impl<'a> Output<'a> {
    /// Writes the ELF.
    pub(super) fn write(&self) -> Result<Vec<u8>> {
        let has_rels = |of: fn(&LoadReloc) -> bool| self.unit.stages.iter().any(|s| s.loads().iter().any(of));
        let text_rels = has_rels(|l| l.patched == Patched::Code);
        let first_data = FIRST_OPTIONAL + u16::from(text_rels);

        let (symbols, targets) = self.symbols(first_data)?;
        let mut names = Names::default();
        let mut sections = vec![
            OutSection::new(0, 0, 0, 0),
            OutSection::new(names.add(".strtab"), sht::STRTAB, 0, 1),
            OutSection::new(names.add(".symtab"), sht::SYMTAB, 0, 8),
            OutSection::new(names.add(".text"), sht::PROGBITS, shf::ALLOC | shf::EXECUTE, ENTRY_ALIGN.into()),
            OutSection::new(names.add(".note"), sht::NOTE, 0, 4),
        ];
        if text_rels {
            let body = |stage: usize| {
                let part = self.unit.stages.get(stage)?.body_index();
                Some(self.layout.part(PartId { stage, part })?.offset)
            };
            let in_text = |patched, stage| if patched == Patched::Code { body(stage) } else { None };
            sections.push(self.rels(&mut names, ".text", TEXT, &targets, in_text)?);
        }
        for data in &self.layout.data {
            sections.push(OutSection::new(names.add(data.name), sht::PROGBITS, data.flags, data.align.into()));
        }
        for (output, data) in (0usize..).zip(&self.layout.data) {
            let index = first_data + u16::try_from(output).map_err(|_| too_many())?;
            let in_this = |patched: Patched, stage: usize| match patched {
                Patched::Code => None,
                Patched::Data(i) => {
                    self.layout.data_place(stage, i).filter(|(o, _)| *o == output).map(|(_, base)| base)
                }
            };
            let rels = self.rels(&mut names, data.name, index, &targets, in_this)?;
            if !rels.bytes.is_empty() {
                sections.push(rels);
            }
        }
        let locals = symbols.iter().filter(|s| s.local).count() + 1;
        let mut table = Vec::with_capacity(size::SYMBOL as usize * (symbols.len() + 1));
        table.resize(size::SYMBOL as usize, 0);
        for symbol in &symbols {
            symbol.write(names.add(&symbol.name), &mut table);
        }
        for (index, section) in sections.iter_mut().enumerate() {
            match index {
                1 => section.bytes = std::mem::take(&mut names.bytes),
                2 => {
                    section.bytes = std::mem::take(&mut table);
                    (section.link, section.info) = (1, u32::try_from(locals).map_err(|_| too_many())?);
                    section.entry_size = size::SYMBOL;
                }
                3 => section.bytes = self.text()?,
                4 => section.bytes = self.note.to_vec(),
                _ => {
                    let output = index.checked_sub(usize::from(first_data)).and_then(|i| self.layout.data.get(i));
                    if let Some(data) = output {
                        section.bytes = self.data(data)?;
                    }
                }
            }
        }
        self.file(&sections)
    }

    /// Header, section table, contents.
    fn file(&self, sections: &[OutSection]) -> Result<Vec<u8>> {
        let count = u16::try_from(sections.len()).map_err(|_| too_many())?;
        let mut at = size::HEADER + size::SECTION * u64::from(count);
        let mut places = Vec::with_capacity(sections.len());
        for section in sections {
            at = at.next_multiple_of(section.align.max(1));
            places.push(at);
            at += section.bytes.len() as u64;
        }
        let mut out = Vec::with_capacity(usize::try_from(at).map_err(|_| too_many())?);
        out.extend_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, OSABI_PAL, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&RELOCATABLE.to_le_bytes());
        out.extend_from_slice(&MACHINE.to_le_bytes());
        out.extend_from_slice(&1u32.to_le_bytes());
        // Entry point, program headers, section headers.
        for word in [0, 0, size::HEADER] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.target.elf_flags().to_le_bytes());
        for half in [size::HEADER as u16, 0, 0, size::SECTION as u16, count, 1] {
            out.extend_from_slice(&half.to_le_bytes());
        }
        for (index, (section, place)) in sections.iter().zip(&places).enumerate() {
            section.header(if index == 0 { 0 } else { *place }, &mut out);
        }
        for (section, place) in sections.iter().zip(&places) {
            out.resize(usize::try_from(*place).map_err(|_| too_many())?, 0);
            out.extend_from_slice(&section.bytes);
        }
        if out.len() as u64 != at {
            return Err(Error::bug(format!("the file has {} bytes, the layout {at}", out.len())));
        }
        Ok(out)
    }

    fn text(&self) -> Result<Vec<u8>> {
        let layout = self.layout;
        let mut text = Vec::with_capacity(layout.text_size as usize);
        for placed in &layout.parts {
            // Control may fall through this.
            fill(&mut text, placed.offset, S_NOP);
            if text.len() != placed.offset as usize {
                return Err(Error::bug(format!("`{}` overlaps the part before it", placed.part.symbol)));
            }
            text.extend_from_slice(placed.part.code);
            if let Some(next) = placed.joint {
                let at = u32::try_from(text.len()).map_err(|_| too_many())?;
                text.extend_from_slice(&S_BRANCH.to_le_bytes());
                apply(&mut text, at, RelocKind::Rel16, next.into(), at.into()).map_err(|e| {
                    Error::bug(format!(
                        "the joint after `{}`, which the layout found to reach: {e}",
                        placed.part.symbol
                    ))
                })?;
            }
            let values = self.resolved.get(placed.id.stage).map_or(&[][..], |r| &r.values);
            for (patch, value) in placed.part.patches.iter().zip(values) {
                let at = placed.offset.checked_add(patch.offset).ok_or_else(too_many)?;
                apply(&mut text, at, patch.kind, (*value).into(), at.into())
                    .at(|| format!("`{}`, symbol `{}`", placed.part.symbol, patch.symbol))?;
            }
        }
        if text.len() != layout.code_end as usize {
            return Err(Error::bug("the code does not end where its layout does"));
        }
        fill(&mut text, layout.text_size, S_CODE_END);
        Ok(text)
    }

    fn data(&self, data: &super::layout::PlacedData<'_>) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(data.size as usize);
        for &(stage, index, offset) in &data.pieces {
            out.resize(offset as usize, 0);
            let section = self.unit.stages.get(stage).and_then(|s| s.data().get(index));
            out.extend_from_slice(&section.ok_or_else(|| Error::bug("constant data of no stage"))?.bytes);
        }
        Ok(out)
    }

    /// All symbols, locals first; and for the loader's relocations which symbol each target has, by stage, section, value.
    fn symbols(&self, first_data: u16) -> Result<(Vec<OutSymbol<'a>>, Vec<Target>)> {
        let mut out = Vec::new();
        let mut targets: Vec<Target> = Vec::new();
        for (index, stage) in self.unit.stages.iter().enumerate() {
            for load in stage.loads() {
                if targets.iter().any(|t| t.is(index, load)) {
                    continue;
                }
                let (output, base) =
                    self.layout.data_place(index, load.target).ok_or_else(|| Error::bug("lost data"))?;
                let section = stage.data().get(load.target).ok_or_else(|| Error::bug("lost data"))?;
                let value = base.checked_add(load.value).ok_or_else(too_many)?;
                let size = u32::try_from(section.bytes.len()).map_err(|_| too_many())?.saturating_sub(load.value);
                targets.push(Target {
                    stage: index,
                    section: load.target,
                    value: load.value,
                    symbol: out.len() as u32 + 1,
                });
                out.push(OutSymbol {
                    name: format!("{}.{}", section.name, stage.stage()).into(),
                    value,
                    size,
                    kind: stt::OBJECT,
                    local: true,
                    section: first_data + u16::try_from(output).map_err(|_| too_many())?,
                });
            }
        }
        let code = |name: &'a str, value, size, local| OutSymbol {
            name: name.into(),
            value,
            size,
            kind: stt::FUNC,
            local,
            section: TEXT,
        };
        // The first part's symbol is the stage's own, below.
        for placed in self.layout.parts.iter().filter(|p| p.id.part > 0) {
            out.push(code(placed.part.symbol, placed.offset, placed.size, true));
        }
        for (index, stage) in self.unit.stages.iter().enumerate() {
            let first = self.layout.part(PartId { stage: index, part: 0 });
            let first = first.ok_or_else(|| Error::bug("a stage without parts"))?;
            // The parts of a stage stand together, the first one first.
            let ends = self.layout.parts.iter().filter(|p| p.id.stage == index).map(PlacedPart::end);
            let size = ends.max().unwrap_or(0).saturating_sub(first.offset);
            out.push(code(stage.stage().entry_symbol(), first.offset, size, false));
        }
        Ok((out, targets))
    }

    /// The relocations of one section: `base` says where in it something of a stage starts, if it is in it at all.
    fn rels(
        &self,
        names: &mut Names,
        section: &str,
        index: u16,
        targets: &[Target],
        base: impl Fn(Patched, usize) -> Option<u32>,
    ) -> Result<OutSection> {
        let mut bytes = Vec::new();
        for (stage_index, stage) in self.unit.stages.iter().enumerate() {
            for load in stage.loads() {
                let Some(base) = base(load.patched, stage_index) else { continue };
                let target = targets.iter().find(|t| t.is(stage_index, load));
                let symbol = target.ok_or_else(|| Error::bug("a relocation without symbol"))?.symbol;
                let offset = base.checked_add(load.offset).ok_or_else(too_many)?;
                bytes.extend_from_slice(&u64::from(offset).to_le_bytes());
                bytes.extend_from_slice(&load.kind.number().to_le_bytes());
                bytes.extend_from_slice(&symbol.to_le_bytes());
            }
        }
        let name = if bytes.is_empty() { 0 } else { names.add(&format!(".rel{section}")) };
        let mut out = OutSection::new(name, sht::REL, shf::INFO_LINK, 8);
        (out.link, out.info, out.entry_size, out.bytes) = (2, index.into(), size::REL, bytes);
        Ok(out)
    }
}

/// The symbol that stands for a place in a stage's constant data.
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

impl OutSection {
    fn new(name: u32, kind: u32, flags: u64, align: u64) -> Self {
        Self { name, kind, flags, align, link: 0, info: 0, entry_size: 0, bytes: Vec::new() }
    }

    fn header(&self, place: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.name.to_le_bytes());
        out.extend_from_slice(&self.kind.to_le_bytes());
        for word in [self.flags, 0, place, self.bytes.len() as u64] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.link.to_le_bytes());
        out.extend_from_slice(&self.info.to_le_bytes());
        out.extend_from_slice(&self.align.to_le_bytes());
        out.extend_from_slice(&self.entry_size.to_le_bytes());
    }
}

impl OutSymbol<'_> {
    fn write(&self, name: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&name.to_le_bytes());
        let binding = if self.local { 0 } else { 1 };
        out.extend_from_slice(&[binding << 4 | self.kind, 0]);
        out.extend_from_slice(&self.section.to_le_bytes());
        out.extend_from_slice(&u64::from(self.value).to_le_bytes());
        out.extend_from_slice(&u64::from(self.size).to_le_bytes());
    }
}

/// The one string table.
struct Names {
    bytes: Vec<u8>,
}

impl Default for Names {
    fn default() -> Self {
        let mut bytes = Vec::with_capacity(512);
        bytes.push(0);
        Self { bytes }
    }
}

impl Names {
    fn add(&mut self, name: &str) -> u32 {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        at
    }
}

fn fill(text: &mut Vec<u8>, to: u32, word: u32) {
    while text.len() < to as usize {
        text.extend_from_slice(&word.to_le_bytes());
    }
}

fn too_many() -> Error {
    Error::malformed("the parts together are too large")
}
