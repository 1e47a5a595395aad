//! A pipeline with a handle: its generation, polled for the price of a load, and its ELF.
//!
//! ```text
//! Waiting(part) ── found ──> Done: generation 1, linked or whole
//!    └─ link refuses ──> NeedsWhole(reason), until the cache has it whole     └─ malformed, unsupported ──> Failed
//! ```
//!
//! The generation is stored after the ELF, so whoever sees one can read an ELF of it or of a later one. It only grows.

use super::context::{Context, Shared};
use super::events::{Event, EventKind};
use super::flags::PipelineFlags;
use super::layout::Resolved;
use super::link::{Answer, PipelineInfo, Route, Stages, link, specialized};
use super::shader::Part;
use crate::cache::Key;
use crate::error::{Error, Result};
use crate::keys;
use crate::link::{Job, Placement, Size};
use crate::state::PipelineState;
use crate::target::Stage;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// The generation of what was linked first, or was compiled whole because linking could not do it.
const FIRST: u32 = 1;

/// A pipeline. Its shaders, its layout and its context stay as long as it does.
pub struct Pipeline {
    generation: AtomicU32,
    used: AtomicU64,
    priority: AtomicU32,
    shared: Arc<Shared>,
    parts: Vec<Arc<Part>>,
    layout: Arc<Resolved>,
    state: PipelineState,
    placement: Placement,
    flags: PipelineFlags,
    user: u64,
    made: RwLock<Made>,
}

struct Made {
    phase: Phase,
    elf: Vec<u8>,
}

/// Where a pipeline stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The part of this stage is not in memory, and the disk was not asked.
    Pending(Stage),
    /// The part of this stage is not in the cache.
    NotCached(Stage),
    /// The parts cannot be linked with this state, and the cache has not the pipeline whole.
    NeedsWhole(Error),
    /// There is an ELF.
    Done(Route),
    /// There will be none.
    Failed(Error),
}

impl Phase {
    /// Whether nothing can change any more.
    fn is_final(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Failed(_))
    }
}

/// What there is to know of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineStatus {
    /// Where it stands.
    pub phase: Phase,
    /// 0: no ELF yet; 1: linked, or whole.
    pub generation: u32,
    /// Bytes of the ELF.
    pub bytes: usize,
    /// Draws that were told of.
    pub used: u64,
}

impl Pipeline {
    /// Links the pipeline if its parts are at hand. That they are not, or that it cannot be linked, is no error:
    /// [`Self::status`] says so.
    ///
    /// # Errors
    /// Malformed: no pipeline, or shaders of another context. Environment: after a fork.
    pub fn new(context: &Context, info: &PipelineInfo<'_>) -> Result<Self> {
        let stages = context.stages(info.shaders)?;
        let first = stages.first().ok_or_else(|| Error::malformed("a pipeline without shaders"))?.request.stage;
        let pipeline = Self {
            generation: AtomicU32::new(0),
            used: AtomicU64::new(0),
            priority: AtomicU32::new(info.priority),
            shared: context.0.clone(),
            parts: info.shaders.iter().map(|shader| shader.0.clone()).collect(),
            layout: info.layout.0.clone(),
            state: specialized(info.state, &stages).into_owned(),
            placement: info.placement,
            flags: info.flags,
            user: info.user,
            made: RwLock::new(Made { phase: Phase::Pending(first), elf: Vec::new() }),
        };
        pipeline.advance(info.flags);
        Ok(pipeline)
    }

    /// One relaxed load: 0 none, 1 linked or whole.
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Where the generation is kept, for callers whose own load is cheaper than a call.
    pub fn generation_place(&self) -> &AtomicU32 {
        &self.generation
    }

    /// Where it stands.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn status(&self) -> Result<PipelineStatus> {
        self.shared.alive()?;
        let made = self.made();
        Ok(PipelineStatus {
            phase: made.phase.clone(),
            generation: self.generation(),
            bytes: made.elf.len(),
            used: self.used.load(Ordering::Relaxed),
        })
    }

    /// Copies the ELF, and gives its generation; none if there is no ELF.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn read(&self, out: &mut [u8]) -> Result<Option<(Size, u32)>> {
        self.shared.alive()?;
        let made = self.made();
        // Under the lock, so that it is the generation of these bytes.
        Ok(match self.generation() {
            0 => None,
            generation => {
                let size = made.elf.len();
                let room = out.get_mut(..size);
                let room = room.map(|out| out.copy_from_slice(&made.elf));
                Some((room.map_or(Size::Incomplete(size), |()| Size::Written(size)), generation))
            }
        })
    }

    /// Tries once more, on this thread and with the disk whatever the flags say: without a service there is nothing else to
    /// wait for. What has come of it is in the status, and in an event if it is new.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn wait(&self) -> Result<PipelineStatus> {
        self.shared.alive()?;
        if self.advance(self.flags.without_no_disk()) {
            let failure = match &self.made().phase {
                Phase::Failed(e) => Some(e.clone()),
                _ => None,
            };
            let generation = self.generation();
            self.shared.events.push(Event { kind: EventKind::Pipeline, user: self.user, generation, failure });
        }
        self.status()
    }

    /// 256 bits over all that decides the ELF.
    ///
    /// # Errors
    /// Environment: after a fork, or while nothing says whose code the cache holds.
    pub fn key(&self) -> Result<Key> {
        self.shared.alive()?;
        let stages = self.parts.iter().map(|part| part.key()).collect::<Result<Vec<Key>>>()?;
        let state = PipelineState { layout: self.layout.given.clone(), ..self.state.clone() };
        keys::pipeline(&stages, &state, self.placement)
    }

    /// Tells of draws. A relaxed addition.
    pub fn used(&self, draws: u32) {
        self.used.fetch_add(draws.into(), Ordering::Relaxed);
    }

    /// Another priority.
    pub fn set_priority(&self, priority: u32) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    /// What the lock guards is replaced whole, so that a poisoned one is still good.
    fn made(&self) -> RwLockReadGuard<'_, Made> {
        self.made.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries to come to an ELF; true if this very call has come to the end of it.
    fn advance(&self, flags: PipelineFlags) -> bool {
        if self.made().phase.is_final() {
            return false;
        }
        let stages: Stages<'_> = self.parts.iter().map(|part| &**part).collect();
        let into_memory = |job: &Job<'_>| job.link().map(|linked| linked.elf);
        let answer = link(&self.shared, &stages, &self.layout, &self.state, self.placement, flags, into_memory);
        let (phase, elf) = match answer {
            Ok(Answer::Ready((elf, route))) => (Phase::Done(route), elf),
            Ok(Answer::Pending(stage)) => (Phase::Pending(stage), Vec::new()),
            Ok(Answer::NotCached(stage)) => (Phase::NotCached(stage), Vec::new()),
            Err(e) if e.full_compile().is_some() => (Phase::NeedsWhole(e), Vec::new()),
            Err(e) => (Phase::Failed(e), Vec::new()),
        };
        let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
        if made.phase.is_final() {
            return false;
        }
        let (done, end) = (matches!(phase, Phase::Done(_)), phase.is_final());
        *made = Made { phase, elf };
        if done {
            self.generation.store(FIRST, Ordering::Release);
        }
        end
    }
}
