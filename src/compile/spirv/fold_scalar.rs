//! Constant operations on one component: `OpSpecConstantOp` allows these (SPIR-V, 3.49.7).

use dovetail_ir::{AluOp, Bits, number};
use spirv::Op;

/// Whether an operation can be folded.
pub(super) fn folds(op: Op) -> bool {
    let elsewhere = matches!(op, Op::CompositeExtract | Op::CompositeInsert | Op::VectorShuffle | Op::FConvert);
    elsewhere || scalar(op, &[(1, Bits::B32); 3], Bits::B32).is_some()
}

/// Bits read as a signed number.
fn signed(bits: u64, width: Bits) -> i64 {
    let unused = 64 - width.count();
    ((bits << unused) as i64) >> unused
}

/// The result for one component; `None` for operations that cannot be folded.
pub(super) fn scalar(op: Op, args: &[(u64, Bits)], to: Bits) -> Option<u64> {
    let (a, width) = *args.first()?;
    let b = args.get(1).map_or(0, |b| b.0);
    let c = args.get(2).map_or(0, |c| c.0);
    let (sa, sb) = (signed(a, width), signed(b, width));
    let amount = (b as u32) % width.count().max(1);
    let flag = u64::from;
    let result = match op {
        Op::UConvert | Op::Bitcast => a,
        Op::SConvert => sa as u64,
        Op::SNegate => sa.wrapping_neg() as u64,
        Op::Not => !a,
        Op::IAdd => a.wrapping_add(b),
        Op::ISub => a.wrapping_sub(b),
        Op::IMul => a.wrapping_mul(b),
        Op::UDiv => a.checked_div(b).unwrap_or(0),
        Op::UMod => a.checked_rem(b).unwrap_or(0),
        Op::SDiv => sa.checked_div(sb).unwrap_or(0) as u64,
        Op::SRem => sa.checked_rem(sb).unwrap_or(0) as u64,
        Op::SMod => {
            let r = sa.checked_rem(sb).unwrap_or(0);
            (if r != 0 && (r < 0) != (sb < 0) { r.wrapping_add(sb) } else { r }) as u64
        }
        Op::ShiftLeftLogical => a << amount,
        Op::ShiftRightLogical => a >> amount,
        Op::ShiftRightArithmetic => (sa >> amount) as u64,
        Op::BitwiseOr | Op::LogicalOr => a | b,
        Op::BitwiseAnd | Op::LogicalAnd => a & b,
        Op::BitwiseXor => a ^ b,
        Op::LogicalNot => a ^ 1,
        Op::LogicalEqual | Op::IEqual => flag(a == b),
        Op::LogicalNotEqual | Op::INotEqual => flag(a != b),
        Op::ULessThan => flag(a < b),
        Op::ULessThanEqual => flag(a <= b),
        Op::UGreaterThan => flag(a > b),
        Op::UGreaterThanEqual => flag(a >= b),
        Op::SLessThan => flag(sa < sb),
        Op::SLessThanEqual => flag(sa <= sb),
        Op::SGreaterThan => flag(sa > sb),
        Op::SGreaterThanEqual => flag(sa >= sb),
        Op::Select => {
            if a != 0 {
                b
            } else {
                c
            }
        }
        Op::QuantizeToF16 if (width, to) == (Bits::B32, Bits::B32) => {
            number::float(AluOp::FQuantize16, [a, 0, 0], width, to)?
        }
        _ => return None,
    };
    Some(result & to.mask())
}
