//! Bounds an integer by a few steps of its computation.

use dovetail_ir::{AluOp, ArgRole, Inst, Op, Shader, Value, ValueDef};

/// Depth of the search through operands: farther operands seldom narrow the interval.
const DEPTH: u32 = 4;

/// The smallest and the largest value of the bits, read as a signed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    low: i128,
    high: i128,
}

impl Interval {
    /// The interval of a scalar.
    pub(super) fn of(shader: &Shader, v: Value) -> Self {
        within(shader, v, DEPTH)
    }

    /// The largest value of the bits read as an unsigned number of this many bits.
    pub(super) fn largest(self, width: u32) -> u64 {
        let all = u64::MAX >> (64 - width);
        if self.low < 0 { all } else { u64::try_from(self.high).unwrap_or(all) }
    }

    /// Whether it is never negative.
    pub(super) fn is_natural(self) -> bool {
        self.low >= 0
    }

    /// The largest distance from zero.
    pub(super) fn magnitude(self) -> u128 {
        self.low.unsigned_abs().max(self.high.unsigned_abs())
    }

    fn new(low: i128, high: i128) -> Self {
        Self { low, high }
    }

    fn join(self, other: Self) -> Self {
        Self::new(self.low.min(other.low), self.high.max(other.high))
    }
}

/// All numbers of this many bits.
fn all(width: u32) -> Interval {
    let half = 1i128 << (width - 1);
    Interval::new(-half, half - 1)
}

fn within(shader: &Shader, v: Value, depth: u32) -> Interval {
    let width = shader.ty(v).bits().count();
    let found = match shader.values[v.index()].def {
        ValueDef::Inst(id) if depth > 0 => of_result(shader, shader.inst(id), width, depth - 1),
        ValueDef::Inst(_) => None,
        ValueDef::Param(block, n) if block == Shader::ENTRY => of_register(shader, n),
        ValueDef::Param(..) => None,
    };
    // A result that wraps can be anything.
    let all = all(width);
    found.filter(|i| i.low >= all.low && i.high <= all.high).unwrap_or(all)
}

/// A local id is below the size of the workgroup.
fn of_register(shader: &Shader, n: u32) -> Option<Interval> {
    let arg = shader.lower.as_ref()?.args.get(n as usize)?;
    let axis = ["local_x", "local_y", "local_z"].iter().position(|name| arg.role == ArgRole::System(name))?;
    Some(Interval::new(0, i128::from(shader.modes.local_size[axis].max(1)) - 1))
}

fn of_result(shader: &Shader, inst: &Inst, width: u32, depth: u32) -> Option<Interval> {
    use AluOp as A;
    let op = match inst.op {
        Op::Const(bits) => {
            let n = i128::from(dovetail_ir::number::signed(bits, width));
            return Some(Interval::new(n, n));
        }
        Op::Alu(op, _) => op,
        _ => return None,
    };
    let arg = |n: usize| inst.args.get(n).map(|&v| within(shader, v, depth));
    let known = |n: usize| inst.args.get(n).and_then(|&v| shader.as_const(v));
    let natural = |high: u64| Some(Interval::new(0, i128::from(high)));
    let (x, y) = (arg(0)?, arg(1));
    match op {
        A::ZExt => natural(x.largest(shader.ty(inst.args[0]).bits().count())),
        A::SExt => Some(x),
        A::IAnd => match y? {
            y if x.is_natural() && y.is_natural() => Some(Interval::new(0, x.high.min(y.high))),
            y if y.is_natural() => Some(Interval::new(0, y.high)),
            _ if x.is_natural() => Some(x),
            _ => None,
        },
        A::LShr => natural(x.largest(width).checked_shr(u32::try_from(known(1)?).ok()?)?),
        A::AShr => {
            let by = u32::try_from(known(1)?).ok().filter(|n| *n < width)?;
            Some(Interval::new(x.low >> by, x.high >> by))
        }
        A::UBitExtract => natural(1u64.checked_shl(u32::try_from(known(2)?).ok()?)? - 1),
        A::UMod => natural(known(1)?.checked_sub(1)?),
        A::UDiv => natural(x.largest(width) / known(1).filter(|n| *n != 0)?),
        A::UMin => {
            let least = x.largest(width).min(y?.largest(width));
            (i128::from(least) <= all(width).high).then(|| Interval::new(0, i128::from(least)))
        }
        A::SMin => Some(Interval::new(x.low.min(y?.low), x.high.min(y?.high))),
        A::SMax => Some(Interval::new(x.low.max(y?.low), x.high.max(y?.high))),
        A::IAdd => Some(Interval::new(x.low + y?.low, x.high + y?.high)),
        A::IMul => {
            let (x, y) = (x, y?);
            let end = |a: i128, b: i128| a.checked_mul(b).map(|n| Interval::new(n, n));
            let of_low = end(x.low, y.low)?.join(end(x.low, y.high)?);
            Some(of_low.join(end(x.high, y.low)?).join(end(x.high, y.high)?))
        }
        A::Select => Some(arg(1)?.join(arg(2)?)),
        A::FindUMsb | A::FindILsb => Some(Interval::new(-1, 63)),
        A::BitCount => natural(64),
        _ => None,
    }
}
