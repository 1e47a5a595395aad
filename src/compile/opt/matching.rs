//! Applies the table of rules: patterns of arithmetic, and their replacements.

use super::number::Numbering;
use super::rules::RULES;
use dovetail_ir::{AluOp, Bits, FpFlags, Inst, InstArgs, Op, Type, Value};
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Part of a pattern.
#[derive(Debug)]
pub(super) enum Pat {
    /// Any value; equal numbers stand for equal values.
    Var(u8),
    /// Any constant.
    Const(u8),
    /// This integer, sign-extended to the width.
    Lit(i64),
    /// This float.
    Float(f64),
    /// An operation. If it is commutative, both orders of its operands are tried, except that constants are last.
    Op(AluOp, &'static [Pat]),
}

/// Part of a result.
#[derive(Debug)]
pub(super) enum Out {
    /// The value that a variable of the pattern matched.
    Var(u8),
    /// An integer of the width.
    Lit(i64),
    /// A float of the width.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// An integer computed from the constants.
    Calc(fn(Consts) -> u64),
    /// An operation.
    Op(AluOp, &'static [Out]),
}

/// The constants of a match, and the width of the operands in bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Consts {
    pub a: u64,
    pub b: u64,
    pub width: u32,
}

/// Conditions under which a rule on floats is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Floats {
    /// The rule has no floats, or their values do not matter; or it is exact for every operand and mode.
    Exact,
    /// The rule omits the flushing of denormals.
    KeepsDenormals,
    /// As `KeepsDenormals`, and the sign of a zero may change.
    NoSignedZero,
    /// As `NoSignedZero`, but for finite numbers only.
    Finite,
    /// The rule changes rounding, as contraction allows.
    Contract,
}

/// A rule.
#[derive(Debug)]
pub(super) struct Rule {
    pub op: AluOp,
    pub args: &'static [Pat],
    pub guard: fn(Consts) -> bool,
    pub to: Out,
    pub floats: Floats,
}

/// The values that a pattern's variables and constants matched.
#[derive(Clone, Copy, Default)]
struct Match {
    vars: [Option<Value>; 4],
    consts: [Option<u64>; 2],
}

/// A coarse class of an operand, to reject rules quickly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Const,
    Alu(AluOp),
    Other,
}

impl Rule {
    /// Whether operands of these shapes may match, in either order.
    fn may_match(&self, shapes: &[Shape]) -> bool {
        let fits = |(pat, shape): (&Pat, &Shape)| match pat {
            Pat::Var(_) => true,
            Pat::Const(_) | Pat::Lit(_) | Pat::Float(_) => *shape == Shape::Const,
            Pat::Op(op, _) => *shape == Shape::Alu(*op),
        };
        self.args.iter().zip(shapes).all(fits)
            || shapes.len() == 2 && commutes(self.op) && self.args.iter().zip(shapes.iter().rev()).all(fits)
    }
}

/// The result of simplifying an operation.
pub(super) enum Simpler {
    Value(Value),
    Op(AluOp, FpFlags, InstArgs),
}

/// Whether an operation is commutative.
pub(super) fn commutes(op: AluOp) -> bool {
    use AluOp as A;
    matches!(
        op,
        A::IAdd
            | A::IMul
            | A::UMulHigh
            | A::SMulHigh
            | A::IAnd
            | A::IOr
            | A::IXor
            | A::UMin
            | A::UMax
            | A::SMin
            | A::SMax
            | A::UAddSat
            | A::SAddSat
            | A::UAddCarry
            | A::IEq
            | A::INe
            | A::FAdd
            | A::FMul
            | A::FMin
            | A::FMax
            | A::FMulZero
            | A::FOEq
            | A::FONe
            | A::FUEq
            | A::FUNe
            | A::FOrd
            | A::FUno
    )
}

/// By operation, the range of its rules.
fn rules_of(op: AluOp) -> &'static [Rule] {
    static RANGES: OnceLock<Vec<(u16, u16)>> = OnceLock::new();
    let ranges = RANGES.get_or_init(|| {
        let mut ranges = vec![(0, 0); AluOp::ALL.len()];
        for (n, rule) in (0..).zip(RULES) {
            let range: &mut (u16, u16) = &mut ranges[rule.op as usize];
            // The rules of an operation are together in the table.
            *range = if range.1 == 0 { (n, n + 1) } else { (range.0, n + 1) };
        }
        ranges
    });
    let (start, end) = ranges[op as usize];
    &RULES[usize::from(start)..usize::from(end)]
}

impl Out {
    /// Whether the hardware has all operations of the result at this width: the shader is already lowered.
    fn has_instructions(&self, width: Type, ty: Type) -> bool {
        match self {
            Self::Op(op, outs) => {
                op.has_instruction(width.bits(), ty.bits()) && outs.iter().all(|out| out.has_instructions(width, width))
            }
            _ => true,
        }
    }
}

