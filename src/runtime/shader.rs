//! Shaders: a request for a stage's part, and the part once it was found in memory, on the disk or by a service.

use super::context::{Context, Shared, count};
use super::events::{Event, EventKind};
use super::held::Held;
use super::link::Answer;
use super::scan::scan;
use super::service::desk::Order;
use super::service::io;
use super::service::job::{JobOutcome, JobStep, ServiceJob};
use super::urgency::Urgency;
use crate::cache::Key;
use crate::compile::request::{KnownState, ModuleDigest, SpecValues, StageRequest, TuningOptions, default_wave};
use crate::compile::{operand_ids, variant};
use crate::error::{Context as _, Error, Result};
use crate::keys;
use crate::link::Object;
use crate::state::{PipelineState, SpecializationEntry};
use crate::target::{Stage, WaveSize};
use crate::wire::{Ask, MAX_MODULE, Priority, StageAsk};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A module: its words, or what stands for them where a driver keeps none.
#[derive(Clone, Copy, Debug)]
pub enum ModuleRef<'a> {
    /// SPIR-V, in either byte order. It is hashed and looked through, and kept only for a service that may ask for it.
    Code(&'a [u8]),
    /// BLAKE3 of the SPIR-V's bytes. Then specialization values have to be of constants that the module has, and the wave
    /// size has to be given if it looks at its subgroup. Which of the constants are only operands is then read in the cache,
    /// where whoever compiled the module has noted it; without a disk all count as shaping code.
    Digest(ModuleDigest),
}

/// Parameters of a shader.
#[derive(Clone, Copy, Debug)]
pub struct ShaderInfo<'a> {
    /// The module.
    pub module: ModuleRef<'a>,
    /// Its entry point.
    pub entry_point: &'a str,
    /// Stage.
    pub stage: Stage,
    /// Lanes of a wave; none: as `populate` chooses.
    pub wave: Option<WaveSize>,
    /// Specialization values by `SpecId`. Of an id that is given twice the last value counts; ids that the module has not are
    /// left out.
    pub specialization: &'a [(u32, u64)],
    /// Look in memory only. Without a service [`Shader::wait`] looks on the disk; with one, its thread does.
    pub no_disk: bool,
    /// Never have it compiled: what is not there is not cached.
    pub fail_on_compile: bool,
    /// Priority with which a service compiles it: 0, before it is needed; more, as if a thread waited for it.
    pub priority: u32,
    /// The caller's name for it in events.
    pub user: u64,
}

/// A shader's part: where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShaderStatus {
    /// In memory, ready to be linked.
    Ready,
    /// Not looked for on the disk yet, or on its way from the service.
    Pending,
    /// Not in the cache, and there is no service, or it cannot be reached.
    NotCached,
    /// There is one that is of no use, or the service cannot make one; asking again is of no use either.
    Failed(Error),
}

/// A shader. Clones are the same one; pipelines hold their shaders.
#[derive(Clone)]
pub struct Shader(pub(super) Held<ShaderPart>);

pub(super) struct ShaderPart {
    pub(super) shared: Arc<Shared>,
    pub(super) request: StageRequest,
    /// Specialization values of the constants that are only operands, sorted by id.
    pub(super) operands: Vec<(u32, u64)>,
    /// Its id in messages to a service; 0 without one.
    pub(super) id: u64,
    pub(super) urgency: Urgency,
    key: OnceLock<Key>,
    /// It was looked for on the disk.
    looked: AtomicBool,
    /// The service's thread was told to find it.
    asked: AtomicBool,
    found: OnceLock<Result<Arc<Object>>>,
    /// The variant that a state has asked for; a stage has one kind of them.
    variant: OnceLock<Arc<Object>>,
    /// Kept for a service that asks for it.
    module: Option<Arc<[u8]>>,
    user: u64,
}

