//! With EXEC = 0 there is no vector work to do. A branch that is taken only then must lead to code that restores lanes,
//! or to the end; with any other target it is wrong, or it means "never". Vector work at the target has no effect, so
//! this is only a remark.

use super::code::Code;
use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use dovetail_isa::{CountedAccess, Op, Register};

/// Reports vector work reached with EXEC = 0.
pub(super) fn check(graph: &Graph, code: &Code<'_>, reporter: &mut Reporter<'_>) {
    for block in &graph.blocks {
        let steps = graph.steps_of(block);
        let Some(branch) = steps.last() else { continue };
        let target = graph.target(branch);
        let nobody = match branch.op() {
            // If nothing writes EXEC, the branch means "never": LLVM emits it, and its opposite for "always", if it
            // found a uniform condition to be constant.
            _ if !steps.iter().any(|step| step.effects.writes.contains(Register::EXEC)) => None,
            Op::SCbranchExecz => target,
            Op::SCbranchExecnz => block.next.iter().copied().find(|next| Some(*next) != target),
            _ => None,
        };
        if let Some(idle) = nobody.and_then(|index| idle(graph, code, branch, index)) {
            reporter.early(CodeRule::Idle, branch, None, Some(idle), "no lane is left for");
        }
    }
}

/// The first vector work from here on, before EXEC changes, the part ends or control branches.
fn idle(graph: &Graph, code: &Code<'_>, branch: &Step, first: usize) -> Option<u32> {
    let part = |at: u32| code.part(at).map(|part| part.start);
    let mut index = first;
    // A path of more blocks than the graph has is a cycle.
    for _ in 0..graph.blocks.len() {
        let block = graph.blocks.get(index)?;
        for step in graph.steps_of(block) {
            if part(step.at) != part(branch.at) || step.effects.writes.contains(Register::EXEC) {
                return None;
            }
            if is_vector_work(step) {
                return Some(step.at);
            }
        }
        match block.next[..] {
            [next] => index = next,
            _ => return None,
        }
    }
    None
}

/// Whether a step changes vector registers or memory per lane.
fn is_vector_work(step: &Step) -> bool {
    let effects = &step.effects;
    let memory = matches!(
        effects.access,
        CountedAccess::VectorLoad(_)
            | CountedAccess::VectorStore
            | CountedAccess::Lds
            | CountedAccess::FlatLoad
            | CountedAccess::FlatStore
    );
    memory || effects.pure && effects.reads.contains(Register::EXEC) && !effects.writes.vector_part().is_empty()
}
