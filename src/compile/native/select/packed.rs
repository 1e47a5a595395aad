//! Two 16-bit values in one register: packed arithmetic, and halves of registers put together.
//!
//! A packed instruction reads either half of a register for each half of its result, and changes signs of floats. So it
//! reads a swizzle of two halves of one register directly, and only halves of different registers are put together.

use super::half::Half;
use super::{Dwords, PLAIN, Selector};
use crate::mir::{Extra, OperandValue, Val};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Inst, Op as IrOp, Type, Value};
use dovetail_isa::instruction::Modifiers;
use dovetail_isa::{Op, OperandKind, Src};

/// The packed operation, whether it takes its operands in reverse order, and its fixed modifiers.
const fn packed_op(op: AluOp) -> Option<(Op, bool, Modifiers)> {
    use AluOp as A;
    // The third bit of `op_sel_hi` is set even for operations with two sources.
    const HALVES: Modifiers = Modifiers { op_sel_hi: 7, ..PLAIN };
    const CLAMPED: Modifiers = Modifiers { clamp: true, ..HALVES };
    const SECOND_NEGATED: Modifiers = Modifiers { neg: 2, neg_hi: 2, ..HALVES };
    Some(match op {
        A::IAdd => (Op::VPkAddU16, false, HALVES),
        A::ISub => (Op::VPkSubU16, false, HALVES),
        A::IMul => (Op::VPkMulLoU16, false, HALVES),
        A::Shl => (Op::VPkLshlrevB16, true, HALVES),
        A::LShr => (Op::VPkLshrrevB16, true, HALVES),
        A::AShr => (Op::VPkAshrrevI16, true, HALVES),
        A::UMin => (Op::VPkMinU16, false, HALVES),
        A::UMax => (Op::VPkMaxU16, false, HALVES),
        A::SMin => (Op::VPkMinI16, false, HALVES),
        A::SMax => (Op::VPkMaxI16, false, HALVES),
        A::UAddSat => (Op::VPkAddU16, false, CLAMPED),
        A::USubSat => (Op::VPkSubU16, false, CLAMPED),
        A::SAddSat => (Op::VPkAddI16, false, CLAMPED),
        A::SSubSat => (Op::VPkSubI16, false, CLAMPED),
        A::FAdd => (Op::VPkAddF16, false, HALVES),
        A::FSub => (Op::VPkAddF16, false, SECOND_NEGATED),
        A::FMul => (Op::VPkMulF16, false, HALVES),
        A::FFma => (Op::VPkFmaF16, false, HALVES),
        A::FMin => (Op::VPkMinF16, false, HALVES),
        A::FMax => (Op::VPkMaxF16, false, HALVES),
        _ => return None,
    })
}

