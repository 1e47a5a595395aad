//! Inputs of a run besides the pipeline: bound resources, push constants, and the grid or the draw.
//!
//! The emulator, the IR interpreter, lavapipe and `dovetail run --bindings` (from a file) take the same description. To
//! add a kind of resource, add a variant to [`Bound`].

mod draw;
mod fixed;

pub use draw::{
    Blend, BlendEquation, BlendFactor, BlendOp, Depth, Draw, Stencil, TargetAttachment, Topology, VertexBuffer,
};
pub use fixed::{
    Before, Cull, DepthBias, FixedFunction, LogicOp, PolygonMode, Scissor, StencilFace, StencilOp, Viewport,
};

use dovetail_base::error::{Error, Result};
use dovetail_state::{ResourceKind, Swizzle, YcbcrConversion};
use serde::{Deserialize, Deserializer, Serialize};

/// All inputs of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inputs {
    /// Bound resources; two resources in one slot are malformed.
    pub bindings: Vec<BindingElement>,
    /// Push constants, from offset 0.
    pub push_constants: InputBytes,
    /// Buffer addresses stored in push constants or in buffers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pointers: Vec<StoredPointer>,
    /// Image levels without memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<AbsentLevel>,
    /// Workgroups per dimension, compute only.
    pub grid: [u32; 3],
    /// The draw; `None` for compute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draw: Option<Draw>,
}

/// One element of a binding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingElement {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Array element.
    #[serde(default)]
    pub element: u32,
    /// The bound resource; it also selects the type of a mutable binding's element.
    pub bound: Bound,
}

impl BindingElement {
    /// The slot that names it.
    pub fn slot(&self) -> Slot {
        Slot { set: self.set, binding: self.binding, element: self.element }
    }
}

/// A descriptor slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Array element.
    #[serde(default)]
    pub element: u32,
}

/// A buffer address that is stored in the inputs before the run. An address that is still there after the run counts as
/// unchanged, since addresses differ between implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredPointer {
    /// The buffer that holds the address; `None`: the push constants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Slot>,
    /// Byte offset of the eight-byte address in it.
    #[serde(default)]
    pub byte: u32,
    /// The storage buffer that it points into, with or without a descriptor.
    pub to: Slot,
    /// Byte offset that it points to.
    #[serde(default)]
    pub offset: u32,
}

/// A level of a sparse image without memory. It reads as zeros, whatever the image's data, and its residency code
/// reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbsentLevel {
    /// The image.
    pub image: Slot,
    /// The level.
    pub level: u32,
}

impl AbsentLevel {
    /// # Errors
    /// Malformed: the inputs have no image there, or the image has no such level.
    pub fn check(&self, inputs: &Inputs) -> Result<()> {
        let image = inputs.bindings.iter().find(|b| b.slot() == self.image).and_then(|b| match &b.bound {
            Bound::SampledImage(image)
            | Bound::InputAttachment(image)
            | Bound::StorageImage(image)
            | Bound::CombinedImageSampler(image, _) => Some(image),
            _ => None,
        });
        match image {
            Some(image) if self.level < image.levels => Ok(()),
            _ => Err(Error::malformed(format!("no level {} of an image at {:?}", self.level, self.image))),
        }
    }
}

/// Resource bound to one descriptor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Contents of the whole bound range.
    UniformBuffer(InputBytes),
    /// Contents of the whole bound range before the run.
    StorageBuffer(InputBytes),
    /// A storage buffer without a descriptor, accessed by address; set and binding only identify it.
    PhysicalStorageBuffer(InputBytes),
    /// Formatted contents.
    UniformTexelBuffer(Texels),
    /// Formatted contents before the run.
    StorageTexelBuffer(Texels),
    /// An image without a sampler.
    SampledImage(Image),
    /// An input attachment: each pixel reads its own texel.
    InputAttachment(Image),
    /// An image read and written per texel.
    StorageImage(Image),
    /// A sampler.
    Sampler(Sampler),
    /// An image with its sampler.
    CombinedImageSampler(Image, Sampler),
}

impl Bound {
    /// The kind of its descriptor; `None` if it has none.
    pub fn kind(&self) -> Option<ResourceKind> {
        Some(match self {
            Self::UniformBuffer(_) => ResourceKind::UniformBuffer,
            Self::StorageBuffer(_) => ResourceKind::StorageBuffer,
            Self::PhysicalStorageBuffer(_) => return None,
            Self::UniformTexelBuffer(_) => ResourceKind::UniformTexelBuffer,
            Self::StorageTexelBuffer(_) => ResourceKind::StorageTexelBuffer,
            Self::SampledImage(_) => ResourceKind::SampledImage,
            Self::InputAttachment(_) => ResourceKind::InputAttachment,
            Self::StorageImage(_) => ResourceKind::StorageImage,
            Self::Sampler(_) => ResourceKind::Sampler,
            Self::CombinedImageSampler(..) => ResourceKind::CombinedImageSampler,
        })
    }

