//! Integer arithmetic of 32 bits, and the dispatch to other widths.

use super::bools::Bool;
use super::{PLAIN, Selector, mask_run};
use crate::mir::{Extra, Operand, OperandValue, Pseudo, RegisterClass, Val};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Bits, FpFlags, Inst, Sig, SymbolId, Type, Value};
use dovetail_isa::Op;
use dovetail_isa::instruction::Modifiers;

/// Operations with the same operands in both units: scalar, vector, and whether the vector operation takes them in
/// reverse order.
const fn both(op: AluOp) -> Option<(Op, Op, bool)> {
    use AluOp as A;
    Some(match op {
        A::IAdd => (Op::SAddU32, Op::VAddNcU32, false),
        A::ISub => (Op::SSubU32, Op::VSubNcU32, false),
        A::IMul => (Op::SMulI32, Op::VMulLoU32, false),
        A::UMulHigh => (Op::SMulHiU32, Op::VMulHiU32, false),
        A::SMulHigh => (Op::SMulHiI32, Op::VMulHiI32, false),
        A::IAnd => (Op::SAndB32, Op::VAndB32, false),
        A::IOr => (Op::SOrB32, Op::VOrB32, false),
        A::IXor => (Op::SXorB32, Op::VXorB32, false),
        A::INot => (Op::SNotB32, Op::VNotB32, false),
        A::Shl => (Op::SLshlB32, Op::VLshlrevB32, true),
        A::LShr => (Op::SLshrB32, Op::VLshrrevB32, true),
        A::AShr => (Op::SAshrI32, Op::VAshrrevI32, true),
        A::UMin => (Op::SMinU32, Op::VMinU32, false),
        A::UMax => (Op::SMaxU32, Op::VMaxU32, false),
        A::SMin => (Op::SMinI32, Op::VMinI32, false),
        A::SMax => (Op::SMaxI32, Op::VMaxI32, false),
        A::BitReverse => (Op::SBrevB32, Op::VBfrevB32, false),
        A::FindILsb => (Op::SFf1I32B32, Op::VFfblB32, false),
        _ => return None,
    })
}

/// Whether a vector operation is commutative.
const fn commutes(op: Op) -> bool {
    matches!(
        op,
        Op::VAddNcU32
            | Op::VAndB32
            | Op::VOrB32
            | Op::VXorB32
            | Op::VMinU32
            | Op::VMaxU32
            | Op::VMinI32
            | Op::VMaxI32
            | Op::VAddF32
            | Op::VMulF32
            | Op::VMinF32
            | Op::VMaxF32
            | Op::VAddF16
            | Op::VMulF16
            | Op::VMinF16
            | Op::VMaxF16
            | Op::VMulLegacyF32
    )
}

