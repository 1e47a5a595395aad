//! Constructors of instructions, for code writers.
//!
//! They fill in what follows from the operation and its operands: the shortest form, and VCC where a form has no other
//! mask. Set the other fields (modifiers, DPP, cache policy) in the result; `encode` checks all of it.

use super::instruction::*;
use super::{ExpSources, ExpTarget, Format, Op, OpcodeRow, OperandKind, Scalar, Sgpr, Src, Traits, Vgpr};
use crate::Isa;
use dovetail_base::error::{Error, Result};

impl Instruction {
    /// An operation with these operands.
    pub fn new(isa: &'static Isa, op: Op, fields: Fields) -> Self {
        Self { entry: isa.row(op), fields }
    }

    /// SOPP: program control with its constant.
    pub fn program(isa: &'static Isa, op: Op, imm: u16) -> Self {
        Self::new(isa, op, Fields::Scalar(ScalarFields { dst: None, srcs: [None; 3], imm }))
    }

    /// SOP1, SOP2, SOPC.
    pub fn scalar(isa: &'static Isa, op: Op, dst: Option<Scalar>, srcs: &[Src]) -> Self {
        let srcs = [0, 1, 2].map(|i| srcs.get(i).copied());
        Self::new(isa, op, Fields::Scalar(ScalarFields { dst, srcs, imm: 0 }))
    }

    /// SOPK: a register that is written or read, and a constant.
    pub fn scalar_constant(isa: &'static Isa, op: Op, register: Scalar, imm: u16) -> Self {
        let entry = isa.row(op);
        let dst = (!entry.dst.is_empty()).then_some(register);
        let src = (!entry.src.is_empty()).then_some(Src::Scalar(register));
        Self { entry, fields: Fields::Scalar(ScalarFields { dst, srcs: [src, None, None], imm }) }
    }

    /// SMEM: registers from an address or through a descriptor.
    pub fn scalar_load(isa: &'static Isa, op: Op, data: Sgpr, base: Sgpr, offset: i32) -> Self {
        let (data, base) = (Scalar::Sgpr(data), Scalar::Sgpr(base));
        Self::new(
            isa,
            op,
            Fields::Smem(SmemFields { data, base, offset, soffset: None, cache: CachePolicy::default() }),
        )
    }

    /// VOP1, VOP2, VOPC, VOP3, VOP3P in the shortest form that takes these operands.
    pub fn vector(isa: &'static Isa, op: Op, dst: impl Into<Option<VectorDst>>, srcs: &[Src]) -> Self {
        let entry = isa.row(op);
        let mut srcs = [0, 1, 2].map(|i| srcs.get(i).copied());
        if srcs[2].is_none() && entry.src_kind(2) == OperandKind::Mask {
            srcs[2] = Some(Src::Scalar(Scalar::VccLo));
        }
        let halves = entry.format == Format::Vop3p && !entry.is(Traits::MIX);
        let mut fields = VectorFields {
            dst: dst.into(),
            mask: entry.has_mask_result().then_some(Scalar::VccLo),
            srcs,
            mods: Modifiers { op_sel_hi: if halves { 7 } else { 0 }, ..Modifiers::default() },
            form: VectorForm::Short,
        };
        if !fits_short(entry, &fields) {
            fields.form = VectorForm::Long;
        }
        Self { entry, fields: Fields::Vector(fields) }
    }

    /// EXP.
    ///
    /// # Errors
    /// A bug of the caller: the target does not exist.
    pub fn export(isa: &'static Isa, target: ExpTarget, sources: ExpSources, done: bool, vm: bool) -> Result<Self> {
        let number = target.number().ok_or_else(|| Error::bug(format!("no export target {target}")))?;
        let (list, width, compr) = match sources {
            ExpSources::Full(list) => (list, 1, false),
            // Each dword holds two channels.
            ExpSources::Packed([a, b]) => ([a, b, None, None], 2, true),
        };
        let mask = (1u8 << width) - 1;
        let enabled = (0u8..4).zip(list).filter(|(_, v)| v.is_some()).fold(0, |all, (i, _)| all | mask << (width * i));
        let data = list.map(|v| v.unwrap_or(Vgpr(0)));
        let fields = ExportFields { target: number, enabled, data, compr, done, vm, row: false };
        Ok(Self::new(isa, Op::Exp, Fields::Export(fields)))
    }
}

/// Whether the one-dword form takes these operands.
fn fits_short(entry: &OpcodeRow, f: &VectorFields) -> bool {
    let vcc = Scalar::VccLo;
    let sources = (0..).zip(f.srcs).all(|(i, src)| match src {
        Some(src) if entry.src_kind(i) == OperandKind::Mask => src == Src::Scalar(vcc),
        Some(src) => entry.vector_source(&VectorForm::Short, i).accepts(src),
        None => true,
    });
    let compares = entry.format == Format::Vopc && !entry.dst.is_empty();
    entry.has_form(&VectorForm::Short)
        && sources
        && (!compares || f.dst == Some(VectorDst::Scalar(vcc)))
        && f.mask.is_none_or(|mask| mask == vcc)
}

impl From<Vgpr> for Option<VectorDst> {
    fn from(v: Vgpr) -> Self {
        Some(VectorDst::Vgpr(v))
    }
}

impl From<Scalar> for Option<VectorDst> {
    fn from(s: Scalar) -> Self {
        Some(VectorDst::Scalar(s))
    }
}
