//! Counters of a wave's outstanding operations, by family.

use super::Op;
use super::layout::CodeField;

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Vector memory with a result, without those that have counters of their own.
    Vector,
    /// Scalar memory, messages; LDS too if it has no counter of its own.
    Scalar,
    /// Exports that have not read their registers yet.
    Export,
    /// Vector memory without a result.
    Store,
    /// Sampled images, where they have a counter of their own.
    Sample,
    /// Ray intersection, likewise.
    Ray,
    /// LDS, likewise.
    Lds,
}

impl Counter {
    /// Every counter.
    pub const ALL: [Self; 7] =
        [Self::Vector, Self::Scalar, Self::Export, Self::Store, Self::Sample, Self::Ray, Self::Lds];
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
    /// The instruction that waits for it alone: for a constant, or for a register, `null` for none, plus a constant.
    pub(super) alone: Op,
}

/// The counters of an instruction set.
#[derive(Debug)]
pub struct WaitLayout {
    /// By counter; `None` for one that it lacks.
    rows: [Option<CounterRow>; Counter::ALL.len()],
    /// Waits for each counter that has a place in its constant, if there is such an instruction.
    several: Option<Op>,
    /// The order of these in the assembler's text.
    order: &'static [Counter],
    /// Waits for two counters, the first one's number in the bits from [`PAIR_SHIFT`] on.
    pub(super) pairs: &'static [(Op, Counter, Counter)],
    /// Loads of one kind write their registers in order.
    pub ordered_results: bool,
}

/// See [`WaitLayout::pairs`].
const PAIR_SHIFT: u16 = 8;

const fn row(name: &'static str, most: u8, place: CodeField, alone: Op) -> Option<CounterRow> {
    Some(CounterRow { name, most, place, alone })
}

/// gfx10 (AMD, "RDNA 2 Instruction Set Architecture", S_WAITCNT; checked against llvm-mc).
pub(super) static GFX10: WaitLayout = GFX10_LAYOUT;

const GFX10_LAYOUT: WaitLayout = WaitLayout {
    rows: [
        row("vmcnt", 63, CodeField::parts(0, 4, 14, 2), Op::SWaitcntVmcnt),
        row("lgkmcnt", 63, CodeField::parts(8, 6, 0, 0), Op::SWaitcntLgkmcnt),
        row("expcnt", 7, CodeField::parts(4, 3, 0, 0), Op::SWaitcntExpcnt),
        row("vscnt", 63, CodeField::NONE, Op::SWaitcntVscnt),
        None,
        None,
        None,
    ],
    several: Some(Op::SWaitcnt),
    order: &[Counter::Vector, Counter::Export, Counter::Scalar],
    pairs: &[],
    ordered_results: true,
};

/// gfx11 (AMD, "RDNA 3 Instruction Set Architecture", S_WAITCNT; checked against llvm-mc). Exports share their counter with
/// parameter loads.
pub(super) static GFX11: WaitLayout = WaitLayout {
    rows: [
        row("vmcnt", 63, CodeField::parts(10, 6, 0, 0), Op::SWaitcntVmcnt),
        row("lgkmcnt", 63, CodeField::parts(4, 6, 0, 0), Op::SWaitcntLgkmcnt),
        row("expcnt", 7, CodeField::parts(0, 3, 0, 0), Op::SWaitcntExpcnt),
        row("vscnt", 63, CodeField::NONE, Op::SWaitcntVscnt),
        None,
        None,
        None,
    ],
    ..GFX10_LAYOUT
};

/// gfx12 (LLVM, `AMDGPUBaseInfo`, `HardwareLimits`; Mesa, `wait_imm::max`): a counter for each kind, each with its
/// instruction; two of them together with that of LDS. Results of two loads may come in any order (Mesa, `check_instr`).
pub(super) static GFX12: WaitLayout = WaitLayout {
    rows: [
        row("loadcnt", 63, CodeField::NONE, Op::SWaitLoadcnt),
        row("kmcnt", 31, CodeField::NONE, Op::SWaitKmcnt),
        row("expcnt", 7, CodeField::NONE, Op::SWaitExpcnt),
        row("storecnt", 63, CodeField::NONE, Op::SWaitStorecnt),
        row("samplecnt", 63, CodeField::NONE, Op::SWaitSamplecnt),
        row("bvhcnt", 7, CodeField::NONE, Op::SWaitBvhcnt),
        row("dscnt", 63, CodeField::NONE, Op::SWaitDscnt),
    ],
    several: None,
    order: &[],
    pairs: &[
        (Op::SWaitLoadcntDscnt, Counter::Vector, Counter::Lds),
        (Op::SWaitStorecntDscnt, Counter::Store, Counter::Lds),
    ],
    ordered_results: false,
};

impl WaitLayout {
    /// The counter that counts what `kind` is for: itself, or the one that it shares.
    pub const fn of(&self, kind: Counter) -> Counter {
        match (kind, &self.rows[kind as usize]) {
            (_, Some(_)) => kind,
            (Counter::Lds, None) => Counter::Scalar,
            (_, None) => Counter::Vector,
        }
    }

    /// The counters that it has.
    pub fn counters(&self) -> impl Iterator<Item = Counter> + use<> {
        let has = Counter::ALL.map(|counter| self.of(counter) == counter);
        Counter::ALL.into_iter().filter(move |counter| has[*counter as usize])
    }

