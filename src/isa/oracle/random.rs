//! Random valid instructions of a row, in each of its forms.
//!
//! The encoder's own rules (`operands.rs`) define validity; if they allow too much, the assembler reports it.

use crate::instruction::*;
use crate::layout::{CacheLayout, CodeField};
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

    fn chance(&mut self, of: u32) -> bool {
        self.below(of) == 0
    }

    fn bits(&mut self) -> u32 {
        // Extremes are as likely as values between them.
        match self.below(4) {
            0 => 1 << self.below(32),
            1 => u32::MAX >> self.below(32),
            _ => (self.below(1 << 16) << 16) | self.below(1 << 16),
        }
    }

    fn vgpr(&mut self, count: u8) -> Vgpr {
        let last = 256 - u32::from(count.max(1));
        Vgpr(match self.below(8) {
            0 => last,
            1 => 0,
            _ => self.below(last + 1),
        } as u8)
    }

    fn sgpr(&mut self, count: u8) -> Scalar {
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

fn cache(random: &mut Random, layout: &CacheLayout, entry: &OpcodeRow) -> CachePolicy {
    let mut set = |field: CodeField| field != CodeField::NONE && random.chance(3);
    let [glc, slc, dlc] = [layout.glc, layout.slc, layout.dlc].map(&mut set);
    let scope = random.below(layout.scope.largest() + 1) as u8;
    let hints = match () {
        // The tool does not read what it writes of atomics that go on at another GPU, and of returning ones of the system.
        () if entry.is(Traits::ATOMIC) => 3 + u32::from(scope != 3),
        () if entry.is(Traits::STORES) => 8,
        () => 7,
    };
    let hint = random.below(hints.min(layout.hint.largest() + 1)) as u8;
    CachePolicy { glc, slc, dlc, scope, hint }
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

fn smem_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let data = match entry.data_registers() {
        // A number, of which gfx12 has five bits.
        0 => Scalar::Sgpr(Sgpr::new(random.below(32) as u8).expect("in range")),
        count => random.sgpr(count),
    };
    if entry.is(Traits::INVALIDATES) {
        let none = Scalar::Null;
        let cache = CachePolicy::default();
        return Fields::Smem(SmemFields { data: none, base: none, offset: 0, soffset: None, cache });
    }
    if entry.is(Traits::TIMER) {
        let cache = CachePolicy::default();
        return Fields::Smem(SmemFields { data, base: Scalar::Null, offset: 0, soffset: None, cache });
    }
    if entry.is(Traits::PREFETCHES) {
        let none = entry.is(Traits::NO_ADDRESS);
        let base = if none { Scalar::Null } else { random.sgpr(if entry.is(Traits::DESCRIPTOR) { 4 } else { 2 }) };
        let data = Scalar::Sgpr(Sgpr::new(random.below(32) as u8).expect("in range"));
        let soffset = random.chance(2).then(|| random.sgpr(1));
        let (offset, cache) = (random.below(1 << 20) as i32, CachePolicy::default());
        return Fields::Smem(SmemFields { data, base, offset, soffset, cache });
    }
    let base = random.sgpr(if entry.is(Traits::DESCRIPTOR) { 4 } else { 2 });
    let soffset = random.chance(2).then(|| if random.chance(4) { Scalar::M0 } else { random.sgpr(1) });
    let negative = !entry.is(Traits::DESCRIPTOR) && random.chance(3);
    let magnitude = (random.bits() & 0xf_ffff) as i32;
    let offset = if negative { -magnitude } else { magnitude };
    let mut cache = cache(random, &isa.layout.smem.cache, entry);
    if entry.dst.is_empty() {
        cache = CachePolicy::default();
    }
    Fields::Smem(SmemFields { data, base, offset, soffset, cache })
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

fn ds_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let zero = Vgpr(0);
    let own = entry.is(Traits::OWN_ADDRESS.or(Traits::NO_ADDRESS));
    let mut registers = entry.src.iter().map(|kind| kind.registers());
    let mut next = || registers.next().map_or(zero, |count| random.vgpr(count));
    let addr = if own { zero } else { next() };
    let data = [next(), next()];
    let dst = entry.dst.first().map_or(zero, |kind| random.vgpr(kind.registers()));
    let has = isa.layout.ds.gds != CodeField::NONE;
    let gds = entry.is(Traits::GDS) || has && !entry.is(Traits::NO_MEMORY.or(Traits::STACK)) && random.chance(4);
    let offsets = if entry.op == Op::DsNop { [0; 2] } else { [0; 2].map(|_: u8| random.bits() as u8) };
    Fields::Ds(DsFields { dst, addr, data, offsets, gds: gds && entry.op != Op::DsNop })
}

fn flat_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let zero = Vgpr(0);
    let (scratch, flat) = (entry.format == Format::Scratch, entry.format == Format::Flat);
    let own = entry.is(Traits::OWN_ADDRESS);
    let saddr = (!flat && random.chance(2)).then(|| random.sgpr(if scratch { 1 } else { 2 }));
    let layout = isa.layout.flat(entry.format);
    let both = layout.vaddr_enabled != CodeField::NONE && random.chance(2);
    let no_vaddr = scratch && (saddr.is_some() && !both || random.chance(3));
    let mut cache = cache(random, &layout.cache, entry);
    if entry.is(Traits::INVALIDATES) {
        let cache = CachePolicy { hint: 0, ..cache };
        let (v, none) = (zero, None);
        return Fields::Flat(FlatFields {
            dst: v,
            addr: v,
            data: v,
            saddr: none,
            no_vaddr: false,
            offset: 0,
            lds: false,
            cache,
        });
    }
    if entry.op == Op::GlobalAtomicCsub && layout.cache.glc != CodeField::NONE {
        cache.glc = true;
    }
    let data = if entry.dst.is_empty() { random.vgpr(entry.data_registers()) } else { zero };
    let returns = entry.is(Traits::ATOMIC) && cache.returns();
    let most = entry.data_registers_in(WaveSize::W32);
    let dst = if !entry.dst.is_empty() || returns { random.vgpr(most) } else { zero };
    let wide = saddr.is_none() && !scratch;
    let addr = if own || no_vaddr { zero } else { random.vgpr(if wide { 2 } else { 1 }) };
    let field = layout.offset;
    let offset = field.put(random.bits() & ((1 << field.width()) - 1)).map_or(0, |word| field.number(word));
    Fields::Flat(FlatFields { dst, addr, data, saddr, no_vaddr, offset, lds: false, cache })
}

