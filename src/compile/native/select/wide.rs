//! Selects 64-bit integer operations, on two dwords each.

use super::{Dwords, Operands, Selector, mask_run, run_of};
use crate::mir::{Extra, Operand, OperandValue, RegisterClass, Val};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Type, Value};
use dovetail_isa::Op;
use smallvec::SmallVec;

impl Selector<'_> {
    /// An integer operation of 64 bits.
    pub(super) fn wide(&mut self, op: AluOp, args: &[Value], result: Value) -> Result<()> {
        use AluOp as A;
        let words: SmallVec<[Dwords; 3]> = args.iter().map(|v| self.words(*v)).collect::<Result<_>>()?;
        let zero: Dwords = [OperandValue::Const(0), OperandValue::Const(0)].into_iter().collect();
        let made = match op {
            A::IAdd => self.add_wide(&words[0], &words[1])?,
            A::ISub => self.subtract_wide(&words[0], &words[1]),
            A::INeg => self.subtract_wide(&zero, &words[0]),
            A::IAnd | A::IOr | A::IXor | A::INot => {
                let mut out = Dwords::new();
                for half in 0..2 {
                    let halves: Dwords = words.iter().map(|w| w[half]).collect();
                    out.push(self.integer_of(op, &halves)?);
                }
                out
            }
            A::IMul => self.multiply_wide(&words[0], &words[1])?,
            A::Shl | A::LShr | A::AShr => self.shift_wide(op, &words)?,
            A::BitCount => {
                let low = self.integer_of(op, &words[0][..1])?;
                let high = self.integer_of(op, &words[0][1..])?;
                [self.integer_of(A::IAdd, &[low, high])?].into_iter().collect()
            }
            A::BitReverse => {
                let (low, high) = (self.integer_of(op, &words[0][..1])?, self.integer_of(op, &words[0][1..])?);
                [high, low].into_iter().collect()
            }
            _ => return Err(Error::unsupported(format!("native: {} of 64 bits", op.name()), "")),
        };
        self.set(result, &made);
        Ok(())
    }

    fn all_scalar(&self, words: &[&[OperandValue]]) -> bool {
        words.iter().all(|w| w.iter().all(|word| self.is_scalar_word(*word)))
    }

    /// The sum of two addresses or numbers.
    pub(super) fn add_wide(&mut self, x: &[OperandValue], y: &[OperandValue]) -> Result<Dwords> {
        if self.all_scalar(&[x, y]) {
            return Ok(self.scalar_chain([Op::SAddU32, Op::SAddcU32], x, y));
        }
        Ok(self.vector_chain([Op::VAddCoU32, Op::VAddCoCiU32], x, y))
    }

    fn subtract_wide(&mut self, x: &[OperandValue], y: &[OperandValue]) -> Dwords {
        if self.all_scalar(&[x, y]) {
            return self.scalar_chain([Op::SSubU32, Op::SSubbU32], x, y);
        }
        self.vector_chain([Op::VSubCoU32, Op::VSubCoCiU32], x, y)
    }

    /// Two scalar instructions with the carry in SCC.
    fn scalar_chain(&mut self, ops: [Op; 2], x: &[OperandValue], y: &[OperandValue]) -> Dwords {
        // Moves that operands need come first: nothing may be between the two instructions.
        let halves: Vec<Operands> = (0..2)
            .map(|half| {
                let uses = [self.scalar(x[half]), self.scalar(y[half])].into_iter().collect();
                self.one_literal(uses)
            })
            .collect();
        let mut out = Dwords::new();
        for (op, uses) in ops.into_iter().zip(halves) {
            let val = self.f.value(RegisterClass::Scalar);
            self.isa(op, &[Operand::val(val)], &uses, Extra::None);
            out.push(OperandValue::Val(val));
        }
        out
    }

    /// Two vector instructions with the carry in a mask.
    fn vector_chain(&mut self, ops: [Op; 2], x: &[OperandValue], y: &[OperandValue]) -> Dwords {
        let mut out = Dwords::new();
        let mut carry: Option<[Val; 2]> = None;
        for (half, op) in ops.into_iter().enumerate() {
            let mut uses: Operands = [x[half], y[half]].iter().map(|word| Self::any(*word)).collect();
            if let Some(mask) = carry {
                uses.extend(mask_run(self.wave, mask));
            }
            let (made, mask) = self.with_carry_out(op, uses, 1);
            carry = Some(mask);
            out.extend(made);
        }
        out
    }

    /// A vector instruction with a carry out besides its result.
    pub(super) fn with_carry_out(&mut self, op: Op, uses: Operands, dwords: usize) -> (Dwords, [Val; 2]) {
        let uses = self.fit(op, uses);
        let (vals, carry) = (self.vectors(dwords), self.new_mask());
        let mut defs = run_of(&vals);
        defs.extend(mask_run(self.wave, carry));
        self.isa(op, &defs, &uses, Extra::None);
        (vals.iter().map(|val| OperandValue::Val(*val)).collect(), carry)
    }

    /// Low 64 bits of a product.
    fn multiply_wide(&mut self, x: &[OperandValue], y: &[OperandValue]) -> Result<Dwords> {
        use AluOp as A;
        let [low, mut high] = if self.all_scalar(&[&x[..1], &y[..1]]) {
            [self.integer_of(A::IMul, &[x[0], y[0]])?, self.integer_of(A::UMulHigh, &[x[0], y[0]])?]
        } else {
            // All 64 bits of the product of two dwords that differ between lanes.
            let uses = [Self::any(x[0]), Self::any(y[0]), Operand::constant(0)].into_iter().collect();
            let (made, _) = self.with_carry_out(Op::VMadU64U32, uses, 2);
            [made[0], made[1]]
        };
        for (a, b) in [(x[0], y[1]), (x[1], y[0])] {
            if a == OperandValue::Const(0) || b == OperandValue::Const(0) {
                continue;
            }
            let part = self.integer_of(A::IMul, &[a, b])?;
            high = self.integer_of(A::IAdd, &[high, part])?;
        }
        Ok([low, high].into_iter().collect())
    }

    fn shift_wide(&mut self, op: AluOp, words: &[Dwords]) -> Result<Dwords> {
        use AluOp as A;
        if let OperandValue::Const(amount) = words[1][0] {
            return self.shift_by(op, &words[0], amount & 63);
        }
        let (scalar_op, vector_op) = match op {
            A::Shl => (Op::SLshlB64, Op::VLshlrevB64),
            A::LShr => (Op::SLshrB64, Op::VLshrrevB64),
            _ => (Op::SAshrI64, Op::VAshrrevI64),
        };
        if self.all_scalar(&[&words[0], &words[1][..1]]) {
            let mut uses = self.scalar_run(&words[0]);
            uses.push(self.scalar(words[1][0]));
            let vals = self.scalars(2);
            self.isa(scalar_op, &run_of(&vals), &uses, Extra::None);
            return Ok(vals.iter().map(|v| OperandValue::Val(*v)).collect());
        }
        let amount = self.vector(words[1][0]);
        let mut uses: Operands = [amount].into_iter().collect();
        uses.extend(self.vector_run(&words[0]));
        let vals = self.vectors(2);
        self.isa(vector_op, &run_of(&vals), &uses, Extra::None);
        Ok(vals.iter().map(|v| OperandValue::Val(*v)).collect())
    }

    /// A shift by a known amount: at most half of the work.
    fn shift_by(&mut self, op: AluOp, words: &[OperandValue], amount: u32) -> Result<Dwords> {
        use AluOp as A;
        let k = OperandValue::Const;
        Ok(match (op, amount) {
            (_, 0) => words.iter().copied().collect(),
            (A::Shl, 32..) => [k(0), self.integer_of(op, &[words[0], k(amount - 32)])?].into_iter().collect(),
            (A::LShr, 32..) => [self.integer_of(op, &[words[1], k(amount - 32)])?, k(0)].into_iter().collect(),
            (A::AShr, 32..) => {
                let sign = self.integer_of(op, &[words[1], k(31)])?;
                [self.integer_of(op, &[words[1], k(amount - 32)])?, sign].into_iter().collect()
            }
            (A::Shl, _) => {
                let low = self.integer_of(A::Shl, &[words[0], k(amount)])?;
                [low, self.funnel(words, 32 - amount)?].into_iter().collect()
            }
            _ => {
                let high = self.integer_of(op, &[words[1], k(amount)])?;
                [self.funnel(words, amount)?, high].into_iter().collect()
            }
        })
    }

    /// 32 bits of a pair, starting at a given bit.
    fn funnel(&mut self, words: &[OperandValue], from: u32) -> Result<OperandValue> {
        if self.all_scalar(&[words]) {
            let (low, high) = (
                self.integer_of(AluOp::LShr, &[words[0], OperandValue::Const(from)])?,
                self.integer_of(AluOp::Shl, &[words[1], OperandValue::Const(32 - from)])?,
            );
            return self.integer_of(AluOp::IOr, &[low, high]);
        }
        Ok(OperandValue::Val(self.v(Op::VAlignbitB32, &[words[1], words[0], OperandValue::Const(from)])))
    }

    /// Whether a value has 64 bits.
    pub(super) fn is_wide(&self, v: Value) -> bool {
        self.shader.ty(v) == Type::B64
    }
}
