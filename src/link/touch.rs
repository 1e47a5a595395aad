//! Reads what a link needs before it needs it.
//!
//! A program that draws links pipelines now and then, and by then little of theirs is in the processor's caches. A link that
//! reads it step by step waits for one place in memory after the other. Here the places of both stages are read at once:
//! first the objects and the state, then what these refer to. Nothing is done with the values, and a processor does not
//! wait for one before it reads the next.

use std::hint::black_box;

/// Values that were read.
#[derive(Default)]
pub(super) struct Touched(usize);

impl Touched {
    /// Adds a value.
    #[inline(always)]
    pub(super) fn value(&mut self, value: usize) {
        self.0 ^= value;
    }

    /// Adds the first value of each cache line of a run.
    #[inline(always)]
    pub(super) fn run(&mut self, bytes: &[u8]) {
        bytes.iter().step_by(LINE).take(MOST_LINES).for_each(|byte| self.value((*byte).into()));
    }

    /// Keeps the compiler from leaving the reads out.
    pub(super) fn done(self) {
        black_box(self.0);
    }
}

/// Size of a cache line in bytes.
const LINE: usize = 64;
/// Lines of a run that are read: the processor itself reads ahead in a longer one.
const MOST_LINES: usize = 24;
