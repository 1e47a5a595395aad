//! Instruction to dwords (field positions: isa-gfx10 2.2).
//!
//! Whatever the machine could not execute as meant is refused as a bug of the caller: an operation in another format's
//! clothes, a register group out of range or misaligned, two literals, more than two scalar operands in a vector
//! operation, a field that overflows.

use super::{
    Buffer, BufferAddress, ExpSources, ExpTarget, Format, Inst, LaneMask, Op, Scalar, Sgpr, Src, Vgpr, Waitcnt,
};
use super::{opcode, tables};
use crate::error::{Context, Error, Result};
use crate::target::GfxIp;

/// Appends the dwords of one instruction.
pub fn encode(gfx: GfxIp, inst: &Inst, out: &mut Vec<u32>) -> Result<()> {
    Encoder { gfx, literal: None }.inst(inst, out).at(|| format!("encoding `{inst}`"))
}

/// The machine code of a sequence, as bytes in memory order.
pub fn encode_all(gfx: GfxIp, insts: &[Inst]) -> Result<Vec<u8>> {
    let mut dwords = Vec::with_capacity(insts.len() * 2);
    insts.iter().try_for_each(|inst| encode(gfx, inst, &mut dwords))?;
    Ok(dwords.into_iter().flat_map(u32::to_le_bytes).collect())
}

struct Encoder {
    gfx: GfxIp,
    literal: Option<u32>,
}

impl Encoder {
    fn inst(&mut self, inst: &Inst, out: &mut Vec<u32>) -> Result<()> {
        match *inst {
            Inst::Sopp { op, imm } => out.push(0xbf80_0000 | self.opcode(op, Format::Sopp)? << 16 | u32::from(imm)),
            Inst::Waitcnt(counts) => {
                let op = self.opcode(Op::SWaitcnt, Format::Sopp)?;
                out.push(0xbf80_0000 | op << 16 | waitcnt(counts)?);
            }
            Inst::Sop1 { op, dst, src } => {
                let number = self.opcode(op, Format::Sop1)?;
                ensure(src.is_some() == (op.sources() == 1), "wrong number of sources")?;
                let src = src.map_or(Ok(0), |src| self.scalar_source(src))?;
                out.push(0xbe80_0000 | scalars(dst, op.data_registers())? << 16 | number << 8 | src);
            }
            Inst::Sop2 { op, dst, srcs: [a, b] } => {
                let number = self.opcode(op, Format::Sop2)?;
                let [a, b] = [self.scalar_source(a)?, self.scalar_source(b)?];
                out.push(0x8000_0000 | number << 23 | scalars(dst, op.data_registers())? << 16 | b << 8 | a);
            }
            Inst::Smem { op, data, base, offset, soffset } => {
                let number = self.opcode(op, Format::Smem)?;
                ensure((-(1 << 20)..1 << 20).contains(&offset), "offset does not fit 21 bits")?;
                let data = sgprs(data, op.data_registers())?;
                out.push(0xf400_0000 | number << 18 | data << 6 | sgprs(base, 2)? >> 1);
                let soffset = u32::from(soffset.unwrap_or(Scalar::Null).code());
                out.push(soffset << 25 | offset.cast_unsigned() & 0x1f_ffff);
            }
            Inst::Vop1 { op, dst, src } => {
                let number = self.opcode(op, Format::Vop1)?;
                let src = self.vector_sources([src])?[0];
                out.push(0x7e00_0000 | u32::from(dst.0) << 17 | number << 9 | src);
            }
            Inst::Vop2 { op, dst, srcs } => {
                let number = self.opcode(op, Format::Vop2)?;
                let [a, b] = self.vector_sources(srcs)?;
                match srcs[1] {
                    Src::Vgpr(v) => {
                        out.push(number << 25 | u32::from(dst.0) << 17 | u32::from(v.0) << 9 | a);
                    }
                    _ => vop3(tables::VOP2_IN_VOP3 + number, dst, [a, b, 0], out),
                }
            }
            Inst::Vop3 { op, dst, srcs } => {
                let number = self.opcode(op, Format::Vop3)?;
                ensure(op != Op::VCndmaskB32, "takes a lane mask")?;
                let unused = srcs.iter().skip(op.sources());
                ensure(unused.into_iter().all(|src| *src == Src::Int(0)), "too many sources")?;
                let [a, b, c] = self.vector_sources(srcs)?;
                vop3(number, dst, [a, b, if op.sources() == 3 { c } else { 0 }], out);
            }
            Inst::Cndmask { dst, srcs: [a, b], mask } => {
                let number = self.opcode(Op::VCndmaskB32, Format::Vop3)?;
                let (mask, registers) = match mask {
                    LaneMask::W32(s) => (s, 1),
                    LaneMask::W64(s) => (s, 2),
                };
                scalars(mask, registers)?;
                let srcs = self.vector_sources([a, b, Src::Scalar(mask)])?;
                vop3(number, dst, srcs, out);
            }
            Inst::Buffer(ref buffer) => self.buffer(buffer, out)?,
            Inst::Exp { target, sources, done, vm } => {
                let (enable, compr, [a, b, c, d]) = match sources {
                    ExpSources::Full(list) => {
                        let enabled = list.iter().enumerate().filter(|(_, source)| source.is_some());
                        (enabled.map(|(i, _)| 1 << i).sum::<u32>(), false, list)
                    }
                    // Each dword stands for two channels.
                    ExpSources::Packed([a, b]) => {
                        (u32::from(a.is_some()) * 0x3 + u32::from(b.is_some()) * 0xc, true, [a, b, None, None])
                    }
                };
                let flags = u32::from(compr) << 10 | u32::from(done) << 11 | u32::from(vm) << 12;
                out.push(0xf800_0000 | flags | exp_target(target)? << 4 | enable);
                out.push(u32::from_le_bytes([a, b, c, d].map(|source| source.map_or(0, Vgpr::number))));
            }
        }
        out.extend(self.literal);
        Ok(())
    }

