//! Instruction to text, in the words of LLVM's disassembler, so that the text assembles back to the same dwords.

use super::{BufferAddress, ExpSources, ExpTarget, Format, Inst, LaneMask, Op, Scalar, Sgpr, Src, Vgpr, Waitcnt};
use std::fmt::{self, Display, Formatter};

impl Display for Inst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Sopp { op, imm } => sopp(f, op, imm),
            Self::Waitcnt(counts) => waitcnt(f, counts),
            Self::Sop1 { op, dst, src } => {
                write!(f, "{} {}", op.mnemonic(), Scalars(dst, op.data_registers()))?;
                src.map_or(Ok(()), |src| write!(f, ", {src}"))
            }
            Self::Sop2 { op, dst, srcs: [a, b] } => write!(f, "{} {dst}, {a}, {b}", op.mnemonic()),
            Self::Smem { op, data, base, offset, soffset } => {
                let [data, base] = [Scalars::from(data, op.data_registers()), Scalars::from(base, 2)];
                write!(f, "{} {data}, {base}, ", op.mnemonic())?;
                match (soffset, offset) {
                    (None, 0) => f.write_str("null"),
                    (None, n) => f.write_str(&hex(n)),
                    (Some(s), 0) => s.fmt(f),
                    (Some(s), n) => write!(f, "{s} offset:{}", hex(n)),
                }
            }
            Self::Vop1 { op, dst, src } => write!(f, "{}_e32 {dst}, {src}", op.mnemonic()),
            Self::Vop2 { op, dst, srcs: [a, b] } => {
                let form = if matches!(b, Src::Vgpr(_)) { "e32" } else { "e64" };
                write!(f, "{}_{form} {dst}, {a}, {b}", op.mnemonic())
            }
            Self::Vop3 { op, dst, srcs } => {
                write!(f, "{} {dst}", op.mnemonic())?;
                srcs.iter().take(op.sources()).try_for_each(|src| write!(f, ", {src}"))
            }
            Self::Cndmask { dst, srcs: [a, b], mask } => {
                write!(f, "{}_e64 {dst}, {a}, {b}, ", Op::VCndmaskB32.mnemonic())?;
                match mask {
                    LaneMask::W32(s) => s.fmt(f),
                    LaneMask::W64(s) => Scalars(s, 2).fmt(f),
                }
            }
            Self::Buffer(b) => {
                write!(f, "{} {}, ", b.op.mnemonic(), Vgprs(b.data, b.op.data_registers()))?;
                let modifier = match b.address {
                    BufferAddress::Off => f.write_str("off").map(|()| ""),
                    BufferAddress::Index(v) => v.fmt(f).map(|()| " idxen"),
                    BufferAddress::Offset(v) => v.fmt(f).map(|()| " offen"),
                    BufferAddress::IndexOffset(v) => Vgprs(v, 2).fmt(f).map(|()| " idxen offen"),
                }?;
                write!(f, ", {}, {}", Scalars::from(b.resource, 4), b.soffset)?;
                // Number 1 is the assembler's default and is not printed.
                if let Some(format) = b.format.filter(|format| format.number() != 1) {
                    write!(f, " {format}")?;
                }
                f.write_str(modifier)?;
                if b.offset != 0 {
                    write!(f, " offset:{}", b.offset)?;
                }
                let policy = [(b.cache.glc, " glc"), (b.cache.slc, " slc"), (b.cache.dlc, " dlc")];
                flags(f, &policy)
            }
            Self::Exp { target, sources, done, vm } => {
                write!(f, "{} {target}", Op::Exp.mnemonic())?;
                let (list, compr) = match sources {
                    ExpSources::Full(list) => (list, false),
                    ExpSources::Packed([a, b]) => ([a, a, b, b], true),
                };
                for (i, source) in list.into_iter().enumerate() {
                    f.write_str(if i == 0 { " " } else { ", " })?;
                    match source {
                        Some(v) => v.fmt(f)?,
                        None => f.write_str("off")?,
                    }
                }
                flags(f, &[(done, " done"), (compr, " compr"), (vm, " vm")])
            }
        }
    }
}

fn flags(f: &mut Formatter<'_>, flags: &[(bool, &str)]) -> fmt::Result {
    flags.iter().filter(|(set, _)| *set).try_for_each(|(_, text)| f.write_str(text))
}

pub(super) fn hex(n: i32) -> String {
    if n < 0 { format!("-{:#x}", n.unsigned_abs()) } else { format!("{n:#x}") }
}

fn sopp(f: &mut Formatter<'_>, op: Op, imm: u16) -> fmt::Result {
    f.write_str(op.mnemonic())?;
    match op {
        Op::SBranch => write!(f, " {imm}"),
        // Beyond the inline constants the assembler turns to hexadecimal.
        Op::SNop if imm > 64 => write!(f, " {imm:#x}"),
        Op::SNop => write!(f, " {imm}"),
        _ => Ok(()),
    }
}

pub(super) fn waitcnt(f: &mut Formatter<'_>, counts: Waitcnt) -> fmt::Result {
    f.write_str(Op::SWaitcnt.mnemonic())?;
    let all = counts == Waitcnt::NONE;
    let fields = [
        ("vmcnt", counts.vm, Waitcnt::NONE.vm),
        ("expcnt", counts.exp, Waitcnt::NONE.exp),
        ("lgkmcnt", counts.lgkm, Waitcnt::NONE.lgkm),
    ];
    let shown = fields.iter().filter(|(_, count, most)| all || count != most);
    shown.into_iter().try_for_each(|(name, count, _)| write!(f, " {name}({count})"))
}

/// A group of consecutive scalar registers.
pub(super) struct Scalars(pub(super) Scalar, pub(super) u8);

impl Scalars {
    fn from(first: Sgpr, count: u8) -> Self {
        Self(Scalar::Sgpr(first), count)
    }
}

impl Display for Scalars {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (reg, 0 | 1) => reg.fmt(f),
            (Scalar::Sgpr(s), n) => write!(f, "s[{}:{}]", s.number(), u32::from(s.number()) + u32::from(n) - 1),
            (Scalar::VccLo, _) => f.write_str("vcc"),
            (Scalar::ExecLo, _) => f.write_str("exec"),
            (reg, _) => reg.fmt(f),
        }
    }
}

/// A group of consecutive vector registers.
pub(super) struct Vgprs(pub(super) Vgpr, pub(super) u8);

impl Display for Vgprs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            0 | 1 => self.0.fmt(f),
            n => write!(f, "v[{}:{}]", self.0.number(), u32::from(self.0.number()) + u32::from(n) - 1),
        }
    }
}

impl Display for ExpTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mrt(n) => write!(f, "mrt{n}"),
            Self::Mrtz => f.write_str("mrtz"),
            Self::Null => f.write_str("null"),
            Self::Pos(n) => write!(f, "pos{n}"),
            Self::Prim => f.write_str("prim"),
            Self::Param(n) => write!(f, "param{n}"),
        }
    }
}

impl Display for Format {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
