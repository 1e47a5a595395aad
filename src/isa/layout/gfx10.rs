//! Fields of gfx10's formats (AMD, "RDNA 2 Instruction Set Architecture", chapter 13; checked against llvm-mc).

use super::field::{CodeField, bit, field};
use super::model::*;
use crate::Format;

const NO_FIELD: CodeField = CodeField::NONE;

/// What the first dword of each format begins with.
const PREFIXES: &[Prefix] = &[
    prefix(Format::Sop1, 9, 0b1_0111_1101),
    prefix(Format::Sopc, 9, 0b1_0111_1110),
    prefix(Format::Sopp, 9, 0b1_0111_1111),
    prefix(Format::Sopk, 4, 0b1011),
    prefix(Format::Sop2, 2, 0b10),
    prefix(Format::Vop1, 7, 0b011_1111),
    prefix(Format::Vopc, 7, 0b011_1110),
    prefix(Format::Vop2, 1, 0b0),
    prefix(Format::Vintrp, 6, 0b11_0010),
    prefix(Format::Vop3p, 9, 0b1_1001_1000),
    prefix(Format::Vop3, 6, 0b11_0101),
    prefix(Format::Ds, 6, 0b11_0110),
    segment(Format::Flat, 0),
    segment(Format::Scratch, 1),
    segment(Format::Global, 2),
    prefix(Format::Mubuf, 6, 0b11_1000),
    prefix(Format::Mtbuf, 6, 0b11_1010),
    prefix(Format::Mimg, 6, 0b11_1100),
    prefix(Format::Smem, 6, 0b11_1101),
    prefix(Format::Exp, 6, 0b11_1110),
];

/// A segment of the flat formats, whose number is in bits 14 and 15.
const fn segment(format: Format, number: u32) -> Prefix {
    let Prefix { mask, value, .. } = prefix(format, 6, 0b11_0111);
    Prefix { format, mask: mask | 3 << 14, value: value | number << 14 }
}

const SCALAR: ScalarLayout =
    ScalarLayout { op: NO_FIELD, dst: field(22, 16), srcs: [field(7, 0), field(15, 8)], imm: NO_FIELD };
const CONSTANT: ScalarLayout =
    ScalarLayout { op: field(22, 16), dst: NO_FIELD, srcs: [NO_FIELD; 2], imm: field(15, 0) };
const SHORT: ShortLayout = ShortLayout { op: NO_FIELD, dst: field(24, 17), srcs: [field(8, 0), field(16, 9)] };
const LONG: LongLayout = LongLayout {
    op: field(25, 16),
    dst: field(7, 0),
    mask: field(14, 8),
    srcs: [field(40, 32), field(49, 41), field(58, 50)],
    abs: field(10, 8),
    neg: field(63, 61),
    neg_hi: NO_FIELD,
    op_sel: field(14, 11),
    op_sel_hi: NO_FIELD,
    clamp: bit(15),
    omod: field(60, 59),
};
const GLOBAL: FlatLayout = FlatLayout {
    op: field(24, 18),
    offset: field(11, 0).with_sign(),
    addr: field(39, 32),
    data: field(47, 40),
    saddr: field(54, 48),
    vaddr_enabled: NO_FIELD,
    dst: field(63, 56),
    lds: bit(13),
    cache: CacheLayout { glc: bit(16), slc: bit(17), dlc: bit(12), ..CacheLayout::NONE },
};
const BUFFER: BufferAccessLayout = BufferAccessLayout {
    op: field(25, 18),
    format: NO_FIELD,
    offset: field(11, 0),
    vaddr: field(39, 32),
    data: field(47, 40),
    resource: field(52, 48),
    register_unit: 4,
    soffset: field(63, 56),
    offen: bit(12),
    idxen: bit(13),
    lds: bit(16),
    tfe: bit(55),
    cache: CacheLayout { glc: bit(14), slc: bit(54), dlc: bit(15), ..CacheLayout::NONE },
};

/// Fields of a source of SDWA from this bit on.
const fn sdwa_source(low: u8) -> SdwaSourceLayout {
    SdwaSourceLayout {
        sel: field(low + 2, low),
        sext: bit(low + 3),
        neg: bit(low + 4),
        abs: bit(low + 5),
        scalar: bit(low + 7),
    }
}

pub(super) const SMEM: SmemLayout = SmemLayout {
    op: field(25, 18),
    data: field(12, 6),
    base: field(5, 0),
    offset: field(52, 32).with_sign(),
    soffset: field(63, 57),
    cache: CacheLayout { glc: bit(16), dlc: bit(14), ..CacheLayout::NONE },
};