fn buffer_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let zero = Vgpr(0);
    if entry.is(Traits::INVALIDATES) {
        let (resource, soffset) =
            (Scalar::Sgpr(Sgpr::new(0).expect("s0")), Src::Scalar(Scalar::Sgpr(Sgpr::new(0).expect("s0"))));
        return Fields::Buffer(BufferFields {
            data: zero,
            vaddr: zero,
            idxen: false,
            offen: false,
            resource,
            soffset,
            offset: 0,
            format: None,
            lds: false,
            tfe: false,
            cache: CachePolicy::default(),
        });
    }
    let (idxen, offen) = (random.chance(2), random.chance(2));
    // The tool has no `tfe` on typed accesses.
    let tfe = entry.format == Format::Mubuf && entry.is(Traits::LOADS) && random.chance(4);
    let lds = isa.layout.mubuf.lds != CodeField::NONE && entry.op == Op::BufferLoadDword && !tfe && random.chance(4);
    let soffset = match random.below(4) {
        // Some encodings have room for registers only.
        0 if isa.layout.mubuf.soffset.largest() < 128 => Src::Scalar(Scalar::Null),
        0 => Src::Int(random.below(81) as i8 - 16),
        1 => Src::Scalar(Scalar::M0),
        _ => Src::Scalar(random.sgpr(1)),
    };
    let mut cache = cache(random, &isa.layout.mubuf.cache, entry);
    // The tool has no `dlc` on buffer atomics.
    cache.dlc &= !entry.is(Traits::ATOMIC);
    if entry.op == Op::BufferAtomicCsub && isa.layout.mubuf.cache.glc != CodeField::NONE {
        cache.glc = true;
    }
    Fields::Buffer(BufferFields {
        data: if lds { zero } else { random.vgpr(entry.data_registers() + u8::from(tfe)) },
        vaddr: if idxen || offen { random.vgpr(u8::from(idxen) + u8::from(offen)) } else { zero },
        idxen,
        offen,
        resource: random.sgpr(4),
        soffset,
        offset: random.bits() & isa.limits.buffer_offset,
        format: (entry.format == Format::Mtbuf).then(|| random.below(128) as u8),
        lds,
        tfe,
        cache,
    })
}

