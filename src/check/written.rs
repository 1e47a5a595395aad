//! Scalar registers that were written on every path, or at least on every path on which certain lanes are active.
//!
//! Compilers load a descriptor while the lanes that need it are active, and use it later under a subset of that mask.
//! On paths around the load no such lane is active, and a vector instruction with EXEC = 0 does nothing, so its
//! operands do not matter. So each mask, EXEC too, has a set of registers that it *vouches* for: if any of its bits is
//! set, these registers were written. `s_and` vouches for the union of both masks' sets, `s_or` for the intersection,
//! and a zero mask for all registers. A branch on EXEC or VCC proves the mask zero on one edge and nonzero on the
//! other. A mask in a lane of a vector register vouches for what it vouched for where it was saved.

use super::flow::Step;
use super::mask_op::MaskForm::{Plain, Save, Write};
use super::mask_op::{MaskOp, mask_op};
use super::saved::{Scalars, UnwrittenLanes, VouchingLanes, saved};
use super::solve::Flow;
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::{Fields, ScalarFields, VectorDst, VectorForm};
use dovetail_isa::{Effects, Format, Op, Register, RegisterSet, Scalar, Src};

const COUNT: u8 = 128;
const EXEC: u8 = Register::EXEC.index() as u8;
const VCC: u8 = Register::VCC.index() as u8;

/// Registers written before an instruction.
#[derive(Clone)]
pub(super) struct Written {
    wave: WaveSize,
    /// Registers written on every path.
    surely: RegisterSet,
    /// Registers written on some path.
    maybe: RegisterSet,
    /// Registers that each mask register vouches for beyond `surely`.
    vouches: Box<[Scalars; COUNT as usize]>,
    /// The same of half masks in lanes of vector registers.
    vouching_lanes: VouchingLanes,
    /// Lanes with copies of registers that no path has written.
    lanes: UnwrittenLanes,
}

impl Written {
    /// Facts at the entry.
    pub(super) fn entry(wave: WaveSize, set: RegisterSet) -> Self {
        let vouches = Box::new([0; COUNT as usize]);
        let (vouching_lanes, lanes) = (VouchingLanes::default(), UnwrittenLanes::default());
        Self { wave, surely: set, maybe: set, vouches, vouching_lanes, lanes }
    }

    /// Whether some path has written a register.
    pub(super) fn maybe(&self) -> &RegisterSet {
        &self.maybe
    }

    /// Registers that every path has written.
    pub(super) fn surely(&self) -> &RegisterSet {
        &self.surely
    }

    /// Registers that were written if any lane is active.
    pub(super) fn where_lanes_are(&self) -> RegisterSet {
        RegisterSet::from_scalar_bits(self.of_mask(EXEC)).union(&self.surely)
    }

    fn sure(&self) -> Scalars {
        self.surely.scalar_bits()
    }

    /// Registers that one register of a mask vouches for.
    fn of(&self, register: u8) -> Scalars {
        self.vouches.get(usize::from(register)).copied().unwrap_or(0) | self.sure()
    }

    /// Registers that a whole mask vouches for.
    fn of_mask(&self, first: u8) -> Scalars {
        match self.wave {
            WaveSize::W32 => self.of(first),
            WaveSize::W64 => self.of(first) & self.of(first + 1),
        }
    }

    /// Registers that half of a scalar operand vouches for.
    fn of_operand(&self, src: Option<Src>, half: u8) -> Scalars {
        match src {
            Some(Src::Scalar(s)) => self.of(s.index().saturating_add(half)),
            Some(Src::Int(0)) => Scalars::MAX,
            Some(Src::Int(n)) if half == 1 && n > 0 => Scalars::MAX,
            _ => self.sure(),
        }
    }

