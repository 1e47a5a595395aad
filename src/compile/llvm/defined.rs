//! Values for what is undefined, for code of level 0.
//!
//! LLVM's optimizer leaves `undef` and `poison` behind where no path gives a value, and its fast register allocator copies
//! such a value out of a register that nothing has written. Nobody uses the copy, but a reader of the code cannot know
//! that, and neither can `check`. Optimized code makes no such copies.

use super::ffi;
use inkwell::module::Module;

/// Puts zeros in place of undefined operands.
pub(super) fn define(module: &Module<'_>) {
    let blocks = module.get_functions().flat_map(|function| function.get_basic_blocks());
    blocks.flat_map(|block| block.get_instructions()).for_each(ffi::define_operands);
}
