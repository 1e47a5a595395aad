//! Reads what is checked from a final ELF: the words of `.text`, its parts, and the metadata's declarations per stage.

use dovetail_base::elf::{Elf, Home, stt};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::{Gpu, HardwareStage, Stage, WaveSize};
use dovetail_isa::Isa;
use dovetail_metadata::document::{Document, Map, get, submap};
use dovetail_metadata::named;
use dovetail_metadata::note;
use dovetail_metadata::registers::{RegisterWords, StageRegisters, compute_pgm_rsrc2, rsrc2_ps};
use dovetail_metadata::schema::MetadataKey;
use dovetail_metadata::user_data::pal::NOT_MAPPED;

/// Code and declarations of one ELF.
pub(super) struct Code<'a> {
    pub isa: &'static Isa,
    pub words: Vec<u32>,
    /// Sorted by start.
    pub parts: Vec<CodeSpan<'a>>,
    pub stages: Vec<StageCode>,
    pub registers: RegisterWords,
}

/// A range of code that a symbol names; offsets are in dwords.
pub(super) struct CodeSpan<'a> {
    pub symbol: &'a str,
    pub start: u32,
    /// The end: one past the last instruction.
    pub end: u32,
}

/// A stage as the metadata declare it.
pub(super) struct StageCode {
    pub stage: Stage,
    /// The hardware stage that runs it.
    pub hardware: HardwareStage,
    pub wave: WaveSize,
    /// Dword of the first instruction.
    pub entry: u32,
    /// The user-data entry of each user-data SGPR.
    pub user_data: Vec<u32>,
    /// VGPRs allocated to a wave, and the limit by `.vgpr_count`.
    pub vgprs: [u32; 2],
    /// `.sgpr_count`.
    pub sgprs: u32,
    /// RSRC2.SCRATCH_EN.
    pub scratch: bool,
    /// LDS size in bytes.
    pub lds: u32,
}

impl<'a> Code<'a> {
    /// Reads an ELF.
    ///
    /// # Errors
    /// Malformed: there is no code, no metadata, or no symbol for the entry of a stage.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let elf = Elf::parse(bytes)?;
        let target = Gpu::of_elf_flags(elf.flags)?;
        let (index, text) = elf.section(".text").ok_or_else(|| Error::malformed("no .text"))?;
        let (words, rest) = text.data.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|w| u32::from_le_bytes(*w)).collect();
        if !rest.is_empty() {
            return Err(Error::malformed(".text is not a sequence of dwords"));
        }
        let notes = elf.sections.iter().find(|s| s.name == ".note").ok_or_else(|| Error::malformed("no .note"))?;
        let document = Document::parse(note::metadata(notes.data)?)?;
        let registers = named::loaded(&document, target)?;
        let pipeline = document.pipeline;
        let code = elf.symbols.iter().filter(|s| s.kind == stt::FUNC && s.home == Home::Section(index));
        let mut parts = Vec::new();
        for symbol in code {
            let dword =
                |n: u64| u32::try_from(n / 4).ok().filter(|d| n.is_multiple_of(4) && *d as usize <= words.len());
            let range = dword(symbol.value).zip(symbol.value.checked_add(symbol.size).and_then(dword));
            let (start, end) =
                range.ok_or_else(|| Error::malformed(format!("symbol `{}` leaves .text", symbol.name)))?;
            parts.push(CodeSpan { symbol: symbol.name, start, end });
        }
        parts.sort_by_key(|p| p.start);
        // If a stage's parts are adjacent, its symbol covers all of them.
        let starts: Vec<u32> = parts.iter().map(|p| p.start).collect();
        for part in &mut parts {
            let next = starts.iter().find(|s| **s > part.start);
            part.end = part.end.min(next.copied().unwrap_or(u32::MAX));
        }
        let mut out = Self { isa: Isa::of(target), words, parts, stages: Vec::new(), registers };
        for (stage, hardware) in target.family().api_stages() {
            let all = submap(&pipeline, MetadataKey::HardwareStages.name())?;
            let Some(own) = all.map(|all| submap(all, hardware.key())).transpose()?.flatten() else { continue };
            let stage = out.stage(stage, hardware, own).at(|| stage.name())?;
            out.stages.push(stage);
        }
        if out.stages.is_empty() {
            return Err(Error::malformed("no hardware stage"));
        }
        Ok(out)
    }

    fn stage(&self, stage: Stage, hardware: HardwareStage, own: &Map) -> Result<StageCode> {
        let part = self.parts.iter().find(|p| p.symbol == hardware.entry_symbol());
        let part = part.ok_or_else(|| Error::malformed(format!("no symbol {}", hardware.entry_symbol())))?;
        let fields = StageRegisters::of(hardware)?;
        let field = |f| self.registers.field(f);
        let wave = WaveSize::try_from(number(own, MetadataKey::WavefrontSize)?.unwrap_or(64))?;
        let user = field(fields.user_sgpr) + 32 * fields.user_sgpr_msb.map_or(0, field);
        let slot = |n| self.registers.get(fields.user_data.nth(n)).unwrap_or(NOT_MAPPED);
        let units = match stage {
            Stage::Vertex => 0,
            Stage::Fragment => field(rsrc2_ps::EXTRA_LDS_SIZE),
            Stage::Compute => field(compute_pgm_rsrc2::LDS_SIZE),
        };
        let facts = self.isa.facts();
        let given = (field(fields.vgprs) + 1) * facts.vgpr_unit(wave);
        Ok(StageCode {
            stage,
            hardware,
            wave,
            entry: part.start,
            user_data: (0..user).map(slot).collect(),
            vgprs: [given, number(own, MetadataKey::VgprCount)?.unwrap_or(given)],
            sgprs: number(own, MetadataKey::SgprCount)?.unwrap_or(128),
            scratch: field(fields.scratch_en) == 1,
            lds: units * facts.lds_unit,
        })
    }

    /// The part that a dword is in; padding belongs to the part before it.
    pub(super) fn part(&self, at: u32) -> Option<&CodeSpan<'a>> {
        self.parts.iter().rfind(|p| p.start <= at)
    }

    /// Role of a part in its stage.
    pub(super) fn role(&self, stage: &StageCode, part: &CodeSpan<'_>) -> &'static str {
        let [entry, body] = [stage.hardware.entry_symbol(), stage.hardware.unlinked_symbol()];
        let split = entry != body && self.parts.iter().any(|p| p.symbol == body);
        match part.symbol {
            symbol if symbol == entry && split => "prolog",
            symbol if symbol == entry || symbol == body => "body",
            _ => "epilog",
        }
    }
}

fn number(map: &Map, key: MetadataKey) -> Result<Option<u32>> {
    let narrow = |v: &rmpv::Value| v.as_u64().and_then(|n| u32::try_from(n).ok());
    get(map, key.name())
        .map(|v| narrow(v).ok_or_else(|| Error::malformed(format!("metadata: {} is {v}", key.name()))))
        .transpose()
}