impl Selector<'_> {
    /// One arithmetic instruction.
    pub(super) fn alu(&mut self, op: AluOp, flags: FpFlags, inst: &Inst, result: Value) -> Result<()> {
        use AluOp as A;
        let args = &inst.args[..];
        let (from, to) = (self.shader.ty(args[0]), self.shader.ty(result));
        match op {
            _ if to.is_pair() => return self.packed(op, args, result),
            A::Select => return self.select(args, result),
            A::ZExt | A::SExt if from == Type::B1 => return self.bool_to_int(op, args[0], result, to),
            A::Trunc if to == Type::B1 => return self.lowest_bit(args[0], result),
            A::ZExt | A::SExt | A::Trunc => return self.resize(op, args[0], result),
            A::UAddCarry | A::USubBorrow => return self.carry(op, args, result),
            _ if op.sig() == Sig::Compare => return self.compare(op, args, result),
            _ if from == Type::B1 => return self.logic(op, args, result),
            _ if op.takes_float() || matches!(op, A::S2F | A::U2F) => return self.float(op, flags, args, result),
            _ => {}
        }
        match from.bits() {
            Bits::B32 => self.integer(op, args, result),
            Bits::B64 => self.wide(op, args, result),
            _ => self.narrow(op, args, result),
        }
    }

    /// An integer operation of 32 bits.
    fn integer(&mut self, op: AluOp, args: &[Value], result: Value) -> Result<()> {
        let made = match self.with_carry(op, args)? {
            Some(made) => made,
            None => {
                let words = self.only_words(args)?;
                self.integer_of(op, &words)?
            }
        };
        self.set(result, &[made]);
        Ok(())
    }

    /// A sum or difference with a condition as 0 or 1, which becomes the carry.
    fn with_carry(&mut self, op: AluOp, args: &[Value]) -> Result<Option<OperandValue>> {
        let (scalar, vector) = match op {
            AluOp::IAdd => (Op::SAddcU32, Op::VAddCoCiU32),
            AluOp::ISub => (Op::SSubbU32, Op::VSubrevCoCiU32),
            _ => return Ok(None),
        };
        let condition = |v: Value| match self.shader.def(v)? {
            Inst { op: dovetail_ir::Op::Alu(AluOp::ZExt, _), args, .. } if self.shader.ty(args[0]) == Type::B1 => {
                self.bool_of(args[0]).ok()
            }
            _ => None,
        };
        let (x, condition) = match (condition(args[0]), condition(args[1])) {
            (_, Some(second)) => (args[0], second),
            (Some(first), None) if op == AluOp::IAdd => (args[1], first),
            _ => return Ok(None),
        };
        let x = self.word(x)?;
        Ok(match condition {
            Bool::Mask(mask) => {
                let mut uses: super::Operands = [Operand::constant(0), Self::any(x)].into_iter().collect();
                uses.extend(mask_run(self.wave, mask));
                let (sum, _) = self.with_carry_out(vector, uses, 1);
                Some(sum[0])
            }
            Bool::Compare(..) if self.is_scalar_word(x) => {
                let x = self.scalar(x);
                // Nothing may come between the comparison and the carry.
                self.put_in_scc(condition);
                let sum = self.f.value(RegisterClass::Scalar);
                self.isa(scalar, &[Operand::val(sum)], &[x, Operand::constant(0)], Extra::None);
                Some(OperandValue::Val(sum))
            }
            _ => None,
        })
    }

    pub(super) fn only_words(&self, args: &[Value]) -> Result<super::Dwords> {
        args.iter().map(|v| self.word(*v)).collect()
    }

    /// An integer operation on dwords: a 32-bit operation, or a half of a 64-bit one.
    pub(super) fn integer_of(&mut self, op: AluOp, words: &[OperandValue]) -> Result<OperandValue> {
        use AluOp as A;
        if let Some(known) = identity(op, words) {
            return Ok(known);
        }
        let scalar = words.iter().all(|word| self.is_scalar_word(*word));
        let made = match (op, both(op)) {
            (_, Some((op, ..))) if scalar => self.s(op, words),
            (_, Some((_, op, reversed))) => {
                let mut words: super::Dwords = words.iter().copied().collect();
                if reversed
                    || commutes(op)
                        && words.len() == 2
                        && !self.is_scalar_word(words[0])
                        && self.is_scalar_word(words[1])
                {
                    words.reverse();
                }
                self.v(op, &words)
            }
            (A::INeg, _) => match scalar {
                true => self.s(Op::SSubU32, &[OperandValue::Const(0), words[0]]),
                false => self.v(Op::VSubNcU32, &[OperandValue::Const(0), words[0]]),
            },
            (A::IAbs, _) if scalar => self.s(Op::SAbsI32, words),
            (A::IAbs, _) => {
                let negated = self.v(Op::VSubNcU32, &[OperandValue::Const(0), words[0]]);
                self.v(Op::VMaxI32, &[words[0], OperandValue::Val(negated)])
            }
            (A::BitCount, _) if scalar => self.s(Op::SBcnt1I32B32, words),
            (A::BitCount, _) => self.v(Op::VBcntU32B32, &[words[0], OperandValue::Const(0)]),
            (A::UAddSat, _) => self.saturating(Op::VAddNcU32, words),
            (A::USubSat, _) => self.saturating(Op::VSubNcU32, words),
            (A::SAddSat, _) => self.saturating(Op::VAddNcI32, words),
            (A::SSubSat, _) => self.saturating(Op::VSubNcI32, words),
            (A::FindUMsb, _) => return Ok(self.highest_bit(words[0], scalar)),
            (A::UBitExtract | A::SBitExtract, _) => {
                let signed = op == A::SBitExtract;
                match (scalar, words) {
                    (true, &[x, OperandValue::Const(offset), OperandValue::Const(count)]) => {
                        let field = OperandValue::Const(offset & 31 | (count & 0x7f) << 16);
                        self.s(if signed { Op::SBfeI32 } else { Op::SBfeU32 }, &[x, field])
                    }
                    _ => self.v(if signed { Op::VBfeI32 } else { Op::VBfeU32 }, words),
                }
            }
            (A::SDot4, _) => self.signed_dot(words, false),
            (A::UDot4, _) => self.v(Op::VDot4U32U8, words),
            (A::SDot4Sat, _) => self.signed_dot(words, true),
            (A::UDot4Sat, _) => self.clamped(Op::VDot4U32U8, words),
            _ => return Err(Error::unsupported(format!("native: {} of 32 bits", op.name()), "")),
        };
        Ok(OperandValue::Val(made))
    }

    fn saturating(&mut self, op: Op, words: &[OperandValue]) -> Val {
        self.v_with(op, words, Extra::Vector(Modifiers { clamp: true, ..PLAIN }))
    }

    /// Products of signed bytes: by an instruction for them, or by one that takes the sign of each factor.
    fn signed_dot(&mut self, words: &[OperandValue], clamp: bool) -> Val {
        let (op, neg) = if self.isa.has(Op::VDot4I32I8) { (Op::VDot4I32I8, 0) } else { (Op::VDot4I32Iu8, 0b11) };
        self.v_with(op, words, Extra::Vector(Modifiers { clamp, neg, op_sel_hi: 7, ..PLAIN }))
    }

    fn clamped(&mut self, op: Op, words: &[OperandValue]) -> Val {
        // A packed operation reads the high halves for its high half.
        self.v_with(op, words, Extra::Vector(Modifiers { clamp: true, op_sel_hi: 7, ..PLAIN }))
    }

    /// The index of the highest set bit: the instruction counts from the top, and gives -1 if no bit is set.
    fn highest_bit(&mut self, word: OperandValue, scalar: bool) -> OperandValue {
        if scalar {
            let zeros = self.s(Op::SFlbitI32B32, &[word]);
            let index = self.s(Op::SSubU32, &[OperandValue::Const(31), OperandValue::Val(zeros)]);
            self.put_in_scc(Bool::Compare(Op::SCmpEqU32, word, OperandValue::Const(0)));
            return OperandValue::Val(
                self.s(Op::SCselectB32, &[OperandValue::Const(u32::MAX), OperandValue::Val(index)]),
            );
        }
        let zeros = self.v(Op::VFfbhU32, &[word]);
        let index = self.v(Op::VSubNcU32, &[OperandValue::Const(31), OperandValue::Val(zeros)]);
        let mask = self.new_mask();
        let uses = self.fit(Op::VCmpEqU32, [OperandValue::Const(0), word].iter().map(|w| Operand::one(*w)).collect());
        self.isa(Op::VCmpEqU32, &mask_run(self.wave, mask), &uses, Extra::None);
        OperandValue::Val(self.by_mask(mask, OperandValue::Const(u32::MAX), OperandValue::Val(index)))
    }

    fn select(&mut self, args: &[Value], result: Value) -> Result<()> {
        let &[cond, then, els] = args else { return Err(Error::bug("native: a select of other than three")) };
        if self.shader.ty(result) == Type::B1 {
            return self.logic(AluOp::Select, args, result);
        }
        let made = self.bool_of(cond)?;
        let (then, els) = (self.words(then)?, self.words(els)?);
        if let Bool::Const(value) = made {
            let words = if value { then } else { els };
            self.set(result, &words);
            return Ok(());
        }
        let scalar = made.is_scalar() && then.iter().chain(&els).all(|word| self.is_scalar_word(*word));
        let mut out = super::Dwords::new();
        if let Some((symbol, swapped)) = chosen_by(made).filter(|_| scalar) {
            for (then, els) in then.into_iter().zip(els) {
                if then == els {
                    out.push(then);
                    continue;
                }
                let [first, second] = if swapped { [els, then] } else { [then, els] };
                let uses = [first, second].map(|word| Operand::val(self.scalar_register(word)));
                let val = self.f.value(RegisterClass::Scalar);
                self.pseudo(Pseudo::Choose, &[Operand::val(val)], &uses, Extra::Choice(symbol));
                out.push(OperandValue::Val(val));
            }
        } else if scalar {
            for (then, els) in then.into_iter().zip(els) {
                // Making the operands may write SCC.
                let uses = [self.scalar(then), self.scalar(els)].into_iter().collect();
                let uses = self.one_literal(uses);
                self.put_in_scc(made);
                let val = self.f.value(RegisterClass::Scalar);
                self.isa(Op::SCselectB32, &[Operand::val(val)], &uses, Extra::None);
                out.push(OperandValue::Val(val));
            }
        } else {
            let mask = self.mask_from(made);
            if self.select_high(mask, [args[1], args[2]], result)? {
                return Ok(());
            }
            for (then, els) in then.into_iter().zip(els) {
                out.push(if then == els { then } else { OperandValue::Val(self.by_mask(mask, then, els)) });
            }
        }
        self.set(result, &out);
        Ok(())
    }

    /// Whether a sum or difference of 32 bits wraps.
    fn carry(&mut self, op: AluOp, args: &[Value], result: Value) -> Result<()> {
        if self.shader.ty(args[0]) != Type::B32 {
            return Err(Error::unsupported(format!("native: {} of {}", op.name(), self.shader.ty(args[0])), ""));
        }
        let [x, y] = [self.word(args[0])?, self.word(args[1])?];
        let scalar = self.is_scalar_word(x) && self.is_scalar_word(y);
        let made = match op {
            AluOp::USubBorrow if scalar => Bool::Compare(Op::SCmpLtU32, x, y),
            AluOp::USubBorrow => Bool::Mask(self.less(x, y)),
            // The sum has wrapped if it is less than an operand.
            _ => match self.integer_of(AluOp::IAdd, &[x, y])? {
                sum if scalar => Bool::Compare(Op::SCmpLtU32, sum, x),
                sum => Bool::Mask(self.less(sum, x)),
            },
        };
        self.set_bool(result, made);
        Ok(())
    }

    fn less(&mut self, x: OperandValue, y: OperandValue) -> [Val; 2] {
        let mask = self.new_mask();
        let uses = self.fit(Op::VCmpLtU32, [x, y].iter().map(|w| Operand::one(*w)).collect());
        self.isa(Op::VCmpLtU32, &mask_run(self.wave, mask), &uses, Extra::None);
        mask
    }

    /// The lowest bit as a condition.
    fn lowest_bit(&mut self, v: Value, result: Value) -> Result<()> {
        let word = self.words(v)?[0];
        let made = if self.is_scalar_word(word) {
            let bit = self.s(Op::SAndB32, &[word, OperandValue::Const(1)]);
            Bool::Flag(bit)
        } else {
            let bit = self.v(Op::VAndB32, &[OperandValue::Const(1), word]);
            Bool::Mask(self.mask_from(Bool::Lanes(bit)))
        };
        self.set_bool(result, made);
        Ok(())
    }
}

