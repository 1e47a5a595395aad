//! Shaders: a request for a stage's part, and the part itself once it is found in memory, on the disk or by a service.

use super::answer::Answer;
use super::context::{Context, Shared, count};
use super::events::{Event, EventKind};
use super::held::Held;
use super::requesters::Requesters;
use super::scan::scan;
use super::service::desk::Order;
use super::service::io;
use super::service::job::{JobOutcome, JobStep, ServiceJob};
use super::urgency::Urgency;
use dovetail_base::error::{Context as _, Error, Result};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_cache::Key;
use dovetail_compile::request::{KnownState, ModuleDigest, SpecValues, StageRequest, TuningOptions, default_wave};
use dovetail_link::Object;
use dovetail_pipeline::keys;
use dovetail_state::SpecializationEntry;
use dovetail_wire::{Ask, MAX_MODULE, Priority, StageAsk};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A module: its words, or their digest if a driver no longer has them.
#[derive(Clone, Copy, Debug)]
pub enum ModuleRef<'a> {
    /// SPIR-V, in either byte order. It is hashed and scanned, and kept only for a service that may request it.
    Code(&'a [u8]),
    /// BLAKE3 of the SPIR-V bytes. Then specialization values must be for constants that the module has, and the wave
    /// size must be given if the module depends on the subgroup. The cache's record, written by the program that
    /// compiled the module, tells which of the constants are only operands; without a cache on disk all count as
    /// shaping code.
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
    /// Lanes per wave; `None`: the choice of `populate`.
    pub wave: Option<WaveSize>,
    /// Specialization values by `SpecId`. The last value of a repeated id counts; ids that the module does not have are
    /// ignored.
    pub specialization: &'a [(u32, u64)],
    /// Look in memory only. Without a service [`Shader::wait`] checks the disk; with one, the context's thread does.
    pub no_disk: bool,
    /// Never compile it: a missing part is not cached.
    pub fail_on_compile: bool,
    /// Compile priority at a service: 0: needed soon; above 0: as urgent as if a thread were waiting.
    pub priority: u32,
    /// User data, returned in events.
    pub user: u64,
}

/// Status of a shader's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShaderStatus {
    /// In memory, ready to be linked.
    Ready,
    /// Not looked up on the disk yet, or requested from the service.
    Pending,
    /// Not in the cache, and there is no service that can be reached and may compile it.
    NotCached,
    /// Failed for good: its part is unusable, or the service cannot compile it.
    Failed(Error),
}

/// A shader. Clones share it; pipelines keep their shaders alive.
#[derive(Clone)]
pub struct Shader(pub(super) Held<ShaderPart>);

pub(super) struct ShaderPart {
    pub(super) shared: Arc<Shared>,
    asks: Asks,
    /// What it asks for if the module is given by digest, and a record of it has shown later which of the values are
    /// operands.
    divided: OnceLock<Box<Asks>>,
    /// Whether such a record may show that.
    is_undivided: bool,
    /// Its id in messages to a service; 0 without one.
    pub(super) id: u64,
    pub(super) urgency: Urgency,
    key: OnceLock<Key>,
    /// Whether it was looked up on the disk.
    looked: AtomicBool,
    /// Whether the context's thread is obtaining it.
    asked: AtomicBool,
    /// Whether a service may be asked for it.
    may_be_compiled: bool,
    found: OnceLock<Result<Arc<Object>>>,
    /// The variant that a state has required; a stage has one kind of variant.
    pub(super) variant: OnceLock<Arc<Self>>,
    /// The pipelines that have requested it, if it is a variant.
    pub(super) requesters: Requesters,
    /// Kept for a service that may request it.
    pub(super) module: Option<Arc<Vec<u8>>>,
    /// User data of its events; a variant has no events.
    user: Option<u64>,
}

/// What a shader asks for.
struct Asks {
    request: StageRequest,
    /// Specialization values of constants that are only operands, sorted by id.
    operands: Vec<(u32, u64)>,
}

