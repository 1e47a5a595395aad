//! Variants of parts, which links with some states need: view masks, sample shading.
//!
//! A variant is a part like any other, found in memory, on the disk or by a service. It belongs to the shader, so all
//! pipelines of a shader share it.

use super::link::Answer;
use super::pipeline::Inner;
use super::service::desk::Order;
use super::shader::ShaderPart;
use crate::compile::request::StageRequest;
use crate::compile::variant;
use crate::link::Object;
use crate::state::PipelineState;
use std::sync::Arc;

impl ShaderPart {
    /// The variant that a link with this state needs in place of this part; `None` if the part serves, or is missing.
    pub(super) fn variant_for(&self, state: &PipelineState) -> Option<&Arc<Self>> {
        let known = variant(state, self.in_memory()?.interface())?;
        Some(self.variant.get_or_init(|| {
            let request = StageRequest { known, ..self.request.clone() };
            let (operands, module) = (self.operands.clone(), self.module.clone());
            Arc::new(Self::new(&self.shared, request, operands, module, 0, self.may_be_compiled))
        }))
    }

    /// The part, if it is available and usable.
    pub(super) fn available(&self, disk: bool) -> Option<&Object> {
        match self.object(disk) {
            Ok(Answer::Ready(object)) => Some(object),
            _ => None,
        }
    }
}

impl Inner {
    /// A variant that its state needs, that is missing and that the service may compile.
    pub(super) fn missing_variant(&self) -> Option<&Arc<ShaderPart>> {
        let mut variants = self.parts.iter().filter_map(|part| part.variant_for(&self.state));
        variants.find(|variant| self.may_be_compiled() && variant.may_be_compiled && variant.is_missing())
    }

    /// Raises the variant that it waits for to its own urgency. It is not lowered again, because other pipelines may
    /// wait for it too.
    pub(super) fn raise_variant(&self) {
        if let Some(variant) = self.missing_variant() {
            variant.urgency.raise(self.urgency.level());
            variant.post_if_missing(Order::Urgency(variant.id));
        }
    }
}
