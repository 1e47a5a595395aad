//! The lanes of a wave of primitive shaders that have a vertex, and those that have a primitive.

use super::piece::Recorder;
use dovetail_abi::vertex_entry::primitive_wave::WAVE_INFO;
use dovetail_base::error::Result;
use dovetail_base::target::WaveSize;
use dovetail_isa::{Instruction, Op, Scalar, Sgpr, Src};

/// A number of lanes: the first of its eight bits in the wave's information.
#[derive(Clone, Copy)]
pub(super) struct LaneCount(u8);

/// Lanes with a vertex, and with a primitive.
pub(super) const WAVE_VERTICES: LaneCount = LaneCount(0);
pub(super) const WAVE_PRIMITIVES: LaneCount = LaneCount(8);

/// Where the width of a bit field is, in the second source of `s_bfe`.
const FIELD_WIDTH: u8 = 16;

/// EXEC becomes as many lanes, 0 to all of them; VCC is lost (Mesa, `lanecount_to_mask`).
pub(super) fn set_exec(out: &mut Recorder, wave: WaveSize, LaneCount(first): LaneCount) -> Result<()> {
    let info = Src::from(out.sgprs(WAVE_INFO, 1)?);
    match wave {
        // Six bits of the count are read. The 32-bit form reads five, and cannot make all 32 lanes.
        WaveSize::W32 if first == 0 => {
            push(out, Op::SBfmB64, Scalar::VccLo, [info, Src::Int(0)]);
            out.push(Instruction::scalar(out.isa, Op::SMovB32, Some(Scalar::ExecLo), &[Src::Scalar(Scalar::VccLo)]));
        }
        WaveSize::W32 | WaveSize::W64 => lowest_lanes(out, wave, info, first),
    }
    Ok(())
}

/// EXEC becomes as many lanes as a register says, 0 to all of them; VCC is lost.
pub(super) fn set_exec_to(out: &mut Recorder, wave: WaveSize, count: Sgpr) {
    lowest_lanes(out, wave, count.into(), 0);
}

/// The same for a number that begins at a bit of a register.
fn lowest_lanes(out: &mut Recorder, wave: WaveSize, number: Src, first: u8) {
    let op = if wave == WaveSize::W32 { Op::SBfeU32 } else { Op::SBfeU64 };
    let shift = i8::try_from(FIELD_WIDTH.saturating_sub(first)).unwrap_or(0);
    push(out, Op::SLshlB32, Scalar::VccLo, [number, Src::Int(shift)]);
    push(out, op, Scalar::ExecLo, [Src::Int(-1), Src::Scalar(Scalar::VccLo)]);
}

fn push(out: &mut Recorder, op: Op, dst: Scalar, srcs: [Src; 2]) {
    out.push(Instruction::scalar(out.isa, op, Some(dst), &srcs));
}