impl Shader {
    /// Creates a shader and looks up its part in memory and, unless forbidden, on the disk. A missing part is not an
    /// error: [`Self::status`] reports it, and every later use looks again.
    ///
    /// # Errors
    /// Malformed: the module. Environment: after a fork.
    pub fn new(context: &Context, info: &ShaderInfo<'_>) -> Result<Self> {
        let shared = context.shared()?;
        let given = info.specialization.iter().copied().collect::<BTreeMap<u32, u64>>().into_iter();
        let mut is_undivided = false;
        let (module, values, subgroups) = match info.module {
            ModuleRef::Digest(digest) => {
                is_undivided = given.len() > 0;
                (digest, SpecValues { shaping: given.collect(), operands: Vec::new() }, false)
            }
            ModuleRef::Code(code) => {
                let digest = ModuleDigest(*blake3::hash(code).as_bytes());
                let place = || format!("{} shader", info.stage);
                if given.len() == 0 {
                    // Without values to divide, the functions need not be scanned.
                    (digest, SpecValues::default(), scan(code).at(place)?.uses_subgroups)
                } else {
                    let found = shared.constants.of(digest, code).at(place)?;
                    let there = given.filter(|(id, _)| found.scan.spec_ids.binary_search(id).is_ok());
                    (digest, SpecValues::new(there, &found.operands), found.scan.uses_subgroups)
                }
            }
        };
        let request = StageRequest {
            target: shared.target,
            stage: info.stage,
            module,
            entry_point: info.entry_point.to_owned(),
            specialization: values.shaping,
            wave: info.wave.unwrap_or_else(|| default_wave(shared.target, info.stage, subgroups)),
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        let service = shared.service.as_ref();
        let module = match info.module {
            ModuleRef::Code(code) => service.map(|service| service.modules.keep(request.module, code)).transpose()?,
            ModuleRef::Digest(_) => None,
        };
        let (priority, may_be_compiled) = (info.priority, !info.fail_on_compile);
        let mut part = ShaderPart::new(shared, request, values.operands, module, priority, may_be_compiled);
        (part.user, part.is_undivided) = (Some(info.user), is_undivided);
        part.look(!info.no_disk)?;
        let part = Arc::new(part);
        part.order();
        Ok(Self(Held::new(part, &context.0)))
    }

    /// Its context.
    pub fn context(&self) -> Context {
        Context(self.0.open.clone())
    }

    /// The status of its part, without a lookup.
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

    /// Waits until its part is available, has failed, or the service is unreachable, up to the timeout. A part that is
    /// still pending then has timed out. If there is nothing to wait for, it checks the disk and returns at once.
    ///
    /// # Errors
    /// Environment: after a fork, or the cache's manifest cannot be read.
    pub fn wait(&self, timeout: Duration) -> Result<ShaderStatus> {
        let part = &self.0;
        part.shared.alive()?;
        if let Some(service) = part.shared.service.as_ref().filter(|_| part.is_coming()) {
            part.waits(true);
            service.wait(timeout, || !part.is_coming());
            part.waits(false);
        }
        if part.found.get().is_none() && !part.is_coming() {
            part.look_again(true)?;
        }
        self.status()
    }

    /// Its specialization values, as in a state.
    pub fn specialization(&self) -> impl Iterator<Item = SpecializationEntry> + '_ {
        self.0.specialization()
    }

    /// Changes the priority. Does nothing after a fork.
    pub fn set_priority(&self, priority: u32) {
        if self.0.shared.alive().is_err() {
            return;
        }
        self.0.urgency.set(priority);
        self.0.post_if_missing(Order::Urgency(self.0.id));
    }
}

impl ShaderPart {
    /// A part that was not looked up yet, without events.
    pub(super) fn new(
        shared: &Arc<Shared>,
        request: StageRequest,
        operands: Vec<(u32, u64)>,
        module: Option<Arc<Vec<u8>>>,
        priority: u32,
        may_be_compiled: bool,
    ) -> Self {
        Self {
            shared: shared.clone(),
            asks: Asks { request, operands },
            divided: OnceLock::new(),
            is_undivided: false,
            id: shared.service.as_ref().map_or(0, |service| service.id()),
            urgency: Urgency::new(priority),
            key: OnceLock::new(),
            looked: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            may_be_compiled,
            found: OnceLock::new(),
            variant: OnceLock::new(),
            requesters: Requesters::default(),
            module,
            user: None,
        }
    }

    fn asks(&self) -> &Asks {
        self.divided.get().map_or(&self.asks, |divided| divided)
    }

    /// The request for its part.
    pub(super) fn request(&self) -> &StageRequest {
        &self.asks().request
    }