impl Selector<'_> {
    /// Arithmetic on both halves of a dword.
    pub(super) fn packed(&mut self, op: AluOp, args: &[Value], result: Value) -> Result<()> {
        let Some((isa, reversed, mut mods)) = packed_op(op) else {
            return Err(Error::bug(format!("native: {} of two halves", op.name())));
        };
        let kind = if op.takes_float() { OperandKind::PF16 } else { OperandKind::P16 };
        let mut words = Dwords::new();
        for n in 0..args.len() {
            let arg = args[if reversed { args.len() - 1 - n } else { n }];
            let [low, high] = self.sources(arg, kind)?;
            let bit = |set: bool| u8::from(set) << n;
            words.push(low.0.word);
            mods.op_sel |= bit(low.0.high);
            mods.op_sel_hi &= !bit(!high.0.high);
            mods.neg ^= bit(low.1);
            mods.neg_hi ^= bit(high.1);
        }
        let made = self.v_with(isa, &words, Extra::Vector(mods));
        self.set_val(result, made);
        Ok(())
    }

    /// Both halves that a packed operation reads, in one dword, and whether it changes their signs.
    fn sources(&mut self, v: Value, kind: OperandKind) -> Result<[(Half, bool); 2]> {
        let word = self.word(v)?;
        if let OperandValue::Const(bits) = word {
            return Ok(self.constant_halves(bits, kind));
        }
        if let Some(Inst { op: IrOp::Compose, args, .. }) = self.shader.def(v)
            && let &[low, high] = args.as_slice()
        {
            let halves = [low, high].map(|v| self.signed_half(v, kind));
            if let [Ok(low), Ok(high)] = halves
                && low.0.word == high.0.word
                && matches!(low.0.word, OperandValue::Val(_))
            {
                return Ok([low, high]);
            }
        }
        Ok([false, true].map(|high| (Half { word, high }, false)))
    }

    /// Where a 16-bit value is; for floats also before its sign was changed.
    fn signed_half(&self, v: Value, kind: OperandKind) -> Result<(Half, bool)> {
        match self.shader.def(v) {
            Some(Inst { op: IrOp::Alu(AluOp::FNeg, _), args, .. }) if kind == OperandKind::PF16 => {
                Ok((self.half(args[0])?, true))
            }
            _ => Ok((self.half(v)?, false)),
        }
    }

    /// Constant halves: an inline constant if they are equal, otherwise a literal.
    fn constant_halves(&mut self, bits: u32, kind: OperandKind) -> [(Half, bool); 2] {
        let (low, high) = (bits as u16, (bits >> 16) as u16);
        let single = if kind == OperandKind::PF16 { OperandKind::F16 } else { OperandKind::B16 };
        let inline = |half: u16| {
            let short = Src::constant(single, half.into());
            let wide = match short? {
                Src::Int(n) => i32::from(n).cast_unsigned(),
                Src::Float(_) => half.into(),
                _ => return None,
            };
            Some(OperandValue::Const(wide))
        };
        let same = |word: OperandValue, flipped: bool| [false, flipped].map(|neg| (Half { word, high: false }, neg));
        if let Some(word) = inline(low).filter(|_| low == high) {
            return same(word, false);
        }
        if let Some(word) = inline(low).filter(|_| kind == OperandKind::PF16 && low == high ^ 0x8000) {
            return same(word, true);
        }
        // Where a literal of two halves has the bits of an inline constant, that would be read differently.
        let word = match Src::constant(kind, bits.into()) {
            Some(Src::Literal(_)) => OperandValue::Const(bits),
            _ => OperandValue::Val(self.literal(OperandValue::Const(bits))),
        };
        [false, true].map(|high| (Half { word, high }, false))
    }

    /// Where a 16-bit value is.
    pub(super) fn half(&self, v: Value) -> Result<Half> {
        let place =
            self.halves[v.index()].filter(|(half, block)| *block == self.here || !self.is_scalar_word(half.word));
        match place {
            Some((half, _)) => Ok(half),
            None => Ok(Half { word: self.word(v)?, high: false }),
        }
    }

    /// Records that a 16-bit value is also a half of a dword, besides the low half of its own.
    pub(super) fn is_half(&mut self, v: Value, word: OperandValue, high: bool) {
        if matches!(word, OperandValue::Val(_)) && !self.escapes[v.index()] {
            self.halves[v.index()] = Some((Half { word, high }, self.here));
        }
    }

    /// Two 16-bit values as a dword.
    pub(super) fn join_halves(&mut self, low: Value, high: Value) -> Result<OperandValue> {
        use OperandValue::{Const, Undef};
        let (a, b) = (self.half(low)?, self.half(high)?);
        let scalar = self.is_scalar_word(a.word) && self.is_scalar_word(b.word);
        Ok(match (a.word, b.word) {
            (Undef, Undef) => Undef,
            (Const(a), Const(b)) => Const(a & 0xffff | b << 16),
            _ if a.word == b.word && !a.high && b.high => a.word,
            // Undefined bits are those that the register has there.
            (_, Undef) if !a.high => a.word,
            (Undef, _) if b.high => b.word,
            (_, Undef) => self.word(low)?,
            (Undef, word) => self.shifted_up(word),
            (Const(0), word) if !b.high => self.shifted_up(word),
            (word, Const(0)) if !a.high => self.integer_of(AluOp::IAnd, &[word, Const(0xffff)])?,
            (word, Const(0)) => self.integer_of(AluOp::LShr, &[word, Const(16)])?,
            (Const(_), _) | (_, Const(_)) if scalar => {
                let words = [self.word(low)?, self.word(high)?];
                OperandValue::Val(self.s(Op::SPackLlB32B16, &words))
            }
            (Const(value), word) if !b.high => {
                OperandValue::Val(self.v(Op::VLshlOrB32, &[word, Const(16), Const(value & 0xffff)]))
            }
            (word, Const(value)) if !a.high => {
                OperandValue::Val(self.v(Op::VAndOrB32, &[word, Const(0xffff), Const(value << 16)]))
            }
            _ if scalar => OperandValue::Val(match (a.high, b.high) {
                (false, false) => self.s(Op::SPackLlB32B16, &[a.word, b.word]),
                (false, true) => self.s(Op::SPackLhB32B16, &[a.word, b.word]),
                (true, true) => self.s(Op::SPackHhB32B16, &[a.word, b.word]),
                (true, false) => {
                    let low = self.word(low)?;
                    self.s(Op::SPackLlB32B16, &[low, b.word])
                }
            }),
            _ if a.high && !b.high => OperandValue::Val(self.v(Op::VAlignbitB32, &[b.word, a.word, Const(16)])),
            _ if !a.high && b.high => OperandValue::Val(self.v(Op::VBfiB32, &[Const(0xffff), a.word, b.word])),
            _ => {
                let selector = if a.high { 0x0706_0302 } else { 0x0504_0100 };
                OperandValue::Val(self.v(Op::VPermB32, &[b.word, a.word, Const(selector)]))
            }
        })
    }

    fn shifted_up(&mut self, word: OperandValue) -> OperandValue {
        match self.is_scalar_word(word) {
            true => OperandValue::Val(self.s(Op::SLshlB32, &[word, OperandValue::Const(16)])),
            false => OperandValue::Val(self.v(Op::VLshlrevB32, &[OperandValue::Const(16), word])),
        }
    }

    /// Chooses between high halves where they are.
    pub(super) fn select_high(&mut self, mask: [Val; 2], args: [Value; 2], result: Value) -> Result<bool> {
        if self.shader.ty(result) != Type::B16 {
            return Ok(false);
        }
        let halves = [self.half(args[0])?, self.half(args[1])?];
        if halves.iter().all(|half| !half.high) {
            return Ok(false);
        }
        let mut words = Dwords::new();
        for half in halves {
            match half.word {
                OperandValue::Const(bits) => words.push(OperandValue::Const(bits << 16)),
                word if half.high => words.push(word),
                _ => return Ok(false),
            }
        }
        let made = OperandValue::Val(self.by_mask(mask, words[0], words[1]));
        let low = self.integer_of(AluOp::LShr, &[made, OperandValue::Const(16)])?;
        self.set(result, &[low]);
        self.is_half(result, made, true);
        Ok(true)
    }
}
