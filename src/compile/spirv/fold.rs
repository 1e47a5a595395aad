//! Folds `OpSpecConstantOp`: integer, logical and composite operations on the bits of constants.
//!
//! To add an operation: one line in [`scalar`], or for what moves leaves about, in [`Cx::fold`].

use super::constants::{Constant, Leaves};
use super::cx::Cx;
use super::parse::Inst;
use super::types::TypeId;
use crate::error::Result;
use crate::ir::Bits;
use spirv::Op;

impl Cx<'_> {
    /// The constant that an operation on constants gives.
    pub(super) fn fold(&mut self, inst: &Inst, ty: TypeId) -> Result<Constant> {
        let mut parts = Vec::new();
        let bits = match inst.op() {
            Op::CompositeExtract => {
                let (from, bits) = self.constant_operand(inst, 0, &mut parts)?;
                let (at, len) = self.leaf_range(inst, from, 1)?;
                bits.get(at..at + len).unwrap_or(&[]).to_vec()
            }
            Op::CompositeInsert => {
                let (_, part) = self.constant_operand(inst, 0, &mut parts)?;
                let (whole, bits) = self.constant_operand(inst, 1, &mut parts)?;
                let (at, len) = self.leaf_range(inst, whole, 2)?;
                let mut bits = bits.to_vec();
                if let Some(to) = bits.get_mut(at..at + len)
                    && part.len() == len
                {
                    to.copy_from_slice(part);
                }
                bits
            }
            Op::VectorShuffle => {
                let (_, a) = self.constant_operand(inst, 0, &mut parts)?;
                let (_, b) = self.constant_operand(inst, 1, &mut parts)?;
                let both: Vec<u64> = a.iter().chain(b).copied().collect();
                (2..inst.len())
                    .map(|n| Ok(both.get(inst.literal(n)? as usize).copied().unwrap_or(0)))
                    .collect::<Result<_>>()?
            }
            // Asked before operands are read, so that an operation is refused by its name whatever they are.
            op if !folds(op) => return Err(inst.not_translated()),
            _ => {
                let operands =
                    (0..inst.len()).map(|n| self.constant_operand(inst, n, &mut parts)).collect::<Result<Vec<_>>>()?;
                let Some(to) = self.types.component(ty) else { return Err(inst.unsupported("of this type")) };
                (0..self.types.leaf_count(ty)?)
                    .map(|i| {
                        let args = operands.iter().map(|(t, bits)| {
                            let width = self.types.component(*t).map_or(Bits::B32, |t| t.bits());
                            // A scalar condition selects whole vectors.
                            Some((*bits.get(i).or(bits.first())?, width))
                        });
                        let args: Option<Vec<_>> = args.collect();
                        args.and_then(|args| scalar(inst.op(), &args, to.bits()))
                            .ok_or_else(|| inst.unsupported("in a constant"))
                    })
                    .collect::<Result<_>>()?
            }
        };
        Ok(Constant { ty, leaves: Leaves::Bits(bits.into()), spec: None, parts })
    }

    /// First leaf and number of leaves of the part that literal indices from operand `first` on name.
    pub(super) fn leaf_range(&self, inst: &Inst, mut ty: TypeId, first: usize) -> Result<(usize, usize)> {
        let mut at = 0usize;
        for n in first..inst.len() {
            let index = inst.literal(n)?;
            let Some((before, elem)) = self.types.element(ty, index) else {
                return Err(inst.malformed(format!("index {index} is out of range")));
            };
            at = at.saturating_add(before);
            ty = elem;
        }
        Ok((at, self.types.leaf_count(ty)?))
    }
}

/// Whether constants have an operation.
pub(super) fn folds(op: Op) -> bool {
    let moves = matches!(op, Op::CompositeExtract | Op::CompositeInsert | Op::VectorShuffle);
    moves || scalar(op, &[(1, Bits::B32); 3], Bits::B32).is_some()
}

/// Bits read as a signed number.
fn signed(bits: u64, width: Bits) -> i64 {
    let unused = 64 - width.count();
    ((bits << unused) as i64) >> unused
}

/// One component; `None` for operations that constants do not have.
fn scalar(op: Op, args: &[(u64, Bits)], to: Bits) -> Option<u64> {
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
        Op::FConvert if width == to => a,
        Op::FConvert if (width, to) == (Bits::B32, Bits::B64) => f64::from(f32::from_bits(a as u32)).to_bits(),
        Op::FConvert if (width, to) == (Bits::B64, Bits::B32) => u64::from((f64::from_bits(a) as f32).to_bits()),
        _ => return None,
    };
    Some(result & to.mask())
}
