//! How long ago something happened to vector registers.

/// The age of what did not happen, or too long ago.
const NEVER: u8 = u8::MAX;
/// Ages are counted up to here.
const OLD: u8 = 16;

/// By VGPR: instructions since something happened to it.
#[derive(Clone)]
pub(super) struct Ages {
    by: [u8; 256],
    /// No age is less. Mostly nothing happened lately, and then there is nothing to count.
    least: u8,
}

impl Ages {
    pub(super) const NOTHING: Self = Self { by: [NEVER; 256], least: NEVER };

    pub(super) const fn get(&self, v: usize) -> u8 {
        self.by[v]
    }

    pub(super) const fn all(&self) -> &[u8; 256] {
        &self.by
    }

    /// It happens to a register.
    pub(super) const fn happens(&mut self, v: usize) {
        (self.by[v], self.least) = (0, 0);
    }

    /// It never happened to a register.
    pub(super) const fn forget(&mut self, v: usize) {
        self.by[v] = NEVER;
    }

    /// One instruction more.
    pub(super) fn grow(&mut self) {
        if self.least != NEVER {
            let older = |age: u8| if age >= OLD { NEVER } else { age + 1 };
            self.by.iter_mut().for_each(|age| *age = older(*age));
            self.least = older(self.least);
        }
    }

    /// Adds what may have happened on another way; returns true if that changed this one.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        if other.least != NEVER {
            for (mine, theirs) in self.by.iter_mut().zip(&other.by) {
                changed |= theirs < mine;
                *mine = (*mine).min(*theirs);
            }
            self.least = self.least.min(other.least);
        }
        changed
    }
}