/// The symbol that alone decides a condition, if it must be nonzero; and whether the condition is inverted.
pub(super) fn chosen_by(made: Bool) -> Option<(SymbolId, bool)> {
    match made {
        Bool::Compare(op @ (Op::SCmpLgU32 | Op::SCmpEqU32), OperandValue::Reloc(symbol), OperandValue::Const(0)) => {
            Some((symbol, op == Op::SCmpEqU32))
        }
        _ => None,
    }
}

/// The result if it is a source or a constant. Earlier passes see whole values; halves of 64-bit values are known only
/// here.
fn identity(op: AluOp, words: &[OperandValue]) -> Option<OperandValue> {
    use AluOp as A;
    let &[a, b] = words else { return None };
    let (x, k) = match (a, b) {
        (x, OperandValue::Const(k)) => (x, k),
        (OperandValue::Const(k), x) if matches!(op, A::IAnd | A::IOr | A::IXor | A::IAdd | A::IMul | A::UMulHigh) => {
            (x, k)
        }
        (OperandValue::Const(0), _) if matches!(op, A::Shl | A::LShr | A::AShr) => return Some(OperandValue::Const(0)),
        _ => return None,
    };
    match (op, k) {
        (A::IOr | A::IXor | A::IAdd | A::ISub, 0) | (A::IAnd, u32::MAX) | (A::IMul, 1) => Some(x),
        (A::Shl | A::LShr | A::AShr, k) if k % 32 == 0 => Some(x),
        (A::IAnd | A::IMul, 0) | (A::UMulHigh, 0 | 1) => Some(OperandValue::Const(0)),
        (A::IOr, u32::MAX) => Some(OperandValue::Const(u32::MAX)),
        _ => None,
    }
}
