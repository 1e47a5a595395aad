//! Memory accessed through pointers: scratch, constant tables, workgroup memory, global memory, descriptor tables.

use super::ffi;
use super::function::{CONSTANT, GLOBAL};
use super::values::{Cx, Llvm};
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Access, Align, AluOp, ConstTableId, LocalId, Op, Type, Value};
use inkwell::values::{BasicValue, InstructionValue, IntValue, PointerValue};
use inkwell::{AddressSpace, AtomicOrdering};

impl<'c> Cx<'_, 'c> {
    /// `pointer + offset` bytes. Offsets are unsigned; zero-extended to 64 bits if `wide`.
    fn offset_pointer(&self, pointer: PointerValue<'c>, offset: Value, wide: bool) -> Result<PointerValue<'c>> {
        let mut offset = self.i(offset)?;
        if wide {
            offset = self.b.build_int_z_extend(offset, self.ctx.i64_type(), "").built()?;
        }
        ffi::gep(self.b, self.ctx.i8_type().into(), pointer, offset)
    }

    /// A byte offset as a number of dwords, if all its terms are multiples of 4: LLVM keeps an array in registers only
    /// if it is indexed by elements.
    fn dword_index(&self, offset: Value) -> Result<Option<IntValue<'c>>> {
        if let Some(k) = self.shader.as_const(offset) {
            return Ok(k.is_multiple_of(4).then(|| self.c32((k / 4) as u32)));
        }
        let Some(inst) = self.shader.def(offset) else { return Ok(None) };
        let Op::Alu(op, _) = inst.op else { return Ok(None) };
        let &[x, y] = &inst.args[..] else { return Ok(None) };
        let constant = self.shader.as_const(y);
        Ok(match (op, constant) {
            (AluOp::IAdd, _) => match (self.dword_index(x)?, self.dword_index(y)?) {
                (Some(x), Some(y)) => Some(self.b.build_int_add(x, y, "").built()?),
                _ => None,
            },
            (AluOp::IMul, Some(k)) if k.is_multiple_of(4) => {
                Some(self.b.build_int_mul(self.i(x)?, self.c32((k / 4) as u32), "").built()?)
            }
            (AluOp::Shl, Some(k @ 2..32)) => {
                Some(self.b.build_left_shift(self.i(x)?, self.c32(k as u32 - 2), "").built()?)
            }
            _ => None,
        })
    }

    fn local_pointer(&self, local: LocalId, offset: Value) -> Result<PointerValue<'c>> {
        let pointer = *self.locals.get(local.index()).ok_or_else(|| Error::bug(format!("there is no {local}")))?;
        match self.dword_index(offset)? {
            Some(index) => ffi::gep(self.b, self.i32_type().into(), pointer, index),
            None => self.offset_pointer(pointer, offset, false),
        }
    }

    fn shared_pointer(&self, offset: Value) -> Result<PointerValue<'c>> {
        let lds = self.shared.ok_or_else(|| Error::bug("workgroup memory of no bytes"))?;
        self.offset_pointer(lds, offset, false)
    }

    /// A 64-bit address as a pointer.
    fn pointer(&self, address: Value, space: u16) -> Result<PointerValue<'c>> {
        let ty = self.ctx.ptr_type(AddressSpace::from(space));
        self.b.build_int_to_ptr(self.i(address)?, ty, "").built()
    }

    fn load(&self, pointer: PointerValue<'c>, align: Align, access: Access, ty: Type) -> Result<Llvm<'c>> {
        let value = self.b.build_load(self.int_type(ty)?, pointer, "").built()?;
        if let Some(inst) = value.as_instruction_value() {
            self.qualify(inst, align, access, ty)?;
            if access.read_only && !access.volatile && !access.coherent {
                self.mark(inst, "invariant.load", &[])?;
            }
        }
        Ok(value)
    }

    fn store(&self, pointer: PointerValue<'c>, value: Value, align: Align, access: Access) -> Result<()> {
        let inst = self.b.build_store(pointer, self.int(value)?).built()?;
        self.qualify(inst, align, access, self.shader.ty(value))
    }

    /// Sets alignment, coherence and so on. A coherent access becomes atomic if an atomic access of its size exists;
    /// otherwise it becomes volatile, which bypasses the same caches.
    fn qualify(&self, inst: InstructionValue<'c>, align: Align, access: Access, memory: Type) -> Result<()> {
        let bytes = memory.bytes();
        let fail = |e| Error::bug(format!("memory access: {e}"));
        inst.set_alignment(align.bytes()).map_err(fail)?;
        let atomic = memory.is_scalar() && align.bytes() >= bytes;
        if access.coherent && atomic {
            inst.set_atomic_ordering(AtomicOrdering::Monotonic)
                .map_err(|e| Error::bug(format!("memory order: {e}")))?;
        }
        inst.set_volatile(access.volatile || access.coherent && !atomic).map_err(fail)?;
        if access.nontemporal {
            self.mark(inst, "nontemporal", &[self.c32(1)])?;
        }
        Ok(())
    }

    fn mark(&self, inst: InstructionValue<'c>, kind: &str, operands: &[IntValue<'c>]) -> Result<()> {
        let operands: Vec<_> = operands.iter().map(|&n| n.into()).collect();
        let node = self.ctx.metadata_node(&operands);
        inst.set_metadata(node, self.ctx.get_kind_id(kind)).map_err(|e| Error::bug(format!("{kind}: {e}")))
    }

    pub fn local_load(&self, local: LocalId, align: Align, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        let pointer = self.local_pointer(local, Self::arg(args, 0)?)?;
        self.load(pointer, align, Access::default(), ty)
    }

    pub fn local_store(&self, local: LocalId, align: Align, args: &[Value]) -> Result<()> {
        let pointer = self.local_pointer(local, Self::arg(args, 0)?)?;
        self.store(pointer, Self::arg(args, 1)?, align, Access::default())
    }

    pub fn const_load(&self, table: ConstTableId, align: Align, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        let base = *self.tables.get(table.index()).ok_or_else(|| Error::bug(format!("there is no {table}")))?;
        let pointer = self.offset_pointer(base, Self::arg(args, 0)?, true)?;
        self.load(pointer, align, Access { read_only: true, ..Access::default() }, ty)
    }

    pub fn shared_load(&self, align: Align, access: Access, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        self.load(self.shared_pointer(Self::arg(args, 0)?)?, align, in_workgroup(access), ty)
    }

    pub fn shared_store(&self, align: Align, access: Access, args: &[Value]) -> Result<()> {
        self.store(self.shared_pointer(Self::arg(args, 0)?)?, Self::arg(args, 1)?, align, in_workgroup(access))
    }

    pub fn shared_atomic_pointer(&self, args: &[Value]) -> Result<PointerValue<'c>> {
        self.shared_pointer(Self::arg(args, 0)?)
    }

    pub fn global_load(&self, align: Align, access: Access, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        self.load(self.pointer(Self::arg(args, 0)?, GLOBAL)?, align, access, ty)
    }

    pub fn global_store(&self, align: Align, access: Access, args: &[Value]) -> Result<()> {
        self.store(self.pointer(Self::arg(args, 0)?, GLOBAL)?, Self::arg(args, 1)?, align, access)
    }

    pub fn global_atomic_pointer(&self, args: &[Value]) -> Result<PointerValue<'c>> {
        self.pointer(Self::arg(args, 0)?, GLOBAL)
    }

    /// A load that may be moved anywhere, from memory that nothing writes; scalar if the address is uniform.
    pub fn table_load(&self, align: Align, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        let pointer = self.pointer(Self::arg(args, 0)?, CONSTANT)?;
        let pointer = self.offset_pointer(pointer, Self::arg(args, 1)?, true)?;
        self.load(pointer, align, Access { read_only: true, ..Access::default() }, ty)
    }
}

/// Workgroup memory has no caches, so only `volatile` has an effect.
fn in_workgroup(access: Access) -> Access {
    Access { volatile: access.volatile, ..Access::default() }
}
