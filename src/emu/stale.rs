//! Scalar registers whose new value is not seen yet, on GPUs that do not wait for it (gfx12; LLVM, `AMDGPUWaitSGPRHazards`; Mesa,
//! `VALUReadSGPRHazard`): what vector arithmetic has read once, and something has written since, reads as before for a while.
//!
//! | written by | read as before by | until |
//! | --- | --- | --- |
//! | a scalar instruction | scalar instructions, vector arithmetic | so many scalar instructions later |
//! | vector arithmetic | vector arithmetic | a scalar instruction reads it |
//! | both | | `s_wait_alu` with its field at 0; scalar memory, a buffer or an image |

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
    /// By vector arithmetic; else by a scalar instruction, so many others ago.
    vector: bool,
    age: u8,
    /// Vector arithmetic had read the pair. Otherwise all see it.
    stale: bool,
}

/// The registers of a wave.
#[derive(Clone, Debug)]
pub struct StaleScalars {
    unit: Unit,
    /// A bit for each pair that vector arithmetic has read.
    pairs: u64,
    /// Registers that the current instruction reads.
    read: Cell<u128>,
    /// It is a scalar one and waits for vector arithmetic, whose result it reads.
    waits: Cell<bool>,
    writes: [Option<Write>; REGISTERS],
}

impl StaleScalars {
    /// Those of a wave that has done nothing; `None` on GPUs without this.
    pub fn new(isa: &Isa) -> Option<Box<Self>> {
        isa.register_hazards.contains(&RegisterHazard::PairWrite).then(|| {
            Box::new(Self {
                unit: Unit::Other,
                pairs: 0,
                read: Cell::new(0),
                waits: Cell::new(false),
                writes: [None; REGISTERS],
            })
        })
    }

    /// An instruction begins.
    pub fn begin(&mut self, inst: &Instruction) {
        self.read.set(0);
        self.waits.set(false);
        self.unit = match &inst.fields {
            Fields::Vector(_) | Fields::Dual(_) | Fields::Interp(_) => Unit::Vector,
            Fields::Scalar(_) if inst.entry.format == Format::Sopp => Unit::Program,
            Fields::Scalar(_) => Unit::Scalar,
            _ => Unit::Other,
        };
        match &inst.fields {
            Fields::Scalar(f) if inst.entry.op == Op::SWaitcntDepctr => self.waited(!f.imm),
            Fields::Smem(_) | Fields::Buffer(_) | Fields::Image(_) => self.writes = [None; REGISTERS],
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
        self.read.set(self.read.get() | 1 << register);
        if self.unit == Unit::Scalar && write.is_some_and(|write| write.vector) {
            self.waits.set(true);
        }
        match (write, self.unit) {
            (Some(Write { stale: false, .. }), _) => value,
            (Some(write), Unit::Vector) if write.vector || write.age <= RegisterHazard::SCALARS_BEFORE_VECTOR => {
                write.old
            }
            (Some(write), Unit::Scalar | Unit::Program)
                if !write.vector && write.age <= RegisterHazard::SCALARS_BEFORE_SCALAR =>
            {
                write.old
            }
            _ => value,
        }
    }

    /// The current instruction writes a register that had this value.
    pub fn write(&mut self, register: usize, old: u32) {
        let (pairs, unit) = (self.pairs, self.unit);
        let Some(write) = self.writes.get_mut(register) else { return };
        let stale = pairs >> (register / 2) & 1 == 1;
        *write = match unit {
            Unit::Vector | Unit::Scalar => Some(Write { old, vector: unit == Unit::Vector, age: 0, stale }),
            Unit::Program | Unit::Other => None,
        };
    }

    /// The current instruction ends.
    pub fn end(&mut self) {
        let read = self.read.get();
        let registers = || (0..REGISTERS).filter(|n| read >> n & 1 == 1);
        match self.unit {
            Unit::Vector => self.pairs = registers().fold(self.pairs, |pairs, n| pairs | 1 << (n / 2)),
            Unit::Scalar => {
                let waits = self.waits.get();
                for write in &mut self.writes {
                    match write {
                        Some(of_vector) if of_vector.vector && waits => *write = None,
                        Some(of_scalar) => of_scalar.age = of_scalar.age.saturating_add(1),
                        None => {}
                    }
                }
            }
            Unit::Program | Unit::Other => {}
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
        let later = |count| [&[vector, set][..], &vec![filler; count]].concat();
        assert_eq!((seen(&later(9), &get), seen(&later(10), &get)), (1, 2));
        assert_eq!((seen(&later(10), &vector), seen(&later(11), &vector)), (1, 2));
        assert_eq!(seen(&[vector, set, wait(depctr::SCALARS)], &get), 2);
        assert_eq!(seen(&[vector, set, wait(depctr::SCALARS_OF_VECTOR)], &get), 1);
        // A scalar instruction waits for vector arithmetic.
        assert_eq!((seen(&[vector, compare], &vector), seen(&[vector, compare], &get)), (1, 2));
        assert_eq!(seen(&[vector, compare, get], &vector), 2);
        assert_eq!(seen(&[vector, compare, wait(depctr::SCALARS_OF_VECTOR)], &vector), 2);
    }
}
