//! What a thread keeps from one compile to the next: the tables of every phase, emptied and not freed.
//!
//! A phase has its tables in one struct: it takes an empty one with [`take`] and fills it. When the [`Kept`] that holds
//! the struct is dropped, on errors too, the struct goes back to the thread with the memory that its lists have grown
//! to. So a later compile of a shader that is no larger than those before asks the allocator for nothing. Tables that
//! are dropped by a panic are freed.
//!
//! A struct that is taken is empty, whoever had it before: [`tables!`] names all of its fields, and each is cleared.

use crate::rows::Rows;
use rustc_hash::{FxHashMap, FxHashSet};
use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::ops::{Deref, DerefMut};

thread_local! {
    /// By type `T`: a `Vec<T>` of the tables that are idle, which means that no [`Kept`] holds them.
    static IDLE: RefCell<FxHashMap<TypeId, Box<dyn Any>>> = RefCell::default();
    /// Whether tables go back to `IDLE` when they are dropped.
    static KEEPS: Cell<bool> = const { Cell::new(true) };
}

/// Tables that can be emptied and used again.
pub trait Reusable: Default + 'static {
    /// Empties every table and keeps its memory.
    fn clear(&mut self);
}

/// Implements [`Reusable`] for a struct: all of its fields have to be named, and each is cleared.
#[macro_export]
macro_rules! tables {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::workspace::Reusable for $name {
            fn clear(&mut self) {
                #[allow(unused_imports, reason = "a list has the method itself")]
                use $crate::workspace::Reusable as _;
                let Self { $($field),* } = self;
                $($field.clear();)*
            }
        }
    };
}
pub use tables;

impl<T: 'static> Reusable for Vec<T> {
    fn clear(&mut self) {
        self.clear();
    }
}

impl Reusable for String {
    fn clear(&mut self) {
        self.clear();
    }
}

impl<T: 'static> Reusable for Option<T> {
    fn clear(&mut self) {
        *self = None;
    }
}

impl<K: 'static, V: 'static> Reusable for FxHashMap<K, V> {
    fn clear(&mut self) {
        self.clear();
    }
}

impl<T: 'static> Reusable for FxHashSet<T> {
    fn clear(&mut self) {
        self.clear();
    }
}

impl<T: 'static> Reusable for Rows<T> {
    fn clear(&mut self) {
        self.clear();
    }
}

impl<T: Ord + 'static> Reusable for BinaryHeap<T> {
    fn clear(&mut self) {
        self.clear();
    }
}

impl<T: 'static> Reusable for VecDeque<T> {
    fn clear(&mut self) {
        self.clear();
    }
}

impl Reusable for u32 {
    fn clear(&mut self) {
        *self = 0;
    }
}

impl Reusable for bool {
    fn clear(&mut self) {
        *self = false;
    }
}

/// Tables that go back to the thread's workspace when they are dropped.
pub struct Kept<T: Reusable>(T);

/// A list whose memory is kept.
pub type List<T> = Kept<Vec<T>>;

/// Takes empty tables: idle ones of this thread, or new ones if there are none.
pub fn take<T: Reusable>() -> Kept<T> {
    idle(Vec::<T>::pop).unwrap_or_default().into()
}

/// An empty list with room for `count` items: an idle one that is large enough, if there is one. Any other idle list
/// would have to grow, while the large one stays unused.
pub fn sized<T: 'static>(count: usize) -> List<T> {
    let fitting = |lists: &mut Vec<Vec<T>>| {
        let at = lists.iter().rposition(|list| list.capacity() >= count)?;
        Some(lists.swap_remove(at))
    };
    let mut list = idle(fitting).map_or_else(take, List::from);
    list.reserve(count);
    list
}

/// A list of `count` times this value.
pub fn filled<T: Clone + 'static>(count: usize, value: T) -> List<T> {
    let mut list = sized(count);
    list.resize(count, value);
    list
}

/// Takes the tables that `select` chooses among the idle ones of a type.
fn idle<T: Reusable>(select: impl FnOnce(&mut Vec<T>) -> Option<T>) -> Option<T> {
    IDLE.with_borrow_mut(|idle| select(idle.get_mut(&TypeId::of::<T>())?.downcast_mut()?))
}