    /// Specialization values of constants that are only operands, sorted by id.
    pub(super) fn operands(&self) -> &[(u32, u64)] {
        &self.asks().operands
    }

    /// Its stage.
    pub(super) fn stage(&self) -> Stage {
        self.asks.request.stage
    }

    /// Whether it has no specialization values.
    pub(super) fn has_no_values(&self) -> bool {
        self.asks.request.specialization.is_empty() && self.asks.operands.is_empty()
    }

    pub(super) fn specialization(&self) -> impl Iterator<Item = SpecializationEntry> + '_ {
        let stage = Some(self.stage());
        let all = self.request().specialization.iter().chain(self.operands());
        all.map(move |(id, value)| SpecializationEntry { stage, id: *id, value: *value })
    }

    /// Looks in memory and, if allowed, on the disk. True if this call found the part or that it is unusable.
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
        let found = self.shared.part(&key, disk).at(|| format!("{} shader", self.stage())).transpose();
        Ok(found.is_some_and(|found| self.found.set(found).is_ok()))
    }

    /// The same for a shader that was not found at creation: adds an event, and waiting pipelines continue.
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
        let Some(user) = self.user else { return };
        let found = self.found.get();
        let (failure, not_cached) = (found.and_then(|found| found.as_ref().err()).cloned(), found.is_none());
        let kind = EventKind::Shader;
        self.shared.events.push(Event { kind, user, generation: 0, failure, not_cached });
    }

    /// Orders the context's thread to find it, if there is one, the part is missing, and there is a place left to look;
    /// once.
    pub(super) fn order(self: &Arc<Self>) {
        let place = self.may_be_compiled || !self.looked.load(Ordering::Relaxed);
        if self.shared.service.is_some() && self.is_missing() && place && !self.asked.swap(true, Ordering::Relaxed) {
            let job: Arc<dyn ServiceJob> = self.clone();
            io::post(&self.shared, Order::Start(Arc::downgrade(&job)));
        }
    }

    /// Sets the result of the search for the part.
    fn settle(&self, found: Result<Arc<Object>>) {
        if self.found.set(found.at(|| format!("{} shader", self.stage()))).is_ok() {
            self.tell();
        }
    }

    /// Requests it no more: it is missing, and nobody needs it.
    pub(super) fn cancel(&self) {
        self.asked.store(false, Ordering::Relaxed);
        self.post_if_missing(Order::Settled(self.id));
    }

    pub(super) fn is_missing(&self) -> bool {
        self.found.get().is_none()
    }

    /// Whether the context's thread is obtaining it.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether it is missing, and a service that is reachable, or was not tried yet, will provide it.
    pub(super) fn is_coming(&self) -> bool {
        let away = || self.shared.service.as_ref().is_none_or(|service| service.is_away());
        self.is_missing() && self.is_asked() && !away()
    }

    /// A thread starts or stops waiting for it.
    pub(super) fn waits(&self, begins: bool) {
        self.urgency.waits(begins);
        self.post_if_missing(Order::Urgency(self.id));
    }

    pub(super) fn post_if_missing(&self, order: Order) {
        if let Some(service) = self.shared.service.as_ref().filter(|_| self.is_missing()) {
            service.post_if_started(order);
        }
    }

    /// The part if it is in memory.
    #[inline]
    pub(super) fn in_memory(&self) -> Option<&Object> {
        self.found.get().and_then(|found| found.as_ref().ok()).map(|object| &**object)
    }

    /// The part for a link.
    ///
    /// # Errors
    /// Those of the part.
    pub(super) fn object(&self, disk: bool) -> Result<Answer<&Object>> {
        if let Some(object) = self.in_memory() {
            return Ok(Answer::Ready(object));
        }
        // Callers need not look for a part that the context's thread is obtaining.
        let coming = self.is_coming();
        if self.is_missing() && !coming {
            self.look_again(disk)?;
        }
        match self.found.get() {
            Some(Ok(object)) => Ok(Answer::Ready(object)),
            Some(Err(e)) => Err(e.clone()),
            None if disk && !coming => Ok(Answer::NotCached(self.stage())),
            None => Ok(Answer::Pending(self.stage())),
        }
    }

    /// The part, if it is available and usable.
    pub(super) fn available(&self, disk: bool) -> Option<&Object> {
        match self.object(disk) {
            Ok(Answer::Ready(object)) => Some(object),
            _ => None,
        }
    }

    /// The key of its request; `None` while the compiler of the cache's code is unknown.
    fn known_key(&self, disk: bool) -> Result<Option<Key>> {
        if let Some(key) = self.key.get() {
            return Ok(Some(*key));
        }
        let Some(compiler) = self.shared.compiler(disk)? else { return Ok(None) };
        let is_final = !self.is_undivided || self.divide(disk)?;
        let key = keys::stage(self.request(), compiler)?;
        Ok(Some(if is_final { *self.key.get_or_init(|| key) } else { key }))
    }

    /// Divides the values of a module given by digest, once something tells which constants are operands: other shaders
    /// of the module in memory, or the cache's record. Returns whether that is known.
    fn divide(&self, disk: bool) -> Result<bool> {
        if self.divided.get().is_some() || self.found.get().is_some() {
            return Ok(true);
        }
        let StageRequest { module, specialization, .. } = &self.asks.request;
        let operands = match self.shared.constants.known(*module) {
            Some(known) => known.operands.clone(),
            None if disk => self.shared.noted_operands(*module)?,
            None => Vec::new(),
        };
        if operands.is_empty() {
            // A module without operands has no record, and neither has one that was never compiled.
            return Ok(false);
        }
        self.divided.get_or_init(|| {
            let SpecValues { shaping, operands } = SpecValues::new(specialization.iter().copied(), &operands);
            let request = StageRequest { specialization: shaping, ..self.asks.request.clone() };
            Box::new(Asks { request, operands })
        });
        Ok(true)
    }

    /// The key of its request.
    ///
    /// # Errors
    /// Environment: the compiler of the cache's code is unknown.
    pub(super) fn key(&self) -> Result<Key> {
        self.known_key(true)?.ok_or_else(|| Error::environment("there is no cache, or it has no manifest yet"))
    }
}

