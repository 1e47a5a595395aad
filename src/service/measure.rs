//! The cost of a pipeline, measured on its ELF: waves per SIMD, registers, scratch, instructions. Also decides which of
//! two pipelines is better.

use dovetail_base::elf::{Elf, Home, stt};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_isa::Isa;
use dovetail_isa::disassemble;
use dovetail_metadata::document::{Document, get, submap};
use dovetail_metadata::note;
use dovetail_metadata::schema::MetadataKey;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A saving of fewer instructions than this percentage of the linked pipeline's is scheduling noise.
const GAIN: u64 = 2;

/// The cost of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageCost {
    /// Stage.
    pub stage: Stage,
    /// Vector registers of a wave.
    pub vgprs: u32,
    /// Waves per SIMD that these registers allow.
    pub waves: u32,
    /// Scratch bytes per lane.
    pub scratch: u32,
}

/// The cost of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Its stages.
    pub stages: Vec<StageCost>,
    /// Instructions of all code, including prologs and epilogs. Loop bodies count once, since trip counts are unknown.
    pub instructions: u64,
}

impl Cost {
    /// Measures a final ELF.
    ///
    /// # Errors
    /// Malformed: not an ELF with code and metadata.
    pub fn of(bytes: &[u8], target: Gpu) -> Result<Self> {
        let elf = Elf::parse(bytes)?;
        let (index, text) = elf.section(".text").ok_or_else(|| Error::malformed("no .text"))?;
        let words: Vec<u32> = text.data.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for symbol in elf.symbols.iter().filter(|s| s.kind == stt::FUNC && s.home == Home::Section(index)) {
            let end = symbol.value.saturating_add(symbol.size) / 4;
            let place = |dword: u64| usize::try_from(dword).map_or(words.len(), |dword| dword.min(words.len()));
            spans.push((place(symbol.value / 4), place(end)));
        }
        spans.sort_unstable();
        let isa = Isa::of(target);
        let (mut instructions, mut at) = (0, 0);
        for (start, end) in spans {
            // If parts are adjacent, a stage's symbol covers all of them.
            at = at.max(start);
            while let Some(rest) = words.get(at..end).filter(|rest| !rest.is_empty()) {
                at += disassemble(isa, rest).map_or(1, |instruction| usize::from(instruction.dwords()).max(1));
                instructions += 1;
            }
        }
        let notes = elf.sections.iter().find(|s| s.name == ".note").ok_or_else(|| Error::malformed("no .note"))?;
        let pipeline = Document::parse(note::metadata(notes.data)?)?.pipeline;
        let all = submap(&pipeline, MetadataKey::HardwareStages.name())?;
        let mut stages = Vec::new();
        for (stage, hardware) in target.family().api_stages() {
            let own = all.map(|all| submap(all, hardware.key())).transpose()?.flatten();
            let Some(own) = own else { continue };
            let number =
                |key: MetadataKey| get(own, key.name()).and_then(rmpv::Value::as_u64).unwrap_or_default() as u32;
            let wave = WaveSize::try_from(number(MetadataKey::WavefrontSize))?;
            let (vgprs, scratch) = (number(MetadataKey::VgprCount), number(MetadataKey::ScratchMemorySize));
            stages.push(StageCost { stage, vgprs, waves: target.facts().waves(vgprs, wave), scratch });
        }
        Ok(Self { stages, instructions })
    }

    /// Why this pipeline is better than the linked one.
    ///
    /// # Errors
    /// Why it is not, in words.
    pub fn better_than(&self, linked: &Self) -> std::result::Result<String, String> {
        let pairs = || self.stages.iter().zip(&linked.stages);
        if let Some((now, was)) = pairs().find(|(now, was)| now.waves < was.waves || now.scratch > was.scratch) {
            return Err(format!("the {} stage would be worse: {now}, linked {was}", was.stage));
        }
        if let Some((now, was)) = pairs().find(|(now, was)| now.waves > was.waves || now.scratch < was.scratch) {
            return Ok(format!("{} stage: {now}, linked {was}", was.stage));
        }
        let instructions = format!("{} instructions, linked {}", self.instructions, linked.instructions);
        let limit = linked.instructions.saturating_mul(100 - GAIN);
        if self.instructions.saturating_mul(100) <= limit { Ok(instructions) } else { Err(instructions) }
    }
}

impl fmt::Display for StageCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stage: _, vgprs, waves, scratch } = self;
        write!(f, "{waves} waves ({vgprs} VGPRs, {scratch} bytes of scratch)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(vgprs: u32, scratch: u32, instructions: u64) -> Cost {
        let waves = Gpu::Gfx1030.facts().waves(vgprs, WaveSize::W32);
        Cost { stages: vec![StageCost { stage: Stage::Compute, vgprs, waves, scratch }], instructions }
    }

    #[test]
    fn waves_come_before_instructions_and_a_schedule_is_no_gain() {
        let linked = cost(70, 0, 1000);
        assert_eq!(linked.stages[0].waves, 12);
        assert!(cost(60, 0, 1005).better_than(&linked).unwrap().contains("16 waves (60 VGPRs"));
        assert!(cost(90, 0, 500).better_than(&linked).unwrap_err().contains("would be worse"));
        assert!(cost(70, 16, 500).better_than(&linked).is_err(), "scratch is worse than any instruction");
        assert_eq!(cost(70, 0, 980).better_than(&linked).unwrap(), "980 instructions, linked 1000");
        assert!(cost(72, 0, 981).better_than(&linked).is_err());
    }
}
