//! Vector arithmetic: gathers the operands of all lanes, applies modifiers, runs one operation per lane, and writes the
//! results that EXEC allows.
//!
//! The files hold functions on one lane's bits, by class; the common parts are here. To add an operation, add a line to
//! its class.

mod compare;
mod convert;
mod cross;
mod divide;
mod double;
mod exact;
mod float;
mod half;
mod int;
mod interp;
mod lane;
mod mixed_dot;
mod packed;
mod transcendental;

use super::mode::Mode;
use super::wave::{LANES, Lanes, Wave, ones};
use compare::Test;
use cross::Cross;
use dovetail_base::error::{Error, Result};
use dovetail_isa::instruction::{Fields, Instruction, Modifiers, VectorDst, VectorFields, VectorForm};
use dovetail_isa::{Counter, Op, OperandKind, Scalar, Src, Traits, Vgpr};
use lane::LaneFn;

/// A resolved vector operation.
#[derive(Clone, Copy)]
pub enum Valu {
    /// No effect.
    Nop,
    /// A function of the sources; with `fused`, the old result is the third source.
    Value {
        /// Function of a lane.
        lane: LaneFn,
        /// The destination is a source too.
        fused: bool,
    },
    /// `Value` on both halves.
    Packed {
        /// Function of a half.
        lane: LaneFn,
        /// The destination is a source too.
        fused: bool,
    },
    /// f32 arithmetic of sources that may be f16.
    Mix,
    /// A comparison that writes a mask.
    Test {
        /// Comparison of a lane.
        test: Test,
        /// The mask is EXEC.
        exec: bool,
    },
    /// Sum or difference with carry in and carry out.
    Carry(fn(u64, u64, u64) -> u64),
    /// A result and a mask.
    Masked(divide::Masked),
    /// A function of the sources and VCC.
    Fmas(divide::Fmas),
    /// Selects one of two sources.
    Select,
    /// Swaps two registers.
    Swap,
    /// Registers indexed by M0: source, destination.
    MoveRelative([bool; 2]),
    /// Access to other lanes.
    Cross(Cross),
    /// A function of sources of which some are in certain lanes of the quad.
    Interpolate(interp::Interpolation),
}

/// Operation of an instruction.
pub fn resolve(inst: &Instruction, fields: &VectorFields) -> Option<Valu> {
    let op = inst.entry.op;
    if let Some(lane) = mixed_dot::resolve(op, fields.mods.neg, fields.mods.clamp) {
        return Some(Valu::Value { lane, fused: false });
    }
    let integer = inst.entry.dst.first().is_some_and(|kind| !kind.is_float());
    if fields.mods.clamp && integer && int::resolve(op).is_some() {
        let lane = int::saturating(op)?;
        return Some(if inst.entry.is(Traits::PACKED) {
            Valu::Packed { lane, fused: false }
        } else {
            Valu::Value { lane, fused: false }
        });
    }
    let fused = inst.entry.is(Traits::TIED);
    let special = match op {
        Op::VNop | Op::VPipeflush | Op::VClrexcp => Valu::Nop,
        Op::VCndmaskB32 => Valu::Select,
        Op::VSwapB32 => Valu::Swap,
        Op::VMovrelsB32 => Valu::MoveRelative([true, false]),
        Op::VMovreldB32 => Valu::MoveRelative([false, true]),
        Op::VMovrelsdB32 | Op::VMovrelsd2B32 => Valu::MoveRelative([true, true]),
        Op::VFmaMixF32 | Op::VFmaMixloF16 | Op::VFmaMixhiF16 => Valu::Mix,
        // The carry in is a source, or 0; bit 32 of the result is the carry out.
        Op::VAddCoU32 | Op::VAddCoCiU32 => Valu::Carry(|a, b, carry| a + b + carry),
        Op::VSubCoU32 | Op::VSubCoCiU32 => Valu::Carry(|a, b, carry| a.wrapping_sub(b + carry)),
        Op::VSubrevCoU32 | Op::VSubrevCoCiU32 => Valu::Carry(|a, b, carry| b.wrapping_sub(a + carry)),
        Op::VMadU64U32 => Valu::Masked(|_, [a, b, c]| (a * b).overflowing_add(c)),
        Op::VMadI64I32 => Valu::Masked(|_, [a, b, c]| {
            let product = i64::from(a as i32) * i64::from(b as i32);
            let (sum, overflow) = product.overflowing_add(c.cast_signed());
            (sum.cast_unsigned(), overflow)
        }),
        _ if inst.entry.is(Traits::PACKED) => {
            Valu::Packed { lane: half::resolve(op).or_else(|| int::resolve(op))?, fused }
        }
        _ => {
            return compare::resolve(op)
                .map(|(test, exec)| Valu::Test { test, exec })
                .or_else(|| cross::resolve(op).map(Valu::Cross))
                .or_else(|| interp::resolve(op).map(Valu::Interpolate))
                .or_else(|| divide::scale(op).map(Valu::Masked))
                .or_else(|| divide::fmas(op).map(Valu::Fmas))
                .or_else(|| value(op).map(|lane| Valu::Value { lane, fused }));
        }
    };
    Some(special)
}

