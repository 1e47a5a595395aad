//! Statistics of machine code: the same reading for every compiler's.

use dovetail::check::estimate::{self, Placed};
use dovetail::isa::{Latency, Op, OpcodeRow, Traits};
use dovetail::target::{GfxIp, WaveSize};
use serde::Serialize;

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

/// Reads and counts.
pub fn read(words: &[u32], wave: WaveSize) -> Result<Code, String> {
    let code = estimate::instructions(words, GfxIp::Gfx1030).map_err(|e| e.to_string())?;
    let mut out = Code { instructions: code.len(), ..Code::default() };
    for Placed { inst, .. } in &code {
        *counter(&mut out, inst.entry) += 1;
        out.bytes += 4 * usize::from(inst.dwords());
    }
    out.vgprs = estimate::vgprs(&code, wave);
    out.waves = GfxIp::Gfx1030.waves(out.vgprs, wave);
    out.loops = estimate::loops(&code).len();
    out.cycles = estimate::cycles(&code, wave);
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
