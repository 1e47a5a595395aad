//! The module and its one function: calling convention, arguments, attributes, and the entry code.
//!
//! Scalar register arguments are passed dword by dword (`inreg`), as aligned vectors would cost moves; vector register
//! arguments stay whole, as a fragment shader's n-th one is hardware input n. Every register that the hardware loads is
//! an argument, used or not: LLVM finds its own scratch offset after the last one.

use super::blocks::{Blocks, dwords, return_types};
use super::values::Cx;
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::{AmdOp, BlockId, EntryArg, LowerInfo, Op, RegClass, Shader, Terminator, Type};
use dovetail_passes::entry_facts::lower_info;
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::targets::TargetMachine;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::FunctionValue;

/// Address space of workgroup memory.
const LOCAL: u16 = 3;
/// Address space of memory that is never written.
pub(super) const CONSTANT: u16 = 4;
/// Address space of global memory.
pub(super) const GLOBAL: u16 = 1;

/// Translates a lower-level shader.
pub(super) fn build<'c>(
    ctx: &'c Context,
    machine: &TargetMachine,
    shader: &Shader,
    options: &TuningOptions,
) -> Result<Module<'c>> {
    let info = lower_info(shader)?;
    let order = shader.cfg().order.to_vec();
    let returns = return_shape(shader, info, &order)?;
    // Below the limit LLVM ends the process, so check here too, for callers that have not checked the request.
    options.check()?;

    let module = ctx.create_module("dovetail");
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    let builder = ctx.create_builder();
    let mut cx = Cx {
        shader,
        info,
        ctx,
        module: &module,
        b: &builder,
        function: declare(ctx, &module, shader, info, &returns)?,
        values: vec![None; shader.values.len()],
        locals: Vec::new(),
        tables: Vec::new(),
        shared: None,
        address_high: None,
    };
    attributes(&cx, options);
    cx.globals()?;
    let blocks = Blocks::new(&mut cx, order, returns)?;
    blocks.fill(&mut cx)?;
    drop(builder);
    Ok(module)
}

/// Number of invocations per workgroup.
fn workgroup_size(shader: &Shader) -> u32 {
    shader.modes.local_size.iter().fold(1, |n, d| n.saturating_mul(*d))
}

/// Types of the returned values: those of the first return, or dwords if the shader never returns.
fn return_shape(shader: &Shader, info: &LowerInfo, order: &[BlockId]) -> Result<Vec<Type>> {
    let first = order.iter().find_map(|&id| match shader.block(id).term() {
        Some(Terminator::Return(values)) => Some(values),
        _ => None,
    });
    let types: Vec<Type> = match first {
        Some(values) => values.iter().map(|&v| shader.ty(v)).collect(),
        None => vec![Type::B32; info.returns.len()],
    };
    if types.len() != info.returns.len() {
        return Err(Error::bug(format!("{} values returned, {} declared", types.len(), info.returns.len())));
    }
    Ok(types)
}

/// LLVM's number of the calling convention.
const fn calling_convention(stage: Stage) -> u32 {
    match stage {
        Stage::Vertex => 87,
        Stage::Fragment => 89,
        Stage::Compute => 90,
    }
}

/// LLVM parameters of one entry argument.
fn arg_types<'c>(ctx: &'c Context, arg: &EntryArg, stage: Stage) -> Vec<BasicMetadataTypeEnum<'c>> {
    let (i32t, f32t, n) = (ctx.i32_type(), ctx.f32_type(), dwords(arg.ty));
    match arg.class {
        RegClass::Sgpr => vec![i32t.into(); n as usize],
        RegClass::Vgpr if n == 1 => vec![i32t.into()],
        RegClass::Vgpr if stage.shades_pixels() => vec![f32t.vec_type(n).into()],
        RegClass::Vgpr => vec![i32t.vec_type(n).into()],
    }
}

fn declare<'c>(
    ctx: &'c Context,
    module: &Module<'c>,
    shader: &Shader,
    info: &LowerInfo,
    returns: &[Type],
) -> Result<FunctionValue<'c>> {
    let mut params = Vec::new();
    let mut scalar = Vec::new();
    for arg in &info.args {
        let types = arg_types(ctx, arg, shader.stage);
        scalar.resize(params.len() + types.len(), arg.class == RegClass::Sgpr);
        params.extend(types);
    }
    let ty = if !info.epilog {
        ctx.void_type().fn_type(&params, false)
    } else if info.returns.is_empty() {
        ctx.struct_type(&[ctx.i32_type().into()], false).fn_type(&params, false)
    } else {
        let mut fields = Vec::new();
        for (class, ty) in info.returns.iter().zip(returns) {
            fields.extend(return_types(ctx, *class, *ty));
        }
        ctx.struct_type(&fields, false).fn_type(&params, false)
    };
    let function = module.add_function(&info.symbol, ty, Some(Linkage::External));
    function.set_call_conventions(calling_convention(shader.stage));
    let inreg = ctx.create_enum_attribute(Attribute::get_named_enum_kind_id("inreg"), 0);
    for (i, _) in scalar.iter().enumerate().filter(|(_, s)| **s) {
        function.add_attribute(AttributeLoc::Param(i as u32), inreg);
    }
    Ok(function)
}

