//! What the front end knows of pointers as values: the buffers that each may point into.
//!
//! Ids between which pointers may flow are one class, whichever way they flow, and a variable that holds pointers stands for
//! what it holds. Only a pointer that is taken from a buffer's variable does not join this with its class: the variable is one
//! of the class's bases. So a loop that walks through one buffer has one base, whatever else the shader does with the buffer.

use super::types::{MemoryLayout, TypeId};
use crate::ir::Access;
use crate::workspace::{Kept, List};
use rustc_hash::FxHashMap;

/// What the conversion of pointers from and to values has to know.
#[derive(Debug, Default)]
pub struct VariablePointers {
    /// What they may point into.
    pub bases: Bases,
    /// Bits of a code that name the resource.
    pub bits: u32,
    /// Flags that a member of any struct may give to accesses.
    pub access: Access,
    /// By class and pointee, the layout of what pointers to a matrix, a vector or an array of them point to.
    pub layouts: Kept<FxHashMap<(u32, TypeId), MemoryLayout>>,
}

/// Classes of pointers, with the buffers that they may point into.
#[derive(Debug, Default)]
pub struct Bases {
    /// By id, one of its class; the one that names the class, once all are known.
    classes: List<u32>,
    /// Classes with the variable of a buffer.
    variables: List<(u32, u32)>,
}

impl Bases {
    /// Each id is a class of its own.
    pub fn new(bound: u32) -> Self {
        let mut bases = Self::default();
        bases.classes.extend(0..bound);
        bases
    }

    /// Pointers of an id may be taken from the variable of a buffer.
    pub fn take(&mut self, to: u32, variable: u32) {
        self.variables.push((to, variable));
    }

    /// Pointers may flow between two ids.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.name(a), self.name(b));
        if let Some(slot) = self.classes.get_mut(b as usize) {
            *slot = a;
        }
    }

    /// All is known: names the class of each id.
    pub fn finish(&mut self) {
        for id in 0..self.classes.len() as u32 {
            let class = self.name(id);
            if let Some(slot) = self.classes.get_mut(id as usize) {
                *slot = class;
            }
        }
        for (class, _) in self.variables.iter_mut() {
            *class = self.classes.get(*class as usize).copied().unwrap_or(*class);
        }
        self.variables.sort_unstable();
        self.variables.dedup();
    }

    /// The class of an id.
    pub fn class(&self, id: u32) -> u32 {
        self.classes.get(id as usize).copied().unwrap_or(id)
    }

    /// The variables of the buffers that pointers of a class may point into.
    pub fn variables(&self, class: u32) -> impl Iterator<Item = u32> {
        let first = self.variables.partition_point(|(of, _)| *of < class);
        let rest = self.variables.get(first..).unwrap_or(&[]);
        rest.iter().take_while(move |(of, _)| *of == class).map(|(_, variable)| *variable)
    }

    /// The id that names a class so far. Chains to it are halved on the way.
    fn name(&mut self, id: u32) -> u32 {
        let mut at = id;
        loop {
            let above = self.class(at);
            let further = self.class(above);
            if above == further {
                return above;
            }
            if let Some(slot) = self.classes.get_mut(at as usize) {
                *slot = further;
            }
            at = further;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_the_variables_of_all_their_ids() {
        let mut bases = Bases::new(10);
        bases.take(3, 1);
        bases.join(4, 3);
        bases.join(5, 4);
        bases.take(5, 2);
        bases.take(7, 2);
        bases.join(7, 8);
        bases.finish();
        let of = |id| bases.variables(bases.class(id)).collect::<Vec<_>>();
        assert_eq!([of(3), of(4), of(5)], [[1, 2], [1, 2], [1, 2]]);
        assert_eq!([of(7), of(8)], [[2], [2]]);
        assert!(of(6).is_empty() && of(1).is_empty());
    }
}
