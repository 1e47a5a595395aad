//! Vulkan's structs as an application gives them, with Vulkan's own numbers. As JSON these structs are what an archive
//! holds, so names of
//! fields are the format's.

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

use crate::error::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The objects of a payload, by the key that they stand under.
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
    /// As it is written.
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

/// Bytes as the format writes them.
pub fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of such a text.
///
/// # Errors
/// Malformed: it is none.
pub fn base64_bytes(text: &str) -> Result<Vec<u8>> {
    STANDARD.decode(text).map_err(|e| Error::malformed(format!("base64: {e}")))
}

/// A number that JSON has: infinities become the largest numbers, and what is no number becomes 0. No such field decides code.
pub fn finite(number: f32) -> f32 {
    if number.is_nan() { 0.0 } else { number.clamp(f32::MIN, f32::MAX) }
}
