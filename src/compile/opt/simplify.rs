//! Simplifies arithmetic beyond the table of rules: constants, conversions, comparisons, booleans; also values that are
//! split and composed again.

use super::matching::{Simpler, commutes};
use super::number::Numbering;
use crate::fold;
use dovetail_ir::{AluOp, AmdOp, Bits, ConstTableId, FpFlags, Inst, InstArgs, LaneOp, Op, Type, Value};
use smallvec::SmallVec;

/// Limit on rewrites of one operation: rules make progress, but a mistake in them must not hang the compiler.
const MAX_STEPS: usize = 16;

impl Numbering<'_> {
    /// The value of an operation if it needs no instruction of its own, or the simplest form of the operation.
    pub(super) fn simplify(
        &mut self,
        mut op: AluOp,
        mut flags: FpFlags,
        mut args: InstArgs,
        ty: Type,
    ) -> Result<Value, (AluOp, FpFlags, InstArgs)> {
        for _ in 0..MAX_STEPS {
            self.order(&mut op, &mut args);
            if let Some(v) = self.folded(op, &args, ty) {
                return Ok(v);
            }
            let simpler = match self.special(op, flags, &args, ty) {
                None => self.apply_rules(op, flags, &args, ty),
                some => some,
            };
            match simpler {
                Some(Simpler::Value(v)) => return Ok(v),
                Some(Simpler::Op(o, f, a)) => (op, flags, args) = (o, f, a),
                None => break,
            }
        }
        Err((op, flags, args))
    }

    /// Puts constants last and orders the other operands by number, if the operation is commutative.
    fn order(&self, op: &mut AluOp, args: &mut InstArgs) {
        let [x, y] = args[..] else { return };
        let key = |v: Value| (self.shader.as_const(v).is_some(), v);
        if key(x) > key(y) {
            if commutes(*op) {
                args.swap(0, 1);
            } else if self.shader.as_const(x).is_some()
                && let Some(other) = swapped(*op)
            {
                *op = other;
                args.swap(0, 1);
            }
        }
    }

    fn folded(&mut self, op: AluOp, args: &[Value], ty: Type) -> Option<Value> {
        let consts: SmallVec<[u64; 4]> = args.iter().map(|v| self.shader.as_const(*v)).collect::<Option<_>>()?;
        let from = self.shader.ty(*args.first()?);
        let bits = fold::constant(op, &consts, from.bits(), ty.bits(), self.folds_floats())?;
        Some(self.constant(ty, bits))
    }

    fn alu_def(&self, v: Value) -> Option<(AluOp, &[Value])> {
        match self.shader.def(v)? {
            Inst { op: Op::Alu(op, _), args, .. } => Some((*op, args)),
            _ => None,
        }
    }

    fn special(&mut self, op: AluOp, flags: FpFlags, args: &[Value], ty: Type) -> Option<Simpler> {
        use AluOp as A;
        let same = |op: AluOp, args: &[Value]| Some(Simpler::Op(op, flags, InstArgs::from_slice(args)));
        let known = |n: usize| self.shader.as_const(*args.get(n)?);
        match op {
            A::Select => {
                if let Some(c) = known(0) {
                    return Some(Simpler::Value(args[if c != 0 { 1 } else { 2 }]));
                }
                // An undefined operand may have the most convenient value.
                let undefined = |n: usize| self.shader.def(args[n]).is_some_and(|inst| inst.op == Op::Undef);
                if undefined(1) || undefined(2) {
                    return Some(Simpler::Value(args[if undefined(1) { 2 } else { 1 }]));
                }
                match ty {
                    Type::B1 => self.truth_select(flags, args),
                    Type::B32 => self.counted(flags, args),
                    _ => None,
                }
            }
            // A conversion to a wider float and back.
            A::FConv | A::FConvRtz => {
                let (inner, from) = self.alu_def(args[0])?;
                let (source, wide) = (*from.first()?, self.shader.ty(args[0]));
                let back = inner == A::FConv && self.shader.ty(source) == ty && ty.bits() < wide.bits();
                (back && !self.flushes(ty)).then_some(Simpler::Value(source))
            }
            A::ZExt | A::SExt | A::Trunc => {
                let (inner, from) = self.alu_def(args[0])?;
                let source = *from.first()?;
                let source_ty = self.shader.ty(source);
                match (op, inner) {
                    (A::ZExt, A::ZExt) | (A::SExt, A::SExt) | (A::Trunc, A::Trunc) => same(op, &[source]),
                    (A::SExt, A::ZExt) => same(A::ZExt, &[source]),
                    (A::Trunc, A::ZExt | A::SExt) if source_ty == ty => Some(Simpler::Value(source)),
                    (A::Trunc, A::ZExt | A::SExt) if source_ty.bits() < ty.bits() => same(inner, &[source]),
                    (A::Trunc, A::ZExt | A::SExt) => same(A::Trunc, &[source]),
                    _ => None,
                }
            }
            A::INot if ty == Type::B1 => {
                let (inner, from) = self.alu_def(args[0])?;
                if inner == A::INot {
                    return Some(Simpler::Value(from[0]));
                }
                let from: InstArgs = InstArgs::from_slice(from);
                Some(Simpler::Op(opposite(inner)?, flags, from))
            }
            A::IEq | A::INe => {
                let k = known(1)?;
                self.compared(op == A::IEq, flags, args[0], k)
            }
            A::IAnd | A::IOr | A::IXor if ty == Type::B1 => self.truth(op, args),
            _ => None,
        }
    }

    /// A select between booleans.
    fn truth_select(&mut self, flags: FpFlags, args: &[Value]) -> Option<Simpler> {
        let &[c, a, b] = args else { return None };
        let op = |op, args: &[Value]| Some(Simpler::Op(op, flags, InstArgs::from_slice(args)));
        match (self.shader.as_const(a), self.shader.as_const(b)) {
            (Some(1), Some(0)) => Some(Simpler::Value(c)),
            (Some(0), Some(1)) => op(AluOp::INot, &[c]),
            (Some(1), _) => op(AluOp::IOr, &[c, b]),
            (_, Some(0)) => op(AluOp::IAnd, &[c, a]),
            _ if a == b => Some(Simpler::Value(a)),
            _ if a == c => op(AluOp::IOr, &[c, b]),
            _ if b == c => op(AluOp::IAnd, &[c, a]),
            _ => None,
        }
    }

    /// A select between a number and its successor or predecessor: the condition becomes a carry.
    fn counted(&mut self, flags: FpFlags, args: &[Value]) -> Option<Simpler> {
        let &[c, next, x] = args else { return None };
        let (AluOp::IAdd, &[of, step]) = self.alu_def(next)? else { return None };
        let op = match self.shader.as_const(step)? {
            1 => AluOp::IAdd,
            0xffff_ffff => AluOp::ISub,
            _ => return None,
        };
        (of == x).then(|| {
            let one = self.alu(AluOp::ZExt, FpFlags::NONE, &[c], Type::B32);
            Simpler::Op(op, flags, InstArgs::from_slice(&[x, one]))
        })
    }

    /// Whether `v` is (or, unless `equal`, is not) the constant `k`, for a `v` that has two possible values.
    fn compared(&mut self, equal: bool, flags: FpFlags, v: Value, k: u64) -> Option<Simpler> {
        let result = |c: Value, if_true: bool, if_false: bool| match (if_true == equal, if_false == equal) {
            (true, false) => Some(Simpler::Value(c)),
            (false, true) => Some(Simpler::Op(AluOp::INot, flags, InstArgs::from_slice(&[c]))),
            _ => None,
        };
        if self.shader.ty(v) == Type::B1 {
            return result(v, k == 1, k == 0);
        }
        let ty = self.shader.ty(v);
        let (op, args) = self.alu_def(v)?;
        let (c, if_true, if_false) = match (op, args) {
            (AluOp::ZExt, &[c]) if self.shader.ty(c) == Type::B1 => (c, 1, 0),
            (AluOp::SExt, &[c]) if self.shader.ty(c) == Type::B1 => (c, ty.bits().mask(), 0),
            (AluOp::Select, &[c, a, b]) => (c, self.shader.as_const(a)?, self.shader.as_const(b)?),
            // Compares the source of an extension instead, if the extension can give the constant and the source's
            // width has comparisons.
            (AluOp::ZExt, &[x]) if AluOp::IEq.has_instruction(self.shader.ty(x).bits(), Bits::B1) => {
                let from = self.shader.ty(x);
                let small = self.constant(from, k);
                let op = if equal { AluOp::IEq } else { AluOp::INe };
                return (k <= from.bits().mask()).then(|| Simpler::Op(op, flags, InstArgs::from_slice(&[x, small])));
            }
            _ => return None,
        };
        match (if_true == k, if_false == k) {
            (a, b) if a == b => Some(Simpler::Value(self.constant(Type::B1, u64::from(a == equal)))),
            (a, b) => result(c, a, b),
        }
    }

    /// Bitwise operations on truth values.
    fn truth(&mut self, op: AluOp, args: &[Value]) -> Option<Simpler> {
        use AluOp as A;
        let &[x, y] = args else { return None };
        let constant = |this: &mut Self, bits| Some(Simpler::Value(this.constant(Type::B1, bits)));
        match (op, self.shader.as_const(y)) {
            (A::IAnd, Some(0)) => constant(self, 0),
            (A::IOr, Some(1)) => constant(self, 1),
            (A::IAnd, Some(_)) | (A::IOr | A::IXor, Some(0)) => Some(Simpler::Value(x)),
            (A::IXor, Some(_)) => Some(Simpler::Op(A::INot, FpFlags::NONE, InstArgs::from_slice(&[x]))),
            (A::IAnd | A::IOr, None) if x == y => Some(Simpler::Value(x)),
            (A::IXor, None) if x == y => constant(self, 0),
            (A::IAnd | A::IOr, None) => self.joined(op, x, y),
            _ => None,
        }
    }

    /// The same test (of the sign, or for 0) on two numbers: one comparison of their combined bits.
    fn joined(&mut self, op: AluOp, x: Value, y: Value) -> Option<Simpler> {
        use AluOp as A;
        let ((first, &[a, k]), (second, &[b, l])) = (self.alu_def(x)?, self.alu_def(y)?) else { return None };
        let ty = self.shader.ty(a);
        let zeros = [k, l].iter().all(|v| self.shader.as_const(*v) == Some(0));
        let both = matches!((op, first), (A::IAnd, A::SGe | A::IEq) | (A::IOr, A::SLt | A::INe));
        (first == second && both && zeros && ty == Type::B32 && self.shader.ty(b) == ty).then(|| {
            let bits = self.alu(A::IOr, FpFlags::NONE, &[a, b], ty);
            Simpler::Op(first, FpFlags::NONE, InstArgs::from_slice(&[bits, k]))
        })
    }

    /// A simpler value for an operation that is not arithmetic.
    pub(super) fn whole(&mut self, op: &Op, args: &[Value], ty: Type) -> Option<Value> {
        match op {
            Op::Extract(lane) => {
                let lane = usize::from(*lane);
                match self.shader.def(args[0])? {
                    Inst { op: Op::Compose, args, .. } => args.get(lane).copied(),
                    _ => None,
                }
            }
            Op::Compose => {
                let source = |v: Value, n: usize| match self.shader.def(v)? {
                    Inst { op: Op::Extract(lane), args, .. } if usize::from(*lane) == n => Some(args[0]),
                    _ => None,
                };
                let whole = source(*args.first()?, 0)?;
                let all = args.iter().enumerate().all(|(n, v)| source(*v, n) == Some(whole));
                (all && self.shader.ty(whole) == ty).then_some(whole)
            }
            Op::Bitcast => self.bitcast(args[0], ty),
            Op::ConstLoad { table, .. } => self.table_content(*table, self.shader.as_const(args[0])?, ty),
            Op::Target(AmdOp::Lane(LaneOp::ReadFirstLane)) if self.is_uniform(args[0]) => Some(args[0]),
            Op::Target(AmdOp::Lane(LaneOp::ReadFirstLane)) => match self.made_here(args[0])? {
                Inst {
                    op: Op::Target(AmdOp::Lane(LaneOp::ReadFirstLane | LaneOp::ReadLane | LaneOp::Ballot)), ..
                } => Some(args[0]),
                _ => None,
            },
            _ => None,
        }
    }

    /// A value of a constant table.
    fn table_content(&mut self, table: ConstTableId, offset: u64, ty: Type) -> Option<Value> {
        let bytes = &self.shader.tables.get(table.index())?.bytes;
        let from = usize::try_from(offset).ok()?;
        let read = bytes.get(from..from.checked_add(ty.bytes() as usize)?)?;
        let size = ty.element().bytes() as usize;
        let number = |part: &[u8]| part.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let parts: SmallVec<[u64; 4]> = read.chunks_exact(size).map(number).collect();
        let parts: InstArgs = parts.into_iter().map(|bits| self.constant(ty.element(), bits)).collect();
        Some(if ty.is_scalar() { parts[0] } else { self.value(Op::Compose, &parts, ty) })
    }

    fn bitcast(&mut self, v: Value, ty: Type) -> Option<Value> {
        if self.shader.ty(v) == ty {
            return Some(v);
        }
        match self.shader.def(v)? {
            Inst { op: Op::Bitcast, args, .. } => {
                let source = args[0];
                Some(self.value(Op::Bitcast, &[source], ty))
            }
            Inst { op: Op::Const(bits), .. } if ty.is_scalar() => {
                let bits = *bits;
                Some(self.constant(ty, bits))
            }
            Inst { op: Op::Compose, args, .. } if ty.is_scalar() => {
                let width = self.shader.ty(*args.first()?).bits().count();
                let mut whole = 0;
                for (n, part) in (0..).zip(args) {
                    whole |= self.shader.as_const(*part)? << (n * width);
                }
                Some(self.constant(ty, whole))
            }
            _ => None,
        }
    }
}

