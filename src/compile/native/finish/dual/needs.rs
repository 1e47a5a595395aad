//! What an instruction of a block needs to be done before it, among the instructions shortly before it.

use dovetail_base::workspace::{List, filled};
use dovetail_isa::{Effects, Register};

/// Instructions before one that are looked at: the bits of a set.
pub(super) const REACH: usize = u64::BITS as usize;

/// Instructions that must be done before another one: bit `REACH - n` is the one `n` places before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    /// Those whose results it reads or overwrites.
    pub(super) results: u64,
    /// Those that read what it overwrites.
    pub(super) reads: u64,
}

impl Needs {
    /// Both kinds, where bit 0 is the instruction `offset` places before and bit `offset` this one.
    pub(super) const fn from(self, offset: usize) -> (u64, u64) {
        let by = REACH - offset;
        (self.results >> by, self.reads >> by)
    }
}

/// What has been done with a register, by the numbers of instructions of the whole code.
#[derive(Clone, Copy)]
struct Past {
    /// The number after that of the last write.
    written: usize,
    /// The reads since, as bits before number `at`.
    reads: u64,
    at: usize,
}

/// Finds the needs of the instructions of one block after the other.
pub(super) struct Finder {
    /// By register.
    past: List<Past>,
    /// Instructions of earlier blocks.
    before: usize,
}

impl Finder {
    pub(super) fn new() -> Self {
        Self { past: filled(Register::COUNT, Past { written: 0, reads: 0, at: 0 }), before: 0 }
    }

    /// The needs of each instruction of the next block.
    pub(super) fn block(&mut self, effects: &[Effects], needs: &mut List<Needs>) {
        let first = self.before;
        self.before += effects.len();
        needs.clear();
        for (n, effects) in (first..).zip(effects) {
            let mut own = Needs::default();
            for register in effects.reads.iter() {
                own.results |= self.of(register).write_before(n);
            }
            for register in effects.writes.iter() {
                let past = self.of(register);
                own.results |= past.write_before(n);
                own.reads |= past.reads_before(n);
            }
            for register in effects.reads.iter() {
                let past = self.of(register);
                // One place further for the next instruction, before which this one is the nearest.
                (past.reads, past.at) = (past.reads_before(n) >> 1 | 1 << (REACH - 1), n + 1);
            }
            for register in effects.writes.iter() {
                *self.of(register) = Past { written: n + 1, reads: 0, at: n + 1 };
            }
            // Other blocks are done.
            let block = if n - first < REACH { !(u64::MAX >> (n - first)) } else { u64::MAX };
            needs.push(Needs { results: own.results & block, reads: own.reads & block });
        }
    }

    fn of(&mut self, register: Register) -> &mut Past {
        &mut self.past[usize::from(register.index())]
    }
}

impl Past {
    fn write_before(&self, n: usize) -> u64 {
        let back = n + 1 - self.written;
        if self.written > 0 && back <= REACH { 1 << (REACH - back) } else { 0 }
    }

    fn reads_before(&self, n: usize) -> u64 {
        let further = n - self.at;
        if further < REACH { self.reads >> further } else { 0 }
    }
}
