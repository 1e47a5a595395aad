//! The fixed-function state of a pipeline: no code depends on it, but the image does.

use super::merge::merge;
use crate::model::{
    ColorBlendState, DepthStencilState, GraphicsPipeline, InputAssemblyState, MultisampleState, Next,
    RasterizationState, ViewportState,
};
use crate::source::DefinitionSource;
use dovetail_base::error::Result;
use std::collections::BTreeSet;

/// Vulkan's structures of a pipeline, including those of its libraries.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct FixedState {
    pub assembly: Option<InputAssemblyState>,
    pub viewport: Option<ViewportState>,
    pub rasterization: Option<RasterizationState>,
    pub multisample: Option<MultisampleState>,
    pub depth_stencil: Option<DepthStencilState>,
    pub blend: Option<ColorBlendState>,
    /// Structures that extend the pipeline and change fixed functions: discard rectangles, shading rates.
    pub extending: Vec<Next>,
    /// `VkDynamicState` numbers.
    pub dynamic: BTreeSet<u32>,
}

/// The fixed-function state of a graphics pipeline.
///
/// # Errors
/// As [`super::graphics`].
pub fn fixed(pipeline: &GraphicsPipeline, source: &dyn DefinitionSource) -> Result<FixedState> {
    let merged = merge(pipeline, source)?;
    Ok(FixedState {
        assembly: merged.assembly,
        viewport: merged.viewport,
        rasterization: merged.rasterization,
        multisample: merged.multisample,
        depth_stencil: merged.depth_stencil,
        blend: merged.blend,
        extending: merged.extending,
        dynamic: merged.dynamic,
    })
}
