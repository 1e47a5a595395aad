//! Values from other lanes and from parts of registers: DPP, SDWA, and operations that name a lane (isa-gfx10 3.3,
//! 3.4).

use crate::wave::{Lanes, Wave, ones};
use dovetail_base::error::{Error, Result};
use dovetail_isa::Op;
use dovetail_isa::OperandKind;
use dovetail_isa::instruction::{Dpp16, Sdwa};

/// Replaces every lane's value by its source lane's; returns the lanes that may be written.
pub fn dpp16(wave: &Wave, dpp: &Dpp16, values: &mut Lanes) -> Result<u64> {
    let before = *values;
    let exec = wave.exec();
    let mut write = 0;
    for (lane, value) in values.iter_mut().enumerate().take(wave.lanes()) {
        let (row, at) = (lane & !15, lane & 15);
        let from = row_source(dpp.ctrl, at)?.map(|at| row | at);
        let from = from.filter(|&from| dpp.fi || exec >> from & 1 == 1);
        let enabled = dpp.row_mask >> (lane / 16) & 1 == 1 && dpp.bank_mask >> (lane / 4 % 4) & 1 == 1;
        match from {
            Some(from) => *value = before[from],
            // Without a source the operand is 0, or the lane keeps its old result (K).
            None => *value = 0,
        }
        if enabled && (from.is_some() || dpp.bound_ctrl) {
            write |= 1 << lane;
        }
    }
    Ok(write)
}

/// The source lane of lane `at`, within its row of 16; `None` outside the row.
fn row_source(ctrl: u16, at: usize) -> Result<Option<usize>> {
    let n = usize::from(ctrl & 15);
    let inside = |lane: usize| Some(lane).filter(|lane| *lane < 16);
    Ok(match ctrl {
        0x000..=0x0ff => Some(at & !3 | usize::from(ctrl >> (2 * (at & 3)) & 3)),
        0x101..=0x10f => inside(at + n),
        0x111..=0x11f => at.checked_sub(n),
        0x121..=0x12f => Some((at + 16 - n) & 15),
        0x140 => Some(15 - at),
        0x141 => Some(at ^ 7),
        0x150..=0x15f => Some(n),
        0x160..=0x16f => Some(at ^ n),
        _ => return Err(Error::malformed(format!("no DPP control {ctrl:#x}"))),
    })
}

/// [`dpp16`] in groups of eight lanes: every lane is written; a lane without a source gets 0 (K).
pub fn dpp8(wave: &Wave, selectors: u32, fi: bool, values: &mut Lanes) {
    let before = *values;
    let exec = wave.exec();
    for (lane, value) in values.iter_mut().enumerate().take(wave.lanes()) {
        let from = lane & !7 | (selectors >> (3 * (lane & 7)) & 7) as usize;
        *value = if fi || exec >> from & 1 == 1 { before[from] } else { 0 };
    }
}

/// Extracts the part of a register that SDWA selects; `sext` sign-extends it.
pub fn select(sel: u8, sext: bool, values: &mut Lanes) {
    let (shift, bits) = part(sel);
    for value in values {
        let up = *value << (64 - bits - shift);
        *value = if sext { (up.cast_signed() >> (64 - bits)).cast_unsigned() } else { up >> (64 - bits) } & 0xffff_ffff;
    }
}

/// The register's value after a result is written to the part that SDWA selects.
pub fn deposit(sdwa: &Sdwa, result: u64, old: u64) -> u64 {
    let (shift, bits) = part(sdwa.dst_sel);
    let mask = ((1u64 << bits) - 1) << shift;
    let placed = result << shift & mask;
    let rest = match sdwa.dst_unused {
        2 => old & !mask,
        // Sign-extends the part; the bits below it are 0.
        1 if placed >> (shift + bits - 1) & 1 == 1 => !0u64 << (shift + bits) & 0xffff_ffff,
        _ => 0,
    };
    placed | rest
}

fn part(sel: u8) -> (u32, u32) {
    match sel {
        0..=3 => (8 * u32::from(sel), 8),
        4 => (0, 16),
        5 => (16, 16),
        _ => (0, 32),
    }
}

/// Operations that name a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cross {
    /// Reads the first active lane into a scalar.
    ReadFirstLane,
    /// Reads a lane into a scalar.
    ReadLane,
    /// Writes a scalar into a lane.
    WriteLane,
    /// Permutes within the row, or from the other row of the pair.
    PermLane {
        /// From the other row.
        other: bool,
    },
    /// Counts the mask bits below the own lane.
    CountBelow {
        /// Lanes 32 and up.
        high: bool,
    },
}

/// Operation of an opcode.
pub fn resolve(op: Op) -> Option<Cross> {
    Some(match op {
        Op::VReadfirstlaneB32 => Cross::ReadFirstLane,
        Op::VReadlaneB32 => Cross::ReadLane,
        Op::VWritelaneB32 => Cross::WriteLane,
        Op::VPermlane16B32 => Cross::PermLane { other: false },
        Op::VPermlanex16B32 => Cross::PermLane { other: true },
        Op::VMbcntLoU32B32 => Cross::CountBelow { high: false },
        Op::VMbcntHiU32B32 => Cross::CountBelow { high: true },
        _ => return None,
    })
}

/// Replaces each lane's value as `v_permlane16` does; returns the lanes that it writes.
pub fn permute(wave: &Wave, other: bool, nibbles: u64, [fi, bound]: [bool; 2], values: &mut Lanes) -> u64 {
    let before = *values;
    let exec = wave.exec();
    let mut write = 0;
    for (lane, value) in values.iter_mut().enumerate().take(wave.lanes()) {
        let row = lane & !15 ^ if other { 16 } else { 0 };
        let from = row | (nibbles >> (4 * (lane & 15)) & 15) as usize;
        let valid = fi || exec >> from & 1 == 1;
        *value = if valid { before[from] } else { 0 };
        // Without a source: 0, or the old result (K).
        if valid || bound {
            write |= 1 << lane;
        }
    }
    write
}

/// The first active lane; lane 0 if there is none.
pub fn first_lane(wave: &Wave) -> usize {
    ones(wave.exec()).next().unwrap_or(0)
}

/// Number of bits of `mask` below the own lane, of the low or the high 32 lanes.
pub fn count_below(lane: usize, mask: u64, high: bool) -> u64 {
    let mask = mask & 0xffff_ffff;
    let own = if high { lane.saturating_sub(32) } else { lane.min(32) };
    u64::from((mask & ((1u64 << own) - 1)).count_ones())
}

/// Whether SDWA can select parts of this kind.
pub fn has_parts(kind: OperandKind) -> bool {
    kind.registers() == 1 && kind != OperandKind::Mask
}