/// While it exists, tables of this thread are freed when they are dropped: for a shader that is much larger than most,
/// whose tables would be kept from phase to phase and then be of no use.
pub struct NothingKept(());

impl NothingKept {
    /// Frees the idle tables of the thread, and keeps no more from here on.
    pub fn begin() -> Self {
        KEEPS.set(false);
        IDLE.with_borrow_mut(std::mem::take);
        Self(())
    }
}

impl Drop for NothingKept {
    fn drop(&mut self) {
        KEEPS.set(true);
    }
}

impl<T: Reusable> Drop for Kept<T> {
    fn drop(&mut self) {
        if std::thread::panicking() || !KEEPS.get() {
            return;
        }
        let mut tables = std::mem::take(&mut self.0);
        tables.clear();
        // A thread that ends has no workspace any more.
        _ = IDLE.try_with(|idle| {
            let mut idle = idle.borrow_mut();
            let idle = idle.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(Vec::<T>::new()));
            if let Some(idle) = idle.downcast_mut::<Vec<T>>() {
                idle.push(tables);
            }
        });
    }
}

impl<T: Reusable> From<T> for Kept<T> {
    fn from(tables: T) -> Self {
        Self(tables)
    }
}

impl<T: Reusable> Default for Kept<T> {
    fn default() -> Self {
        take()
    }
}

impl<T: 'static> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let items = items.into_iter();
        let mut list = match items.size_hint() {
            (count, Some(most)) if count == most => sized(count),
            _ => Self::default(),
        };
        list.extend(items);
        list
    }
}

impl<'a, T: 'static> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: 'static> IntoIterator for &'a mut List<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: Reusable> Deref for Kept<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Reusable> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Reusable + Clone> Clone for Kept<T> {
    fn clone(&self) -> Self {
        let mut new = take::<T>();
        new.0.clone_from(&self.0);
        new
    }
}

impl<T: Reusable + PartialEq> PartialEq for Kept<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Reusable + Eq> Eq for Kept<T> {}

impl<T: Reusable + fmt::Debug> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Numbers {
        list: Vec<u32>,
    }
    tables!(Numbers { list });

    #[test]
    fn tables_come_back_empty_with_their_memory() {
        let mut first = take::<Numbers>();
        first.list.extend(0..1000);
        let second = take::<Numbers>();
        assert!(second.list.capacity() == 0, "two at a time are two");
        drop((first, second));
        let again = [take::<Numbers>(), take::<Numbers>()];
        assert!(again.iter().all(|one| one.list.is_empty()));
        assert!(again.iter().any(|one| one.list.capacity() >= 1000));
    }

    #[test]
    fn a_list_of_known_size_has_room_if_one_that_nobody_has_does() {
        let [ten, hundred, twenty] = [10, 100, 20].map(sized::<u128>);
        let capacities = [&ten, &hundred, &twenty].map(|list| list.capacity());
        drop((hundred, ten, twenty));
        let lists = [sized::<u128>(50), sized(15), sized(5)];
        assert_eq!(lists.each_ref().map(|list| list.capacity()), [capacities[1], capacities[2], capacities[0]]);
        drop(lists);
        assert!(sized::<u128>(2000).capacity() >= 2000);
    }

    #[test]
    fn no_table_is_kept_while_a_nothing_kept_exists() {
        let fill = || take::<Numbers>().list.extend(0..1000);
        fill();
        let nothing = NothingKept::begin();
        assert_eq!(take::<Numbers>().list.capacity(), 0);
        fill();
        assert_eq!(take::<Numbers>().list.capacity(), 0);
        drop(nothing);
        assert_eq!(take::<Numbers>().list.capacity(), 0);
        fill();
        assert!(take::<Numbers>().list.capacity() >= 1000);
    }

    #[test]
    fn what_a_panic_leaves_is_not_kept() {
        let result = std::panic::catch_unwind(|| {
            let mut half = take::<Numbers>();
            half.list.push(1);
            panic!("on purpose");
        });
        assert!(result.is_err() && take::<Numbers>().list.capacity() == 0);
    }
}
