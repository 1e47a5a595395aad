//! Sets of positions that share what they have in common: of constructs nested in each other, each has all blocks where
//! lanes wait outside of it.
//!
//! A set is a binary tree over the bits of positions. Equal trees are one, so sets are equal if their numbers are, and
//! joining two looks only at what differs.

use super::Position;
use dovetail_base::workspace::{Kept, List};
use rustc_hash::FxHashMap;

/// A set, by its root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set(u32);

impl Set {
    const EMPTY: u32 = 0;
    /// The set of a single position, below all bits.
    const HERE: u32 = 1;
}

/// All trees.
pub(super) struct Sets {
    /// The halves of each tree, for positions without and with its highest bit; the first two entries are no trees.
    halves: List<[u32; 2]>,
    known: Kept<FxHashMap<[u32; 2], u32>>,
    /// Bits of a position.
    bits: u32,
}

impl Sets {
    /// For positions below `count`.
    pub(super) fn new(count: usize) -> Self {
        let bits = usize::BITS - count.leading_zeros();
        Self { halves: [[Set::EMPTY; 2]; 2].into_iter().collect(), known: Kept::default(), bits }
    }

    /// Number of trees, which is what the sets take.
    pub(super) fn trees(&self) -> usize {
        self.halves.len()
    }

    /// The least member.
    pub(super) fn first(&self, Set(mut at): Set) -> Option<Position> {
        let mut first = 0;
        for bit in (0..self.bits).rev() {
            let [low, high] = self.halves[at as usize];
            (at, first) = if low == Set::EMPTY { (high, first | 1 << bit) } else { (low, first) };
        }
        (at != Set::EMPTY).then_some(first)
    }

    /// A set with another position.
    pub(super) fn with(&mut self, set: Set, position: Position) -> Set {
        let mut one = Set::HERE;
        for bit in 0..self.bits {
            one = self.tree(if position >> bit & 1 == 0 { [one, Set::EMPTY] } else { [Set::EMPTY, one] });
        }
        self.both(set, Set(one))
    }

    /// The members of both sets.
    pub(super) fn both(&mut self, a: Set, b: Set) -> Set {
        Set(self.join(a.0, b.0))
    }

    /// The members after a position.
    pub(super) fn after(&mut self, set: Set, position: Position) -> Set {
        Set(self.cut(set.0, position, self.bits))
    }

    fn join(&mut self, a: u32, b: u32) -> u32 {
        if a == b || b == Set::EMPTY {
            return a;
        }
        if a == Set::EMPTY {
            return b;
        }
        let ([a_low, a_high], [b_low, b_high]) = (self.halves[a as usize], self.halves[b as usize]);
        let halves = [self.join(a_low, b_low), self.join(a_high, b_high)];
        self.tree(halves)
    }

    fn cut(&mut self, at: u32, position: Position, bits: u32) -> u32 {
        let Some(bit) = bits.checked_sub(1).filter(|_| at != Set::EMPTY) else { return Set::EMPTY };
        let [low, high] = self.halves[at as usize];
        let halves = match position >> bit & 1 {
            0 => [self.cut(low, position, bit), high],
            _ => [Set::EMPTY, self.cut(high, position, bit)],
        };
        self.tree(halves)
    }

    fn tree(&mut self, halves: [u32; 2]) -> u32 {
        if halves == [Set::EMPTY; 2] {
            return Set::EMPTY;
        }
        *self.known.entry(halves).or_insert_with(|| {
            self.halves.push(halves);
            self.halves.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Set, Sets};
    use std::collections::BTreeSet;

    #[test]
    fn sets_are_what_ordered_sets_are() {
        let mut sets = Sets::new(100);
        let (mut all, mut seed) = (vec![(Set::default(), BTreeSet::new())], 1u32);
        for _ in 0..2_000 {
            let mut number = |below: u32| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 8) % below
            };
            let (a, b) = (number(all.len() as u32) as usize, number(all.len() as u32) as usize);
            let (position, what) = (number(100), number(3));
            let (mut set, mut truth) = all[a].clone();
            match what {
                0 => {
                    set = sets.with(set, position);
                    truth.insert(position);
                }
                1 => {
                    set = sets.both(set, all[b].0);
                    truth.extend(&all[b].1);
                }
                _ => {
                    set = sets.after(set, position);
                    truth.retain(|member| *member > position);
                }
            }
            assert_eq!(sets.first(set), truth.first().copied());
            let same = all.iter().find(|(other, _)| *other == set);
            assert!(same.is_none_or(|(_, other)| *other == truth) || truth.is_empty());
            all.push((set, truth));
        }
    }
}