fn value(op: Op) -> Option<LaneFn> {
    float::resolve(op)
        .or_else(|| int::resolve(op))
        .or_else(|| convert::resolve(op))
        .or_else(|| transcendental::resolve(op))
        .or_else(|| double::resolve(op))
        .or_else(|| half::resolve(op))
        .or_else(|| divide::fixup(op))
}

/// Operands of all lanes, ready for the operation.
struct Operands {
    values: [Lanes; 3],
    /// Lanes that the encoding allows to be written.
    write: u64,
}

impl Operands {
    /// Empty operands. Arrays of lanes are large, so each instruction makes them once and fills them in place.
    fn none() -> Self {
        Self { values: [[0; LANES]; 3], write: u64::MAX }
    }
}

fn gather(inst: &Instruction, fields: &VectorFields, wave: &Wave, packed: bool, out: &mut Operands) -> Result<()> {
    for (i, (values, src)) in out.values.iter_mut().zip(fields.srcs).enumerate() {
        let (Some(src), Some(&kind)) = (src, inst.entry.src.get(i)) else { continue };
        wave.gather(src, kind, values)?;
        if i == 0 {
            match fields.form {
                VectorForm::Dpp16(dpp) | VectorForm::LongDpp16(dpp) => out.write = cross::dpp16(wave, &dpp, values)?,
                VectorForm::Dpp8 { lanes, fi } | VectorForm::LongDpp8 { lanes, fi } => {
                    cross::dpp8(wave, lanes, fi, values);
                }
                _ => {}
            }
        }
        if let (VectorForm::Sdwa(sdwa), Some((sel, sext))) = (&fields.form, sdwa_source(&fields.form, i)) {
            debug_assert!(sdwa.src_sel.contains(&sel));
            if cross::has_parts(kind) {
                cross::select(sel, sext, values);
            }
        }
        if !packed {
            modify(&fields.mods, i, kind, values);
        }
    }
    Ok(())
}

fn sdwa_source(form: &VectorForm, i: usize) -> Option<(u8, bool)> {
    let VectorForm::Sdwa(sdwa) = form else { return None };
    Some((*sdwa.src_sel.get(i)?, *sdwa.sext.get(i)?))
}

/// Applies half selection, absolute value and sign.
fn modify(mods: &Modifiers, i: usize, kind: OperandKind, values: &mut Lanes) {
    if kind.is_half() {
        let shift = if mods.op_sel >> i & 1 == 1 { 16 } else { 0 };
        values.iter_mut().for_each(|value| *value = *value >> shift & 0xffff);
    }
    let sign = match kind {
        OperandKind::F16 => 1 << 15,
        OperandKind::F32 => 1 << 31,
        OperandKind::F64 => 1 << 63,
        _ => return,
    };
    if mods.abs >> i & 1 == 1 {
        values.iter_mut().for_each(|value| *value &= !sign);
    }
    if mods.neg >> i & 1 == 1 {
        values.iter_mut().for_each(|value| *value ^= sign);
    }
}

