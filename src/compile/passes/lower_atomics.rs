//! Expands atomics that the hardware lacks into loops around compare-and-swap.
//!
//! | operation | workgroup memory | by address | buffers, texel buffers, images |
//! | --- | --- | --- | --- |
//! | float sum, 32 bits | stays | loop | loop |
//! | float sum, 64 bits | loop | loop | loop |
//! | float minimum, maximum, 64 bits | stays | stays; loop without [`FamilyFacts::all_float_atomics`] | loop (the hardware could, LLVM 19 does not select it) |
//! | float minimum, maximum, 32 bits | stays | stays | stays; images: loop without [`FamilyFacts::all_float_atomics`] |
//! | store | exchange | exchange | exchange |
//!
//! A loop retries with the last value read until no other access has intervened. All atomics are relaxed; the fences
//! around them order other accesses. Helper lanes must not execute atomics: `lower_helpers` runs first.

use dovetail_base::error::{Error, Result};
use dovetail_base::target::FamilyFacts;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{
    Access, AluOp, AmdOp, AtomicMemory, AtomicOp, Bits, BlockCall, Builder, FpFlags, Inst, Merge, MimgInst, MimgOp, Op,
    Shader, Terminator, Type, Value,
};
use smallvec::SmallVec;

/// Lowers atomics for which a GPU with these numbers has no instruction.
///
/// # Errors
/// None but bugs.
pub fn run(shader: &mut Shader, gpu: &FamilyFacts) -> Result<()> {
    if !shader.has(is_atomic) {
        return Ok(());
    }
    rewrite(shader, |b, inst| {
        if becomes_loop(b.shader, inst, gpu) {
            return swap_loop(b, inst).map(Rewrite::Value);
        }
        let Some(op) = exchange(&inst.op) else { return Ok(Rewrite::Keep) };
        let ty = inst.result.map(|v| b.ty(v));
        let made = b.push(op, inst.args.clone(), ty);
        Ok(b.shader.inst(made).result.map_or(Rewrite::Remove, Rewrite::Value))
    })
}

/// An atomic store as an exchange, which the hardware has.
fn exchange(op: &Op) -> Option<Op> {
    let exchange = AtomicOp::Exchange;
    Some(match *op {
        Op::SharedAtomic(AtomicOp::Store) => Op::SharedAtomic(exchange),
        Op::BufferAtomic { op: AtomicOp::Store, access } => Op::BufferAtomic { op: exchange, access },
        Op::Target(AmdOp::TexelAtomic { op: AtomicOp::Store, access }) => {
            Op::Target(AmdOp::TexelAtomic { op: exchange, access })
        }
        Op::GlobalAtomic { op: AtomicOp::Store, access } => Op::GlobalAtomic { op: exchange, access },
        Op::Target(AmdOp::Mimg(image)) if image.op == MimgOp::Atomic(AtomicOp::Store) => {
            Op::Target(AmdOp::Mimg(MimgInst { op: MimgOp::Atomic(exchange), ..image }))
        }
        _ => return None,
    })
}

/// Whether an operation is an atomic.
pub(super) fn is_atomic(op: &Op) -> bool {
    atomic(op).is_some()
}

/// Whether an instruction is an atomic that becomes a loop.
pub(super) fn becomes_loop(shader: &Shader, inst: &Inst, gpu: &FamilyFacts) -> bool {
    let Some((op, place)) = atomic(&inst.op) else { return false };
    let Some(bits) = inst.args.get(place.first_data()).map(|&v| shader.ty(v).bits()) else { return false };
    let extreme = matches!(op, AtomicOp::FMin | AtomicOp::FMax);
    let rare = match place {
        AtomicPlace::Image(_) => true,
        AtomicPlace::Global(_) => bits == Bits::B64,
        AtomicPlace::Shared | AtomicPlace::Buffer(_) | AtomicPlace::Texel(_) => false,
    };
    let lacks = extreme && rare && !gpu.all_float_atomics;
    op != AtomicOp::Store && (lacks || !op.has_instruction(place.memory(), bits))
}

/// Memory location of an atomic: its instruction without the operator.
#[derive(Clone, Copy)]
enum AtomicPlace {
    Shared,
    Global(Access),
    Buffer(Access),
    Texel(Access),
    Image(MimgInst),
}

