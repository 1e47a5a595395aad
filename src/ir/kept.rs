//! A cached result, valid until its inputs change.

use dovetail_base::workspace::{Kept, Reusable};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// What a cached result was computed from: the stamps of tracked parts, and numbers.
type Key = [u64; 4];

/// The last result of one type, with its key. A clone shares it.
#[derive(Debug, Default)]
pub(super) struct Remembered(Mutex<Kept<Results>>);

#[derive(Debug, Default)]
struct Results {
    /// `None`: there is no result yet.
    key: Option<Key>,
    /// The result is the last of these. The others are old ones, whose memory is used again once nobody holds them.
    all: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Reusable for Results {
    fn clear(&mut self) {
        self.key = None;
        // What a clone shares nobody could use again while both keep it.
        self.all.retain_mut(|result| Arc::get_mut(result).is_some());
    }
}

impl Clone for Results {
    fn clone(&self) -> Self {
        let mut new = Self::default();
        new.clone_from(self);
        new
    }

    /// Shares the last result only.
    fn clone_from(&mut self, from: &Self) {
        self.key = from.key;
        self.all.extend(from.all.last().cloned());
    }
}

impl Remembered {
    /// The kept result if it follows from the same or is still right, or a new one.
    pub(super) fn get<T: Any + Send + Sync>(
        &self,
        key: Key,
        is_right: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let mut results = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Results { key: of, all } = &mut **results;
        if let (Some(of), Some(last)) = (of.as_mut(), all.last())
            && let Ok(last) = Arc::clone(last).downcast::<T>()
            && (*of == key || is_right(&last))
        {
            *of = key;
            return last;
        }
        let result = make();
        let idle = all.iter_mut().position(|old| Arc::get_mut(old).is_some_and(|old| old.is::<T>()));
        let made = match idle.and_then(|n| all.swap_remove(n).downcast::<T>().ok()) {
            Some(mut old) => {
                match Arc::get_mut(&mut old) {
                    Some(place) => *place = result,
                    None => old = Arc::new(result),
                }
                old
            }
            None => Arc::new(result),
        };
        all.push(Arc::clone(&made) as _);
        *of = Some(key);
        made
    }
}

impl Clone for Remembered {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}
