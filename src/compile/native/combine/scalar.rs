//! Scalar instructions: bit fields, shifted sums, copies of EXEC and of M0.

use super::{Combine, Operands, low_bits, with_constant};
use crate::mir::sources::one_literal;
use crate::mir::{Extra, MachineBlock, Operand, OperandValue, PhysReg, runs};
use dovetail_isa::{Format, Op};

impl Combine<'_> {
    /// Removes a comparison with 0 if the instruction that made the value has set SCC to the same result; if the value
    /// came from a comparison, repeats that one instead.
    pub(super) fn test(&mut self, n: u32, op: Op) -> bool {
        let wide = op == Op::SCmpLgU64;
        if !(wide || op == Op::SCmpLgU32) {
            return false;
        }
        let inst = self.f.insts[n as usize];
        let uses: Operands = self.f.uses(&inst).iter().copied().collect();
        let ([run @ .., zero], Some(val)) = (&uses[..], uses.first().and_then(|one| one.as_val())) else {
            return false;
        };
        let from = self.made[val.index()].filter(|from| *from >= self.start);
        let (Some(from), OperandValue::Const(0)) = (from, zero.what) else { return false };
        let maker = self.f.insts[from as usize];
        let whole = self.f.defs(&maker).iter().map(|one| one.what).eq(run.iter().map(|one| one.what));
        let Some(made) = maker.isa().filter(|_| whole && run.len() == if wide { 2 } else { 1 }) else { return false };
        if is_nonzero_in_scc(made) && !self.writes_scc(from + 1..n) {
            self.remove(n);
            return true;
        }
        // 1 or 0, selected by the comparison directly before.
        let flag = made == Op::SCselectB32
            && self.f.uses(&maker).iter().map(|one| one.what).eq([OperandValue::Const(1), OperandValue::Const(0)]);
        let Some(compare) = from.checked_sub(1).filter(|compare| flag && *compare >= self.start) else { return false };
        let first = self.f.insts[compare as usize];
        let Some((op, sources)) = first.isa().zip(self.sources(&first)) else { return false };
        if self.f.isa.row(op).format != Format::Sopc || self.gone[compare as usize] {
            return false;
        }
        self.replace(n, op, &sources, Extra::None);
        true
    }

    /// Whether any of these instructions writes SCC.
    fn writes_scc(&self, range: std::ops::Range<u32>) -> bool {
        range.into_iter().any(|n| !self.gone[n as usize] && self.f.insts[n as usize].writes_scc(self.f.isa))
    }

    /// Combines a scalar instruction; `scc`: its SCC result is read.
    pub(super) fn scalar(&mut self, n: u32, op: Op, scc: bool) -> bool {
        if self.f.isa.row(op).format != Format::Sop2 {
            return false;
        }
        if self.exec_copy(n) {
            return true;
        }
        let inst = self.f.insts[n as usize];
        let Some([a, b]) = self.pair(&inst).filter(|_| !scc) else { return false };
        let made = match op {
            Op::SAndB32 => self.scalar_field(a, b),
            Op::SAddU32 | Op::SAddI32 => self.shifted_sum(a, b).or_else(|| self.shifted_sum(b, a)),
            _ => None,
        };
        let Some((op, sources)) = made.filter(|(_, sources)| one_literal(sources)) else { return false };
        self.replace(n, op, &sources, Extra::None);
        true
    }

    fn scalar_field(&self, a: Operand, b: Operand) -> Option<(Op, Operands)> {
        let (mask, shifted) = with_constant(a, b)?;
        let (inner, x) = self.only_maker(shifted)?;
        let (from, count) = (x.get(1)?.as_const()?, low_bits(mask)?);
        let fits = inner == Op::SLshrB32 && from < 32 && from + count <= 32;
        fits.then(|| (Op::SBfeU32, [x[0], Operand::constant(from | count << 16)].into_iter().collect()))
    }

    /// `(x << k) + y`, k from 1 to 4.
    fn shifted_sum(&self, shifted: Operand, other: Operand) -> Option<(Op, Operands)> {
        let (inner, x) = self.only_maker(shifted)?;
        let op = match x.get(1)?.what {
            OperandValue::Const(1) => Op::SLshl1AddU32,
            OperandValue::Const(2) => Op::SLshl2AddU32,
            OperandValue::Const(3) => Op::SLshl3AddU32,
            OperandValue::Const(4) => Op::SLshl4AddU32,
            _ => return None,
        };
        (inner == Op::SLshlB32).then(|| (op, [x[0], other].into_iter().collect()))
    }

    /// Replaces a copy of EXEC with EXEC itself, as long as EXEC has not changed.
    fn exec_copy(&mut self, n: u32) -> bool {
        let inst = self.f.insts[n as usize];
        let mut sources = Operands::new();
        let mut changed = false;
        for run in runs(self.f.uses(&inst)) {
            match self.copy_of_exec(run, n) {
                true => {
                    sources.push(Operand::fixed(PhysReg::EXEC));
                    changed = true;
                }
                false => sources.extend_from_slice(run),
            }
        }
        if changed {
            let op = self.f.insts[n as usize].isa();
            op.into_iter().for_each(|op| self.replace(n, op, &sources, inst.extra));
        }
        changed
    }

    fn copy_of_exec(&self, run: &[Operand], user: u32) -> bool {
        let Some(val) = run.first().and_then(|one| one.as_val()) else { return false };
        let Some(from) = self.made[val.index()].filter(|from| *from >= self.start) else { return false };
        let inst = self.f.insts[from as usize];
        let moves = matches!(inst.isa(), Some(Op::SMovB32 | Op::SMovB64));
        let exec = matches!(self.f.uses(&inst), [one] if one.what == OperandValue::Fixed(PhysReg::EXEC));
        let same = self.f.defs(&inst).iter().map(|one| one.what).eq(run.iter().map(|one| one.what));
        moves && exec && same && !(from + 1..user).any(|n| self.f.writes_exec(&self.f.insts[n as usize]))
    }

    /// Removes a scalar comparison whose result is still in SCC.
    pub(super) fn repeated_tests(&mut self, block: &MachineBlock) {
        let mut held: Option<(Op, Operands)> = None;
        for n in block.insts.clone() {
            let inst = self.f.insts[n as usize];
            if self.gone[n as usize] || !inst.writes_scc(self.f.isa) {
                continue;
            }
            let compares = inst.isa().filter(|op| self.f.isa.row(*op).format == Format::Sopc);
            let test = compares.zip(self.sources(&inst));
            if test.is_some() && test == held {
                self.remove(n);
            }
            held = test;
        }
    }

    /// Removes moves to M0 of a value that it already has.
    pub(super) fn repeated_m0(&mut self, block: &MachineBlock) {
        let mut held: Option<OperandValue> = None;
        for n in block.insts.clone() {
            let inst = self.f.insts[n as usize];
            let m0 = |one: &Operand| one.what == OperandValue::Fixed(PhysReg::M0);
            if !self.f.defs(&inst).iter().any(m0) {
                continue;
            }
            let source = match (inst.isa(), self.f.uses(&inst)) {
                (Some(Op::SMovB32), [one]) => match one.what {
                    OperandValue::Val(val) if self.f.values[val.index()].variable => None,
                    OperandValue::Val(_) | OperandValue::Const(_) => Some(one.what),
                    _ => None,
                },
                _ => None,
            };
            if source.is_some() && source == held {
                self.remove(n);
            }
            held = source;
        }
    }
}

/// Whether the operation sets SCC if its result is not 0.
const fn is_nonzero_in_scc(op: Op) -> bool {
    matches!(
        op,
        Op::SAndB32
            | Op::SAndB64
            | Op::SOrB32
            | Op::SOrB64
            | Op::SXorB32
            | Op::SXorB64
            | Op::SAndn2B32
            | Op::SAndn2B64
            | Op::SLshlB32
            | Op::SLshrB32
            | Op::SAshrI32
            | Op::SBfeU32
    )
}
