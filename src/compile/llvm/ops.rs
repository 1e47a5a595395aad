//! Dispatches each instruction to the module that translates it.

use super::atomic::{BufferPlace, TexelPlace};
use super::values::{Cx, Llvm};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AmdOp, AtomicOp, Inst, InstId, Op, Type, Value};

impl<'c> Cx<'_, 'c> {
    /// Translates one instruction and records its result.
    pub fn inst(&mut self, id: InstId) -> Result<()> {
        let inst = self.shader.inst(id);
        let made = self.translate(inst)?;
        if let Some(result) = inst.result {
            let value = made.ok_or_else(|| Error::bug("an operation without a result has one in the IR"))?;
            self.values[result.index()] = Some(value);
        }
        Ok(())
    }

    fn translate(&self, inst: &Inst) -> Result<Option<Llvm<'c>>> {
        let args = &inst.args[..];
        let result = inst.result.map(|v| self.shader.ty(v));
        let ty = || result.ok_or_else(|| Error::bug("an operation's result is not in the IR"));
        Ok(match &inst.op {
            Op::Const(bits) => Some(self.constant(*bits, ty()?)?),
            Op::Undef => Some(self.freeze(super::values::poison(self.int_type(ty()?)?))?),
            Op::Alu(op, flags) => Some(self.alu(*op, *flags, inst, ty()?)?),
            Op::Compose => Some(self.compose(args)?),
            Op::Extract(lane) => Some(self.extract(args, u32::from(*lane))?),
            Op::Bitcast => Some(self.cast(self.int(Self::arg(args, 0)?)?, self.int_type(ty()?)?)?),

            Op::LocalLoad { local, align } => Some(self.local_load(*local, *align, args, ty()?)?),
            Op::LocalStore { local, align } => nothing(self.local_store(*local, *align, args))?,
            Op::ConstLoad { table, align } => Some(self.const_load(*table, *align, args, ty()?)?),
            Op::SharedLoad { align, access } => Some(self.shared_load(*align, *access, args, ty()?)?),
            Op::SharedStore { align, access } => nothing(self.shared_store(*align, *access, args))?,
            Op::SharedAtomic(op) => {
                let bits = self.atomic_type(*op, args, 1, result)?.bits();
                let data = args.get(1..).unwrap_or_default();
                Some(self.atomic_pointer(self.shared_atomic_pointer(args)?, *op, data, bits)?)
            }
            Op::BufferLoad { kind, align: _, access } => Some(self.buffer_load(*kind, *access, args, ty()?)?),
            Op::BufferStore { align: _, access } => nothing(self.buffer_store(*access, args))?,
            Op::BufferAtomic { op, access } => {
                let (descriptor, offset) = (self.int(Self::arg(args, 0)?)?, self.int(Self::arg(args, 1)?)?);
                let place = BufferPlace { descriptor, offset, access: *access };
                let bits = self.atomic_type(*op, args, 2, result)?.bits();
                Some(self.atomic_at(&place, *op, args.get(2..).unwrap_or_default(), bits)?)
            }
            Op::GlobalLoad { align, access } => Some(self.global_load(*align, *access, args, ty()?)?),
            Op::GlobalStore { align, access } => nothing(self.global_store(*align, *access, args))?,
            Op::GlobalAtomic { op, access: _ } => {
                let bits = self.atomic_type(*op, args, 1, result)?.bits();
                let data = args.get(1..).unwrap_or_default();
                Some(self.atomic_pointer(self.global_atomic_pointer(args)?, *op, data, bits)?)
            }
            Op::Target(AmdOp::TableLoad { align }) => Some(self.table_load(*align, args, ty()?)?),
            Op::Target(AmdOp::TexelLoad { sparse: true, .. }) => {
                return Err(Error::unsupported("LLVM: residency of texel buffers", ""));
            }
            Op::Target(AmdOp::TexelLoad { access, .. }) => Some(self.texel_load(*access, args, ty()?)?),
            Op::Target(AmdOp::TexelStore { access }) => nothing(self.texel_store(*access, args))?,
            Op::Target(AmdOp::TexelAtomic { op, access }) => {
                let (descriptor, index) = (self.int(Self::arg(args, 0)?)?, self.int(Self::arg(args, 1)?)?);
                let place = TexelPlace { descriptor, index, access: *access };
                let bits = self.atomic_type(*op, args, 2, result)?.bits();
                Some(self.atomic_at(&place, *op, args.get(2..).unwrap_or_default(), bits)?)
            }
            Op::Target(AmdOp::TypedLoad { format, offset }) => Some(self.typed_load(*format, *offset, args, ty()?)?),
            Op::Target(AmdOp::Mimg(mimg)) => self.mimg(mimg, args, result)?,

            Op::Barrier { exec, .. } => nothing(self.barrier(*exec))?,
            Op::Fence { scope, order, classes } => nothing(self.fence(*scope, *order, *classes))?,
            Op::DemoteIf => nothing(self.demote_if(Self::arg(args, 0)?))?,
            // LLVM looks after every demotion.
            Op::EndIfDead => None,
            // Only what `blocks` makes of it counts.
            Op::LoopToken => Some(self.c32(0).into()),
            Op::StayInLoop => None,
            Op::ReadClock(scope) => Some(self.read_clock(*scope)?),
            Op::Reloc(symbol) => Some(self.reloc(*symbol)?),
            Op::Opaque => Some(self.opaque(Self::arg(args, 0)?)?),
            Op::Target(AmdOp::AddressHigh) => {
                let high = self.address_high.ok_or_else(|| Error::bug("the code's address was not taken"))?;
                Some(high.into())
            }
            Op::Target(AmdOp::WorkgroupIds(_)) => {
                return Err(Error::unsupported("LLVM", "workgroup ids in registers apart"));
            }
            Op::Target(AmdOp::Interp { attr, channel }) => Some(self.interp(*attr, *channel, args)?),
            Op::Target(AmdOp::InterpMov { attr, channel, vertex }) => {
                Some(self.interp_mov(*attr, *channel, *vertex, args)?)
            }
            Op::Target(AmdOp::Export { target, enable, compressed, done, valid_mask }) => {
                nothing(self.export(*target, *enable, *compressed, (*done, *valid_mask), args))?
            }
            Op::Target(AmdOp::Lane(op)) => Some(self.amd(*op, args, ty()?)?),

            Op::Descriptor { .. }
            | Op::PushConstant { .. }
            | Op::LoadInput { .. }
            | Op::LoadBuiltIn { .. }
            | Op::StoreOutput { .. }
            | Op::BufferSize
            | Op::IsHelper
            | Op::Within(_)
            | Op::Image(_)
            | Op::Subgroup(_)
            | Op::Derivative(_) => {
                return Err(Error::bug(format!("an operation of the upper level was not lowered: {:?}", inst.op)));
            }
        })
    }

    fn constant(&self, bits: u64, ty: Type) -> Result<Llvm<'c>> {
        if !ty.is_scalar() {
            return Err(Error::bug(format!("a constant of type {ty}")));
        }
        Ok(self.int_bits(ty.bits().count())?.const_int(bits & ty.bits().mask(), false).into())
    }

    /// Composes a vector, of floats if its first lane is held as a float.
    fn compose(&self, args: &[Value]) -> Result<Llvm<'c>> {
        let float = self.is_float(Self::arg(args, 0)?)?;
        let parts: Vec<_> =
            args.iter().map(|&v| if float { self.float(v) } else { self.int(v) }).collect::<Result<_>>()?;
        self.gather(&parts)
    }

    fn extract(&self, args: &[Value], lane: u32) -> Result<Llvm<'c>> {
        match self.value(Self::arg(args, 0)?)? {
            Llvm::VectorValue(v) if lane < v.get_type().get_size() => self.lane(v, lane),
            other => Err(Error::bug(format!("lane {lane} of a {}", other.get_type()))),
        }
    }

    /// The type on which an atomic works: that of its data, or of the result of a plain read.
    fn atomic_type(&self, op: AtomicOp, args: &[Value], data: usize, result: Option<Type>) -> Result<Type> {
        match op {
            AtomicOp::Load => result.ok_or_else(|| Error::bug("an atomic load without a result")),
            _ => Ok(self.shader.ty(Self::arg(args, data)?)),
        }
    }
}

/// Converts to no value.
fn nothing<'c>(done: Result<()>) -> Result<Option<Llvm<'c>>> {
    done.map(|()| None)
}
