//! The priority of waves that export.
//!
//! Some GPUs ask for a raised priority up to a wave's exports and for the lowest one right after each run of them
//! ([`FamilyFacts::export_priority`](dovetail_base::target::FamilyFacts::export_priority)). LLVM:
//! `GCNHazardRecognizer::fixRequiredExportPriority`.

use super::{Counter, Instruction, Isa, Op, WaitCounts};

/// Of a wave whose exports are still to come.
pub const BEFORE_EXPORTS: u16 = 2;
/// Of a wave right after exports.
pub const AFTER_EXPORTS: u16 = 0;
/// Idle cycles after the priority is lowered.
pub const IDLE: usize = 2;

/// Writes what a program with exports needs around them.
#[derive(Clone, Debug)]
pub struct ExportRuns {
    isa: &'static Isa,
    /// The last instruction was an export.
    open: bool,
}

/// What comes after an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Next<'a> {
    /// Another one.
    Instruction(&'a Instruction),
    /// Code that is not known yet.
    Unknown,
}

impl ExportRuns {
    /// For a GPU; `None` if it needs nothing.
    pub fn new(isa: &'static Isa) -> Option<Self> {
        isa.facts().export_priority.then_some(Self { isa, open: false })
    }

    /// The first instruction of a program that exports.
    pub fn first(&self) -> Instruction {
        Instruction::program(self.isa, Op::SSetprio, BEFORE_EXPORTS)
    }

    /// Passes to what comes next, and gives what must be put before it.
    pub fn pass(&mut self, next: Next<'_>, out: &mut impl FnMut(Instruction)) {
        let op = match next {
            Next::Instruction(inst) => Some(inst.entry.op),
            Next::Unknown => None,
        };
        let exports = op == Some(Op::Exp);
        if std::mem::replace(&mut self.open, exports) && !exports {
            let ends = op == Some(Op::SEndpgm);
            out(Instruction::program(self.isa, Op::SSetprio, AFTER_EXPORTS));
            if !ends {
                self.isa.wait(WaitCounts::all(Counter::Export)).for_each(&mut *out);
            }
            (0..IDLE).for_each(|_| out(Instruction::program(self.isa, Op::SNop, 0)));
            if !ends {
                out(self.first());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExpSources, ExpTarget, Vgpr};
    use dovetail_base::target::{Gpu, WaveSize};

    fn around(gpu: Gpu, ops: &[Op]) -> Vec<String> {
        let isa = Isa::of(gpu);
        let Some(mut runs) = ExportRuns::new(isa) else { return Vec::new() };
        let mut list = vec![runs.first()];
        for op in ops {
            let inst = match op {
                Op::Exp => {
                    let sources = ExpSources::Full([Some(Vgpr(0)), None, None, None]);
                    Instruction::export(isa, ExpTarget::Mrt(0), sources, true, false).expect("a target")
                }
                op => Instruction::program(isa, *op, 0),
            };
            runs.pass(Next::Instruction(&inst), &mut |inst| list.push(inst));
            list.push(inst);
        }
        runs.pass(Next::Unknown, &mut |inst| list.push(inst));
        list.iter().map(|inst| inst.text(isa, WaveSize::W32).split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn priority_falls_after_each_run_of_exports() {
        let lowered = ["s_setprio 0", "s_waitcnt expcnt(0)", "s_nop 0", "s_nop 0", "s_setprio 2"];
        let exports = ["exp mrt0", "exp mrt0"];
        let ops = [Op::Exp, Op::Exp, Op::SBarrier, Op::Exp, Op::SEndpgm];
        let expected = [
            &["s_setprio 2"],
            &exports[..],
            &lowered,
            &["s_barrier"],
            &["exp mrt0"],
            &["s_setprio 0"],
            &["s_nop 0"; 2],
            &["s_endpgm"],
        ]
        .concat();
        assert_eq!(around(Gpu::Gfx1150, &ops), expected);
        let expected = [&["s_setprio 2", "exp mrt0"][..], &lowered].concat();
        assert_eq!(around(Gpu::Gfx1151, &[Op::Exp]), expected, "code that is not known follows");
        assert_eq!(around(Gpu::Gfx1100, &ops), [""; 0]);
    }
}