const MIMG: ImageLayout = ImageLayout {
    op: field(24, 18).and(0),
    vaddr: field(39, 32),
    more_addresses: [NO_FIELD; 4],
    data: field(47, 40),
    resource: field(52, 48),
    sampler: field(57, 53),
    register_unit: 4,
    dim: field(5, 3),
    dmask: field(11, 8),
    nsa: field(2, 1),
    unorm: bit(12),
    r128: bit(15),
    tfe: bit(16),
    lwe: bit(17),
    a16: bit(62),
    d16: bit(63),
    cache: CacheLayout { glc: bit(13), slc: bit(25), dlc: bit(7), ..CacheLayout::NONE },
    groups: false,
};

pub(super) const DS: DsLayout = DsLayout {
    op: field(25, 18),
    gds: bit(17),
    offsets: [field(7, 0), field(15, 8)],
    addr: field(39, 32),
    data: [field(47, 40), field(55, 48)],
    dst: field(63, 56),
};

/// The encoding of gfx10.1 and gfx10.3.
pub(crate) static GFX10: EncodingLayout = GFX10_LAYOUT;

pub(super) const GFX10_LAYOUT: EncodingLayout = EncodingLayout {
    prefixes: PREFIXES,
    sop2: ScalarLayout { op: field(29, 23), ..SCALAR },
    sopk: ScalarLayout { op: field(27, 23), dst: field(22, 16), ..CONSTANT },
    sop1: ScalarLayout { op: field(15, 8), srcs: [field(7, 0), NO_FIELD], ..SCALAR },
    sopc: ScalarLayout { op: field(22, 16), dst: NO_FIELD, ..SCALAR },
    sopp: CONSTANT,
    smem: SMEM,
    vop2: ShortLayout { op: field(30, 25), ..SHORT },
    vop1: ShortLayout { op: field(16, 9), srcs: [field(8, 0), NO_FIELD], ..SHORT },
    vopc: ShortLayout { op: field(24, 17), dst: NO_FIELD, ..SHORT },
    vop3: LONG,
    vop3p: LongLayout {
        op: field(22, 16),
        mask: NO_FIELD,
        abs: NO_FIELD,
        neg_hi: field(10, 8),
        op_sel: field(13, 11),
        op_sel_hi: field(60, 59).and(14),
        omod: NO_FIELD,
        ..LONG
    },
    sdwa: SdwaLayout {
        src0: field(7, 0),
        scalar_dst: field(14, 8),
        has_scalar_dst: bit(15),
        dst_sel: field(10, 8),
        dst_unused: field(12, 11),
        clamp: bit(13),
        omod: field(15, 14),
        srcs: [sdwa_source(16), sdwa_source(24)],
    },
    dpp16: Dpp16Layout {
        src0: field(7, 0),
        ctrl: field(16, 8),
        fi: bit(18),
        bound_ctrl: bit(19),
        neg: [bit(20), bit(22)],
        abs: [bit(21), bit(23)],
        bank_mask: field(27, 24),
        row_mask: field(31, 28),
    },
    dpp8: Dpp8Layout { src0: field(7, 0), lanes: field(31, 8) },
    vintrp: InterpLayout {
        op: field(17, 16),
        dst: field(25, 18),
        src: field(7, 0),
        addend: NO_FIELD,
        attribute: field(15, 10),
        channel: field(9, 8),
        high: NO_FIELD,
    },
    long_interp: InterpLayout {
        op: LONG.op,
        dst: LONG.dst,
        src: LONG.srcs[1],
        addend: LONG.srcs[2],
        attribute: field(37, 32),
        channel: field(39, 38),
        high: bit(40),
    },
    vinterp: VinterpLayout::NONE,
    ldsdir: LdsDirectLayout::NONE,
    vopd: [DualLayout::NONE; 2],
    ds: DS,
    flat: FlatLayout { offset: field(10, 0), saddr: field(54, 48), ..GLOBAL },
    scratch: GLOBAL,
    global: GLOBAL,
    mubuf: BUFFER,
    mtbuf: BufferAccessLayout { op: field(18, 16).and(53), format: field(25, 19), lds: NO_FIELD, ..BUFFER },
    vector_memory: 2,
    mimg: MIMG,
    vsample: MIMG,
    exp: ExportLayout {
        enabled: field(3, 0),
        target: field(9, 4),
        compr: bit(10),
        done: bit(11),
        vm: bit(12),
        row: NO_FIELD,
        data: [field(39, 32), field(47, 40), field(55, 48), field(63, 56)],
        targets: 0x3ff | 0x1f << 12 | 1 << 20 | 0xffff_ffff << 32,
    },
    no_address: 127,
};
