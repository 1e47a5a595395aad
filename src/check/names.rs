//! Names of sets of lanes, as a tree: each but that of all lanes at the entry is a part of another.

use std::collections::BTreeMap;

/// Parts of parts that are followed: code that was never restored must not take forever.
const DEEPEST: usize = 100;

/// A set of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(usize);

/// What part of its whole a set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Part,
    /// All but this part.
    Rest(Name),
    /// All but what a register holds, by its code: lanes that left a loop.
    Left(u8),
    /// What is left of it in some round of a loop.
    Loop,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Origin {
    at: u32,
    whole: Name,
    kind: Kind,
}

#[derive(Default)]
pub(super) struct Names {
    /// By number, from 1; 0 is the entry.
    origins: Vec<Origin>,
    known: BTreeMap<Origin, Name>,
}

impl Names {
    /// All lanes that the wave began with.
    pub(super) const ENTRY: Name = Name(0);

    /// The part of `whole` that an instruction, or the header of a loop, leaves on.
    pub(super) fn part(&mut self, at: u32, whole: Name, kind: Kind) -> Name {
        let origin = Origin { at, whole, kind };
        *self.known.entry(origin).or_insert_with(|| {
            self.origins.push(origin);
            Name(self.origins.len())
        })
    }

    fn origin(&self, name: Name) -> Option<Origin> {
        self.origins.get(name.0.checked_sub(1)?).copied()
    }

    /// A name with its origin, then its whole with its own, and so on.
    fn upwards(&self, name: Name) -> impl Iterator<Item = (Name, Option<Origin>)> {
        let named = |name| (name, self.origin(name));
        std::iter::successors(Some(named(name)), move |(_, origin)| origin.map(|o| named(o.whole))).take(DEEPEST)
    }

    /// Whether lanes are some of these, or the same.
    pub(super) fn is_part(&self, name: Name, whole: Name) -> bool {
        self.upwards(name).any(|(name, _)| name == whole)
    }

    /// The lanes of two sets.
    pub(super) fn together(&self, name: Name, other: Name) -> Option<Name> {
        if self.is_part(name, other) {
            return Some(other);
        }
        let rest = self.upwards(name).find_map(|(_, origin)| origin.filter(|o| o.kind == Kind::Rest(other)));
        rest.map(|origin| origin.whole).or_else(|| self.is_part(other, name).then_some(name))
    }

    /// Lanes that are still in a loop together with all that left it into this register.
    pub(super) fn with_left(&self, name: Name, register: u8) -> Option<Name> {
        let left = self.upwards(name).skip_while(|(_, origin)| origin.is_none_or(|o| o.kind != Kind::Left(register)));
        left.filter_map(|(_, origin)| origin).find(|o| o.kind == Kind::Loop).map(|o| o.whole)
    }
}
