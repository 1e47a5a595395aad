//! Plans where the wave goes, and with which lanes: every branch of the shader becomes a branch of the wave or a change
//! of EXEC.
//!
//! The wave visits the blocks in layout order. At the end of a block its lanes continue at some target; other lanes may
//! already wait at blocks in between. If none does, the wave jumps. Otherwise its lanes are added to the mask that
//! waits at their target, and the wave continues at the first block where lanes wait. This is correct for any reducible
//! graph, including breaks, continues and early returns. Most branches need less:
//!
//! | branch | becomes |
//! | --- | --- |
//! | uniform, no lane waits before its targets | a branch on SCC |
//! | divergent, and all paths meet at a block (*closed*) | EXEC saved, reduced, and restored at that block |
//! | others | masks of waiting lanes |
//!
//! A block at which lanes wait begins with a *landing*, which puts them into EXEC and, if there may be none, skips the
//! block: scalar code, and with it scalar loads and branches, never runs without an active lane. `verify` proves that of
//! every plan.

mod clear;
mod closed;
mod print;
#[cfg(test)]
mod tests;
mod verify;
mod waiting;
mod walk;
mod wave;
mod ways;

pub use print::PlanText;
pub use wave::WavePaths;
pub use ways::{Exit, Go, Landing, MaskId, MaskSource, Plan, Position};

use super::layout::BlockLayout;
use dovetail_base::error::Result;
use dovetail_base::workspace::List;
use dovetail_ir::uniform::Uniformity;
use dovetail_ir::{Shader, Terminator};

impl Plan {
    /// Plans a shader that `shape` has prepared.
    ///
    /// # Errors
    /// Unsupported: lanes that wait in a way that is not handled yet.
    pub fn new(shader: &Shader, layout: &BlockLayout, uniformity: &Uniformity) -> Result<Self> {
        let mut divergent: List<bool> = layout
            .order
            .iter()
            .map(|b| match shader.block(*b).term() {
                Some(Terminator::Branch { cond, .. }) => !uniformity.is_uniform_in(cond, *b),
                _ => false,
            })
            .collect();
        // A uniform branch that cannot be one of the wave, since lanes wait before its target, changes EXEC as others do.
        loop {
            match walk::walk(shader, layout, &divergent)? {
                walk::Walked::Plan(plan) => return Ok(plan),
                walk::Walked::Demoted(list) => list.iter().for_each(|p| divergent[*p as usize] = true),
            }
        }
    }
}
