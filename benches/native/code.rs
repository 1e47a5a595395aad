//! What machine code consists of: the same reading for every compiler's.

use dovetail::check::estimate::{Placed, cycles, loops};
use dovetail::isa::{Entry, Latency, Op, Traits, disassemble};
use dovetail::target::{GfxIp, WaveSize};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection};
use serde::Serialize;

/// Most waves of a SIMD (isa-gfx10: 16 since gfx10.3).
const MOST_WAVES: u32 = 16;

/// Figures of one code.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Code {
    pub instructions: usize,
    pub salu: usize,
    pub valu: usize,
    pub memory: usize,
    pub waits: usize,
    pub moves: usize,
    pub branches: usize,
    pub bytes: usize,
    /// Registers up to the last one that is named.
    pub vgprs: u32,
    /// Waves of a SIMD that these registers allow.
    pub waves: u32,
    /// Loops that are left.
    pub loops: usize,
    /// Of one wave through all of the code once, eight times for each loop.
    pub cycles: u64,
}

/// Words of an ELF's code.
pub fn text(elf: &[u8]) -> Result<Vec<u32>, String> {
    let file = ElfFile64::<LittleEndian>::parse(elf).map_err(|e| e.to_string())?;
    let text = file.section_by_name(".text").ok_or("no .text")?;
    let text = text.data().map_err(|e| e.to_string())?;
    Ok(text.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Reads and counts.
pub fn read(words: &[u32], wave: WaveSize) -> Result<Code, String> {
    let mut code = Vec::new();
    let mut at = 0;
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let inst = disassemble(GfxIp::Gfx1030, rest).map_err(|e| e.to_string())?;
        let dwords = usize::from(inst.dwords());
        // What fills up is no code.
        if !matches!(inst.entry.op, Op::SNop | Op::SCodeEnd | Op::SInstPrefetch) {
            code.push(Placed { at, inst });
        }
        at += dwords;
    }
    let mut out = Code { instructions: code.len(), ..Code::default() };
    for Placed { inst, .. } in &code {
        *counter(&mut out, inst.entry) += 1;
        out.bytes += 4 * usize::from(inst.dwords());
        let effects = inst.effects(wave);
        let named = effects.reads.union(&effects.writes);
        let last = named.iter().filter_map(|register| register.as_vgpr()).max();
        out.vgprs = out.vgprs.max(last.map_or(0, |last| u32::from(last) + 1));
    }
    let files = GfxIp::Gfx1030.registers();
    let size = usize::from(wave == WaveSize::W64);
    let allocated = out.vgprs.max(1).next_multiple_of(files.vgpr_allocation[size]);
    out.waves = (files.physical_vgprs[size] / allocated).min(MOST_WAVES);
    out.loops = loops(&code).len();
    out.cycles = cycles(&code, wave);
    Ok(out)
}

fn counter<'a>(out: &'a mut Code, entry: &Entry) -> &'a mut usize {
    match entry.latency {
        _ if entry.is(Traits::WAITS) => &mut out.waits,
        _ if matches!(entry.op, Op::SMovB32 | Op::SMovB64 | Op::SMovkI32 | Op::VMovB32) => &mut out.moves,
        Latency::Control => &mut out.branches,
        Latency::None | Latency::Salu | Latency::Message => &mut out.salu,
        Latency::Smem | Latency::Lds | Latency::VectorMemory | Latency::Sample | Latency::Export => &mut out.memory,
        _ => &mut out.valu,
    }
}
