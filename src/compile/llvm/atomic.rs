//! Read-modify-write operations, by what the hardware offers for the memory: instructions of its own, LLVM's `atomicrmw`, or,
//! where neither knows the operation (float sums on buffers and images of gfx10), a compare-and-swap loop.
//!
//! All are monotonic; order comes from the fences around them.

use super::buffer::{load_policy, store_policy};
use super::ffi::{self, RmwOp};
use super::values::{Cx, Llvm, as_int};
use crate::error::{Error, Result};
use crate::ir::{Access, AtomicOp, Bits, Value};
use inkwell::values::{BasicValue, IntValue, PointerValue};
use inkwell::{AtomicOrdering, IntPredicate};

/// Where an atomic operation of the hardware's own goes.
pub(super) trait AtomicPlace<'c> {
    /// The old value by an instruction: `name` as in intrinsics, `data` with a compare-exchange's comparator second.
    fn operate(&self, cx: &Cx<'_, 'c>, name: &str, data: &[Llvm<'c>]) -> Result<Llvm<'c>>;
    /// The value now, as seen by the device, of `like`'s type.
    fn read(&self, cx: &Cx<'_, 'c>, bits: u32) -> Result<Llvm<'c>>;
}

/// The hardware's operation in intrinsic names.
fn hardware_name(op: AtomicOp, bits: Bits) -> Option<&'static str> {
    use AtomicOp as A;
    Some(match op {
        A::Store | A::Exchange => "swap",
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
        A::FMin if bits == Bits::B32 => "fmin",
        A::FMax if bits == Bits::B32 => "fmax",
        A::FMin | A::FMax | A::FAdd | A::Load => return None,
    })
}

const fn is_float(op: AtomicOp) -> bool {
    matches!(op, AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax)
}

impl<'c> Cx<'_, 'c> {
    /// An atomic on a buffer, texel or image. `data` are the IR operands after the address; `bits` the width.
    pub fn atomic_at(&self, place: &dyn AtomicPlace<'c>, op: AtomicOp, data: &[Value], bits: Bits) -> Result<Llvm<'c>> {
        if !matches!(bits, Bits::B32 | Bits::B64) {
            return Err(Error::unsupported(format!("atomics of {} bits", bits.count()), ""));
        }
        if op == AtomicOp::Load {
            return place.read(self, bits.count());
        }
        if let Some(name) = hardware_name(op, bits) {
            let float = is_float(op);
            let data: Vec<_> =
                data.iter().map(|&v| if float { self.float(v) } else { self.int(v) }).collect::<Result<_>>()?;
            return place.operate(self, name, &data);
        }
        let operand = self.float(Self::arg(data, 0)?)?;
        let int = self.int_bits(bits.count())?;
        let name = match op {
            AtomicOp::FMin => Some("llvm.minnum"),
            AtomicOp::FMax => Some("llvm.maxnum"),
            _ => None,
        };
        self.swap_loop(as_int(self.cast(place.read(self, bits.count())?, int.into())?)?, |old| {
            let value = self.cast(old.into(), operand.get_type())?;
            let new = match name {
                Some(name) => self.call_same(name, &[value, operand])?,
                None => {
                    let sum = self.b.build_float_add(value.into_float_value(), operand.into_float_value(), "")?;
                    sum.into()
                }
            };
            let new = self.cast(new, int.into())?;
            as_int(place.operate(self, "cmpswap", &[new, old.into()])?)
        })
    }

    /// Tries with what memory was last seen to hold until nobody came in between. `attempt` takes the value believed to
    /// be there and returns the one that was.
    fn swap_loop(
        &self,
        first: IntValue<'c>,
        attempt: impl FnOnce(IntValue<'c>) -> Result<IntValue<'c>>,
    ) -> Result<Llvm<'c>> {
        let b = self.b;
        let before = b.get_insert_block().ok_or_else(|| Error::bug("no block to loop in"))?;
        let again = self.ctx.append_basic_block(self.function, "swap");
        let done = self.ctx.append_basic_block(self.function, "swapped");
        b.build_unconditional_branch(again)?;
        b.position_at_end(again);
        let believed = b.build_phi(first.get_type(), "")?;
        let old = believed.as_basic_value().into_int_value();
        let found = attempt(old)?;
        believed.add_incoming(&[(&first as &dyn BasicValue<'c>, before), (&found, again)]);
        let same = b.build_int_compare(IntPredicate::EQ, found, old, "")?;
        b.build_conditional_branch(same, done, again)?;
        b.position_at_end(done);
        Ok(found.into())
    }

    /// An atomic behind a pointer. `data` are the IR operands behind the address, `bits` the width.
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
                let value = self.b.build_load(self.int_bits(bits.count())?, pointer, "")?;
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
                let pair = self.b.build_cmpxchg(
                    pointer,
                    compare,
                    new,
                    AtomicOrdering::Monotonic,
                    AtomicOrdering::Monotonic,
                )?;
                return Ok(self.b.build_extract_value(pair, 0, "")?);
            }
            A::Store | A::Exchange => RmwOp::LLVMAtomicRMWBinOpXchg,
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

/// A dword or two of a buffer.
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

    /// Without conversion, as the atomics do it.
    fn read(&self, cx: &Cx<'_, 'c>, bits: u32) -> Result<Llvm<'c>> {
        let policy = cx.c32(load_policy(Access { coherent: true, ..self.access })).into();
        let zero = cx.c32(0).into();
        let args = [self.descriptor, self.index, zero, zero, policy];
        cx.call("llvm.amdgcn.struct.buffer.load", &[cx.int_bits(bits)?.into()], &args)
    }
}
