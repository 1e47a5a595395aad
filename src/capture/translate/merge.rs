//! Merges a pipeline with its libraries: each provides the parts of the state that it says it has.
//!
//! Invariant: at most [`MAX_LIBRARIES`] libraries are read for one pipeline, however they refer to each other.

use super::layout::{Sets, of_pipeline};
use super::tables;
use crate::model::{
    ColorBlendState, DepthStencilState, GraphicsPipeline, Hash, InputAssemblyState, MultisampleState, Next,
    RasterizationState, ShaderStage, VertexInputState, ViewportState, s_type,
};
use crate::source::DefinitionSource;
use dovetail_base::error::{Context, Error, Result};
use std::collections::BTreeSet;

/// A pipeline has four parts; libraries made of libraries need some more.
pub(super) const MAX_LIBRARIES: usize = 32;

/// Bits of `VkGraphicsPipelineLibraryFlagBitsEXT`.
const VERTEX_INPUT: u64 = 1;
pub(super) const BEFORE_RASTERIZATION: u64 = 2;
const FRAGMENT: u64 = 4;
pub(super) const OUTPUT: u64 = 8;
const ALL: u64 = 15;

const VERTEX_STAGE: u32 = 1;
const FRAGMENT_STAGE: u32 = 16;

/// The state of a whole pipeline.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) flags: u64,
    pub(super) layout: Sets,
    pub(super) stages: Vec<ShaderStage>,
    pub(super) vertex: Option<VertexInputState>,
    pub(super) assembly: Option<InputAssemblyState>,
    pub(super) viewport: Option<ViewportState>,
    pub(super) depth_stencil: Option<DepthStencilState>,
    pub(super) rasterization: Option<RasterizationState>,
    pub(super) multisample: Option<MultisampleState>,
    pub(super) blend: Option<ColorBlendState>,
    pub(super) render_pass: Hash,
    pub(super) subpass: u32,
    /// `VkPipelineRenderingCreateInfo`, if there is no render pass.
    pub(super) rendering: Option<Next>,
    /// The attachment locations, from the part with the fragment outputs.
    pub(super) locations: Option<Next>,
    pub(super) dynamic: BTreeSet<u32>,
    /// Structures of the pipelines' own chains that change fixed functions.
    pub(super) extending: Vec<Next>,
}

impl Merged {
    pub(super) fn is_dynamic(&self, state: u32) -> bool {
        self.dynamic.contains(&state)
    }
}

pub(super) fn merge(pipeline: &GraphicsPipeline, source: &dyn DefinitionSource) -> Result<Merged> {
    let mut merged = Merged { flags: pipeline.all_flags(), ..Merged::default() };
    let mut waiting: Vec<Hash> = Vec::new();
    add(&mut merged, pipeline, source, &mut waiting)?;
    let mut met = 0;
    while let Some(name) = waiting.pop() {
        met += 1;
        if met > MAX_LIBRARIES {
            return Err(Error::unsupported("this many pipeline libraries", format!("more than {MAX_LIBRARIES}")));
        }
        let library = source.graphics(name).at(|| format!("pipeline library {name}"))?;
        add(&mut merged, &library, source, &mut waiting)?;
    }
    Ok(merged)
}

/// The parts that a pipeline or library itself has, as bits of `VkGraphicsPipelineLibraryFlagBitsEXT`.
pub(super) fn parts(pipeline: &GraphicsPipeline) -> u64 {
    match Next::find(&pipeline.p_next, s_type::LIBRARY_PARTS).and_then(|next| next.flags) {
        Some(parts) => parts,
        None if Next::libraries(&pipeline.p_next).is_empty() => ALL,
        None => 0,
    }
}

fn first<T: Clone>(merged: &mut Option<T>, from: &Option<T>, has: bool) {
    if merged.is_none() && has {
        merged.clone_from(from);
    }
}

/// Adds the parts that a pipeline or library itself has. The first one given wins.
fn add(
    merged: &mut Merged,
    from: &GraphicsPipeline,
    source: &dyn DefinitionSource,
    waiting: &mut Vec<Hash>,
) -> Result<()> {
    tables::chain(&from.p_next)?;
    let libraries = Next::libraries(&from.p_next);
    let parts = parts(from);
    waiting.extend(libraries);
    merged.layout.add(of_pipeline(from.layout, source)?);
    let has = |bits: u64| parts & bits != 0;
    let stages = from.stages.iter().filter(|stage| match stage.stage {
        FRAGMENT_STAGE => has(FRAGMENT),
        _ => has(BEFORE_RASTERIZATION),
    });
    merged.stages.extend(stages.cloned());
    first(&mut merged.rasterization, &from.rasterization_state, has(BEFORE_RASTERIZATION));
    first(&mut merged.viewport, &from.viewport_state, has(BEFORE_RASTERIZATION));
    first(&mut merged.vertex, &from.vertex_input_state, has(VERTEX_INPUT));
    first(&mut merged.assembly, &from.input_assembly_state, has(VERTEX_INPUT));
    first(&mut merged.depth_stencil, &from.depth_stencil_state, has(FRAGMENT));
    first(&mut merged.multisample, &from.multisample_state, has(FRAGMENT | OUTPUT));
    first(&mut merged.blend, &from.color_blend_state, has(OUTPUT));
    if merged.render_pass.is_none() && has(BEFORE_RASTERIZATION | FRAGMENT | OUTPUT) {
        (merged.render_pass, merged.subpass) = (from.render_pass, from.subpass);
    }
    // The part with the outputs has the formats; other parts have only the view mask.
    let rendering = Next::find(&from.p_next, s_type::RENDERING);
    if rendering.is_some() && (has(OUTPUT) || merged.rendering.is_none() && has(BEFORE_RASTERIZATION | FRAGMENT)) {
        merged.rendering = rendering.cloned();
        if !has(OUTPUT) {
            merged.rendering.iter_mut().for_each(|next| next.color_attachment_formats.clear());
        }
    }
    if has(OUTPUT) && merged.locations.is_none() {
        merged.locations = Next::find(&from.p_next, s_type::ATTACHMENT_LOCATIONS).cloned();
    }
    merged.dynamic.extend(from.dynamic_state.iter().flat_map(|state| &state.dynamic_state));
    let extends = |next: &&Next| [s_type::DISCARD_RECTANGLES, s_type::SHADING_RATE].contains(&next.s_type);
    merged.extending.extend(from.p_next.iter().filter(extends).cloned());
    if merged.stages.iter().filter(|stage| stage.stage == VERTEX_STAGE).count() > 1 {
        return Err(Error::malformed("two vertex shaders in one pipeline"));
    }
    Ok(())
}
