//! A pipeline handle: its generation, polled by a single load, and its ELF.
//!
//! ```text
//! Pending(part) ── found ──> Done: generation 1, linked or whole ── better when compiled whole ──> generation 2
//!    ├─ link refuses ──> CompilingWhole(reason), or NeedsWhole(reason) until the cache has it whole
//!    └─ malformed, unsupported ──> Failed
//! ```
//!
//! The generation is stored after the ELF, so a thread that sees a generation can read its ELF or a later one. The
//! generation only grows. `recompile` implements the steps that run on the context's thread.

use super::answer::{Answer, PipelineRoute};
use super::context::{Context, Shared};
use super::events::{Event, EventKind};
use super::flags::PipelineFlags;
use super::held::Held;
use super::link::{PipelineInfo, Stages, link, specialized};
use super::service::desk::Order;
use super::shader::ShaderPart;
use super::urgency::Urgency;
use dovetail_abi::layout::PreparedLayout;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_cache::Key;
use dovetail_link::{Job, Placement, Size};
use dovetail_pipeline::keys;
use dovetail_state::PipelineState;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::Duration;

/// Generation of the first ELF, linked or compiled as a whole because it could not be linked.
pub(super) const FIRST: u32 = 1;
/// Generation of the ELF that replaced a linked one.
pub(super) const BETTER: u32 = 2;

/// A pipeline. It keeps its shaders, layout and context alive.
pub struct Pipeline(Held<Inner>);

/// The state shared with the context's thread.
pub(super) struct Inner {
    pub(super) this: Weak<Self>,
    /// Whether it has requested the variants that it lacked.
    pub(super) has_requested_variants: AtomicBool,
    generation: AtomicU32,
    used: AtomicU64,
    /// Its id in messages to a service; 0 without one.
    pub(super) id: u64,
    pub(super) urgency: Urgency,
    /// Whether the context's thread is working on it: on missing parts, or on a whole-pipeline compile.
    pub(super) asked: AtomicBool,
    pub(super) shared: Arc<Shared>,
    pub(super) parts: Vec<Arc<ShaderPart>>,
    pub(super) layout: Arc<PreparedLayout>,
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
    /// No request: there is no service, the flags forbid it, or the pipeline was already compiled as a whole.
    None,
    /// The service schedules the compile by how much the pipeline is used.
    Offered,
    /// The code was better, and is generation 2.
    Taken,
    /// The linked pipeline is as good; the text says why.
    Kept(String),
    /// The compile failed. The linked pipeline stays.
    Failed(Error),
}

/// Phase of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The part of this stage is not in memory and the disk was not checked, or it was requested from a service.
    Pending(Stage),
    /// The part of this stage is not in the cache, and there is no service that can be reached and may compile it.
    NotCached(Stage),
    /// The parts cannot be linked with this state, and a service is compiling the whole pipeline.
    CompilingWhole(Error),
    /// The parts cannot be linked with this state, and the cache does not have the pipeline compiled as a whole.
    NeedsWhole(Error),
    /// There is an ELF.
    Done(PipelineRoute),
    /// It failed for good.
    Failed(Error),
}

impl Phase {
    /// Whether the phase can no longer change.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Failed(_))
    }
}

/// Status of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineStatus {
    /// Its phase.
    pub phase: Phase,
    /// 0: no ELF yet; 1: linked, or compiled as a whole; 2: replaced by better code.
    pub generation: u32,
    /// The highest generation that it has, or that is being produced.
    pub coming: u32,
    /// Status of the request for better code.
    pub optimization: Optimization,
    /// Size of the ELF in bytes; 0 if there is none, or it could be read once and has been.
    pub bytes: usize,
    /// Draws reported.
    pub used: u64,
}

impl Pipeline {
    /// Creates a pipeline, and links it if its parts are available. If they are not, or cannot be linked, that is not
    /// an error: [`Self::status`] reports it.
    ///
    /// # Errors
    /// Malformed: not a valid pipeline, or shaders of another context. Environment: after a fork.
    pub fn new(context: &Context, info: &PipelineInfo<'_>) -> Result<Self> {
        let stages = context.stages(info.shaders)?;
        let shared = context.shared()?;
        let first = stages.first().ok_or_else(|| Error::malformed("a pipeline without shaders"))?.stage();
        let phase = Phase::Pending(first);
        let inner = Arc::new_cyclic(|this| Inner {
            this: this.clone(),
            has_requested_variants: AtomicBool::new(false),
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
        });
        inner.advance(info.flags);
        inner.order();
        Ok(Self(Held::new(inner, &context.0)))
    }

    /// Its context.
    pub fn context(&self) -> Context {
        Context(self.0.open.clone())
    }

    /// One relaxed load. 0: no ELF; 1: linked, or compiled as a whole; 2: replaced by better code.
    pub fn generation(&self) -> u32 {
        self.0.generation()
    }

    /// The address of the generation, for callers for whom a load is cheaper than a call.
    pub fn generation_place(&self) -> &AtomicU32 {
        &self.0.generation
    }

