//! Workgroup memory: accesses of the width that the alignment allows, constant parts of addresses in the instruction.

use super::{Dwords, Operands, Selector, run_of};
use crate::mir::{Extra, Opcode, Operand, OperandValue};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Align, AluOp, AtomicOp, Bits, Op as IrOp, Type, Value};
use dovetail_isa::{Op, Traits};
use smallvec::SmallVec;

/// An access: bytes, and the loading and storing operation; two offsets count in elements.
struct Width {
    bytes: u32,
    align: u32,
    load: Op,
    store: Op,
    /// Bytes per element, if the operation takes two offsets.
    two: Option<u32>,
}

const WIDTHS: [Width; 7] = [
    Width { bytes: 16, align: 16, load: Op::DsReadB128, store: Op::DsWriteB128, two: None },
    Width { bytes: 16, align: 8, load: Op::DsRead2B64, store: Op::DsWrite2B64, two: Some(8) },
    Width { bytes: 8, align: 8, load: Op::DsReadB64, store: Op::DsWriteB64, two: None },
    Width { bytes: 8, align: 4, load: Op::DsRead2B32, store: Op::DsWrite2B32, two: Some(4) },
    Width { bytes: 4, align: 4, load: Op::DsReadB32, store: Op::DsWriteB32, two: None },
    Width { bytes: 2, align: 2, load: Op::DsReadU16, store: Op::DsWriteB16, two: None },
    Width { bytes: 1, align: 1, load: Op::DsReadU8, store: Op::DsWriteB8, two: None },
];

