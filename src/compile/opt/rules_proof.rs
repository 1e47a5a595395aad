//! Checks the table of rules: evaluates both sides of each row on every pair of 8-bit values (on corner values if the
//! row has more than two names), and on corner values of the other widths.
//!
//! A case counts only if no operation of the pattern may give any value (as a shift by the width or a division by zero
//! does).

use super::matching::{Consts, Floats, Out, Pat, Rule, float_bits};
use super::rules::RULES;
use dovetail_ir::number::{decode, float, integer};
use dovetail_ir::{AluOp, Bits, Sig};

/// The values of a rule's names.
#[derive(Clone, Copy, Debug)]
struct Names {
    vars: [u64; 4],
    consts: [u64; 2],
}

/// The width of an operand of an operation on values of `width`.
fn operand(op: AluOp, n: usize, width: Bits) -> Bits {
    if op.sig() == Sig::Select && n == 0 { Bits::B1 } else { width }
}

/// Result of one operation; `None` if it may be anything.
fn apply(op: AluOp, args: &[u64], width: Bits) -> Option<u64> {
    use AluOp as A;
    let three = [0, 1, 2].map(|n| args.get(n).copied().unwrap_or(0));
    let undefined = match op {
        A::Shl | A::LShr | A::AShr => three[1] >= u64::from(width.count()),
        A::UDiv | A::SDiv | A::UMod | A::SRem | A::SMod => three[1] == 0,
        _ => false,
    };
    let to = if matches!(op.sig(), Sig::Compare) { Bits::B1 } else { width };
    if undefined {
        return None;
    }
    if op.takes_float() { float(op, three, width, to) } else { integer(op, three, width, to) }
}

struct Undefined;

/// The value of a pattern, all of whose names have one width.
fn pattern(pat: &Pat, width: Bits, names: &Names) -> Result<u64, Undefined> {
    Ok(match pat {
        Pat::Var(n) => names.vars[usize::from(*n)] & width.mask(),
        Pat::Const(n) => names.consts[usize::from(*n)] & width.mask(),
        Pat::Lit(n) => *n as u64 & width.mask(),
        Pat::Float(x) => float_bits(*x, width),
        Pat::Op(op, pats) => {
            let args: Result<Vec<u64>, _> =
                pats.iter().enumerate().map(|(n, p)| pattern(p, operand(*op, n, width), names)).collect();
            apply(*op, &args?, width).ok_or(Undefined)?
        }
    })
}

fn result(out: &Out, width: Bits, names: &Names) -> Option<u64> {
    let consts = Consts { a: names.consts[0] & width.mask(), b: names.consts[1] & width.mask(), width: width.count() };
    Some(match out {
        Out::Var(n) => names.vars[usize::from(*n)] & width.mask(),
        Out::Lit(n) => *n as u64 & width.mask(),
        Out::Float(x) => float_bits(*x, width),
        Out::Bool(truth) => u64::from(*truth),
        Out::Calc(f) => f(consts) & width.mask(),
        Out::Op(op, outs) => {
            let args: Option<Vec<u64>> =
                outs.iter().enumerate().map(|(n, o)| result(o, operand(*op, n, width), names)).collect();
            apply(*op, &args?, width)?
        }
    })
}

/// Numbers of variables and constants in a pattern.
fn count(pats: &[Pat]) -> (usize, usize) {
    pats.iter().fold((0, 0), |(vars, consts), pat| match pat {
        Pat::Var(n) => (vars.max(usize::from(*n) + 1), consts),
        Pat::Const(n) => (vars, consts.max(usize::from(*n) + 1)),
        Pat::Lit(_) | Pat::Float(_) => (vars, consts),
        Pat::Op(_, pats) => {
            let inner = count(pats);
            (vars.max(inner.0), consts.max(inner.1))
        }
    })
}

