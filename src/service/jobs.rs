//! The order of jobs: equal requests share one job; there are four classes, and fair shares between clients.
//!
//! A job is in the queue of each client that waits for it, in that client's most urgent class. So it runs in the most
//! urgent class of all its waiters, because it is found there first; nothing has to compute that class. Within a class
//! the next client is the one that has used the least processor time (start-time fair queueing: a client that returns
//! after a pause continues at the others' level, so idle time gives it no credit). Of one client's jobs, the oldest
//! comes first.
//!
//! Invariants: a waiter waits for at most one job; a ready job is in the queues of exactly those clients that are among
//! its waiters; a job that has no waiters and is not on a worker is removed; `running` holds the keys of the running
//! jobs. There is no I/O and no clock here.

use dovetail_cache::Key;
use dovetail_wire::Priority;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Time since the service started.
pub type Time = Duration;

/// A client, identified by the number of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientId(pub u64);

impl ClientId {
    /// The service itself, which requests stages of pipelines to optimize.
    pub const SERVICE: Self = Self(0);
}

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiter {
    /// The waiting client.
    pub client: ClientId,
    /// The id of its request.
    pub id: u64,
}

/// Cost charged for a job until its actual cost is known: that of a typical shader.
const ESTIMATE: Duration = Duration::from_millis(15);
/// A *populate* job that has waited this long moves up a class.
pub const AGEING: Duration = Duration::from_secs(60);

/// All jobs.
#[derive(Default)]
pub struct Jobs {
    jobs: BTreeMap<Key, Job>,
    waiting: BTreeMap<Waiter, (Key, Priority)>,
    /// The running jobs: few of many.
    running: BTreeSet<Key>,
    /// By class: the clients, and each client's ready jobs, oldest first.
    queues: [BTreeMap<ClientId, BTreeSet<(u64, Key)>>; 4],
    /// Processor time spent for each connected client.
    spent: BTreeMap<ClientId, Duration>,
    /// The time spent for the client that was served last, when it was served.
    virtual_time: Duration,
    serial: u64,
}

struct Job {
    serial: u64,
    since: Time,
    state: JobState,
    waiters: BTreeMap<Waiter, (Priority, Time)>,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It lacks something, such as its module.
    Held,
    /// It waits for a worker.
    Ready,
    /// It runs since this time, on behalf of this client, in this class.
    Running(Priority, ClientId, Time),
}

/// A waiter for a job that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The client that asked.
    pub waiter: Waiter,
    /// The class of its request.
    pub class: Priority,
    /// The time at which it began to wait.
    pub since: Time,
}

impl Jobs {
    /// Adds a waiter to a job. Returns true if the job is new; it is then held until [`Self::ready`].
    pub fn join(&mut self, key: Key, waiter: Waiter, class: Priority, now: Time) -> bool {
        self.leave(waiter);
        let serial = self.serial;
        let job = self.jobs.entry(key).or_insert_with(|| Job {
            serial,
            since: now,
            state: JobState::Held,
            waiters: BTreeMap::new(),
        });
        let new = job.serial == serial;
        self.serial += u64::from(new);
        job.waiters.insert(waiter, (class, now));
        self.waiting.insert(waiter, (key, class));
        self.place(key, waiter.client, now);
        new
    }

    /// The job has everything that it needs.
    pub fn ready(&mut self, key: Key, now: Time) {
        if let Some(job) = self.jobs.get_mut(&key).filter(|job| job.state == JobState::Held) {
            (job.state, job.since) = (JobState::Ready, now);
            self.place_all(key, now);
        }
    }

    /// Removes a waiter. Returns true if this removed the job, because nobody else waited and no worker has it.
    pub fn leave(&mut self, waiter: Waiter) -> bool {
        let Some((key, _)) = self.waiting.remove(&waiter) else { return false };
        let Some(job) = self.jobs.get_mut(&key) else { return false };
        job.waiters.remove(&waiter);
        let (running, left) = (matches!(job.state, JobState::Running(..)), job.waiters.is_empty());
        let since = job.since;
        self.place(key, waiter.client, since);
        let gone = left && !running;
        if gone {
            self.jobs.remove(&key);
        }
        gone
    }

    /// Removes a client's share; its waiters have already left.
    pub fn forget(&mut self, client: ClientId) {
        self.spent.remove(&client);
    }

    /// Changes the class of a waiter.
    pub fn reclass(&mut self, waiter: Waiter, class: Priority, now: Time) {
        let Some((key, old)) = self.waiting.get_mut(&waiter) else { return };
        *old = class;
        let key = *key;
        if let Some(entry) = self.jobs.get_mut(&key).and_then(|job| job.waiters.get_mut(&waiter)) {
            entry.0 = class;
        }
        self.place(key, waiter.client, now);
    }

    /// Takes the next job for a worker, with its current class. Without `background` it skips background jobs.
    pub fn next(&mut self, background: bool, now: Time) -> Option<(Key, Priority)> {
        self.age(now);
        let (class, client) = Priority::ALL.iter().zip(&self.queues).find_map(|(&class, queue)| {
            let open = background || class < Priority::Optimize;
            let clients = queue.keys().filter(|_| open);
            let least = clients.min_by_key(|client| (self.spent.get(client).copied().unwrap_or_default(), **client))?;
            Some((class, *least))
        })?;
        let (_, key) = *self.queues.get(class as usize)?.get(&client)?.first()?;
        self.jobs.get_mut(&key)?.state = JobState::Running(class, client, now);
        self.running.insert(key);
        self.place_all(key, now);
        let spent = self.spent.entry(client).or_default();
        self.virtual_time = *spent;
        *spent += ESTIMATE;
        Some((key, class))
    }

