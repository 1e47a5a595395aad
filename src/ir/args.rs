//! Operands of an instruction.

use super::ids::Value;
use dovetail_base::workspace::{Kept, Reusable};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Operands of an instruction. Only image operations often have more than six; the memory of such a list is the thread's,
/// so that instructions of a compile after the first do not ask the allocator for it.
#[derive(Clone)]
pub struct InstArgs(Place);

#[derive(Clone)]
enum Place {
    Few(u8, [Value; FEW]),
    Many(Kept<Long>),
}

const FEW: usize = 6;

/// A list of operands, kept apart from other lists of values, which are longer.
#[derive(Default)]
struct Long(Vec<Value>);

impl Clone for Long {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// Into the memory that the list has.
    fn clone_from(&mut self, from: &Self) {
        self.0.clone_from(&from.0);
    }
}

impl Reusable for Long {
    fn clear(&mut self) {
        self.0.clear();
    }
}

impl InstArgs {
    /// No operand.
    pub const fn new() -> Self {
        Self(Place::Few(0, [Value(0); FEW]))
    }

    /// These operands.
    pub fn from_slice(args: &[Value]) -> Self {
        let mut out = Self::new();
        out.extend_from_slice(args);
        out
    }

    /// All of them.
    pub fn as_slice(&self) -> &[Value] {
        self
    }

    /// Appends one.
    pub fn push(&mut self, arg: Value) {
        self.extend_from_slice(&[arg]);
    }

    /// Appends some.
    pub fn extend_from_slice(&mut self, args: &[Value]) {
        match &mut self.0 {
            Place::Few(len, few) => {
                let end = usize::from(*len) + args.len();
                if let Some(free) = few.get_mut(usize::from(*len)..end) {
                    free.copy_from_slice(args);
                    *len = end as u8;
                } else {
                    let mut many = Kept::<Long>::default();
                    many.0.extend_from_slice(&few[..usize::from(*len)]);
                    many.0.extend_from_slice(args);
                    self.0 = Place::Many(many);
                }
            }
            Place::Many(many) => many.0.extend_from_slice(args),
        }
    }
}

impl Default for InstArgs {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for InstArgs {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        match &self.0 {
            Place::Few(len, few) => &few[..usize::from(*len)],
            Place::Many(many) => &many.0,
        }
    }
}

impl DerefMut for InstArgs {
    fn deref_mut(&mut self) -> &mut [Value] {
        match &mut self.0 {
            Place::Few(len, few) => &mut few[..usize::from(*len)],
            Place::Many(many) => &mut many.0,
        }
    }
}

impl Extend<Value> for InstArgs {
    fn extend<I: IntoIterator<Item = Value>>(&mut self, args: I) {
        args.into_iter().for_each(|arg| self.push(arg));
    }
}

impl FromIterator<Value> for InstArgs {
    fn from_iter<I: IntoIterator<Item = Value>>(args: I) -> Self {
        let mut out = Self::new();
        out.extend(args);
        out
    }
}

impl From<&[Value]> for InstArgs {
    fn from(args: &[Value]) -> Self {
        Self::from_slice(args)
    }
}

impl<'a> IntoIterator for &'a InstArgs {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for InstArgs {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for InstArgs {}

impl std::hash::Hash for InstArgs {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for InstArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_the_same_however_many_there_are() {
        for count in 0..3 * FEW as u32 {
            let all: Vec<Value> = (0..count).map(Value).collect();
            for split in 0..=all.len() {
                let (first, second) = all.split_at(split);
                let mut args = InstArgs::from_slice(first);
                args.extend_from_slice(second);
                assert_eq!(*args, *all);
                assert_eq!(args, all.iter().copied().collect());
                assert_eq!(args.clone(), args);
            }
        }
    }

    #[test]
    fn long_lists_use_memory_again() {
        let all: Vec<Value> = (0..100).map(Value).collect();
        let place = |args: &InstArgs| args.as_slice().as_ptr();
        let first = InstArgs::from_slice(&all);
        let kept = place(&first);
        drop(first);
        let second = InstArgs::from_slice(&all);
        assert_eq!(place(&second), kept);
        assert_ne!(place(&second.clone()), kept);
    }
}
