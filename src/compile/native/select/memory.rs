//! Memory by descriptor and by address: scalar loads if everything is uniform, otherwise vector loads.

use super::shared::unit_of;
use super::{Dwords, Operands, Selector, run_of};
use crate::mir::{Extra, Opcode, Operand, OperandValue, PhysReg, Pseudo, RegisterClass, Val};
use crate::widths::{SCALAR_LOADS, VECTOR_ACCESSES};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{
    Access, Align, AmdOp, AtomicOp, BufferKind, ConstTableId, FenceOrder, Inst, MemoryClasses, Op as IrOp, Scope, Value,
};
use dovetail_isa::instruction::{CachePolicy, Fields, ScalarFields};
use dovetail_isa::{CacheAccess, CacheReach, CacheScope, Counter, Op, WaitCounts};
use smallvec::SmallVec;

impl Selector<'_> {
    /// An instruction with a result that is neither arithmetic nor a constant.
    pub(super) fn load(&mut self, op: &IrOp, args: &[Value], result: Value) -> Result<()> {
        match *op {
            IrOp::BufferLoad { kind, access, .. } => self.buffer_load(kind, access, args, result),
            IrOp::Target(AmdOp::TableLoad { align }) => match self.linked_descriptor(args, result)? {
                true => Ok(()),
                false => self.load_at(args[0], Some(args[1]), align, constant_memory(), result),
            },
            IrOp::GlobalLoad { align, access } => self.load_at(args[0], None, align, access, result),
            IrOp::ConstLoad { table, align } => {
                let base: Dwords = self.table_address(table).map(OperandValue::Val).into_iter().collect();
                self.load_from(&base, Some(args[0]), align, constant_memory(), result)
            }
            IrOp::LocalLoad { local, align } => self.local_load(local, align, args[0], result),
            IrOp::SharedLoad { align, .. } => self.shared_load(align, args[0], result),
            IrOp::SharedAtomic(op) => self.shared_atomic(op, args, Some(result)),
            IrOp::BufferAtomic { op, access } => self.buffer_atomic(op, access, args, Some(result)),
            IrOp::GlobalAtomic { op, access } => self.global_atomic(op, access, args, Some(result)),
            IrOp::Target(AmdOp::TexelAtomic { op, access }) => self.texel_atomic(op, access, args, Some(result)),
            IrOp::Target(AmdOp::Interp { attr, channel }) => self.interpolate(attr, channel, args, result),
            IrOp::Target(AmdOp::InterpMov { attr, channel, vertex }) => self.flat(attr, channel, vertex, args, result),
            IrOp::Target(AmdOp::Lane(op)) => self.lane_operation(op, args, result),
            IrOp::ReadClock(scope) => self.clock(scope, result),
            IrOp::Target(AmdOp::Mimg(ref mimg)) => self.mimg(mimg, args, Some(result)),
            IrOp::Target(AmdOp::TexelLoad { sparse, access }) => self.texel_load(sparse, access, args, result),
            IrOp::Target(AmdOp::TypedLoad { format, offset }) => self.typed_load(format, offset, args, result),
            _ => Err(Error::unsupported(format!("native: {}", name_of(op)), "")),
        }
    }

    /// An instruction without a result.
    pub(super) fn effect(&mut self, inst: &Inst) -> Result<()> {
        let args = &inst.args[..];
        match inst.op {
            IrOp::BufferStore { access, .. } => self.buffer_store(access, args),
            IrOp::GlobalStore { align, access } => self.global_store(align, access, args),
            IrOp::LocalStore { local, align } => self.local_store(local, align, args[0], args[1]),
            IrOp::SharedStore { align, .. } => self.shared_store(align, args[0], args[1]),
            IrOp::SharedAtomic(op) => self.shared_atomic(op, args, None),
            IrOp::BufferAtomic { op, access } => self.buffer_atomic(op, access, args, None),
            IrOp::GlobalAtomic { op, access } => self.global_atomic(op, access, args, None),
            IrOp::Target(AmdOp::TexelAtomic { op, access }) => self.texel_atomic(op, access, args, None),
            IrOp::Barrier { exec: Scope::Workgroup, .. } => {
                if self.isa.has(Op::SBarrier) {
                    self.isa(Op::SBarrier, &[], &[], Extra::Imm(0));
                } else {
                    // The workgroup's own barrier has the number -1.
                    let own = Operand::one(OperandValue::Const(u32::MAX));
                    self.isa(Op::SBarrierSignal, &[], &[own], Extra::None);
                    self.isa(Op::SBarrierWait, &[], &[], Extra::Imm(u16::MAX));
                }
                Ok(())
            }
            IrOp::Barrier { .. } => {
                self.pseudo(Pseudo::Fence, &[], &[], Extra::None);
                Ok(())
            }
            IrOp::Fence { scope, order, classes } => {
                self.fence(scope, order, classes);
                Ok(())
            }
            IrOp::Target(AmdOp::Mimg(ref mimg)) => self.mimg(mimg, args, None),
            IrOp::Target(AmdOp::TexelStore { access }) => self.texel_store(access, args),
            IrOp::DemoteIf => self.demote(args[0]),
            // At the end of its block: see `ends`.
            IrOp::EndIfDead => Ok(()),
            // The layout has put the block where it belongs.
            IrOp::StayInLoop => Ok(()),
            IrOp::Target(AmdOp::Export { target, enable, compressed, done, valid_mask }) => {
                self.export(target, enable, compressed, (done, valid_mask), args)
            }
            ref op => Err(Error::unsupported(format!("native: {}", name_of(op)), "")),
        }
    }

    fn table_address(&mut self, table: ConstTableId) -> [Val; 2] {
        if let Some((_, pair)) = self.tables.iter().find(|(of, _)| *of == table) {
            return *pair;
        }
        let pair = [(); 2].map(|()| self.f.value(RegisterClass::Scalar));
        self.pseudo(Pseudo::TableAddress, &run_of(&pair), &[], Extra::Table(table.0));
        self.tables.push((table, pair));
        pair
    }

    // ---- by descriptor

    /// A descriptor in scalar registers. The verifier guarantees that it is uniform for the wave.
    pub(super) fn descriptor(&mut self, v: Value) -> Result<Operands> {
        let words = self.words(v)?;
        Ok(self.scalar_run(&words))
    }

    fn buffer_load(&mut self, kind: BufferKind, access: Access, args: &[Value], result: Value) -> Result<()> {
        let ty = self.shader.ty(result);
        let descriptor = self.descriptor(args[0])?;
        let count = self.dword_count(ty);
        let scalar = SCALAR_LOADS.iter().find(|(n, ..)| *n == count);
        if access.is_scalar(kind)
            && self.is_wave_wide(args[1])
            && ty.bytes() >= 4
            && let Some((_, _, op)) = scalar
        {
            return self.scalar_load(*op, descriptor, args[1], count, result);
        }
        let (_, op, ..) = vector_access(ty.bytes())?;
        let (address, offset, offen) = self.buffer_offset(args[1])?;
        let mut uses = address;
        uses.extend(descriptor);
        uses.push(Operand::constant(0));
        let vals = self.vectors(count);
        let extra = Extra::Buffer { offset, idxen: false, offen, format: None, cache: self.load_cache(access) };
        self.isa(op, &run_of(&vals), &uses, extra);
        self.set_vals(result, &vals);
        Ok(())
    }

    /// Whether a value is uniform here.
    pub(super) fn is_wave_wide(&self, v: Value) -> bool {
        self.is_scalar(v) || self.uniformity.is_uniform_in(v, self.layout.order[self.here as usize])
    }

    pub(super) fn set_vals(&mut self, v: Value, vals: &[Val]) {
        let words: Dwords = vals.iter().map(|val| OperandValue::Val(*val)).collect();
        self.set(v, &words);
    }

    /// A load through the scalar cache.
    fn scalar_load(&mut self, op: Op, base: Operands, offset: Value, count: usize, result: Value) -> Result<()> {
        let mut uses = base;
        let (register, constant) = self.base_and_offset(offset)?;
        let (register, constant) = match register {
            _ if constant > self.isa.limits.scalar_offset => (self.word(offset)?, 0),
            _ => (register, constant),
        };
        if register != OperandValue::Const(0) {
            uses.push(Operand::val(self.scalar_register(register)));
        }
        let vals = self.scalars(count);
        let extra = Extra::Smem { offset: constant as i32, cache: CachePolicy::default() };
        self.isa(op, &run_of(&vals), &uses, extra);
        self.set_vals(result, &vals);
        Ok(())
    }

    /// The offset of a buffer access: a register if needed, and the constant part. The hardware checks the sum against
    /// the buffer's size, so a part may be in the instruction only if the sum does not wrap.
    fn buffer_offset(&mut self, v: Value) -> Result<(Operands, u32, bool)> {
        let (base, offset) = self.base_and_offset(v)?;
        let most = self.isa.limits.buffer_offset;
        let (base, offset) = match base {
            OperandValue::Const(0) => (OperandValue::Const(offset & !most), offset & most),
            _ if offset <= most => (base, offset),
            _ => (self.word(v)?, 0),
        };
        if base == OperandValue::Const(0) {
            return Ok((Operands::new(), offset, false));
        }
        Ok(([self.vector(base)].into_iter().collect(), offset, true))
    }

    fn buffer_store(&mut self, access: Access, args: &[Value]) -> Result<()> {
        let descriptor = self.descriptor(args[0])?;
        let (_, _, op, ..) = vector_access(self.shader.ty(args[2]).bytes())?;
        let (mut uses, offset, offen) = self.buffer_offset(args[1])?;
        uses.extend(descriptor);
        uses.push(Operand::constant(0));
        let words = self.words(args[2])?;
        uses.extend(self.vector_run(&words));
        let extra = Extra::Buffer { offset, idxen: false, offen, format: None, cache: self.store_cache(access) };
        self.accessing(access, |this| this.isa(op, &[], &uses, extra));
        Ok(())
    }

    fn buffer_atomic(&mut self, op: AtomicOp, access: Access, args: &[Value], result: Option<Value>) -> Result<()> {
        let descriptor = self.descriptor(args[0])?;
        let (address, offset, offen) = self.buffer_offset(args[1])?;
        let place = Extra::Buffer { offset, idxen: false, offen, format: None, cache: self.store_cache(access) };
        self.atomic_by(descriptor, address, place, op, access, &args[2..], result)
    }

    fn texel_atomic(&mut self, op: AtomicOp, access: Access, args: &[Value], result: Option<Value>) -> Result<()> {
        let descriptor = self.descriptor(args[0])?;
        let index = self.word(args[1])?;
        let address = [self.vector(index)].into_iter().collect();
        let place =
            Extra::Buffer { offset: 0, idxen: true, offen: false, format: None, cache: self.store_cache(access) };
        self.atomic_by(descriptor, address, place, op, access, &args[2..], result)
    }

    /// An atomic at a place in a buffer.
    #[allow(clippy::too_many_arguments, reason = "each is a part of one instruction")]
    fn atomic_by(
        &mut self,
        descriptor: Operands,
        address: Operands,
        place: Extra,
        op: AtomicOp,
        access: Access,
        data: &[Value],
        result: Option<Value>,
    ) -> Result<()> {
        let mut uses = address;
        uses.extend(descriptor);
        uses.push(Operand::constant(0));
        let first = data.first().copied().or(result);
        let wide = self.is_wide(first.ok_or_else(|| Error::bug("native: an atomic of nothing"))?);
        let with = |cache: CachePolicy| match place {
            Extra::Buffer { offset, idxen, offen, format, .. } => Extra::Buffer { offset, idxen, offen, format, cache },
            other => other,
        };
        if op == AtomicOp::Load {
            let result = result.ok_or_else(|| Error::bug("native: a read of nothing"))?;
            let vals = self.vectors(if wide { 2 } else { 1 });
            let extra = with(self.load_cache(Access { coherent: true, ..access }));
            self.isa(if wide { Op::BufferLoadDwordx2 } else { Op::BufferLoadDword }, &run_of(&vals), &uses, extra);
            self.set_vals(result, &vals);
            return Ok(());
        }
        let (isa, _) = atomic_ops(op, wide)?;
        let extra = with(self.atomic_cache(access, result.is_some()));
        self.atomic(isa, access, uses, data, wide, result, extra)
    }

    /// The data of an atomic, and its result in the registers of the data.
    #[allow(clippy::too_many_arguments, reason = "each is a part of one instruction")]
    fn atomic(
        &mut self,
        isa: Op,
        access: Access,
        mut uses: Operands,
        data: &[Value],
        wide: bool,
        result: Option<Value>,
        extra: Extra,
    ) -> Result<()> {
        let mut words = Dwords::new();
        for v in data {
            words.extend(self.words(*v)?);
        }
        let run = self.vector_run(&words);
        uses.extend(run);
        let Some(result) = result else {
            self.accessing(access, |this| this.isa(isa, &[], &uses, extra));
            return Ok(());
        };
        // A compare and swap has two operands, of which the first becomes the result.
        let vals = self.vectors(words.len());
        self.accessing(access, |this| this.push(Opcode::Isa(isa), &run_of(&vals), &uses, extra, true));
        self.set_vals(result, &vals[..if wide { 2 } else { 1 }]);
        Ok(())
    }

    // ---- by address

    fn load_at(
        &mut self,
        address: Value,
        offset: Option<Value>,
        align: Align,
        access: Access,
        result: Value,
    ) -> Result<()> {
        let base = self.words(address)?;
        self.load_from(&base, offset, align, access, result)
    }

    /// Loads from an address, with a non-negative offset.
    fn load_from(
        &mut self,
        base: &[OperandValue],
        offset: Option<Value>,
        align: Align,
        access: Access,
        result: Value,
    ) -> Result<()> {
        let ty = self.shader.ty(result);
        let count = self.dword_count(ty);
        let unwritten = access.read_only && !access.coherent && !access.volatile;
        let scalar = base.iter().all(|word| self.is_scalar_word(*word)) && offset.is_none_or(|v| self.is_wave_wide(v));
        if unwritten && scalar && align >= Align::A4 && ty.bytes().is_multiple_of(4) {
            return self.scalar_loads(base, offset, count, result);
        }
        let (mut address, mut saddr) = (Operands::new(), Operands::new());
        let constant = if base.iter().all(|word| self.is_scalar_word(*word)) {
            let (register, constant) = match offset {
                Some(v) => self.wide_base_and_offset(v)?,
                None => (OperandValue::Const(0), 0),
            };
            let (register, constant) = match offset {
                Some(v) if constant.saturating_add(ty.bytes()) > self.isa.limits.global_offset => (self.word(v)?, 0),
                _ => (register, constant),
            };
            address.push(self.vector(register));
            saddr = self.scalar_run(base);
            constant
        } else {
            let sum = match offset {
                Some(v) => {
                    let offset = self.word(v)?;
                    self.add_wide(base, &[offset, OperandValue::Const(0)])?
                }
                None => base.iter().copied().collect(),
            };
            address = self.vector_run(&sum);
            0
        };
        let unit = unit_of(ty.bytes(), align);
        let mut pieces: SmallVec<[(u32, OperandValue); 16]> = SmallVec::new();
        let mut at = 0;
        while at < ty.bytes() {
            let (bytes, _, _, op, _) = *VECTOR_ACCESSES
                .iter()
                .find(|(bytes, ..)| *bytes <= ty.bytes() - at && (unit >= 4 || *bytes == unit))
                .ok_or_else(|| Error::bug("native: nothing to load"))?;
            let vals = self.vectors(bytes.div_ceil(4) as usize);
            let mut uses = address.clone();
            uses.extend(saddr.iter().copied());
            let extra = Extra::Flat {
                offset: (constant + at) as i32,
                saddr: !saddr.is_empty(),
                cache: self.load_cache(access),
            };
            self.isa(op, &run_of(&vals), &uses, extra);
            pieces.extend((0u32..).zip(&vals).map(|(n, val)| (at + 4 * n, OperandValue::Val(*val))));
            at += bytes;
        }
        let words = self.gather(&pieces, ty, align)?;
        self.set(result, &words);
        Ok(())
    }

    /// [`Selector::base_and_offset`] where the hardware adds both in 64 bits: a sum that wraps at 32 bits must not be
    /// split. A linker value is an offset in a table, and never wraps.
    fn wide_base_and_offset(&self, v: Value) -> Result<(OperandValue, u32)> {
        match self.base_and_offset(v)? {
            parts @ (OperandValue::Const(_) | OperandValue::Reloc(_), _) => Ok(parts),
            _ => Ok((self.word(v)?, 0)),
        }
    }

    fn scalar_loads(
        &mut self,
        base: &[OperandValue],
        offset: Option<Value>,
        count: usize,
        result: Value,
    ) -> Result<()> {
        let (register, constant) = match offset {
            Some(v) => match self.wide_base_and_offset(v)? {
                (_, constant) if constant > self.isa.limits.scalar_offset - 64 => (self.word(v)?, 0),
                parts => parts,
            },
            None => (OperandValue::Const(0), 0),
        };
        let run = self.scalar_run(base);
        let register = match register {
            OperandValue::Const(0) => None,
            // The linker adds it to the constant.
            OperandValue::Reloc(_) => Some(Operand::one(register)),
            other => Some(Operand::val(self.scalar_register(other))),
        };
        let (mut words, mut at) = (Dwords::new(), 0);
        while at < count {
            let (n, op, _) = *SCALAR_LOADS
                .iter()
                .rev()
                .find(|(n, ..)| *n <= count - at)
                .ok_or_else(|| Error::bug("native: no load"))?;
            let mut uses = run.clone();
            uses.extend(register);
            let vals = self.scalars(n);
            let offset = (constant as usize + 4 * at) as i32;
            self.isa(op, &run_of(&vals), &uses, Extra::Smem { offset, cache: CachePolicy::default() });
            words.extend(vals.iter().map(|val| OperandValue::Val(*val)));
            at += n;
        }
        self.set(result, &words);
        Ok(())
    }

    fn global_store(&mut self, align: Align, access: Access, args: &[Value]) -> Result<()> {
        let ty = self.shader.ty(args[1]);
        let (address, saddr) = self.global_address(args[0])?;
        let words = self.words(args[1])?;
        let unit = unit_of(ty.bytes(), align);
        let mut at = 0;
        while at < ty.bytes() {
            let (bytes, _, _, _, op) = *VECTOR_ACCESSES
                .iter()
                .find(|(bytes, ..)| *bytes <= ty.bytes() - at && (unit >= 4 || *bytes == unit))
                .ok_or_else(|| Error::bug("native: nothing to store"))?;
            let first = (at / 4) as usize;
            let data: Dwords = match bytes {
                4.. => words[first..first + (bytes / 4) as usize].iter().copied().collect(),
                _ => [self.shifted_down(words[first], at % 4)?].into_iter().collect(),
            };
            let mut uses = address.clone();
            uses.extend(self.vector_run(&data));
            uses.extend(saddr.iter().copied());
            let extra = Extra::Flat { offset: at as i32, saddr: !saddr.is_empty(), cache: self.store_cache(access) };
            self.isa(op, &[], &uses, extra);
            at += bytes;
        }
        Ok(())
    }

    /// An address in vector registers, or a scalar address with a vector offset of 0.
    fn global_address(&mut self, v: Value) -> Result<(Operands, Operands)> {
        let words = self.words(v)?;
        if words.iter().all(|word| self.is_scalar_word(*word)) {
            let zero = self.vector(OperandValue::Const(0));
            return Ok(([zero].into_iter().collect(), self.scalar_run(&words)));
        }
        Ok((self.vector_run(&words), Operands::new()))
    }

    fn global_atomic(&mut self, op: AtomicOp, access: Access, args: &[Value], result: Option<Value>) -> Result<()> {
        let wide =
            self.is_wide(args.get(1).copied().or(result).ok_or_else(|| Error::bug("native: an atomic of nothing"))?);
        let (mut uses, saddr) = self.global_address(args[0])?;
        if op == AtomicOp::Load {
            let result = result.ok_or_else(|| Error::bug("native: a read of nothing"))?;
            uses.extend(saddr.iter().copied());
            let cache = self.load_cache(Access { coherent: true, ..access });
            let vals = self.vectors(if wide { 2 } else { 1 });
            let extra = Extra::Flat { offset: 0, saddr: !saddr.is_empty(), cache };
            self.isa(if wide { Op::GlobalLoadDwordx2 } else { Op::GlobalLoadDword }, &run_of(&vals), &uses, extra);
            self.set_vals(result, &vals);
            return Ok(());
        }
        // The tied data are the last run, so the address must be a vector one.
        if !saddr.is_empty() {
            let words = self.words(args[0])?;
            uses = self.vector_run(&words);
        }
        let (_, isa) = atomic_ops(op, wide)?;
        let cache = self.atomic_cache(access, result.is_some());
        self.atomic(isa, access, uses, &args[1..], wide, result, Extra::Flat { offset: 0, saddr: false, cache })
    }

    // ---- caches

    pub(super) fn load_cache(&self, access: Access) -> CachePolicy {
        let scope = if access.coherent || access.volatile { CacheScope::Device } else { CacheScope::Wave };
        self.isa.cache_policy(CacheAccess::Load, scope, access.nontemporal)
    }

    pub(super) fn store_cache(&self, access: Access) -> CachePolicy {
        let scope = if access.coherent || access.volatile { CacheScope::Device } else { CacheScope::Wave };
        self.isa.cache_policy(CacheAccess::Store, scope, access.nontemporal)
    }

    pub(super) fn atomic_cache(&self, access: Access, returns: bool) -> CachePolicy {
        self.isa.cache_policy(CacheAccess::Atomic { returns }, CacheScope::Device, access.nontemporal)
    }

    // ---- order

    /// Waits for the wave's own accesses, and makes caches forget.
    fn fence(&mut self, scope: Scope, order: FenceOrder, classes: MemoryClasses) {
        if scope == Scope::Subgroup || scope == Scope::Invocation {
            // A wave sees its own accesses in order.
            return self.pseudo(Pseudo::Fence, &[], &[], Extra::None);
        }
        let memory = classes.buffer || classes.image;
        let scalar = WaitCounts::all(Counter::Scalar).at_most(Counter::Lds, 0);
        let both = [Counter::Vector, Counter::Sample, Counter::Ray, Counter::Store];
        let both = both.into_iter().fold(scalar, |all, counter| all.at_most(counter, 0));
        self.wait(if memory { both } else { scalar });
        if !memory {
            return;
        }
        if !matches!(order, FenceOrder::Acquire | FenceOrder::AcqRel) {
            return;
        }
        if self.isa.has(Op::GlobalInv) {
            let extra = Extra::Flat { offset: 0, saddr: false, cache: self.isa.invalidation(reach(scope)) };
            self.isa(Op::GlobalInv, &[], &[], extra);
        } else {
            self.isa(Op::BufferGl0Inv, &[], &[], Extra::None);
            if matches!(scope, Scope::Device | Scope::System) {
                self.isa(Op::BufferGl1Inv, &[], &[], Extra::None);
            }
        }
    }

    fn wait(&mut self, counts: WaitCounts) {
        for inst in self.isa.wait(counts) {
            let Fields::Scalar(ScalarFields { srcs, imm, .. }) = inst.fields else { continue };
            let uses: &[Operand] = if srcs[0].is_some() { &[Operand::fixed(PhysReg::NULL)] } else { &[] };
            self.isa(inst.entry.op, &[], uses, Extra::Imm(imm));
        }
    }
}

