//! Translates the model of a pipeline to a [`PipelineState`] and its stages.
//!
//! Every part of Vulkan's state is handled in one of three ways (`docs/state.md` has the table): it is filled in here;
//! it belongs to the driver, and no code depends on it; or it is an error that names it. Nothing that could change code
//! is ignored silently: structures, flags and dynamic states are looked up in [`tables`], and one without a row is
//! unsupported.
//!
//! Dynamic state whose every value has the same code is translated so: a dynamic stride is 0, for which attributes are fetched as for
//! any stride that Vulkan allows there; a dynamic write mask is all channels, which the driver then cuts; where blending may be
//! switched on, colours are exported for blending.

mod color;
mod fixed;
mod late;
mod layout;
mod merge;
mod sampler;
mod tables;
mod vertex;

pub use fixed::{FixedState, fixed};
pub use late::{LateState, complete, waits};
pub use tables::names;

use super::model::{ComputePipeline, GraphicsPipeline, Hash, Next, ShaderStage, base64_bytes, s_type};
use super::source::DefinitionSource;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_state::{PipelineState, PrimitiveKind, RasterState, SpecializationEntry};
use std::collections::BTreeMap;
use tables::dynamic;

/// Longest name of an entry point, in bytes.
const MAX_ENTRY_POINT: usize = 4096;

/// A shader as used by a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageUse {
    /// Stage.
    pub stage: Stage,
    /// Its module.
    pub module: Hash,
    /// Its entry point.
    pub entry_point: String,
    /// Values by `SpecId`, sorted; the module need not have these ids.
    pub specialization: Vec<(u32, u64)>,
    /// Size of a subgroup, if the application requests one.
    pub lanes: Option<u32>,
}

impl StageUse {
    /// [`requested_wave`] of this stage.
    ///
    /// # Errors
    /// As there.
    pub fn wave(&self, uses_subgroups: bool) -> Result<Option<WaveSize>> {
        requested_wave(self.lanes, uses_subgroups).at(|| format!("{} shader", self.stage))
    }
}

/// The wave size for subgroups of a requested size, by a module that uses subgroups or does not. A recording may come
/// from a driver with subgroups of other sizes; they make no difference to a module that does not use them.
///
/// # Errors
/// Unsupported: subgroups of a size that no wave has.
pub fn requested_wave(lanes: Option<u32>, uses_subgroups: bool) -> Result<Option<WaveSize>> {
    let Some(lanes) = lanes else { return Ok(None) };
    match WaveSize::try_from(lanes) {
        Ok(wave) => Ok(Some(wave)),
        Err(_) if !uses_subgroups => Ok(None),
        Err(_) => Err(Error::unsupported(format!("subgroups of {lanes}"), "")),
    }
}

/// A translated pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    /// Its state, with the specialization of all stages.
    pub state: PipelineState,
    /// Its stages, vertex before fragment.
    pub stages: Vec<StageUse>,
}

/// `VK_PIPELINE_CREATE_LIBRARY_BIT_KHR`.
const LIBRARY: u64 = 0x800;

impl GraphicsPipeline {
    /// Its flags, including 64-bit ones.
    pub fn all_flags(&self) -> u64 {
        all_flags(self.flags, &self.p_next)
    }

    /// Whether it is a library, which is only a part of a pipeline.
    pub fn is_library(&self) -> bool {
        self.all_flags() & LIBRARY != 0
    }
}

fn all_flags(flags: u32, chain: &[Next]) -> u64 {
    Next::find(chain, s_type::FLAGS_2).and_then(|next| next.flags).unwrap_or(flags.into())
}

/// Translates a compute pipeline.
///
/// # Errors
/// Unsupported: names the feature that the state cannot express. Malformed: something that Vulkan does not allow, or an
/// unknown name.
pub fn compute(pipeline: &ComputePipeline, source: &dyn DefinitionSource) -> Result<Translated> {
    tables::pipeline_flags(all_flags(pipeline.flags, &pipeline.p_next))?;
    tables::chain(&pipeline.p_next)?;
    let stages = vec![stage_use(&pipeline.stage)?];
    let sets = layout::of_pipeline(pipeline.layout, source)?;
    let state = PipelineState { layout: layout::translate(&sets, source)?, ..PipelineState::default() };
    Ok(finish(state, stages))
}

/// Translates a graphics pipeline with its libraries.
///
/// # Errors
/// As [`compute`].
pub fn graphics(pipeline: &GraphicsPipeline, source: &dyn DefinitionSource) -> Result<Translated> {
    let merged = merge::merge(pipeline, source)?;
    tables::pipeline_flags(merged.flags)?;
    for number in &merged.dynamic {
        tables::dynamic_state(*number)?;
    }
    let discard = merged.rasterization.as_ref().is_some_and(|state| state.rasterizer_discard_enable != 0);
    let mut stages = merged.stages.iter().map(stage_use).collect::<Result<Vec<_>>>()?;
    // If nothing is rasterized, Vulkan ignores the fragment shader.
    stages.retain(|stage| !(discard && stage.stage.shades_pixels()));
    stages.sort_by_key(|stage| stage.stage);
    let state = PipelineState {
        layout: layout::translate(&merged.layout, source)?,
        vertex: vertex::translate(merged.vertex.as_ref(), merged.is_dynamic(dynamic::VERTEX_STRIDE))?,
        color: color::translate(&merged, discard, source)?,
        raster: raster(&merged, discard)?,
        view_mask: color::view_mask(&merged, source)?,
        ..PipelineState::default()
    };
    Ok(finish(state, stages))
}

