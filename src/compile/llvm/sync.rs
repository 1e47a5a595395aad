//! Ordering between invocations, helper lanes, exports, interpolation, link-time values.

use super::ffi;
use super::values::{Cx, Llvm};
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{ExportTarget, FenceOrder, MemoryClasses, Op, Scope, SymbolId, Type, Value};

impl<'c> Cx<'_, 'c> {
    /// An execution barrier. It does not order memory; fences do.
    pub fn barrier(&self, exec: Scope) -> Result<()> {
        match exec {
            Scope::Workgroup => self.call_void("llvm.amdgcn.s.barrier", &[], &[]),
            Scope::Subgroup => self.call_void("llvm.amdgcn.wave.barrier", &[], &[]),
            Scope::Invocation | Scope::Device | Scope::System => Err(Error::bug(format!("a barrier of {exec:?}"))),
        }
    }

    /// A fence. A fence for workgroup memory only is marked as such, so it does not flush caches.
    pub fn fence(&self, scope: Scope, order: FenceOrder, classes: MemoryClasses) -> Result<()> {
        let scope = match scope {
            Scope::Invocation => return Ok(()),
            Scope::Subgroup => "syncscope(\"wavefront\") ",
            Scope::Workgroup => "syncscope(\"workgroup\") ",
            Scope::Device => "syncscope(\"agent\") ",
            Scope::System => "",
        };
        let order = match order {
            FenceOrder::None => return Ok(()),
            FenceOrder::Acquire => "acquire",
            FenceOrder::Release => "release",
            FenceOrder::AcqRel => "acq_rel",
        };
        let MemoryClasses { buffer, image, shared } = classes;
        match (buffer || image, shared) {
            (false, false) => Ok(()),
            (false, true) => {
                let text = format!("fence {scope}{order}, !mmra !0");
                ffi::insert_parsed(self.ctx, self.b, &text, "!0 = !{!\"amdgpu-as\", !\"local\"}")
            }
            (true, _) => ffi::insert_parsed(self.ctx, self.b, &format!("fence {scope}{order}"), ""),
        }
    }

    /// Makes the invocation a helper if true; the intrinsic takes the inverse condition.
    pub fn demote_if(&self, cond: Value) -> Result<()> {
        let keep = self.b.build_not(self.i(cond)?, "").built()?;
        self.call_void("llvm.amdgcn.wqm.demote", &[], &[keep.into()])
    }

    pub fn read_clock(&self, scope: Scope) -> Result<Llvm<'c>> {
        let name = match scope {
            Scope::Device | Scope::System => "llvm.readsteadycounter",
            Scope::Invocation | Scope::Subgroup | Scope::Workgroup => "llvm.readcyclecounter",
        };
        self.call(name, &[], &[])
    }

    /// A 32-bit value that the linker fills in.
    pub fn reloc(&self, symbol: SymbolId) -> Result<Llvm<'c>> {
        let name =
            self.shader.symbols.get(symbol.index()).ok_or_else(|| Error::bug(format!("there is no {symbol}")))?;
        let node = self.ctx.metadata_node(&[self.ctx.metadata_string(name).into()]);
        self.call_mixed("llvm.amdgcn.reloc.constant", &[], &[node.into()])
    }

    pub fn interp(&self, attr: u32, channel: u8, args: &[Value]) -> Result<Llvm<'c>> {
        let (i, j) = (self.float(Self::arg(args, 0)?)?, self.float(Self::arg(args, 1)?)?);
        let mask = self.int(Self::arg(args, 2)?)?;
        let (channel, attr) = (self.c32(u32::from(channel)).into(), self.c32(attr).into());
        let first = self.call("llvm.amdgcn.interp.p1", &[], &[i, channel, attr, mask])?;
        self.call("llvm.amdgcn.interp.p2", &[], &[first, j, channel, attr, mask])
    }

    pub fn interp_mov(&self, attr: u32, channel: u8, vertex: u8, args: &[Value]) -> Result<Llvm<'c>> {
        let imm = |n| self.c32(n).into();
        let mask = self.int(Self::arg(args, 0)?)?;
        let args = [imm(u32::from(vertex)), imm(u32::from(channel)), imm(attr), mask];
        self.call("llvm.amdgcn.interp.mov", &[], &args)
    }

    /// Exports a value; disabled or undefined channels take no register.
    pub fn export(
        &self,
        target: ExportTarget,
        enable: u8,
        compressed: bool,
        (done, valid_mask): (bool, bool),
        args: &[Value],
    ) -> Result<()> {
        let undefined = |v: Value| matches!(self.shader.def(v).map(|i| &i.op), Some(Op::Undef));
        let head = [self.c32(u32::from(target.number())).into(), self.c32(u32::from(enable)).into()];
        let tail: [Llvm<'c>; 2] = [self.cbool(done).into(), self.cbool(valid_mask).into()];
        let mut out: Vec<Llvm<'c>> = head.to_vec();
        let (count, name, data) = if compressed {
            (2, "llvm.amdgcn.exp.compr", self.float_type(Type::vector(dovetail_ir::Bits::B16, 2).unwrap_or(Type::B32))?)
        } else {
            (4, "llvm.amdgcn.exp", self.f32_type().into())
        };
        for n in 0..count {
            let v = Self::arg(args, n)?;
            let bit = if compressed { 3 << (2 * n) } else { 1 << n };
            out.push(if undefined(v) || enable & bit == 0 {
                super::values::poison(data)
            } else {
                self.cast(self.value(v)?, data)?
            });
        }
        out.extend(tail);
        self.call_void(name, &[data], &out)
    }
}
