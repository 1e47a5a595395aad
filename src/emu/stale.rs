//! Scalar registers whose new value is not seen yet, on GPUs that do not wait for it (gfx12; LLVM, `AMDGPUWaitSGPRHazards`; Mesa,
//! `VALUReadSGPRHazard`): what vector arithmetic has read once, and something has written since, reads as before.
//!
//! | written by | read as before by | until |
//! | --- | --- | --- |
//! | a scalar instruction | scalar instructions, vector arithmetic | `s_wait_alu` with its field at 0 |
//! | vector arithmetic | vector arithmetic | the same; or a scalar instruction reads something that vector arithmetic has just written, and so waits for all of that |
//!
//! Code that is made or checked before it runs does not know whether a register has just been written that way, so there a
//! scalar read ends this for the register alone.

use dovetail_isa::instruction::{Fields, Instruction};
use dovetail_isa::{Format, Isa, Op, RegisterHazard, depctr};
use std::cell::Cell;

/// SGPRs and VCC, and the first of VCC.
const REGISTERS: usize = 108;
const VCC: usize = 106;

/// The unit that executes an instruction, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Scalar,
    /// Program control, which reads as scalar instructions do.
    Program,
    Vector,
    Other,
}

/// A write that may not be seen everywhere yet.
#[derive(Clone, Copy, Debug)]
struct Write {
    old: u32,
    /// By vector arithmetic; else by a scalar instruction.
    vector: bool,
    /// Vector arithmetic had read the pair. Otherwise all see it.
    stale: bool,
}

/// The registers of a wave.
#[derive(Clone, Debug)]
pub struct StaleScalars {
    unit: Unit,
    /// A bit for each pair that vector arithmetic has read.
    pairs: Cell<u64>,
    /// The current instruction is a scalar one and waits for vector arithmetic, whose result it reads.
    waits: Cell<bool>,
    writes: [Option<Write>; REGISTERS],
}

impl StaleScalars {
    /// Those of a wave that has done nothing; `None` on GPUs without this.
    pub fn new(isa: &Isa) -> Option<Box<Self>> {
        let (pairs, waits) = (Cell::new(0), Cell::new(false));
        let has = isa.register_hazards.contains(&RegisterHazard::PairWrite);
        has.then(|| Box::new(Self { unit: Unit::Other, pairs, waits, writes: [None; REGISTERS] }))
    }

    /// An instruction begins.
    pub fn begin(&mut self, inst: &Instruction) {
        self.waits.set(false);
        self.unit = match &inst.fields {
            Fields::Vector(_) | Fields::Dual(_) | Fields::Interp(_) => Unit::Vector,
            Fields::Scalar(_) if inst.entry.format == Format::Sopp => Unit::Program,
            Fields::Scalar(_) => Unit::Scalar,
            _ => Unit::Other,
        };
        match &inst.fields {
            Fields::Scalar(f) if inst.entry.op == Op::SWaitcntDepctr => self.waited(!f.imm),
            _ => {}
        }
    }

    fn waited(&mut self, fields: u16) {
        let has = |field: u16| fields & field == field;
        for (n, write) in self.writes.iter_mut().enumerate() {
            let done = write.is_some_and(|write| match write.vector {
                false => has(depctr::SCALARS),
                true if n < VCC => has(depctr::SCALARS_OF_VECTOR),
                true => has(depctr::VCC_OF_VECTOR),
            });
            if done {
                *write = None;
            }
        }
    }

    /// What the current instruction reads from a register with this value.
    pub fn read(&self, register: usize, value: u32) -> u32 {
        let Some(write) = self.writes.get(register) else { return value };
        match self.unit {
            Unit::Vector => self.pairs.set(self.pairs.get() | 1 << (register / 2)),
            Unit::Scalar if write.is_some_and(|write| write.vector) => self.waits.set(true),
            Unit::Scalar | Unit::Program | Unit::Other => {}
        }
        let Some(Write { old, vector, stale: true }) = *write else { return value };
        match self.unit {
            Unit::Vector => old,
            Unit::Scalar | Unit::Program if !vector => old,
            Unit::Scalar | Unit::Program | Unit::Other => value,
        }
    }

    /// The current instruction writes a register that had this value.
    pub fn write(&mut self, register: usize, old: u32) {
        let Some(write) = self.writes.get_mut(register) else { return };
        let stale = self.pairs.get() >> (register / 2) & 1 == 1;
        *write = match self.unit {
            Unit::Vector | Unit::Scalar => Some(Write { old, vector: self.unit == Unit::Vector, stale }),
            Unit::Program | Unit::Other => None,
        };
    }

    /// The current instruction ends.
    pub fn end(&mut self) {
        if self.waits.get() {
            self.writes
                .iter_mut()
                .filter(|write| write.is_some_and(|write| write.vector))
                .for_each(|write| *write = None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_isa::{Scalar, Sgpr, Src, Vgpr};

    fn isa() -> &'static Isa {
        Isa::of("gfx1200".parse().expect("known"))
    }

    /// What an instruction reads from s4 after these, the last of which has just written it.
    fn seen(before: &[Instruction], reader: &Instruction) -> u32 {
        let mut stale = StaleScalars::new(isa()).expect("a GPU with it");
        for inst in before {
            stale.begin(inst);
            let effects = inst.effects(dovetail_base::target::WaveSize::W32);
            let s4 = dovetail_isa::Register::sgpr(4);
            if effects.reads.contains(s4) {
                stale.read(4, 0);
            }
            if effects.writes.contains(s4) {
                stale.write(4, 1);
            }
            stale.end();
        }
        stale.begin(reader);
        stale.read(4, 2)
    }

    #[test]
    fn a_register_reads_as_before_until_something_waits() {
        let s = |n| Scalar::Sgpr(Sgpr::new(n).expect("in range"));
        let mov = |to, from: Src| Instruction::scalar(isa(), Op::SMovB32, Some(s(to)), &[from]);
        let vector = Instruction::vector(isa(), Op::VMovB32, Vgpr(0), &[Src::Scalar(s(4))]);
        let compare = Instruction::vector(isa(), Op::VCmpEqU32, s(4), &[Src::Int(0), Vgpr(1).into()]);
        let (set, get) = (mov(4, Src::Int(0)), mov(9, Src::Scalar(s(4))));
        let wait = |fields: u16| Instruction::program(isa(), Op::SWaitcntDepctr, !fields);
        // Nothing has read it, or all is old.
        assert_eq!((seen(&[set], &vector), seen(&[set], &get)), (2, 2));
        assert_eq!((seen(&[vector, set], &vector), seen(&[vector, set], &get)), (1, 1));
        let filler = mov(20, Src::Int(1));
        let later = [&[vector, set][..], &[filler; 30]].concat();
        assert_eq!((seen(&later, &get), seen(&later, &vector)), (1, 1));
        assert_eq!(seen(&[vector, set, wait(depctr::SCALARS)], &get), 2);
        assert_eq!(seen(&[vector, set, wait(depctr::SCALARS_OF_VECTOR)], &get), 1);
        // A scalar instruction waits for vector arithmetic.
        assert_eq!((seen(&[vector, compare], &vector), seen(&[vector, compare], &get)), (1, 2));
        assert_eq!(seen(&[vector, compare, get], &vector), 2);
        assert_eq!(seen(&[vector, compare, wait(depctr::SCALARS_OF_VECTOR)], &vector), 2);
    }
}