/// Executes both halves of a dual instruction: the second one reads what the first one has not written yet.
///
/// # Errors
/// Those of [`execute`].
pub fn execute_both(halves: &[(Valu, Instruction); 2], wave: &mut Wave) -> Result<()> {
    let fields = |inst: &Instruction| match inst.fields {
        Fields::Vector(fields) => Ok(fields),
        _ => Err(Error::bug("a half that is no vector instruction")),
    };
    let [(first, a), (second, b)] = halves;
    let (of_a, of_b) = (fields(a)?, fields(b)?);
    let Some(VectorDst::Vgpr(to)) = of_a.dst else { return Err(Error::bug("a half without a vector destination")) };
    let before = *wave.row_mut(to, 0)?;
    execute(*first, a, &of_a, wave)?;
    let after = std::mem::replace(wave.row_mut(to, 0)?, before);
    execute(*second, b, &of_b, wave)?;
    *wave.row_mut(to, 0)? = after;
    Ok(())
}

/// Executes one instruction.
pub fn execute(op: Valu, inst: &Instruction, fields: &VectorFields, wave: &mut Wave) -> Result<()> {
    let kind = inst.entry.dst.first().copied().unwrap_or(OperandKind::B32);
    let mode = wave.mode;
    let vgpr = || match fields.dst {
        Some(VectorDst::Vgpr(v)) => Ok(v),
        _ => Err(Error::bug("a vector operation without a vector destination")),
    };
    let scalar = || match fields.dst {
        Some(VectorDst::Scalar(s)) => Ok(s),
        _ => Err(Error::bug("a scalar result without a scalar destination")),
    };
    let exec = wave.exec();
    let mut result = [0; LANES];
    let mut operands = Operands::none();
    match op {
        Valu::Nop => Ok(()),
        Valu::Value { lane, fused } => {
            gather(inst, fields, wave, false, &mut operands)?;
            if fused {
                wave.gather(Src::Vgpr(vgpr()?), kind, &mut operands.values[2])?;
                let shift = if kind.is_half() && fields.mods.op_sel & 8 != 0 { 16 } else { 0 };
                operands.values[2].iter_mut().for_each(|value| *value >>= shift);
            }
            let write = operands.write & exec;
            let [a, b, c] = &operands.values;
            for i in ones(write) {
                result[i] = lane(mode, [a[i], b[i], c[i]]);
            }
            write_back(fields, kind, vgpr()?, &mut result, write, wave)
        }
        Valu::Packed { lane, fused } => {
            gather(inst, fields, wave, true, &mut operands)?;
            if fused {
                wave.gather(Src::Vgpr(vgpr()?), kind, &mut operands.values[2])?;
            }
            let mods = packed_modifiers(fields);
            for i in ones(operands.write & exec) {
                let values = operands.values.each_ref().map(|values| values[i]);
                result[i] = packed::both(lane, mode, &mods, kind, fields.mods.clamp, values);
            }
            wave.scatter(vgpr()?, kind, &result, operands.write & exec)
        }
        Valu::Mix => {
            gather(inst, fields, wave, true, &mut operands)?;
            for i in ones(exec) {
                let values = operands.values.each_ref().map(|values| values[i]);
                result[i] = packed::mix(mode, &fields.mods, kind, values);
            }
            let high = inst.entry.is(Traits::HIGH_HALF);
            store(kind, high, vgpr()?, &mut result, exec, wave)
        }
        Valu::Test { test, exec: to_exec } => {
            gather(inst, fields, wave, false, &mut operands)?;
            let [a, b, _] = &operands.values;
            let mask = ones(exec & operands.write).fold(0, |mask, i| mask | u64::from(test(mode, a[i], b[i])) << i);
            wave.set_mask(if to_exec { Scalar::ExecLo } else { scalar()? }, mask);
            Ok(())
        }
        Valu::Carry(sum) => {
            gather(inst, fields, wave, false, &mut operands)?;
            let write = operands.write & exec;
            let [a, b, carry] = &operands.values;
            let mut mask = 0;
            for i in ones(write) {
                result[i] = sum(a[i], b[i], carry[i]);
                mask |= (result[i] >> 32 & 1) << i;
            }
            if fields.mods.clamp {
                return Err(Error::unsupported("clamp", "of a sum with carry"));
            }
            write_back(fields, kind, vgpr()?, &mut result, write, wave)?;
            wave.set_mask(fields.mask.unwrap_or(Scalar::Null), mask);
            Ok(())
        }
        Valu::Masked(lane) => {
            gather(inst, fields, wave, false, &mut operands)?;
            let [a, b, c] = &operands.values;
            let mut mask = 0;
            for i in ones(exec) {
                let (value, bit) = lane(mode, [a[i], b[i], c[i]]);
                result[i] = value;
                mask |= u64::from(bit) << i;
            }
            write_back(fields, kind, vgpr()?, &mut result, exec, wave)?;
            wave.set_mask(fields.mask.unwrap_or(Scalar::Null), mask);
            Ok(())
        }
        Valu::Fmas(lane) => {
            gather(inst, fields, wave, false, &mut operands)?;
            let vcc = wave.mask(Scalar::VccLo);
            let [a, b, c] = &operands.values;
            for i in ones(exec) {
                result[i] = lane(mode, [a[i], b[i], c[i]], vcc >> i & 1 == 1);
            }
            write_back(fields, kind, vgpr()?, &mut result, exec, wave)
        }
        Valu::Select => {
            gather(inst, fields, wave, false, &mut operands)?;
            let write = operands.write & exec;
            let [a, b, mask] = &operands.values;
            for i in ones(write) {
                result[i] = if mask[i] == 1 { b[i] } else { a[i] };
            }
            write_back(fields, kind, vgpr()?, &mut result, write, wave)
        }
        Valu::Swap => {
            let Some(Src::Vgpr(other)) = fields.srcs[0] else { return Err(Error::malformed("swaps no register")) };
            let mut before = [0; LANES];
            wave.gather(Src::Vgpr(other), kind, &mut result)?;
            wave.gather(Src::Vgpr(vgpr()?), kind, &mut before)?;
            wave.scatter(vgpr()?, kind, &result, exec)?;
            wave.scatter(other, kind, &before, exec)
        }
        Valu::MoveRelative(indexed) => move_relative(inst, fields, vgpr()?, indexed, wave),
        Valu::Cross(op) => across(op, inst, fields, wave),
        Valu::Interpolate(op) => {
            if let Some(most) = inst.export_wait() {
                wave.waits.wait(Counter::Export, most.into());
            }
            gather(inst, fields, wave, false, &mut operands)?;
            for i in ones(exec) {
                result[i] = op.of(mode, i, &operands.values);
            }
            write_back(fields, kind, vgpr()?, &mut result, exec, wave)
        }
    }
}

