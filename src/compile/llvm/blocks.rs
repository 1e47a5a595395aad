//! Control flow: blocks in reverse postorder, block parameters as phis.
//!
//! Reverse postorder visits definitions before uses, so one walk fills all values. Unreachable blocks are left out. If
//! both edges of a terminator lead to one target with parameters, the second edge gets a block of its own, because a
//! phi takes one value per predecessor. `Unreachable` returns unspecified values: a body without any return would run
//! on into the code after it.

use super::values::{Cx, Llvm, as_int, poison};
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{BlockCall, BlockId, Op, RegClass, Shader, Terminator, Type, Value, ValueDef};
use inkwell::basic_block::BasicBlock;
use inkwell::context::Context;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValue, PhiValue};
use std::collections::BTreeSet;

fn terminator(shader: &Shader, block: BlockId) -> Result<Terminator<'_>> {
    shader.blocks.get(block.index()).and_then(|b| b.term()).ok_or_else(|| Error::bug(format!("{block} has no end")))
}

/// For each value, whether it is a block parameter that is better held as a float, because more operations use or
/// define it as a float than as an integer. This only saves casts that LLVM would have to remove.
fn float_params(shader: &Shader, order: &[BlockId]) -> Vec<bool> {
    let mut votes = vec![0i32; shader.values.len()];
    let mut vote = |v: Value, float: bool| {
        if let Some(n) = votes.get_mut(v.index()) {
            *n += if float { 1 } else { -1 };
        }
    };
    for &id in order {
        let block = shader.block(id);
        for &inst in &block.insts {
            let inst = shader.inst(inst);
            if let Op::Alu(op, _) = inst.op {
                for &arg in &inst.args {
                    vote(arg, op.takes_float());
                }
            }
        }
        for call in block.calls() {
            for (&arg, &param) in call.args.iter().zip(&shader.block(call.block).params) {
                if let Some(Op::Alu(op, _)) = shader.def(arg).map(|i| &i.op) {
                    vote(param, op.gives_float());
                }
            }
        }
    }
    votes
        .iter()
        .zip(&shader.values)
        .map(|(&n, v)| n > 0 && v.ty.can_be_float() && matches!(v.def, ValueDef::Param(..)))
        .collect()
}

/// The blocks being filled.
pub(super) struct Blocks<'c> {
    order: Vec<BlockId>,
    llvm: Vec<Option<BasicBlock<'c>>>,
    phis: Vec<Vec<PhiValue<'c>>>,
    /// Types of a `Return`'s values.
    returns: Vec<Type>,
}

impl<'c> Blocks<'c> {
    /// Makes the blocks and their phis. The caller has already made the entry block's parameters.
    pub fn new(cx: &mut Cx<'_, 'c>, order: Vec<BlockId>, returns: Vec<Type>) -> Result<Self> {
        let shader = cx.shader;
        let mut llvm = vec![None; shader.blocks.len()];
        let mut phis = vec![Vec::new(); shader.blocks.len()];
        let floats = float_params(shader, &order);
        for &id in &order {
            let block = cx.ctx.append_basic_block(cx.function, &id.to_string());
            llvm[id.index()] = Some(block);
            if id == Shader::ENTRY {
                continue;
            }
            cx.b.position_at_end(block);
            for &param in &shader.block(id).params {
                let ty = shader.ty(param);
                let ty = if floats[param.index()] { cx.float_type(ty)? } else { cx.int_type(ty)? };
                let phi = cx.b.build_phi(ty, "").built()?;
                phis[id.index()].push(phi);
                cx.values[param.index()] = Some(phi.as_basic_value());
            }
        }
        Ok(Self { order, llvm, phis, returns })
    }

