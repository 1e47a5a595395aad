//! Scalar and vector arithmetic, and interpolation.

use super::operands::{Operands, wrong_extra};
use crate::mir::{Extra, MachineInst};
use dovetail_base::error::{Error, Result};
use dovetail_isa::instruction::{
    Fields, Instruction, InterpFields, Modifiers, ScalarFields, VectorDst, VectorFields, VectorForm,
};
use dovetail_isa::{Format, Isa, Latency, Op, OpcodeRow, OperandKind, Src, Traits};

/// Wait of LDSDIR for vector arithmetic, and of VINTERP for exports and parameter loads, that waits for nothing.
const MOST_OUTSTANDING: u8 = 15;
const ANY_EXPORTS: u8 = 7;

/// SOP1, SOP2, SOPC, SOPK, SOPP.
pub(super) fn scalar(
    entry: &'static OpcodeRow,
    inst: &MachineInst,
    operands: &mut Operands<'_>,
) -> Result<Instruction> {
    if entry.is(Traits::BRANCH.or(Traits::JUMPS)) {
        return Err(Error::bug("a branch that no block ends with"));
    }
    let dst = if entry.dst.is_empty() { None } else { Some(operands.def_scalar()?) };
    let mut srcs = [None; 3];
    for (i, (src, kind)) in srcs.iter_mut().zip(entry.src).enumerate() {
        *src = Some(operands.source(*kind, entry.scalar_source(i))?);
    }
    let imm = match inst.extra {
        Extra::None | Extra::ForRootBuffers => 0,
        Extra::Imm(imm) => imm,
        _ => return Err(wrong_extra(inst)),
    };
    Ok(Instruction { entry, fields: Fields::Scalar(ScalarFields { dst, srcs, imm }) })
}

/// VOP1, VOP2, VOPC, VOP3, VOP3P: the shortest form that supports the operands and modifiers.
pub(super) fn vector(
    isa: &'static Isa,
    op: Op,
    inst: &MachineInst,
    operands: &mut Operands<'_>,
) -> Result<Instruction> {
    let entry = isa.row(op);
    let dst = match entry.dst.first() {
        None => None,
        Some(OperandKind::Mask) => Some(VectorDst::Scalar(operands.def_scalar()?)),
        Some(_) if entry.is(Traits::SCALAR_RESULT) => Some(VectorDst::Scalar(operands.def_scalar()?)),
        Some(_) => Some(VectorDst::Vgpr(operands.def_vgpr()?)),
    };
    let mask = if entry.has_mask_result() { Some(operands.def_scalar()?) } else { None };
    let mut list = [Src::Int(0); 3];
    let count = entry.src.len().min(list.len());
    for (i, src) in list.iter_mut().take(count).enumerate() {
        // The form is not yet known; the long form supports the most.
        *src = operands.source(entry.src_kind(i), entry.vector_source(&VectorForm::Long, i))?;
    }
    let mut out = Instruction::vector(isa, op, dst, &list[..count]);
    let Fields::Vector(fields) = &mut out.fields else { return Err(Error::bug("a vector operation without fields")) };
    if mask.is_some() && mask != fields.mask {
        fields.mask = mask;
        fields.form = VectorForm::Long;
    }
    set_form(inst, fields)?;
    Ok(out)
}

fn set_form(inst: &MachineInst, fields: &mut VectorFields) -> Result<()> {
    match inst.extra {
        Extra::None => {}
        Extra::Vector(mods) => {
            fields.mods = mods;
            if fields.form == VectorForm::Short && mods != Modifiers::default() {
                fields.form = VectorForm::Long;
            }
        }
        Extra::Dpp(dpp) => fields.form = VectorForm::Dpp16(dpp),
        Extra::Sdwa(sdwa, mods) => (fields.form, fields.mods) = (VectorForm::Sdwa(sdwa), mods),
        _ => return Err(wrong_extra(inst)),
    }
    Ok(())
}

/// `v_interp_*`.
pub(super) fn interp(
    entry: &'static OpcodeRow,
    inst: &MachineInst,
    operands: &mut Operands<'_>,
) -> Result<Instruction> {
    let Extra::Interp { attr, channel, vertex } = inst.extra else { return Err(wrong_extra(inst)) };
    let dst = operands.def_vgpr()?;
    let moves = matches!(entry.op, Op::VInterpMovF32 | Op::VInterpMovF32E64);
    let src = if moves { Src::Int(i8::try_from(vertex).unwrap_or(-1)) } else { Src::Vgpr(operands.vgpr()?) };
    let addend = if entry.src.len() > 1 { Some(Src::Vgpr(operands.vgpr()?)) } else { None };
    let mods = Modifiers::default();
    let fields = InterpFields { dst, src, addend, attribute: attr, channel, high: false, mods };
    Ok(Instruction { entry, fields: Fields::Interp(fields) })
}

/// `lds_param_load`.
pub(super) fn parameter_load(
    isa: &'static Isa,
    inst: &MachineInst,
    operands: &mut Operands<'_>,
) -> Result<Instruction> {
    let Extra::Interp { attr, channel, .. } = inst.extra else { return Err(wrong_extra(inst)) };
    Ok(Instruction::parameter_load(isa, operands.def_vgpr()?, attr, channel, MOST_OUTSTANDING))
}

/// `v_interp_*` on loaded parameters. The waits come later.
pub(super) fn interpolation(
    isa: &'static Isa,
    op: Op,
    inst: &MachineInst,
    operands: &mut Operands<'_>,
) -> Result<Instruction> {
    let dst = operands.def_vgpr()?;
    let srcs = [operands.vgpr()?, operands.vgpr()?, operands.vgpr()?];
    match inst.extra {
        Extra::None => Ok(Instruction::interpolation(isa, op, dst, srcs, ANY_EXPORTS)),
        _ => Err(wrong_extra(inst)),
    }
}

/// Whether the operation interpolates in one step, in any format.
pub(super) fn interpolates(entry: &OpcodeRow) -> bool {
    entry.latency == Latency::Interp && entry.format != Format::Vinterp
}
