//! Splits barriers into three steps: earlier writes become visible, the wave waits, others' writes are seen.
//!
//! | a barrier's | is | becomes |
//! | --- | --- | --- |
//! | order | release, or both | a release fence of its scope and memory, before |
//! | order | acquire, or both | an acquire fence of its scope and memory, after |
//! | execution scope | workgroup, compute | a plain workgroup barrier: `s_barrier` |
//! | execution scope | subgroup, or workgroup of another stage | a plain subgroup barrier: waves run in lockstep |
//! | execution scope | invocation | nothing |
//! | execution scope | device, system | an error |
//!
//! Afterwards a barrier orders no memory, and every fence orders some.

use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{Builder, FenceOrder, MemoryClasses, Op, Scope, Shader};

/// Splits every barrier.
///
/// # Errors
/// Unsupported: a barrier across workgroups.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    if !shader.has(|op| matches!(op, Op::Barrier { .. } | Op::Fence { .. })) {
        return Ok(());
    }
    let waits = shader.stage.has_workgroups();
    rewrite(shader, |b, inst| match inst.op {
        Op::Barrier { exec, memory, order, classes } => {
            if matches!(order, FenceOrder::Release | FenceOrder::AcqRel) {
                fence(b, memory, FenceOrder::Release, classes);
            }
            match exec {
                Scope::Workgroup if waits => bare(b, Scope::Workgroup),
                Scope::Workgroup | Scope::Subgroup => bare(b, Scope::Subgroup),
                Scope::Invocation => {}
                Scope::Device | Scope::System => {
                    return Err(Error::unsupported("OpControlBarrier of device scope", ""));
                }
            }
            if matches!(order, FenceOrder::Acquire | FenceOrder::AcqRel) {
                fence(b, memory, FenceOrder::Acquire, classes);
            }
            Ok(Rewrite::Remove)
        }
        Op::Fence { scope, order, classes } => {
            fence(b, scope, order, classes);
            Ok(Rewrite::Remove)
        }
        _ => Ok(Rewrite::Keep),
    })
}

fn bare(b: &mut Builder<'_>, exec: Scope) {
    let (memory, order, classes) = (Scope::Invocation, FenceOrder::None, MemoryClasses::default());
    b.effect(Op::Barrier { exec, memory, order, classes }, &[]);
}

/// A fence, if it orders anything.
fn fence(b: &mut Builder<'_>, scope: Scope, order: FenceOrder, classes: MemoryClasses) {
    let op = Op::Fence { scope, order, classes };
    if op.orders_memory() {
        b.effect(op, &[]);
    }
}
