//! Image instructions: the operation by its modifiers, address, descriptors, data.

use super::{Dwords, Operands, Selector, run_of};
use crate::mir::{Extra, Opcode, Operand, OperandValue};
use crate::widths::FORMAT_LOADS;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Access, AtomicOp, Bits, LodMode, MimgDim, MimgInst, MimgOp, Value};
use dovetail_isa::instruction::CachePolicy;
use dovetail_isa::{Isa, Op, Traits};

impl Selector<'_> {
    /// One image instruction.
    pub(super) fn mimg(&mut self, inst: &MimgInst, args: &[Value], result: Option<Value>) -> Result<()> {
        if args.len() != inst.operands() {
            return Err(Error::bug(format!("native: {} operands of an image instruction", args.len())));
        }
        let sampling = inst.samples();
        let image = self.descriptor(args[0])?;
        let mut rest = &args[1..];
        let mut take = |n: usize| {
            let (head, tail) = rest.split_at(n);
            rest = tail;
            head
        };
        let sampler = if sampling { Some(self.descriptor(take(1)[0])?) } else { None };
        let data = match inst.op {
            MimgOp::Store | MimgOp::StoreMip => take(1),
            MimgOp::Atomic(AtomicOp::CompareExchange) => take(2),
            MimgOp::Atomic(AtomicOp::Load) => take(0),
            MimgOp::Atomic(_) => take(1),
            _ => take(0),
        };
        let mut address = Dwords::new();
        for v in rest {
            address.extend(self.words(*v)?);
        }
        let dim = match (inst.op, inst.dim) {
            (MimgOp::GetLod, MimgDim::D1Array) => MimgDim::D1,
            (MimgOp::GetLod, MimgDim::D2Array) => MimgDim::D2,
            (_, dim) => dim,
        };
        let (most, only) = self.f.isa.separate_addresses(sampling);
        let nsa = only || address.len() > 1 && address.len() <= most;
        let mut uses = match nsa {
            // The last one that has a place of its own begins a run with the rest.
            true if address.len() > most => {
                let (apart, run) = address.split_at(most - 1);
                let mut uses = self.vectors_apart(apart);
                uses.extend(self.vector_run(run));
                uses
            }
            true => self.vectors_apart(&address),
            false => self.vector_run(&address),
        };
        uses.extend(image);
        uses.extend(sampler.into_iter().flatten());
        let extra = |cache: CachePolicy, dmask: u8| Extra::Image {
            dim: dim as u8,
            dmask,
            unorm: inst.unnormalized || !sampling,
            tfe: inst.tfe,
            d16: false,
            nsa,
            cache,
        };
        match inst.op {
            MimgOp::Store | MimgOp::StoreMip => {
                let value = data[0];
                if self.shader.ty(value).bits() == Bits::B16 {
                    return Err(Error::unsupported("native: images of halves", ""));
                }
                let words = self.words(value)?;
                uses.extend(self.vector_run(&words));
                let op = if inst.op == MimgOp::Store { Op::ImageStore } else { Op::ImageStoreMip };
                let cache = self.store_cache(inst.access);
                let extra = extra(cache, inst.dmask);
                self.accessing(inst.access, |this| this.isa(op, &[], &uses, extra));
                Ok(())
            }
            MimgOp::Atomic(op) if op != AtomicOp::Load => self.image_atomic(inst, op, uses, data, result, &extra),
            _ => {
                let result = result.ok_or_else(|| Error::bug("native: an image read without a result"))?;
                let op = match inst.op {
                    MimgOp::Sample | MimgOp::Gather4 => sampling_op(self.isa, inst)?,
                    MimgOp::GetLod => Op::ImageGetLod,
                    MimgOp::LoadMip => Op::ImageLoadMip,
                    MimgOp::GetResinfo => Op::ImageGetResinfo,
                    _ => Op::ImageLoad,
                };
                let atomic = matches!(inst.op, MimgOp::Atomic(_));
                let cache = self.load_cache(Access { coherent: inst.access.coherent || atomic, ..inst.access });
                let wide = self.is_wide(result) && atomic;
                let dmask = if atomic { if wide { 3 } else { 1 } } else { inst.dmask };
                self.image_read(op, uses, inst, result, extra(cache, dmask))
            }
        }
    }

    fn image_read(&mut self, op: Op, mut uses: Operands, inst: &MimgInst, result: Value, extra: Extra) -> Result<()> {
        let ty = self.shader.ty(result);
        if ty.bits() == Bits::B16 {
            return Err(Error::unsupported("native: images of halves", ""));
        }
        let count = self.dword_count(ty);
        let vals = self.vectors(count);
        if inst.tfe {
            uses.extend(self.untouched(count));
        }
        self.push(Opcode::Isa(op), &run_of(&vals), &uses, extra, inst.tfe);
        let words: Dwords = vals.iter().map(|val| OperandValue::Val(*val)).collect();
        self.set(result, &words);
        Ok(())
    }

    /// Zeros for the registers of a read with a residency code: texels that are not resident leave them unchanged.
    fn untouched(&mut self, count: usize) -> Operands {
        let zeros: Dwords = (0..count).map(|_| OperandValue::Const(0)).collect();
        self.vector_run(&zeros)
    }

    fn image_atomic(
        &mut self,
        inst: &MimgInst,
        op: AtomicOp,
        mut uses: Operands,
        data: &[Value],
        result: Option<Value>,
        extra: &dyn Fn(CachePolicy, u8) -> Extra,
    ) -> Result<()> {
        use AtomicOp as A;
        let isa = match op {
            A::Exchange => Op::ImageAtomicSwap,
            A::CompareExchange => Op::ImageAtomicCmpswap,
            A::IAdd => Op::ImageAtomicAdd,
            A::ISub => Op::ImageAtomicSub,
            A::SMin => Op::ImageAtomicSmin,
            A::UMin => Op::ImageAtomicUmin,
            A::SMax => Op::ImageAtomicSmax,
            A::UMax => Op::ImageAtomicUmax,
            A::And => Op::ImageAtomicAnd,
            A::Or => Op::ImageAtomicOr,
            A::Xor => Op::ImageAtomicXor,
            A::FMin => Op::ImageAtomicFmin,
            A::FMax => Op::ImageAtomicFmax,
            A::Load | A::Store | A::FAdd => return Err(Error::unsupported(format!("native: image {op:?}"), "")),
        };
        let mut words = Dwords::new();
        for v in data {
            words.extend(self.words(*v)?);
        }
        let each = words.len() / data.len().max(1);
        uses.extend(self.vector_run(&words));
        let cache = self.atomic_cache(inst.access, result.is_some());
        // A bit for each dword of data.
        let dmask = (1u16 << words.len()) - 1;
        let extra = extra(cache, dmask as u8);
        let Some(result) = result else {
            self.accessing(inst.access, |this| this.isa(isa, &[], &uses, extra));
            return Ok(());
        };
        let vals = self.vectors(words.len());
        self.accessing(inst.access, |this| this.push(Opcode::Isa(isa), &run_of(&vals), &uses, extra, true));
        let words: Dwords = vals[..each].iter().map(|val| OperandValue::Val(*val)).collect();
        self.set(result, &words);
        Ok(())
    }

    /// Reads and writes of texel buffers, and vertex attributes in their formats.
    pub(super) fn texel_load(&mut self, sparse: bool, access: Access, args: &[Value], result: Value) -> Result<()> {
        let cache = self.load_cache(access);
        let extra = match sparse {
            true => Extra::SparseTexel { cache },
            false => Extra::Buffer { offset: 0, idxen: true, offen: false, format: None, cache },
        };
        self.formatted_load(FORMAT_LOADS[0], Operand::constant(0), extra, args, result)
    }

    pub(super) fn typed_load(&mut self, format: u8, offset: u32, args: &[Value], result: Value) -> Result<()> {
        let (offset, scalar) = match Some(offset).filter(|n| *n <= self.isa.limits.buffer_offset) {
            Some(small) => (small, Operand::constant(0)),
            None => (0, Operand::val(self.scalar_register(OperandValue::Const(offset)))),
        };
        let cache = CachePolicy::default();
        let extra = Extra::Buffer { offset, idxen: true, offen: false, format: Some(format), cache };
        self.formatted_load(FORMAT_LOADS[1], scalar, extra, args, result)
    }

    fn formatted_load(
        &mut self,
        ops: [Op; 4],
        scalar_offset: Operand,
        extra: Extra,
        args: &[Value],
        result: Value,
    ) -> Result<()> {
        let ty = self.shader.ty(result);
        let count = self.dword_count(ty);
        let sparse = matches!(extra, Extra::SparseTexel { .. });
        let op = *ops
            .get(count.wrapping_sub(1 + usize::from(sparse)))
            .filter(|_| ty.bits() == Bits::B32)
            .ok_or_else(|| Error::bug(format!("native: a texel of {ty}")))?;
        let descriptor = self.descriptor(args[0])?;
        let index = self.word(args[1])?;
        let mut uses: Operands = [self.vector(index)].into_iter().collect();
        uses.extend(descriptor);
        uses.push(scalar_offset);
        let vals = self.vectors(count);
        if sparse {
            uses.extend(self.untouched(count));
        }
        self.push(Opcode::Isa(op), &run_of(&vals), &uses, extra, sparse);
        let words: Dwords = vals.iter().map(|val| OperandValue::Val(*val)).collect();
        self.set(result, &words);
        Ok(())
    }

    pub(super) fn texel_store(&mut self, access: Access, args: &[Value]) -> Result<()> {
        let ops =
            [Op::BufferStoreFormatX, Op::BufferStoreFormatXy, Op::BufferStoreFormatXyz, Op::BufferStoreFormatXyzw];
        let words = self.words(args[2])?;
        let op = *ops.get(words.len() - 1).ok_or_else(|| Error::bug("native: a texel of no channels"))?;
        let descriptor = self.descriptor(args[0])?;
        let index = self.word(args[1])?;
        let mut uses: Operands = [self.vector(index)].into_iter().collect();
        uses.extend(descriptor);
        uses.push(Operand::constant(0));
        uses.extend(self.vector_run(&words));
        let cache = self.store_cache(access);
        let extra = Extra::Buffer { offset: 0, idxen: true, offen: false, format: None, cache };
        self.accessing(access, |this| this.isa(op, &[], &uses, extra));
        Ok(())
    }
}

fn sampling_op(isa: &Isa, inst: &MimgInst) -> Result<Op> {
    let present = [
        (inst.op == MimgOp::Gather4, Traits::FOUR),
        (inst.compare, Traits::REFERENCE),
        (inst.lod == LodMode::Bias, Traits::BIAS),
        (inst.lod == LodMode::Explicit, Traits::LEVEL),
        (inst.lod == LodMode::Zero, Traits::LEVEL_ZERO),
        (inst.lod == LodMode::Gradient, Traits::GRADIENTS),
        (inst.clamp, Traits::LEAST_LEVEL),
        (inst.offset, Traits::OFFSET),
    ];
    let modifiers = present.iter().filter(|(is, _)| *is).fold(Traits::NONE, |all, (_, one)| all.or(*one));
    isa.sampling(modifiers).ok_or_else(|| Error::bug(format!("native: no image instruction for {inst:?}")))
}
