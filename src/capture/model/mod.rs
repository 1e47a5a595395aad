//! Vulkan's structs as an application passes them, with Vulkan's own numbers. Their JSON form is the content of an
//! archive, so the names of fields are those of Fossilize's format.

mod hash;
mod layout;
mod next;
mod pass;
mod pipeline;

pub use hash::Hash;
pub use layout::{Binding, PipelineLayout, PushConstantRange, Sampler, SetLayout};
pub use next::{Divisor, Next, Reference, s_type};
pub use pass::{Attachment, Dependency, RenderPass, Subpass};
pub use pipeline::{
    BlendAttachment, ColorBlendState, ComputePipeline, DepthStencilState, DynamicState, GraphicsPipeline,
    InputAssemblyState, MapEntry, MultisampleState, RasterizationState, Rect, ShaderStage, Specialization, StencilOps,
    TessellationState, VertexAttribute, VertexBinding, VertexInputState, Viewport, ViewportState,
};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dovetail_base::error::{Error, Result};

/// The kinds of objects in a payload, by JSON key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the format's own")]
pub enum Key {
    Samplers,
    SetLayouts,
    PipelineLayouts,
    ShaderModules,
    RenderPasses,
    RenderPasses2,
    GraphicsPipelines,
    ComputePipelines,
}

impl Key {
    /// The key as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Samplers => "samplers",
            Self::SetLayouts => "setLayouts",
            Self::PipelineLayouts => "pipelineLayouts",
            Self::ShaderModules => "shaderModules",
            Self::RenderPasses => "renderPasses",
            Self::RenderPasses2 => "renderPasses2",
            Self::GraphicsPipelines => "graphicsPipelines",
            Self::ComputePipelines => "computePipelines",
        }
    }
}

/// Anything that can be recorded.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Definition<'a> {
    Sampler(&'a Sampler),
    SetLayout(&'a SetLayout),
    PipelineLayout(&'a PipelineLayout),
    RenderPass(&'a RenderPass),
    Graphics(&'a GraphicsPipeline),
    Compute(&'a ComputePipeline),
    /// SPIR-V.
    Module(&'a [u8]),
}

/// Encodes bytes as the format does.
pub fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes bytes from the format's text.
///
/// # Errors
/// Malformed: the text is invalid.
pub fn base64_bytes(text: &str) -> Result<Vec<u8>> {
    STANDARD.decode(text).map_err(|e| Error::malformed(format!("base64: {e}")))
}

/// A number that JSON can hold: infinities become the largest numbers, and NaN becomes 0. No field of this kind affects
/// code.
pub fn finite(number: f32) -> f32 {
    if number.is_nan() { 0.0 } else { number.clamp(f32::MIN, f32::MAX) }
}
