//! Translates the vertex input state: buffers and attributes.

use super::tables;
use crate::model;
use crate::model::{Next, s_type};
use dovetail_base::error::{Error, Result};
use dovetail_state::{VertexAttribute, VertexBinding, VertexInputState, VertexRate, VkFormat};

pub(super) fn translate(given: Option<&model::VertexInputState>, dynamic_stride: bool) -> Result<VertexInputState> {
    let Some(given) = given else { return Ok(VertexInputState::default()) };
    tables::chain(&given.p_next)?;
    let divisors =
        Next::find(&given.p_next, s_type::VERTEX_DIVISORS).map_or(&[][..], |next| &next.vertex_binding_divisors);
    let binding = |given: &model::VertexBinding| {
        let rate = match given.input_rate {
            0 => VertexRate::Vertex,
            1 => VertexRate::Instance,
            other => return Err(Error::malformed(format!("VkVertexInputRate {other}"))),
        };
        let divisor = divisors.iter().find(|divisor| divisor.binding == given.binding);
        Ok(VertexBinding {
            binding: given.binding,
            // A dynamic stride is never smaller than an attribute's extent, and stride 0 is fetched in the same way.
            stride: if dynamic_stride { 0 } else { given.stride },
            rate,
            divisor: divisor.filter(|_| rate == VertexRate::Instance).map_or(1, |divisor| divisor.divisor),
        })
    };
    let attribute = |given: &model::VertexAttribute| VertexAttribute {
        location: given.location,
        binding: given.binding,
        format: VkFormat(given.format),
        offset: given.offset,
    };
    Ok(VertexInputState {
        bindings: given.bindings.iter().map(binding).collect::<Result<_>>()?,
        attributes: given.attributes.iter().map(attribute).collect(),
    })
}