fn corners(width: Bits, floats: bool) -> Vec<u64> {
    if floats {
        let some = [0.0, 1.0, 0.5, 1.5, 3.0, 100.25, 6e4, 1e-3, f64::INFINITY, f64::NAN];
        return some.iter().flat_map(|x| [*x, -x]).map(|x| float_bits(x, width)).collect();
    }
    let (mask, n) = (width.mask(), u64::from(width.count()));
    let mut all =
        vec![0, 1, 2, 3, 5, 7, 8, n / 2, n - 1, n, 0x55, mask, mask - 1, mask >> 1, (mask >> 1) + 1, mask - 6];
    all.iter_mut().for_each(|x| *x &= mask);
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether the rule's conditions on floats allow a case.
fn counts(rule: &Rule, width: Bits, names: &Names, want: u64) -> bool {
    let numbers = names.vars.iter().map(|v| decode(*v & width.mask(), width)).chain([decode(want, width)]);
    rule.floats != Floats::Finite || numbers.into_iter().all(f64::is_finite)
}

fn same(rule: &Rule, width: Bits, want: u64, is: u64) -> bool {
    if want == is || !rule.op.takes_float() {
        return want == is;
    }
    let (x, y) = (decode(want, width), decode(is, width));
    let zero = matches!(rule.floats, Floats::NoSignedZero | Floats::Finite) && x == 0.0 && y == 0.0;
    let close = rule.floats == Floats::Contract && ((x - y).abs() <= 1e-2 * x.abs().max(1.0) || !x.is_finite());
    zero || close || (x.is_nan() && y.is_nan())
}

fn prove(rule: &Rule, width: Bits, values: &[u64]) -> usize {
    let (vars, consts) = count(rule.args);
    let mut proved = 0;
    let mut index = vec![0usize; vars + consts];
    loop {
        let mut names = Names { vars: [0; 4], consts: [0; 2] };
        index.iter().take(vars).zip(&mut names.vars).for_each(|(i, v)| *v = values[*i]);
        index.iter().skip(vars).zip(&mut names.consts).for_each(|(i, k)| *k = values[*i]);
        let guard = Consts { a: names.consts[0], b: names.consts[1], width: width.count() };
        if (rule.guard)(guard) {
            let args: Result<Vec<u64>, _> =
                (rule.args.iter().enumerate()).map(|(n, p)| pattern(p, operand(rule.op, n, width), &names)).collect();
            let want = args.ok().and_then(|args| apply(rule.op, &args, width));
            if let Some(want) = want
                && (!rule.op.takes_float() || counts(rule, width, &names, want))
            {
                let is = result(&rule.to, width, &names);
                assert!(
                    is.is_some_and(|is| same(rule, width, want, is)),
                    "{rule:?} on {names:x?} of {width:?}: {is:x?}, not {want:x}"
                );
                proved += 1;
            }
        }
        let Some(next) = index.iter().position(|i| i + 1 < values.len()) else { return proved };
        index[next] += 1;
        index[..next].fill(0);
    }
}

#[test]
fn every_rule_gives_the_same_value() {
    let every: Vec<u64> = (0..256).collect();
    for rule in RULES {
        let (vars, consts) = count(rule.args);
        let is_float = rule.op.takes_float();
        let widths: &[Bits] =
            if is_float { &[Bits::B16, Bits::B32, Bits::B64] } else { &[Bits::B8, Bits::B16, Bits::B32, Bits::B64] };
        for &width in widths {
            let some = corners(width, is_float);
            let all = width == Bits::B8 && vars + consts <= 2;
            let proved = prove(rule, width, if all { &every } else { &some });
            assert!(proved > 0, "no case of {rule:?} at {width:?}");
        }
    }
}

#[test]
fn the_rules_of_an_operation_stand_together() {
    let mut seen = Vec::new();
    for rule in RULES {
        if seen.last() != Some(&rule.op) {
            assert!(!seen.contains(&rule.op), "{} again", rule.op.name());
            seen.push(rule.op);
        }
    }
}

/// A result uses only names of its pattern; otherwise it would have no value.
#[test]
fn results_know_their_names() {
    fn names(out: &Out, vars: usize) -> bool {
        match out {
            Out::Var(n) => usize::from(*n) < vars,
            Out::Op(_, outs) => outs.iter().all(|out| names(out, vars)),
            _ => true,
        }
    }
    for rule in RULES {
        assert!(names(&rule.to, count(rule.args).0), "{rule:?}");
    }
}
