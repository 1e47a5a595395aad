//! The service's work for a pipeline handle: missing parts, a whole-pipeline compile if linking is impossible, and
//! better code for a linked pipeline.

use super::answer::PipelineRoute;
use super::context::count;
use super::flags::PipelineFlags;
use super::link::{MAX_STAGES, link_whole};
use super::pipeline::{BETTER, FIRST, Inner, Optimization, Phase};
use super::service::desk::Order;
use super::service::io;
use super::service::job::{JobOutcome, JobStep, ServiceJob};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_compile::request::StageRequest;
use dovetail_link::Object;
use dovetail_wire::{Ask, PipelineAsk, Priority, Verdict};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Inner {
    /// Whether the flags allow compiling for this pipeline.
    pub(super) fn may_be_compiled(&self) -> bool {
        self.shared.service.is_some() && !self.flags.has(PipelineFlags::FAIL_ON_COMPILE)
    }

    /// Whether only a whole-pipeline compile is accepted.
    fn wants_whole(&self) -> bool {
        self.flags.has(PipelineFlags::LINK_TIME_OPTIMIZATION)
    }

    pub(super) fn may_be_optimized(&self) -> bool {
        self.may_be_compiled() && !self.flags.has(PipelineFlags::NO_OPTIMIZE)
    }

    /// Whether the context's thread is obtaining every missing part, and every missing variant.
    fn parts_are_coming(&self) -> bool {
        self.parts.iter().all(|part| {
            let part = part.variant_for(&self.state).unwrap_or(part);
            !part.is_missing() || part.is_asked()
        })
    }

    /// Posts an order to the context's thread, if there is anything that it can do. The pipeline is pending only if the
    /// thread will end that by itself; one whose parts may come by others' requests is linked then.
    pub(super) fn order(self: &Arc<Self>) {
        if self.shared.service.is_none() {
            return;
        }
        let (missing, coming, offered) = {
            let made = self.made();
            let (missing, coming) = match &made.phase {
                Phase::Pending(_) if self.flags.has(PipelineFlags::NO_DISK) => (true, true),
                Phase::Pending(_) | Phase::NotCached(_) => (
                    true,
                    match self.wants_whole() {
                        true => self.may_be_compiled(),
                        false => self.parts_are_coming(),
                    },
                ),
                Phase::NeedsWhole(_) => {
                    (self.missing_variant().is_some(), self.may_be_compiled() || self.coming_variant().is_some())
                }
                _ => (false, false),
            };
            (missing, coming, made.optimization == Optimization::Offered)
        };
        if missing || coming || offered {
            self.asked.store(coming, Ordering::Relaxed);
            self.raise_parts();
            let job: Arc<dyn ServiceJob> = self.clone();
            io::post(&self.shared, Order::Start(Arc::downgrade(&job)));
        }
    }

    /// Advances it as far as the available parts allow.
    fn proceed(&self) -> JobStep {
        loop {
            let lacked_variant = self.missing_variant().is_some();
            if self.advance(self.flags.without_no_disk()) {
                self.tell();
            }
            let made = self.made();
            let whole = match &made.phase {
                Phase::Done(_) if made.optimization == Optimization::Offered => return JobStep::Ask,
                Phase::Done(_) | Phase::Failed(_) => return JobStep::Nothing,
                Phase::NeedsWhole(_) | Phase::CompilingWhole(_) => {
                    if let Some(variant) = self.await_variants() {
                        return JobStep::After(variant);
                    }
                    if lacked_variant && self.missing_variant().is_none() {
                        // A caller's thread has just found it.
                        continue;
                    }
                    true
                }
                Phase::Pending(_) | Phase::NotCached(_) => self.wants_whole(),
            };
            if whole {
                return if self.may_be_compiled() { JobStep::Ask } else { JobStep::Nothing };
            }
            // None is missing any more if a caller's thread has just found it.
            if let Some(part) = self.parts.iter().find(|part| part.is_missing()) {
                return JobStep::After(part.id);
            }
        }
    }

    /// Whether the context's thread is obtaining what is missing, and the service is reachable or was not tried yet.
    pub(super) fn is_coming(&self) -> bool {
        self.asked.load(Ordering::Relaxed) && self.has_service() && !self.made().phase.is_final()
    }

    fn has_service(&self) -> bool {
        self.shared.service.as_ref().is_some_and(|service| !service.is_away())
    }

    /// The highest generation that it has, or that the context's thread is obtaining.
    pub(super) fn last_coming(&self) -> u32 {
        if self.is_coming() {
            return if self.may_be_optimized() && !self.wants_whole() { BETTER } else { FIRST };
        }
        if self.is_offered() && self.has_service() { BETTER } else { self.generation() }
    }

    /// A thread starts or stops waiting for it.
    pub(super) fn waits(&self, begins: bool) {
        self.urgency.waits(begins);
        self.parts.iter().filter(|part| part.is_missing()).for_each(|part| part.waits(begins));
        self.tell_urgency_of_variants();
        self.post_if_open(Order::Urgency(self.id));
    }

    /// Raises missing parts to the urgency of the pipeline that waits for them.
    pub(super) fn raise_parts(&self) {
        for part in self.parts.iter().filter(|part| part.is_missing()) {
            part.urgency.raise(self.urgency.priority());
            part.post_if_missing(Order::Urgency(part.id));
        }
        self.tell_urgency_of_variants();
    }

    /// Posts an order for a request without an answer.
    pub(super) fn post_if_open(&self, order: Order) {
        if let Some(service) = &self.shared.service
            && (self.asked.load(Ordering::Relaxed) || self.is_offered())
        {
            service.post_if_started(order);
        }
    }

    fn link_whole(&self, parts: &[Arc<Object>]) -> Result<Vec<u8>> {
        // Check the stages: any parts with matching interfaces would link.
        let mut given: SmallVec<[Stage; MAX_STAGES]> = parts.iter().map(|part| part.interface().stage).collect();
        let mut wanted: SmallVec<[Stage; MAX_STAGES]> = self.parts.iter().map(|part| part.stage()).collect();
        given.sort_unstable();
        wanted.sort_unstable();
        if given != wanted {
            return Err(Error::malformed(format!("parts of {given:?}, and the pipeline is of {wanted:?}")));
        }
        link_whole(&self.shared, parts, &self.layout, &self.state, self.placement, self.flags)
    }

    /// Takes the whole-pipeline compile of a pipeline that could not or should not be linked.
    fn take_whole(&self, parts: Result<Vec<Arc<Object>>>) {
        let reason = match &self.made().phase {
            Phase::NeedsWhole(why) => why.full_compile().cloned(),
            _ => None,
        };
        let (phase, elf) = match parts.and_then(|parts| self.link_whole(&parts)) {
            Ok(elf) => {
                count(&self.shared.counters.wholes);
                (Phase::Done(PipelineRoute::Whole(reason)), elf)
            }
            Err(e) => (Phase::Failed(e), Vec::new()),
        };
        if self.finish(phase, elf) {
            self.tell();
        }
    }

    /// Takes the better code of a linked pipeline as generation 2.
    fn take_better(&self, why: String, parts: &[Arc<Object>]) {
        let linked = self.link_whole(parts);
        let mut made = self.made_mut();
        match linked {
            Ok(elf) => {
                (made.phase, made.elf) = (Phase::Done(PipelineRoute::Optimized(why)), elf);
                made.optimization = Optimization::Taken;
                self.shared.service.iter().for_each(|desk| count(&desk.counters.optimized));
                self.set_generation(&mut made, BETTER);
                drop(made);
                self.tell();
            }
            Err(e) => made.optimization = Optimization::Failed(e),
        }
    }

    fn is_offered(&self) -> bool {
        self.made().optimization == Optimization::Offered
    }
}

