//! A pipeline with a handle: its generation, polled for the price of a load, and its ELF.
//!
//! ```text
//! Pending(part) ── found ──> Done: generation 1, linked or whole ── better when compiled whole ──> generation 2
//!    ├─ link refuses ──> CompilingWhole(reason), or NeedsWhole(reason) until the cache has it whole
//!    └─ malformed, unsupported ──> Failed
//! ```
//!
//! The generation is stored after the ELF, so whoever sees one can read an ELF of it or of a later one. It only grows.
//! `recompile` has the steps that the service's thread takes.

use super::context::{Context, Shared};
use super::events::{Event, EventKind};
use super::flags::PipelineFlags;
use super::held::Held;
use super::layout::Resolved;
use super::link::{Answer, PipelineInfo, PipelineRoute, Stages, link, specialized};
use super::service::desk::Order;
use super::shader::ShaderPart;
use super::urgency::Urgency;
use crate::cache::Key;
use crate::error::{Error, Result};
use crate::keys;
use crate::link::{Job, Placement, Size};
use crate::state::PipelineState;
use crate::target::Stage;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// The generation of what was linked first, or was compiled whole because linking could not do it.
pub(super) const FIRST: u32 = 1;
/// The generation of what replaced a linked pipeline.
pub(super) const BETTER: u32 = 2;

/// A pipeline. Its shaders, its layout and its context stay as long as it does.
pub struct Pipeline(Held<Inner>);

/// The part of a pipeline that the service's thread shares.
pub(super) struct Inner {
    generation: AtomicU32,
    used: AtomicU64,
    /// Its id in messages to a service; 0 without one.
    pub(super) id: u64,
    pub(super) urgency: Urgency,
    /// The service's thread is at it: parts that it waits for, or a whole compile.
    pub(super) asked: AtomicBool,
    pub(super) shared: Arc<Shared>,
    pub(super) parts: Vec<Arc<ShaderPart>>,
    pub(super) layout: Arc<Resolved>,
    pub(super) state: PipelineState,
    pub(super) placement: Placement,
    pub(super) flags: PipelineFlags,
    user: u64,
    made: RwLock<Made>,
}

pub(super) struct Made {
    pub(super) phase: Phase,
    pub(super) elf: Vec<u8>,
    pub(super) optimization: Optimization,
}

/// Status of the request for better code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Optimization {
    /// Nobody was asked: there is no service, it is not wanted, or the pipeline is whole already.
    None,
    /// A service decides by its use when it is compiled whole.
    Offered,
    /// It was better, and is generation 2.
    Taken,
    /// The linked pipeline is as good; why, in words.
    Kept(String),
    /// It could not be compiled whole. The linked pipeline stays.
    Failed(Error),
}

/// Where a pipeline stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The part of this stage is not in memory, and the disk was not asked; or it is on its way from a service.
    Pending(Stage),
    /// The part of this stage is not in the cache, and there is no service, or it cannot be reached.
    NotCached(Stage),
    /// The parts cannot be linked with this state, and a service compiles it whole.
    CompilingWhole(Error),
    /// The parts cannot be linked with this state, and the cache has not the pipeline whole.
    NeedsWhole(Error),
    /// There is an ELF.
    Done(PipelineRoute),
    /// There will be none.
    Failed(Error),
}

impl Phase {
    /// Whether nothing can change any more.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Failed(_))
    }
}

