//! Random valid instructions of a row, in each of its forms.
//!
//! The encoder's own rules (`operands.rs`) define validity; if they allow too much, the assembler reports it.

use super::random_memory::{
    buffer_fields, ds_fields, export_fields, flat_fields, image_fields, lds_direct_fields, smem_fields,
};
use crate::instruction::*;
use crate::*;
use dovetail_base::target::WaveSize;

/// Pseudorandom numbers, the same in every run (xorshift).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }

    pub(super) fn chance(&mut self, of: u32) -> bool {
        self.below(of) == 0
    }

    pub(super) fn bits(&mut self) -> u32 {
        // Extremes are as likely as values between them.
        match self.below(4) {
            0 => 1 << self.below(32),
            1 => u32::MAX >> self.below(32),
            _ => (self.below(1 << 16) << 16) | self.below(1 << 16),
        }
    }

    pub(super) fn vgpr(&mut self, count: u8) -> Vgpr {
        let last = 256 - u32::from(count.max(1));
        Vgpr(match self.below(8) {
            0 => last,
            1 => 0,
            _ => self.below(last + 1),
        } as u8)
    }

    pub(super) fn sgpr(&mut self, count: u8) -> Scalar {
        let align = u32::from(count.clamp(1, 4).next_power_of_two());
        let groups = (u32::from(Sgpr::COUNT) - u32::from(count.max(1))) / align + 1;
        Scalar::Sgpr(Sgpr::new((self.below(groups) * align) as u8).expect("in range"))
    }

    /// An SGPR group, or a named register of that size.
    fn scalar(&mut self, count: u8) -> Scalar {
        match (self.below(6), count) {
            (0, 1 | 2) => Scalar::VccLo,
            (1, 1) => Scalar::M0,
            (2, 1 | 2) => Scalar::ExecLo,
            (3, 1) => Scalar::VccHi,
            _ => self.sgpr(count),
        }
    }
}

fn registers(kind: OperandKind, wave: WaveSize) -> u8 {
    kind.registers_in(wave)
}

/// A literal for which this kind of operand has no inline constant.
fn literal(random: &mut Random, kind: OperandKind) -> Src {
    loop {
        let bits = random.bits();
        let (value, literal) = match kind {
            OperandKind::B16 | OperandKind::F16 => (u64::from(bits & 0xffff), bits & 0xffff),
            OperandKind::P16 | OperandKind::PF16 => (u64::from(bits & 0xffff), bits & 0xffff),
            OperandKind::F64 => (u64::from(bits) << 32, bits),
            _ => (u64::from(bits), bits),
        };
        // A value that is an inline constant for one kind is printed as such for all kinds.
        let long = |kind, value| matches!(Src::constant(kind, value), Some(Src::Literal(_)));
        if long(kind, value) && long(OperandKind::B32, literal.into()) {
            return Src::Literal(literal);
        }
    }
}

fn source(random: &mut Random, isa: &Isa, takes: Takes, kind: OperandKind, wave: WaveSize) -> Src {
    let count = registers(kind, wave);
    loop {
        let src = match random.below(8) {
            0 | 1 => Src::Vgpr(random.vgpr(count)),
            2 | 3 => Src::Scalar(random.scalar(count)),
            4 => Src::Int(random.below(81) as i8 - 16),
            // For 16-bit integers the tool recognizes inline floats by their bits, and prints them as literals.
            5 if kind == OperandKind::B16 => continue,
            5 => Src::Float(InlineFloat::ALL[random.below(9) as usize].0),
            6 if count == 1 => Src::Special([Special::Scc, Special::Vccz, Special::Execz][random.below(3) as usize]),
            7 if takes.literal => literal(random, kind),
            _ => continue,
        };
        if takes.accepts(src) && isa.codes.of(src).is_some() {
            return src;
        }
    }
}

/// A random subset of the allowed modifiers.
fn modifiers(random: &mut Random, allowed: Modifiers) -> Modifiers {
    let mut set = |mask: u8| if random.chance(2) { 0 } else { random.below(256) as u8 & mask };
    let mut mods = Modifiers {
        abs: set(allowed.abs),
        neg: set(allowed.neg),
        neg_hi: set(allowed.neg_hi),
        op_sel: set(allowed.op_sel),
        op_sel_hi: set(allowed.op_sel_hi),
        omod: set(allowed.omod),
        clamp: false,
    };
    mods.clamp = allowed.clamp && random.chance(3);
    mods
}