    fn opcode(&self, op: Op, format: Format) -> Result<u32> {
        ensure(op.format() == format, "operation of another format")?;
        Ok(u32::from(opcode(self.gfx, op)))
    }

    fn source(&mut self, src: Src) -> Result<u32> {
        if let Src::Literal(bits) = src {
            // The same literal may serve two operands; it is stored once.
            ensure(self.literal.is_none_or(|other| other == bits), "two literals")?;
            self.literal = Some(bits);
        }
        src.code().map(u32::from).ok_or_else(|| Error::bug("integer has no inline form"))
    }

    fn scalar_source(&mut self, src: Src) -> Result<u32> {
        ensure(!matches!(src, Src::Vgpr(_)), "a VGPR as scalar source")?;
        self.source(src)
    }

    /// A vector operation may read two different scalar values, a literal counted.
    fn vector_sources<const N: usize>(&mut self, srcs: [Src; N]) -> Result<[u32; N]> {
        let mut codes = [0; N];
        for (code, src) in codes.iter_mut().zip(srcs) {
            *code = self.source(src)?;
        }
        let on_bus = |src: &Src| matches!(src, Src::Scalar(_) | Src::Special(_) | Src::Literal(_));
        let first_of_its_kind = |(i, src): &(usize, &Src)| on_bus(src) && !srcs[..*i].contains(src);
        let scalars = srcs.iter().enumerate().filter(first_of_its_kind).count();
        ensure(scalars <= 2, "more than two scalar operands")?;
        Ok(codes)
    }

    fn buffer(&mut self, b: &Buffer, out: &mut Vec<u32>) -> Result<()> {
        let (address, idxen, offen) = match b.address {
            BufferAddress::Off => (Vgpr(0), 0, 0),
            BufferAddress::Index(v) => (v, 1, 0),
            BufferAddress::Offset(v) => (v, 0, 1),
            BufferAddress::IndexOffset(v) => (v, 1, 1),
        };
        vgprs(address, if idxen + offen == 2 { 2 } else { 1 })?;
        let data = vgprs(b.data, b.op.data_registers())?;
        ensure(b.offset < 1 << 12, "offset does not fit 12 bits")?;
        let resource = sgprs(b.resource, 4)? >> 2;
        ensure(!matches!(b.soffset, Src::Literal(_)), "a literal as scalar offset")?;
        let soffset = self.scalar_source(b.soffset)?;
        let policy = u32::from(b.cache.glc) << 14 | u32::from(b.cache.dlc) << 15;
        let low = policy | idxen << 13 | offen << 12 | u32::from(b.offset);
        let high = soffset << 24 | u32::from(b.cache.slc) << 22 | resource << 16 | data << 8 | u32::from(address.0);
        match b.format {
            Some(format) => {
                let op = self.opcode(b.op, Format::Mtbuf)?;
                out.push(0xe800_0000 | u32::from(format.number()) << 19 | (op & 7) << 16 | low);
                out.push(high | op >> 3 << 21);
            }
            None => {
                let op = self.opcode(b.op, Format::Mubuf)?;
                out.push(0xe000_0000 | op << 18 | low);
                out.push(high);
            }
        }
        Ok(())
    }
}

