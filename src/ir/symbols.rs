//! Link-time symbols of a shader, each once.

use super::shader::SymbolId;
use std::collections::BTreeMap;
use std::ops::Deref;

/// Names by number, and numbers by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Symbols {
    list: Vec<String>,
    by_name: BTreeMap<String, SymbolId>,
}

impl Symbols {
    /// The number of a name, the next free one if it is new.
    pub fn intern(&mut self, name: &str) -> SymbolId {
        if let Some(&known) = self.by_name.get(name) {
            return known;
        }
        let id = SymbolId(self.list.len() as u32);
        self.list.push(name.to_owned());
        self.by_name.insert(name.to_owned(), id);
        id
    }
}

impl Deref for Symbols {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.list
    }
}