impl ServiceJob for Inner {
    fn id(&self) -> u64 {
        self.id
    }

    fn step(&self) -> JobStep {
        let step = self.proceed();
        let coming = match step {
            JobStep::After(_) => self.parts_are_coming(),
            JobStep::Ask => !self.is_offered(),
            JobStep::Nothing => false,
        };
        let was_coming = self.asked.swap(coming, Ordering::Relaxed);
        let made = self.made();
        if was_coming && !coming && !made.phase.is_final() {
            // Under the lock, so that the event is not that of a result which a caller's thread has just told.
            self.tell_of(&made.phase);
        }
        step
    }

    fn class(&self) -> Priority {
        if self.is_offered() { Priority::Optimize } else { self.urgency.class() }
    }

    fn ask(&self, inline: bool) -> Ask {
        let mut stages: Vec<StageRequest> = self.parts.iter().map(|part| part.request().clone()).collect();
        stages.sort_by_key(|request| request.stage);
        let (id, state, placement, uses) = (self.id, self.given_state(), self.placement, self.uses());
        Ask::Pipeline(PipelineAsk { id, stages, state, placement, class: self.class(), uses, inline })
    }

    fn draws(&self) -> Option<u64> {
        (self.made().optimization != Optimization::None).then(|| self.uses())
    }

    fn take(&self, outcome: JobOutcome) -> Result<()> {
        match (outcome, self.is_offered()) {
            (JobOutcome::Pipeline(Verdict::Take(why), parts), true) => self.take_better(why, &parts),
            (JobOutcome::Pipeline(Verdict::Take(_), parts), false) => self.take_whole(Ok(parts)),
            (JobOutcome::Pipeline(Verdict::Keep(why), _), true) => {
                self.made_mut().optimization = Optimization::Kept(why);
            }
            (JobOutcome::Pipeline(Verdict::Keep(_), _), false) => {
                return Err(Error::malformed("a pipeline that is to be kept, where there is none"));
            }
            (JobOutcome::Failed(e), true) => self.made_mut().optimization = Optimization::Failed(e),
            (JobOutcome::Failed(e), false) => self.take_whole(Err(e)),
            (JobOutcome::Part(..), _) => return Err(Error::malformed("a part in place of a pipeline")),
        }
        Ok(())
    }
}

/// Cancels requests, and forgets what it waits for: nobody needs the pipeline any more. The service forgets an offer that it
/// has answered.
impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(service) = &self.shared.service
            && self.shared.alive().is_ok()
            && (!self.made().phase.is_final() || self.made().optimization != Optimization::None)
        {
            self.leave_variants();
            service.post_if_started(Order::Settled(self.id));
        }
    }
}
