//! Inputs of a draw: vertices, attachments, and per-fragment operations.

use super::fixed::{FixedFunction, Scissor, Viewport};
use super::{Compare, InputBytes, is_one, one};
use dovetail_state::PrimitiveKind;
use serde::{Deserialize, Serialize};

/// Inputs of a draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// Primitive topology.
    #[serde(default)]
    pub topology: Topology,
    /// Number of vertices; in an indexed draw, of indices.
    pub vertices: u32,
    /// Instances.
    #[serde(default = "one")]
    pub instances: u32,
    /// First vertex; in an indexed draw, the value added to every index.
    #[serde(default)]
    pub first_vertex: u32,
    /// First instance.
    #[serde(default)]
    pub first_instance: u32,
    /// Indices; empty: the draw is not indexed.
    #[serde(default)]
    pub indices: Vec<u32>,
    /// Vertex buffers.
    #[serde(default)]
    pub vertex_buffers: Vec<VertexBuffer>,
    /// Width and height of every attachment.
    pub extent: [u32; 2],
    /// Samples of every attachment, at Vulkan's standard positions. Reading an attachment back gives their average; for
    /// integers, depth and stencil, sample 0.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub samples: u32,
    /// The pipeline enables per-sample shading.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sample_shading: bool,
    /// The pipeline enables alpha-to-one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub alpha_to_one: bool,
    /// View mask: bit n draws view n to layer n. 0: multiview is off, and there is one layer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub view_mask: u32,
    /// Colour attachments; layers are stored one after the other.
    #[serde(default)]
    pub targets: Vec<TargetAttachment>,
    /// Depth attachment, `D32_SFLOAT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<Depth>,
    /// Stencil attachment, `S8_UINT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stencil: Option<Stencil>,
    /// Viewport, tests and initial contents that differ from the defaults.
    #[serde(default, skip_serializing_if = "FixedFunction::is_plain")]
    pub fixed: FixedFunction,
}

impl Draw {
    /// One instance of `vertices` vertices, without any resource.
    pub fn new(topology: Topology, vertices: u32, extent: [u32; 2]) -> Self {
        Self {
            topology,
            vertices,
            instances: 1,
            first_vertex: 0,
            first_instance: 0,
            indices: Vec::new(),
            vertex_buffers: Vec::new(),
            extent,
            samples: 1,
            sample_shading: false,
            alpha_to_one: false,
            view_mask: 0,
            targets: Vec::new(),
            depth: None,
            stencil: None,
            fixed: FixedFunction::default(),
        }
    }

    /// The viewport.
    pub fn viewport(&self) -> Viewport {
        let [width, height] = self.extent.map(|n| n as f32);
        self.fixed.viewport.unwrap_or(Viewport { x: 0.0, y: 0.0, width, height, depth: [0.0, 1.0] })
    }

    /// The pixels that the draw can write.
    pub fn scissor(&self) -> Scissor {
        let all = Scissor { from: [0; 2], extent: self.extent };
        self.fixed.scissor.map_or(all, |given| given.and(all))
    }

    /// Layers of every attachment.
    pub fn layers(&self) -> u32 {
        (u32::BITS - self.view_mask.leading_zeros()).max(1)
    }

    /// The views, in order; without multiview, view 0.
    pub fn views(&self) -> impl Iterator<Item = u32> + use<> {
        let mask = self.view_mask.max(1);
        (0..u32::BITS).filter(move |n| mask >> n & 1 == 1)
    }
}

/// Primitive topology.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum Topology {
    PointList,
    LineList,
    LineStrip,
    #[default]
    TriangleList,
    TriangleStrip,
    TriangleFan,
}

impl Topology {
    /// The kind of its primitives.
    pub fn kind(self) -> PrimitiveKind {
        match self {
            Self::PointList => PrimitiveKind::Points,
            Self::LineList | Self::LineStrip => PrimitiveKind::Lines,
            Self::TriangleList | Self::TriangleStrip | Self::TriangleFan => PrimitiveKind::Triangles,
        }
    }
}

/// One vertex buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VertexBuffer {
    /// Binding number.
    pub binding: u32,
    /// Bytes from one element to the next.
    pub stride: u32,
    /// Contents.
    pub data: InputBytes,
}

/// One colour attachment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetAttachment {
    /// Location of the fragment output.
    pub location: u32,
    /// Vulkan's name without `VK_FORMAT_`.
    pub format: String,
    /// Every texel before the draw, in the format's number type.
    #[serde(default)]
    pub clear: [f32; 4],
    /// Channels written: bits r=1 g=2 b=4 a=8.
    #[serde(default = "all_channels")]
    pub write_mask: u8,
    /// Blending; `None`: the colour replaces the texel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend: Option<Blend>,
}

impl TargetAttachment {
    /// A target that is cleared to zeros and writes every channel without blending.
    pub fn new(location: u32, format: impl Into<String>) -> Self {
        Self { location, format: format.into(), clear: [0.0; 4], write_mask: all_channels(), blend: None }
    }
}

/// Blend state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blend {
    /// Equation of red, green and blue.
    pub color: BlendEquation,
    /// Equation of alpha.
    pub alpha: BlendEquation,
}

impl Blend {
    /// Multiplies the two colours of a dual-source output; the destination colour is ignored.
    pub const PRODUCT: Self = Self {
        color: BlendEquation { source: BlendFactor::Src1Color, destination: BlendFactor::Zero, op: BlendOp::Add },
        alpha: BlendEquation { source: BlendFactor::Src1Alpha, destination: BlendFactor::Zero, op: BlendOp::Add },
    };
}

/// source * factor op destination * factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlendEquation {
    /// Factor of the source.
    pub source: BlendFactor,
    /// Factor of the destination.
    pub destination: BlendFactor,
    /// Operation.
    #[serde(default)]
    pub op: BlendOp,
}

/// Factors of blending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum BlendFactor {
    Zero,
    One,
    SrcColor,
    OneMinusSrcColor,
    DstColor,
    OneMinusDstColor,
    SrcAlpha,
    OneMinusSrcAlpha,
    DstAlpha,
    OneMinusDstAlpha,
    Src1Color,
    OneMinusSrc1Color,
    Src1Alpha,
    OneMinusSrc1Alpha,
    ConstantColor,
    OneMinusConstantColor,
    ConstantAlpha,
    OneMinusConstantAlpha,
    SrcAlphaSaturate,
}

/// Blend operations; minimum and maximum ignore the factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum BlendOp {
    #[default]
    Add,
    Subtract,
    ReverseSubtract,
    Min,
    Max,
}

/// The depth attachment and its test. Depth is written only with a test; [`Compare::Always`] passes every fragment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Depth {
    /// Every texel before the draw.
    pub clear: f32,
    /// Comparison that a fragment must pass.
    pub compare: Compare,
    /// Fragments that pass write their depth.
    #[serde(default = "yes")]
    pub write: bool,
}

/// The stencil attachment. Without [`FixedFunction::stencil`] there is no stencil test, and a fragment that passes the
/// depth test replaces the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stencil {
    /// Every texel before the draw.
    #[serde(default)]
    pub clear: u8,
    /// Value that fragments write, unless the shader exports one.
    #[serde(default)]
    pub reference: u8,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

fn is_false(b: &bool) -> bool {
    !*b
}

fn yes() -> bool {
    true
}

fn all_channels() -> u8 {
    15
}