    /// Contents of an unformatted buffer.
    pub fn buffer(&self) -> Option<&InputBytes> {
        match self {
            Self::UniformBuffer(data) | Self::StorageBuffer(data) | Self::PhysicalStorageBuffer(data) => Some(data),
            _ => None,
        }
    }

    /// Contents of an unformatted buffer that shaders may write.
    pub fn storage_buffer(&self) -> Option<&InputBytes> {
        self.buffer().filter(|_| !matches!(self, Self::UniformBuffer(_)))
    }

    /// Contents before the run of a resource that shaders may write: buffer, texels, or image.
    pub fn writable(&self) -> Option<&InputBytes> {
        match self {
            Self::StorageTexelBuffer(texels) => Some(&texels.data),
            Self::StorageImage(image) => Some(&image.data),
            _ => self.storage_buffer(),
        }
    }
}

/// A formatted buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texels {
    /// Vulkan's name without `VK_FORMAT_`.
    pub format: String,
    /// Contents.
    pub data: InputBytes,
}

/// An image, bound with one view of all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Vulkan's name without `VK_FORMAT_`.
    pub format: String,
    /// Shape of the view.
    #[serde(default)]
    pub shape: ViewShape,
    /// Width, height, depth of level 0.
    pub extent: [u32; 3],
    /// Layers; six per cube.
    #[serde(default = "one")]
    pub layers: u32,
    /// The view is an array.
    #[serde(default)]
    pub arrayed: bool,
    /// Levels.
    #[serde(default = "one")]
    pub levels: u32,
    /// Samples per texel; a multisampled image has one level.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub samples: u32,
    /// Sources of red, green, blue and alpha in the view; only of images that are sampled.
    #[serde(default, skip_serializing_if = "is_identity")]
    pub swizzle: [Swizzle; 4],
    /// Texels, tightly packed: by level, then layer or slice, then sample, then row. In a multi-planar format the
    /// planes follow each other, each packed like this.
    pub data: InputBytes,
}

impl Image {
    /// # Errors
    /// Malformed: the view has a swizzle, which only images that are sampled have.
    pub fn check_identity(&self) -> Result<()> {
        if is_identity(&self.swizzle) {
            return Ok(());
        }
        Err(Error::malformed("a swizzle of an image that is stored, attached or converted"))
    }
}

/// Shape of an image view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum ViewShape {
    D1,
    #[default]
    D2,
    D3,
    Cube,
}

/// A sampler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampler {
    /// Linear filter for magnification; otherwise nearest.
    pub mag_linear: bool,
    /// Linear filter for minification; otherwise nearest.
    pub min_linear: bool,
    /// Linear filter between levels; otherwise nearest.
    pub mip_linear: bool,
    /// Addressing beyond the edges, in u, v and w.
    pub address: [Address; 3],
    /// Depth comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    /// Lowest level.
    pub min_lod: f32,
    /// Highest level; 0 allows only level 0.
    pub max_lod: f32,
    /// Added to the level.
    pub lod_bias: f32,
    /// The colour beyond the edges, where an address mode asks for it.
    #[serde(skip_serializing_if = "Border::is_transparent_black", alias = "border_white", deserialize_with = "border")]
    pub border: Border,
    /// Coordinates are in texels.
    pub unnormalized: bool,
    /// Beyond the edge of a cube's face the address modes apply, not the neighbouring face.
    #[serde(skip_serializing_if = "is_false")]
    pub non_seamless: bool,
    /// Largest ratio of a footprint that is filtered along its longer side; up to 1: none.
    #[serde(skip_serializing_if = "is_isotropic")]
    pub anisotropy: f32,
    /// Y'CBCR conversion; only in combined descriptors. The resource layout must state the same conversion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversion: Option<YcbcrConversion>,
}

/// Addressing beyond an image's edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum Address {
    #[default]
    Repeat,
    MirroredRepeat,
    ClampToEdge,
    ClampToBorder,
    MirrorClampToEdge,
}

/// Colour of a border.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum Border {
    #[default]
    TransparentBlack,
    OpaqueBlack,
    OpaqueWhite,
    /// The application's own, for formats that are not integers.
    Custom([f32; 4]),
    /// The application's own, for integers.
    CustomInteger([u32; 4]),
}

/// Reads a border; files of earlier versions say whether it is white.
fn border<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Border, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Named(Border),
        White(bool),
    }
    Ok(match Given::deserialize(from)? {
        Given::Named(border) => border,
        Given::White(true) => Border::OpaqueWhite,
        Given::White(false) => Border::TransparentBlack,
    })
}