impl ServiceJob for ShaderPart {
    fn id(&self) -> u64 {
        self.id
    }

    /// Checks memory, and the disk, unless the caller's thread already has and has found how the values are divided.
    fn step(&self) -> JobStep {
        let has_looked = self.looked.load(Ordering::Relaxed) && (!self.is_undivided || self.divided.get().is_some());
        if self.is_missing() {
            match self.look(!has_looked) {
                Ok(true) => self.tell(),
                Ok(false) => {}
                // The cache's manifest cannot be read.
                Err(e) => self.settle(Err(e)),
            }
        }
        if self.is_missing() && !self.may_be_compiled {
            self.asked.store(false, Ordering::Relaxed);
            self.tell();
            return JobStep::Nothing;
        }
        if self.is_missing() && self.module.as_ref().is_some_and(|module| module.len() > MAX_MODULE) {
            let limit = format!("module over {} MiB", MAX_MODULE >> 20);
            self.settle(Err(Error::unsupported(limit, "a service takes no larger ones")));
        }
        if self.is_missing() { JobStep::Ask } else { JobStep::Nothing }
    }

    fn class(&self) -> Priority {
        let own = self.urgency.class();
        self.requesters.class().map_or(own, |class| class.min(own))
    }

    fn ask(&self, inline: bool) -> Ask {
        let (id, request, class) = (self.id, self.request().clone(), self.class());
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
            JobOutcome::Part(_, object) if object.interface().stage == self.stage() => Ok(object),
            JobOutcome::Part(_, object) => {
                Err(Error::malformed(format!("the service's part is a {} shader's", object.interface().stage)))
            }
            // The next pipeline that needs a variant requests it again; a shader's part needs a new shader for that.
            JobOutcome::Failed(e) if self.user.is_none() && e.may_pass() => {
                self.asked.store(false, Ordering::Relaxed);
                return Ok(());
            }
            JobOutcome::Failed(e) => Err(e),
            JobOutcome::Pipeline(..) => return Err(Error::malformed("a pipeline in place of a part")),
        };
        self.settle(object);
        Ok(())
    }
}

/// Cancels requests: nobody needs the shader any more.
impl Drop for ShaderPart {
    fn drop(&mut self) {
        if self.shared.alive().is_ok() {
            self.post_if_missing(Order::Settled(self.id));
        }
    }
}
