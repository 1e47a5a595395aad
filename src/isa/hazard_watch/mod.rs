//! Goes along code and says what has to be put before an instruction.

mod ages;
mod lds_direct;
#[cfg(test)]
mod oracle;
mod pairs;
mod registers;
mod seen;

pub use registers::RegisterWatch;
pub use seen::Seen;

use crate::hazards::{Hazard, MOST, Remedy};
use crate::instruction::{Fields, Instruction};
use crate::{Isa, Op, Scalar, Src, WaitCounts};
use dovetail_base::target::WaveSize;

/// What is known of a hazard at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RowState {
    /// Its first instruction was executed, and nothing ended it.
    live: bool,
    /// What has to come between was executed too.
    through: bool,
    /// Wait states since.
    age: u8,
    /// Scalar registers that must not be written.
    registers: u128,
}

/// What is known of all hazards at a place in the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HazardState([RowState; MOST]);

impl HazardState {
    /// Adds what may have happened on another way to the same place; returns true if that changed this one.
    pub fn join(&mut self, other: &Self) -> bool {
        let before = *self;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0).filter(|(_, theirs)| theirs.live) {
            mine.age = if mine.live { mine.age.min(theirs.age) } else { theirs.age };
            mine.live = true;
            mine.through |= theirs.through;
            mine.registers |= theirs.registers;
        }
        *self != before
    }
}

/// Follows code of a wave of this size.
#[derive(Clone, Copy, Debug)]
pub struct HazardWatch {
    isa: &'static Isa,
    wave: WaveSize,
    /// What is known where it is.
    pub state: HazardState,
}

impl HazardWatch {
    /// At a place with nothing before it.
    pub fn new(isa: &'static Isa, wave: WaveSize) -> Self {
        Self { isa, wave, state: HazardState::default() }
    }

    /// At another place.
    #[must_use]
    pub const fn at(self, state: HazardState) -> Self {
        Self { state, ..self }
    }

    /// Whether these instructions can be part of any hazard: one is its first, one its second.
    pub fn concerns<'a>(&self, code: impl Iterator<Item = &'a Instruction>) -> bool {
        let all = (1u32 << self.isa.hazards.len()) - 1;
        let (mut first, mut second) = (0u32, 0u32);
        for inst in code {
            let seen = Seen::new(self.isa, self.wave, inst);
            for (n, hazard) in self.isa.hazards.iter().enumerate() {
                first |= u32::from(seen.is(hazard.first)) << n;
                second |= u32::from(seen.is(hazard.second)) << n;
            }
            if first & second == all {
                break;
            }
        }
        first & second != 0
    }

    /// Passes an instruction, and what has to be put before it, which goes to `out`.
    pub fn pass(&mut self, inst: &Instruction, out: &mut impl FnMut(Instruction)) {
        let seen = Seen::new(self.isa, self.wave, inst);
        for (n, hazard) in self.isa.hazards.iter().enumerate() {
            if self.state.0.get(n).is_some_and(|row| harms(row, hazard, &seen)) {
                self.remedied(n, hazard, inst, out);
            }
        }
        self.step(&seen);
    }

    /// Passes what makes every instruction harmless that could follow.
    pub fn settle(&mut self, out: &mut impl FnMut(Instruction)) {
        let nothing = Instruction::program(self.isa, Op::SNop, 0);
        let live = |state: &HazardState, n: usize| state.0.get(n).is_some_and(|row| row.live);
        // One wait for all fields that are asked for.
        let asked = self.isa.hazards.iter().enumerate().filter_map(|(n, hazard)| match hazard.remedy {
            Remedy::Program(Op::SWaitcntDepctr, fields) if live(&self.state, n) => Some(fields),
            _ => None,
        });
        if let Some(fields) = asked.reduce(|all, fields| all & fields) {
            let wait = Instruction::program(self.isa, Op::SWaitcntDepctr, fields);
            self.step(&Seen::new(self.isa, self.wave, &wait));
            out(wait);
        }
        for (n, hazard) in self.isa.hazards.iter().enumerate() {
            // A move of the later instruction's operand can only be made before that.
            if live(&self.state, n) && hazard.remedy != Remedy::VectorMove {
                self.remedied(n, hazard, &nothing, out);
            }
        }
    }

    fn remedied(&mut self, n: usize, hazard: &Hazard, inst: &Instruction, out: &mut impl FnMut(Instruction)) {
        let missing = hazard.states.unwrap_or(0).saturating_sub(self.state.0.get(n).map_or(0, |row| row.age));
        for remedy in remedy(self.isa, hazard.remedy, missing, inst) {
            self.step(&Seen::new(self.isa, self.wave, &remedy));
            out(remedy);
        }
        if let Some(row) = self.state.0.get_mut(n) {
            *row = RowState::default();
        }
    }

    fn step(&mut self, seen: &Seen<'_>) {
        let isa = self.isa;
        for (row, hazard) in self.state.0.iter_mut().zip(isa.hazards) {
            if row.live {
                row.through |= hazard.through.is_some_and(|event| seen.is(event));
                row.age = row.age.saturating_add(states(seen.inst));
                if hazard.states.is_some_and(|most| row.age >= most) || hazard.ended.iter().any(|e| seen.is(*e)) {
                    *row = RowState::default();
                }
            }
            if seen.is(hazard.first) {
                // A second one does not undo what came after the first.
                row.live = true;
                row.age = 0;
                if hazard.overwrites {
                    row.registers |= seen.effects().reads.scalar_bits();
                }
            }
        }
    }
}

/// Whether an instruction is the later one of a hazard here.
fn harms(row: &RowState, hazard: &Hazard, seen: &Seen<'_>) -> bool {
    row.live
        && (row.through || hazard.through.is_none())
        && seen.is(hazard.second)
        && (!hazard.overwrites || seen.effects().writes.scalar_bits() & row.registers != 0)
}

/// Wait states of an instruction.
fn states(inst: &Instruction) -> u8 {
    match &inst.fields {
        Fields::Scalar(f) if inst.entry.op == Op::SNop => f.imm.min(15) as u8 + 1,
        _ => 1,
    }
}

fn remedy(isa: &'static Isa, remedy: Remedy, missing: u8, before: &Instruction) -> impl Iterator<Item = Instruction> {
    let (mut one, mut waits) = (None, None);
    match remedy {
        Remedy::States => one = Some(Instruction::program(isa, Op::SNop, u16::from(missing.saturating_sub(1)))),
        Remedy::Program(op, constant) => one = Some(Instruction::program(isa, op, constant)),
        Remedy::Wait(counter) => waits = Some(isa.wait(WaitCounts::all(counter))),
        Remedy::ScalarMove => {
            one = Some(Instruction::scalar(isa, Op::SMovB32, Some(Scalar::Null), &[Src::Int(0)]));
        }
        Remedy::VectorMove => {
            if let Fields::Vector(f) = &before.fields
                && let Some(src @ Src::Vgpr(register)) = f.srcs[0]
            {
                one = Some(Instruction::vector(isa, Op::VMovB32, register, &[src]));
            }
        }
    }
    one.into_iter().chain(waits.into_iter().flatten())
}
