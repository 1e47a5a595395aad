//! LLVM functions that inkwell does not wrap, and the only `unsafe` of the compiler.
//!
//! Every function here is safe to call: it takes inkwell's own types, whose lifetimes keep context and module alive,
//! and checks what LLVM would only assert.

use super::values::Llvm;
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::types::{BasicTypeEnum, IntType};
use inkwell::values::{AsValueRef, BasicValueEnum, InstructionValue, IntValue, PointerValue};
use llvm_sys::core::{
    LLVMBuildAtomicRMW, LLVMBuildFreeze, LLVMContextSetDiagnosticHandler, LLVMDisposeMessage,
    LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity, LLVMInsertIntoBuilder, LLVMInstructionClone,
};
use llvm_sys::prelude::LLVMDiagnosticInfoRef;
use llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMDiagnosticSeverity};
use std::cell::RefCell;
use std::ffi::{CStr, c_void};

/// A context with a diagnostic handler. LLVM's own handler ends the process on an error; this one collects.
pub(super) struct Diagnosed {
    // Field order: the context is dropped first, so that it never outlives the cell that its handler writes to.
    context: Context,
    errors: Box<RefCell<Vec<String>>>,
}

impl Diagnosed {
    /// A fresh context.
    pub fn new() -> Self {
        let context = Context::create();
        let errors: Box<RefCell<Vec<String>>> = Box::default();
        // SAFETY: the handler gets a pointer to the boxed cell, which stays in place when `Diagnosed` moves and is
        // dropped after the context. The context is used by one thread only (it is not `Sync`).
        unsafe {
            LLVMContextSetDiagnosticHandler(
                context.raw(),
                Some(collect),
                std::ptr::from_ref(&*errors).cast_mut().cast::<c_void>(),
            );
        }
        Self { context, errors }
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Takes the errors reported so far.
    pub fn take_errors(&self) -> Vec<String> {
        self.errors.take()
    }
}

/// Called by LLVM with each diagnostic; only errors are of interest (remarks and warnings do not change code).
extern "C" fn collect(info: LLVMDiagnosticInfoRef, errors: *mut c_void) {
    // SAFETY: LLVM passes a valid diagnostic, and the pointer that `Diagnosed::new` registered, which points to a live
    // cell. The description is a C string that is ours to dispose of.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        if let Ok(mut list) = (*errors.cast::<RefCell<Vec<String>>>()).try_borrow_mut() {
            list.push(owned);
        }
    }
}

/// An integer type of this width.
pub(super) fn int_type(ctx: &Context, bits: u32) -> Result<IntType<'_>> {
    std::num::NonZeroU32::new(bits)
        .and_then(|n| ctx.custom_width_int_type(n).ok())
        .ok_or_else(|| Error::bug(format!("an integer of {bits} bits")))
}

/// Appends `freeze`.
pub(super) fn freeze<'c>(b: &Builder<'c>, v: Llvm<'c>) -> Result<Llvm<'c>> {
    // SAFETY: `v` lives in the builder's context; the builder is positioned (every translation starts by doing so).
    // The result has the operand's type, which is a basic one.
    unsafe { Ok(BasicValueEnum::new(LLVMBuildFreeze(b.as_mut_ptr(), v.as_value_ref(), c"".as_ptr()))) }
}

/// Appends `getelementptr elem, ptr, index`, without `inbounds`.
pub(super) fn gep<'c>(
    b: &Builder<'c>,
    elem: BasicTypeEnum<'c>,
    ptr: PointerValue<'c>,
    index: IntValue<'c>,
) -> Result<PointerValue<'c>> {
    // SAFETY: one index into a sized element type is always well-formed, and no address is undefined without `inbounds`.
    unsafe { b.build_gep(elem, ptr, &[index], "").built() }
}

/// Operator of an `atomicrmw`.
pub(super) use llvm_sys::LLVMAtomicRMWBinOp as RmwOp;

/// Appends `atomicrmw op ptr, value monotonic`, for integers and floats.
pub(super) fn atomic_rmw<'c>(
    b: &Builder<'c>,
    op: LLVMAtomicRMWBinOp,
    ptr: PointerValue<'c>,
    value: Llvm<'c>,
) -> Result<Llvm<'c>> {
    let float =
        matches!(op, RmwOp::LLVMAtomicRMWBinOpFAdd | RmwOp::LLVMAtomicRMWBinOpFMin | RmwOp::LLVMAtomicRMWBinOpFMax);
    if float != value.is_float_value() || !(value.is_int_value() || value.is_float_value()) {
        return Err(Error::bug("an atomic operation on a value of the wrong kind"));
    }
    // SAFETY: pointer and value live in the builder's context, the value's kind fits the operation (checked above), and
    // the result has the value's type.
    unsafe {
        Ok(BasicValueEnum::new(LLVMBuildAtomicRMW(
            b.as_mut_ptr(),
            op,
            ptr.as_value_ref(),
            value.as_value_ref(),
            LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic,
            0,
        )))
    }
}

/// Appends an operand-less instruction that only LLVM's text can spell (in 19 the C API has no synchronization scopes),
/// e.g. `fence syncscope("workgroup") release`. The text is ours, never input.
pub(super) fn insert_parsed<'c>(ctx: &'c Context, b: &Builder<'c>, text: &str, metadata: &str) -> Result<()> {
    let source = format!("define void @f() {{\n  {text}\n  ret void\n}}\n{metadata}\n");
    let buffer = MemoryBuffer::create_from_memory_range_copy(source.as_bytes(), "");
    let module = ctx.create_module_from_ir(buffer).map_err(|e| Error::bug(format!("`{text}`: {e}")))?;
    let inst: InstructionValue<'_> = module
        .get_function("f")
        .and_then(|f| f.get_first_basic_block())
        .and_then(|block| block.get_first_instruction())
        .ok_or_else(|| Error::bug(format!("`{text}` parsed to nothing")))?;
    if inst.get_num_operands() != 0 {
        return Err(Error::bug(format!("`{text}` has operands of another function")));
    }
    // SAFETY: the clone is detached, has no operands, and its metadata belongs to the context, which both modules
    // share; so nothing refers to the parsed module when that is dropped.
    unsafe { LLVMInsertIntoBuilder(b.as_mut_ptr(), LLVMInstructionClone(inst.as_value_ref())) };
    Ok(())
}

// SAFETY: the declaration is that of the C++ standard library, which LLVM is linked with.
unsafe extern "C" {
    /// `std::set_new_handler(void (*)())`: the libraries of GCC and of Clang give it the same name.
    #[link_name = "_ZSt15set_new_handlerPFvvE"]
    fn set_new_handler(handler: Option<extern "C" fn()>) -> Option<extern "C" fn()>;
}

/// Sets the handler that C++ calls, on any thread, when an allocation fails. It must not return: C++ would retry.
pub(super) fn on_failed_allocation(handler: extern "C" fn()) {
    // SAFETY: the declaration is that of the C++ standard; it may be called at any time, and its result is not owned.
    unsafe { set_new_handler(Some(handler)) };
}