    /// Removes a job that is finished, or needs no worker; `cost` is the processor time that it took. Returns all its
    /// waiters.
    pub fn finish(&mut self, key: &Key, cost: Duration) -> Vec<Served> {
        let Some(job) = self.jobs.remove(key) else { return Vec::new() };
        self.settle(key, job.state, cost);
        let clients: BTreeSet<ClientId> = job.waiters.keys().map(|waiter| waiter.client).collect();
        clients.into_iter().for_each(|client| self.unqueue(client, (job.serial, *key)));
        let served = job.waiters.into_iter().map(|(waiter, (class, since))| Served { waiter, class, since });
        let waiting = &mut self.waiting;
        served.inspect(|served| _ = waiting.remove(&served.waiter)).collect()
    }

    /// Puts an abandoned job back in its old place. Returns false if nobody waits for it any more, which removes it.
    pub fn again(&mut self, key: Key, now: Time) -> bool {
        let Some(job) = self.jobs.get_mut(&key) else { return false };
        let state = std::mem::replace(&mut job.state, JobState::Ready);
        let wanted = !job.waiters.is_empty();
        self.settle(&key, state, Duration::ZERO);
        if wanted {
            self.place_all(key, now);
        } else {
            self.jobs.remove(&key);
        }
        wanted
    }

    /// The state of a job; `None` if there is no such job.
    pub fn state(&self, key: &Key) -> Option<JobState> {
        self.jobs.get(key).map(|job| job.state)
    }

    /// The time at which a job became ready.
    pub fn since(&self, key: &Key) -> Option<Time> {
        self.jobs.get(key).map(|job| job.since)
    }

    /// The job that a waiter waits for.
    pub fn waits_for(&self, waiter: Waiter) -> Option<Key> {
        self.waiting.get(&waiter).map(|(key, _)| *key)
    }

    /// The waiters for a job.
    pub fn waiters(&self, key: &Key) -> impl Iterator<Item = Waiter> {
        self.jobs.get(key).into_iter().flat_map(|job| job.waiters.keys().copied())
    }

    /// The running jobs.
    pub fn running(&self) -> impl Iterator<Item = (Key, Priority, Time)> {
        self.running.iter().filter_map(|key| match self.state(key)? {
            JobState::Running(class, _, since) => Some((*key, class, since)),
            JobState::Held | JobState::Ready => None,
        })
    }

    /// Number of ready jobs in a class; a job for which several clients wait counts once for each.
    pub fn queued(&self, class: Priority) -> usize {
        self.queues.get(class as usize).map_or(0, |queue| queue.values().map(BTreeSet::len).sum())
    }

    /// Number of all jobs.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether there are no jobs.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Ends the run of a job that was in this state, if it was running.
    fn settle(&mut self, key: &Key, state: JobState, cost: Duration) {
        self.running.remove(key);
        if let JobState::Running(_, client, _) = state
            && let Some(spent) = self.spent.get_mut(&client)
        {
            *spent = (*spent + cost).saturating_sub(ESTIMATE);
        }
    }

    fn place_all(&mut self, key: Key, now: Time) {
        let clients: BTreeSet<ClientId> = self.waiters(&key).map(|waiter| waiter.client).collect();
        clients.into_iter().for_each(|client| self.place(key, client, now));
    }

    /// Puts a job into the right queue of a client, or removes it from all.
    fn place(&mut self, key: Key, client: ClientId, now: Time) {
        let Some(job) = self.jobs.get(&key) else { return };
        let (serial, since) = (job.serial, job.since);
        let own = Waiter { client, id: 0 }..=Waiter { client, id: u64::MAX };
        let best = job.waiters.range(own).map(|(_, (class, _))| *class).min();
        let best = best.filter(|_| job.state == JobState::Ready);
        self.unqueue(client, (serial, key));
        let Some(mut class) = best else { return };
        if class == Priority::Populate && now.saturating_sub(since) >= AGEING {
            class = Priority::Optimize;
        }
        // Idle time is not saved up: a client with nothing queued continues at the others' level.
        if !self.queues.iter().any(|queue| queue.contains_key(&client)) {
            let spent = self.spent.entry(client).or_default();
            *spent = (*spent).max(self.virtual_time);
        }
        if let Some(queue) = self.queues.get_mut(class as usize) {
            queue.entry(client).or_default().insert((serial, key));
        }
    }

    fn unqueue(&mut self, client: ClientId, entry: (u64, Key)) {
        for queue in &mut self.queues {
            if let Some(jobs) = queue.get_mut(&client) {
                jobs.remove(&entry);
                if jobs.is_empty() {
                    queue.remove(&client);
                }
            }
        }
    }

    /// Moves up jobs that have waited for long.
    fn age(&mut self, now: Time) {
        let last = self.queues.last().into_iter().flatten();
        let oldest = last.filter_map(|(client, jobs)| jobs.first().map(|(_, key)| (*client, *key)));
        let old: Vec<_> = oldest
            .filter(|(_, key)| self.jobs.get(key).is_some_and(|job| now.saturating_sub(job.since) >= AGEING))
            .collect();
        old.into_iter().for_each(|(client, key)| self.place(key, client, now));
    }
}

#[cfg(test)]
mod tests;