impl Numbering<'_> {
    /// Applies the first rule that fits.
    pub(super) fn apply_rules(&mut self, op: AluOp, flags: FpFlags, args: &[Value], ty: Type) -> Option<Simpler> {
        let width = self.shader.ty(*args.last()?);
        if width == Type::B1 {
            return None;
        }
        let shapes: SmallVec<[Shape; 4]> = args.iter().map(|v| self.shape(*v)).collect();
        for rule in rules_of(op) {
            // Most rules fail here.
            if !rule.may_match(&shapes) {
                continue;
            }
            if rule.floats != Floats::Exact && !self.allows(rule.floats, flags, width) {
                continue;
            }
            if !rule.to.has_instructions(width, ty) {
                continue;
            }
            let mut found = Match::default();
            if !self.match_args(op, rule.args, args, rule.floats, &mut found) {
                continue;
            }
            let [a, b] = found.consts.map(|k| k.unwrap_or(0));
            let consts = Consts { a, b, width: width.bits().count() };
            if !(rule.guard)(consts) {
                continue;
            }
            return Some(match &rule.to {
                Out::Op(op, outs) => {
                    let args = outs.iter().map(|out| self.build(out, &found, consts, flags, width)).collect();
                    Simpler::Op(*op, flags, args)
                }
                Out::Bool(truth) => Simpler::Value(self.constant(Type::B1, u64::from(*truth))),
                out => {
                    let v = self.build(out, &found, consts, flags, width);
                    // Rules of comparisons give booleans; all others keep the width.
                    if self.shader.ty(v) != ty {
                        continue;
                    }
                    Simpler::Value(v)
                }
            });
        }
        None
    }

    fn allows(&self, floats: Floats, flags: FpFlags, width: Type) -> bool {
        let kept = !self.flushes(width);
        match floats {
            Floats::Exact => true,
            Floats::KeepsDenormals => kept,
            Floats::NoSignedZero => kept && flags.has(FpFlags::NO_SIGNED_ZERO),
            Floats::Finite => kept && flags.has(FpFlags::NO_SIGNED_ZERO.with(FpFlags::NOT_NAN).with(FpFlags::NOT_INF)),
            Floats::Contract => self.contracts && !flags.has(FpFlags::NO_CONTRACT),
        }
    }

    fn shape(&self, v: Value) -> Shape {
        match self.shader.def(v).map(|inst| &inst.op) {
            Some(Op::Const(_)) => Shape::Const,
            Some(Op::Alu(op, _)) => Shape::Alu(*op),
            _ => Shape::Other,
        }
    }

    /// Whether operands match patterns. If not, `found` may be partly filled.
    fn match_args(&self, op: AluOp, pats: &[Pat], args: &[Value], floats: Floats, found: &mut Match) -> bool {
        let in_order = |args: &[Value], found: &mut Match| {
            pats.iter().zip(args).all(|(pat, v)| self.match_one(pat, *v, floats, found))
        };
        match args {
            [x, y] if commutes(op) => {
                let before = *found;
                in_order(args, found) || {
                    *found = before;
                    in_order(&[*y, *x], found)
                }
            }
            _ => in_order(args, found),
        }
    }

    fn match_one(&self, pat: &Pat, v: Value, floats: Floats, found: &mut Match) -> bool {
        let constant = || self.shader.as_const(v);
        match pat {
            Pat::Var(n) => *found.vars[usize::from(*n)].get_or_insert(v) == v,
            Pat::Const(n) => constant().is_some_and(|bits| *found.consts[usize::from(*n)].get_or_insert(bits) == bits),
            Pat::Lit(n) => constant().is_some_and(|bits| bits == *n as u64 & self.shader.ty(v).bits().mask()),
            Pat::Float(x) => constant().is_some_and(|bits| bits == float_bits(*x, self.shader.ty(v).bits())),
            Pat::Op(op, pats) => match self.shader.def(v) {
                // Both operations must allow contraction.
                Some(Inst { op: Op::Alu(is, own), args, .. }) if is == op && may_contract(floats, *own) => {
                    self.match_args(*op, pats, args, floats, found)
                }
                _ => false,
            },
        }
    }

    fn build(&mut self, out: &Out, found: &Match, consts: Consts, flags: FpFlags, width: Type) -> Value {
        match out {
            Out::Var(n) => match found.vars[usize::from(*n)] {
                Some(v) => v,
                // A test of the table checks that every name of a result is in its pattern.
                None => self.constant(width, 0),
            },
            Out::Lit(n) => self.constant(width, *n as u64),
            Out::Float(x) => self.constant(width, float_bits(*x, width.bits())),
            Out::Bool(truth) => self.constant(Type::B1, u64::from(*truth)),
            Out::Calc(f) => self.constant(width, f(consts)),
            Out::Op(op, outs) => {
                let args: InstArgs = outs.iter().map(|out| self.build(out, found, consts, flags, width)).collect();
                let types: SmallVec<[Type; 4]> = args.iter().map(|v| self.shader.ty(*v)).collect();
                let ty = op.result_type(&types, width).unwrap_or(width);
                self.alu(*op, flags, &args, ty)
            }
        }
    }
}

/// Whether an inner operation with these flags may take part in a rule.
fn may_contract(floats: Floats, own: FpFlags) -> bool {
    floats != Floats::Contract || !own.has(FpFlags::NO_CONTRACT)
}

/// The bits of a float of a width.
pub(super) fn float_bits(x: f64, width: Bits) -> u64 {
    dovetail_ir::number::encode(x, width)
}
