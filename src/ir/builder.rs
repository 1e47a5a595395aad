//! Appends instructions to a block. Constants are appended to the entry block, once each; otherwise only trivial cases
//! are folded.

use super::alu::{AluOp, FpFlags};
use super::args::InstArgs;
use super::block::{BlockCall, Merge, Terminator};
use super::bounds::greatest;
use super::op::Op;
use super::pool::ConstPool;
use super::shader::{BlockId, InstId, Shader, Value};
use super::types::{Bits, Type};
use dovetail_base::workspace::{Kept, take};
use smallvec::SmallVec;

/// A cursor at the end of a block. The caller is responsible for types; `verify` checks them.
#[derive(Debug)]
pub struct Builder<'a> {
    /// Shader under construction.
    pub shader: &'a mut Shader,
    block: BlockId,
    /// Reusable constants.
    consts: Kept<ConstPool>,
    /// Flags of the float operations that follow.
    pub fp: FpFlags,
}

impl<'a> Builder<'a> {
    /// A builder at the end of `block`.
    pub fn new(shader: &'a mut Shader, block: BlockId) -> Self {
        Self { shader, block, consts: take(), fp: FpFlags::NONE }
    }

    /// The current block.
    pub fn block(&self) -> BlockId {
        self.block
    }

    /// Continues at the end of another block.
    pub fn switch_to(&mut self, block: BlockId) {
        self.block = block;
    }

    /// The reusable constants.
    pub(super) fn pool(&mut self) -> &mut ConstPool {
        &mut self.consts
    }

    /// A new block.
    pub fn new_block(&mut self) -> BlockId {
        self.shader.add_block()
    }

    /// Whether the current block already has its terminator.
    pub fn terminated(&self) -> bool {
        self.shader.block(self.block).term().is_some()
    }

    /// Type of a value.
    pub fn ty(&self, v: Value) -> Type {
        self.shader.ty(v)
    }

    /// Any instruction.
    pub fn push(&mut self, op: Op, args: impl Into<InstArgs>, ty: Option<Type>) -> InstId {
        self.push_to(self.block, op, args.into(), ty)
    }

    fn push_to(&mut self, block: BlockId, op: Op, args: InstArgs, ty: Option<Type>) -> InstId {
        let id = self.shader.add_inst(op, args, ty);
        self.shader.block_mut(block).insts.push(id);
        id
    }

    /// Any instruction with a result.
    pub fn value(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let v = Value(self.shader.values.len() as u32);
        self.push(op, args, Some(ty));
        v
    }

    /// Any instruction without a result.
    pub fn effect(&mut self, op: Op, args: &[Value]) {
        self.push(op, args, None);
    }

    /// A constant of this scalar type; bits above its width are dropped.
    pub fn iconst(&mut self, ty: Type, bits: u64) -> Value {
        let bits = bits & ty.bits().mask();
        if let Some(v) = self.consts.get(ty, bits) {
            return v;
        }
        let v = Value(self.shader.values.len() as u32);
        self.push_to(Shader::ENTRY, Op::Const(bits), InstArgs::new(), Some(ty));
        self.consts.insert(ty, bits, v);
        v
    }

    /// An equal constant that this builder created or encountered; `None` if there is none.
    pub fn same_const(&self, ty: Type, bits: u64) -> Option<Value> {
        self.consts.get(ty, bits)
    }

    /// A 32-bit integer.
    pub fn c32(&mut self, bits: u32) -> Value {
        self.iconst(Type::B32, u64::from(bits))
    }

    /// A boolean constant.
    pub fn cbool(&mut self, b: bool) -> Value {
        self.iconst(Type::B1, u64::from(b))
    }

    /// A float constant of this scalar type (rounded to it).
    pub fn fconst(&mut self, ty: Type, x: f64) -> Value {
        let bits = match ty.bits() {
            Bits::B64 => x.to_bits(),
            Bits::B16 => u64::from(f64_to_half(x)),
            _ => u64::from((x as f32).to_bits()),
        };
        self.iconst(ty, bits)
    }

    /// The smaller of an unsigned value and a limit, without an instruction where the value is known to be no larger.
    pub fn at_most(&mut self, v: Value, limit: u64) -> Value {
        if greatest(self.shader, v) <= limit {
            return v;
        }
        let limit = self.iconst(self.ty(v), limit);
        self.alu(AluOp::UMin, &[v, limit])
    }

    /// An undefined value.
    pub fn undef(&mut self, ty: Type) -> Value {
        self.value(Op::Undef, &[], ty)
    }

    /// Arithmetic whose result type follows from the operands (everything but conversions).
    pub fn alu(&mut self, op: AluOp, args: &[Value]) -> Value {
        let types: SmallVec<[Type; 3]> = args.iter().map(|&a| self.ty(a)).collect();
        // The verifier reports a broken rule, with its location; here any type will do.
        let ty = op.result_type(&types, types[0]).unwrap_or(types[0]);
        let flags = self.fp;
        self.value(Op::Alu(op, flags), args, ty)
    }

    /// A conversion to `ty`; the value itself if the integer widths already agree.
    pub fn convert(&mut self, op: AluOp, v: Value, ty: Type) -> Value {
        if self.ty(v) == ty && matches!(op, AluOp::ZExt | AluOp::SExt | AluOp::Trunc | AluOp::FConv | AluOp::FConvRtz) {
            return v;
        }
        let flags = self.fp;
        self.value(Op::Alu(op, flags), &[v], ty)
    }