fn scalar_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow, wave: WaveSize) -> Fields {
    let dst = entry.dst.first().map(|kind| random.scalar(registers(*kind, wave)));
    let mut srcs = [None; 3];
    let mut bits = None;
    for (i, kind) in entry.src.iter().enumerate() {
        srcs[i] = Some(source(random, isa, entry.scalar_source(i), *kind, wave));
        if let Some(Src::Literal(this)) = srcs[i] {
            srcs[i] = Some(Src::Literal(*bits.get_or_insert(this)));
        }
    }
    let imm = match entry.format {
        Format::Sopk | Format::Sopp => random.bits() as u16,
        _ => 0,
    };
    if entry.is(Traits::NULL_ONLY) {
        srcs[0] = Some(Src::Scalar(Scalar::Null));
    }
    let imm = match entry.op {
        // Fields without a meaning are not printed.
        Op::SWaitcnt => imm & isa.waits.constant_bits(),
        Op::SSendmsg | Op::SSendmsghalt => 9,
        Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64 => 128 + imm % 7,
        Op::SDelayAlu => (imm % 12) | (((imm >> 4) % 6) << 4) | (((imm >> 8) % 12) << 7),
        Op::SWaitEvent => imm,
        // Low numbers have names.
        Op::SVersion => imm & 0xff | 0x80,
        Op::SWaitcntDepctr => imm,
        Op::SGetregB32 | Op::SSetregB32 | Op::SSetregImm32B32 => {
            imm & !63 | [1, 2, 3, 5, 6, 7, 15, 20, 21][random.below(9) as usize]
        }
        Op::SNop | Op::SSleep | Op::SSetprio | Op::STrap | Op::SSethalt | Op::SSetkill => imm,
        Op::SDenormMode | Op::SRoundMode => imm & 15,
        Op::SClause | Op::SInstPrefetch => imm,
        Op::SBarrierWait => imm & 63,
        // Of a wait for two counters six bits each have a meaning.
        Op::SWaitLoadcntDscnt | Op::SWaitStorecntDscnt => imm & 0x3f3f,
        op if isa.waits.waited(op, imm).is_some() => imm & 0x3f,
        Op::SIncperflevel | Op::SDecperflevel | Op::STtracedataImm => imm,
        _ if entry.format == Format::Sopp && !entry.is(Traits::BRANCH) => 0,
        _ => imm,
    };
    Fields::Scalar(ScalarFields { dst, srcs, imm })
}

fn forms(random: &mut Random, entry: &OpcodeRow) -> Vec<VectorForm> {
    let sdwa = Sdwa {
        dst_sel: if entry.format == Format::Vopc { 6 } else { random.below(7) as u8 },
        dst_unused: if entry.format == Format::Vopc { 0 } else { random.below(3) as u8 },
        // The fields of a missing source are 0.
        src_sel: [random.below(7) as u8, if entry.src.len() > 1 { random.below(7) as u8 } else { 0 }],
        sext: [0, 1].map(|i| entry.src.get(i).is_some_and(|k| !k.is_float()) && random.chance(3)),
    };
    let (low, n) = (random.below(0x100) as u16, random.below(15) as u16 + 1);
    let controls = [low, 0x100 | n, 0x110 | n, 0x120 | n, 0x140, 0x141, 0x150 | n, 0x160 | n];
    let dpp = Dpp16 {
        ctrl: controls[random.below(8) as usize],
        fi: random.chance(3),
        bound_ctrl: random.chance(2),
        bank_mask: random.below(16) as u8,
        row_mask: random.below(16) as u8,
    };
    let (first, second) = (random.bits() & 0xff_ffff, random.bits() & 0xff_ffff);
    let lanes = VectorForm::Dpp8 { lanes: first, fi: random.chance(2) };
    let fi = random.chance(2);
    let all = [
        VectorForm::Short,
        VectorForm::Long,
        VectorForm::Sdwa(sdwa),
        VectorForm::Dpp16(dpp),
        lanes,
        VectorForm::LongDpp16(dpp),
        VectorForm::LongDpp8 { lanes: second, fi },
        VectorForm::Interp { wait: random.below(8) as u8 },
    ];
    all.into_iter().filter(|form| entry.has_form(form)).collect()
}

