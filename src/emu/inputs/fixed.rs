//! Fixed functions of a draw, as far as a real application sets them; the default is what a draw of a test has.

use super::{Compare, InputBytes};
use serde::{Deserialize, Serialize};

/// Fixed functions of a draw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FixedFunction {
    /// The viewport; `None`: the whole of the attachments, depth from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewport: Option<Viewport>,
    /// Pixels outside of it stay; `None`: all are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scissor: Option<Scissor>,
    /// Triangles that are not drawn.
    #[serde(skip_serializing_if = "is_default")]
    pub cull: Cull,
    /// Triangles whose vertices go clockwise are front-facing, rather than the others.
    #[serde(skip_serializing_if = "is_default")]
    pub clockwise: bool,
    /// Depths beyond the viewport's range are clamped, not clipped.
    #[serde(skip_serializing_if = "is_default")]
    pub depth_clamp: bool,
    /// The depth attachment holds integers of so many bits; `None`: floats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_bits: Option<u8>,
    /// Tests and operations of the stencil attachment for front and back; `None`: what [`super::Stencil`] says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stencil: Option<[StencilFace; 2]>,
    /// The constant colour of blending.
    #[serde(skip_serializing_if = "is_default")]
    pub blend_constants: [f32; 4],
    /// Contents of attachments before the draw, in place of their clear values.
    #[serde(skip_serializing_if = "is_default")]
    pub before: Before,
}

impl FixedFunction {
    /// Whether it is the default.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// A viewport; a negative height turns the picture over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Viewport {
    /// Pixels from the left.
    pub x: f32,
    /// Pixels from the top.
    pub y: f32,
    /// Width in pixels.
    pub width: f32,
    /// Height in pixels.
    pub height: f32,
    /// Depths of the near and of the far plane.
    pub depth: [f32; 2],
}

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scissor {
    /// Its first pixel.
    pub from: [u32; 2],
    /// Width and height.
    pub extent: [u32; 2],
}

impl Scissor {
    /// The pixels of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let from: [u32; 2] = std::array::from_fn(|n| self.from[n].max(other.from[n]));
        let end = |one: &Self, n: usize| one.from[n].saturating_add(one.extent[n]);
        let extent = std::array::from_fn(|n| end(&self, n).min(end(&other, n)).saturating_sub(from[n]));
        Self { from, extent }
    }

    /// Whether a pixel is inside.
    pub fn contains(&self, at: [u32; 2]) -> bool {
        (0..2).all(|n| at[n].checked_sub(self.from[n]).is_some_and(|inner| inner < self.extent[n]))
    }
}

/// The triangles that are culled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Cull {
    #[default]
    None,
    Front,
    Back,
    All,
}

impl Cull {
    /// Whether it takes a triangle away.
    pub fn takes(self, front: bool) -> bool {
        match self {
            Self::None => false,
            Self::Front => front,
            Self::Back => !front,
            Self::All => true,
        }
    }
}

/// The stencil test of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StencilFace {
    /// Comparison of the reference with the attachment.
    pub compare: Compare,
    /// Bits that are compared.
    pub compare_mask: u8,
    /// Bits that are written.
    pub write_mask: u8,
    /// The reference.
    pub reference: u8,
    /// Where the stencil test fails.
    pub fail: StencilOp,
    /// Where it passes, and the depth test fails.
    pub depth_fail: StencilOp,
    /// Where both pass.
    pub pass: StencilOp,
}

/// The new value of a stencil.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum StencilOp {
    Keep,
    Zero,
    Replace,
    IncrementAndClamp,
    DecrementAndClamp,
    Invert,
    IncrementAndWrap,
    DecrementAndWrap,
}

/// Texels of attachments before the draw, row by row; empty: cleared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Before {
    /// In the order of the draw's targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<InputBytes>,
    /// As 32-bit floats.
    #[serde(skip_serializing_if = "is_default")]
    pub depth: InputBytes,
    /// As bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub stencil: InputBytes,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