/// The comparison with its operands in the other order.
fn swapped(op: AluOp) -> Option<AluOp> {
    use AluOp as A;
    Some(match op {
        A::ULt => A::UGt,
        A::ULe => A::UGe,
        A::UGt => A::ULt,
        A::UGe => A::ULe,
        A::SLt => A::SGt,
        A::SLe => A::SGe,
        A::SGt => A::SLt,
        A::SGe => A::SLe,
        A::FOLt => A::FOGt,
        A::FOLe => A::FOGe,
        A::FOGt => A::FOLt,
        A::FOGe => A::FOLe,
        A::FULt => A::FUGt,
        A::FULe => A::FUGe,
        A::FUGt => A::FULt,
        A::FUGe => A::FULe,
        _ => return None,
    })
}

/// The comparison that is true where this one is false.
fn opposite(op: AluOp) -> Option<AluOp> {
    use AluOp as A;
    const PAIRS: [(AluOp, AluOp); 12] = [
        (A::IEq, A::INe),
        (A::ULt, A::UGe),
        (A::ULe, A::UGt),
        (A::SLt, A::SGe),
        (A::SLe, A::SGt),
        (A::FOEq, A::FUNe),
        (A::FONe, A::FUEq),
        (A::FOLt, A::FUGe),
        (A::FOLe, A::FUGt),
        (A::FOGt, A::FULe),
        (A::FOGe, A::FULt),
        (A::FOrd, A::FUno),
    ];
    PAIRS.iter().find_map(|&(a, b)| if op == a { Some(b) } else { (op == b).then_some(a) })
}
