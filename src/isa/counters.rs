//! Counters of a wave's outstanding operations, by family.

use super::Op;
use super::layout::CodeField;

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Vector memory with a result.
    Vector,
    /// Scalar memory, LDS, messages.
    Scalar,
    /// Exports that have not read their registers yet.
    Export,
    /// Vector memory without a result.
    Store,
}

impl Counter {
    /// Every counter.
    pub const ALL: [Self; 4] = [Self::Vector, Self::Scalar, Self::Export, Self::Store];
}

/// What is waited for: at most this many operations of each counter are left outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitCounts([u8; Counter::ALL.len()]);

impl WaitCounts {
    /// Nothing is waited for.
    pub const ANY: Self = Self([u8::MAX; Counter::ALL.len()]);

    /// Until all operations of a counter are done.
    pub const fn all(counter: Counter) -> Self {
        Self::ANY.at_most(counter, 0)
    }

    /// The same with another number for a counter.
    #[must_use]
    pub const fn at_most(self, counter: Counter, count: u8) -> Self {
        let Self(mut counts) = self;
        counts[counter as usize] = count;
        Self(counts)
    }

    /// Operations that may be left; `u8::MAX`: any number.
    pub const fn get(self, counter: Counter) -> u8 {
        self.0[counter as usize]
    }

    /// The wait that fulfils both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut both = self;
        both.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine = (*mine).min(theirs));
        both
    }
}

/// A counter of an instruction set.
#[derive(Debug)]
pub(super) struct CounterRow {
    /// The assembler's name.
    name: &'static str,
    /// Its largest value: the hardware issues nothing more until it drops.
    most: u8,
    /// Its place in the constant of the wait for several counters.
    pub(super) place: CodeField,
    /// The instruction that waits for it alone: a register, `null` for none, plus a constant.
    pub(super) alone: Op,
}

/// The counters of an instruction set.
#[derive(Debug)]
pub struct WaitLayout {
    /// By counter.
    rows: [CounterRow; Counter::ALL.len()],
    /// Waits for each counter that has a place in its constant.
    pub(super) several: Op,
    /// The order of these in the assembler's text.
    order: [Counter; 3],
}

/// gfx10 (AMD, "RDNA 2 Instruction Set Architecture", S_WAITCNT; checked against llvm-mc).
pub(super) static GFX10: WaitLayout = GFX10_LAYOUT;

const GFX10_LAYOUT: WaitLayout = WaitLayout {
    rows: [
        CounterRow { name: "vmcnt", most: 63, place: CodeField::parts(0, 4, 14, 2), alone: Op::SWaitcntVmcnt },
        CounterRow { name: "lgkmcnt", most: 63, place: CodeField::parts(8, 6, 0, 0), alone: Op::SWaitcntLgkmcnt },
        CounterRow { name: "expcnt", most: 7, place: CodeField::parts(4, 3, 0, 0), alone: Op::SWaitcntExpcnt },
        CounterRow { name: "vscnt", most: 63, place: CodeField::NONE, alone: Op::SWaitcntVscnt },
    ],
    several: Op::SWaitcnt,
    order: [Counter::Vector, Counter::Export, Counter::Scalar],
};

/// gfx11 (AMD, "RDNA 3 Instruction Set Architecture", S_WAITCNT; checked against llvm-mc). Exports share their counter with
/// parameter loads.
pub(super) static GFX11: WaitLayout = WaitLayout {
    rows: [
        CounterRow { name: "vmcnt", most: 63, place: CodeField::parts(10, 6, 0, 0), alone: Op::SWaitcntVmcnt },
        CounterRow { name: "lgkmcnt", most: 63, place: CodeField::parts(4, 6, 0, 0), alone: Op::SWaitcntLgkmcnt },
        CounterRow { name: "expcnt", most: 7, place: CodeField::parts(0, 3, 0, 0), alone: Op::SWaitcntExpcnt },
        CounterRow { name: "vscnt", most: 63, place: CodeField::NONE, alone: Op::SWaitcntVscnt },
    ],
    ..GFX10_LAYOUT
};

impl WaitLayout {
    pub(super) const fn row(&self, counter: Counter) -> &CounterRow {
        &self.rows[counter as usize]
    }

    /// The assembler's name of a counter.
    pub const fn name(&self, counter: Counter) -> &'static str {
        self.row(counter).name
    }

    /// The largest value of a counter.
    pub const fn most(&self, counter: Counter) -> u8 {
        self.row(counter).most
    }

    /// What the constant of the wait for several counters says. A counter's largest value is no wait.
    pub fn of_constant(&self, constant: u16) -> WaitCounts {
        self.order.into_iter().fold(WaitCounts::ANY, |counts, counter| {
            let count = self.row(counter).place.small(constant.into());
            if count < self.most(counter) { counts.at_most(counter, count) } else { counts }
        })
    }

    /// The constant of the wait for several counters; `None` if it is no wait for these.
    pub(super) fn constant(&self, counts: WaitCounts) -> Option<u16> {
        let mut waits = false;
        let constant = self.order.into_iter().fold(0, |constant, counter| {
            let count = counts.get(counter).min(self.most(counter));
            waits |= count < self.most(counter);
            constant | self.row(counter).place.put(count.into()).unwrap_or(0)
        });
        waits.then_some(constant as u16)
    }

    /// The bits of the constant of the wait for several counters that have a meaning.
    #[cfg(test)]
    pub(super) fn constant_bits(&self) -> u16 {
        self.order.into_iter().fold(0, |bits, counter| bits | self.row(counter).place.mask() as u16)
    }

    /// The counter that an operation waits for alone.
    pub fn alone(&self, op: Op) -> Option<Counter> {
        Counter::ALL.into_iter().find(|counter| self.row(*counter).alone == op)
    }

    /// Text of the constant of the wait for several counters: those that are waited for, or all if there are none.
    pub(super) fn text(&self, constant: u16) -> String {
        let counts = self.of_constant(constant);
        let shown =
            self.order.into_iter().filter(|counter| counts == WaitCounts::ANY || counts.get(*counter) != u8::MAX);
        let text = |counter| format!("{}({})", self.name(counter), self.row(counter).place.small(constant.into()));
        shown.map(text).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_comes_back() {
        for constant in (0..=u16::MAX).filter(|constant| constant & 0x80 == 0) {
            let counts = GFX10.of_constant(constant);
            assert_eq!(GFX10.constant(counts).unwrap_or(0xff7f & 0xff7f), constant & 0xff7f);
        }
    }
}
