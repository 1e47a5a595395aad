//! The intervals in which each register of an allocated function holds a value that is read later.

use crate::mir::{BlockId, MachineFunction, Operand, OperandValue, PhysReg};
use std::ops::Range;

/// Codes of registers: SGPRs from 0, VGPRs from 256.
pub(super) const CODES: usize = 512;
const WORDS: usize = CODES / 64;
pub(super) const FIRST_VGPR: usize = PhysReg::FIRST_VGPR.0 as usize;

/// A set of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Set([u64; WORDS]);

impl Set {
    fn set(&mut self, code: u16, on: bool) {
        let (word, bit) = (usize::from(code) / 64, 1 << (code % 64));
        if on { self.0[word] |= bit } else { self.0[word] &= !bit }
    }

    fn join(&mut self, other: &Self, words: Range<usize>) {
        for word in words {
            self.0[word] |= other.0[word];
        }
    }

    fn has(&self, code: usize) -> bool {
        self.0[code / 64] >> (code % 64) & 1 == 1
    }
}

/// The row of each block's first instruction, and the number of rows: one per instruction, and one per end of a block.
pub fn rows(f: &MachineFunction) -> (Vec<usize>, usize) {
    let mut starts = Vec::with_capacity(f.blocks.len());
    let mut rows = 0;
    for block in &f.blocks {
        starts.push(rows);
        rows += block.insts.len() + 1;
    }
    (starts, rows)
}

/// By register code, the rows in which the register is live. A scalar register is live along linear edges, a vector
/// register along logical edges. A write of some lanes counts as a write of all.
pub fn intervals(f: &MachineFunction) -> Vec<Vec<Range<usize>>> {
    let into = live_in(f);
    let (starts, total) = rows(f);
    let mut out = vec![Vec::new(); CODES];
    let mut open: [Option<usize>; CODES] = [None; CODES];
    for id in f.block_ids() {
        let block = f.block(id);
        let mut live = live_out(f, &into, id);
        let mut sets = vec![live];
        for inst in f.insts_of(block).iter().rev() {
            step(&mut live, f.defs(inst), f.uses(inst));
            sets.push(live);
        }
        for (row, set) in (starts[id.index()]..).zip(sets.iter().rev()) {
            for code in 0..CODES {
                match (set.has(code), open[code]) {
                    (true, None) => open[code] = Some(row),
                    (false, Some(start)) => {
                        out[code].push(start..row);
                        open[code] = None;
                    }
                    _ => {}
                }
            }
        }
    }
    for (ranges, start) in out.iter_mut().zip(open) {
        ranges.extend(start.map(|start| start..total));
    }
    out
}

/// Changes the set of values live after an instruction to the set live before it.
fn step(live: &mut Set, defs: &[Operand], uses: &[Operand]) {
    for (operands, on) in [(defs, false), (uses, true)] {
        for operand in operands {
            if let OperandValue::Fixed(reg) = operand.what
                && usize::from(reg.0) < CODES
            {
                live.set(reg.0, on);
            }
        }
    }
}

fn live_out(f: &MachineFunction, into: &[Set], id: BlockId) -> Set {
    let block = f.block(id);
    let mut out = Set::default();
    for to in block.term.targets() {
        out.join(&into[to.index()], 0..FIRST_VGPR / 64);
    }
    for edge in &block.edges {
        out.join(&into[edge.to.index()], FIRST_VGPR / 64..WORDS);
    }
    out
}

/// The values live at the start of each block, computed backwards to a fixed point.
fn live_in(f: &MachineFunction) -> Vec<Set> {
    let mut into = vec![Set::default(); f.blocks.len()];
    loop {
        let mut changed = false;
        for id in f.block_ids().rev() {
            let mut live = live_out(f, &into, id);
            for inst in f.insts_of(f.block(id)).iter().rev() {
                step(&mut live, f.defs(inst), f.uses(inst));
            }
            changed |= into[id.index()] != live;
            into[id.index()] = live;
        }
        if !changed {
            return into;
        }
    }
}
