//! Conditions in their forms: a constant, a lane mask, a uniform flag or comparison, or 0 and 1 in a vector register.

use super::Made;
use super::{Operands, Selector, mask_run};
use crate::mir::{Cond, Extra, Operand, OperandValue, Val};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Type, Value};
use dovetail_isa::Op;
use smallvec::SmallVec;

/// Masks of conditions of the wave that are kept for the next use: each takes scalar registers until then.
const WAVE_MASKS: usize = 8;

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bool {
    /// A known condition.
    Const(bool),
    /// One bit per lane; 0 in inactive lanes.
    Mask([Val; 2]),
    /// Uniform: 0 or 1 in a scalar register.
    Flag(Val),
    /// Uniform: a scalar comparison, repeated before each use, because it writes only SCC.
    Compare(Op, OperandValue, OperandValue),
    /// 0 or 1 per lane in a vector register.
    Lanes(Val),
}

impl Bool {
    /// Whether it is uniform and available without vector registers.
    pub(super) fn is_scalar(self) -> bool {
        matches!(self, Self::Const(_) | Self::Flag(_) | Self::Compare(..))
    }
}

impl Selector<'_> {
    pub(super) fn bool_of(&self, v: Value) -> Result<Bool> {
        match self.made[v.index()] {
            Made::Bool(made) => Ok(made),
            Made::Dwords(..) => Err(Error::bug(format!("native: the number {v} as a condition"))),
            Made::None => Err(Error::bug(format!("native: {v} is used before it is made"))),
        }
    }

    pub(super) fn set_bool(&mut self, v: Value, made: Bool) {
        self.made[v.index()] = Made::Bool(made);
    }

    /// Puts a uniform condition into SCC; returns the value that SCC has if it is true.
    pub(super) fn put_in_scc(&mut self, made: Bool) -> Cond {
        match made {
            Bool::Compare(op, a, b) => {
                let uses: Operands = [a, b].iter().map(|word| self.scalar(*word)).collect();
                let uses = self.one_literal(uses);
                self.isa(op, &[], &uses, Extra::None);
            }
            Bool::Flag(flag) => self.isa(Op::SCmpLgU32, &[], &[Operand::val(flag), Operand::constant(0)], Extra::None),
            Bool::Const(value) => {
                let uses = [Operand::constant(u32::from(value)), Operand::constant(0)];
                self.isa(Op::SCmpLgU32, &[], &uses, Extra::None);
            }
            Bool::Mask(_) | Bool::Lanes(_) => {
                let mask = self.mask_from(made);
                let mut uses = mask_run(self.wave, mask);
                uses.push(Operand::constant(0));
                self.isa(self.lane_op(Op::SCmpLgU32, Op::SCmpLgU64), &[], &uses, Extra::None);
            }
        }
        Cond::Scc1
    }

    /// A condition as a lane mask.
    pub(super) fn mask_from(&mut self, made: Bool) -> [Val; 2] {
        let select = |this: &mut Self, op: Op, uses: &[Operand]| {
            let mask = this.new_mask();
            this.isa(op, &mask_run(this.wave, mask), uses, Extra::None);
            mask
        };
        match made {
            Bool::Mask(mask) => mask,
            Bool::Const(value) => {
                let source = if value { Self::exec() } else { Operand::constant(0) };
                select(self, self.lane_op(Op::SMovB32, Op::SMovB64), &[source])
            }
            Bool::Flag(_) | Bool::Compare(..) => {
                if let Some((_, mask)) = self.wave_masks.iter().find(|(of, _)| *of == made) {
                    return *mask;
                }
                self.put_in_scc(made);
                let uses = [Self::exec(), Operand::constant(0)];
                let mask = select(self, self.lane_op(Op::SCselectB32, Op::SCselectB64), &uses);
                if self.wave_masks.len() == WAVE_MASKS {
                    self.wave_masks.pop_front();
                }
                self.wave_masks.push_back((made, mask));
                mask
            }
            Bool::Lanes(lanes) => select(self, Op::VCmpNeU32, &[Operand::constant(0), Operand::val(lanes)]),
        }
    }

    /// A uniform condition as 0 or 1.
    pub(super) fn flag_from(&mut self, made: Bool) -> OperandValue {
        match made {
            Bool::Const(value) => OperandValue::Const(u32::from(value)),
            Bool::Flag(flag) => OperandValue::Val(flag),
            _ => {
                self.put_in_scc(made);
                OperandValue::Val(self.s(Op::SCselectB32, &[OperandValue::Const(1), OperandValue::Const(0)]))
            }
        }
    }

    /// A condition as 0 or 1 per lane.
    pub(super) fn as_lanes(&mut self, made: Bool) -> Result<Val> {
        Ok(match made {
            Bool::Lanes(lanes) => lanes,
            Bool::Mask(mask) => self.by_mask(mask, OperandValue::Const(1), OperandValue::Const(0)),
            _ => {
                let flag = self.flag_from(made);
                self.copy_to_vector(flag)
            }
        })
    }

    /// `then` in lanes of the mask, `els` in other lanes.
    pub(super) fn by_mask(&mut self, mask: [Val; 2], then: OperandValue, els: OperandValue) -> Val {
        let mut uses: Operands = [els, then].iter().map(|word| Self::any(*word)).collect();
        uses.extend(mask_run(self.wave, mask));
        let uses = self.fit(Op::VCndmaskB32, uses);
        let made = self.new_vector();
        self.isa(Op::VCndmaskB32, &[Operand::val(made)], &uses, Extra::None);
        made
    }

    /// Logic on conditions.
    pub(super) fn logic(&mut self, op: AluOp, args: &[Value], result: Value) -> Result<()> {
        let made: SmallVec<[Bool; 4]> = args.iter().map(|v| self.bool_of(*v)).collect::<Result<_>>()?;
        let made = match (op, &made[..]) {
            (AluOp::INot, &[x]) => self.not(x),
            (AluOp::IAnd | AluOp::IOr | AluOp::IXor | AluOp::INe | AluOp::IEq | AluOp::IAdd, &[x, y]) => {
                self.join(op, x, y)?
            }
            (AluOp::Select, &[c, x, y]) => {
                // c ? x : y is (c and x) or (not c and y).
                let (first, not) = (self.join(AluOp::IAnd, c, x)?, self.not(c));
                let second = self.join(AluOp::IAnd, not, y)?;
                self.join(AluOp::IOr, first, second)?
            }
            _ => return Err(Error::unsupported(format!("native: {} of conditions", op.name()), "")),
        };
        self.set_bool(result, made);
        Ok(())
    }

    fn not(&mut self, x: Bool) -> Bool {
        match x {
            Bool::Const(value) => Bool::Const(!value),
            Bool::Compare(op, a, b) => match inverse(op) {
                Some(op) => Bool::Compare(op, a, b),
                None => Bool::Flag(self.flag_not(x)),
            },
            Bool::Flag(_) => Bool::Flag(self.flag_not(x)),
            Bool::Mask(_) | Bool::Lanes(_) => {
                let mask = self.mask_from(x);
                let mut uses: Operands = [Self::exec()].into_iter().collect();
                uses.extend(mask_run(self.wave, mask));
                Bool::Mask(self.mask_result(Op::SAndn2B32, Op::SAndn2B64, &uses))
            }
        }
    }

    fn flag_not(&mut self, x: Bool) -> Val {
        let flag = self.flag_from(x);
        self.s(Op::SXorB32, &[flag, OperandValue::Const(1)])
    }

    fn mask_result(&mut self, narrow: Op, wide: Op, uses: &[Operand]) -> [Val; 2] {
        let made = self.new_mask();
        self.isa(self.lane_op(narrow, wide), &mask_run(self.wave, made), uses, Extra::None);
        made
    }

    fn join(&mut self, op: AluOp, x: Bool, y: Bool) -> Result<Bool> {
        use AluOp as A;
        match (op, x, y) {
            (A::IAnd, Bool::Const(true), other) | (A::IAnd, other, Bool::Const(true)) => return Ok(other),
            (A::IAnd, Bool::Const(false), _) | (A::IAnd, _, Bool::Const(false)) => return Ok(Bool::Const(false)),
            (A::IOr, Bool::Const(false), other) | (A::IOr, other, Bool::Const(false)) => return Ok(other),
            (A::IOr, Bool::Const(true), _) | (A::IOr, _, Bool::Const(true)) => return Ok(Bool::Const(true)),
            _ => {}
        }
        if op == A::IEq {
            let differ = self.join(A::IXor, x, y)?;
            return Ok(self.not(differ));
        }
        if x.is_scalar() && y.is_scalar() {
            let (x, y) = (self.flag_from(x), self.flag_from(y));
            let op = match op {
                A::IAnd => Op::SAndB32,
                A::IOr => Op::SOrB32,
                _ => Op::SXorB32,
            };
            return Ok(Bool::Flag(self.s(op, &[x, y])));
        }
        let (x, y) = (self.mask_from(x), self.mask_from(y));
        let mut uses = mask_run(self.wave, x);
        uses.extend(mask_run(self.wave, y));
        let (narrow, wide) = match op {
            A::IAnd => (Op::SAndB32, Op::SAndB64),
            A::IOr => (Op::SOrB32, Op::SOrB64),
            _ => (Op::SXorB32, Op::SXorB64),
        };
        Ok(Bool::Mask(self.mask_result(narrow, wide, &uses)))
    }

    /// A condition as an integer: 1 or 0, or -1 or 0.
    pub(super) fn bool_to_int(&mut self, op: AluOp, v: Value, result: Value, ty: Type) -> Result<()> {
        let made = self.bool_of(v)?;
        let one = if op == AluOp::SExt { u32::MAX } else { 1 };
        let word = match made {
            Bool::Const(value) => OperandValue::Const(if value { one } else { 0 }),
            _ if made.is_scalar() => {
                self.put_in_scc(made);
                OperandValue::Val(self.s(Op::SCselectB32, &[OperandValue::Const(one), OperandValue::Const(0)]))
            }
            Bool::Lanes(lanes) if one == 1 => OperandValue::Val(lanes),
            _ => {
                let mask = self.mask_from(made);
                OperandValue::Val(self.by_mask(mask, OperandValue::Const(one), OperandValue::Const(0)))
            }
        };
        if ty == Type::B64 {
            let high = if op == AluOp::SExt { word } else { OperandValue::Const(0) };
            self.set(result, &[word, high]);
        } else {
            self.set(result, &[word]);
        }
        Ok(())
    }
}

/// The scalar comparison with the opposite result.
fn inverse(op: Op) -> Option<Op> {
    Some(match op {
        Op::SCmpEqU32 => Op::SCmpLgU32,
        Op::SCmpLgU32 => Op::SCmpEqU32,
        Op::SCmpLtU32 => Op::SCmpGeU32,
        Op::SCmpGeU32 => Op::SCmpLtU32,
        Op::SCmpGtU32 => Op::SCmpLeU32,
        Op::SCmpLeU32 => Op::SCmpGtU32,
        Op::SCmpLtI32 => Op::SCmpGeI32,
        Op::SCmpGeI32 => Op::SCmpLtI32,
        Op::SCmpGtI32 => Op::SCmpLeI32,
        Op::SCmpLeI32 => Op::SCmpGtI32,
        _ => return None,
    })
}
