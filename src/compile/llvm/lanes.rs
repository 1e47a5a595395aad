//! Cross-lane operations, and the cube-map helpers.
//!
//! Lane-moving instructions are 32 bits wide; the passes split wider values.

use super::values::{Cx, Llvm, as_int, as_vector};
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{LaneOp, Type, Value};
use inkwell::IntPredicate;
use inkwell::values::IntValue;

impl<'c> Cx<'_, 'c> {
    /// Translates one lane or cube primitive.
    pub fn amd(&self, op: LaneOp, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        let arg = |n| Self::arg(args, n);
        let int = |n| self.dword(arg(n)?);
        let i32t = self.i32_type().into();
        match op {
            LaneOp::ReadFirstLane => self.read_first_lane(arg(0)?),
            LaneOp::ReadLane => self.call("llvm.amdgcn.readlane", &[i32t], &[int(0)?, int(1)?]),
            LaneOp::WriteLane => self.call("llvm.amdgcn.writelane", &[i32t], &[int(0)?, int(1)?, int(2)?]),
            LaneOp::Ballot => self.ballot(arg(0)?, ty),
            LaneOp::MaskBitCount => self.mask_bit_count(arg(0)?),
            LaneOp::Dpp { ctrl, row_mask, bank_mask, bound_zero } => {
                let imm = |n: u32| self.c32(n).into();
                let (row, bank) = (imm(u32::from(row_mask)), imm(u32::from(bank_mask)));
                let args = [int(0)?, int(1)?, imm(u32::from(ctrl)), row, bank, self.cbool(bound_zero).into()];
                self.call("llvm.amdgcn.update.dpp", &[i32t], &args)
            }
            LaneOp::PermlaneX16 { low, high, fetch_inactive } => {
                let (low, high) = (self.c32(low).into(), self.c32(high).into());
                let args = [int(0)?, int(1)?, low, high, self.cbool(fetch_inactive).into(), self.cbool(false).into()];
                self.call("llvm.amdgcn.permlanex16", &[i32t], &args)
            }
            LaneOp::BPermute => self.call("llvm.amdgcn.ds.bpermute", &[], &[int(0)?, int(1)?]),
            LaneOp::SetInactive => self.call("llvm.amdgcn.set.inactive", &[i32t], &[int(0)?, int(1)?]),
            LaneOp::StrictWwm => self.call("llvm.amdgcn.strict.wwm", &[i32t], &[int(0)?]),
            LaneOp::Wqm => self.call("llvm.amdgcn.wqm", &[i32t], &[int(0)?]),
            LaneOp::LiveMask => self.call("llvm.amdgcn.live.mask", &[], &[]),
            LaneOp::CubeId => self.cube("llvm.amdgcn.cubeid", args),
            LaneOp::CubeS => self.cube("llvm.amdgcn.cubesc", args),
            LaneOp::CubeT => self.cube("llvm.amdgcn.cubetc", args),
            LaneOp::CubeMa => self.cube("llvm.amdgcn.cubema", args),
        }
    }

    fn dword(&self, v: Value) -> Result<Llvm<'c>> {
        if self.shader.ty(v) != Type::B32 {
            return Err(Error::bug(format!("a lane operation on {}", self.shader.ty(v))));
        }
        self.int(v)
    }

    /// Processes a vector by component, and narrow values as 32 bits.
    fn read_first_lane(&self, v: Value) -> Result<Llvm<'c>> {
        let bits = self.shader.ty(v).bits();
        let mut parts = Vec::new();
        for lane in self.lanes(self.int(v)?)? {
            let wide = self.widen(as_int(lane)?)?;
            let first = as_int(self.call_same("llvm.amdgcn.readfirstlane", &[wide.into()])?)?;
            parts.push(self.narrow(first, bits.count())?.into());
        }
        self.gather(&parts)
    }

    /// The same value, through a register of an assembly statement without instructions: a condition in a vector register, numbers
    /// in scalar ones, where LLVM knows that they are the same for the wave.
    pub fn opaque(&self, v: Value) -> Result<Llvm<'c>> {
        let ty = self.shader.ty(v);
        if ty == Type::B1 {
            let number = self.b.build_int_z_extend(self.i(v)?, self.i32_type(), "").built()?;
            let number = as_int(self.through(number, "=v,0")?)?;
            return Ok(self.b.build_int_compare(IntPredicate::NE, number, self.c32(0), "").built()?.into());
        }
        let words = self.lanes(self.to_dwords(v)?)?;
        let hidden = words.into_iter().map(|word| self.through(as_int(word)?, "=s,0"));
        self.of_dwords(self.gather(&hidden.collect::<Result<Vec<_>>>()?)?, ty)
    }

    fn through(&self, word: IntValue<'c>, registers: &str) -> Result<Llvm<'c>> {
        let shape = word.get_type().fn_type(&[word.get_type().into()], false);
        let asm = self.ctx.create_inline_asm(shape, String::new(), registers.into(), false, false, None, false);
        let call = self.b.build_indirect_call(shape, asm, &[word.into()], "").built()?;
        call.try_as_basic_value().basic().ok_or_else(|| Error::bug("an assembly statement without its result"))
    }

    /// The mask must have the wave's own width, the only one that LLVM accepts.
    fn ballot(&self, v: Value, mask: Type) -> Result<Llvm<'c>> {
        self.call("llvm.amdgcn.ballot", &[self.int_type(mask)?], &[self.i(v)?.into()])
    }

    fn mask_bit_count(&self, v: Value) -> Result<Llvm<'c>> {
        let zero = self.c32(0).into();
        if self.shader.ty(v) == Type::B32 {
            return self.call("llvm.amdgcn.mbcnt.lo", &[], &[self.int(v)?, zero]);
        }
        let halves = as_vector(self.cast(self.int(v)?, self.i32_vector(2))?)?;
        let low = self.call("llvm.amdgcn.mbcnt.lo", &[], &[self.lane(halves, 0)?, zero])?;
        self.call("llvm.amdgcn.mbcnt.hi", &[], &[self.lane(halves, 1)?, low])
    }

    fn cube(&self, name: &str, args: &[Value]) -> Result<Llvm<'c>> {
        let xyz: Vec<_> = args.iter().map(|&v| self.float(v)).collect::<Result<_>>()?;
        self.call(name, &[], &xyz)
    }
}
