//! A piece of machine code, and the recorder that writes it and notes which registers it touches.

use crate::error::{Error, Result};
use crate::isa::{self, Inst, Op, Scalar, Sgpr, Src, Vgpr};
use crate::target::GfxIp;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Where a piece goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attach {
    /// Before its body, and goes on into it.
    Before,
    /// After its body, and ends the program.
    After,
    /// It is the whole stage.
    Alone,
}

/// A prolog or epilog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GluePiece {
    /// Machine code, whole dwords.
    pub code: Vec<u8>,
    /// Name of its first instruction.
    pub symbol: Cow<'static, str>,
    /// Where it goes.
    pub attach: Attach,
    /// SGPRs it uses: the highest + 1.
    pub sgprs: u32,
    /// VGPRs it uses: the highest + 1.
    pub vgprs: u32,
}

/// Instructions on their way to becoming a piece.
#[derive(Default)]
pub(super) struct Recorder {
    insts: Vec<Inst>,
    sgprs: u32,
    vgprs: u32,
}

impl Recorder {
    pub(super) fn push(&mut self, inst: Inst) {
        self.insts.push(inst);
    }

    /// A register of this number, noted as used.
    pub(super) fn vgpr(&mut self, number: u32) -> Result<Vgpr> {
        let register = u8::try_from(number).map_err(|_| Error::malformed(format!("no VGPR {number}")))?;
        self.vgprs = self.vgprs.max(number + 1);
        Ok(Vgpr(register))
    }

    /// The first of `count` registers, noted as used.
    pub(super) fn sgprs(&mut self, first: u32, count: u32) -> Result<Sgpr> {
        let register = u8::try_from(first).ok().and_then(Sgpr::new);
        let register = register.ok_or_else(|| Error::malformed(format!("no SGPR {first}")))?;
        self.sgprs = self.sgprs.max(first + count);
        Ok(register)
    }

    pub(super) fn mov(&mut self, dst: Vgpr, src: impl Into<Src>) {
        self.push(Inst::Vop1 { op: Op::VMovB32, dst, src: src.into() });
    }

    pub(super) fn smov(&mut self, dst: Sgpr, src: impl Into<Src>) {
        self.push(Inst::Sop1 { op: Op::SMovB32, dst: Scalar::Sgpr(dst), src: Some(src.into()) });
    }

    pub(super) fn vop2(&mut self, op: Op, dst: Vgpr, a: impl Into<Src>, b: impl Into<Src>) {
        self.push(Inst::Vop2 { op, dst, srcs: [a.into(), b.into()] });
    }

    pub(super) fn vop3(&mut self, op: Op, dst: Vgpr, a: impl Into<Src>, b: impl Into<Src>, c: impl Into<Src>) {
        self.push(Inst::Vop3 { op, dst, srcs: [a.into(), b.into(), c.into()] });
    }

    pub(super) fn end_program(&mut self) {
        self.push(Inst::Sopp { op: Op::SEndpgm, imm: 0 });
    }

    pub(super) fn finish(self, gfx: GfxIp, symbol: &'static str, attach: Attach) -> Result<GluePiece> {
        let code = isa::encode_all(gfx, &self.insts)?;
        Ok(GluePiece { code, symbol: Cow::Borrowed(symbol), attach, sgprs: self.sgprs, vgprs: self.vgprs })
    }
}