/// Modifiers of a packed operation; DPP and SDWA lack those of the packed encoding.
fn packed_modifiers(fields: &VectorFields) -> Modifiers {
    match fields.form {
        VectorForm::Long => fields.mods,
        _ => Modifiers { op_sel_hi: 7, ..fields.mods },
    }
}

fn move_relative(
    inst: &Instruction,
    fields: &VectorFields,
    dst: Vgpr,
    [from, to]: [bool; 2],
    wave: &mut Wave,
) -> Result<()> {
    let m0 = wave.scalar(Scalar::M0);
    let split = inst.entry.op == Op::VMovrelsd2B32;
    let step = |used: bool, value: u32| if used { value as usize } else { 0 };
    let [source, target] =
        if split { [step(from, m0 & 0x3ff), step(to, m0 >> 16 & 0x3ff)] } else { [step(from, m0), step(to, m0)] };
    let mut values = [0; LANES];
    match fields.srcs[0] {
        Some(Src::Vgpr(v)) => {
            let row = wave.row(v, source)?;
            values.iter_mut().zip(row).for_each(|(value, register)| *value = u64::from(*register));
        }
        Some(src) => wave.gather(src, OperandKind::B32, &mut values)?,
        None => {}
    }
    let exec = wave.exec();
    let row = wave.row_mut(dst, target)?;
    for lane in ones(exec) {
        row[lane] = values[lane] as u32;
    }
    Ok(())
}

