//! With EXEC = 0 there is no vector work to do: a branch taken only then must lead to code that restores lanes, or to
//! the end. Any other target is wrong, or the branch means "never". Vector work there has no effect, so this is a
//! remark.

use super::code::Code;
use super::flow::{Graph, Step};
use super::mask_op::{MaskOp, mask_op};
use super::report::{Reporter, Rule};
use crate::isa::{Access, Op, Register, Traits};

/// Reports vector work reached with EXEC = 0.
pub(super) fn check(graph: &Graph, code: &Code<'_>, reporter: &mut Reporter<'_>) {
    for block in &graph.blocks {
        let Some(branch) = graph.steps_of(block).last() else { continue };
        let target = if leaves_nobody(graph.steps_of(block)) { graph.target(branch) } else { None };
        if let Some(idle) = target.and_then(|index| idle(graph, code, branch, index)) {
            reporter.early(Rule::Idle, branch, None, Some(idle), "no lane is left for");
        }
    }
}

/// Whether a block removes lanes from EXEC and then branches if none is left. Without the former the branch means
/// "never": LLVM writes it, and the opposite one for "always", where it found a uniform condition to be constant.
fn leaves_nobody(steps: &[Step]) -> bool {
    let last = steps.last().is_some_and(|step| step.op() == Op::SCbranchExecz);
    let write = steps.iter().rfind(|step| step.effects.writes.contains(Register::EXEC));
    last && write.is_some_and(|step| {
        let fewer = matches!(mask_op(step.op()), Some((_, MaskOp::And | MaskOp::Andn2 | MaskOp::Xor)));
        step.is(Traits::EXEC_OUT) || fewer
    })
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
        Access::VectorLoad(_) | Access::VectorStore | Access::Lds | Access::FlatLoad | Access::FlatStore
    );
    memory || effects.pure && effects.reads.contains(Register::EXEC) && !effects.writes.vector_part().is_empty()
}