    fn block(&self, id: BlockId) -> Result<BasicBlock<'c>> {
        self.llvm.get(id.index()).copied().flatten().ok_or_else(|| Error::bug(format!("{id} was not reached")))
    }

    /// Fills every block.
    pub fn fill(&self, cx: &mut Cx<'_, 'c>) -> Result<()> {
        cx.b.position_at_end(self.block(Shader::ENTRY)?);
        cx.prelude()?;
        for &id in &self.order {
            if id != Shader::ENTRY {
                cx.b.position_at_end(self.block(id)?);
            }
            let shader = cx.shader;
            for &inst in &shader.block(id).insts {
                cx.inst(inst).map_err(|e| e.at(format!("{id} {inst}")))?;
            }
            self.terminator(cx, terminator(shader, id)?).map_err(|e| e.at(format!("end of {id}")))?;
        }
        Ok(())
    }

    fn terminator(&self, cx: &Cx<'_, 'c>, term: Terminator<'_>) -> Result<()> {
        match term {
            Terminator::Jump(call) => {
                let to = self.edge(cx, call, false)?;
                cx.b.build_unconditional_branch(to).built()?;
            }
            Terminator::Branch { cond, then, els } => {
                let cond = cx.i(cond)?;
                let twice = then.block == els.block;
                let (then, els) = (self.edge(cx, then, false)?, self.edge(cx, els, twice)?);
                cx.b.build_conditional_branch(cond, then, els).built()?;
            }
            Terminator::Switch { value, cases, default } => {
                let value = cx.i(value)?;
                let mut seen = BTreeSet::from([default.block]);
                let default = self.edge(cx, default, false)?;
                let mut targets = Vec::with_capacity(cases.len());
                for (literal, call) in cases.iter() {
                    let twice = !seen.insert(call.block);
                    targets.push((value.get_type().const_int(literal, false), self.edge(cx, call, twice)?));
                }
                cx.b.build_switch(value, default, &targets).built()?;
            }
            Terminator::Return(values) => self.ret(cx, values)?,
            Terminator::Unreachable => {
                cx.restore_mode()?;
                match cx.function.get_type().get_return_type() {
                    None => cx.b.build_return(None).built()?,
                    Some(ty) => cx.b.build_return(Some(&poison(ty) as &dyn BasicValue<'c>)).built()?,
                };
            }
        }
        Ok(())
    }

    /// The LLVM block for an edge, with its values passed.
    fn edge(&self, cx: &Cx<'_, 'c>, call: BlockCall<'_>, twice: bool) -> Result<BasicBlock<'c>> {
        let target = self.block(call.block)?;
        let phis = &self.phis[call.block.index()];
        if phis.len() != call.args.len() {
            return Err(Error::bug(format!("{} takes {} values, not {}", call.block, phis.len(), call.args.len())));
        }
        let from = cx.b.get_insert_block().ok_or_else(|| Error::bug("no block to end"))?;
        let own = twice && !phis.is_empty();
        let pred = if own { cx.ctx.append_basic_block(cx.function, "edge") } else { from };
        for (phi, &arg) in phis.iter().zip(call.args) {
            let value = cx.cast(cx.value(arg)?, phi.as_basic_value().get_type())?;
            phi.add_incoming(&[(&value as &dyn BasicValue<'c>, pred)]);
        }
        if own {
            cx.b.position_at_end(pred);
            cx.b.build_unconditional_branch(target).built()?;
            cx.b.position_at_end(from);
        }
        Ok(if own { pred } else { target })
    }

    fn ret(&self, cx: &Cx<'_, 'c>, values: &[Value]) -> Result<()> {
        let shader = cx.shader;
        if values.len() != self.returns.len() || values.iter().zip(&self.returns).any(|(&v, &t)| shader.ty(v) != t) {
            return Err(Error::bug("the values of a return are not those that the shader returns"));
        }
        let Some(BasicTypeEnum::StructType(ty)) = cx.function.get_type().get_return_type() else {
            cx.restore_mode()?;
            cx.b.build_return(None).built()?;
            return Ok(());
        };
        let mut result = ty.get_poison();
        if values.is_empty() {
            // LLVM ends the program if a function returns nothing; returning the first SGPR unchanged costs no
            // instruction.
            let first = cx.info.args.iter().position(|arg| arg.class == RegClass::Sgpr);
            let first = first.and_then(|n| shader.block(Shader::ENTRY).params.get(n).copied());
            if let Some(first) = first {
                let words = return_values(cx, RegClass::Sgpr, first)?;
                let first = *words.first().ok_or_else(|| Error::bug("a register of no dwords"))?;
                result = cx.b.build_insert_value(result, first, 0, "").built()?.into_struct_value();
            }
        }
        let mut n = 0;
        for (&v, class) in values.iter().zip(&cx.info.returns) {
            // An undefined value needs no register.
            let undefined = matches!(shader.def(v).map(|i| &i.op), Some(Op::Undef));
            let parts = return_types(cx.ctx, *class, shader.ty(v));
            if !undefined {
                for (i, value) in return_values(cx, *class, v)?.into_iter().enumerate() {
                    result = cx.b.build_insert_value(result, value, n + i as u32, "").built()?.into_struct_value();
                }
            }
            n += parts.len() as u32;
        }
        cx.restore_mode()?;
        cx.b.build_return(Some(&result)).built()?;
        Ok(())
    }
}

/// Elements of the return struct for one value: floats go to VGPRs and integers to SGPRs.
pub(super) fn return_types(ctx: &Context, class: RegClass, ty: Type) -> Vec<BasicTypeEnum<'_>> {
    match (class, dwords(ty)) {
        (RegClass::Sgpr, n) => vec![ctx.i32_type().into(); n as usize],
        (RegClass::Vgpr, _) if ty == Type::B16 => vec![ctx.f16_type().into()],
        (RegClass::Vgpr, 1) => vec![ctx.f32_type().into()],
        (RegClass::Vgpr, n) => vec![ctx.f32_type().vec_type(n).into()],
    }
}

fn return_values<'c>(cx: &Cx<'_, 'c>, class: RegClass, v: Value) -> Result<Vec<Llvm<'c>>> {
    let ty = cx.shader.ty(v);
    match class {
        // LLVM aborts if a divergent value is returned in an SGPR; for a uniform value the readfirstlane folds away.
        RegClass::Sgpr => {
            let words = cx.lanes(cx.to_dwords(v)?)?;
            words.into_iter().map(|w| cx.call_same("llvm.amdgcn.readfirstlane", &[w])).collect()
        }
        RegClass::Vgpr if ty == Type::B16 => Ok(vec![cx.float(v)?]),
        RegClass::Vgpr => Ok(vec![cx.cast(cx.to_dwords(v)?, cx.f32_vector(dwords(ty)))?]),
    }
}

/// Number of registers that a value takes.
pub(super) fn dwords(ty: Type) -> u32 {
    ty.total_bits().div_ceil(32)
}

impl<'c> Cx<'_, 'c> {
    /// A value's bits as dwords, zero above its width.
    pub fn to_dwords(&self, v: Value) -> Result<Llvm<'c>> {
        let ty = self.shader.ty(v);
        let (bits, n) = (ty.total_bits(), dwords(ty));
        let mut value = self.int(v)?;
        if bits != 32 * n {
            let flat = as_int(self.cast(value, self.int_bits(bits)?.into())?)?;
            value = self.b.build_int_z_extend(flat, self.int_bits(32 * n)?, "").built()?.into();
        }
        self.cast(value, self.i32_vector(n))
    }

    /// A value of this type from its dwords.
    pub fn of_dwords(&self, words: Llvm<'c>, ty: Type) -> Result<Llvm<'c>> {
        let (bits, n) = (ty.total_bits(), dwords(ty));
        let mut value = words;
        if bits != 32 * n {
            let flat = as_int(self.cast(words, self.int_bits(32 * n)?.into())?)?;
            value = self.b.build_int_truncate(flat, self.int_bits(bits)?, "").built()?.into();
        }
        self.cast(value, self.int_type(ty)?)
    }
}
