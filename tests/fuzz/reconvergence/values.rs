//! Writes words, booleans and subgroup operations.

use super::program::{Cond, ELEMENTS, Expr, Index, Math, Tangled, VARS, WORDS};
use super::writer::{INPUT, Writer};
use spirv::{GroupOperation, Op};

/// What is around a statement.
#[derive(Clone, Copy, Default)]
pub struct Around {
    pub break_to: u32,
    /// `break_to` ends a switch, which only what stands in no other switch may leave.
    pub breaks_switch: bool,
    pub continue_to: u32,
    pub depth: usize,
    pub main: bool,
}

impl Writer<'_> {
    pub fn expr(&mut self, e: &Expr, around: Around) -> u32 {
        let inner = |n: &u8| usize::from(*n) < around.depth;
        match e {
            Expr::Lane => self.load(self.ids.lane),
            Expr::Const(n) => self.int(*n),
            Expr::Var(v) => self.load(self.vars[usize::from(*v) % VARS]),
            Expr::Count(d) if inner(d) => self.load(self.counts[usize::from(*d)]),
            Expr::Data(d) if inner(d) => self.load(self.data[usize::from(*d)]),
            Expr::Count(_) | Expr::Data(_) => self.int(0),
            Expr::In(e) => {
                let at = self.expr(e, around);
                let at = self.and(at, WORDS - 1);
                let word = self.word(INPUT, None, at);
                self.load(word)
            }
            Expr::Two(math, a, b) => {
                let (a, mut b) = (self.expr(a, around), self.expr(b, around));
                let code = match math {
                    Math::Add => Op::IAdd,
                    Math::Mul => Op::IMul,
                    Math::And => Op::BitwiseAnd,
                    Math::Xor => Op::BitwiseXor,
                    Math::Shr => {
                        b = self.and(b, 31);
                        Op::ShiftRightLogical
                    }
                };
                self.value(code, self.ids.u32, &[a, b])
            }
        }
    }

    /// An operation of the subgroup.
    pub fn subgroup(&mut self, code: Op, ty: u32, operands: &[u32]) -> u32 {
        let scope = self.int(spirv::Scope::Subgroup as u32);
        self.value(code, ty, &[&[scope], operands].concat())
    }

    pub fn cond(&mut self, c: &Cond, around: Around) -> u32 {
        let bool = self.ids.bool;
        match c {
            Cond::Less(a, b) | Cond::Same(a, b) => {
                let (a, b) = (self.expr(a, around), self.expr(b, around));
                let code = if matches!(c, Cond::Less(..)) { Op::ULessThan } else { Op::IEqual };
                self.value(code, bool, &[a, b])
            }
            Cond::Odd(e) => {
                let e = self.expr(e, around);
                let (low, zero) = (self.and(e, 1), self.int(0));
                self.value(Op::INotEqual, bool, &[low, zero])
            }
            Cond::Not(c) => {
                let c = self.cond(c, around);
                self.value(Op::LogicalNot, bool, &[c])
            }
            Cond::Both(a, b) => {
                let (a, b) = (self.cond(a, around), self.cond(b, around));
                self.value(Op::LogicalAnd, bool, &[a, b])
            }
            Cond::Elect => self.subgroup(Op::GroupNonUniformElect, bool, &[]),
            Cond::Any(inner) | Cond::All(inner) => {
                let inner = self.cond(inner, around);
                let any = matches!(c, Cond::Any(_));
                self.subgroup(if any { Op::GroupNonUniformAny } else { Op::GroupNonUniformAll }, bool, &[inner])
            }
        }
    }

    pub fn tangled(&mut self, t: &Tangled, around: Around) -> u32 {
        let (word, bool, four) = (self.ids.u32, self.ids.bool, self.ids.u32x4);
        let (reduce, before) = (GroupOperation::Reduce as u32, GroupOperation::ExclusiveScan as u32);
        let code = match t {
            Tangled::Sum(_) | Tangled::Before(_) => Op::GroupNonUniformIAdd,
            Tangled::Min(_) => Op::GroupNonUniformUMin,
            _ => Op::GroupNonUniformUMax,
        };
        match t {
            Tangled::Ballot(c) => {
                let c = self.cond(c, around);
                let ballot = self.subgroup(Op::GroupNonUniformBallot, four, &[c]);
                let [low, high] = [0, 1].map(|n| self.value(Op::CompositeExtract, word, &[ballot, n]));
                let factor = self.int(0x9e37_79b9);
                let high = self.value(Op::IMul, word, &[high, factor]);
                self.value(Op::BitwiseXor, word, &[low, high])
            }
            Tangled::BallotCount(c) | Tangled::BallotRank(c) => {
                let c = self.cond(c, around);
                let ballot = self.subgroup(Op::GroupNonUniformBallot, four, &[c]);
                let how = if matches!(t, Tangled::BallotCount(_)) { reduce } else { before };
                self.subgroup(Op::GroupNonUniformBallotBitCount, word, &[how, ballot])
            }
            Tangled::Vote(c) => {
                let c = self.cond(c, around);
                self.chosen(c)
            }
            Tangled::AllEqual(e) => {
                let e = self.expr(e, around);
                let equal = self.subgroup(Op::GroupNonUniformAllEqual, bool, &[e]);
                self.chosen(equal)
            }
            Tangled::Sum(e) | Tangled::Min(e) | Tangled::Max(e) => {
                let e = self.expr(e, around);
                self.subgroup(code, word, &[reduce, e])
            }
            Tangled::Before(e) => {
                let e = self.expr(e, around);
                self.subgroup(code, word, &[before, e])
            }
            Tangled::First(e) => {
                let e = self.expr(e, around);
                self.subgroup(Op::GroupNonUniformBroadcastFirst, word, &[e])
            }
        }
    }

    /// 1 or 0.
    pub fn chosen(&mut self, cond: u32) -> u32 {
        let (one, zero) = (self.int(1), self.int(0));
        self.value(Op::Select, self.ids.u32, &[cond, one, zero])
    }

    pub fn index(&mut self, index: &Index, around: Around) -> u32 {
        let n = match index {
            Index::Count(d) => self.expr(&Expr::Count(*d), around),
            Index::First(e) => self.tangled(&Tangled::First(e.clone()), around),
        };
        self.and(n, ELEMENTS - 1)
    }

    pub fn goes_on(&mut self, limit: &Expr, count: u32, around: Around) -> u32 {
        let limit = self.expr(limit, around);
        let (limit, count) = (self.and(limit, 7), self.load(count));
        self.value(Op::ULessThan, self.ids.bool, &[count, limit])
    }
}
