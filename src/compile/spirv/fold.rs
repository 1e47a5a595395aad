//! Folds `OpSpecConstantOp`: integer, logical and composite operations on the bits of constants.
//!
//! To add an operation, add a line to [`scalar`]; if it only moves leaves, add an arm to [`Cx::fold`].

use super::constants::Constant;
use super::cx::Cx;
use super::fold_convert::Conversion;
use super::fold_scalar::{folds, scalar};
use super::instruction::SpirvInst;
use super::types::TypeId;
use dovetail_base::error::Result;
use dovetail_base::workspace::List;
use dovetail_ir::Bits;
use smallvec::SmallVec;
use spirv::Op;

impl Cx<'_> {
    /// The constant that results from an operation on constants.
    pub(super) fn fold(&mut self, inst: &SpirvInst<'_>, ty: TypeId) -> Result<Constant> {
        let mut parts = List::default();
        let bits: List<u64> = match inst.op() {
            Op::CompositeExtract => {
                let (from, bits) = self.constant_operand(inst, 0, &mut parts)?;
                let (at, len) = self.leaf_range(inst, from, 1)?;
                bits.get(at..at + len).unwrap_or(&[]).iter().copied().collect()
            }
            Op::CompositeInsert => {
                let (_, part) = self.constant_operand(inst, 0, &mut parts)?;
                let (whole, bits) = self.constant_operand(inst, 1, &mut parts)?;
                let (at, len) = self.leaf_range(inst, whole, 2)?;
                let mut bits: List<u64> = bits.iter().copied().collect();
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
                let both: List<u64> = a.iter().chain(b).copied().collect();
                (2..inst.len())
                    .map(|n| Ok(both.get(inst.literal(n)? as usize).copied().unwrap_or(0)))
                    .collect::<Result<_>>()?
            }
            // Checked before operands are read, so that the error names the operation whatever its operands.
            op if !folds(op) => return Err(inst.not_translated()),
            _ => {
                let operands = (0..inst.len()).map(|n| self.constant_operand(inst, n, &mut parts));
                let operands: SmallVec<[(TypeId, &[u64]); 4]> = operands.collect::<Result<_>>()?;
                let Some(to) = self.types.component(ty) else { return Err(inst.unsupported("of this type")) };
                let conversion = match operands.first() {
                    Some(&(from, _)) if inst.op() == Op::FConvert => Some(Conversion::new(self, inst, from, ty)?),
                    _ => None,
                };
                (0..self.types.leaf_count(ty)?)
                    .map(|i| {
                        let args = operands.iter().map(|(t, bits)| {
                            let width = self.types.component(*t).map_or(Bits::B32, |t| t.bits());
                            // A scalar condition selects whole vectors.
                            Some((*bits.get(i).or(bits.first())?, width))
                        });
                        let args: Option<SmallVec<[_; 4]>> = args.collect();
                        args.and_then(|args| match &conversion {
                            Some(conversion) => conversion.apply(args.first()?.0),
                            None => scalar(inst.op(), &args, to.bits()),
                        })
                        .ok_or_else(|| inst.unsupported("in a constant"))
                    })
                    .collect::<Result<_>>()?
            }
        };
        Ok(self.constants.computed(ty, &bits, &parts))
    }

    /// First leaf and number of leaves of the part selected by the literal indices from operand `first` on.
    pub(super) fn leaf_range(&self, inst: &SpirvInst<'_>, mut ty: TypeId, first: usize) -> Result<(usize, usize)> {
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