impl Border {
    fn is_transparent_black(&self) -> bool {
        *self == Self::TransparentBlack
    }

    /// The words of its components in an image of floats or of integers.
    pub fn words(self, integer: bool) -> [u32; 4] {
        let one = if integer { 1 } else { 1f32.to_bits() };
        match self {
            Self::TransparentBlack => [0; 4],
            Self::OpaqueBlack => [0, 0, 0, one],
            Self::OpaqueWhite => [one; 4],
            Self::Custom(components) => components.map(f32::to_bits),
            Self::CustomInteger(components) => components,
        }
    }
}

/// Comparison of a reference with a texel, or of a fragment's depth with the attachment's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum Compare {
    Never,
    Less,
    Equal,
    LessOrEqual,
    Greater,
    NotEqual,
    GreaterOrEqual,
    Always,
}

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

fn is_false(given: &bool) -> bool {
    !given
}

fn is_isotropic(ratio: &f32) -> bool {
    *ratio <= 1.0
}

fn is_identity(swizzle: &[Swizzle; 4]) -> bool {
    Swizzle::are_identity(swizzle)
}

/// Bytes. In a file: hexadecimal text, numbers (`{ f32 = [0.5, 1] }`), or a count of zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BytesText", into = "BytesText")]
pub struct InputBytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BytesText {
    Hex(String),
    F32(Vec<f32>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    Zeros(u32),
}

impl TryFrom<BytesText> for InputBytes {
    type Error = Error;

    fn try_from(text: BytesText) -> Result<Self> {
        Ok(Self(match text {
            BytesText::Hex(digits) => from_hex(&digits)?,
            BytesText::F32(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
            BytesText::U32(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
            BytesText::I32(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
            BytesText::Zeros(n) => vec![0; n as usize],
        }))
    }
}

impl From<InputBytes> for BytesText {
    fn from(bytes: InputBytes) -> Self {
        if bytes.0.iter().all(|b| *b == 0) && u32::try_from(bytes.0.len()).is_ok() {
            return Self::Zeros(bytes.0.len() as u32);
        }
        Self::Hex(bytes.0.iter().map(|b| format!("{b:02x}")).collect())
    }
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    let bad = || Error::malformed("bytes are an even number of hexadecimal digits");
    let digits = text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).ok_or_else(bad));
    let digits = digits.collect::<Result<Vec<u32>>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else { return Err(bad()) };
    Ok(pairs.iter().map(|[high, low]| (high << 4 | low) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_bytes_in_three_ways() {
        let text = r#"
            grid = [4, 1, 1]
            push_constants = { hex = "0100 00ff" }
            [[bindings]]
            set = 0
            binding = 1
            bound = { storage_buffer = { f32 = [1.0, -2.0] } }
            [[bindings]]
            set = 0
            binding = 2
            bound = { sampled_image = { format = "R8_UNORM", extent = [2, 2, 1], data = { zeros = 4 } } }
        "#;
        let inputs: Inputs = toml::from_str(text).unwrap();
        assert_eq!(inputs.push_constants.0, [1, 0, 0, 0xff]);
        assert_eq!(inputs.bindings[0].bound, Bound::StorageBuffer(InputBytes(vec![0, 0, 128, 63, 0, 0, 0, 192])));
        let pointers = "[[pointers]]\nbyte = 8\nto = { set = 0, binding = 1 }";
        let inputs: Inputs = toml::from_str(&format!("{text}\n{pointers}")).unwrap();
        let to = Slot { set: 0, binding: 1, element: 0 };
        assert_eq!(inputs.pointers, [StoredPointer { within: None, byte: 8, to, offset: 0 }]);
        let again: Inputs = toml::from_str(&toml::to_string(&inputs).unwrap()).unwrap();
        assert_eq!(again, inputs);
        assert!(toml::from_str::<Inputs>("push_constants = { hex = \"123\" }").is_err());
    }

    #[test]
    fn a_border_has_a_name_and_was_once_white_or_not() {
        let read = |text: &str| toml::from_str::<Sampler>(text).map(|sampler| sampler.border).ok();
        assert_eq!(read(""), Some(Border::TransparentBlack));
        assert_eq!(read("border = \"opaque_black\""), Some(Border::OpaqueBlack));
        assert_eq!(read("border_white = true"), Some(Border::OpaqueWhite));
        assert_eq!(read("border_white = false"), Some(Border::TransparentBlack));
        assert_eq!(read("border = \"red\""), None);
        assert_eq!(read("border = { custom = [0.5, 1.0, 0.0, 0.25] }"), Some(Border::Custom([0.5, 1.0, 0.0, 0.25])));
        let white = Sampler { border: Border::OpaqueWhite, ..Default::default() };
        assert_eq!(toml::from_str::<Sampler>(&toml::to_string(&white).unwrap()).unwrap(), white);
    }
}
