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

    /// VOPD: two operations of VOP1 or VOP2 in one instruction, which reads for both before it writes.
    ///
    /// # Errors
    /// A bug of the caller: one of them is no short form that can be a half, or the halves are in conflict.
    pub fn dual(isa: &'static Isa, first: &Self, second: &Self) -> Result<Self> {
        let [a, b] = [half(isa, first)?, half(isa, second)?];
        let constant = a.constant.or(b.constant);
        let (src0, src1) = ([a.src0, b.src0], [a.src1, b.src1]);
        let fields = DualFields { second: b.entry, dst: [a.dst, b.dst], src0, src1, constant };
        if a.entry.is(Traits::SECOND_HALF) {
            return Err(Error::bug(format!("{} is no first half", a.entry.mnemonic)));
        }
        if a.constant.zip(b.constant).is_some_and(|(a, b)| a != b) {
            return Err(Error::bug("two constants in a dual instruction"));
        }
        if !isa.limits.first_half_overwrites && fields.first_overwrites_second(a.entry) {
            return Err(Error::bug("the first half overwrites what the second one reads"));
        }
        match fields.conflict(a.entry) {
            Some(why) => Err(Error::bug(why)),
            None => Ok(Self { entry: a.entry, fields: Fields::Dual(fields) }),
        }
    }

    /// LDSDIR: the values of a parameter at a primitive's vertices, in the first lanes of each quad. `wait`: vector operations
    /// that may be outstanding. Where the instruction can, it waits until vector memory has read its registers.
    pub fn parameter_load(isa: &'static Isa, dst: Vgpr, attribute: u8, channel: u8, wait: u8) -> Self {
        Self::new(
            isa,
            Op::LdsParamLoad,
            Fields::LdsDirect(LdsDirectFields { dst, attribute, channel, wait, memory: false }),
        )
    }

    /// VINTERP: a step of interpolation. `wait`: parameter loads and exports that may be outstanding.
    pub fn interpolation(isa: &'static Isa, op: Op, dst: Vgpr, srcs: [Vgpr; 3], wait: u8) -> Self {
        let srcs = srcs.map(|v| Some(Src::Vgpr(v)));
        let (mods, form) = (Modifiers::default(), VectorForm::Interp { wait });
        let fields = VectorFields { dst: Some(VectorDst::Vgpr(dst)), mask: None, srcs, mods, form };
        Self::new(isa, op, Fields::Vector(fields))
    }

    /// EXP.
    ///
    /// # Errors
    /// A bug of the caller: the target does not exist.
    pub fn export(isa: &'static Isa, target: ExpTarget, sources: ExpSources, done: bool, vm: bool) -> Result<Self> {
        let number = target.number().ok_or_else(|| Error::bug(format!("no export target {target}")))?;
        let facts = isa.facts();
        let (list, width, compr) = match sources {
            ExpSources::Full(list) => (list, 1, false),
            // Each dword holds two channels.
            ExpSources::Packed([a, b]) if facts.compressed_exports => ([a, b, None, None], 2, true),
            ExpSources::Packed([a, b]) => ([a, b, None, None], 1, false),
        };
        let vm = vm && facts.valid_mask_bit;
        let mask = (1u8 << width) - 1;
        let enabled = (0u8..4).zip(list).filter(|(_, v)| v.is_some()).fold(0, |all, (i, _)| all | mask << (width * i));
        let data = list.map(|v| v.unwrap_or(Vgpr(0)));
        let fields = ExportFields { target: number, enabled, data, compr, done, vm, row: false };
        Ok(Self::new(isa, Op::Exp, Fields::Export(fields)))
    }
}

/// What a short instruction becomes as a half of a dual one.
struct NewHalf {
    entry: &'static OpcodeRow,
    dst: Vgpr,
    src0: Src,
    src1: Vgpr,
    constant: Option<u32>,
}

