//! Statistics of machine code, by one decoder for every compiler.

use dovetail::check::estimate::{self, Placed};
use dovetail::isa::instruction::Fields;
use dovetail::isa::{Format, Instruction, Isa, Latency, Op, OpcodeRow, Traits};
use dovetail::target::{Gpu, WaveSize};
use serde::Serialize;
use std::collections::BTreeMap;

/// Figures of one shader's code.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Code {
    pub instructions: usize,
    pub salu: usize,
    pub valu: usize,
    pub memory: usize,
    pub waits: usize,
    pub moves: usize,
    /// Vector instructions of arithmetic, with moves; one with two operations counts once.
    pub vector: usize,
    /// Those with two operations (VOPD).
    pub dual: usize,
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

/// The message that frees a wave's vector registers, which not every compiler sends.
const FREES_REGISTERS: u16 = 3;

/// Decodes the words and counts, without padding, hints and the message that frees registers.
pub fn read(words: &[u32], gpu: Gpu, wave: WaveSize) -> Result<Code, String> {
    let isa = Isa::of(gpu);
    let mut code = estimate::instructions(words, isa).map_err(|e| e.to_string())?;
    code.retain(|placed| !frees_registers(&placed.inst));
    let mut out = Code { instructions: code.len(), ..Code::default() };
    for Placed { inst, .. } in &code {
        *counter(&mut out, inst.entry) += 1;
        out.vector += usize::from(is_vector(inst.entry.format));
        out.dual += usize::from(matches!(inst.fields, Fields::Dual(_)));
        out.bytes += 4 * usize::from(inst.dwords());
    }
    out.vgprs = estimate::vgprs(&code, wave);
    out.waves = gpu.facts().waves(out.vgprs, wave);
    out.loops = estimate::loops(&code).len();
    out.cycles = estimate::cycles(isa, &code, wave);
    Ok(out)
}

/// How often each operation occurs in words that [`read`] takes.
pub fn operations(words: &[u32], gpu: Gpu) -> BTreeMap<&'static str, usize> {
    let mut out = BTreeMap::new();
    for Placed { inst, .. } in estimate::instructions(words, Isa::of(gpu)).unwrap_or_default() {
        let second = if let Fields::Dual(fields) = &inst.fields { Some(fields.second) } else { None };
        for entry in [inst.entry].into_iter().chain(second) {
            *out.entry(entry.mnemonic).or_default() += 1;
        }
    }
    out
}

fn is_vector(format: Format) -> bool {
    format.is_short_vector()
        || matches!(format, Format::Vop3 | Format::Vop3p | Format::Vintrp | Format::Vinterp | Format::Vopd)
}

fn frees_registers(inst: &Instruction) -> bool {
    let Fields::Scalar(fields) = &inst.fields else { return false };
    inst.entry.op == Op::SSendmsg && fields.imm == FREES_REGISTERS
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
