//! A stage job until a worker gets it: the service looks up the part and, on a miss, the module, which it may have to
//! request from a client.
//!
//! The service requests the module from one of the clients that wait for the job. It asks another if that client does
//! not have the module, disconnects, or does not answer in time. A client that sends a module that was not requested is
//! disconnected.

use super::broker::{Broker, LIMITS, What};
use super::events::{Effect, Lookup};
use super::jobs::{ClientId, Time, Waiter};
use super::poison::Standing;
use dovetail_base::error::{Error, Result};
use dovetail_cache::Key;
use dovetail_compile::request::{Module, ModuleDigest, StageRequest};
use dovetail_pipeline::keys;
use dovetail_wire::{Priority, Tell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Time in which a client must send a module before another is asked too.
const PATIENCE: Duration = Duration::from_secs(2);

/// State of a job.
pub(super) struct Stage {
    pub(super) request: StageRequest,
    pub(super) module: Option<Arc<Module>>,
    phase: Phase,
    /// Clients that were asked for the module, or have said that they do not have it.
    asked: BTreeSet<ClientId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Its part is being looked up, or its module.
    Looking,
    /// A client was asked for the module at this time.
    Asking(Time),
    /// It has everything that it needs.
    Ready,
}

impl Broker {
    /// Makes a request wait for a stage.
    pub(super) fn want(&mut self, waiter: Waiter, request: StageRequest, class: Priority) {
        let key = match keys::stage(&request, &self.facts.compiler) {
            Ok(key) => key,
            Err(error) => return self.fail(waiter, error),
        };
        if let Some(elf) = self.keeping.get(&key).cloned() {
            self.facts.status.coalesced += 1;
            return self.deliver(waiter, key, &elf, true);
        }
        if self.jobs.join(key, waiter, class, self.now) {
            let (module, asked) = (None, BTreeSet::new());
            self.stages.insert(key, Stage { request, module, phase: Phase::Looking, asked });
            match self.poison.standing(&key) {
                None => self.look(key),
                Some(Standing::Written) => self.effects.push(Effect::Recheck(key)),
                Some(Standing::BeingWritten) => self.rechecked(key, true),
            }
            return;
        }
        self.facts.status.coalesced += 1;
        let phase = self.stages.get(&key).map(|stage| stage.phase);
        if phase != Some(Phase::Looking) && self.is_cached_only(waiter) {
            return self.answer_not_cached(waiter);
        }
        self.queued.push(waiter);
    }

    fn look(&mut self, key: Key) {
        let digest = self.stages.get(&key).map(|stage| stage.request.module);
        self.effects.push(Effect::Look(key, digest.filter(|digest| self.modules.get(digest).is_none())));
    }

    /// Refuses a job that kills workers, unless its record was deleted meanwhile.
    pub(super) fn rechecked(&mut self, key: Key, there: bool) {
        if self.stages.get(&key).is_none_or(|stage| stage.phase != Phase::Looking) {
            return;
        }
        let Some(error) = self.poison.refuses(&key).filter(|_| there) else {
            self.poison.forget(&key);
            return self.look(key);
        };
        self.stages.remove(&key);
        for one in self.jobs.finish(&key, Duration::ZERO) {
            self.facts.status.poison_hits += 1;
            self.fail(one.waiter, error.clone());
        }
    }

    /// The disk is held up: lookups count as misses, and modules are requested from clients.
    pub(super) fn do_without_disk(&mut self) {
        for key in self.stages.all(|stage| stage.phase == Phase::Looking) {
            match self.poison.standing(&key) {
                Some(_) => self.rechecked(key, true),
                None => self.looked(key, Lookup::Nothing),
            }
        }
    }

    /// Takes the result of a job's lookup.
    pub(super) fn looked(&mut self, key: Key, found: Lookup) {
        let Some(stage) = self.stages.get_mut(&key).filter(|stage| stage.phase == Phase::Looking) else { return };
        let digest = stage.request.module;
        let module = match found {
            Lookup::Part(elf) => {
                self.stages.remove(&key);
                let elf = Arc::new(elf);
                // Requests that joined the lookup count as `coalesced`, not as hits.
                self.facts.status.hits += 1;
                for one in self.jobs.finish(&key, Duration::ZERO) {
                    self.deliver(one.waiter, key, &elf, false);
                }
                return;
            }
            Lookup::Module(module) if module.digest() == digest => Some(self.modules.add(module)),
            Lookup::Module(_) | Lookup::Nothing => self.modules.get(&digest),
        };
        stage.phase = Phase::Asking(self.now);
        let waiters: Vec<Waiter> = self.jobs.waiters(&key).collect();
        for waiter in waiters.into_iter().filter(|waiter| self.is_cached_only(*waiter)).collect::<Vec<_>>() {
            self.answer_not_cached(waiter);
        }
        if self.stages.get(&key).is_none() {
            return;
        }
        match module {
            Some(module) => self.supply(key, module),
            None => self.ask_for_module(key),
        }
    }

    /// Takes a module from a client.
    pub(super) fn module_sent(&mut self, client: ClientId, module: Result<Module>) {
        let module = match module {
            Ok(module) if module.bytes().len() <= dovetail_wire::MAX_MODULE => module,
            Ok(module) => return self.close(client, &format!("a module of {} bytes", module.bytes().len())),
            Err(e) => return self.close(client, &format!("an invalid module: {e}")),
        };
        let digest = module.digest();
        let Some(sender) = self.clients.get_mut(&client) else { return };
        if !sender.asked.remove(&digest) {
            return self.close(client, "a module that was not requested");
        }
        sender.sent.retain(|digest, _| self.stages.need(*digest));
        if (sender.sent.values().sum::<usize>() + module.bytes().len()) as u64 > LIMITS.module_bytes {
            let limit = format!("{} bytes of modules of one client", LIMITS.module_bytes);
            return self.without_module(client, digest, |broker, waiter| {
                broker.end(waiter);
                broker.busy(waiter, limit.clone());
            });
        }
        sender.sent.insert(digest, module.bytes().len());
        let module = self.modules.add(module);
        self.effects.push(Effect::Save(module.clone()));
        for key in self.stages.of_module(digest, Stage::needs_module) {
            self.supply(key, module.clone());
        }
    }

    /// A client does not have a module.
    pub(super) fn module_refused(&mut self, client: ClientId, digest: ModuleDigest) {
        let asked = self.clients.get_mut(&client).is_some_and(|client| client.asked.remove(&digest));
        if !asked {
            return self.close(client, "an answer about a module that was not requested");
        }
        self.without_module(client, digest, |broker, waiter| {
            broker.fail(waiter, Error::environment("the client no longer has the module"));
        });
    }

    /// Ends, with `end`, those requests of a client that need a module which it does not supply, and asks other clients
    /// for the module.
    fn without_module(&mut self, client: ClientId, digest: ModuleDigest, end: impl Fn(&mut Self, Waiter)) {
        for key in self.stages.of_module(digest, Stage::needs_module) {
            let own: Vec<Waiter> = self.jobs.waiters(&key).filter(|waiter| waiter.client == client).collect();
            for waiter in own {
                end(self, waiter);
                self.leave(waiter);
            }
            self.ask_for_module(key);
        }
    }

    /// A client has disconnected that may have been asked for modules.
    pub(super) fn source_left(&mut self, client: ClientId) {
        for key in self.stages.all(|stage| stage.needs_module() && stage.asked.contains(&client)) {
            self.ask_for_module(key);
        }
    }

    /// Asks another client for each module that is overdue.
    pub(super) fn ask_for_overdue_modules(&mut self) {
        let now = self.now;
        let overdue = |stage: &Stage| matches!(stage.phase, Phase::Asking(since) if now >= since + PATIENCE);
        self.stages.all(overdue).into_iter().for_each(|key| self.ask_for_module(key));
    }

    /// Asks a client that waits for this job and has not been asked; if there is none and no answer is pending, the job
    /// fails.
    fn ask_for_module(&mut self, key: Key) {
        let waiters: Vec<ClientId> = self.jobs.waiters(&key).map(|waiter| waiter.client).collect();
        let offerers: Vec<ClientId> = self.offerers().collect();
        let Some(stage) = self.stages.get_mut(&key) else { return };
        let digest = stage.request.module;
        let overdue = matches!(stage.phase, Phase::Asking(since) if self.now >= since + PATIENCE);
        let (mut next, mut pending) = (None, false);
        let own = waiters.contains(&ClientId::SERVICE).then_some(offerers);
        for client in waiters.into_iter().chain(own.into_iter().flatten()) {
            let Some(known) = self.clients.get(&client) else { continue };
            if known.asked.contains(&digest) {
                // It was asked for the module, perhaps for another job.
                stage.asked.insert(client);
                pending = true;
            } else if next.is_none() && !stage.asked.contains(&client) {
                next = Some(client);
            }
        }
        stage.phase = Phase::Asking(self.now);
        if let Some(client) = next.filter(|_| overdue || !pending) {
            stage.asked.insert(client);
            if self.clients.get_mut(&client).is_some_and(|known| known.asked.insert(digest)) {
                self.tell(client, Tell::NeedModule { digest });
            }
        } else if !pending {
            let error = Error::environment("none of those who wait for it has the module");
            self.stages.remove(&key);
            let served = self.jobs.finish(&key, Duration::ZERO);
            served.iter().for_each(|one| self.fail(one.waiter, error.clone()));
        }
    }

    /// Gives a job its module.
    fn supply(&mut self, key: Key, module: Arc<Module>) {
        let Some(stage) = self.stages.get_mut(&key) else { return };
        (stage.module, stage.phase) = (Some(module), Phase::Ready);
        self.jobs.ready(key, self.now);
        let waiters: Vec<Waiter> = self.jobs.waiters(&key).collect();
        self.queued.extend(waiters);
    }

    /// Removes a waiter from its job, if it has one.
    pub(super) fn leave(&mut self, waiter: Waiter) {
        let key = self.jobs.waits_for(waiter);
        if self.jobs.leave(waiter)
            && let Some(key) = key
        {
            self.stages.remove(&key);
        }
    }

    fn is_cached_only(&self, waiter: Waiter) -> bool {
        self.requests.get(&waiter).is_some_and(|request| matches!(request.what, What::Stage { cached_only: true }))
    }

    fn answer_not_cached(&mut self, waiter: Waiter) {
        self.answered(waiter);
        self.leave(waiter);
        self.tell(waiter.client, Tell::Stage { id: waiter.id, part: None });
    }
}

impl Stage {
    fn needs_module(&self) -> bool {
        matches!(self.phase, Phase::Asking(_))
    }
}

/// The state of each job. There may be a hundred thousand populate jobs, and a module belongs to a few jobs: the index
/// finds these without a search.
#[derive(Default)]
pub(super) struct Stages {
    stages: BTreeMap<Key, Stage>,
    of_module: BTreeSet<(ModuleDigest, Key)>,
}

impl Stages {
    fn insert(&mut self, key: Key, stage: Stage) {
        self.of_module.insert((stage.request.module, key));
        self.stages.insert(key, stage);
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Stage> {
        let stage = self.stages.remove(key)?;
        self.of_module.remove(&(stage.request.module, *key));
        Some(stage)
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Stage> {
        self.stages.get(key)
    }

    fn get_mut(&mut self, key: &Key) -> Option<&mut Stage> {
        self.stages.get_mut(key)
    }

    /// Whether a job needs this module.
    fn need(&self, digest: ModuleDigest) -> bool {
        self.of_module.range((digest, Key([0; 32]))..=(digest, Key([u8::MAX; 32]))).next().is_some()
    }

    /// The keys of a module's jobs that satisfy a condition.
    fn of_module(&self, digest: ModuleDigest, is: impl Fn(&Stage) -> bool) -> Vec<Key> {
        let own = self.of_module.range((digest, Key([0; 32]))..=(digest, Key([u8::MAX; 32]))).map(|(_, key)| *key);
        own.filter(|key| self.get(key).is_some_and(&is)).collect()
    }

    /// The keys of all jobs that satisfy a condition.
    fn all(&self, is: impl Fn(&Stage) -> bool) -> Vec<Key> {
        self.stages.iter().filter(|(_, stage)| is(stage)).map(|(key, _)| *key).collect()
    }
}
