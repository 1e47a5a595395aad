//! Tables of loads and stores by the number of dwords or bytes that they move.

use dovetail_isa::Op;

/// Loads of 1, 2, 4, 8 and 16 dwords: by address, by descriptor.
pub(super) const SCALAR_LOADS: [(usize, Op, Op); 5] = [
    (1, Op::SLoadDword, Op::SBufferLoadDword),
    (2, Op::SLoadDwordx2, Op::SBufferLoadDwordx2),
    (4, Op::SLoadDwordx4, Op::SBufferLoadDwordx4),
    (8, Op::SLoadDwordx8, Op::SBufferLoadDwordx8),
    (16, Op::SLoadDwordx16, Op::SBufferLoadDwordx16),
];

/// Vector accesses by size in bytes: loads and stores by descriptor, and by address.
pub(super) const VECTOR_ACCESSES: [(u32, Op, Op, Op, Op); 6] = [
    (16, Op::BufferLoadDwordx4, Op::BufferStoreDwordx4, Op::GlobalLoadDwordx4, Op::GlobalStoreDwordx4),
    (12, Op::BufferLoadDwordx3, Op::BufferStoreDwordx3, Op::GlobalLoadDwordx3, Op::GlobalStoreDwordx3),
    (8, Op::BufferLoadDwordx2, Op::BufferStoreDwordx2, Op::GlobalLoadDwordx2, Op::GlobalStoreDwordx2),
    (4, Op::BufferLoadDword, Op::BufferStoreDword, Op::GlobalLoadDword, Op::GlobalStoreDword),
    (2, Op::BufferLoadUshort, Op::BufferStoreShort, Op::GlobalLoadUshort, Op::GlobalStoreShort),
    (1, Op::BufferLoadUbyte, Op::BufferStoreByte, Op::GlobalLoadUbyte, Op::GlobalStoreByte),
];

/// Loads of one to four channels with format conversion: the descriptor's format, the instruction's format.
pub(super) const FORMAT_LOADS: [[Op; 4]; 2] = [
    [Op::BufferLoadFormatX, Op::BufferLoadFormatXy, Op::BufferLoadFormatXyz, Op::BufferLoadFormatXyzw],
    [Op::TbufferLoadFormatX, Op::TbufferLoadFormatXy, Op::TbufferLoadFormatXyz, Op::TbufferLoadFormatXyzw],
];
