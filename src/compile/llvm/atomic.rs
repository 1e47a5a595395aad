//! Read-modify-write operations, by what the hardware has for the memory: instructions of its own, or LLVM's
//! `atomicrmw`.
//!
//! `lower_atomics` has already turned operations that neither supports into loops. All operations are monotonic; the
//! fences around them give the order.

use super::buffer::{load_policy, store_policy};
use super::ffi::{self, RmwOp};
use super::values::{Cx, Llvm};
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Access, AtomicOp, Bits, Value};
use inkwell::AtomicOrdering;
use inkwell::values::{BasicValue, PointerValue};

/// Memory location of a hardware atomic.
pub(super) trait AtomicPlace<'c> {
    /// Performs the operation; returns the old value. `name` as in intrinsics; for compare-exchange the comparator is
    /// second in `data`.
    fn operate(&self, cx: &Cx<'_, 'c>, name: &str, data: &[Llvm<'c>]) -> Result<Llvm<'c>>;
    /// Reads the current value of `bits` bits, as seen by the device.
    fn read(&self, cx: &Cx<'_, 'c>, bits: u32) -> Result<Llvm<'c>>;
}

/// The hardware's operation in intrinsic names.
fn hardware_name(op: AtomicOp) -> Option<&'static str> {
    use AtomicOp as A;
    Some(match op {
        A::Exchange => "swap",
        A::CompareExchange => "cmpswap",
        A::IAdd => "add",
        A::ISub => "sub",
        A::SMin => "smin",
        A::UMin => "umin",
        A::SMax => "smax",
        A::UMax => "umax",
        A::And => "and",
        A::Or => "or",
        A::Xor => "xor",
        A::FMin => "fmin",
        A::FMax => "fmax",
        A::Load | A::Store | A::FAdd => return None,
    })
}

const fn is_float(op: AtomicOp) -> bool {
    matches!(op, AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax)
}

impl<'c> Cx<'_, 'c> {
    /// An atomic on a buffer, texel or image. `data` are the IR operands after the address.
    pub fn atomic_at(&self, place: &dyn AtomicPlace<'c>, op: AtomicOp, data: &[Value], bits: Bits) -> Result<Llvm<'c>> {
        if op == AtomicOp::Load {
            return place.read(self, bits.count());
        }
        let name = hardware_name(op).ok_or_else(|| Error::bug(format!("an atomic {op:?} through a descriptor")))?;
        let float = is_float(op);
        let data: Vec<_> =
            data.iter().map(|&v| if float { self.float(v) } else { self.int(v) }).collect::<Result<_>>()?;
        place.operate(self, name, &data)
    }

    /// An atomic through a pointer. `data` are the IR operands after the address, `bits` the width.
    pub fn atomic_pointer(
        &self,
        pointer: PointerValue<'c>,
        op: AtomicOp,
        data: &[Value],
        bits: Bits,
    ) -> Result<Llvm<'c>> {
        use AtomicOp as A;
        let bytes = bits.bytes();
        let rmw = match op {
            A::Load => {
                let value = self.b.build_load(self.int_bits(bits.count())?, pointer, "").built()?;
                if let Some(inst) = value.as_instruction_value() {
                    let fail = |e| Error::bug(format!("atomic load: {e}"));
                    inst.set_alignment(bytes).map_err(fail)?;
                    inst.set_atomic_ordering(AtomicOrdering::Monotonic)
                        .map_err(|e| Error::bug(format!("atomic load: {e}")))?;
                }
                return Ok(value);
            }
            A::CompareExchange => {
                let (new, compare) = (self.i(Self::arg(data, 0)?)?, self.i(Self::arg(data, 1)?)?);
                let pair = self
                    .b
                    .build_cmpxchg(pointer, compare, new, AtomicOrdering::Monotonic, AtomicOrdering::Monotonic)
                    .built()?;
                return self.b.build_extract_value(pair, 0, "").built();
            }
            A::Store => return Err(Error::bug("an atomic store is an exchange")),
            A::Exchange => RmwOp::LLVMAtomicRMWBinOpXchg,
            A::IAdd => RmwOp::LLVMAtomicRMWBinOpAdd,
            A::ISub => RmwOp::LLVMAtomicRMWBinOpSub,
            A::SMin => RmwOp::LLVMAtomicRMWBinOpMin,
            A::UMin => RmwOp::LLVMAtomicRMWBinOpUMin,
            A::SMax => RmwOp::LLVMAtomicRMWBinOpMax,
            A::UMax => RmwOp::LLVMAtomicRMWBinOpUMax,
            A::And => RmwOp::LLVMAtomicRMWBinOpAnd,
            A::Or => RmwOp::LLVMAtomicRMWBinOpOr,
            A::Xor => RmwOp::LLVMAtomicRMWBinOpXor,
            A::FAdd => RmwOp::LLVMAtomicRMWBinOpFAdd,
            A::FMin => RmwOp::LLVMAtomicRMWBinOpFMin,
            A::FMax => RmwOp::LLVMAtomicRMWBinOpFMax,
        };
        let operand = Self::arg(data, 0)?;
        let operand = if is_float(op) { self.float(operand)? } else { self.int(operand)? };
        ffi::atomic_rmw(self.b, rmw, pointer, operand)
    }
}

/// One or two dwords of a buffer.
pub(super) struct BufferPlace<'c> {
    pub descriptor: Llvm<'c>,
    pub offset: Llvm<'c>,
    pub access: Access,
}

impl<'c> AtomicPlace<'c> for BufferPlace<'c> {
    fn operate(&self, cx: &Cx<'_, 'c>, name: &str, data: &[Llvm<'c>]) -> Result<Llvm<'c>> {
        let mut args = data.to_vec();
        let policy = cx.c32(store_policy(self.access)).into();
        args.extend([self.descriptor, self.offset, cx.c32(0).into(), policy]);
        cx.call_same(&format!("llvm.amdgcn.raw.buffer.atomic.{name}"), &args)
    }

    fn read(&self, cx: &Cx<'_, 'c>, bits: u32) -> Result<Llvm<'c>> {
        let policy = cx.c32(load_policy(Access { coherent: true, ..self.access })).into();
        let args = [self.descriptor, self.offset, cx.c32(0).into(), policy];
        cx.call("llvm.amdgcn.raw.atomic.buffer.load", &[cx.int_bits(bits)?.into()], &args)
    }
}

/// A texel of a texel buffer.
pub(super) struct TexelPlace<'c> {
    pub descriptor: Llvm<'c>,
    pub index: Llvm<'c>,
    pub access: Access,
}

impl<'c> AtomicPlace<'c> for TexelPlace<'c> {
    fn operate(&self, cx: &Cx<'_, 'c>, name: &str, data: &[Llvm<'c>]) -> Result<Llvm<'c>> {
        let mut args = data.to_vec();
        let (zero, policy) = (cx.c32(0).into(), cx.c32(store_policy(self.access)).into());
        args.extend([self.descriptor, self.index, zero, zero, policy]);
        cx.call_same(&format!("llvm.amdgcn.struct.buffer.atomic.{name}"), &args)
    }

    /// Without format conversion, as atomics access it.
    fn read(&self, cx: &Cx<'_, 'c>, bits: u32) -> Result<Llvm<'c>> {
        let policy = cx.c32(load_policy(Access { coherent: true, ..self.access })).into();
        let zero = cx.c32(0).into();
        let args = [self.descriptor, self.index, zero, zero, policy];
        cx.call("llvm.amdgcn.struct.buffer.load", &[cx.int_bits(bits)?.into()], &args)
    }
}
