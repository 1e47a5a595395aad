//! What may still be wrong in scalar registers that vector arithmetic has read and something has written since
//! ([`RegisterHazard::PairWrite`](crate::RegisterHazard)).

use super::registers::{NAMED, VCC};
use crate::hazards::RegisterHazard as Hazard;
use crate::hazards::depctr::{SCALARS, SCALARS_OF_VECTOR, VCC_OF_VECTOR};
use crate::instruction::{Fields, Instruction};
use crate::{Effects, Format};

/// The age of what did not happen, or too long ago.
const NEVER: u8 = u8::MAX;
/// SGPRs and VCC.
const REGISTERS: usize = 108;

/// What is known at a place in the code.
#[derive(Clone)]
pub(super) struct PairWrites {
    /// Pairs of which vector arithmetic has read a register, both bits of each.
    read: u128,
    /// By register: scalar instructions since one wrote it after that.
    by_scalar: [u8; REGISTERS],
    /// Registers that vector instructions wrote after that.
    by_vector: u128,
}

impl PairWrites {
    pub(super) const NOTHING: Self = Self { read: 0, by_scalar: [NEVER; REGISTERS], by_vector: 0 };

    /// Unknown code has read every register.
    pub(super) const fn follows_code(&mut self) {
        self.read = NAMED;
    }

    /// Adds what may have happened on another way; returns true if that changed this one.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let (read, by_vector) = (self.read | other.read, self.by_vector | other.by_vector);
        let mut changed = (read, by_vector) != (self.read, self.by_vector);
        (self.read, self.by_vector) = (read, by_vector);
        for (mine, theirs) in self.by_scalar.iter_mut().zip(&other.by_scalar) {
            changed |= theirs < mine;
            *mine = (*mine).min(*theirs);
        }
        changed
    }

    /// The fields of `s_wait_alu` that have to be 0 before an instruction.
    pub(super) fn fields(&self, inst: &Instruction, effects: &Effects) -> u16 {
        let vector = inst.is_vector();
        if !vector && !matches!(inst.fields, Fields::Scalar(_)) {
            return 0;
        }
        let read = effects.reads.scalar_bits() & NAMED;
        let most = if vector { Hazard::SCALARS_BEFORE_VECTOR } else { Hazard::SCALARS_BEFORE_SCALAR };
        let recent = |(n, age): (usize, &u8)| read >> n & 1 == 1 && *age <= most;
        let mut fields = if self.by_scalar.iter().enumerate().any(recent) { SCALARS } else { 0 };
        // A scalar instruction waits for vector arithmetic by itself.
        if vector {
            fields |= of_vector(read & self.by_vector);
        }
        fields
    }

    /// The fields that have to be 0 before unknown code.
    pub(super) fn open(&self) -> u16 {
        let recent = self.by_scalar.iter().any(|age| *age <= Hazard::SCALARS_BEFORE_VECTOR);
        of_vector(self.by_vector) | if recent { SCALARS } else { 0 }
    }

    /// These fields are waited for.
    pub(super) fn cleared(&mut self, fields: u16) {
        if fields & SCALARS == SCALARS {
            self.by_scalar = [NEVER; REGISTERS];
        }
        if fields & VCC_OF_VECTOR == VCC_OF_VECTOR {
            self.by_vector &= !VCC;
        }
        if fields & SCALARS_OF_VECTOR == SCALARS_OF_VECTOR {
            self.by_vector &= VCC;
        }
    }

    pub(super) fn step(&mut self, inst: &Instruction, effects: &Effects) {
        let (read, written) = (effects.reads.scalar_bits() & NAMED, effects.writes.scalar_bits() & NAMED & self.read);
        match &inst.fields {
            Fields::Smem(_) | Fields::Buffer(_) | Fields::Image(_) => {
                (self.by_scalar, self.by_vector) = ([NEVER; REGISTERS], 0);
            }
            Fields::Scalar(_) if inst.entry.format != Format::Sopp => {
                for age in self.by_scalar.iter_mut().filter(|age| **age < NEVER - 1) {
                    *age += 1;
                }
                // It waits for what vector arithmetic wrote there, if that is the way that was taken: for others it may not have.
                self.by_vector &= !(read | written);
                self.written(written, 0);
            }
            _ if inst.is_vector() => {
                self.by_vector |= written;
                self.written(written, NEVER);
                // Both registers of each pair.
                let (even, odd) = (read & EVEN, read & !EVEN);
                self.read |= even | even << 1 | odd | odd >> 1;
            }
            _ => {}
        }
    }

    fn written(&mut self, registers: u128, age: u8) {
        for (n, own) in self.by_scalar.iter_mut().enumerate() {
            if registers >> n & 1 == 1 {
                *own = age;
            }
        }
    }
}

/// A bit for each even register.
const EVEN: u128 = u128::MAX / 3;

const fn of_vector(registers: u128) -> u16 {
    let vcc = if registers & VCC == 0 { 0 } else { VCC_OF_VECTOR };
    vcc | if registers & !VCC == 0 { 0 } else { SCALARS_OF_VECTOR }
}