fn vector_fields(
    random: &mut Random,
    isa: &Isa,
    entry: &'static OpcodeRow,
    form: VectorForm,
    wave: WaveSize,
) -> Fields {
    let vcc_only = !form.is_long();
    let mask_count = registers(OperandKind::Mask, wave);
    let mut mask_register = |free: bool| match free && !random.chance(4) {
        true => random.sgpr(mask_count),
        false => Scalar::VccLo,
    };
    let (mask_result, carry_in) = (mask_register(!vcc_only), mask_register(!vcc_only));
    let compare = mask_register(!vcc_only || matches!(form, VectorForm::Sdwa(_)));
    let dst = entry.dst.first().map(|kind| match kind {
        OperandKind::Mask => VectorDst::Scalar(compare),
        _ if entry.is(Traits::SCALAR_RESULT) => VectorDst::Scalar(random.sgpr(1)),
        kind if entry.is_halved(&form, *kind) => VectorDst::Vgpr(Vgpr(random.below(128) as u8)),
        kind => VectorDst::Vgpr(random.vgpr(registers(*kind, wave))),
    });
    let mut mods = modifiers(random, entry.modifiers(&form));
    if entry.format == Format::Vop3p && entry.src.len() == 2 {
        // The bit of a missing source is always set.
        mods.op_sel_hi |= 4;
    }
    if entry.is(Traits::WHOLE) {
        mods.op_sel_hi = 7;
    }
    loop {
        let mut srcs = [None; 3];
        let (mut bits, mut mixed) = (None, false);
        for (i, kind) in entry.src.iter().enumerate() {
            let takes = entry.vector_source(&form, i);
            srcs[i] = Some(match kind {
                OperandKind::Mask => Src::Scalar(carry_in),
                // The tool allows 16-bit literals here, whatever `op_sel_hi` says.
                OperandKind::F32 if entry.is(Traits::MIX) => source(random, isa, takes, OperandKind::F16, wave),
                _ => source(random, isa, takes, *kind, wave),
            });
            if let Some(Src::Literal(this)) = srcs[i] {
                let (shared, of) = *bits.get_or_insert((this, *kind));
                mixed |= of.is_half() != kind.is_half();
                srcs[i] = Some(Src::Literal(shared));
            }
        }
        if mixed {
            // A literal that two kinds of operands share is printed in two ways.
            continue;
        }
        // A short form has halves of registers only.
        let low =
            |mods: u8| (0..3).filter(|i| !matches!(srcs[*i], Some(Src::Vgpr(_)))).fold(mods, |m, i| m & !(1 << i));
        let mods = Modifiers {
            op_sel: match () {
                () if form.is_long() && entry.op != Op::VCndmaskB16 => mods.op_sel,
                () => low(mods.op_sel),
            },
            ..mods
        };
        let beside = matches!(form, VectorForm::LongDpp16(_) | VectorForm::LongDpp8 { .. });
        let takes = isa.limits.scalar_beside_lanes && entry.format != Format::Vop3p;
        if beside && !takes && !matches!(srcs[1], None | Some(Src::Vgpr(_))) {
            continue;
        }
        let fields = VectorFields { dst, mask: entry.has_mask_result().then_some(mask_result), srcs, mods, form };
        if entry.scalar_values(&fields, wave) <= entry.scalar_limit() {
            return Fields::Vector(fields);
        }
    }
}

fn interp_fields(random: &mut Random, entry: &'static OpcodeRow) -> Fields {
    let parameter = matches!(entry.op, Op::VInterpMovF32 | Op::VInterpMovF32E64);
    let half = matches!(entry.op, Op::VInterpP1llF16 | Op::VInterpP1lvF16 | Op::VInterpP2F16);
    let long = entry.format == Format::Vop3;
    // The coordinate and the addend.
    let signed = if parameter || !long { 1 } else { 2 << u32::from(entry.src.len() > 1) };
    let mods = Modifiers {
        abs: random.below(signed) as u8,
        neg: random.below(signed) as u8,
        clamp: entry.is(Traits::CLAMP) && long && random.chance(3),
        omod: if entry.is(Traits::OMOD) && long { random.below(4) as u8 } else { 0 },
        ..Modifiers::default()
    };
    Fields::Interp(InterpFields {
        dst: random.vgpr(1),
        src: if parameter { Src::Int(random.below(3) as i8) } else { Src::Vgpr(random.vgpr(1)) },
        addend: (entry.src.len() > 1).then(|| Src::Vgpr(random.vgpr(1))),
        attribute: random.below(33) as u8,
        channel: random.below(4) as u8,
        high: half && random.chance(2),
        mods,
    })
}

