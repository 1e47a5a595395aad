//! The pipelines that have requested a variant.

use super::service::job::ServiceJob;
use dovetail_wire::Priority;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

#[derive(Default)]
pub(super) struct Requesters(Mutex<Vec<Weak<dyn ServiceJob>>>);

impl Requesters {
    /// Adds a pipeline, and runs `request` before another can leave.
    pub(super) fn add(&self, pipeline: Weak<dyn ServiceJob>, request: impl FnOnce()) {
        let mut all = self.alive();
        all.push(pipeline);
        request();
    }

    /// Runs `cancel` if no pipeline is left, before another can be added.
    pub(super) fn leave(&self, cancel: impl FnOnce()) {
        let all = self.alive();
        if all.is_empty() {
            cancel();
        }
    }

    /// The priority of the most urgent one.
    pub(super) fn class(&self) -> Option<Priority> {
        // A copy, because dropping the last reference to a pipeline locks the list.
        let all = self.alive().clone();
        all.iter().filter_map(|pipeline| Some(pipeline.upgrade()?.class())).min()
    }

    fn alive(&self) -> MutexGuard<'_, Vec<Weak<dyn ServiceJob>>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|pipeline| pipeline.strong_count() > 0);
        all
    }
}
