//! Fields of gfx11's formats (AMD, "RDNA 3 Instruction Set Architecture", chapter 15; checked against llvm-mc).

use super::field::{CodeField, bit, field};
use super::gfx10;
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
    prefix(Format::Vopd, 6, 0b11_0010),
    prefix(Format::Vop3p, 9, 0b1_1001_1000),
    prefix(Format::Vinterp, 8, 0b1100_1101),
    prefix(Format::Ldsdir, 8, 0b1100_1110),
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

/// A segment of the flat formats, whose number is in bits 16 and 17.
const fn segment(format: Format, number: u32) -> Prefix {
    let Prefix { mask, value, .. } = prefix(format, 6, 0b11_0111);
    Prefix { format, mask: mask | 3 << 16, value: value | number << 16 }
}

const GLOBAL: FlatLayout = FlatLayout {
    op: field(24, 18),
    offset: field(12, 0).with_sign(),
    addr: field(39, 32),
    data: field(47, 40),
    saddr: field(54, 48),
    vaddr_enabled: NO_FIELD,
    dst: field(63, 56),
    lds: NO_FIELD,
    cache: CacheLayout { glc: bit(14), slc: bit(15), dlc: bit(13), ..CacheLayout::NONE },
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
    offen: bit(54),
    idxen: bit(55),
    lds: NO_FIELD,
    tfe: bit(53),
    cache: CacheLayout { glc: bit(14), slc: bit(12), dlc: bit(13), ..CacheLayout::NONE },
};

pub(super) const LDSDIR: LdsDirectLayout = LdsDirectLayout {
    op: field(21, 20),
    dst: field(7, 0),
    channel: field(9, 8),
    attribute: field(15, 10),
    wait: field(19, 16),
    memory: NO_FIELD,
};

/// The encoding of gfx11 and gfx11.5. Scalar and vector formats are where gfx10 has them.
pub(crate) static GFX11: EncodingLayout = GFX11_LAYOUT;

pub(super) const GFX11_LAYOUT: EncodingLayout = EncodingLayout {
    prefixes: PREFIXES,
    smem: SmemLayout { cache: CacheLayout { glc: bit(14), dlc: bit(13), ..CacheLayout::NONE }, ..gfx10::SMEM },
    sdwa: SdwaLayout::NONE,
    vintrp: InterpLayout::NONE,
    long_interp: InterpLayout::NONE,
    vinterp: VinterpLayout { op: field(22, 16), wait: field(10, 8), op_sel: field(14, 11) },
    ldsdir: LDSDIR,
    vopd: [
        DualLayout { op: field(25, 22), dst: field(63, 56), srcs: [field(8, 0), field(16, 9)] },
        DualLayout { op: field(21, 17), dst: field(55, 49), srcs: [field(40, 32), field(48, 41)] },
    ],
    flat: FlatLayout { offset: field(11, 0), ..GLOBAL },
    scratch: FlatLayout { vaddr_enabled: bit(55), ..GLOBAL },
    global: GLOBAL,
    mubuf: BUFFER,
    mtbuf: BufferAccessLayout { op: field(18, 15), format: field(25, 19), ..BUFFER },
    mimg: ImageLayout {
        op: field(25, 18),
        vaddr: field(39, 32),
        more_addresses: [NO_FIELD; 4],
        data: field(47, 40),
        resource: field(52, 48),
        sampler: field(62, 58),
        register_unit: 4,
        dim: field(4, 2),
        dmask: field(11, 8),
        nsa: bit(0),
        unorm: bit(7),
        r128: bit(15),
        tfe: bit(53),
        lwe: bit(54),
        a16: bit(16),
        d16: bit(17),
        cache: CacheLayout { glc: bit(14), slc: bit(12), dlc: bit(13), ..CacheLayout::NONE },
        groups: true,
    },
    exp: ExportLayout {
        enabled: field(3, 0),
        target: field(9, 4),
        compr: NO_FIELD,
        done: bit(11),
        vm: NO_FIELD,
        row: bit(13),
        data: [field(39, 32), field(47, 40), field(55, 48), field(63, 56)],
        targets: 0x1ff | 0x1f << 12 | 7 << 20,
    },
    ..gfx10::GFX10_LAYOUT
};
