//! Pipeline state besides the shaders, in Vulkan's terms: the schema of a state file, and the input of a link.
//!
//! Every field has a default, so an empty file is a compute pipeline without resources. Unknown keys are rejected. So a
//! new field must not be serialized if it has its default, or services of older versions understand no client
//! (`tests/service/skew.rs`).

mod format;
mod kind;
mod planes;
mod sampler;

use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use dovetail_base::kinds::{KindSet, ResourceKind};
pub use format::VkFormat;
pub use kind::BindingKind;
pub use planes::{PlaneChannel, PlaneView, Planes};
pub use sampler::{
    ChromaFilter, ChromaLocation, ImmutableSampler, SamplerWords, Swizzle, YcbcrConversion, YcbcrModel, YcbcrNumbers,
    YcbcrRange,
};

/// A fact that a separate compile may not know. "Unknown" is not a default value: it leads to different code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Known<T> {
    /// Left to the linker.
    #[default]
    Unknown,
    /// Known at compile time.
    Known(T),
}

impl<T> Known<T> {
    /// The fact, if known.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Unknown => None,
            Self::Known(t) => Some(t),
        }
    }

    /// Whether it is left to the linker.
    pub fn is_unknown(&self) -> bool {
        self.get().is_none()
    }
}

/// The state of one pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PipelineState {
    /// Descriptor sets, push constants and their root dwords.
    pub layout: ResourceLayout,
    /// Vertex bindings and attributes.
    pub vertex: VertexInputState,
    /// Colour attachments and other state for their export.
    pub color: ColorState,
    /// Rasterizer.
    pub raster: RasterState,
    /// Runs what comes before the rasterizer as primitive shaders (NGG), where the GPU has a choice and the shaders allow
    /// it. Services of other versions may not know it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ngg: bool,
    /// Multiview mask, bit n for view n, which is drawn to layer n; 0: no multiview.
    pub view_mask: u32,
    /// Specialization values, for a given stage or for all. If an id is given twice for the same, the first value counts.
    pub specialization: Vec<SpecializationEntry>,
    /// Index of the device in a group.
    pub device_index: u32,
    /// Values of the caller's own symbols.
    pub symbols: BTreeMap<String, u32>,
}

impl PipelineState {
    /// The value of a specialization constant in a stage, if any: an entry for the stage overrides one for all.
    pub fn specialized(&self, stage: Stage, id: u32) -> Option<u64> {
        let find = |of: Option<Stage>| self.specialization.iter().find(|e| e.id == id && e.stage == of);
        find(Some(stage)).or_else(|| find(None)).map(|e| e.value)
    }
}

/// Descriptor sets and push constants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceLayout {
    /// Sets in any order, each number once.
    pub sets: Vec<SetLayout>,
    /// Bytes of push constants, 0 if none.
    pub push_constant_bytes: u32,
    /// Root dword where push constants start; absent: after set pointers and root buffers.
    pub push_constant_root: Option<u32>,
}

/// One descriptor set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetLayout {
    /// Set number.
    pub set: u32,
    /// Root dword of the 32-bit pointer to the set's table; absent: in order of set numbers from 0.
    #[serde(default)]
    pub root: Option<u32>,
    /// Bindings, each number once.
    #[serde(default)]
    pub bindings: Vec<BindingLayout>,
}

/// One binding of a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingLayout {
    /// Binding number.
    pub binding: u32,
    /// Kind of its descriptors.
    pub kind: BindingKind,
    /// Array length.
    #[serde(default = "one")]
    pub count: u32,
    /// A dynamic buffer: its descriptor is in the root table instead of the set's table.
    #[serde(default)]
    pub dynamic: bool,
    /// Byte offset in the set's table (root dword for a dynamic buffer); absent: packed in order of binding numbers,
    /// around given ones.
    #[serde(default)]
    pub offset: Option<u32>,
    /// Immutable samplers, one per element; empty if the driver may write other samplers later. The descriptors keep
    /// their space, and the driver writes the words there too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samplers: Vec<ImmutableSampler>,
}

impl BindingLayout {
    /// Whether any of its samplers converts from Y'CBCR.
    pub fn converts(&self) -> bool {
        self.samplers.iter().any(|sampler| sampler.conversion.is_some())
    }
}

fn one() -> u32 {
    1
}

