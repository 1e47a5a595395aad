//! Gives jobs to workers and takes their results.

use super::broker::Broker;
use super::events::{Compiled, Effect};
use super::jobs::{JobState, Time};
use super::poison::describe;
use dovetail_base::error::{Death, Error, ErrorKind};
use dovetail_cache::Key;
use dovetail_wire::{Priority, Tell};
use std::sync::Arc;
use std::time::Duration;

/// A single worker abandons a *populate* compile younger than this for a job that a thread waits for.
const YOUNG: Duration = Duration::from_millis(50);
/// Time after a worker ran out of memory in which no background job is started.
pub(super) const HUNGER_PAUSE: Duration = Duration::from_secs(60);

impl Broker {
    /// Why no background jobs are started.
    pub(super) fn paused_because(&self) -> Vec<String> {
        let mut reasons = self.machine.pressure.clone();
        if self.now < self.hungry_until {
            let left = (self.hungry_until - self.now).as_secs() + 1;
            reasons.push(format!("a worker ran out of memory: for {left} s more"));
        }
        reasons
    }

    /// Whether background jobs may be started.
    pub(super) fn is_calm(&self) -> bool {
        self.machine.pressure.is_empty() && self.now >= self.hungry_until
    }

    /// Gives jobs to workers while there are both.
    pub(super) fn dispatch(&mut self) {
        let calm = self.is_calm();
        // If there are several workers, one is reserved for jobs that are not background jobs.
        let background_slots = self.facts.workers.saturating_sub(1).max(1);
        while !self.facts.status.draining {
            let running: Vec<_> = self.jobs.running().collect();
            if running.len() >= self.facts.workers {
                self.make_room(&running);
                break;
            }
            let background = running.iter().filter(|(_, class, _)| *class >= Priority::Optimize).count();
            let Some((key, class)) = self.jobs.next(calm && background < background_slots, self.now) else { break };
            self.begin(key, class);
        }
        for waiter in std::mem::take(&mut self.queued) {
            if self.jobs.waits_for(waiter).and_then(|key| self.jobs.state(&key)) == Some(JobState::Ready) {
                let class = self.requests.get(&waiter).map_or(Priority::Populate, |request| request.class);
                let before = Priority::ALL.into_iter().filter(|other| *other <= class);
                let before: usize = before.map(|class| self.jobs.queued(class)).sum();
                let position = u32::try_from(before.saturating_sub(1)).unwrap_or(u32::MAX);
                self.tell(waiter.client, Tell::Queued { id: waiter.id, position });
            }
        }
    }

    /// If the only worker runs a young *populate* job and a thread waits for another job, abandons the first and starts
    /// the second.
    fn make_room(&mut self, running: &[(Key, Priority, Time)]) {
        let &[(key, Priority::Populate, since)] = running else { return };
        if self.facts.workers == 1 && self.jobs.queued(Priority::Waits) > 0 && self.now.saturating_sub(since) < YOUNG {
            self.effects.push(Effect::Stop(key));
            if !self.jobs.again(key, self.now) {
                self.stages.remove(&key);
            }
            if let Some((next, class)) = self.jobs.next(false, self.now) {
                self.begin(next, class);
            }
        }
    }

    /// Gives a job to a worker.
    fn begin(&mut self, key: Key, class: Priority) {
        if let Some(since) = self.jobs.since(&key) {
            self.latency.begun(class, since, self.now);
        }
        let stage = self.stages.get(&key);
        if let Some((request, module)) = stage.and_then(|stage| Some((stage.request.clone(), stage.module.clone()?))) {
            self.effects.push(Effect::Compile { key, request: Box::new(request), module, class });
            return;
        }
        // A job becomes ready only when it has its module.
        let error = Error::bug("a job without a module");
        let served = self.jobs.finish(&key, Duration::ZERO);
        served.iter().for_each(|one| self.fail(one.waiter, error.clone()));
    }

    pub(super) fn compiled(&mut self, key: Key, Compiled { result, cost, deaths }: Compiled) {
        let Some(stage) = self.stages.remove(&key) else { return };
        self.facts.status.worker_deaths += u64::from(deaths);
        let served = self.jobs.finish(&key, cost);
        self.latency.compiled(cost, served.iter().map(|one| one.class));
        match result {
            Ok(elf) => {
                self.facts.status.compiled += 1;
                let elf = Arc::new(elf);
                self.keeping.insert(key, elf.clone());
                self.effects.push(Effect::Keep(key, elf.clone()));
                served.iter().for_each(|one| self.deliver(one.waiter, key, &elf, true));
            }
            Err(error) => {
                if let ErrorKind::Quarantined { death, detail } = error.kind() {
                    if *death == Death::OutOfMemory {
                        self.hungry_until = self.now + HUNGER_PAUSE;
                    }
                    let shader = describe(&stage.request);
                    self.effects.push(Effect::Log(format!("poison {key}: {shader}: {error}")));
                    match self.poison.add(key, &stage.request, *death, detail, deaths) {
                        Ok(record) => self.effects.push(Effect::Condemn(key, record)),
                        Err(e) => self.effects.push(Effect::Log(e.to_string())),
                    }
                }
                served.iter().for_each(|one| self.fail(one.waiter, error.clone()));
            }
        }
    }
}
