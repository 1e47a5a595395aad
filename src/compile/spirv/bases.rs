//! What the front end knows of pointers as values: the buffers that each may point into.
//!
//! Ids between which pointers may flow, in whichever direction, are one class; a variable that holds pointers is in the
//! class of the pointers that it holds. A pointer that is taken from a buffer's variable does not join the two: the
//! variable becomes one of the bases of the pointer's class. So a loop that walks through one buffer has one base,
//! whatever else the shader does with the buffer.

use super::types::{MemoryLayout, TypeId};
use dovetail_base::workspace::{Kept, List};
use dovetail_ir::Access;
use rustc_hash::FxHashMap;

/// What has to be known to convert pointers to values and back.
#[derive(Debug, Default)]
pub struct VariablePointers {
    /// By class of pointers: the buffers that they may point into.
    pub bases: Bases,
    /// Number of low bits of a pointer's code that name the resource; the bits above are the index in its array.
    pub bits: u32,
    /// Access flags that some struct member is decorated with: a pointer that is a value may point to that member.
    pub access: Access,
    /// By class and pointee (a matrix, a vector or an array of these): the memory layout of the pointee.
    pub layouts: Kept<FxHashMap<(u32, TypeId), MemoryLayout>>,
}

/// Classes of pointers, with the buffers that they may point into.
#[derive(Debug, Default)]
pub struct Bases {
    /// By id: another id of its class; once all flows are known, the id that names the class.
    classes: List<u32>,
    /// Pairs of a class and the variable of a buffer that it may point into; before all flows are known, an id of the
    /// class.
    variables: List<(u32, u32)>,
}

impl Bases {
    /// Classes without any flow: each id is a class of its own.
    pub fn new(bound: u32) -> Self {
        let mut bases = Self::default();
        bases.classes.extend(0..bound);
        bases
    }

    /// Records that pointers of the id `to` may be taken from the variable of a buffer.
    pub fn take(&mut self, to: u32, variable: u32) {
        self.variables.push((to, variable));
    }

    /// Records that pointers may flow between two ids.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.name(a), self.name(b));
        if let Some(slot) = self.classes.get_mut(b as usize) {
            *slot = a;
        }
    }

    /// Names the class of each id, once all flows are recorded.
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

    /// The id that names a class so far. The chains of ids that lead to it are halved on the way.
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
