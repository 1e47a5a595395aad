//! Compares our listing of a linked ELF with llvm-objdump-19's, line by line: length, mnemonic and operands of every instruction.
//!
//! The disassembler takes one wave size for a whole file, so a pipeline with two is listed twice, and each stage is
//! compared in its own. Runs of spaces count as one: the tool writes two after the name of an image instruction with
//! scattered addresses.

use dovetail::emu::{LoadedPipeline, Machine};
use dovetail::error::{Context, Error, Result};
use dovetail::isa::Op;
use dovetail::isa::instruction::Fields;
use dovetail::isa::{Isa, disassemble};
use dovetail::target::{Gpu, WaveSize};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::Command;

/// A temporary file for another program to read, deleted on drop.
pub fn scratch(bytes: &[u8]) -> Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Listing {
    /// Instructions compared.
    pub lines: u64,
    /// Number of equal lines.
    pub same: u64,
    /// The first line that differs.
    pub first: Option<Difference>,
}

/// An instruction whose lines differ.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// Offset in the code.
    pub offset: u64,
    /// Our line.
    pub ours: String,
    /// The other disassembler's text.
    pub theirs: String,
}

impl Listing {
    /// Adds the result of another file.
    pub fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.same += other.same;
        self.first = self.first.take().or(other.first);
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at {:#x} we list `{}`, llvm-objdump-19 `{}`", self.offset, self.ours, self.theirs)
    }
}

/// Compares every instruction of a pipeline ELF.
///
/// # Errors
/// Environment: the tool is missing. Malformed: not a pipeline.
pub fn compare(elf: &[u8]) -> Result<Listing> {
    let pipeline = LoadedPipeline::load(&mut Machine::new(Gpu::of_elf(elf)?), elf)?;
    let file = ElfFile64::<LittleEndian>::parse(elf).map_err(|e| Error::malformed(format!("no ELF: {e}")))?;
    let text = file.section_by_name(".text").ok_or_else(|| Error::malformed("no .text"))?;
    let text = text.data().map_err(|e| Error::malformed(format!(".text: {e}")))?;
    let words: Vec<u32> = text.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let waves = waves(&pipeline, &words);
    let mut out = Listing::default();
    for wave in [WaveSize::W32, WaveSize::W64].into_iter().filter(|wave| waves.values().any(|w| w == wave)) {
        for line in listed(elf, wave)?.lines() {
            let Some((theirs, offset, length)) = instruction(line) else { continue };
            if waves.range(..=offset).next_back().map(|(_, w)| w) != Some(&wave) {
                continue;
            }
            let rest = usize::try_from(offset / 4).ok().and_then(|n| words.get(n..)).unwrap_or_default();
            let ours = match disassemble(Isa::of(pipeline.gpu), rest) {
                Ok(inst) if usize::from(inst.dwords()) == length => inst.text(Isa::of(pipeline.gpu), wave),
                Ok(inst) => format!("{} of {} dwords", inst.text(Isa::of(pipeline.gpu), wave), inst.dwords()),
                Err(e) => e.to_string(),
            };
            let theirs = theirs.split_whitespace().collect::<Vec<_>>().join(" ");
            out.lines += 1;
            out.same += u64::from(ours == theirs);
            if ours != theirs && out.first.is_none() {
                out.first = Some(Difference { offset, ours, theirs });
            }
        }
    }
    if out.lines == 0 {
        return Err(Error::bug("llvm-objdump-19 lists no instruction"));
    }
    Ok(out)
}

/// Start offset and wave size of each part: from a stage's first part on, execution continues at the target of its last
/// instruction.
pub fn waves(pipeline: &LoadedPipeline, words: &[u32]) -> BTreeMap<u64, WaveSize> {
    let starts: Vec<u64> = pipeline.parts.iter().map(|part| part.offset).collect();
    let mut out = BTreeMap::new();
    for stage in pipeline.stages.values() {
        let mut next = pipeline.parts.iter().find(|part| part.start == stage.entry).map(|part| part.offset);
        while let Some(start) = next.take().filter(|start| starts.contains(start) && !out.contains_key(start)) {
            out.insert(start, stage.wave);
            let end = starts.iter().copied().find(|other| *other > start).unwrap_or(4 * words.len() as u64);
            next = successor(pipeline.gpu, words, start, end);
        }
    }
    out
}

/// Where execution continues after a part, if it does.
fn successor(gpu: Gpu, words: &[u32], start: u64, end: u64) -> Option<u64> {
    let (mut at, mut after) = (start, Some(end));
    while at < end {
        let inst = disassemble(Isa::of(gpu), words.get(usize::try_from(at / 4).ok()?..)?).ok()?;
        at += 4 * u64::from(inst.dwords());
        let Fields::Scalar(fields) = &inst.fields else {
            after = Some(end);
            continue;
        };
        after = match inst.entry.op {
            Op::SBranch => at.checked_add_signed(4 * i64::from(fields.imm.cast_signed())),
            Op::SEndpgm => None,
            // Padding.
            Op::SNop | Op::SCodeEnd => after,
            _ => Some(end),
        };
    }
    after
}

fn listed(elf: &[u8], wave: WaveSize) -> Result<String> {
    let file = scratch(elf)?;
    let tool = "llvm-objdump-19";
    let attributes = format!("--mattr=+wavefrontsize{}", wave.lanes());
    let out = Command::new(tool).args(["-d", "-z", &attributes]).arg(file.path()).output();
    let out = out.map_err(|e| Error::environment(format!("{tool}: {e}; Debian has it in llvm-19")))?;
    if !out.status.success() || !out.stderr.is_empty() {
        return Err(Error::bug(format!("{tool}: {}", String::from_utf8_lossy(&out.stderr).trim())));
    }
    String::from_utf8(out.stdout).map_err(|e| Error::bug(e.to_string())).at(|| tool)
}

/// A line's text, byte and dwords.
fn instruction(line: &str) -> Option<(&str, u64, usize)> {
    let (text, comment) = line.rsplit_once("// ")?;
    let (offset, words) = comment.split_once(": ")?;
    // A branch's target follows in angle brackets.
    let length = words.split_whitespace().take_while(|word| !word.starts_with('<')).count();
    Some((text.trim(), u64::from_str_radix(offset.trim(), 16).ok()?, length))
}