fn atomic(op: &Op) -> Option<(AtomicOp, AtomicPlace)> {
    Some(match *op {
        Op::SharedAtomic(op) => (op, AtomicPlace::Shared),
        Op::GlobalAtomic { op, access } => (op, AtomicPlace::Global(access)),
        Op::BufferAtomic { op, access } => (op, AtomicPlace::Buffer(access)),
        Op::Target(AmdOp::TexelAtomic { op, access }) => (op, AtomicPlace::Texel(access)),
        Op::Target(AmdOp::Mimg(image)) => match image.op {
            MimgOp::Atomic(op) => (op, AtomicPlace::Image(image)),
            _ => return None,
        },
        _ => return None,
    })
}

impl AtomicPlace {
    fn memory(self) -> AtomicMemory {
        match self {
            Self::Shared => AtomicMemory::Shared,
            Self::Global(_) => AtomicMemory::Global,
            Self::Buffer(_) | Self::Texel(_) | Self::Image(_) => AtomicMemory::Descriptor,
        }
    }

    /// Index of the first data operand: after the address, except for images.
    fn first_data(self) -> usize {
        match self {
            Self::Shared | Self::Global(_) | Self::Image(_) => 1,
            Self::Buffer(_) | Self::Texel(_) => 2,
        }
    }

    /// Another operation at the same location, with these data; `address` are the other operands.
    fn operate(self, b: &mut Builder<'_>, op: AtomicOp, address: &[Value], data: &[Value], ty: Type) -> Value {
        let what = match self {
            Self::Shared => Op::SharedAtomic(op),
            Self::Global(access) => Op::GlobalAtomic { op, access },
            Self::Buffer(access) => Op::BufferAtomic { op, access: access_of(op, access) },
            Self::Texel(access) => Op::Target(AmdOp::TexelAtomic { op, access: access_of(op, access) }),
            Self::Image(image) if op == AtomicOp::Load => return load_texel(b, image, address, ty),
            Self::Image(image) => Op::Target(AmdOp::Mimg(MimgInst { op: MimgOp::Atomic(op), ..image })),
        };
        let (before, after) = address.split_at(self.first_data().min(address.len()));
        b.value(what, &[before, data, after].concat(), ty)
    }
}

/// The flags of an operation at the same location: helpers may read.
fn access_of(op: AtomicOp, access: Access) -> Access {
    Access { live_only: access.live_only && op != AtomicOp::Load, ..access }
}

/// The current value of an image's texel, as seen by the device.
fn load_texel(b: &mut Builder<'_>, image: MimgInst, address: &[Value], ty: Type) -> Value {
    let (loaded, dmask) = if ty == Type::B64 { (Type::vector(Bits::B32, 2).unwrap_or(ty), 3) } else { (ty, 1) };
    let access = Access { coherent: true, ..access_of(AtomicOp::Load, image.access) };
    let load = MimgInst { op: MimgOp::Load, dmask, tfe: false, access, ..image };
    let texel = b.value(Op::Target(AmdOp::Mimg(load)), address, loaded);
    b.bitcast(texel, ty)
}

fn swap_loop(b: &mut Builder<'_>, inst: &Inst) -> Result<Value> {
    let (op, place) = atomic(&inst.op).ok_or_else(|| Error::bug("a loop around no atomic"))?;
    let combine = match op {
        AtomicOp::FAdd => AluOp::FAdd,
        AtomicOp::FMin => AluOp::FMin,
        AtomicOp::FMax => AluOp::FMax,
        other => return Err(Error::bug(format!("no loop makes an atomic {other:?}"))),
    };
    let mut address: SmallVec<[Value; 8]> = SmallVec::from_slice(&inst.args);
    let data = address.remove(place.first_data());
    let ty = b.ty(data);
    let first = place.operate(b, AtomicOp::Load, &address, &[], ty);
    let (again, done) = (b.new_block(), b.new_block());
    b.jump(again, &[first]);

    b.switch_to(again);
    b.set_merge(Merge::Loop { merge: done, continue_to: again });
    let believed = b.shader.add_param(again, ty);
    let flags = std::mem::replace(&mut b.fp, FpFlags::NO_CONTRACT);
    let new = b.alu(combine, &[believed, data]);
    b.fp = flags;
    let found = place.operate(b, AtomicOp::CompareExchange, &address, &[new, believed], ty);
    let same = b.alu(AluOp::IEq, &[found, believed]);
    let retry = BlockCall { block: again, args: &[found] };
    b.terminate(Terminator::Branch { cond: same, then: BlockCall::to(done), els: retry });

    b.switch_to(done);
    Ok(found)
}
