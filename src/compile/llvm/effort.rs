//! How hard LLVM works on a shader: as asked, or as little as it can where its cost would be quadratic.
//!
//! Some of LLVM's passes take the square of a block's memory accesses, of a function's blocks or of a block's phis. What is
//! above the limits here gets code of level 0, which takes time in proportion to its size, rather than none. The choice is a function of the
//! shader alone, never of the time that something took: the same request gives the same bytes on every machine, and the
//! limits are part of the sources that every key has a digest of. The ELF says that the choice was made.

use crate::compile::request::TuningOptions;
use crate::ir::{Op, Shader};

/// Accesses to memory in one block: the scheduler looks at pairs of them.
const MAX_ACCESSES: usize = 1 << 10;
/// Instructions in one block.
const MAX_BLOCK: usize = 1 << 15;
/// Blocks of a shader: the structurizer looks at all blocks of a region for each of them.
const MAX_BLOCKS: usize = 1 << 12;
/// Parameters of one block: coalescing looks at pairs of them.
const MAX_PARAMS: usize = 1 << 10;

/// The limit that a shader is over, in words for people.
pub(super) fn too_much(shader: &Shader) -> Option<String> {
    if shader.blocks.len() > MAX_BLOCKS {
        return Some(format!("{} blocks, over {MAX_BLOCKS}", shader.blocks.len()));
    }
    for block in &shader.blocks {
        if block.insts.len() > MAX_BLOCK {
            return Some(format!("a block of {} instructions, over {MAX_BLOCK}", block.insts.len()));
        }
        if block.params.len() > MAX_PARAMS {
            return Some(format!("{} values that meet in one block, over {MAX_PARAMS}", block.params.len()));
        }
        let accesses = block.insts.iter().filter(|&&i| is_access(&shader.inst(i).op)).count();
        if accesses > MAX_ACCESSES {
            return Some(format!("{accesses} memory accesses in one block, over {MAX_ACCESSES}"));
        }
    }
    None
}

/// Whether more values meet in some block than are kept in registers.
pub(super) fn many_params(shader: &Shader) -> bool {
    shader.blocks.iter().any(|block| block.params.len() > MAX_PARAMS)
}

/// What the scheduler keeps in order.
fn is_access(op: &Op) -> bool {
    op.has_side_effects()
        || matches!(op, Op::LocalLoad { .. } | Op::SharedLoad { .. } | Op::BufferLoad { .. } | Op::GlobalLoad { .. })
}

/// The options that a shader is compiled with: those asked for, or level 0.
pub(super) fn options(shader: &Shader, asked: &TuningOptions) -> (TuningOptions, Option<String>) {
    match too_much(shader) {
        Some(why) if asked.opt_level > 0 => (TuningOptions { opt_level: 0, ..asked.clone() }, Some(why)),
        _ => (asked.clone(), None),
    }
}
