//! Link-time symbols of a shader, each once.

use super::shader::SymbolId;
use std::fmt::{self, Write};
use std::ops::Deref;

/// Names by number, and numbers by name.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    list: Vec<String>,
    /// In the order of their names.
    sorted: Vec<SymbolId>,
    /// Where the name that is asked for is written.
    wanted: String,
}

impl Symbols {
    /// The number of a name, the next free one if it is new.
    pub fn intern(&mut self, name: impl fmt::Display) -> SymbolId {
        self.wanted.clear();
        // Writing to memory gives no error of its own; a name that has one is cut off there.
        _ = write!(self.wanted, "{name}");
        match self.sorted.binary_search_by(|id| self.list[id.index()].as_str().cmp(&self.wanted)) {
            Ok(known) => self.sorted[known],
            Err(place) => {
                let id = SymbolId(self.list.len() as u32);
                self.list.push(self.wanted.clone());
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
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.list
    }
}
