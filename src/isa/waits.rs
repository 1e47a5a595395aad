//! The instructions that wait for outstanding operations.

use super::instruction::{Fields, Instruction, ScalarFields, VectorFields, VectorForm};
use super::{Counter, Isa, Scalar, Src, WaitCounts};

impl Isa {
    /// The instructions that wait: one for several counters if it has such a one, and one for each other.
    pub fn wait(&'static self, counts: WaitCounts) -> impl Iterator<Item = Instruction> {
        let layout = self.waits;
        let counts = layout.real(counts);
        let program = |(op, constant)| Instruction::program(self, op, constant);
        let pair = layout.pair(counts);
        let together = pair.map_or([None; 2], |(.., both)| both.map(Some));
        let several = layout.several(counts).map(program);
        let alone = layout.counters().filter(move |counter| {
            let waits = counts.get(*counter) < layout.most(*counter);
            layout.is_apart(*counter) && waits && !together.contains(&Some(*counter))
        });
        let alone = alone.map(move |counter| {
            let (entry, count) = (self.row(layout.op_alone(counter)), u16::from(counts.get(counter)));
            let of_register = (!entry.src.is_empty()).then_some(Src::Scalar(Scalar::Null));
            let fields = ScalarFields { dst: None, srcs: [of_register, None, None], imm: count };
            Instruction { entry, fields: Fields::Scalar(fields) }
        });
        let pair = pair.map(|(op, constant, _)| Instruction::program(self, op, constant));
        several.into_iter().chain(pair).chain(alone)
    }

    /// What an instruction waits for, if it is nothing but a wait. A count in a register is not known, and no wait.
    pub fn waited(&self, inst: &Instruction) -> Option<WaitCounts> {
        let Fields::Scalar(f) = &inst.fields else { return None };
        let known = f.srcs[0].is_none_or(|src| src == Src::Scalar(Scalar::Null));
        self.waits.waited(inst.entry.op, f.imm).filter(|_| known)
    }

    /// What is done when an instruction reads its operands: what a wait waits for, and what interpolation waits for itself.
    pub fn done_before(&self, inst: &Instruction) -> WaitCounts {
        let own = inst.export_wait().filter(|count| *count < self.waits.most(Counter::Export));
        let own = own.map_or(WaitCounts::ANY, |count| WaitCounts::ANY.at_most(Counter::Export, count));
        self.waited(inst).map_or(own, |waited| waited.and(own))
    }
}

impl Instruction {
    /// Exports and parameter loads that may be outstanding when an interpolation from registers begins; `None`: it is none.
    pub const fn export_wait(&self) -> Option<u8> {
        match self.fields {
            Fields::Vector(VectorFields { form: VectorForm::Interp { wait }, .. }) => Some(wait),
            _ => None,
        }
    }

    /// The same interpolation with another such number. Any other instruction stays as it is.
    #[must_use]
    pub const fn with_export_wait(self, most: u8) -> Self {
        match self.fields {
            Fields::Vector(f @ VectorFields { form: VectorForm::Interp { .. }, .. }) => {
                let form = VectorForm::Interp { wait: most };
                Self { fields: Fields::Vector(VectorFields { form, ..f }), ..self }
            }
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, Vgpr};
    use dovetail_base::target::{Gpu, WaveSize};

    #[test]
    fn a_wait_is_what_its_instructions_wait_for() {
        let isa = Isa::of(Gpu::Gfx1030);
        let counts = WaitCounts::all(Counter::Scalar).at_most(Counter::Vector, 37).at_most(Counter::Store, 5);
        let made: Vec<Instruction> = isa.wait(counts).collect();
        let text: Vec<String> = made.iter().map(|inst| inst.text(isa, WaveSize::W32)).collect();
        assert_eq!(text, ["s_waitcnt vmcnt(37) lgkmcnt(0)", "s_waitcnt_vscnt null, 0x5"]);
        let both = made.iter().filter_map(|inst| isa.waited(inst)).reduce(WaitCounts::and);
        assert_eq!(both, Some(counts));
        // A count that a counter cannot exceed is no wait.
        let beyond = WaitCounts::ANY.at_most(Counter::Vector, 64).at_most(Counter::Export, 7);
        assert_eq!(isa.wait(beyond).count(), 0);
    }

    #[test]
    fn gfx11_has_the_same_counters_in_another_word() {
        let isa = Isa::of("gfx1100".parse().expect("known"));
        let counts = WaitCounts::all(Counter::Scalar).at_most(Counter::Vector, 37).at_most(Counter::Store, 5);
        let made: Vec<Instruction> = isa.wait(counts).collect();
        assert_eq!(made.iter().filter_map(|inst| isa.waited(inst)).reduce(WaitCounts::and), Some(counts));
        let mut words = Vec::new();
        made.iter().for_each(|inst| crate::encode(isa, WaveSize::W32, inst, &mut words).expect("encodes"));
        assert_eq!(words, [0xbf89_0000 | 37 << 10 | 7, 0xbc7c_0005]);
    }

    #[test]
    fn interpolation_waits_for_what_its_field_says() {
        let isa = Isa::of("gfx1100".parse().expect("known"));
        let step = |wait| Instruction::interpolation(isa, Op::VInterpP10F32, Vgpr(2), [0, 1, 0].map(Vgpr), wait);
        assert_eq!(step(3).export_wait(), Some(3));
        assert_eq!(step(3).with_export_wait(1), step(1));
        assert_eq!((isa.waited(&step(1)), isa.done_before(&step(1)).get(Counter::Export)), (None, 1));
        // All that fits the field is no wait.
        assert_eq!(isa.done_before(&step(7)), WaitCounts::ANY);
        let other = Instruction::program(isa, Op::SNop, 0);
        assert_eq!((other.export_wait(), other.with_export_wait(1)), (None, other));
        let wait = isa.wait(WaitCounts::all(Counter::Export)).next().expect("a wait");
        assert_eq!(Some(isa.done_before(&wait)), isa.waited(&wait));
    }
}
