//! The content of a handle: its object and its context. Dropping the last handle closes the context, on the thread that
//! drops it.
//!
//! The thread that talks to the service also holds objects for as long as it needs them, but never the content of a
//! handle. So this thread never closes the context, which would make it wait for itself.

use super::context::Shared;
use std::mem::forget;
use std::ops::Deref;
use std::sync::Arc;

/// A context that is still open.
pub(super) struct Open(pub(super) Arc<Shared>);

impl Drop for Open {
    fn drop(&mut self) {
        let alive = self.0.alive().is_ok();
        if let Some(service) = &self.0.service {
            service.close(alive);
        }
        // In the child of a fork, another thread may have been in the middle of a change to a table: see `Held`.
        if !alive {
            forget(self.0.clone());
        }
    }
}

/// An object of an open context.
pub(super) struct Held<T> {
    object: Arc<T>,
    pub(super) open: Arc<Open>,
}

impl<T> Held<T> {
    pub(super) fn new(object: Arc<T>, open: &Arc<Open>) -> Self {
        Self { object, open: open.clone() }
    }

    /// The object without the context.
    pub(super) fn object(&self) -> &Arc<T> {
        &self.object
    }
}

impl<T> Clone for Held<T> {
    fn clone(&self) -> Self {
        Self::new(self.object.clone(), &self.open)
    }
}

impl<T> Deref for Held<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        // In the child of a fork, the object may be in the middle of a change by a thread that does not exist here:
        // nothing in it can be trusted, so it is leaked.
        if self.open.0.alive().is_err() {
            forget((self.object.clone(), self.open.clone()));
        }
    }
}