    /// The masks that an instruction writes, each with the registers that it vouches for.
    fn masks(&self, step: &Step) -> Vec<(u8, Scalars)> {
        match &step.inst.fields {
            Fields::Scalar(f) => self.scalar(step, f),
            // A comparison clears the bits of inactive lanes.
            Fields::Vector(_) if step.inst.entry.format == Format::Vopc => {
                let masks = step.effects.writes.scalar_bits();
                let written = (0..COUNT).filter(|code| masks >> code & 1 == 1);
                written.zip(EXEC..=EXEC + 1).map(|(code, exec)| (code, self.of(exec))).collect()
            }
            _ => Vec::new(),
        }
    }

    fn scalar(&self, step: &Step, f: &ScalarFields) -> Vec<(u8, Scalars)> {
        let entry = step.inst.entry;
        let halves = entry.dst_kind(0).registers();
        let Some(dst) = f.dst.map(Scalar::index) else { return Vec::new() };
        let mut out = Vec::new();
        for half in 0..halves {
            let [a, b] = [f.srcs[0], f.srcs[1]].map(|src| self.of_operand(src, half));
            let (dst, exec) = (dst.saturating_add(half), EXEC + half);
            let on = self.of(exec);
            match mask_op(entry.op) {
                Some((Plain, MaskOp::Mov | MaskOp::Wqm | MaskOp::Andn2)) => out.push((dst, a)),
                Some((Plain, MaskOp::And)) => out.push((dst, a | b)),
                Some((Plain, MaskOp::Or | MaskOp::Xor | MaskOp::Select)) => out.push((dst, a & b)),
                Some((Save, MaskOp::And)) => out.extend([(dst, on), (exec, a | on)]),
                Some((Save, MaskOp::Or | MaskOp::Xor)) => out.extend([(dst, on), (exec, a & on)]),
                Some((Save, MaskOp::Andn2)) => out.extend([(dst, on), (exec, a)]),
                Some((Save | Write, MaskOp::Andn1)) => out.extend([(dst, on), (exec, on)]),
                Some((Write, MaskOp::Andn2)) => out.extend([(dst, a), (exec, a)]),
                _ => {}
            }
        }
        out
    }

    /// A copy is written on the paths on which its source is; masks that vouch for the source also vouch for the copy.
    fn copy(&mut self, step: &Step) {
        let Fields::Scalar(f) = &step.inst.fields else { return };
        let (Some(dst), Some(Src::Scalar(src))) = (f.dst, f.srcs[0]) else { return };
        let count = step.inst.entry.dst_kind(0).registers();
        let before = self.clone();
        for half in 0..count {
            let (to, from) = (dst.index().saturating_add(half), src.index().saturating_add(half));
            let mut one = RegisterSet::EMPTY;
            one.insert(Register::sgpr(to));
            if before.sure() >> from & 1 == 1 {
                self.surely = self.surely.union(&one);
                continue;
            }
            self.surely = self.surely.without(&one);
            let copied = |old: Scalars| (old >> from & 1) << to;
            for (vouches, old) in self.vouches.iter_mut().zip(before.vouches.iter()) {
                *vouches = *vouches & !(1 << to) | copied(*old);
            }
            self.vouching_lanes.change(|vouches| vouches & !(1 << to) | copied(vouches));
        }
    }

    /// `maybe` after copies from the second register of each pair to the first: a copy of an unwritten register is
    /// unwritten. `whole`: the copy replaces the whole old value; otherwise inactive lanes may keep it.
    fn maybe_after_copy(&self, pairs: &[(Register, Register)], whole: bool) -> RegisterSet {
        let mut after = self.maybe;
        for (to, from) in pairs {
            let mut one = RegisterSet::EMPTY;
            one.insert(*to);
            if self.maybe.contains(*from) {
                after = after.union(&one);
            } else if whole {
                after = after.without(&one);
            }
        }
        after
    }

    /// Records that a mask is zero, or that it is not.
    fn told(&mut self, first: u8, zero: bool) {
        if zero {
            let halves = if self.wave == WaveSize::W64 { 2 } else { 1 };
            self.vouches.iter_mut().skip(usize::from(first)).take(halves).for_each(|vouches| *vouches = Scalars::MAX);
        } else {
            self.surely = self.surely.union(&RegisterSet::from_scalar_bits(self.of_mask(first)));
        }
    }
}

