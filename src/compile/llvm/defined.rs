//! Values for what is undefined, for code of level 0.
//!
//! LLVM's optimizer leaves `undef` and `poison` behind where no path gives a value, and its fast register allocator copies
//! such a value out of a register that nothing has written. Nobody uses the copy, but a reader of the code cannot know
//! that, and neither can `check`. Optimized code makes no such copies.

use inkwell::module::Module;
use inkwell::values::{BasicValueEnum, Operand};

/// Puts zeros in place of undefined operands.
pub(super) fn define(module: &Module<'_>) {
    let blocks = module.get_functions().flat_map(|function| function.get_basic_blocks());
    for inst in blocks.flat_map(|block| block.get_instructions()) {
        for n in 0..inst.get_num_operands() {
            if let Some(Operand::Value(value)) = inst.get_operand(n)
                && is_undefined(value)
            {
                inst.set_operand(n, value.get_type().const_zero());
            }
        }
    }
}

fn is_undefined(value: BasicValueEnum<'_>) -> bool {
    match value {
        BasicValueEnum::ArrayValue(v) => v.is_undef(),
        BasicValueEnum::FloatValue(v) => v.is_undef(),
        BasicValueEnum::IntValue(v) => v.is_undef(),
        BasicValueEnum::PointerValue(v) => v.is_undef(),
        BasicValueEnum::ScalableVectorValue(v) => v.is_undef(),
        BasicValueEnum::StructValue(v) => v.is_undef(),
        BasicValueEnum::VectorValue(v) => v.is_undef(),
    }
}