/// Whose stores an invalidation is to show.
fn reach(scope: Scope) -> CacheReach {
    match scope {
        Scope::Invocation | Scope::Subgroup | Scope::Workgroup => CacheReach::Workgroup,
        Scope::Device | Scope::System => CacheReach::Device,
    }
}

fn constant_memory() -> Access {
    Access { read_only: true, ..Access::default() }
}

fn vector_access(bytes: u32) -> Result<(u32, Op, Op, Op, Op)> {
    let row = VECTOR_ACCESSES.iter().find(|row| row.0 == bytes);
    row.copied().ok_or_else(|| Error::bug(format!("native: {bytes} bytes at once")))
}

/// Atomics by descriptor and by address.
fn atomic_ops(op: AtomicOp, wide: bool) -> Result<(Op, Op)> {
    use AtomicOp as A;
    let pair = |narrow: (Op, Op), full: (Op, Op)| if wide { full } else { narrow };
    Ok(match op {
        A::Exchange => {
            pair((Op::BufferAtomicSwap, Op::GlobalAtomicSwap), (Op::BufferAtomicSwapX2, Op::GlobalAtomicSwapX2))
        }
        A::CompareExchange => pair(
            (Op::BufferAtomicCmpswap, Op::GlobalAtomicCmpswap),
            (Op::BufferAtomicCmpswapX2, Op::GlobalAtomicCmpswapX2),
        ),
        A::IAdd => pair((Op::BufferAtomicAdd, Op::GlobalAtomicAdd), (Op::BufferAtomicAddX2, Op::GlobalAtomicAddX2)),
        A::ISub => pair((Op::BufferAtomicSub, Op::GlobalAtomicSub), (Op::BufferAtomicSubX2, Op::GlobalAtomicSubX2)),
        A::SMin => pair((Op::BufferAtomicSmin, Op::GlobalAtomicSmin), (Op::BufferAtomicSminX2, Op::GlobalAtomicSminX2)),
        A::UMin => pair((Op::BufferAtomicUmin, Op::GlobalAtomicUmin), (Op::BufferAtomicUminX2, Op::GlobalAtomicUminX2)),
        A::SMax => pair((Op::BufferAtomicSmax, Op::GlobalAtomicSmax), (Op::BufferAtomicSmaxX2, Op::GlobalAtomicSmaxX2)),
        A::UMax => pair((Op::BufferAtomicUmax, Op::GlobalAtomicUmax), (Op::BufferAtomicUmaxX2, Op::GlobalAtomicUmaxX2)),
        A::And => pair((Op::BufferAtomicAnd, Op::GlobalAtomicAnd), (Op::BufferAtomicAndX2, Op::GlobalAtomicAndX2)),
        A::Or => pair((Op::BufferAtomicOr, Op::GlobalAtomicOr), (Op::BufferAtomicOrX2, Op::GlobalAtomicOrX2)),
        A::Xor => pair((Op::BufferAtomicXor, Op::GlobalAtomicXor), (Op::BufferAtomicXorX2, Op::GlobalAtomicXorX2)),
        A::FMin => pair((Op::BufferAtomicFmin, Op::GlobalAtomicFmin), (Op::BufferAtomicFminX2, Op::GlobalAtomicFminX2)),
        A::FMax => pair((Op::BufferAtomicFmax, Op::GlobalAtomicFmax), (Op::BufferAtomicFmaxX2, Op::GlobalAtomicFmaxX2)),
        A::Load | A::Store | A::FAdd => return Err(Error::unsupported(format!("native: atomic {op:?}"), "")),
    })
}

/// The name of an operation, for messages.
fn name_of(op: &IrOp) -> String {
    let text = format!("{op:?}");
    text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}