    /// A value zero-extended or truncated to `ty`.
    pub fn zext_or_trunc(&mut self, v: Value, ty: Type) -> Value {
        let op = if self.ty(v).bits() < ty.bits() { AluOp::ZExt } else { AluOp::Trunc };
        self.convert(op, v, ty)
    }

    /// Sum; a zero operand is folded.
    pub fn iadd(&mut self, a: Value, b: Value) -> Value {
        match (self.shader.as_const(a), self.shader.as_const(b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            (Some(x), Some(y)) => {
                let ty = self.ty(a);
                self.iconst(ty, x.wrapping_add(y))
            }
            _ => self.alu(AluOp::IAdd, &[a, b]),
        }
    }

    /// Product with a constant; trivial cases are folded.
    pub fn imul_const(&mut self, a: Value, k: u64) -> Value {
        let ty = self.ty(a);
        match (self.shader.as_const(a), k) {
            (_, 1) => a,
            (_, 0) => self.iconst(ty, 0),
            (Some(x), _) => self.iconst(ty, x.wrapping_mul(k)),
            _ => {
                let k = self.iconst(ty, k);
                self.alu(AluOp::IMul, &[a, k])
            }
        }
    }

    /// `cond ? a : b`, folding equal sides.
    pub fn select(&mut self, cond: Value, a: Value, b: Value) -> Value {
        if a == b { a } else { self.alu(AluOp::Select, &[cond, a, b]) }
    }

    /// A vector of scalars (a single scalar is returned as it is).
    pub fn compose(&mut self, parts: &[Value]) -> Value {
        if let [one] = parts {
            return *one;
        }
        let bits = self.ty(parts[0]).bits();
        let ty = Type::vector(bits, parts.len() as u32).unwrap_or(Type::scalar(bits));
        self.value(Op::Compose, parts, ty)
    }

    /// One lane of a vector (of a scalar: the scalar).
    pub fn extract(&mut self, v: Value, lane: u32) -> Value {
        let ty = self.ty(v);
        if ty.is_scalar() { v } else { self.value(Op::Extract(lane as u8), &[v], ty.element()) }
    }

    /// All lanes of a vector.
    pub fn split(&mut self, v: Value) -> SmallVec<[Value; 4]> {
        (0..self.ty(v).lanes()).map(|i| self.extract(v, i)).collect()
    }

    /// The same bits as another type.
    pub fn bitcast(&mut self, v: Value, ty: Type) -> Value {
        if self.ty(v) == ty { v } else { self.value(Op::Bitcast, &[v], ty) }
    }

    /// Ends the block. A block that already ended stays as it is.
    pub fn terminate(&mut self, term: Terminator<'_>) {
        let end = &mut self.shader.block_mut(self.block).end;
        if end.get().is_none() {
            end.set(term);
        }
    }

    /// Ends the block with a jump.
    pub fn jump(&mut self, block: BlockId, args: &[Value]) {
        self.terminate(Terminator::Jump(BlockCall { block, args }));
    }

    /// Ends the block with a conditional branch without arguments.
    pub fn branch(&mut self, cond: Value, then: BlockId, els: BlockId) {
        self.terminate(Terminator::Branch { cond, then: BlockCall::to(then), els: BlockCall::to(els) });
    }

    /// Ends the block with a switch. A block that already ended stays as it is.
    pub fn switch<'c>(
        &mut self,
        value: Value,
        cases: impl Iterator<Item = (u64, BlockCall<'c>)>,
        default: BlockCall<'_>,
    ) {
        let end = &mut self.shader.block_mut(self.block).end;
        if end.get().is_none() {
            end.set_switch(value, cases, default);
        }
    }

    /// Marks the current block as a header.
    pub fn set_merge(&mut self, merge: Merge) {
        self.shader.block_mut(self.block).merge = merge;
    }
}

/// The nearest f16, ties to even.
fn f64_to_half(x: f64) -> u16 {
    let sign = if x.is_sign_negative() { 0x8000u16 } else { 0 };
    let a = x.abs();
    if a.is_nan() {
        return 0x7e00;
    }
    if a >= 65520.0 {
        return sign | 0x7c00;
    }
    // Distance of neighbouring f16 values at this magnitude; constant below 2^-14.
    let exp = if a < 6.103_515_625e-5 { -14 } else { a.log2().floor() as i32 };
    let step = 2f64.powi(exp - 10);
    let n = (a / step).round_ties_even();
    let value = if exp == -14 && n < 1024.0 {
        n as u16
    } else {
        (((exp + 15) as u16) << 10).wrapping_add((n as u16).wrapping_sub(1024))
    };
    sign | value
}

#[cfg(test)]
mod tests {
    use super::{Builder, Shader, f64_to_half};
    use dovetail_base::target::Stage;

    #[test]
    fn a_constant_is_made_once_for_all_blocks() {
        let mut shader = Shader::new("t", Stage::Compute);
        let mut b = Builder::new(&mut shader, Shader::ENTRY);
        let blocks = [b.new_block(), b.new_block()];
        let made = blocks.map(|block| {
            b.switch_to(block);
            b.c32(7)
        });
        assert_eq!((made[0], b.c32(8) == made[0]), (made[1], false));
        assert_eq!((shader.blocks[0].insts.len(), shader.blocks[1].insts.len()), (2, 0));
    }

    #[test]
    fn half_constants_round_to_nearest_even() {
        for (x, want) in [
            (0.0, 0u16),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (5.960_464_477_539_063e-8, 1),
            (6.103_515_625e-5, 0x0400),
            (0.1, 0x2e66),
            (2047.5, 0x67ff + 1),
        ] {
            assert_eq!(f64_to_half(x), want, "{x}");
        }
    }
}