impl Shader {
    /// Looks for the part in memory, and on the disk unless that is not wanted. A part that is not there is no error:
    /// [`Self::status`] says so, and every later use looks again.
    ///
    /// # Errors
    /// Malformed: the module. Environment: after a fork.
    pub fn new(context: &Context, info: &ShaderInfo<'_>) -> Result<Self> {
        let shared = context.shared()?;
        let given = info.specialization.iter().copied().collect::<BTreeMap<u32, u64>>().into_iter();
        let (module, values, subgroups) = match info.module {
            ModuleRef::Digest(digest) => {
                let noted =
                    if given.len() == 0 || info.no_disk { Vec::new() } else { shared.noted_operands(digest)? };
                (digest, SpecValues::new(given, &noted), false)
            }
            ModuleRef::Code(code) => {
                let found = scan(code).at(|| format!("{} shader", info.stage))?;
                let there: Vec<_> = given.filter(|(id, _)| found.spec_ids.binary_search(id).is_ok()).collect();
                // Looking through the functions is of use only where there are values to sort.
                let operands = if there.is_empty() { Vec::new() } else { operand_ids(code) };
                let values = SpecValues::new(there, &operands);
                (ModuleDigest(*blake3::hash(code).as_bytes()), values, found.uses_subgroups)
            }
        };
        let request = StageRequest {
            target: shared.target,
            stage: info.stage,
            module,
            entry_point: info.entry_point.to_owned(),
            specialization: values.shaping,
            wave: info.wave.unwrap_or_else(|| default_wave(info.stage, subgroups)),
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        let service = shared.service.as_ref();
        let module = match info.module {
            ModuleRef::Code(code) => service.map(|service| service.modules.keep(request.module, code)),
            ModuleRef::Digest(_) => None,
        };
        let part = ShaderPart {
            shared: shared.clone(),
            request,
            operands: values.operands,
            id: service.map_or(0, |service| service.id()),
            urgency: Urgency::new(info.priority),
            key: OnceLock::new(),
            looked: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            found: OnceLock::new(),
            variant: OnceLock::new(),
            module,
            user: info.user,
        };
        part.look(!info.no_disk)?;
        let part = Arc::new(part);
        if !info.fail_on_compile {
            part.order();
        }
        Ok(Self(Held::new(part, &context.0)))
    }

    /// Where its part stands, without looking for it.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn status(&self) -> Result<ShaderStatus> {
        self.0.shared.alive()?;
        Ok(match self.0.found.get() {
            Some(Ok(_)) => ShaderStatus::Ready,
            Some(Err(e)) => ShaderStatus::Failed(e.clone()),
            None if self.0.is_coming() => ShaderStatus::Pending,
            None if self.0.looked.load(Ordering::Relaxed) => ShaderStatus::NotCached,
            None => ShaderStatus::Pending,
        })
    }

    /// Waits until its part is there, has failed, or the service cannot be reached; at most so long. A part that is still
    /// pending then is late. Where there is nothing to wait for, it looks on the disk instead, and returns at once.
    ///
    /// # Errors
    /// Environment: after a fork, or the cache's manifest cannot be read.
    pub fn wait(&self, timeout: Duration) -> Result<ShaderStatus> {
        let part = &self.0;
        part.shared.alive()?;
        if let Some(service) = part.shared.service.as_ref().filter(|_| part.is_coming()) {
            part.waits(true);
            service.wait(timeout, || part.found.get().is_some());
            part.waits(false);
        }
        if part.found.get().is_none() && !part.is_coming() {
            part.look_again(true)?;
        }
        self.status()
    }

    /// Its specialization values, as a state has them.
    pub fn specialization(&self) -> impl Iterator<Item = SpecializationEntry> + '_ {
        self.0.specialization()
    }

    /// Another priority.
    pub fn set_priority(&self, priority: u32) {
        self.0.urgency.set(priority);
        self.0.post_if_missing(Order::Urgency(self.0.id));
    }
}