impl Selector<'_> {
    /// A byte address: a register, and a constant that fits the instruction.
    fn shared_address(&mut self, v: Value, bytes: u32) -> Result<(OperandValue, u32)> {
        let (base, offset) = self.base_and_offset(v)?;
        // A sum that wraps would be another address, so the base must be known to be small; it is if it is within the
        // memory. Offsets beyond the field stay in the register.
        let most = 0x1_0000u32.saturating_sub(bytes);
        if offset <= most { Ok((base, offset)) } else { Ok((self.word(v)?, 0)) }
    }

    /// Loads a value.
    pub(super) fn shared_load(&mut self, align: Align, address: Value, result: Value) -> Result<()> {
        let ty = self.shader.ty(result);
        let (base, offset) = self.shared_address(address, ty.bytes())?;
        let base = self.vector(base);
        let mut bytes: SmallVec<[(u32, OperandValue); 16]> = SmallVec::new();
        for (at, width) in cut(ty.bytes(), align) {
            let vals = self.vectors((width.bytes.div_ceil(4)) as usize);
            let extra = offsets(offset + at, width.two);
            let (base, extra) = match extra {
                Some(extra) => (base, extra),
                None => (self.plus(base, offset + at)?, Extra::Ds { offsets: [0, u8::from(width.two.is_some())] }),
            };
            self.isa(width.load, &run_of(&vals), &[base], extra);
            bytes.extend((0u32..).zip(&vals).map(|(n, val)| (at + 4 * n, OperandValue::Val(*val))));
        }
        let words = self.gather(&bytes, ty, align)?;
        self.set(result, &words);
        Ok(())
    }

    fn plus(&mut self, base: Operand, offset: u32) -> Result<Operand> {
        let sum = self.integer_of(AluOp::IAdd, &[OperandValue::Const(offset), base.what])?;
        Ok(self.vector(sum))
    }

    /// Dwords from pieces of memory, each with its offset; pieces narrower than a dword are zero-extended.
    pub(super) fn gather(&mut self, pieces: &[(u32, OperandValue)], ty: Type, align: Align) -> Result<Dwords> {
        let unit = unit_of(ty.bytes(), align);
        if unit >= 4 {
            return Ok(pieces.iter().map(|(_, word)| *word).collect());
        }
        let mut out: Dwords = Dwords::new();
        for dword in pieces.chunks((4 / unit) as usize) {
            let mut made = dword[0].1;
            for (n, (_, piece)) in (1u32..).zip(&dword[1..]) {
                made = OperandValue::Val(self.v(Op::VLshlOrB32, &[*piece, OperandValue::Const(8 * unit * n), made]));
            }
            out.push(made);
        }
        Ok(out)
    }

    /// Stores a value.
    pub(super) fn shared_store(&mut self, align: Align, address: Value, value: Value) -> Result<()> {
        let ty = self.shader.ty(value);
        let (base, offset) = self.shared_address(address, ty.bytes())?;
        let base = self.vector(base);
        let words = self.words(value)?;
        for (at, width) in cut(ty.bytes(), align) {
            let first = (at / 4) as usize;
            let data: Dwords = match width.bytes {
                4.. => words[first..first + (width.bytes / 4) as usize].iter().copied().collect(),
                _ => [self.shifted_down(words[first], at % 4)?].into_iter().collect(),
            };
            let (base, extra) = match offsets(offset + at, width.two) {
                Some(extra) => (base, extra),
                None => (self.plus(base, offset + at)?, Extra::Ds { offsets: [0, u8::from(width.two.is_some())] }),
            };
            let mut uses: Operands = [base].into_iter().collect();
            let halves = if width.two.is_some() { data.len() / 2 } else { data.len() };
            for half in data.chunks(halves) {
                uses.extend(self.vector_run(half));
            }
            self.isa(width.store, &[], &uses, extra);
        }
        Ok(())
    }

    /// A dword shifted down to start at a given byte.
    pub(super) fn shifted_down(&mut self, word: OperandValue, byte: u32) -> Result<OperandValue> {
        match word {
            _ if byte == 0 => Ok(word),
            OperandValue::Undef => Ok(word),
            _ => self.integer_of(AluOp::LShr, &[word, OperandValue::Const(8 * byte)]),
        }
    }

    /// An atomic operation.
    pub(super) fn shared_atomic(&mut self, op: AtomicOp, args: &[Value], result: Option<Value>) -> Result<()> {
        use AtomicOp as A;
        let data = args.get(1).copied();
        let wide = data.or(result).is_some_and(|v| self.is_wide(v));
        let bits = if wide { Bits::B64 } else { Bits::B32 };
        let (base, offset) = self.shared_address(args[0], bits.bytes())?;
        let base = self.vector(base);
        let extra = Extra::Ds { offsets: (offset as u16).to_le_bytes() };
        let rtn = |narrow: Op, full: Op| if wide { full } else { narrow };
        let isa = match op {
            A::Load => rtn(Op::DsReadB32, Op::DsReadB64),
            A::Exchange => rtn(Op::DsWrxchgRtnB32, Op::DsWrxchgRtnB64),
            A::CompareExchange if self.isa.has(Op::DsCmpstRtnB32) => rtn(Op::DsCmpstRtnB32, Op::DsCmpstRtnB64),
            A::CompareExchange => rtn(Op::DsCmpstoreRtnB32, Op::DsCmpstoreRtnB64),
            A::IAdd => rtn(Op::DsAddRtnU32, Op::DsAddRtnU64),
            A::ISub => rtn(Op::DsSubRtnU32, Op::DsSubRtnU64),
            A::SMin => rtn(Op::DsMinRtnI32, Op::DsMinRtnI64),
            A::UMin => rtn(Op::DsMinRtnU32, Op::DsMinRtnU64),
            A::SMax => rtn(Op::DsMaxRtnI32, Op::DsMaxRtnI64),
            A::UMax => rtn(Op::DsMaxRtnU32, Op::DsMaxRtnU64),
            A::And => rtn(Op::DsAndRtnB32, Op::DsAndRtnB64),
            A::Or => rtn(Op::DsOrRtnB32, Op::DsOrRtnB64),
            A::Xor => rtn(Op::DsXorRtnB32, Op::DsXorRtnB64),
            A::FAdd if !wide => Op::DsAddRtnF32,
            A::FMin => rtn(Op::DsMinRtnF32, Op::DsMinRtnF64),
            A::FMax => rtn(Op::DsMaxRtnF32, Op::DsMaxRtnF64),
            A::FAdd | A::Store => return Err(Error::unsupported(format!("native: shared {op:?}"), "")),
        };
        let mut uses: Operands = [base].into_iter().collect();
        // The expected value is the IR's last operand.
        let order: &[usize] = match op {
            A::CompareExchange if self.isa.row(isa).is(Traits::NEW_FIRST) => &[1, 2],
            A::CompareExchange => &[2, 1],
            _ => &[1],
        };
        for &n in order.iter().filter(|n| **n < args.len()) {
            let words = self.words(args[n])?;
            uses.extend(self.vector_run(&words));
        }
        let vals = self.vectors(if wide { 2 } else { 1 });
        self.push(Opcode::Isa(isa), &run_of(&vals), &uses, extra, false);
        if let Some(result) = result {
            let words: Dwords = vals.iter().map(|v| OperandValue::Val(*v)).collect();
            self.set(result, &words);
        }
        Ok(())
    }

    /// An address as a sum of a base and a constant.
    pub(super) fn base_and_offset(&self, v: Value) -> Result<(OperandValue, u32)> {
        if let Some(offset) = self.known(v) {
            return Ok((OperandValue::Const(0), offset));
        }
        if let Some(inst) = self.shader.def(v)
            && let IrOp::Alu(AluOp::IAdd, _) = inst.op
        {
            for (base, offset) in [(inst.args[0], inst.args[1]), (inst.args[1], inst.args[0])] {
                if let Some(offset) = self.known(offset).filter(|n| *n < 1 << 31) {
                    return Ok((self.word(base)?, offset));
                }
            }
        }
        Ok((self.word(v)?, 0))
    }
}

/// Number of bytes that one access moves at least: 1, 2 or 4.
pub(super) fn unit_of(bytes: u32, align: Align) -> u32 {
    let whole = 1 << bytes.trailing_zeros().min(2);
    whole.min(align.bytes())
}

/// Accesses that together move this many bytes, each with its offset.
fn cut(bytes: u32, align: Align) -> SmallVec<[(u32, &'static Width); 16]> {
    let (mut out, mut at) = (SmallVec::new(), 0);
    let unit = unit_of(bytes, align);
    while at < bytes {
        let known = if at == 0 { align.bytes() } else { align.bytes().min(1 << at.trailing_zeros().min(8)) };
        let fits = |w: &&Width| w.bytes <= bytes - at && w.align <= known && (unit >= 4 || w.bytes == unit);
        let Some(width) = WIDTHS.iter().find(fits) else { break };
        out.push((at, width));
        at += width.bytes;
    }
    out
}

/// The offset fields of an access, if its offset fits them.
fn offsets(offset: u32, two: Option<u32>) -> Option<Extra> {
    let offsets = match two {
        None => u16::try_from(offset).ok()?.to_le_bytes(),
        Some(element) => {
            let first = u8::try_from(offset / element).ok().filter(|_| offset.is_multiple_of(element))?;
            [first, first.checked_add(1)?]
        }
    };
    Some(Extra::Ds { offsets })
}
