//! Facts about many locations of one kind, which states share until one of them changes.

use super::held::HeldValue;
use std::collections::BTreeMap;

/// Locations of a page.
pub(super) const CELLS: u32 = 256;

/// What some locations hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    cells: BTreeMap<u32, Vec<HeldValue>>,
    /// All that any of them holds.
    held: Vec<HeldValue>,
}

impl Page {
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// What a location holds.
    pub(super) fn at(&self, cell: u32) -> &[HeldValue] {
        self.cells.get(&cell).map_or(&[], |names| names)
    }

    /// Whether any location holds any of these.
    pub(super) fn has_any(&self, names: &[HeldValue]) -> bool {
        names.iter().any(|name| self.held.contains(name))
    }

    /// Replaces what a location holds.
    pub(super) fn set(&mut self, cell: u32, names: Vec<HeldValue>) {
        if names.is_empty() {
            self.cells.remove(&cell)
        } else {
            self.cells.insert(cell, names)
        };
        self.count();
    }

    /// Changes what each location holds.
    pub(super) fn change(&mut self, change: impl Fn(&mut Vec<HeldValue>)) {
        self.cells.values_mut().for_each(change);
        self.count();
    }

    /// What both hold; any content is accepted of the names that one of them leaves open.
    pub(super) fn meet(
        &self,
        other: &Self,
        mine_open: impl Fn(&HeldValue) -> bool,
        theirs_open: impl Fn(&HeldValue) -> bool,
    ) -> Self {
        let mut met = Self::default();
        for (cell, names) in &self.cells {
            let both = names.iter().filter(|name| other.at(*cell).contains(name) || theirs_open(name));
            met.cells.insert(*cell, both.copied().collect());
        }
        for (cell, names) in &other.cells {
            let both = met.cells.entry(*cell).or_default();
            both.extend(names.iter().filter(|name| mine_open(name) && !self.at(*cell).contains(name)));
        }
        met.count();
        met
    }

    /// Drops locations of which nothing is known, and gathers what the others hold.
    fn count(&mut self) {
        self.cells.retain(|_, names| !names.is_empty());
        self.held = self.cells.values().flatten().copied().collect();
    }
}
