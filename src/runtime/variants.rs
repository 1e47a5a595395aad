//! Variants of parts, which links with some states need: view masks, sample shading.
//!
//! A variant is a part like any other, found in memory, on the disk or by a service. It belongs to the shader, so all
//! pipelines of a shader share it. A pipeline that may be compiled requests the variants that it lacks once; one that
//! still lacks them after that is compiled as a whole.

use super::pipeline::Inner;
use super::service::desk::Order;
use super::service::job::ServiceJob;
use super::shader::ShaderPart;
use crate::compile::request::StageRequest;
use crate::compile::variant;
use crate::state::PipelineState;
use crate::wire::Priority;
use smallvec::SmallVec;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The pipelines that have requested a variant.
#[derive(Default)]
pub(super) struct Requesters(Mutex<Vec<Weak<Inner>>>);

impl Requesters {
    /// Adds a pipeline, and requests the variant if it is the first.
    fn add(&self, pipeline: Weak<Inner>, variant: &Arc<ShaderPart>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.strong_count() > 0);
        all.push(pipeline);
        variant.order();
    }

    /// Cancels the request for the variant if no pipeline is left.
    fn leave(&self, variant: &ShaderPart) {
        // Under the lock, so that no request is added in between.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.strong_count() > 0);
        if all.is_empty() && variant.is_missing() {
            variant.cancel();
        } else {
            // The others may be less urgent.
            variant.post_if_missing(Order::Urgency(variant.id));
        }
    }

    /// The priority of the most urgent one.
    pub(super) fn class(&self) -> Option<Priority> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().filter_map(|pipeline| Some(pipeline.upgrade()?.class())).min()
    }
}

impl ShaderPart {
    /// The variant that a link with this state needs in place of this part; `None` if the part serves, or is missing.
    pub(super) fn variant_for(&self, state: &PipelineState) -> Option<&Arc<Self>> {
        let known = variant(state, self.in_memory()?.interface())?;
        Some(self.variant.get_or_init(|| {
            let request = StageRequest { known, ..self.request().clone() };
            let (operands, module) = (self.operands().to_vec(), self.module.clone());
            // Whether it may be compiled is up to the pipelines that request it.
            Arc::new(Self::new(&self.shared, request, operands, module, 0, true))
        }))
    }
}

impl Inner {
    /// The variants that its state needs.
    fn variants(&self) -> impl Iterator<Item = &Arc<ShaderPart>> {
        self.parts.iter().filter_map(|part| part.variant_for(&self.state))
    }

    /// A missing variant that its state needs.
    pub(super) fn missing_variant(&self) -> Option<&Arc<ShaderPart>> {
        self.variants().find(|variant| variant.is_missing())
    }

    /// A missing variant that the context's thread is obtaining, or will be.
    pub(super) fn coming_variant(&self) -> Option<&Arc<ShaderPart>> {
        let requests = self.may_be_compiled() && !self.has_requested_variants.load(Ordering::Relaxed);
        self.variants().find(|variant| variant.is_missing() && (requests || variant.is_asked()))
    }

    /// Requests the missing variants if it may and has not done so. Returns the id of the one to wait for; `None` if
    /// none is missing, or they could not be obtained.
    pub(super) fn await_variants(&self) -> Option<u64> {
        let missing: SmallVec<[&Arc<ShaderPart>; 2]> = self.variants().filter(|variant| variant.is_missing()).collect();
        let first = missing.first()?;
        if !self.may_be_compiled() {
            // It is linked when others have obtained them.
            return Some(first.id);
        }
        if !self.has_requested_variants.swap(true, Ordering::Relaxed) {
            missing.iter().for_each(|variant| variant.requesters.add(self.this.clone(), variant));
            self.tell_urgency_of_variants();
        }
        missing.iter().find(|variant| variant.is_asked()).map(|variant| variant.id)
    }

    /// Requests variants no more: the pipeline is being dropped.
    pub(super) fn leave_variants(&self) {
        if self.has_requested_variants.load(Ordering::Relaxed) {
            self.variants().for_each(|variant| variant.requesters.leave(variant));
        }
    }

    /// Tells the service the urgency of the variants that it has requested.
    pub(super) fn tell_urgency_of_variants(&self) {
        if self.has_requested_variants.load(Ordering::Relaxed) {
            self.variants().for_each(|variant| variant.post_if_missing(Order::Urgency(variant.id)));
        }
    }
}
