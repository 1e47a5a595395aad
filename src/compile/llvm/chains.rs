//! Breaks up long chains of integer operations.
//!
//! LLVM selects scalar instructions for values that are equal in all lanes. If such a chain begins with a value in a
//! vector register, the pass `SI Fix SGPR copies` weighs the whole chain against vector instructions, in time that
//! grows with the cube of its length: 500 sums and products take 0.7 s, 800 take 2.6 s, at every optimization level. So
//! after [`LIMIT`] operations the value is passed through a vector register by an empty assembly statement. LLVM must
//! then assume that it differs between lanes, and selects vector instructions from there on.

use crate::values::Built;
use dovetail_base::error::{Error, Result};
use inkwell::builder::Builder;
use inkwell::module::Module;
use inkwell::types::IntType;
use inkwell::values::{AnyValue, BasicValue, InstructionOpcode, InstructionValue, Operand};
use rustc_hash::FxHashMap;

/// Largest length of a chain, in operations. A chain of this length takes LLVM a tenth of a second.
const LIMIT: u32 = 400;

/// Breaks chains after [`LIMIT`] operations. If there is one, returns a message for people.
///
/// # Errors
/// Only bugs.
pub(super) fn break_long(module: &Module<'_>) -> Result<Option<String>> {
    let context = module.get_context();
    let builder = context.create_builder();
    let mut depths: FxHashMap<InstructionValue<'_>, u32> = FxHashMap::default();
    let mut broken = 0;
    for block in module.get_functions().flat_map(|function| function.get_basic_blocks()) {
        let mut next = block.get_first_instruction();
        while let Some(inst) = next {
            next = inst.get_next_instruction();
            let Some(step) = step(inst.get_opcode()) else { continue };
            let before = inst.get_operands().flatten().filter_map(Operand::value);
            let before = before.filter_map(|v| v.as_instruction_value());
            let depth = step + before.filter_map(|v| depths.get(&v).copied()).max().unwrap_or(0);
            let ty = inst.get_type();
            match (depth > LIMIT, next, ty.is_int_type().then(|| ty.into_int_type())) {
                (true, Some(after), Some(ty)) if matches!(ty.get_bit_width(), 32 | 64) => {
                    through_vector(&builder, inst, after, ty)?;
                    broken += 1;
                }
                _ => {
                    depths.insert(inst, depth);
                }
            }
        }
    }
    Ok((broken > 0).then(|| format!("integer operations that follow from each other, over {LIMIT}")))
}

/// The length that an operation adds to a chain; `None` if it ends the chain.
fn step(op: InstructionOpcode) -> Option<u32> {
    use InstructionOpcode as I;
    match op {
        I::Add | I::Sub | I::Mul | I::And | I::Or | I::Xor | I::Shl | I::LShr | I::AShr => Some(1),
        I::ZExt | I::SExt | I::Trunc | I::Select | I::ICmp => Some(1),
        _ => None,
    }
}

/// Makes every use of a value read it from a vector register.
fn through_vector<'c>(
    builder: &Builder<'c>,
    inst: InstructionValue<'c>,
    after: InstructionValue<'c>,
    ty: IntType<'c>,
) -> Result<()> {
    let bug = |what: &str| Error::bug(format!("a chain cannot be broken: {what}"));
    let value = inst.as_any_value_enum().into_int_value();
    builder.position_before(&after);
    let shape = ty.fn_type(&[ty.into()], false);
    let asm = ty.get_context().create_inline_asm(shape, String::new(), "=v,0".into(), false, false, None, false);
    // Made with a constant at first, so that this is no use of the value until all other uses are replaced.
    let call = builder.build_indirect_call(shape, asm, &[ty.const_zero().into()], "").built()?;
    let call =
        call.try_as_basic_value().basic().and_then(|v| v.as_instruction_value()).ok_or_else(|| bug("no result"))?;
    inst.replace_all_uses_with(&call);
    if call.set_operand(0, value) { Ok(()) } else { Err(bug("no operand")) }
}