/// Adds the stages' specialization to the state.
fn finish(state: PipelineState, stages: Vec<StageUse>) -> Translated {
    let of = |stage: &StageUse| {
        let named = Some(stage.stage);
        let entry = move |&(id, value): &(u32, u64)| SpecializationEntry { stage: named, id, value };
        stage.specialization.iter().map(entry).collect::<Vec<_>>()
    };
    let specialization = stages.iter().flat_map(of).collect();
    Translated { state: PipelineState { specialization, ..state }, stages }
}

fn raster(merged: &merge::Merged, discard: bool) -> Result<RasterState> {
    /// `VK_CONSERVATIVE_RASTERIZATION_MODE_UNDERESTIMATE_EXT`.
    const UNDERESTIMATE: u32 = 2;
    /// `VK_LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH`.
    const SMOOTH: u32 = 3;
    let chain = merged.rasterization.as_ref().map_or(&[][..], |state| &state.p_next);
    tables::chain(chain)?;
    let of = |s_type| Next::find(chain, s_type);
    if of(s_type::RASTERIZATION_STREAM).and_then(|next| next.rasterization_stream).is_some_and(|stream| stream != 0) {
        return Err(Error::unsupported("transform feedback", "rasterizationStream"));
    }
    if of(s_type::LINES).and_then(|next| next.line_rasterization_mode) == Some(SMOOTH) {
        return Err(Error::unsupported("smooth lines", "lineRasterizationMode"));
    }
    let mode = of(s_type::CONSERVATIVE_RASTERIZATION).and_then(|next| next.conservative_rasterization_mode);
    let primitive = match merged.assembly.as_ref().map(|state| state.topology) {
        Some(0) => PrimitiveKind::Points,
        // Lists and strips of lines, with adjacent vertices too.
        Some(1 | 2 | 6 | 7) => PrimitiveKind::Lines,
        _ => PrimitiveKind::Triangles,
    };
    Ok(RasterState { discard, clip_plane_mask: 0, inner_coverage: mode == Some(UNDERESTIMATE), primitive })
}

/// The stage of a `VkShaderStageFlagBits`.
fn stage(number: u32) -> Result<Stage> {
    const OTHERS: &[(u32, &str)] = &[
        (2, "tessellation control shader"),
        (4, "tessellation evaluation shader"),
        (8, "geometry shader"),
        (0x40, "task shader"),
        (0x80, "mesh shader"),
    ];
    match number {
        1 => Ok(Stage::Vertex),
        16 => Ok(Stage::Fragment),
        32 => Ok(Stage::Compute),
        other => Err(match OTHERS.iter().find(|(bit, _)| *bit == other) {
            Some((_, name)) => Error::unsupported(*name, ""),
            None => Error::unsupported(format!("VkShaderStageFlagBits {other:#x}"), ""),
        }),
    }
}

/// Translates a stage.
///
/// # Errors
/// Unsupported: by name. Malformed: it has no module, or its specialization is invalid.
pub fn stage_use(given: &ShaderStage) -> Result<StageUse> {
    /// Varying subgroup sizes, full subgroups: both hold for all our wave sizes.
    const HARMLESS: u32 = 3;
    let stage = stage(given.stage)?;
    let place = || format!("{stage} shader");
    tables::chain(&given.p_next).at(place)?;
    if given.flags & !HARMLESS != 0 {
        return Err(Error::unsupported(format!("shader stage flags {:#x}", given.flags & !HARMLESS), "").at(place()));
    }
    if given.module.is_none() {
        let identified = Next::find(&given.p_next, s_type::MODULE_IDENTIFIER).is_some();
        let why = if identified { "by its identifier alone" } else { "" };
        return Err(Error::unsupported("shader without a module", why).at(place()));
    }
    if given.name.len() > MAX_ENTRY_POINT {
        let length = format!("{} bytes, the limit is {MAX_ENTRY_POINT}", given.name.len());
        return Err(Error::unsupported("name of an entry point of this length", length).at(place()));
    }
    let lanes = Next::find(&given.p_next, s_type::SUBGROUP_SIZE).and_then(|next| next.required_subgroup_size);
    Ok(StageUse {
        stage,
        module: given.module,
        entry_point: given.name.clone(),
        specialization: specialization(given).at(place)?,
        lanes,
    })
}

fn specialization(given: &ShaderStage) -> Result<Vec<(u32, u64)>> {
    let Some(info) = &given.specialization_info else { return Ok(Vec::new()) };
    let data = base64_bytes(&info.data)?;
    let mut values = BTreeMap::new();
    for entry in &info.map_entries {
        let range = usize::try_from(entry.offset).ok().zip(usize::try_from(entry.size).ok());
        let bytes = range.and_then(|(at, size)| data.get(at..at.checked_add(size)?));
        let bytes = bytes.filter(|bytes| matches!(bytes.len(), 1 | 2 | 4 | 8)).ok_or_else(|| {
            Error::malformed(format!("specialization constant {}: its bytes are not in the data", entry.constant_id))
        })?;
        let value = bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        values.insert(entry.constant_id, value);
    }
    Ok(values.into_iter().collect())
}

#[cfg(test)]
mod tests;
