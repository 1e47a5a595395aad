//! Values for what is undefined, for code of level 0.
//!
//! LLVM's passes leave `undef` and `poison` behind where no path gives a value, and its fast register allocator copies such
//! a value out of a register that nothing has written. Nobody uses the copy, but a reader of the code cannot know that,
//! and neither can `check`. Optimized code makes no such copies.

use super::ffi;
use inkwell::module::Module;

/// Passes before [`define`]. Values that go from block to block pass through scratch memory: the structurizer, which comes
/// later, would let them meet undefined ones. Nor does the register allocator have to copy each of the values that meet in
/// a block past all others, which takes the square of their number.
pub(super) const PASSES: &str = "function(reg2mem)";

/// Puts zeros in place of undefined operands.
pub(super) fn define(module: &Module<'_>) {
    let blocks = module.get_functions().flat_map(|function| function.get_basic_blocks());
    blocks.flat_map(|block| block.get_instructions()).for_each(ffi::define_operands);
}
