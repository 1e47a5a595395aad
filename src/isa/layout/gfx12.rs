//! Fields of gfx12's formats (AMD, "RDNA 4 Instruction Set Architecture", chapter 15; checked against llvm-mc-22).

use super::field::{CodeField, bit, field};
use super::model::*;
use super::{gfx10, gfx11};
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
    prefix(Format::Vop3p, 8, 0b1100_1100),
    prefix(Format::Vinterp, 8, 0b1100_1101),
    prefix(Format::Ldsdir, 8, 0b1100_1110),
    prefix(Format::Vop3, 6, 0b11_0101),
    prefix(Format::Ds, 6, 0b11_0110),
    prefix(Format::Flat, 8, 0b1110_1100),
    prefix(Format::Scratch, 8, 0b1110_1101),
    prefix(Format::Global, 8, 0b1110_1110),
    buffer(Format::Mtbuf, 1),
    buffer(Format::Mubuf, 0),
    prefix(Format::Mimg, 6, 0b11_0100),
    prefix(Format::Vsample, 6, 0b11_1001),
    prefix(Format::Smem, 6, 0b11_1101),
    prefix(Format::Exp, 6, 0b11_1110),
];

/// Buffer accesses with and without types have one format, where the highest bit of the opcode tells them apart.
const fn buffer(format: Format, typed: u32) -> Prefix {
    let Prefix { mask, value, .. } = prefix(format, 6, 0b11_0001);
    Prefix { format, mask: mask | 1 << 21, value: value | typed << 21 }
}

const CACHE: CacheLayout = CacheLayout { scope: field(51, 50), hint: field(54, 52), ..CacheLayout::NONE };
const GLOBAL: FlatLayout = FlatLayout {
    op: field(21, 14),
    offset: field(95, 72).with_sign(),
    addr: field(71, 64),
    data: field(62, 55),
    saddr: field(6, 0),
    vaddr_enabled: NO_FIELD,
    dst: field(39, 32),
    lds: NO_FIELD,
    cache: CACHE,
};
/// The highest bit of the offset's field has to be clear.
const BUFFER: BufferAccessLayout = BufferAccessLayout {
    op: field(20, 14),
    format: field(61, 55),
    offset: field(94, 72),
    vaddr: field(71, 64),
    data: field(39, 32),
    resource: field(49, 41),
    register_unit: 1,
    soffset: field(6, 0),
    offen: bit(62),
    idxen: bit(63),
    lds: NO_FIELD,
    tfe: bit(22),
    cache: CACHE,
};
const IMAGE: ImageLayout = ImageLayout {
    op: field(21, 14),
    vaddr: field(71, 64),
    more_addresses: [field(79, 72), field(87, 80), field(95, 88), field(63, 56)],
    data: field(39, 32),
    resource: field(49, 41),
    sampler: NO_FIELD,
    register_unit: 1,
    dim: field(2, 0),
    dmask: field(25, 22),
    nsa: NO_FIELD,
    unorm: NO_FIELD,
    r128: bit(4),
    tfe: bit(55),
    lwe: NO_FIELD,
    a16: bit(6),
    d16: bit(5),
    cache: CACHE,
    groups: true,
};

/// The encoding of gfx12. Scalar and vector formats are where gfx11 has them.
pub(crate) static GFX12: EncodingLayout = EncodingLayout {
    prefixes: PREFIXES,
    smem: SmemLayout {
        op: field(18, 13),
        data: field(12, 6),
        base: field(5, 0),
        offset: field(55, 32).with_sign(),
        soffset: field(63, 57),
        cache: CacheLayout { scope: field(22, 21), hint: field(24, 23), ..CacheLayout::NONE },
    },
    ldsdir: LdsDirectLayout { memory: bit(23), ..gfx11::LDSDIR },
    ds: DsLayout { gds: NO_FIELD, ..gfx10::DS },
    flat: GLOBAL,
    scratch: FlatLayout { vaddr_enabled: bit(49), ..GLOBAL },
    global: GLOBAL,
    mubuf: BUFFER,
    mtbuf: BUFFER,
    vector_memory: 3,
    mimg: IMAGE,
    vsample: ImageLayout {
        more_addresses: [field(79, 72), field(87, 80), field(95, 88), NO_FIELD],
        sampler: field(63, 55),
        unorm: bit(13),
        tfe: bit(3),
        lwe: bit(40),
        ..IMAGE
    },
    ..gfx11::GFX11_LAYOUT
};
