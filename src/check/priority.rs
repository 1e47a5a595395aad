//! Checks the priority around exports, on GPUs that ask for it
//! ([`FamilyFacts::export_priority`](dovetail_base::target::FamilyFacts::export_priority)): raised before each, and after
//! the last of a run the lowest for some cycles, before anything else.

use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use super::solve::{Flow, forwards};
use dovetail_isa::Op;
use dovetail_isa::export_priority::{AFTER_EXPORTS, BEFORE_EXPORTS, IDLE};
use dovetail_isa::instruction::Fields;

/// How far the end of a run of exports has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Run {
    /// No export is open.
    Over,
    /// The priority is the lowest, for so many more cycles.
    Lowered(usize),
    /// The last instruction was an export.
    Exporting,
}

#[derive(Clone)]
struct Priority {
    /// It is raised on every path.
    raised: bool,
    /// The path that is least far.
    run: Run,
}

impl Flow for Priority {
    fn step(&mut self, step: &Step) {
        self.run = match (self.run, step.op()) {
            (_, Op::Exp) => Run::Exporting,
            (Run::Exporting, Op::SSetprio) if step.imm() == AFTER_EXPORTS => Run::Lowered(IDLE),
            (Run::Lowered(left), Op::SNop) => match left.saturating_sub(usize::from(step.imm()) + 1) {
                0 => Run::Over,
                left => Run::Lowered(left),
            },
            (run @ Run::Lowered(_), _) if step.op() == Op::SWaitcnt => run,
            _ => Run::Over,
        };
        if step.op() == Op::SSetprio {
            self.raised = step.imm() >= BEFORE_EXPORTS;
        }
    }

    fn join(&mut self, other: &Self) -> bool {
        let old = (self.raised, self.run);
        self.raised &= other.raised;
        self.run = self.run.max(other.run);
        old != (self.raised, self.run)
    }
}

/// Reports exports at a low priority, and runs of them that do not end as they must.
pub(super) fn check(graph: &Graph, reporter: &mut Reporter<'_>) {
    if !graph.isa.facts().export_priority {
        return;
    }
    forwards(graph, Priority { raised: false, run: Run::Over }, |before, step| {
        let lowers = step.op() == Op::SSetprio && step.imm() == AFTER_EXPORTS;
        let fault = match (before.run, &step.inst.fields) {
            (_, Fields::Export(_)) if !before.raised => "exports at a low priority",
            (Run::Exporting, Fields::Export(_)) | (Run::Over, _) => return,
            (Run::Exporting, _) if lowers => return,
            (Run::Lowered(_), _) if matches!(step.op(), Op::SNop | Op::SWaitcnt) => return,
            (Run::Exporting, _) => "comes after exports before the priority is lowered",
            (Run::Lowered(_), _) => "comes too soon after the priority was lowered",
        };
        reporter.add(CodeRule::Hazard, step.at, fault);
    });
}

#[cfg(test)]
mod tests {
    use super::super::by_hand::places;
    use super::check;
    use dovetail_base::target::{Gpu, WaveSize};
    use dovetail_isa::{ExpSources, ExpTarget, Instruction, Isa, Op, Vgpr};

    fn found(gpu: Gpu, code: &[(Op, u16)]) -> Vec<usize> {
        let isa = Isa::of(gpu);
        let sources = ExpSources::Full([Some(Vgpr(0)), None, None, None]);
        let code: Vec<Instruction> = code
            .iter()
            .map(|(op, imm)| match op {
                Op::Exp => Instruction::export(isa, ExpTarget::Mrt(0), sources, true, false).expect("a target"),
                op => Instruction::program(isa, *op, *imm),
            })
            .collect();
        places(isa, WaveSize::W32, &code, check)
    }

    #[test]
    fn exports_are_between_a_raised_and_a_lowered_priority() {
        let (raise, lower) = ((Op::SSetprio, 2), (Op::SSetprio, 0));
        let (export, idle, other) = ((Op::Exp, 0), (Op::SNop, 0), (Op::SBarrier, 0));
        let on = |code: &[_]| found(Gpu::Gfx1150, code);
        let none = Vec::<usize>::new();
        assert_eq!(on(&[raise, export, export, lower, idle, idle]), none);
        assert_eq!(on(&[raise, other, export, lower, (Op::SNop, 1), raise, other, export, lower, idle, idle]), none);
        assert_eq!(on(&[export, lower, idle, idle]), [0], "never raised");
        assert_eq!(on(&[raise, lower, export, lower, idle, idle]), [2], "lowered before");
        assert_eq!(on(&[raise, export]), [2], "never lowered");
        assert_eq!(on(&[raise, export, other, lower, idle, idle]), [2], "too late");
        assert_eq!(on(&[raise, export, lower, idle]), [4], "one idle cycle");
        assert_eq!(on(&[raise, export, lower, idle, idle, export, lower, idle, idle]), [5], "not raised again");
        assert_eq!(found(Gpu::Gfx1100, &[export, other]), none);
    }
}
