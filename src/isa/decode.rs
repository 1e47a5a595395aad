//! Dwords to [`Inst`]: what `disassemble` reads, narrowed to the instructions in [`Op::ALL`].
//!
//! Input bytes are judged, never trusted. What decodes, encodes back to the same dwords: that is tried, so a modifier or a
//! field that an `Inst` has no room for is refused whatever it is.

use super::instruction::{BufferFields, ExportFields, Fields, Instruction, VectorDst, VectorFields, VectorForm};
use super::{
    Buffer, BufferAddress, BufferFormat, ExpSources, ExpTarget, Format, Inst, LaneMask, Op, Scalar, Sgpr, Src,
};
use super::{Waitcnt, disassemble, encode};
use crate::error::{Context, Error, Result};
use crate::target::{GfxIp, WaveSize};

/// The first instruction of `code`, and how many dwords it takes. The wave size is not in the code: it says how wide a
/// lane mask is.
pub fn decode(gfx: GfxIp, wave: WaveSize, code: &[u32]) -> Result<(Inst, usize)> {
    let read = disassemble(gfx, code)?;
    let dwords = usize::from(read.dwords);
    let unknown = || Error::unsupported("machine instruction", "no instruction of ours");
    let inst = narrow(&read, wave).ok_or_else(unknown).at(|| read.entry.mnemonic)?;
    let mut again = Vec::with_capacity(dwords);
    encode(gfx, &inst, &mut again)?;
    if code.get(..dwords) != Some(&again) {
        return Err(Error::unsupported("machine instruction", "a modifier of no use to us")).at(|| read.entry.mnemonic);
    }
    Ok((inst, dwords))
}

/// The instruction without what is left to its encoding.
fn narrow(read: &Instruction, wave: WaveSize) -> Option<Inst> {
    let op = Op::ALL.iter().copied().find(|op| op.mnemonic() == read.entry.mnemonic)?;
    Some(match &read.fields {
        Fields::Scalar(f) => match op.format() {
            Format::Sopp if op == Op::SWaitcnt => Inst::Waitcnt(Waitcnt {
                vm: (f.imm & 15 | f.imm >> 14 << 4) as u8,
                exp: (f.imm >> 4 & 7) as u8,
                lgkm: (f.imm >> 8 & 63) as u8,
            }),
            Format::Sopp => Inst::Sopp { op, imm: f.imm },
            Format::Sop1 => Inst::Sop1 { op, dst: f.dst?, src: f.srcs[0] },
            Format::Sop2 => Inst::Sop2 { op, dst: f.dst?, srcs: [f.srcs[0]?, f.srcs[1]?] },
            _ => return None,
        },
        Fields::Smem(f) => {
            Inst::Smem { op, data: sgpr(f.data)?, base: sgpr(f.base)?, offset: f.offset, soffset: f.soffset }
        }
        Fields::Vector(f) => vector(op, f, wave)?,
        Fields::Buffer(f) => buffer(op, f)?,
        Fields::Export(f) => export(f)?,
        Fields::Interp(_) | Fields::Ds(_) | Fields::Flat(_) | Fields::Image(_) => return None,
    })
}

fn sgpr(s: Scalar) -> Option<Sgpr> {
    match s {
        Scalar::Sgpr(s) => Some(s),
        _ => None,
    }
}

fn vector(op: Op, f: &VectorFields, wave: WaveSize) -> Option<Inst> {
    let Some(VectorDst::Vgpr(dst)) = f.dst else { return None };
    let [first, second, third] = f.srcs;
    Some(match op.format() {
        Format::Vop1 => Inst::Vop1 { op, dst, src: first? },
        Format::Vop2 => Inst::Vop2 { op, dst, srcs: [first?, second?] },
        Format::Vop3 if op == Op::VCndmaskB32 && f.form == VectorForm::Long => {
            let Some(Src::Scalar(mask)) = third else { return None };
            let mask = match wave {
                WaveSize::W32 => LaneMask::W32(mask),
                WaveSize::W64 => LaneMask::W64(mask),
            };
            Inst::Cndmask { dst, srcs: [first?, second?], mask }
        }
        Format::Vop3 => Inst::Vop3 { op, dst, srcs: [first?, second?, third.unwrap_or(Src::Int(0))] },
        _ => return None,
    })
}

fn buffer(op: Op, f: &BufferFields) -> Option<Inst> {
    let address = match (f.idxen, f.offen) {
        (false, false) => BufferAddress::Off,
        (true, false) => BufferAddress::Index(f.vaddr),
        (false, true) => BufferAddress::Offset(f.vaddr),
        (true, true) => BufferAddress::IndexOffset(f.vaddr),
    };
    Some(Inst::Buffer(Buffer {
        op,
        data: f.data,
        address,
        resource: sgpr(f.resource)?,
        soffset: f.soffset,
        offset: f.offset,
        format: f.format.and_then(BufferFormat::new),
        cache: f.cache,
    }))
}

fn export(f: &ExportFields) -> Option<Inst> {
    let source = |i: usize, mask: u8| (f.enabled & mask == mask).then_some(f.data[i]);
    let sources = match f.compr {
        true => ExpSources::Packed([source(0, 0x3), source(1, 0xc)]),
        false => ExpSources::Full([source(0, 1), source(1, 2), source(2, 4), source(3, 8)]),
    };
    let target = match f.target {
        n @ 0..=7 => ExpTarget::Mrt(n),
        8 => ExpTarget::Mrtz,
        9 => ExpTarget::Null,
        n @ 12..=16 => ExpTarget::Pos(n - 12),
        20 => ExpTarget::Prim,
        n @ 32..=63 => ExpTarget::Param(n - 32),
        _ => return None,
    };
    Some(Inst::Exp { target, sources, done: f.done, vm: f.vm })
}
