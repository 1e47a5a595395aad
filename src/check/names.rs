//! Names of sets of lanes, as a tree: each set is a subset of its parent; the root is all lanes at entry.

use std::collections::{BTreeMap, BTreeSet};

/// Depth limit of nested subsets, so that code which never restores EXEC does not take forever.
const DEEPEST: usize = 100;

/// A set of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(usize);

/// How a set is derived from its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Part,
    /// All lanes except those of this set.
    Rest(Name),
    /// All lanes except those in a register's mask, by its code: lanes that left a loop.
    Left(u8),
    /// All lanes except those that wait in a mask for code further on.
    Parked,
    /// The lanes still active in an iteration of a loop.
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
    /// Indexed by the name's number − 1; number 0 is the entry.
    origins: Vec<Origin>,
    known: BTreeMap<Origin, Name>,
    /// Instructions that deactivate lanes whose invocations have ended.
    ending: BTreeSet<u32>,
}

impl Names {
    /// With the instructions after which the deactivated lanes have nothing left to do.
    pub(super) fn new(ending: BTreeSet<u32>) -> Self {
        Self { ending, ..Self::default() }
    }

    /// All lanes of the wave at entry.
    pub(super) const ENTRY: Name = Name(0);

    /// Names the subset of `whole` that an instruction, or the header of a loop, leaves active.
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

    /// A name with its origin, then its parent with its origin, and so on.
    fn upwards(&self, name: Name) -> impl Iterator<Item = (Name, Option<Origin>)> {
        let named = |name| (name, self.origin(name));
        std::iter::successors(Some(named(name)), move |(_, origin)| origin.map(|o| named(o.whole))).take(DEEPEST)
    }

    /// Whether `name` is `whole` or a subset of it.
    pub(super) fn is_part(&self, name: Name, whole: Name) -> bool {
        self.upwards(name).any(|(name, _)| name == whole)
    }

    /// Whether `name` is a subset of `whole` without only lanes whose invocations have ended, or that wait for code further
    /// on.
    pub(super) fn is_rest_of_gone(&self, name: Name, whole: Name) -> bool {
        // The parent, if only such lanes are added.
        let with_gone = |name: &Name| {
            let gone = |o: &Origin| o.kind == Kind::Parked || o.kind != Kind::Loop && self.ending.contains(&o.at);
            self.origin(*name).filter(gone).map(|o| o.whole)
        };
        std::iter::successors(Some(name), with_gone).take(DEEPEST).skip(1).any(|name| name == whole)
    }

    /// Union of two sets; `None` if it has no name.
    pub(super) fn together(&self, name: Name, other: Name) -> Option<Name> {
        if self.is_part(name, other) {
            return Some(other);
        }
        let rest = self.upwards(name).find_map(|(_, origin)| origin.filter(|o| o.kind == Kind::Rest(other)));
        rest.map(|origin| origin.whole).or_else(|| self.is_part(other, name).then_some(name))
    }

    /// Union of the lanes still in a loop and all that left it into this register.
    pub(super) fn with_left(&self, name: Name, register: u8) -> Option<Name> {
        let left = self.upwards(name).skip_while(|(_, origin)| origin.is_none_or(|o| o.kind != Kind::Left(register)));
        left.filter_map(|(_, origin)| origin).find(|o| o.kind == Kind::Loop).map(|o| o.whole)
    }
}