fn half(isa: &'static Isa, alone: &Instruction) -> Result<NewHalf> {
    let no_half = || Error::bug(format!("{} as half of a dual instruction", alone.entry.mnemonic));
    let entry = half_of(alone.entry.op).map(|op| isa.row(op)).ok_or_else(no_half)?;
    let Fields::Vector(VectorFields { dst: Some(VectorDst::Vgpr(dst)), srcs, form: VectorForm::Short, mods, .. }) =
        alone.fields
    else {
        return Err(no_half());
    };
    let [Some(src0), src1, src2] = srcs else { return Err(no_half()) };
    let (second, constant) = match () {
        () if entry.is(Traits::CONSTANT_SECOND) => (src2, src1),
        () if entry.is(Traits::CONSTANT_THIRD) => (src1, src2),
        () => (src1, None),
    };
    let src1 = match second {
        Some(Src::Vgpr(v)) => v,
        None if entry.src.len() < 2 => Vgpr(0),
        _ => return Err(no_half()),
    };
    let constant = match constant {
        Some(Src::Literal(bits)) => Some(bits),
        _ => None,
    };
    if mods != Modifiers::default() {
        return Err(no_half());
    }
    Ok(NewHalf { entry, dst, src0, src1, constant })
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
    let halved = matches!(f.dst, Some(VectorDst::Vgpr(v)) if v.number() >= Vgpr::HALVED)
        && entry.is_halved(&VectorForm::Short, entry.dst_kind(0));
    entry.has_form(&VectorForm::Short)
        && !halved
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;
    use dovetail_base::target::WaveSize;

    const W32: WaveSize = WaveSize::W32;

    fn gfx11() -> &'static Isa {
        Isa::of("gfx1100".parse().expect("known"))
    }

    fn v(n: u8) -> Src {
        Src::Vgpr(Vgpr(n))
    }

    #[test]
    fn two_operations_become_one_instruction_and_two_again() {
        let isa = gfx11();
        let alone = |op, dst, srcs: &[Src]| Instruction::vector(isa, op, Vgpr(dst), srcs);
        let add = alone(Op::VAddF32, 0, &[v(1), v(2)]);
        let mul = alone(Op::VMulF32, 3, &[v(4), v(5)]);
        let dual = Instruction::dual(isa, &add, &mul).expect("no conflict");
        assert_eq!(dual.text(isa, W32), "v_dual_add_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5");
        assert!(encode(isa, W32, &dual, &mut Vec::new()).is_ok());
        assert!(encode(isa, WaveSize::W64, &dual, &mut Vec::new()).is_err());
        let Fields::Dual(f) = dual.fields else { panic!("dual") };
        assert_eq!(f.halves(dual.entry).map(|half| half.alone(isa)), [Some(add), Some(mul)]);
        let scaled = alone(Op::VFmamkF32, 1, &[v(3), Src::Literal(0x1234), v(6)]);
        let moved = alone(Op::VMovB32, 2, &[Src::Literal(0x1234)]);
        let said = Instruction::dual(isa, &scaled, &moved).expect("one literal").text(isa, W32);
        assert_eq!(said, "v_dual_fmamk_f32 v1, v3, 0x1234, v6 :: v_dual_mov_b32 v2, 0x1234");
        let select = alone(Op::VCndmaskB32, 1, &[Src::Int(0), v(3), Src::Scalar(Scalar::VccLo)]);
        assert!(Instruction::dual(isa, &select, &moved).is_ok());
        let refused = [
            (add, alone(Op::VMulF32, 2, &[v(4), v(5)]), "one even and one odd"),
            (add, alone(Op::VMulF32, 3, &[v(5), v(5)]), "Source0"),
            (add, alone(Op::VMulF32, 3, &[v(4), v(6)]), "Source1"),
            (alone(Op::VAndB32, 0, &[v(1), v(2)]), mul, "no first half"),
            (add, alone(Op::VMulLoU32, 3, &[v(4), v(5)]), "v_mul_lo_u32 as half"),
            (scaled, alone(Op::VMovB32, 2, &[Src::Literal(0x1235)]), "one for both halves"),
            (alone(Op::VMulF32, 3, &[v(4), Src::Scalar(Scalar::M0)]), add, "as half"),
        ];
        for (first, second, why) in refused {
            let said = Instruction::dual(isa, &first, &second).expect_err(why).to_string();
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn interpolation_is_a_load_and_two_steps() {
        let isa = gfx11();
        let text = |inst: Instruction| inst.text(isa, W32);
        let load = Instruction::parameter_load(isa, Vgpr(7), 3, 1, 15);
        assert_eq!(text(load), "lds_param_load v7, attr3.y wait_vdst:15");
        let first = Instruction::interpolation(isa, Op::VInterpP10F32, Vgpr(8), [7, 0, 7].map(Vgpr), 0);
        assert_eq!(text(first), "v_interp_p10_f32 v8, v7, v0, v7 wait_exp:0");
        let second = Instruction::interpolation(isa, Op::VInterpP2InregF32, Vgpr(8), [7, 1, 8].map(Vgpr), 7);
        assert_eq!(text(second), "v_interp_p2_f32 v8, v7, v1, v8 wait_exp:7");
        for inst in [load, first, second] {
            assert!(encode(isa, W32, &inst, &mut Vec::new()).is_ok());
        }
    }

    #[test]
    fn registers_whose_highest_bit_chooses_a_half_take_the_long_form() {
        let isa = gfx11();
        let text = |dst, a, b| Instruction::vector(isa, Op::VAddF16, Vgpr(dst), &[v(a), v(b)]).text(isa, W32);
        assert_eq!(text(1, 2, 127), "v_add_f16_e32 v1.l, v2.l, v127.l");
        assert_eq!(text(128, 2, 3), "v_add_f16_e64 v128.l, v2.l, v3.l");
        assert_eq!(text(1, 200, 3), "v_add_f16_e64 v1.l, v200.l, v3.l");
        let whole = Instruction::vector(isa, Op::VAddF32, Vgpr(128), &[v(200), v(255)]);
        assert_eq!(whole.text(isa, W32), "v_add_f32_e32 v128, v200, v255");
    }
}
