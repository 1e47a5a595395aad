//! One counter of outstanding operations: the registers of each, and how many operations came after it.

use dovetail_base::workspace::List;
use dovetail_isa::RegisterSet;
use std::ops::Range;

/// An outstanding operation that will still read or write registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    registers: RegisterSet,
    /// The kind of operation, as one of the bits of its counter.
    kind: u8,
    /// Number of later operations on the same counter, up to the maximum that a wait can express.
    age: u8,
}

/// A counter.
#[derive(Debug)]
pub(super) struct Queue {
    pending: List<Pending>,
    /// Bits of the kinds of operations that may be outstanding, also of those without registers.
    pub kinds: u8,
    /// The largest count that a wait can have; a wait with it waits for nothing.
    most: u8,
}

/// A saved counter: its operations are a range of a list that saved counters share.
#[derive(Clone, Debug)]
pub(super) struct SavedQueue {
    pending: Range<u32>,
    kinds: u8,
}

impl Queue {
    pub(super) fn new(most: u8) -> Self {
        Self { pending: List::default(), kinds: 0, most }
    }

    /// Restores a saved counter.
    pub(super) fn load(&mut self, saved: &SavedQueue, list: &[Pending]) {
        self.pending.clear();
        self.pending.extend_from_slice(&list[saved.pending.start as usize..saved.pending.end as usize]);
        self.kinds = saved.kinds;
    }

    /// Saves the counter; its operations go to the end of a list.
    pub(super) fn save(&self, list: &mut List<Pending>) -> SavedQueue {
        let start = list.len() as u32;
        list.extend_from_slice(&self.pending);
        SavedQueue { pending: start..list.len() as u32, kinds: self.kinds }
    }

    /// Counts an operation of this kind, which will still use these registers.
    pub(super) fn issue(&mut self, kind: u8, registers: RegisterSet) {
        let oldest = self.most - 1;
        self.pending.iter_mut().for_each(|p| p.age = (p.age + 1).min(oldest));
        self.kinds |= kind;
        if !registers.is_empty() {
            self.pending.push(Pending { registers, kind, age: 0 });
        }
    }

    /// Waits until at most `count` operations are outstanding.
    pub(super) fn wait(&mut self, count: u8, in_order: bool) {
        if count == 0 {
            self.pending.clear();
            self.kinds = 0;
        } else if in_order {
            self.pending.retain(|p| p.age < count);
        }
    }

    /// The count to wait for so that none of these registers is pending; operations of the kinds in `spared` need no
    /// wait.
    pub(super) fn count_for(&self, registers: &RegisterSet, spared: u8) -> Option<u8> {
        let with = self.pending.iter().filter(|p| p.kind & spared == 0);
        with.filter(|p| p.registers.meets(registers)).map(|p| p.age).min()
    }

    /// Adds operations that may be outstanding on another path; returns whether any was new.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let mut changed = self.kinds | other.kinds != self.kinds;
        self.kinds |= other.kinds;
        for theirs in &other.pending {
            let same = |p: &&mut Pending| (p.registers, p.kind) == (theirs.registers, theirs.kind);
            match self.pending.iter_mut().find(same) {
                Some(own) if own.age <= theirs.age => {}
                Some(own) => {
                    own.age = theirs.age;
                    changed = true;
                }
                None => {
                    self.pending.push(*theirs);
                    changed = true;
                }
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_isa::Vgpr;

    fn one(v: u8) -> RegisterSet {
        let mut set = RegisterSet::EMPTY;
        set.vgprs(Vgpr(v), 1);
        set
    }

    #[test]
    fn a_wait_names_what_came_after() {
        let mut counter = Queue::new(7);
        (0..3).for_each(|v| counter.issue(1, one(v)));
        assert_eq!([0, 1, 2, 3].map(|v| counter.count_for(&one(v), 0)), [Some(2), Some(1), Some(0), None]);
        assert_eq!(counter.count_for(&one(0), 1), None);
        counter.wait(1, false);
        assert_eq!(counter.count_for(&one(0), 0), Some(2));
        counter.wait(1, true);
        assert_eq!([0, 1, 2].map(|v| counter.count_for(&one(v), 0)), [None, None, Some(0)]);
        (3..20).for_each(|v| counter.issue(1, one(v)));
        assert_eq!(counter.count_for(&one(2), 0), Some(6));
        counter.wait(0, false);
        assert_eq!((counter.kinds, counter.count_for(&one(19), 0)), (0, None));
    }

    #[test]
    fn of_two_paths_the_younger_operation_counts() {
        let [mut a, mut b] = [Queue::new(63), Queue::new(63)];
        a.issue(1, one(0));
        a.issue(1, one(1));
        b.issue(2, one(2));
        b.issue(1, one(0));
        assert!(a.join(&b) && !a.join(&b));
        assert_eq!((a.kinds, a.count_for(&one(0), 0), a.count_for(&one(2), 0)), (3, Some(0), Some(1)));
    }
}
