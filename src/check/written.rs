//! Which scalar registers have been written: on every path, or at least on every path on which certain lanes exist.
//!
//! Compilers load a descriptor where the lanes that want it are on, and use it later under a mask of some of those lanes.
//! On the paths around the load there is no such lane, and a vector instruction without a lane does nothing: it may be
//! given anything. So each mask, EXEC too, has a set of registers that it *vouches* for: if a bit of the mask is set, they
//! have been written. Of two masks, "and" vouches for what either does, "or" for what both do; a mask of no lane vouches
//! for all. A branch on EXEC or VCC tells on one side that the mask is not zero, and on the other that it is.

use super::flow::Step;
use super::solve::Flow;
use crate::isa::instruction::{Fields, ScalarFields};
use crate::isa::{Effects, Register, RegisterSet, Scalar, Src};
use crate::target::WaveSize;

/// Scalar registers by their codes: SGPRs, VCC, M0, EXEC.
type Scalars = u128;

const COUNT: u8 = 128;
const EXEC: u8 = Register::EXEC.code() as u8;
const VCC: u8 = Register::VCC.code() as u8;

/// What has been written before an instruction.
#[derive(Clone)]
pub(super) struct Written {
    wave: WaveSize,
    /// On every path.
    surely: RegisterSet,
    /// On some path.
    maybe: RegisterSet,
    /// By mask register: what it vouches for beside what is surely written.
    vouches: Box<[Scalars; COUNT as usize]>,
}

impl Written {
    /// At the entry.
    pub(super) fn entry(wave: WaveSize, set: RegisterSet) -> Self {
        Self { wave, surely: set, maybe: set, vouches: Box::new([0; COUNT as usize]) }
    }

    /// Whether some path has written a register.
    pub(super) fn maybe(&self) -> &RegisterSet {
        &self.maybe
    }

    /// Registers that every path has written.
    pub(super) fn surely(&self) -> &RegisterSet {
        &self.surely
    }

    /// Registers that have been written if a lane is on.
    pub(super) fn where_lanes_are(&self) -> RegisterSet {
        RegisterSet::from_scalar_bits(self.of_mask(EXEC)).union(&self.surely)
    }

    fn sure(&self) -> Scalars {
        self.surely.scalar_bits()
    }

    /// What one register of a mask vouches for.
    fn of(&self, register: u8) -> Scalars {
        self.vouches.get(usize::from(register)).copied().unwrap_or(0) | self.sure()
    }

    /// What a whole mask vouches for.
    fn of_mask(&self, first: u8) -> Scalars {
        match self.wave {
            WaveSize::W32 => self.of(first),
            WaveSize::W64 => self.of(first) & self.of(first + 1),
        }
    }

    /// What a half of a scalar operand vouches for.
    fn of_operand(&self, src: Option<Src>, half: u8) -> Scalars {
        match src {
            Some(Src::Scalar(s)) => self.of(s.code().saturating_add(half)),
            Some(Src::Int(0)) => Scalars::MAX,
            Some(Src::Int(n)) if half == 1 && n > 0 => Scalars::MAX,
            _ => self.sure(),
        }
    }

    /// The masks that an instruction writes, each with what it vouches for.
    fn masks(&self, step: &Step) -> Vec<(u8, Scalars)> {
        match &step.inst.fields {
            Fields::Scalar(f) => self.scalar(step.name(), f),
            // A comparison gives no bit to a lane that is off.
            Fields::Vector(_) if step.name().starts_with("v_cmp") => {
                let masks = step.effects.writes.scalar_bits();
                let written = (0..COUNT).filter(|code| masks >> code & 1 == 1);
                written.zip(EXEC..=EXEC + 1).map(|(code, exec)| (code, self.of(exec))).collect()
            }
            _ => Vec::new(),
        }
    }

    fn scalar(&self, name: &str, f: &ScalarFields) -> Vec<(u8, Scalars)> {
        let (plain, halves) = match (name.strip_suffix("_b32"), name.strip_suffix("_b64")) {
            (Some(plain), _) => (plain, 1),
            (_, Some(plain)) => (plain, 2),
            _ => return Vec::new(),
        };
        let Some(dst) = f.dst.map(Scalar::code) else { return Vec::new() };
        let mut out = Vec::new();
        for half in 0..halves {
            let [a, b] = [f.srcs[0], f.srcs[1]].map(|src| self.of_operand(src, half));
            let (dst, exec) = (dst.saturating_add(half), EXEC + half);
            let on = self.of(exec);
            match plain {
                "s_mov" | "s_wqm" | "s_andn2" => out.push((dst, a)),
                "s_and" => out.push((dst, a | b)),
                "s_or" | "s_xor" | "s_cselect" => out.push((dst, a & b)),
                "s_and_saveexec" => out.extend([(dst, on), (exec, a | on)]),
                "s_or_saveexec" | "s_xor_saveexec" => out.extend([(dst, on), (exec, a & on)]),
                "s_andn2_saveexec" => out.extend([(dst, on), (exec, a)]),
                "s_andn1_saveexec" => out.extend([(dst, on), (exec, on)]),
                "s_andn2_wrexec" => out.extend([(dst, a), (exec, a)]),
                "s_andn1_wrexec" => out.extend([(dst, on), (exec, on)]),
                _ => {}
            }
        }
        out
    }

    /// A copy of what may have no value may have none, and whoever vouches for the one vouches for the other.
    fn copy(&mut self, step: &Step) {
        let Fields::Scalar(f) = &step.inst.fields else { return };
        let (Some(dst), Some(Src::Scalar(src))) = (f.dst, f.srcs[0]) else { return };
        let count = if step.name().ends_with("b64") { 2 } else { 1 };
        let before = self.clone();
        for half in 0..count {
            let (to, from) = (dst.code().saturating_add(half), src.code().saturating_add(half));
            let mut one = RegisterSet::EMPTY;
            one.insert(Register::sgpr(to));
            if before.sure() >> from & 1 == 1 {
                self.surely = self.surely.union(&one);
                continue;
            }
            self.surely = self.surely.without(&one);
            for (vouches, old) in self.vouches.iter_mut().zip(before.vouches.iter()) {
                *vouches = *vouches & !(1 << to) | (old >> from & 1) << to;
            }
        }
    }

    /// It is known that a mask has no bit, or some.
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
        self.maybe = self.maybe.union(writes);
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
        for (code, vouches) in masks {
            if let Some(place) = self.vouches.get_mut(usize::from(code)) {
                *place = vouches;
            }
        }
    }

    fn branch(&mut self, branch: &Step, taken: bool) {
        match branch.name() {
            "s_cbranch_execz" => self.told(EXEC, taken),
            "s_cbranch_execnz" => self.told(EXEC, !taken),
            "s_cbranch_vccz" => self.told(VCC, taken),
            "s_cbranch_vccnz" => self.told(VCC, !taken),
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
        let (surely, maybe) = (self.surely.intersection(&other.surely), self.maybe.union(&other.maybe));
        changed |= surely != self.surely || maybe != self.maybe;
        (self.surely, self.maybe) = (surely, maybe);
        changed
    }
}

/// Where paths meet, LLVM copies what one of them has no value for.
pub(super) fn is_copy(step: &Step) -> bool {
    matches!(step.name(), "s_mov_b32" | "s_mov_b64")
        && matches!(&step.inst.fields, Fields::Scalar(f) if matches!(f.srcs[0], Some(Src::Scalar(_))))
}