    const fn row(&self, counter: Counter) -> Option<&CounterRow> {
        self.rows[self.of(counter) as usize].as_ref()
    }

    /// The assembler's name of a counter.
    pub const fn name(&self, counter: Counter) -> &'static str {
        match self.row(counter) {
            Some(row) => row.name,
            None => "",
        }
    }

    /// The largest value of a counter.
    pub const fn most(&self, counter: Counter) -> u8 {
        match self.row(counter) {
            Some(row) => row.most,
            None => 0,
        }
    }

    /// Its place in the constant of the wait for several counters; none if it has no such.
    fn place(&self, counter: Counter) -> CodeField {
        self.row(counter).map_or(CodeField::NONE, |row| row.place)
    }

    /// The wait with a count for each counter that is really there.
    pub fn real(&self, counts: WaitCounts) -> WaitCounts {
        let all = Counter::ALL.into_iter();
        all.fold(WaitCounts::ANY, |real, one| real.and(WaitCounts::ANY.at_most(self.of(one), counts.get(one))))
    }

    /// What the constant of the wait for several counters says. A counter's largest value is no wait.
    pub fn of_constant(&self, constant: u16) -> WaitCounts {
        self.order.iter().fold(WaitCounts::ANY, |counts, counter| {
            let count = self.place(*counter).small(constant.into());
            if count < self.most(*counter) { counts.at_most(*counter, count) } else { counts }
        })
    }

    /// The wait for several counters, and its constant; `None` if there is none for these.
    pub(super) fn several(&self, counts: WaitCounts) -> Option<(Op, u16)> {
        let mut waits = false;
        let constant = self.order.iter().fold(0, |constant, counter| {
            let count = counts.get(*counter).min(self.most(*counter));
            waits |= count < self.most(*counter);
            constant | self.place(*counter).put(count.into()).unwrap_or(0)
        });
        self.several.filter(|_| waits).map(|op| (op, constant as u16))
    }

    /// Waits for two counters at once, each with the count in its constant.
    pub(super) fn pair(&self, counts: WaitCounts) -> Option<(Op, u16, [Counter; 2])> {
        let waits = |counter| counts.get(counter) < self.most(counter);
        let (op, first, second) = self.pairs.iter().find(|(_, first, second)| waits(*first) && waits(*second))?;
        let constant = u16::from(counts.get(*first)) << PAIR_SHIFT | u16::from(counts.get(*second));
        Some((*op, constant, [*first, *second]))
    }

    /// What an operation with this constant waits for; `None`: it is no wait. A count in a register is not known here.
    pub fn waited(&self, op: Op, constant: u16) -> Option<WaitCounts> {
        let one = |counter, count: u8| {
            let count = if count < self.most(counter) { count } else { u8::MAX };
            WaitCounts::ANY.at_most(counter, count)
        };
        if self.several == Some(op) {
            return Some(self.of_constant(constant));
        }
        if let Some((_, first, second)) = self.pairs.iter().find(|(pair, ..)| *pair == op) {
            let [first_count, second_count] = [constant >> PAIR_SHIFT, constant].map(|count| count as u8 & PAIR_BITS);
            return Some(one(*first, first_count).and(one(*second, second_count)));
        }
        let counter = self.alone(op)?;
        Some(one(counter, u8::try_from(constant).unwrap_or(u8::MAX)))
    }

    /// The bits of the constant of the wait for several counters that have a meaning.
    #[cfg(test)]
    pub(super) fn constant_bits(&self) -> u16 {
        self.order.iter().fold(0, |bits, counter| bits | self.place(*counter).mask() as u16)
    }

    /// The counter that an operation waits for alone.
    pub fn alone(&self, op: Op) -> Option<Counter> {
        self.counters().find(|counter| self.row(*counter).is_some_and(|row| row.alone == op))
    }

    /// The operation that waits for a counter alone.
    pub(super) fn op_alone(&self, counter: Counter) -> Op {
        self.row(counter).map_or(Op::SWaitIdle, |row| row.alone)
    }

    /// Whether a counter is waited for alone only.
    pub(super) fn is_apart(&self, counter: Counter) -> bool {
        self.place(counter) == CodeField::NONE
    }

    /// Text of the constant of the wait for several counters: those that are waited for, or all if there are none.
    pub(super) fn text(&self, constant: u16) -> String {
        let counts = self.of_constant(constant);
        let shown = self.order.iter().filter(|counter| counts == WaitCounts::ANY || counts.get(**counter) != u8::MAX);
        let text =
            |counter: &Counter| format!("{}({})", self.name(*counter), self.place(*counter).small(constant.into()));
        shown.map(text).collect::<Vec<_>>().join(" ")
    }
}

/// Bits of a count in the wait for two counters.
const PAIR_BITS: u8 = 0x3f;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_comes_back() {
        for constant in (0..=u16::MAX).filter(|constant| constant & 0x80 == 0) {
            let counts = GFX10.of_constant(constant);
            assert_eq!(
                GFX10.several(counts).map(|(_, constant)| constant).unwrap_or(0xff7f & 0xff7f),
                constant & 0xff7f
            );
        }
    }
}
