//! Optimization effort: as requested, or the least possible if LLVM's cost would be quadratic.
//!
//! Some LLVM passes are quadratic in the blocks of a function or in the phis of a block, and its scheduler in the
//! memory accesses of a block. A shader above these limits gets simple code, compiled in time that grows with its size.
//! Accesses are counted after the pass pipeline, which promotes local variables, so the count is what the scheduler
//! sees. The choice depends only on the shader, never on measured time: equal requests give equal bytes on every
//! machine, and the limits are part of the sources, whose digest is in every key. The ELF records the choice.

use dovetail_ir::Shader;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Module;
use inkwell::values::{CallSiteValue, InstructionOpcode, InstructionValue};

/// Limit on memory accesses in one block: the scheduler compares pairs of them.
const MAX_ACCESSES: usize = 1_000;
/// Limit on instructions in one block.
const MAX_BLOCK: usize = 1 << 14;
/// Limit on blocks of a shader: for each block the structurizer visits all blocks of its region.
const MAX_BLOCKS: usize = 1 << 11;
/// Limit on parameters of one block: coalescing compares pairs of them.
const MAX_PARAMS: usize = 1 << 10;

/// The limit that a shader exceeds before LLVM's passes, as a message for people.
pub(super) fn too_large(shader: &Shader) -> Option<String> {
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
    }
    None
}

/// Passes for simple code: values that cross blocks go through scratch memory, because coalescing those that meet in a
/// block is quadratic in their number.
pub(super) const SIMPLE: &str = "function(reg2mem)";

/// Makes the code generator skip every pass that only improves code. (Its level 0 would do so too, but its register
/// allocator copies undefined values out of registers that nothing has written, which looks like a mistake to a reader
/// of the code.)
pub(super) fn do_not_optimize(module: &Module<'_>) {
    let context = module.get_context();
    for name in ["optnone", "noinline"] {
        let attribute = context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0);
        module.get_functions().for_each(|f| {
            if f.count_basic_blocks() > 0 {
                f.add_attribute(AttributeLoc::Function, attribute);
            }
        });
    }
}

/// The limit that a module exceeds after the pass pipeline, as a message for people.
pub(super) fn too_many_accesses(module: &Module<'_>) -> Option<String> {
    let memory = Attribute::get_named_enum_kind_id("memory");
    let blocks = module.get_functions().flat_map(|function| function.get_basic_blocks());
    let counts = blocks.map(|block| block.get_instructions().filter(|inst| is_access(*inst, memory)).count());
    let most = counts.max().filter(|&most| most > MAX_ACCESSES)?;
    Some(format!("{most} memory accesses in one block, over {MAX_ACCESSES}"))
}

/// Whether the scheduler keeps an instruction in order. `memory` is the number of the attribute of that name.
fn is_access(inst: InstructionValue<'_>, memory: u32) -> bool {
    match inst.get_opcode() {
        InstructionOpcode::Load
        | InstructionOpcode::Store
        | InstructionOpcode::AtomicRMW
        | InstructionOpcode::AtomicCmpXchg
        | InstructionOpcode::Fence => true,
        InstructionOpcode::Call => {
            let callee = CallSiteValue::try_from(inst).ok().and_then(|call| call.get_called_fn_value());
            let effects = callee.and_then(|f| f.get_enum_attribute(AttributeLoc::Function, memory));
            // `memory(none)` is 0.
            effects.is_none_or(|effects| effects.get_enum_value() != 0)
        }
        _ => false,
    }
}