    /// Status of the pipeline.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn status(&self) -> Result<PipelineStatus> {
        let inner = &self.0;
        inner.shared.alive()?;
        let (coming, last) = (inner.is_coming(), inner.last_coming());
        let made = inner.made();
        let phase = match &made.phase {
            Phase::Pending(stage) | Phase::NotCached(stage) if coming => Phase::Pending(*stage),
            // The context's thread has checked the disk.
            Phase::Pending(stage) if inner.shared.service.is_some() => Phase::NotCached(*stage),
            Phase::NeedsWhole(why) if coming => {
                let variant = inner.coming_variant();
                variant.map_or_else(|| Phase::CompilingWhole(why.clone()), |part| Phase::Pending(part.stage()))
            }
            phase => phase.clone(),
        };
        Ok(PipelineStatus {
            phase,
            generation: inner.generation(),
            coming: last,
            optimization: made.optimization.clone(),
            bytes: made.elf.len(),
            used: inner.uses(),
        })
    }

    /// Copies the ELF and returns its generation; `None` if there is no ELF, or it could be read once and has been.
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

    /// Called under the lock, so that the generation belongs to these bytes.
    fn copy(&self, made: &Made, out: &mut [u8]) -> Option<(Size, u32)> {
        let size = made.elf.len();
        if size == 0 {
            return None;
        }
        let room = out.get_mut(..size).map(|out| out.copy_from_slice(&made.elf));
        Some((room.map_or(Size::Incomplete(size), |()| Size::Written(size)), self.generation()))
    }

    /// Waits until the pipeline has reached this generation, can no longer reach it, or the service is unreachable, up
    /// to the timeout. If nothing is coming and there is no ELF, it tries again on this thread, checking the disk
    /// whatever the flags say, and returns at once. The result is in the status, and in an event if it is new.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn wait(&self, generation: u32, timeout: Duration) -> Result<PipelineStatus> {
        let inner = &self.0;
        inner.shared.alive()?;
        let comes = || inner.generation() < generation && generation <= inner.last_coming();
        if let Some(service) = inner.shared.service.as_ref().filter(|_| comes()) {
            inner.waits(true);
            service.wait(timeout, || !comes());
            inner.waits(false);
        }
        if generation > 0
            && inner.generation() == 0
            && !inner.is_coming()
            && inner.advance(inner.flags.without_no_disk())
        {
            inner.tell();
        }
        self.status()
    }

    /// A 256-bit key of everything that decides the ELF.
    ///
    /// # Errors
    /// Environment: after a fork, or while the compiler of the cache's code is unknown.
    pub fn key(&self) -> Result<Key> {
        self.0.shared.alive()?;
        let stages = self.0.parts.iter().map(|part| part.key()).collect::<Result<Vec<Key>>>()?;
        keys::pipeline(&stages, &self.0.given_state(), self.0.placement)
    }

    /// Reports draws. A relaxed addition.
    pub fn used(&self, draws: u32) {
        self.0.used.fetch_add(draws.into(), Ordering::Relaxed);
    }

    /// Changes the priority of the pipeline and of the parts that it waits for, unless theirs is higher. Does nothing
    /// after a fork.
    pub fn set_priority(&self, priority: u32) {
        if self.0.shared.alive().is_err() {
            return;
        }
        self.0.urgency.set(priority);
        self.0.raise_parts();
        self.0.post_if_open(Order::Urgency(self.0.id));
    }
}

impl Inner {
    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Draws reported so far.
    pub(super) fn uses(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The state, with the layout as it was given.
    pub(super) fn given_state(&self) -> PipelineState {
        PipelineState { layout: self.layout.given().clone(), ..self.state.clone() }
    }

    /// Locks, even a poisoned lock: the guarded value is only replaced as a whole, so it is always consistent.
    pub(super) fn made(&self) -> RwLockReadGuard<'_, Made> {
        self.made.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn made_mut(&self) -> RwLockWriteGuard<'_, Made> {
        self.made.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the generation after the ELF, under its lock.
    pub(super) fn set_generation(&self, _made: &mut Made, generation: u32) {
        self.generation.store(generation, Ordering::Release);
    }

    /// Adds an event with the result.
    pub(super) fn tell(&self) {
        self.tell_of(&self.made().phase);
    }

    pub(super) fn tell_of(&self, phase: &Phase) {
        let (failure, not_cached) = match phase {
            Phase::Failed(e) | Phase::NeedsWhole(e) => (Some(e.clone()), false),
            Phase::Pending(_) | Phase::NotCached(_) => (None, true),
            _ => (None, false),
        };
        let (kind, user, generation) = (EventKind::Pipeline, self.user, self.generation());
        self.shared.events.push(Event { kind, user, generation, failure, not_cached });
    }

    /// Tries to produce an ELF; true if this call reached a final phase.
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

    /// Enters a phase, unless a final one was reached before; true if this one is final.
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
