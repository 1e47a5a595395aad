//! What may still be wrong in scalar registers that vector arithmetic has read and something has written since
//! ([`RegisterHazard::PairWrite`](crate::RegisterHazard)).

use super::registers::{NAMED, VCC};
use crate::hazards::depctr::{SCALARS, SCALARS_OF_VECTOR, VCC_OF_VECTOR};
use crate::instruction::{Fields, Instruction};
use crate::{Effects, Format};

/// What is known at a place in the code.
#[derive(Clone)]
pub(super) struct PairWrites {
    /// Pairs of which vector arithmetic has read a register, both bits of each.
    read: u128,
    /// Registers that scalar instructions wrote after that, and those that vector arithmetic wrote.
    by_scalar: u128,
    by_vector: u128,
}

impl PairWrites {
    pub(super) const NOTHING: Self = Self { read: 0, by_scalar: 0, by_vector: 0 };

    /// Unknown code has read every register.
    pub(super) const fn follows_code(&mut self) {
        self.read = NAMED;
    }

    /// Adds what may have happened on another way; returns true if that changed this one.
    pub(super) const fn join(&mut self, other: &Self) -> bool {
        let both = Self {
            read: self.read | other.read,
            by_scalar: self.by_scalar | other.by_scalar,
            by_vector: self.by_vector | other.by_vector,
        };
        let changed = both.read != self.read || both.by_scalar != self.by_scalar || both.by_vector != self.by_vector;
        *self = both;
        changed
    }

    /// The fields of `s_wait_alu` that have to be 0 before an instruction.
    pub(super) fn fields(&self, inst: &Instruction, effects: &Effects) -> u16 {
        let vector = inst.is_vector();
        if !vector && !matches!(inst.fields, Fields::Scalar(_)) {
            return 0;
        }
        let read = effects.reads.scalar_bits() & NAMED;
        let scalars = if read & self.by_scalar == 0 { 0 } else { SCALARS };
        // A scalar instruction waits for vector arithmetic by itself.
        scalars | if vector { of_vector(read & self.by_vector) } else { 0 }
    }

    /// The fields that have to be 0 before unknown code.
    pub(super) const fn open(&self) -> u16 {
        of_vector(self.by_vector) | if self.by_scalar == 0 { 0 } else { SCALARS }
    }

    /// These fields are waited for.
    pub(super) const fn cleared(&mut self, fields: u16) {
        if fields & SCALARS == SCALARS {
            self.by_scalar = 0;
        }
        if fields & VCC_OF_VECTOR == VCC_OF_VECTOR {
            self.by_vector &= !VCC;
        }
        if fields & SCALARS_OF_VECTOR == SCALARS_OF_VECTOR {
            self.by_vector &= VCC;
        }
    }

    pub(super) fn step(&mut self, inst: &Instruction, effects: &Effects) {
        let (read, written) = (effects.reads.scalar_bits() & NAMED, effects.writes.scalar_bits() & NAMED);
        match &inst.fields {
            Fields::Scalar(_) if inst.entry.format != Format::Sopp => {
                // It waits for what vector arithmetic wrote there, if that is the way that was taken: for others it may not have.
                // Another write does not end that of vector arithmetic, nor the other way round.
                self.by_vector &= !read;
                self.by_scalar |= written & self.read;
            }
            _ if inst.is_vector() => {
                // Both registers of each pair. What it writes it has read before.
                let (even, odd) = (read & EVEN, read & !EVEN);
                self.read |= even | even << 1 | odd | odd >> 1;
                self.by_vector |= written & self.read;
            }
            _ => {}
        }
    }
}

/// A bit for each even register.
const EVEN: u128 = u128::MAX / 3;

const fn of_vector(registers: u128) -> u16 {
    let vcc = if registers & VCC == 0 { 0 } else { VCC_OF_VECTOR };
    vcc | if registers & !VCC == 0 { 0 } else { SCALARS_OF_VECTOR }
}

#[cfg(test)]
mod tests {
    use crate::hazard_watch::RegisterWatch;
    use crate::{Instruction, Isa, Op, Scalar, Sgpr, Src, Vgpr};
    use dovetail_base::target::WaveSize;

    /// The waits that are put between these instructions, each with the index of the one after it.
    fn waits(code: &[Instruction]) -> Vec<(usize, String)> {
        let isa = Isa::of("gfx1200".parse().expect("a GPU"));
        let mut watch = RegisterWatch::new(isa, WaveSize::W32).expect("hazards");
        let mut out = Vec::new();
        for (n, inst) in code.iter().enumerate() {
            watch.pass(&mut inst.clone(), &mut |wait| out.push((n, wait.text(isa, WaveSize::W32))));
        }
        watch.settle(&mut |wait| out.push((code.len(), wait.text(isa, WaveSize::W32))));
        out
    }

    #[test]
    fn what_is_written_after_its_pair_was_read_is_waited_for() {
        let isa = Isa::of("gfx1200".parse().expect("a GPU"));
        let s = |n| Scalar::Sgpr(Sgpr::new(n).expect("in range"));
        let set = |n| Instruction::scalar(isa, Op::SMovB32, Some(s(n)), &[Src::Int(0)]);
        let get = |n| Instruction::scalar(isa, Op::SMovB32, Some(s(40)), &[Src::Scalar(s(n))]);
        let vector = |n| Instruction::vector(isa, Op::VMovB32, Vgpr(0), &[Src::Scalar(s(n))]);
        let compare = |to, n| Instruction::vector(isa, Op::VCmpEqU32, s(to), &[Src::Scalar(s(n)), Vgpr(1).into()]);
        let wait = |at: usize, fields: &str| vec![(at, format!("s_wait_alu {fields}"))];
        assert!(waits(&[set(4), vector(4), get(4)]).is_empty());
        assert_eq!(waits(&[vector(5), set(4), get(4)]), wait(2, "0xfffe"));
        assert_eq!(waits(&[vector(4), set(4), vector(4)]), wait(2, "0xfffe"));
        assert_eq!(waits(&[vector(4), set(4)]), wait(2, "0xfffe"), "an epilog may read it");
        assert_eq!(waits(&[vector(4), compare(4, 8), vector(4)]), wait(2, "0xf1ff"));
        // A scalar instruction waits for vector arithmetic; an instruction that writes what it reads has read it before.
        assert!(waits(&[vector(4), compare(4, 8), get(4)]).is_empty());
        assert_eq!(waits(&[compare(5, 4), vector(5)]), wait(1, "0xf1ff"));
        let vcc = |srcs: &[Src]| Instruction::vector(isa, Op::VCmpEqU32, Scalar::VccLo, srcs);
        let chosen = Instruction::vector(
            isa,
            Op::VCndmaskB32,
            Vgpr(3),
            &[Src::Int(0), Vgpr(2).into(), Src::Scalar(Scalar::VccLo)],
        );
        let again = vcc(&[Src::Int(0), Vgpr(1).into()]);
        assert_eq!(waits(&[again, chosen, again, chosen]), wait(3, "0xfffd"));
        // Another register's read ends nothing of this one's.
        let both = [vector(4), vector(8), compare(4, 20), compare(8, 20), get(4), vector(8)];
        assert_eq!(waits(&both), wait(5, "0xf1ff"));
    }
}