fn image_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let zero = Vgpr(0);
    let s0 = Scalar::Sgpr(Sgpr::new(0).expect("s0"));
    let ray = entry.is(Traits::RAY);
    let atomic = entry.is(Traits::ATOMIC);
    let width = if entry.is(Traits::COMPARES) { 2 } else { 1 };
    let stores = entry.is(Traits::STORES);
    let layout = isa.layout.image(entry.format);
    let separate = layout.more_addresses[0] != CodeField::NONE;
    let mut f = ImageFields {
        data: zero,
        addresses: Addresses::new(&[zero]),
        nsa: separate || random.chance(2),
        resource: s0,
        sampler: if entry.is(Traits::SAMPLES) { random.sgpr(4) } else { s0 },
        dim: match () {
            () if ray => 0,
            // Multisampled images are loaded, never filtered.
            () if entry.is(Traits::SAMPLES.or(Traits::LEVEL)) => random.below(6) as u8,
            () if entry.is(Traits::FOUR) => 6 + random.below(2) as u8,
            () => random.below(8) as u8,
        },
        // For an atomic, the mask gives the width of the memory cell.
        dmask: match () {
            () if ray => 15,
            () if atomic => (1 << width) - 1,
            // The tool counts the mask's components, the hardware returns four samples of one component.
            () if entry.op == Op::ImageMsaaLoad && !layout.groups => 15,
            () if entry.is(Traits::FOUR) => 1 << random.below(4),
            () => random.below(15) as u8 + 1,
        },
        unorm: !ray && layout.unorm != CodeField::NONE && random.chance(2),
        r128: ray || random.chance(12),
        a16: !matches!(entry.op, Op::ImageBvhDualIntersectRay | Op::ImageBvh8IntersectRay) && random.chance(3),
        d16: !ray
            && !atomic
            && entry.op != Op::ImageGetLod
            && !entry.is(Traits::SIZE_QUERY)
            && !entry.is(Traits::RAW)
            && random.chance(4),
        tfe: !ray && !stores && random.chance(5),
        lwe: !ray && !stores && layout.lwe != CodeField::NONE && random.chance(12),
        cache: if ray { CachePolicy::default() } else { cache(random, &layout.cache, entry) },
    };
    if ray && layout.unorm != CodeField::NONE {
        f.unorm = true;
    }
    if entry.is(Traits::COMPARES) || entry.is(Traits::FOUR) && f.d16 {
        // The tool lacks a size of three registers.
        f.tfe = false;
    }
    f.resource = random.sgpr(if ray { 4 } else { 8 });
    // Four 16-bit components take four registers until the tool has parsed the flag.
    let most = if entry.is(Traits::FOUR) { 4 } else { f.data_registers(entry) };
    f.data = random.vgpr(most + f.status_registers());
    let count = f.address_registers(entry);
    f.nsa &= separate || count > 1;
    let list: Vec<Vgpr> = (0..count).map(|_| random.vgpr(1)).collect();
    let groups = f.address_groups(entry, layout.groups, isa.image_addresses(entry));
    f.addresses = match groups {
        Some(groups) => {
            Addresses::grouped(&groups.iter().map(|length| (random.vgpr(*length), *length)).collect::<Vec<_>>())
        }
        None if f.nsa => Addresses::new(&list),
        None => Addresses::new(&[random.vgpr(count)]),
    };
    Fields::Image(f)
}

fn export_fields(random: &mut Random, isa: &Isa) -> Fields {
    let layout = &isa.layout.exp;
    let targets: Vec<u8> = (0..64).filter(|target| layout.targets >> target & 1 == 1).collect();
    let mut set = |field: CodeField, of: u32| field != CodeField::NONE && random.chance(of);
    let (compr, vm, row) = (set(layout.compr, 3), set(layout.vm, 2), set(layout.row, 2));
    let enabled = if compr { [0, 3, 12, 15][random.below(4) as usize] } else { random.below(16) as u8 };
    // An unsent register is not printed.
    let sent = |i: usize| if compr { i < 2 && enabled >> (2 * i) & 3 != 0 } else { enabled >> i & 1 == 1 };
    let data = [0, 1, 2, 3].map(|i| if sent(i) { random.vgpr(1) } else { Vgpr(0) });
    let target = targets[random.below(targets.len() as u32) as usize];
    Fields::Export(ExportFields { target, enabled, data, compr, done: random.chance(2), vm, row })
}

fn lds_direct_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let memory = isa.layout.ldsdir.memory != CodeField::NONE && random.chance(2);
    let (dst, wait) = (random.vgpr(1), random.below(16) as u8);
    let (attribute, channel) = match entry.op {
        Op::LdsParamLoad => (random.below(33) as u8, random.below(4) as u8),
        _ => (0, 0),
    };
    Fields::LdsDirect(LdsDirectFields { dst, attribute, channel, wait, memory })
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
