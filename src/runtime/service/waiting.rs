//! Jobs that wait for another job's end.

use super::job::ServiceJob;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

#[derive(Default)]
pub(super) struct Waiting {
    /// By the id of the job that they wait for and their own.
    jobs: BTreeMap<(u64, u64), Weak<dyn ServiceJob>>,
    /// What each of them waits for.
    awaited: BTreeMap<u64, u64>,
}

impl Waiting {
    /// Adds a job, which waits for nothing else any more.
    pub(super) fn add(&mut self, awaited: u64, job: &Arc<dyn ServiceJob>) {
        self.remove(job.id());
        self.awaited.insert(job.id(), awaited);
        self.jobs.insert((awaited, job.id()), Arc::downgrade(job));
    }

    /// Removes a job that is no longer needed: a weak reference keeps its memory.
    pub(super) fn remove(&mut self, id: u64) {
        if let Some(awaited) = self.awaited.remove(&id) {
            self.jobs.remove(&(awaited, id));
        }
    }

    /// Takes the jobs that wait for this one.
    pub(super) fn take(&mut self, awaited: u64) -> Vec<Weak<dyn ServiceJob>> {
        let ids: Vec<u64> = self.jobs.range((awaited, 0)..=(awaited, u64::MAX)).map(|((_, id), _)| *id).collect();
        ids.iter().filter_map(|id| self.jobs.remove(&(self.awaited.remove(id)?, *id))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::{JobOutcome, JobStep};
    use super::*;
    use dovetail_base::error::Result;
    use dovetail_wire::{Ask, Priority};

    struct Numbered(u64);

    impl ServiceJob for Numbered {
        fn id(&self) -> u64 {
            self.0
        }

        fn step(&self) -> JobStep {
            JobStep::Nothing
        }

        fn class(&self) -> Priority {
            Priority::Soon
        }

        fn ask(&self, _: bool) -> Ask {
            Ask::Status
        }

        fn draws(&self) -> Option<u64> {
            None
        }

        fn take(&self, _: JobOutcome) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_job_waits_for_one_other_until_it_is_taken_or_removed() {
        let jobs: Vec<Arc<dyn ServiceJob>> = (0..4).map(|id| Arc::new(Numbered(id)) as _).collect();
        let mut waiting = Waiting::default();
        let taken = |waiting: &mut Waiting, id| -> Vec<u64> {
            waiting.take(id).iter().filter_map(|job| Some(job.upgrade()?.id())).collect()
        };
        (0..3).for_each(|n| waiting.add(9, &jobs[n]));
        waiting.add(8, &jobs[3]);
        waiting.add(8, &jobs[0]);
        waiting.remove(1);
        assert_eq!(taken(&mut waiting, 9), [2]);
        assert_eq!(taken(&mut waiting, 8), [0, 3]);
        assert!(waiting.jobs.is_empty() && waiting.awaited.is_empty());
        assert!(jobs.iter().all(|job| Arc::weak_count(job) == 0));
    }
}
