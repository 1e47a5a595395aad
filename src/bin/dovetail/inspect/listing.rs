//! The code of an ELF, one line per instruction: the parts and their joints as headings, and beside the instructions their
//! dwords, what a relocation puts there, and where a branch goes.

use super::{Relocation, Report};
use crate::objdump;
use dovetail::check::estimate;
use dovetail::emu::{LoadedPipeline, Machine};
use dovetail::error::Result;
use dovetail::isa::instruction::Fields;
use dovetail::isa::{Instruction, Isa, Op, Traits, disassemble, is_padding};
use dovetail::target::{Gpu, WaveSize};
use std::collections::BTreeMap;

/// Padding instructions in a row from which on they are only counted.
const FEW: usize = 4;

/// Lists the code of an ELF; `stage_wave` is the wave size of an unlinked one.
pub fn listing(elf: &[u8], report: &Report, gpu: Gpu, stage_wave: Option<WaveSize>) -> Result<Vec<String>> {
    let words = estimate::text(elf)?;
    let pipeline = match stage_wave {
        // Its entry points and wave sizes are where a driver finds them.
        None => LoadedPipeline::load(&mut Machine::new(gpu), elf).ok(),
        Some(_) => None,
    };
    let waves = pipeline.as_ref().map_or_else(BTreeMap::new, |pipeline| objdump::waves(pipeline, &words));
    let wave = |at: u64| {
        let of_part = waves.range(..=at).next_back().map(|(_, wave)| *wave);
        of_part.or(stage_wave).unwrap_or(WaveSize::W32)
    };
    let code = Code { report, pipeline: pipeline.as_ref(), gpu, words: &words };
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let offset = 4 * at as u64;
        out.extend(code.heading(offset));
        let Ok(inst) = disassemble(Isa::of(gpu), rest) else {
            out.push(line(&format!(".long {:#010x}", rest[0]), offset, &rest[..1], &code.relocated(offset, 1)));
            at += 1;
            continue;
        };
        let padding = code.padding(at, inst.entry.op);
        if padding >= FEW {
            out.push(format!("\t({padding} × {})", inst.entry.mnemonic));
            at += padding;
            continue;
        }
        let dwords = usize::from(inst.dwords());
        let mut notes = code.relocated(offset, dwords);
        notes.extend(code.target(offset, &inst));
        out.push(line(&inst.text(Isa::of(gpu), wave(offset)), offset, &rest[..dwords], &notes));
        at += dwords;
    }
    Ok(out)
}

fn line(text: &str, offset: u64, words: &[u32], notes: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:08X}")).collect();
    let notes: String = notes.iter().map(|note| format!("  {note}")).collect();
    format!("\t{text:<58} // {offset:#06x}: {}{notes}", words.join(" "))
}

struct Code<'a> {
    report: &'a Report,
    pipeline: Option<&'a LoadedPipeline>,
    gpu: Gpu,
    words: &'a [u32],
}

impl Code<'_> {
    /// The parts that begin here, and the joint after the body of an unlinked ELF.
    fn heading(&self, offset: u64) -> Option<String> {
        let here = self.report.symbols.iter().filter(|s| s.section.as_deref() == Some(".text") && s.value == offset);
        let mut found: Vec<String> = here
            .map(|s| {
                let parts = self.pipeline.map_or(&[][..], |pipeline| &pipeline.parts);
                let role = parts.iter().find(|part| part.symbol == s.name).map_or("", |part| part.role);
                format!("{role} {} ({} bytes)", s.name, s.size).trim_start().to_owned()
            })
            .collect();
        let joint = self.report.relocations.iter().find(|r| r.section == ".text" && r.offset == offset && r.is_joint());
        found.extend(joint.map(|joint| format!("joint {}: {}", joint.symbol, joint.meaning)));
        (!found.is_empty()).then(|| format!("──── {offset:#06x} {}", found.join(", ")))
    }

    /// What relocations put into an instruction.
    fn relocated(&self, offset: u64, dwords: usize) -> Vec<String> {
        let inside = offset..offset + 4 * dwords as u64;
        let here = self.report.relocations.iter().filter(|r| r.section == ".text" && inside.contains(&r.offset));
        here.map(|Relocation { symbol, meaning, .. }| format!("{symbol}: {meaning}")).collect()
    }

    /// The target of a branch that is not relocated.
    fn target(&self, offset: u64, inst: &Instruction) -> Option<String> {
        let Fields::Scalar(fields) = &inst.fields else { return None };
        if !inst.entry.is(Traits::BRANCH) || !self.relocated(offset, 1).is_empty() {
            return None;
        }
        let target = (offset + 4).checked_add_signed(4 * i64::from(fields.imm.cast_signed()))?;
        Some(format!("-> {target:#06x}"))
    }

    /// Padding instructions of this operation from a word on, up to the next part.
    fn padding(&self, at: usize, op: Op) -> usize {
        let same = |n: &usize| {
            let inst = self.words.get(*n..).and_then(|rest| disassemble(Isa::of(self.gpu), rest).ok());
            inst.is_some_and(|inst| inst.entry.op == op && is_padding(op))
                && (*n == at || self.heading(4 * *n as u64).is_none())
        };
        (at..).take_while(same).count()
    }
}
