//! Integers of 8 and 16 bits, and changes of width.
//!
//! A narrow value is in the low bits of a dword; the bits above it are undefined. Operations whose low result bits
//! depend only on low operand bits are the 32-bit ones; others extend their operands first.

use super::Selector;
use crate::mir::OperandValue;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Bits, Type, Value};
use dovetail_isa::Op;

/// The vector operation on 16 bits where a 32-bit one would need its operands extended or take longer, and whether it takes
/// them in reverse order.
const fn half_op(op: AluOp) -> Option<(Op, bool)> {
    use AluOp as A;
    Some(match op {
        A::IMul => (Op::VMulLoU16, false),
        A::UMin => (Op::VMinU16, false),
        A::UMax => (Op::VMaxU16, false),
        A::SMin => (Op::VMinI16, false),
        A::SMax => (Op::VMaxI16, false),
        A::LShr => (Op::VLshrrevB16, true),
        A::AShr => (Op::VAshrrevI16, true),
        _ => return None,
    })
}

impl Selector<'_> {
    /// A narrow value, sign- or zero-extended; a 32-bit value is returned as it is.
    pub(super) fn extended(&mut self, v: Value, signed: bool) -> Result<OperandValue> {
        let bits = self.shader.ty(v).bits();
        let word = self.word(v)?;
        Ok(self.extend(word, bits, signed))
    }

    fn extend(&mut self, word: OperandValue, bits: Bits, signed: bool) -> OperandValue {
        let count = bits.count();
        if count >= 32 || word == OperandValue::Undef {
            return word;
        }
        if let OperandValue::Const(value) = word {
            let up = 32 - count;
            let low = value << up;
            return OperandValue::Const(if signed { ((low as i32) >> up) as u32 } else { low >> up });
        }
        let scalar = self.is_scalar_word(word);
        OperandValue::Val(match (scalar, signed, bits) {
            (true, true, Bits::B8) => self.s(Op::SSextI32I8, &[word]),
            (true, true, _) => self.s(Op::SSextI32I16, &[word]),
            (true, false, _) => self.s(Op::SAndB32, &[word, OperandValue::Const((1 << count) - 1)]),
            (false, true, _) => self.v(Op::VBfeI32, &[word, OperandValue::Const(0), OperandValue::Const(count)]),
            (false, false, _) => self.v(Op::VAndB32, &[OperandValue::Const((1 << count) - 1), word]),
        })
    }

    /// An integer operation of 8 or 16 bits.
    pub(super) fn narrow(&mut self, op: AluOp, args: &[Value], result: Value) -> Result<()> {
        use AluOp as A;
        let bits = self.shader.ty(args[0]).bits();
        if let Some((isa, reversed)) = half_op(op).filter(|_| bits == Bits::B16)
            && !args.iter().all(|v| self.is_scalar(*v))
        {
            let mut words = self.only_words(args)?;
            if reversed {
                words.reverse();
            }
            let made = self.v(isa, &words);
            self.set_val(result, made);
            return Ok(());
        }
        let words = match op {
            A::IAdd | A::ISub | A::IMul | A::IAnd | A::IOr | A::IXor | A::INot | A::INeg => self.only_words(args)?,
            A::Shl => {
                let (x, amount) = (self.word(args[0])?, self.extended(args[1], false)?);
                [x, amount].into_iter().collect()
            }
            A::LShr | A::UMin | A::UMax | A::BitCount | A::FindUMsb => self.extend_all(args, false)?,
            A::AShr => {
                let (x, amount) = (self.extended(args[0], true)?, self.extended(args[1], false)?);
                [x, amount].into_iter().collect()
            }
            A::SMin | A::SMax | A::IAbs => self.extend_all(args, true)?,
            // The upper bits are undefined: clear them, so that only bits of the value are found.
            A::FindILsb => self.extend_all(args, false)?,
            A::UAddSat | A::USubSat | A::SAddSat | A::SSubSat => return self.saturate(op, args, result),
            A::BitReverse => {
                let word = self.word(args[0])?;
                let reversed = self.integer_of(op, &[word])?;
                let low = self.integer_of(A::LShr, &[reversed, OperandValue::Const(32 - bits.count())])?;
                self.set(result, &[low]);
                return Ok(());
            }
            _ => return Err(Error::unsupported(format!("native: {} of {} bits", op.name(), bits.count()), "")),
        };
        let made = self.integer_of(op, &words)?;
        self.set(result, &[made]);
        Ok(())
    }

    fn extend_all(&mut self, args: &[Value], signed: bool) -> Result<super::Dwords> {
        args.iter().map(|v| self.extended(*v, signed)).collect()
    }

    /// Saturating sums and differences: 32-bit operations, clamped to the range.
    fn saturate(&mut self, op: AluOp, args: &[Value], result: Value) -> Result<()> {
        use AluOp as A;
        let count = self.shader.ty(args[0]).bits().count();
        let signed = matches!(op, A::SAddSat | A::SSubSat);
        let words = self.extend_all(args, signed)?;
        let made = match op {
            A::UAddSat => {
                let sum = self.integer_of(A::IAdd, &words)?;
                self.integer_of(A::UMin, &[sum, OperandValue::Const((1 << count) - 1)])?
            }
            A::USubSat => {
                let difference = self.integer_of(A::ISub, &words)?;
                self.integer_of(A::SMax, &[difference, OperandValue::Const(0)])?
            }
            _ => {
                let whole = self.integer_of(if op == A::SAddSat { A::IAdd } else { A::ISub }, &words)?;
                let most = (1u32 << (count - 1)) - 1;
                let below = self.integer_of(A::SMin, &[whole, OperandValue::Const(most)])?;
                self.integer_of(A::SMax, &[below, OperandValue::Const(!most)])?
            }
        };
        self.set(result, &[made]);
        Ok(())
    }

    /// Extension and truncation.
    pub(super) fn resize(&mut self, op: AluOp, v: Value, result: Value) -> Result<()> {
        let (from, to) = (self.shader.ty(v).bits(), self.shader.ty(result).bits());
        let words = self.words(v)?;
        if op == AluOp::Trunc || from.count() >= to.count() {
            let kept = to.count().div_ceil(32) as usize;
            self.set(result, &words[..kept]);
            return Ok(());
        }
        let signed = op == AluOp::SExt;
        let low = self.extend(words[0], from, signed);
        if to != Bits::B64 {
            self.set(result, &[low]);
            return Ok(());
        }
        let high = if signed {
            self.integer_of(AluOp::AShr, &[low, OperandValue::Const(31)])?
        } else {
            OperandValue::Const(0)
        };
        self.set(result, &[low, high]);
        Ok(())
    }

    /// Composes scalars to a vector. Narrow lanes share dwords, the first one lowest.
    pub(super) fn compose(&mut self, args: &[Value], result: Value) -> Result<()> {
        let bits = self.shader.ty(result).bits();
        if bits.count() >= 32 {
            let mut out = super::Dwords::new();
            for &v in args {
                out.extend(self.words(v)?);
            }
            self.set(result, &out);
            return Ok(());
        }
        if bits == Bits::B1 {
            return Err(Error::unsupported("native: a vector of conditions", ""));
        }
        let each = (32 / bits.count()) as usize;
        let mut out = super::Dwords::new();
        if bits == Bits::B16 {
            for lanes in args.chunks(2) {
                out.push(match *lanes {
                    [low, high] => self.join_halves(low, high)?,
                    _ => self.word(lanes[0])?,
                });
            }
            self.set(result, &out);
            return Ok(());
        }
        for lanes in args.chunks(each) {
            let mut dword: Option<OperandValue> = None;
            // From the last lane down: shifts the lanes above up by one place and inserts the next one below.
            for &v in lanes.iter().rev() {
                let word = self.word(v)?;
                dword = Some(match dword {
                    None => word,
                    Some(above) => self.stack(above, word, bits)?,
                });
            }
            out.extend(dword);
        }
        self.set(result, &out);
        Ok(())
    }

    /// `above` shifted up by one lane, with `low` in the lowest lane.
    fn stack(&mut self, above: OperandValue, low: OperandValue, bits: Bits) -> Result<OperandValue> {
        if low == OperandValue::Undef && above == OperandValue::Undef {
            return Ok(OperandValue::Undef);
        }
        if above == OperandValue::Undef {
            return Ok(low);
        }
        let low = if low == OperandValue::Undef { OperandValue::Const(0) } else { self.extend(low, bits, false) };
        let count = OperandValue::Const(bits.count());
        if let (OperandValue::Const(a), OperandValue::Const(b)) = (above, low) {
            return Ok(OperandValue::Const(a << bits.count() | b));
        }
        if self.is_scalar_word(above) && self.is_scalar_word(low) {
            let up = self.integer_of(AluOp::Shl, &[above, count])?;
            return self.integer_of(AluOp::IOr, &[up, low]);
        }
        Ok(OperandValue::Val(self.v(Op::VLshlOrB32, &[above, count, low])))
    }

    /// One lane of a vector.
    pub(super) fn extract(&mut self, v: Value, lane: u32, result: Value) -> Result<()> {
        let bits = self.shader.ty(v).bits().count();
        let words = self.words(v)?;
        if bits >= 32 {
            let each = (bits / 32) as usize;
            let start = lane as usize * each;
            let part =
                words.get(start..start + each).ok_or_else(|| Error::bug(format!("native: lane {lane} of {v}")))?;
            let part: super::Dwords = part.iter().copied().collect();
            self.set(result, &part);
            return Ok(());
        }
        let (at, shift) = ((lane * bits / 32) as usize, lane * bits % 32);
        let word = *words.get(at).ok_or_else(|| Error::bug(format!("native: lane {lane} of {v}")))?;
        let made = match word {
            _ if shift == 0 => word,
            OperandValue::Undef => word,
            OperandValue::Const(value) => OperandValue::Const(value >> shift & ((1 << bits) - 1)),
            _ => self.integer_of(AluOp::LShr, &[word, OperandValue::Const(shift)])?,
        };
        self.set(result, &[made]);
        if bits == 16 {
            self.is_half(result, word, shift == 16);
        }
        Ok(())
    }

    /// The type of a value as a number of dwords.
    pub(super) fn dword_count(&self, ty: Type) -> usize {
        ty.total_bits().div_ceil(32) as usize
    }
}