impl ShaderPart {
    pub(super) fn specialization(&self) -> impl Iterator<Item = SpecializationEntry> + '_ {
        let stage = Some(self.request.stage);
        let all = self.request.specialization.iter().chain(&self.operands);
        all.map(move |(id, value)| SpecializationEntry { stage, id: *id, value: *value })
    }

    /// Looks in memory and, if allowed, on the disk. True if this very call has found it, or that it is of no use.
    fn look(&self, disk: bool) -> Result<bool> {
        let key = self.known_key(disk)?;
        if disk {
            self.looked.store(true, Ordering::Relaxed);
        }
        let Some(key) = key else {
            if disk {
                count(&self.shared.counters.misses);
            }
            return Ok(false);
        };
        let found = self.shared.part(&key, disk).at(|| format!("{} shader", self.request.stage)).transpose();
        Ok(found.is_some_and(|found| self.found.set(found).is_ok()))
    }

    /// The same for a shader that was not found when it was made: an event tells of it, and pipelines that wait go on.
    fn look_again(&self, disk: bool) -> Result<()> {
        if self.look(disk)? {
            self.tell();
            if let Some(service) = &self.shared.service {
                service.post_if_started(Order::Settled(self.id));
            }
        }
        Ok(())
    }

    fn tell(&self) {
        let failure = self.found.get().and_then(|found| found.as_ref().err()).cloned();
        self.shared.events.push(Event { kind: EventKind::Shader, user: self.user, generation: 0, failure });
    }

    /// Has the service's thread find it, if there is one and it is missing.
    fn order(self: &Arc<Self>) {
        if self.shared.service.is_some() && self.is_missing() {
            self.asked.store(true, Ordering::Relaxed);
            let job: Arc<dyn ServiceJob> = self.clone();
            io::post(&self.shared, Order::Start(Arc::downgrade(&job)));
        }
    }

    /// Sets the result of the search for the part.
    fn settle(&self, found: Result<Arc<Object>>) {
        if self.found.set(found.at(|| format!("{} shader", self.request.stage))).is_ok() {
            self.tell();
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        self.found.get().is_none()
    }

    /// The service's thread was told to find it.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// It is missing, and a service that can be reached, or that was not tried yet, is to find it.
    pub(super) fn is_coming(&self) -> bool {
        let away = || self.shared.service.as_ref().is_none_or(|service| service.is_away());
        self.is_missing() && self.is_asked() && !away()
    }

    /// A thread begins, or ceases, to wait for it.
    pub(super) fn waits(&self, begins: bool) {
        self.urgency.waits(begins);
        self.post_if_missing(Order::Urgency(self.id));
    }

    pub(super) fn post_if_missing(&self, order: Order) {
        if let Some(service) = self.shared.service.as_ref().filter(|_| self.is_missing()) {
            service.post_if_started(order);
        }
    }

    /// The part for a link.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn object(&self, disk: bool) -> Result<Answer<&Object>> {
        // What the service's thread is at need not be looked for by anybody else.
        let coming = self.is_coming();
        if self.is_missing() && !coming {
            self.look_again(disk)?;
        }
        match self.found.get() {
            Some(Ok(object)) => Ok(Answer::Ready(object)),
            Some(Err(e)) => Err(e.clone()),
            None if disk && !coming => Ok(Answer::NotCached(self.request.stage)),
            None => Ok(Answer::Pending(self.request.stage)),
        }
    }

    /// The object that a link with this state takes for the part: it, or its variant if the state asks for one and the
    /// cache has it. Without
    /// one the link says why it needs the whole pipeline.
    ///
    /// # Errors
    /// What is wrong with the variant.
    pub(super) fn serving<'s>(&'s self, part: &'s Object, state: &PipelineState, disk: bool) -> Result<&'s Object> {
        let Some(known) = variant(state, part.interface()) else { return Ok(part) };
        if let Some(found) = self.variant.get() {
            return Ok(found);
        }
        let Some(compiler) = self.shared.compiler(disk)? else { return Ok(part) };
        let request = StageRequest { known, ..self.request.clone() };
        let found = self.shared.part(&keys::stage(&request, compiler)?, disk);
        Ok(match found.at(|| format!("{} shader", self.request.stage))? {
            Some(found) => self.variant.get_or_init(|| found),
            None => part,
        })
    }

    /// The key of its request; none while nothing says whose code the cache holds.
    fn known_key(&self, disk: bool) -> Result<Option<Key>> {
        if let Some(key) = self.key.get() {
            return Ok(Some(*key));
        }
        let Some(compiler) = self.shared.compiler(disk)? else { return Ok(None) };
        let key = keys::stage(&self.request, compiler)?;
        Ok(Some(*self.key.get_or_init(|| key)))
    }

    /// The key of its request.
    ///
    /// # Errors
    /// Environment: nothing says whose code the cache holds.
    pub(super) fn key(&self) -> Result<Key> {
        self.known_key(true)?.ok_or_else(|| Error::environment("there is no cache, or it has no manifest yet"))
    }
}

impl ServiceJob for ShaderPart {
    fn id(&self) -> u64 {
        self.id
    }

    /// On the disk, unless the caller's thread has looked there.
    fn step(&self) -> JobStep {
        if self.is_missing() && !self.looked.load(Ordering::Relaxed) {
            match self.look(true) {
                Ok(true) => self.tell(),
                Ok(false) => {}
                // The cache's manifest cannot be read.
                Err(e) => self.settle(Err(e)),
            }
        }
        if self.is_missing() && self.module.as_ref().is_some_and(|module| module.len() > MAX_MODULE) {
            let limit = format!("module over {} MiB", MAX_MODULE >> 20);
            self.settle(Err(Error::unsupported(limit, "a service takes no larger ones")));
        }
        if self.is_missing() { JobStep::Ask } else { JobStep::Nothing }
    }

    fn class(&self) -> Priority {
        self.urgency.class()
    }

    fn ask(&self, inline: bool) -> Ask {
        let (id, request, class) = (self.id, self.request.clone(), self.class());
        Ask::Stage(StageAsk { id, request, class, inline, cached_only: false })
    }

    fn draws(&self) -> Option<u64> {
        None
    }

    fn take(&self, outcome: JobOutcome) -> Result<()> {
        let object = match outcome {
            JobOutcome::Part(Some(key), _) if key != self.key()? => {
                return Err(Error::malformed("the part of another request"));
            }
            JobOutcome::Part(_, object) if object.interface().stage == self.request.stage => Ok(object),
            JobOutcome::Part(_, object) => {
                Err(Error::malformed(format!("the service's part is a {} shader's", object.interface().stage)))
            }
            JobOutcome::Failed(e) => Err(e),
            JobOutcome::Pipeline(..) => return Err(Error::malformed("a pipeline in place of a part")),
        };
        self.settle(object);
        Ok(())
    }
}

/// Nobody wants it any more.
impl Drop for ShaderPart {
    fn drop(&mut self) {
        if self.shared.alive().is_ok() {
            self.post_if_missing(Order::Settled(self.id));
        }
    }
}
