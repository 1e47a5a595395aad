//! The instructions that wait for outstanding operations.

use super::instruction::{Fields, Instruction, ScalarFields};
use super::layout::CodeField;
use super::{Counter, Isa, Scalar, Src, WaitCounts};

impl Isa {
    /// The instructions that wait: one for several counters, and one for each other.
    pub fn wait(&'static self, counts: WaitCounts) -> impl Iterator<Item = Instruction> {
        let layout = self.waits;
        let several = layout.constant(counts).map(|constant| Instruction::program(self, layout.several, constant));
        let alone = Counter::ALL.into_iter().filter(move |counter| {
            layout.row(*counter).place == CodeField::NONE && counts.get(*counter) < layout.most(*counter)
        });
        several.into_iter().chain(alone.map(move |counter| {
            let srcs = [Some(Src::Scalar(Scalar::Null)), None, None];
            let fields = ScalarFields { dst: None, srcs, imm: counts.get(counter).into() };
            Instruction::new(self, layout.row(counter).alone, Fields::Scalar(fields))
        }))
    }

    /// What an instruction waits for, if it is nothing but a wait. A count in a register is not known, and no wait.
    pub fn waited(&self, inst: &Instruction) -> Option<WaitCounts> {
        let Fields::Scalar(f) = &inst.fields else { return None };
        if inst.entry.op == self.waits.several {
            return Some(self.waits.of_constant(f.imm));
        }
        let counter = self.waits.alone(inst.entry.op)?;
        let count = u8::try_from(f.imm).ok().filter(|count| *count < self.waits.most(counter));
        (f.srcs[0] == Some(Src::Scalar(Scalar::Null)))
            .then_some(WaitCounts::ANY.at_most(counter, count.unwrap_or(u8::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let isa = Isa::of_known("gfx1100".parse().expect("known"));
        let counts = WaitCounts::all(Counter::Scalar).at_most(Counter::Vector, 37).at_most(Counter::Store, 5);
        let made: Vec<Instruction> = isa.wait(counts).collect();
        assert_eq!(made.iter().filter_map(|inst| isa.waited(inst)).reduce(WaitCounts::and), Some(counts));
        let mut words = Vec::new();
        made.iter().for_each(|inst| crate::encode(isa, WaveSize::W32, inst, &mut words).expect("encodes"));
        assert_eq!(words, [0xbf89_0000 | 37 << 10 | 7, 0xbc7c_0005]);
    }
}
