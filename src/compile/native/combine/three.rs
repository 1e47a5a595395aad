//! Merges two integer operations into one instruction with three sources (`v_add3`, `v_lshl_add`, …).

use super::{Combine, Operands};
use crate::mir::{Extra, MachineInst, Operand};
use dovetail_isa::Op;

impl Combine<'_> {
    /// Combines a sum, shift or logic operation with the operation that made its source.
    pub(super) fn three(&mut self, n: u32, op: Op) -> bool {
        let inst = self.f.insts[n as usize];
        if inst.extra != Extra::None || inst.tied || inst.uses != 2 {
            return false;
        }
        let Some(own) = self.sources(&inst) else { return false };
        let made = self.found(op, &own);
        let Some((op, sources)) = made.filter(|(op, sources)| self.f.takes(*op, sources)) else { return false };
        self.replace(n, op, &sources, Extra::None);
        true
    }

    fn found(&self, op: Op, own: &Operands) -> Option<(Op, Operands)> {
        let of = |a: Operand, b: Operand, c: Operand| [a, b, c].into_iter().collect::<Operands>();
        if op == Op::VLshlrevB32 {
            let (inner, x) = self.only_maker(own[1])?;
            return (inner == Op::VAddNcU32).then(|| (Op::VAddLshlU32, of(x[0], x[1], own[0])));
        }
        let pick = |one: Operand, other: Operand| {
            let (inner, x) = self.only_maker(one)?;
            Some(match (op, inner) {
                // A uniform sum is cheaper in the scalar unit only if other instructions need it too.
                (Op::VAddNcU32, Op::SAddU32) => (Op::VAdd3U32, of(x[0], x[1], other)),
                (Op::VAddNcU32, Op::SLshlB32) => (Op::VLshlAddU32, of(x[0], x[1], other)),
                (Op::VOrB32, Op::SLshlB32) => (Op::VLshlOrB32, of(x[0], x[1], other)),
                _ if !self.is_vector(one) => return None,
                (Op::VAddNcU32, Op::VAddNcU32) => (Op::VAdd3U32, of(x[0], x[1], other)),
                (Op::VAddNcU32, Op::VLshlrevB32) => (Op::VLshlAddU32, of(x[1], x[0], other)),
                (Op::VAddNcU32, Op::VXorB32) => (Op::VXadU32, of(x[0], x[1], other)),
                (Op::VOrB32, Op::VLshlrevB32) => (Op::VLshlOrB32, of(x[1], x[0], other)),
                (Op::VOrB32, Op::VAndB32) => (Op::VAndOrB32, of(x[0], x[1], other)),
                (Op::VOrB32, Op::VOrB32) => (Op::VOr3B32, of(x[0], x[1], other)),
                (Op::VXorB32, Op::VXorB32) => (Op::VXor3B32, of(x[0], x[1], other)),
                _ => return self.med3(op, inner, &x, other),
            })
        };
        let fits = |made: &(Op, Operands)| self.f.takes(made.0, &made.1);
        pick(own[0], own[1]).filter(fits).or_else(|| pick(own[1], own[0]))
    }

    /// The median: the larger of a bound, and the smaller of a number and a larger bound.
    fn med3(&self, op: Op, inner: Op, x: &Operands, bound: Operand) -> Option<(Op, Operands)> {
        let (med, signed) = match (op, inner) {
            (Op::VMaxI32, Op::VMinI32) => (Op::VMed3I32, true),
            (Op::VMaxU32, Op::VMinU32) => (Op::VMed3U32, false),
            _ => return None,
        };
        let low = bound.as_const()?;
        let (value, high) = match (x[0].as_const(), x[1].as_const()) {
            (Some(high), None) => (x[1], high),
            (None, Some(high)) => (x[0], high),
            _ => return None,
        };
        let ordered = if signed { low.cast_signed() <= high.cast_signed() } else { low <= high };
        ordered.then(|| (med, [value, bound, Operand::constant(high)].into_iter().collect()))
    }

    /// The two sources of an instruction without other fields.
    pub(super) fn pair(&self, inst: &MachineInst) -> Option<[Operand; 2]> {
        let plain = inst.extra == Extra::None && !inst.tied && inst.defs == 1;
        let sources = self.sources(inst).filter(|_| plain)?;
        if let [a, b] = sources[..] { Some([a, b]) } else { None }
    }
}
