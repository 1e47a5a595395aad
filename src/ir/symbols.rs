//! Link-time symbols of a shader, without duplicates.

use super::ids::SymbolId;
use super::name::Name;
use dovetail_base::workspace::List;
use std::fmt;
use std::ops::Deref;

/// Names by number, and numbers by name.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    list: List<Name>,
    /// Sorted by name.
    sorted: List<SymbolId>,
}

impl Symbols {
    /// The number of a name, the next free one if it is new.
    pub fn intern(&mut self, name: impl fmt::Display) -> SymbolId {
        let wanted = Name::of(name);
        match self.sorted.binary_search_by(|id| self.list[id.index()].cmp(&wanted)) {
            Ok(known) => self.sorted[known],
            Err(place) => {
                let id = SymbolId(self.list.len() as u32);
                self.list.push(wanted);
                self.sorted.insert(place, id);
                id
            }
        }
    }
}

impl PartialEq for Symbols {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Deref for Symbols {
    type Target = [Name];

    fn deref(&self) -> &[Name] {
        &self.list
    }
}
