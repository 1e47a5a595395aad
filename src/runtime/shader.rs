//! A stage on its way to its part.

use super::context::{Context, Shared, count};
use super::events::{Event, EventKind};
use super::link::Answer;
use super::scan::scan;
use crate::cache::Key;
use crate::compile::request::{KnownState, ModuleDigest, StageRequest, TuningOptions, default_wave};
use crate::error::{Context as _, Error, Result};
use crate::keys;
use crate::link::Object;
use crate::state::SpecializationEntry;
use crate::target::{Stage, WaveSize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// A module: its words, or what stands for them where a driver keeps none.
#[derive(Clone, Copy, Debug)]
pub enum ModuleRef<'a> {
    /// SPIR-V, in either byte order. It is hashed and looked through, not kept.
    Code(&'a [u8]),
    /// BLAKE3 of the SPIR-V's bytes. Then specialization values have to be of constants that the module has, and the wave
    /// size has to be given if it looks at its subgroup.
    Digest(ModuleDigest),
}

/// What a shader is made of.
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
    /// Look in memory only; [`Shader::wait`] looks on the disk.
    pub no_disk: bool,
    /// How soon a service should compile it. Nothing comes of it before there is one.
    pub priority: u32,
    /// What events name it by.
    pub user: u64,
}

/// A shader's part: where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShaderStatus {
    /// In memory, ready to be linked.
    Ready,
    /// Not looked for on the disk yet.
    Pending,
    /// Not in the cache.
    NotCached,
    /// In the cache, and of no use; asking again is of no use either.
    Failed(Error),
}

/// A shader. Clones are the same one; pipelines hold their shaders.
#[derive(Clone)]
pub struct Shader(pub(super) Arc<Part>);

pub(super) struct Part {
    pub(super) shared: Arc<Shared>,
    pub(super) request: StageRequest,
    key: OnceLock<Key>,
    /// It was looked for on the disk.
    looked: AtomicBool,
    found: OnceLock<Result<Arc<Object>>>,
    priority: AtomicU32,
    user: u64,
}

impl Shader {
    /// Looks for the part in memory, and on the disk unless that is not wanted. A part that is not there is no error:
    /// [`Self::status`] says so, and every later use looks again.
    ///
    /// # Errors
    /// Malformed: the module. Environment: after a fork.
    pub fn new(context: &Context, info: &ShaderInfo<'_>) -> Result<Self> {
        let shared = &context.0;
        shared.alive()?;
        let given = info.specialization.iter().copied().collect::<BTreeMap<u32, u64>>().into_iter();
        let (module, specialization, subgroups) = match info.module {
            ModuleRef::Digest(digest) => (digest, given.collect(), false),
            ModuleRef::Code(code) => {
                let found = scan(code).at(|| format!("{} shader", info.stage))?;
                let there = given.filter(|(id, _)| found.spec_ids.binary_search(id).is_ok());
                (ModuleDigest(*blake3::hash(code).as_bytes()), there.collect(), found.uses_subgroups)
            }
        };
        let request = StageRequest {
            target: shared.target,
            stage: info.stage,
            module,
            entry_point: info.entry_point.to_owned(),
            specialization,
            wave: info.wave.unwrap_or_else(|| default_wave(info.stage, subgroups)),
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        let part = Part {
            shared: shared.clone(),
            request,
            key: OnceLock::new(),
            looked: AtomicBool::new(false),
            found: OnceLock::new(),
            priority: AtomicU32::new(info.priority),
            user: info.user,
        };
        part.look(!info.no_disk)?;
        Ok(Self(Arc::new(part)))
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
            None if self.0.looked.load(Ordering::Relaxed) => ShaderStatus::NotCached,
            None => ShaderStatus::Pending,
        })
    }

    /// Looks for its part, on the disk too. Without a service there is nothing else to wait for.
    ///
    /// # Errors
    /// Environment: after a fork, or the cache's manifest cannot be read.
    pub fn wait(&self) -> Result<ShaderStatus> {
        self.0.shared.alive()?;
        if self.0.found.get().is_none() {
            self.0.look_again(true)?;
        }
        self.status()
    }

    /// Its specialization values, as a state has them.
    pub fn specialization(&self) -> impl Iterator<Item = SpecializationEntry> + '_ {
        self.0.specialization()
    }

    /// Another priority.
    pub fn set_priority(&self, priority: u32) {
        self.0.priority.store(priority, Ordering::Relaxed);
    }
}

impl Part {
    pub(super) fn specialization(&self) -> impl Iterator<Item = SpecializationEntry> + '_ {
        let stage = Some(self.request.stage);
        self.request.specialization.iter().map(move |(id, value)| SpecializationEntry { stage, id: *id, value: *value })
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

    /// The same for a shader that was not found when it was made: an event tells of it.
    fn look_again(&self, disk: bool) -> Result<()> {
        if self.look(disk)? {
            let failure = self.found.get().and_then(|found| found.as_ref().err()).cloned();
            self.shared.events.push(Event { kind: EventKind::Shader, user: self.user, generation: 0, failure });
        }
        Ok(())
    }

    /// The part for a link.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn object(&self, disk: bool) -> Result<Answer<&Object>> {
        if self.found.get().is_none() {
            self.look_again(disk)?;
        }
        match self.found.get() {
            Some(Ok(object)) => Ok(Answer::Ready(object)),
            Some(Err(e)) => Err(e.clone()),
            None if disk => Ok(Answer::NotCached(self.request.stage)),
            None => Ok(Answer::Pending(self.request.stage)),
        }
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
