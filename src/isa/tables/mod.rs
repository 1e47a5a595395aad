//! Opcode tables: the rows of each encoding.

use super::table::{Members, OpcodeRow};
use super::{Format, Latency, Op, Traits};
pub(super) use gfx10::ROWS as GFX10;
pub(super) use gfx11::ROWS as GFX11;
pub(super) use gfx12::ROWS as GFX12;

/// Declares the rows of an encoding. The number is that of dwords of an access of vector memory.
macro_rules! rows {
    (vector memory $memory:literal; $($op:ident $format:ident $number:literal $name:literal
       [$($dst:ident)*] [$($src:ident)*] $latency:ident [$($of:ident)*] $(=> $atomic:ident)?
       $({$($set:ident)*})?;)*) => {
        /// One row for each operation.
        pub(crate) static ROWS: &[$crate::OpcodeRow] = &[$(
            $crate::OpcodeRow {
                op: $crate::Op::$op,
                format: $crate::Format::$format,
                number: $number,
                mnemonic: $name,
                dst: &[$($crate::OperandKind::$dst,)*],
                src: &[$($crate::OperandKind::$src,)*],
                latency: $crate::Latency::$latency,
                traits: $crate::Traits::NONE$(.or($crate::Traits::$of))*,
                atomic: &[$($crate::MachineAtomic::$atomic)?],
                dwords: $crate::Format::$format.dwords_with($memory),
                members: $crate::table::Members::ALL$(.only(&[$(dovetail_base::target::InstructionSet::$set,)*]))?,
            },
        )*];
    };
}

mod gfx10;
mod gfx11;
mod gfx12;

/// Offsets of the long forms of VOP1 and VOP2 among the opcodes of VOP3; VOPC begins at 0.
const VOP1_IN_VOP3: u16 = 384;
const VOP2_IN_VOP3: u16 = 256;

/// The row of an operation; an absent one for an operation that the rows lack.
pub(super) const fn row_of(rows: &'static [OpcodeRow], op: Op) -> &'static OpcodeRow {
    let mut n = 0;
    while n < rows.len() {
        if rows[n].op as u16 == op as u16 {
            return &rows[n];
        }
        n += 1;
    }
    &ABSENT
}

/// The row of an operation that an instruction set lacks: it has no encoding.
pub(super) static ABSENT: OpcodeRow = OpcodeRow {
    op: Op::SEndpgm,
    format: Format::Sopp,
    number: u16::MAX,
    mnemonic: "(absent)",
    dst: &[],
    src: &[],
    latency: Latency::None,
    traits: Traits::NONE,
    atomic: &[],
    dwords: 1,
    members: Members::ALL,
};

/// The opcode of a row in VOP3: its own, or that of its long form.
pub(super) const fn long_number(row: &OpcodeRow) -> u16 {
    match row.format {
        Format::Vop1 => VOP1_IN_VOP3 + row.number,
        Format::Vop2 => VOP2_IN_VOP3 + row.number,
        _ => row.number,
    }
}
