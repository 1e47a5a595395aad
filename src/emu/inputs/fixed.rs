//! Fixed-function state of a draw, as far as real applications set it; the defaults are those of a test's draw.

use super::{Compare, InputBytes};
use serde::{Deserialize, Serialize};

/// Fixed-function state of a draw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FixedFunction {
    /// The viewport; `None`: the whole attachment, depth from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewport: Option<Viewport>,
    /// Pixels outside are not written; `None`: no scissor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scissor: Option<Scissor>,
    /// Which triangles are culled.
    #[serde(skip_serializing_if = "is_default")]
    pub cull: Cull,
    /// Triangles with clockwise vertices are front-facing; otherwise counter-clockwise ones.
    #[serde(skip_serializing_if = "is_default")]
    pub clockwise: bool,
    /// How triangles are drawn.
    #[serde(skip_serializing_if = "is_default")]
    pub polygon_mode: PolygonMode,
    /// Width in pixels of lines, rectangles around their segment; `None`: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_width: Option<f32>,
    /// Lines cover the pixels that Bresenham's algorithm chooses: along their longer side one in each column or row, times
    /// the width.
    #[serde(skip_serializing_if = "is_default")]
    pub bresenham: bool,
    /// Depths outside the viewport's range are clamped instead of clipped.
    #[serde(skip_serializing_if = "is_default")]
    pub depth_clamp: bool,
    /// The shader's depths go from -w to w, as in OpenGL, instead of from 0.
    #[serde(skip_serializing_if = "is_default")]
    pub negative_one_to_one: bool,
    /// The last vertex of a primitive is the provoking one, as in OpenGL, instead of the first.
    #[serde(skip_serializing_if = "is_default")]
    pub last_provoking: bool,
    /// What is added to the depths of triangles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_bias: Option<DepthBias>,
    /// The depth attachment holds integers of this many bits; `None`: floats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_bits: Option<u8>,
    /// Stencil state of front and back faces; `None`: as [`super::Stencil`] says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stencil: Option<[StencilFace; 2]>,
    /// The logic operation of attachments that have one; then nothing is blended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logic_op: Option<LogicOp>,
    /// Blend constants.
    #[serde(skip_serializing_if = "is_default")]
    pub blend_constants: [f32; 4],
    /// Contents of attachments before the draw, instead of their clear values.
    #[serde(skip_serializing_if = "is_default")]
    pub before: Before,
}

impl FixedFunction {
    /// Whether all fields have their defaults.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Width of lines in pixels.
    pub fn width(&self) -> f64 {
        f64::from(self.line_width.unwrap_or(1.0))
    }
}

/// A viewport; a negative height flips the image.
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
    /// Depths of the near and the far plane.
    pub depth: [f32; 2],
}

/// Depth bias of triangles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepthBias {
    /// Factor of the smallest difference of depths that the attachment shows.
    pub constant: f32,
    /// Factor of the slope: how much the depth changes from pixel to pixel.
    pub slope: f32,
    /// Above 0 the largest bias, below 0 the smallest one.
    pub clamp: f32,
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
    /// The intersection of both.
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
    /// Whether it culls a triangle.
    pub fn takes(self, front: bool) -> bool {
        match self {
            Self::None => false,
            Self::Front => front,
            Self::Back => !front,
            Self::All => true,
        }
    }
}

/// How triangles are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum PolygonMode {
    #[default]
    Fill,
    Line,
    Point,
}

/// Stencil state of one face.
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
    /// Operation if the stencil test fails.
    pub fail: StencilOp,
    /// Operation if the stencil test passes and the depth test fails.
    pub depth_fail: StencilOp,
    /// Operation if both tests pass.
    pub pass: StencilOp,
}

/// Stencil operations.
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

/// Logic operations, in the order of Vulkan's numbers. Bits of the number: the result where source and destination are
/// both set, where only the source is, where only the destination is, and where neither is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum LogicOp {
    Clear,
    And,
    AndReverse,
    Copy,
    AndInverted,
    NoOp,
    Xor,
    Or,
    Nor,
    Equivalent,
    Invert,
    OrReverse,
    CopyInverted,
    OrInverted,
    Nand,
    Set,
}

impl LogicOp {
    /// All, by Vulkan's numbers.
    pub const ALL: [Self; 16] = [
        Self::Clear,
        Self::And,
        Self::AndReverse,
        Self::Copy,
        Self::AndInverted,
        Self::NoOp,
        Self::Xor,
        Self::Or,
        Self::Nor,
        Self::Equivalent,
        Self::Invert,
        Self::OrReverse,
        Self::CopyInverted,
        Self::OrInverted,
        Self::Nand,
        Self::Set,
    ];

    /// The result for each bit of a source and a destination.
    pub fn of(self, source: u32, destination: u32) -> u32 {
        let cases = [source & destination, source & !destination, !source & destination, !source & !destination];
        let set = cases.into_iter().enumerate().filter(|(n, _)| self as u32 >> n & 1 == 1);
        set.fold(0, |all, (_, bits)| all | bits)
    }
}

/// Texels of attachments before the draw, row by row; empty: the attachment is cleared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Before {
    /// Colour attachments, in the order of the draw's targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<InputBytes>,
    /// The depth attachment, as 32-bit floats.
    #[serde(skip_serializing_if = "is_default")]
    pub depth: InputBytes,
    /// The stencil attachment, as bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub stencil: InputBytes,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::LogicOp as L;

    #[test]
    fn logic_operations_are_vulkans() {
        let (s, d) = (0b1100u32, 0b1010u32);
        let expected = [
            (L::Clear, 0),
            (L::And, s & d),
            (L::AndReverse, s & !d),
            (L::Copy, s),
            (L::AndInverted, !s & d),
            (L::NoOp, d),
            (L::Xor, s ^ d),
            (L::Or, s | d),
            (L::Nor, !(s | d)),
            (L::Equivalent, !(s ^ d)),
            (L::Invert, !d),
            (L::OrReverse, s | !d),
            (L::CopyInverted, !s),
            (L::OrInverted, !s | d),
            (L::Nand, !(s & d)),
            (L::Set, u32::MAX),
        ];
        for (number, (op, result)) in expected.into_iter().enumerate() {
            assert_eq!((op as usize, L::ALL[number], op.of(s, d)), (number, op, result), "{op:?}");
        }
    }
}
