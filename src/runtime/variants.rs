//! Variants of parts, which links with some states need: view masks, sample shading.
//!
//! A variant is a part like any other, found in memory, on the disk or by a service. It belongs to the shader, so all
//! pipelines of a shader share it. A pipeline that may be compiled requests the variants that it lacks once; one that
//! still lacks them after that is compiled as a whole.

use super::pipeline::Inner;
use super::service::desk::Order;
use super::shader::ShaderPart;
use dovetail_compile::request::{KnownState, StageRequest};
use dovetail_compile::variant;
use dovetail_state::PipelineState;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl ShaderPart {
    /// The variant that a link with this state needs in place of this part; `None` if the part serves, or is missing.
    pub(super) fn variant_for(&self, state: &PipelineState) -> Option<&Arc<Self>> {
        Some(self.variant(variant(state, self.in_memory()?.interface())?))
    }

    /// The variant that knows this: the only one of a stage.
    pub(super) fn variant(&self, known: KnownState) -> &Arc<Self> {
        self.variant.get_or_init(|| {
            let request = StageRequest { known, ..self.request().clone() };
            let (operands, module) = (self.operands().to_vec(), self.module.clone());
            // Whether it may be compiled is up to the pipelines that request it.
            Arc::new(Self::new(&self.shared, request, operands, module, 0, true))
        })
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
            missing.iter().for_each(|variant| variant.requesters.add(self.this.clone(), || variant.order()));
            self.tell_urgency_of_variants();
        }
        missing.iter().find(|variant| variant.is_asked()).map(|variant| variant.id)
    }

    /// Requests variants no more: the pipeline is being dropped.
    pub(super) fn leave_variants(&self) {
        if self.has_requested_variants.load(Ordering::Relaxed) {
            self.variants().filter(|variant| variant.is_missing()).for_each(|variant| {
                variant.requesters.leave(|| variant.cancel());
            });
            // The others may be less urgent.
            self.tell_urgency_of_variants();
        }
    }

    /// Tells the service the urgency of the variants that it has requested.
    pub(super) fn tell_urgency_of_variants(&self) {
        if self.has_requested_variants.load(Ordering::Relaxed) {
            self.variants().for_each(|variant| variant.post_if_missing(Order::Urgency(variant.id)));
        }
    }
}