fn attributes(cx: &Cx<'_, '_>, options: &TuningOptions) {
    let set = |key: &str, value: &str| {
        cx.function.add_attribute(AttributeLoc::Function, cx.ctx.create_string_attribute(key, value));
    };
    let nounwind = cx.ctx.create_enum_attribute(Attribute::get_named_enum_kind_id("nounwind"), 0);
    cx.function.add_attribute(AttributeLoc::Function, nounwind);
    let wave = match cx.wave() {
        WaveSize::W32 => "+wavefrontsize32",
        WaveSize::W64 => "+wavefrontsize64",
    };
    match cx.shader.stage {
        Stage::Compute => {
            let cu = if options.cu_mode { "+cumode" } else { "-cumode" };
            set("target-features", &format!("{wave},{cu}"));
            let size = workgroup_size(cx.shader);
            set("amdgpu-flat-work-group-size", &format!("{size},{size}"));
        }
        Stage::Fragment => {
            set("target-features", wave);
            set("amdgpu-color-export", if cx.info.color_export { "1" } else { "0" });
            set("amdgpu-depth-export", if cx.info.depth_export { "1" } else { "0" });
        }
        Stage::Vertex => set("target-features", wave),
    }
    let [single, others] = cx.shader.modes.keeps_denormals().map(|keep| if keep { "ieee" } else { "preserve-sign" });
    set("denormal-fp-math-f32", single);
    set("denormal-fp-math", others);
    if options.vgpr_limit > 0 {
        set("amdgpu-num-vgpr", &options.vgpr_limit.to_string());
    }
    if let Some(scheduler) = &options.llvm.scheduler {
        set("amdgpu-sched-strategy", scheduler);
    }
}

/// Rounding fields of the MODE register that a shader sets, encoded for `s_setreg`: register 1, offset at bit 6, width
/// minus one at bit 11.
fn round_field(toward_zero: [bool; 2]) -> Option<u32> {
    match toward_zero {
        [false, false] => None,
        [true, false] => Some(1 | 1 << 11),
        [false, true] => Some(1 | 2 << 6 | 1 << 11),
        [true, true] => Some(1 | 3 << 11),
    }
}
const TO_NEAREST_EVEN: u32 = 0;
/// Towards zero in both fields.
const TOWARD_ZERO: u32 = 0b1111;

impl<'c> Cx<'_, 'c> {
    /// Declares workgroup memory and constant tables.
    fn globals(&mut self) -> Result<()> {
        if self.shader.shared_bytes > 0 {
            let ty = self.i32_type().array_type(self.shader.shared_bytes.div_ceil(4));
            let lds = self.module.add_global(ty, Some(AddressSpace::from(LOCAL)), "lds");
            lds.set_linkage(Linkage::Internal);
            // The hardware does not initialize it, and LLVM rejects any other initializer.
            lds.set_initializer(&ty.get_poison());
            lds.set_alignment(16);
            self.shared = Some(lds.as_pointer_value());
        }
        for (i, table) in self.shader.tables.iter().enumerate() {
            let bytes: Vec<_> =
                table.bytes.iter().map(|&b| self.ctx.i8_type().const_int(u64::from(b), false)).collect();
            let data = self.ctx.i8_type().const_array(&bytes);
            let name = format!("table{i}");
            let global = self.module.add_global(data.get_type(), Some(AddressSpace::from(CONSTANT)), &name);
            global.set_linkage(Linkage::Internal);
            global.set_unnamed_addr(true);
            global.set_constant(true);
            global.set_initializer(&data);
            global.set_alignment(table.align.bytes().max(4));
            self.tables.push(global.as_pointer_value());
        }
        Ok(())
    }

    /// Start of the entry block: arguments, scratch, modes, the address of the code.
    pub fn prelude(&mut self) -> Result<()> {
        let mut params = self.function.get_param_iter();
        for (arg, &value) in self.info.args.iter().zip(&self.shader.block(Shader::ENTRY).params) {
            let count = if arg.class == RegClass::Sgpr { dwords(arg.ty) as usize } else { 1 };
            let parts: Vec<_> = params.by_ref().take(count).collect();
            let words = self.gather(&parts)?;
            let words = self.cast(words, self.i32_vector(dwords(arg.ty)))?;
            self.values[value.index()] = Some(self.of_dwords(words, arg.ty)?);
        }
        for local in &self.shader.locals {
            // An array of dwords rather than bytes: LLVM can keep a small one in registers.
            let ty = self.i32_type().array_type(local.bytes.div_ceil(4).max(1));
            let pointer = self.b.build_alloca(ty, "").built()?;
            if let Some(inst) = pointer.as_instruction() {
                inst.set_alignment(local.align.bytes().max(4))
                    .map_err(|e| Error::bug(format!("scratch alignment: {e}")))?;
            }
            self.locals.push(pointer);
        }
        self.set_mode(TOWARD_ZERO)?;
        if self.shader.insts.iter().any(|i| i.op == Op::Target(AmdOp::AddressHigh)) {
            let pc = self.call("llvm.amdgcn.s.getpc", &[], &[])?;
            let words = super::values::as_vector(self.cast(pc, self.i32_vector(2))?)?;
            self.address_high = Some(super::values::as_int(self.lane(words, 1)?)?);
        }
        Ok(())
    }

    /// Sets rounding towards zero if the shader requires it. This affects instructions, not LLVM's folding: constants
    /// are still folded with rounding to nearest even.
    fn set_mode(&self, round: u32) -> Result<()> {
        if let Some(field) = round_field(self.shader.modes.rounds_toward_zero()) {
            let width = (field >> 11) + 1;
            let round = self.c32(round & ((1 << width) - 1));
            self.call_void("llvm.amdgcn.s.setreg", &[], &[self.c32(field).into(), round.into()])?;
        }
        Ok(())
    }

    /// Undoes [`Cx::set_mode`] before a return, because the mode would stay set in the epilog.
    pub fn restore_mode(&self) -> Result<()> {
        self.set_mode(TO_NEAREST_EVEN)
    }
}