fn ensure(holds: bool, otherwise: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::bug(otherwise)) }
}

fn vop3(opcode: u32, dst: Vgpr, [a, b, c]: [u32; 3], out: &mut Vec<u32>) {
    out.push(0xd400_0000 | opcode << 16 | u32::from(dst.0));
    out.push(c << 18 | b << 9 | a);
}

/// The number of a group's first register; 64-bit groups are even, wider ones multiples of four.
fn scalars(first: Scalar, count: u8) -> Result<u32> {
    match first {
        Scalar::Sgpr(s) => sgprs(s, count),
        named => {
            ensure(count == 1 || (count == 2 && named.code().is_multiple_of(2)), "register group does not exist")?;
            Ok(u32::from(named.code()))
        }
    }
}

fn sgprs(first: Sgpr, count: u8) -> Result<u32> {
    let align = count.clamp(1, 4);
    let inside = u32::from(first.number()) + u32::from(count) <= u32::from(Sgpr::COUNT);
    ensure(inside && first.number().is_multiple_of(align), "register group does not exist")?;
    Ok(u32::from(first.number()))
}

fn vgprs(first: Vgpr, count: u8) -> Result<u32> {
    ensure(u32::from(first.0) + u32::from(count) <= 256, "register group does not exist")?;
    Ok(u32::from(first.0))
}

fn waitcnt(counts: Waitcnt) -> Result<u32> {
    let Waitcnt { vm, exp, lgkm } = counts;
    let most = Waitcnt::NONE;
    ensure(vm <= most.vm && exp <= most.exp && lgkm <= most.lgkm, "count does not fit")?;
    let [vm, exp, lgkm] = [vm, exp, lgkm].map(u32::from);
    Ok(vm >> 4 << 14 | lgkm << 8 | exp << 4 | vm & 0xf)
}

fn exp_target(target: ExpTarget) -> Result<u32> {
    let (first, index, count) = match target {
        ExpTarget::Mrt(n) => (0, n, 8),
        ExpTarget::Mrtz => (8, 0, 1),
        ExpTarget::Null => (9, 0, 1),
        ExpTarget::Pos(n) => (12, n, 5),
        ExpTarget::Prim => (20, 0, 1),
        ExpTarget::Param(n) => (32, n, 32),
    };
    ensure(index < count, "no such export target")?;
    Ok(u32::from(first + index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(inst: Inst) -> String {
        encode(GfxIp::Gfx1030, &inst, &mut Vec::new()).map_or_else(|e| e.to_string(), |()| String::new())
    }

    fn sgpr(n: u8) -> Sgpr {
        Sgpr::new(n).unwrap_or_else(|| panic!("s{n}"))
    }

    #[test]
    fn what_cannot_be_executed_is_refused() {
        let v = Vgpr(0);
        let s = |n| Src::from(sgpr(n));
        let wrong_format = Inst::Vop1 { op: Op::VAddNcU32, dst: v, src: v.into() };
        assert!(refused(wrong_format).contains("another format"));
        let literals = Inst::Vop2 { op: Op::VAddNcU32, dst: v, srcs: [Src::Literal(100), Src::Literal(200)] };
        assert!(refused(literals).contains("two literals"));
        let bus = Inst::Vop3 { op: Op::VBfeU32, dst: v, srcs: [s(1), s(2), s(3)] };
        assert!(refused(bus).contains("more than two scalar"));
        let same_twice = Inst::Vop3 { op: Op::VBfeU32, dst: v, srcs: [s(1), s(2), s(1)] };
        assert_eq!(refused(same_twice), "");
        let base = Inst::Smem { op: Op::SLoadDword, data: sgpr(0), base: sgpr(1), offset: 0, soffset: None };
        assert!(refused(base).contains("register group"));
        let far = Inst::Smem { op: Op::SLoadDword, data: sgpr(0), base: sgpr(0), offset: 1 << 20, soffset: None };
        assert!(refused(far).contains("21 bits"));
        let end = Inst::Smem { op: Op::SLoadDwordx4, data: sgpr(104), base: sgpr(0), offset: 0, soffset: None };
        assert!(refused(end).contains("register group"));
        let vector = Inst::Sop1 { op: Op::SMovB32, dst: Scalar::M0, src: Some(v.into()) };
        assert!(refused(vector).contains("scalar source"));
        let mrt = Inst::Exp { target: ExpTarget::Mrt(8), sources: ExpSources::Full([None; 4]), done: true, vm: true };
        assert!(refused(mrt).contains("export target"));
    }
}