fn across(op: Cross, inst: &Instruction, fields: &VectorFields, wave: &mut Wave) -> Result<()> {
    let mut operands = Operands::none();
    gather(inst, fields, wave, false, &mut operands)?;
    let uniform = |i: usize| fields.srcs[i].map_or(Ok(0), |src| wave.uniform(src, OperandKind::B32));
    let [a, b, _] = &mut operands.values;
    match (op, fields.dst) {
        (Cross::ReadFirstLane, Some(VectorDst::Scalar(s))) => {
            let value = a[cross::first_lane(wave)];
            wave.set_scalar(s, value as u32);
        }
        (Cross::ReadLane, Some(VectorDst::Scalar(s))) => {
            let value = a[uniform(1)? as usize % wave.lanes()];
            wave.set_scalar(s, value as u32);
        }
        (Cross::WriteLane, Some(VectorDst::Vgpr(v))) => {
            let [value, lane] = [uniform(0)?, uniform(1)?];
            wave.set_vgpr(v, 0, lane as usize % wave.lanes(), value as u32);
        }
        (Cross::PermLane { other }, Some(VectorDst::Vgpr(v))) => {
            let nibbles = uniform(1)? | uniform(2)? << 32;
            let flags = [fields.mods.op_sel & 1 != 0, fields.mods.op_sel & 2 != 0];
            let write = cross::permute(wave, other, nibbles, flags, a);
            let exec = wave.exec();
            wave.scatter(v, OperandKind::B32, a, write & exec)?;
        }
        (Cross::CountBelow { high }, Some(VectorDst::Vgpr(v))) => {
            let exec = wave.exec();
            for i in ones(exec) {
                b[i] = (cross::count_below(i, a[i], high) + b[i]) & 0xffff_ffff;
            }
            wave.scatter(v, OperandKind::B32, b, exec)?;
        }
        _ => return Err(Error::bug("a lane operation with another kind of destination")),
    }
    Ok(())
}

/// Applies output modifier and clamp, and writes the selected part of the register.
fn write_back(
    fields: &VectorFields,
    kind: OperandKind,
    dst: Vgpr,
    result: &mut Lanes,
    write: u64,
    wave: &mut Wave,
) -> Result<()> {
    let mods = &fields.mods;
    if mods.omod != 0 || mods.clamp {
        let mode = wave.mode;
        for i in ones(write) {
            result[i] = finish(mode, mods, kind, result[i]);
        }
    }
    if let VectorForm::Sdwa(sdwa) = &fields.form {
        for i in ones(write) {
            result[i] = cross::deposit(sdwa, result[i], u64::from(wave.vgpr(dst, 0, i)));
        }
        return wave.scatter(dst, OperandKind::B32, result, write);
    }
    store(kind, mods.op_sel & 8 != 0, dst, result, write, wave)
}

/// Writes results; f16 results leave the other half of the register unchanged.
fn store(kind: OperandKind, high: bool, dst: Vgpr, result: &mut Lanes, write: u64, wave: &mut Wave) -> Result<()> {
    if kind.is_half() {
        for i in ones(write) {
            let old = u64::from(wave.vgpr(dst, 0, i));
            let half = result[i] & 0xffff;
            result[i] = if high { old & 0xffff | half << 16 } else { old & 0xffff_0000 | half };
        }
    }
    wave.scatter(dst, kind, result, write)
}

/// Applies output modifier and clamp to a float.
fn finish(mode: Mode, mods: &Modifiers, kind: OperandKind, bits: u64) -> u64 {
    let factor = match mods.omod {
        1 => 2.0,
        2 => 4.0,
        3 => 0.5,
        _ => 1.0,
    };
    let clamp = |x: f64| {
        if !mods.clamp {
            x
        } else if x.is_nan() {
            if mode.dx10_clamp() { 0.0 } else { x }
        } else {
            x.clamp(0.0, 1.0)
        }
    };
    let factor = |allowed: bool| if allowed { factor } else { 1.0 };
    match kind {
        OperandKind::F32 => {
            let x = f64::from(f32::from_bits(bits as u32)) * factor(mode.omod32());
            mode.narrow32(clamp(x))
        }
        OperandKind::F16 => {
            let x = super::mode::from_f16(bits as u16) * factor(mode.omod16_64());
            mode.out16(clamp(x))
        }
        OperandKind::F64 => mode.out64(clamp(f64::from_bits(bits) * factor(mode.omod16_64()))),
        _ => bits,
    }
}