/// A dual instruction with this operation in either half.
fn dual(random: &mut Random, isa: &'static Isa, entry: &'static OpcodeRow) -> Instruction {
    loop {
        let other = dual_row(random, isa);
        let second = entry.is(Traits::SECOND_HALF) || random.chance(2);
        let (first, second) = if second { (other, entry) } else { (entry, other) };
        if first.is(Traits::SECOND_HALF) {
            continue;
        }
        let inst = halves(random, isa, first, second);
        if matches!(&inst.fields, Fields::Dual(f) if f.conflict(first).is_none()) {
            return inst;
        }
    }
}

fn dual_row(random: &mut Random, isa: &'static Isa) -> &'static OpcodeRow {
    let rows: Vec<&'static OpcodeRow> = isa.rows().filter(|row| row.format == Format::Vopd).collect();
    rows[random.below(rows.len() as u32) as usize]
}

/// Two halves that may be in conflict.
pub(super) fn any_dual(random: &mut Random, isa: &'static Isa) -> Instruction {
    loop {
        let (first, second) = (dual_row(random, isa), dual_row(random, isa));
        if !first.is(Traits::SECOND_HALF) {
            return halves(random, isa, first, second);
        }
    }
}

fn halves(
    random: &mut Random,
    isa: &'static Isa,
    first: &'static OpcodeRow,
    second: &'static OpcodeRow,
) -> Instruction {
    let rows = [first, second];
    let takes = first.vector_source(&VectorForm::Short, 0);
    let constant = rows.iter().any(|row| row.is(Traits::CONSTANT_SECOND.or(Traits::CONSTANT_THIRD)));
    let bits = literal(random, OperandKind::B32);
    let mut src0 = rows.map(|row| match source(random, isa, takes, row.src_kind(0), WaveSize::W32) {
        Src::Literal(_) => bits,
        src => src,
    });
    // Inline constants of packed halves are the tool's matter.
    if rows.iter().any(|row| row.src_kind(0) == OperandKind::PF16) {
        src0 = [0, 1].map(|_| Src::Vgpr(random.vgpr(1)));
    }
    let src1 = rows.map(|row| if row.src.len() > 1 { random.vgpr(1) } else { Vgpr(0) });
    let constant = match bits {
        Src::Literal(bits) if constant => Some(bits),
        _ => None,
    };
    let fields = DualFields { second, dst: [random.vgpr(1), random.vgpr(1)], src0, src1, constant };
    Instruction { entry: first, fields: Fields::Dual(fields) }
}

/// One instruction in each form of an operation.
pub(super) fn instructions(
    random: &mut Random,
    isa: &'static Isa,
    entry: &'static OpcodeRow,
    wave: WaveSize,
) -> Vec<Instruction> {
    let fields = match entry.format {
        Format::Vopd if wave == WaveSize::W64 => return Vec::new(),
        Format::Vopd => return vec![dual(random, isa, entry)],
        Format::Ldsdir => lds_direct_fields(random, isa, entry),
        _ if entry.latency == Latency::Interp && entry.format != Format::Vinterp => interp_fields(random, entry),
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp => {
            scalar_fields(random, isa, entry, wave)
        }
        Format::Smem => smem_fields(random, isa, entry),
        Format::Vop1
        | Format::Vop2
        | Format::Vopc
        | Format::Vop3
        | Format::Vop3p
        | Format::Vintrp
        | Format::Vinterp => {
            let forms = forms(random, entry).into_iter();
            let inst = |form| Instruction { entry, fields: vector_fields(random, isa, entry, form, wave) };
            return forms.map(inst).collect();
        }
        Format::Ds => ds_fields(random, isa, entry),
        Format::Flat | Format::Scratch | Format::Global => flat_fields(random, isa, entry),
        Format::Mubuf | Format::Mtbuf => buffer_fields(random, isa, entry),
        Format::Mimg | Format::Vsample => image_fields(random, isa, entry),
        Format::Exp => export_fields(random, isa),
    };
    vec![Instruction { entry, fields }]
}
