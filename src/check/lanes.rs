//! With no lane left there is no vector work to do: a branch taken only with EXEC zero leads to what brings
//! lanes back, or to the end. Elsewhere it leads to the wrong place, or means "never": what is done there changes nothing,
//! so this is a remark.

use super::code::Code;
use super::flow::{Graph, Step};
use super::mask_op::{MaskOp, mask_op};
use super::report::{Reporter, Rule};
use crate::isa::{Access, Op, Register, Traits};

/// Reports branches that leave nobody at work.
pub(super) fn check(graph: &Graph, code: &Code<'_>, reporter: &mut Reporter<'_>) {
    for block in &graph.blocks {
        let Some(branch) = graph.steps_of(block).last() else { continue };
        let target = if leaves_nobody(graph.steps_of(block)) { graph.target(branch) } else { None };
        if let Some(idle) = target.and_then(|index| idle(graph, code, branch, index)) {
            reporter.early(Rule::Idle, branch, None, Some(idle), "no lane is left for");
        }
    }
}

/// Whether a block takes lanes away and then branches if none is left. Without the former the branch means "never": LLVM
/// writes it, and the opposite one for "always", where it found a uniform condition to be constant.
fn leaves_nobody(steps: &[Step]) -> bool {
    let last = steps.last().is_some_and(|step| step.op() == Op::SCbranchExecz);
    let write = steps.iter().rfind(|step| step.effects.writes.contains(Register::EXEC));
    last && write.is_some_and(|step| {
        let fewer = matches!(mask_op(step.op()), Some((_, MaskOp::And | MaskOp::Andn2 | MaskOp::Xor)));
        step.is(Traits::EXEC_OUT) || fewer
    })
}

/// The first vector work from here on, before EXEC changes, the part ends or the path divides.
fn idle(graph: &Graph, code: &Code<'_>, branch: &Step, first: usize) -> Option<u32> {
    let part = |at: u32| code.part(at).map(|part| part.start);
    let mut index = first;
    // A path of more blocks than there are goes in circles.
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

/// Changes vector registers or memory, lane by lane.
fn is_vector_work(step: &Step) -> bool {
    let effects = &step.effects;
    let memory = matches!(
        effects.access,
        Access::VectorLoad(_) | Access::VectorStore | Access::Lds | Access::FlatLoad | Access::FlatStore
    );
    memory || effects.pure && effects.reads.contains(Register::EXEC) && !effects.writes.vector_part().is_empty()
}