/// Vertex bindings and attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VertexInputState {
    /// Buffers.
    pub bindings: Vec<VertexBinding>,
    /// Attributes in them.
    pub attributes: Vec<VertexAttribute>,
}

/// One vertex buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VertexBinding {
    /// Binding number: slot of its descriptor in the vertex-buffer table.
    pub binding: u32,
    /// Stride in bytes.
    pub stride: u32,
    /// Per vertex or per instance.
    #[serde(default)]
    pub rate: VertexRate,
    /// Instances per element; 0: all instances read the first element. Only with `rate = "instance"`.
    #[serde(default = "one")]
    pub divisor: u32,
}

/// Step rate of a vertex buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum VertexRate {
    #[default]
    Vertex,
    Instance,
}

/// One vertex attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VertexAttribute {
    /// Location in the shader.
    pub location: u32,
    /// Binding it is read from.
    pub binding: u32,
    /// Format; in a file Vulkan's name without `VK_FORMAT_`: `R32G32B32_SFLOAT`.
    pub format: VkFormat,
    /// Byte offset in the element.
    #[serde(default)]
    pub offset: u32,
}

/// State for the export of colours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ColorState {
    /// Attachments by location; a location without one is not written.
    pub attachments: Vec<ColorAttachment>,
    /// Alpha of location 0 determines coverage.
    pub alpha_to_coverage: bool,
    /// Alpha is 1, whatever the shader writes. Unsupported with `alpha_to_coverage`.
    pub alpha_to_one: bool,
    /// Blending reads a second colour (location 0, index 1).
    pub dual_source: bool,
    /// Samples of the attachments; 0 means 1.
    pub samples: u32,
    /// Per-sample shading is requested.
    pub sample_shading: bool,
}

impl ColorState {
    /// Samples per pixel.
    ///
    /// # Errors
    /// Malformed: a number that PAL has no sample pattern for.
    pub fn sample_count(&self) -> Result<u32> {
        match self.samples {
            0 => Ok(1),
            n @ (1 | 2 | 4 | 8 | 16) => Ok(n),
            n => Err(Error::malformed(format!("{n} samples: 1, 2, 4, 8 or 16"))),
        }
    }

    /// Whether shading is per sample.
    pub fn shades_samples(&self) -> bool {
        self.sample_shading && self.samples > 1
    }
}

/// One colour attachment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColorAttachment {
    /// Location of the fragment output.
    pub location: u32,
    /// Format; in a file Vulkan's name without `VK_FORMAT_`.
    pub format: VkFormat,
    /// Channels written, bits r=1 g=2 b=4 a=8.
    #[serde(default = "all_channels")]
    pub write_mask: u8,
    /// Blending is enabled.
    #[serde(default)]
    pub blend: bool,
    /// A colour blend factor uses the source alpha.
    #[serde(default)]
    pub blend_source_alpha: bool,
}

fn all_channels() -> u8 {
    15
}

/// Rasterizer state that reaches registers of the pipeline ELF.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RasterState {
    /// Rasterizer discard.
    pub discard: bool,
    /// Enabled user clip planes, bits 0 to 5.
    pub clip_plane_mask: u8,
    /// Coverage means fully covered (inner conservative rasterization).
    pub inner_coverage: bool,
    /// The kind of primitives; only barycentric coordinates depend on it. Services of other versions may not know it.
    #[serde(skip_serializing_if = "PrimitiveKind::is_triangles")]
    pub primitive: PrimitiveKind,
}

/// The kind of primitives of a topology.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrimitiveKind {
    /// Points.
    Points,
    /// Lines.
    Lines,
    /// Triangles.
    #[default]
    Triangles,
}

impl PrimitiveKind {
    fn is_triangles(&self) -> bool {
        *self == Self::Triangles
    }

    /// The number by which code knows it: one less than its vertices.
    pub const fn number(self) -> u32 {
        self as u32
    }
}

/// One specialization value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecializationEntry {
    /// Stage; absent: every stage.
    #[serde(default)]
    pub stage: Option<Stage>,
    /// `SpecId`.
    pub id: u32,
    /// Bits of the value: integers in two's complement, floats as IEEE bits, booleans 0 or 1. No bit beyond the constant's
    /// width may be set.
    pub value: u64,
}