/// Status of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineStatus {
    /// Where it stands.
    pub phase: Phase,
    /// 0: no ELF yet; 1: linked, or whole; 2: replaced by better code.
    pub generation: u32,
    /// Status of the request for better code.
    pub optimization: Optimization,
    /// Bytes of the ELF; 0 if there is none, or it was to be read once and has been.
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
        let shared = context.shared()?;
        let first = stages.first().ok_or_else(|| Error::malformed("a pipeline without shaders"))?.request.stage;
        let phase = Phase::Pending(first);
        let inner = Inner {
            generation: AtomicU32::new(0),
            used: AtomicU64::new(0),
            id: shared.service.as_ref().map_or(0, |service| service.id()),
            urgency: Urgency::new(info.priority),
            asked: AtomicBool::new(false),
            shared: shared.clone(),
            parts: info.shaders.iter().map(|shader| shader.0.object().clone()).collect(),
            layout: info.layout.0.clone(),
            state: specialized(info.state, &stages).into_owned(),
            placement: info.placement,
            flags: info.flags,
            user: info.user,
            made: RwLock::new(Made { phase, elf: Vec::new(), optimization: Optimization::None }),
        };
        inner.advance(info.flags);
        let inner = Arc::new(inner);
        inner.order();
        Ok(Self(Held::new(inner, &context.0)))
    }

    /// One relaxed load: 0 none, 1 linked or whole, 2 better.
    pub fn generation(&self) -> u32 {
        self.0.generation()
    }

    /// Where the generation is kept, for callers whose own load is cheaper than a call.
    pub fn generation_place(&self) -> &AtomicU32 {
        &self.0.generation
    }

    /// Where it stands.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn status(&self) -> Result<PipelineStatus> {
        let inner = &self.0;
        inner.shared.alive()?;
        let coming = inner.is_coming();
        let made = inner.made();
        let phase = match &made.phase {
            Phase::Pending(stage) | Phase::NotCached(stage) if coming => Phase::Pending(*stage),
            // The service's thread has looked on the disk.
            Phase::Pending(stage) if inner.shared.service.is_some() => Phase::NotCached(*stage),
            Phase::NeedsWhole(why) if coming => Phase::CompilingWhole(why.clone()),
            phase => phase.clone(),
        };
        Ok(PipelineStatus {
            phase,
            generation: inner.generation(),
            optimization: made.optimization.clone(),
            bytes: made.elf.len(),
            used: inner.uses(),
        })
    }

    /// Copies the ELF, and gives its generation; none if there is no ELF, or it was to be read once and has been.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn read(&self, out: &mut [u8]) -> Result<Option<(Size, u32)>> {
        self.0.shared.alive()?;
        if self.0.flags.has(PipelineFlags::READ_ONCE) {
            let mut made = self.0.made_mut();
            let copied = self.copy(&made, out);
            if let Some((Size::Written(_), _)) = copied {
                made.elf = Vec::new();
            }
            return Ok(copied);
        }
        Ok(self.copy(&self.0.made(), out))
    }

    /// Under the lock, so that it is the generation of these bytes.
    fn copy(&self, made: &Made, out: &mut [u8]) -> Option<(Size, u32)> {
        let size = made.elf.len();
        if size == 0 {
            return None;
        }
        let room = out.get_mut(..size).map(|out| out.copy_from_slice(&made.elf));
        Some((room.map_or(Size::Incomplete(size), |()| Size::Written(size)), self.generation()))
    }

    /// Waits until the pipeline is of this generation, it is certain that it will not be, or the service cannot be reached; at
    /// most so long. Where there is nothing to wait for, it tries once more, on this thread and with the disk whatever the flags
    /// say, and returns at once. What has come of it is in the status, and in an event if it is new.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn wait(&self, generation: u32, timeout: Duration) -> Result<PipelineStatus> {
        let inner = &self.0;
        inner.shared.alive()?;
        if let Some(service) = inner.shared.service.as_ref().filter(|_| inner.is_coming_to(generation)) {
            inner.waits(true);
            service.wait(timeout, || !inner.is_coming_to(generation));
            inner.waits(false);
        }
        if inner.generation() == 0 && !inner.is_coming() && inner.advance(inner.flags.without_no_disk()) {
            inner.tell();
        }
        self.status()
    }

    /// 256 bits over all that decides the ELF.
    ///
    /// # Errors
    /// Environment: after a fork, or while nothing says whose code the cache holds.
    pub fn key(&self) -> Result<Key> {
        self.0.shared.alive()?;
        let stages = self.0.parts.iter().map(|part| part.key()).collect::<Result<Vec<Key>>>()?;
        keys::pipeline(&stages, &self.0.given_state(), self.0.placement)
    }

    /// Tells of draws. A relaxed addition.
    pub fn used(&self, draws: u32) {
        self.0.used.fetch_add(draws.into(), Ordering::Relaxed);
    }

    /// Another priority, for it and for parts that it waits for, unless theirs is higher.
    pub fn set_priority(&self, priority: u32) {
        self.0.urgency.set(priority);
        self.0.raise_parts();
        self.0.post_if_open(Order::Urgency(self.0.id));
    }
}

impl Inner {
    fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Draws so far.
    pub(super) fn uses(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The state with the layout as it was given.
    pub(super) fn given_state(&self) -> PipelineState {
        PipelineState { layout: self.layout.given.clone(), ..self.state.clone() }
    }

    /// Locks, a poisoned lock too: the guarded value is replaced whole, so that it is always consistent.
    pub(super) fn made(&self) -> RwLockReadGuard<'_, Made> {
        self.made.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn made_mut(&self) -> RwLockWriteGuard<'_, Made> {
        self.made.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// After the ELF, and under its lock.
    pub(super) fn set_generation(&self, _made: &mut Made, generation: u32) {
        self.generation.store(generation, Ordering::Release);
    }

    /// An event of what has come of it.
    pub(super) fn tell(&self) {
        let failure = match &self.made().phase {
            Phase::Failed(e) => Some(e.clone()),
            _ => None,
        };
        let generation = self.generation();
        self.shared.events.push(Event { kind: EventKind::Pipeline, user: self.user, generation, failure });
    }

    /// Tries to come to an ELF; true if this very call has come to the end of it.
    pub(super) fn advance(&self, flags: PipelineFlags) -> bool {
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
        self.finish(phase, elf)
    }

    /// Comes to a phase, unless it has come to its end already; true if this is the end.
    pub(super) fn finish(&self, phase: Phase, elf: Vec<u8>) -> bool {
        let mut made = self.made_mut();
        if made.phase.is_final() {
            return false;
        }
        let (done, end) = (matches!(phase, Phase::Done(_)), phase.is_final());
        let optimization = match phase {
            Phase::Done(PipelineRoute::Linked) if self.may_be_optimized() => Optimization::Offered,
            _ => Optimization::None,
        };
        *made = Made { phase, elf, optimization };
        if done {
            self.set_generation(&mut made, FIRST);
        }
        end
    }
}
