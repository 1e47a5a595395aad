//! Statistics of machine code, by one decoder for every compiler.

use dovetail::check::estimate::{self, Placed};
use dovetail::isa::{Isa, Latency, Op, OpcodeRow, Traits};
use dovetail::target::{Gpu, WaveSize};
use serde::Serialize;

/// Figures of one shader's code.
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
    /// VGPRs up to the highest one used.
    pub vgprs: u32,
    /// Waves per SIMD that the VGPRs allow.
    pub waves: u32,
    /// Number of loops in the code.
    pub loops: usize,
    /// Estimated cycles of one wave, with all code executed once and each loop eight times.
    pub cycles: u64,
}

/// Decodes the words and counts.
pub fn read(words: &[u32], wave: WaveSize) -> Result<Code, String> {
    let code = estimate::instructions(words, Isa::of(Gpu::Gfx1030)).map_err(|e| e.to_string())?;
    let mut out = Code { instructions: code.len(), ..Code::default() };
    for Placed { inst, .. } in &code {
        *counter(&mut out, inst.entry) += 1;
        out.bytes += 4 * usize::from(inst.dwords());
    }
    out.vgprs = estimate::vgprs(&code, wave);
    out.waves = Gpu::Gfx1030.facts().waves(out.vgprs, wave);
    out.loops = estimate::loops(&code).len();
    out.cycles = estimate::cycles(Isa::of(Gpu::Gfx1030), &code, wave);
    Ok(out)
}

fn counter<'a>(out: &'a mut Code, entry: &OpcodeRow) -> &'a mut usize {
    match entry.latency {
        _ if entry.is(Traits::WAITS) => &mut out.waits,
        _ if matches!(entry.op, Op::SMovB32 | Op::SMovB64 | Op::SMovkI32 | Op::VMovB32) => &mut out.moves,
        Latency::Control => &mut out.branches,
        Latency::None | Latency::Salu | Latency::Message => &mut out.salu,
        Latency::Smem | Latency::Lds | Latency::VectorMemory | Latency::Sample | Latency::Export => &mut out.memory,
        _ => &mut out.valu,
    }
}