impl Flow for Written {
    const BRANCHES: bool = true;

    fn step(&mut self, step: &Step) {
        let Effects { writes, indirect, .. } = &step.effects;
        self.lanes.step(step, &self.maybe);
        let restored = self.vouching_lanes.restored(step);
        let saved = saved(step).map_or(0, |(.., from)| self.of(from.index() as u8));
        self.vouching_lanes.step(step, saved);
        self.maybe = match copied(step) {
            Some(pairs) => self.maybe_after_copy(&pairs, is_copy(step)),
            None if self.lanes.restores(step) => self.maybe.without(writes),
            None => self.maybe.union(writes),
        };
        if is_copy(step) {
            self.copy(step);
        } else {
            self.surely = self.surely.union(writes);
        }
        let masks = self.masks(step);
        let written = writes.scalar_bits();
        for (code, vouches) in (0..COUNT).zip(self.vouches.iter_mut()) {
            if written >> code & 1 == 1 || *indirect && matches!(step.inst.fields, Fields::Scalar(_)) {
                *vouches = 0;
            }
        }
        let restored = restored.map(|vouches| (written.trailing_zeros() as u8, vouches));
        for (code, vouches) in masks.into_iter().chain(restored) {
            if let Some(place) = self.vouches.get_mut(usize::from(code)) {
                *place = vouches;
            }
        }
    }

    fn branch(&mut self, branch: &Step, taken: bool) {
        match branch.op() {
            Op::SCbranchExecz => self.told(EXEC, taken),
            Op::SCbranchExecnz => self.told(EXEC, !taken),
            Op::SCbranchVccz => self.told(VCC, taken),
            Op::SCbranchVccnz => self.told(VCC, !taken),
            _ => {}
        }
    }

    fn join(&mut self, other: &Self) -> bool {
        let (mine, theirs) = (self.sure(), other.sure());
        let both = mine & theirs;
        let mut changed = false;
        for (vouches, their) in self.vouches.iter_mut().zip(other.vouches.iter()) {
            let known = *vouches | mine;
            let new = known & (their | theirs);
            changed |= new != known;
            *vouches = new & !both;
        }
        changed |= self.vouching_lanes.join(&other.vouching_lanes, [mine, theirs]);
        let (surely, maybe) = (self.surely.intersection(&other.surely), self.maybe.union(&other.maybe));
        changed |= surely != self.surely || maybe != self.maybe;
        (self.surely, self.maybe) = (surely, maybe);
        self.lanes.join(&other.lanes) || changed
    }
}

/// Unmodified copies that an instruction makes, as pairs of target and source. LLVM copies a whole group, then
/// overwrites its undefined registers.
pub(super) fn copied(step: &Step) -> Option<Vec<(Register, Register)>> {
    match &step.inst.fields {
        Fields::Scalar(f) if is_copy(step) => {
            let (Some(to), Some(Src::Scalar(from))) = (f.dst, f.srcs[0]) else { return None };
            let half =
                |n| (Register::sgpr(to.index().saturating_add(n)), Register::sgpr(from.index().saturating_add(n)));
            Some((0..step.inst.entry.dst_kind(0).registers()).map(half).collect())
        }
        Fields::Vector(f) if step.op() == Op::VMovB32 && matches!(f.form, VectorForm::Short | VectorForm::Long) => {
            let from = match f.srcs[0] {
                Some(Src::Scalar(from)) => Register::sgpr(from.index()),
                Some(Src::Vgpr(from)) => Register::vgpr(from.0),
                _ => return None,
            };
            let Some(VectorDst::Vgpr(to)) = f.dst else { return None };
            Some(vec![(Register::vgpr(to.0), from)])
        }
        _ => None,
    }
}

/// Whether it is a copy: LLVM copies a value at a join even if it is undefined on one of the paths.
pub(super) fn is_copy(step: &Step) -> bool {
    matches!(step.op(), Op::SMovB32 | Op::SMovB64)
        && matches!(&step.inst.fields, Fields::Scalar(f) if matches!(f.srcs[0], Some(Src::Scalar(_))))
}
