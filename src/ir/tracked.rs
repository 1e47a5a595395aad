//! A part of a shader that records whether it has changed.
//!
//! A mutable borrow invalidates the stamp; the next request for the stamp creates a new, globally unique one. Equal
//! stamps mean equal contents, also of a clone or after parts have been exchanged.

use super::block::{BasicBlock, Blocks};
use dovetail_base::workspace::{Kept, List};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

/// A value with a stamp.
#[derive(Debug, Default)]
pub struct Tracked<T> {
    value: T,
    /// 0: invalid.
    stamp: AtomicU64,
}

impl<T> Tracked<T> {
    /// The stamp of the contents.
    pub(super) fn stamp(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        match self.stamp.load(Ordering::Relaxed) {
            0 => {
                let new = NEXT.fetch_add(1, Ordering::Relaxed);
                let set = self.stamp.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
                set.map_or_else(|other| other, |_| new)
            }
            known => known,
        }
    }
}

impl<T> From<T> for Tracked<T> {
    fn from(value: T) -> Self {
        Self { value, stamp: AtomicU64::new(0) }
    }
}

impl<T: Clone> Clone for Tracked<T> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), stamp: AtomicU64::new(self.stamp.load(Ordering::Relaxed)) }
    }
}

impl<T> Deref for Tracked<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Tracked<T> {
    fn deref_mut(&mut self) -> &mut T {
        *self.stamp.get_mut() = 0;
        &mut self.value
    }
}

impl<'a, T: 'static> IntoIterator for &'a Tracked<List<T>> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.value.iter()
    }
}

impl<'a> IntoIterator for &'a Tracked<Kept<Blocks>> {
    type Item = &'a BasicBlock;
    type IntoIter = std::slice::Iter<'a, BasicBlock>;
    fn into_iter(self) -> Self::IntoIter {
        self.value.iter()
    }
}

impl<'a> IntoIterator for &'a mut Tracked<Kept<Blocks>> {
    type Item = &'a mut BasicBlock;
    type IntoIter = std::slice::IterMut<'a, BasicBlock>;
    fn into_iter(self) -> Self::IntoIter {
        self.deref_mut().iter_mut()
    }
}

impl<'a, T: 'static> IntoIterator for &'a mut Tracked<List<T>> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.deref_mut().iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stamps_are_equal_contents() {
        let mut one = Tracked::from(vec![1]);
        let first = one.stamp();
        let mut other = one.clone();
        assert_eq!((one.stamp(), other.stamp()), (first, first));
        one.push(2);
        other.push(3);
        assert_ne!(one.stamp(), first);
        assert_ne!(one.stamp(), other.stamp());
        let stamps = [one.stamp(), other.stamp()];
        std::mem::swap(&mut one, &mut other);
        assert_eq!([other.stamp(), one.stamp()], stamps);
    }
}
