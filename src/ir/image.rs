//! Image operations of both levels, each with its order of operands: [`ImageOperand`] at the upper level,
//! [`MimgInst::operands`] at the lower.

use super::memory::{Access, AtomicOp};
use smallvec::{SmallVec, smallvec};

/// Shape of an image, as in SPIR-V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are SPIR-V's own")]
pub enum Dim {
    D1,
    D2,
    D3,
    Cube,
    Rect,
    Buffer,
    /// Input attachment: 2D, addressed relative to the pixel.
    SubpassData,
}

impl Dim {
    /// Coordinates of one texel, without array layer and sample.
    pub const fn coords(self) -> usize {
        match self {
            Self::D1 | Self::Buffer => 1,
            Self::D2 | Self::Rect | Self::SubpassData => 2,
            Self::D3 | Self::Cube => 3,
        }
    }
}

/// An upper-level image operation. Results are vectors of the texel width unless said otherwise; a sparse result has an
/// extra lane after the texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageOp {
    /// Filtered, with a sampler → 4 components; with a comparator → 1.
    Sample,
    /// One component of the four texels (with a comparator: the four comparisons) → 4.
    Gather(u8),
    /// Unfiltered read without a sampler, integer coordinates → 4.
    Fetch,
    /// Storage image read → 4.
    Load,
    /// Storage image write: data is one vector.
    Store,
    /// Storage image atomic → scalar.
    Atomic(AtomicOp),
    /// → b32x4: width, height, depth or layers (of a cube array: cubes), unused lanes undefined.
    QuerySize,
    /// → b32.
    QueryLevels,
    /// → b32.
    QuerySamples,
    /// → b32x2: level accessed, level computed (floats).
    QueryLod,
}

/// Source of the level of detail (LOD).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LodMode {
    /// Implicit derivatives; level 0 where there are none.
    Implicit,
    /// Implicit derivatives plus an operand.
    Bias,
    /// An operand (float for sampling, integer for fetch, load and size).
    Explicit,
    /// Level 0.
    Zero,
    /// Derivatives given as operands.
    Gradient,
}

/// An upper-level image operation with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageInst {
    /// Operation.
    pub op: ImageOp,
    /// Shape.
    pub dim: Dim,
    /// Has layers.
    pub arrayed: bool,
    /// Has samples.
    pub multisampled: bool,
    /// Level of detail.
    pub lod: LodMode,
    /// Has a depth comparator.
    pub compare: bool,
    /// Has a texel offset (one operand per dimension).
    pub offset: bool,
    /// Has a minimum level.
    pub min_lod: bool,
    /// Returns a residency code in an additional last lane: 0 if everything read is resident. The result has lanes of 32
    /// bits: of a texel of 64 bits, two.
    pub sparse: bool,
    /// Memory access flags.
    pub access: Access,
}

/// One operand of an image operation, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageOperand {
    /// Image descriptor (`DESC8`; `DESC4` for [`Dim::Buffer`]).
    Image,
    /// Sampler descriptor.
    Sampler,
    /// Coordinate of the n-th dimension: float for sampling, otherwise integer.
    Coord(u8),
    /// Array layer: float for sampling, otherwise integer. (For Cube fetch/load/store the third coordinate is
    /// layer*6+face.)
    Layer,
    /// Sample index.
    SampleIndex,
    /// Depth comparator, float.
    Compare,
    /// Bias or level, per [`LodMode`].
    Lod,
    /// Derivative in x of the n-th coordinate.
    GradX(u8),
    /// Derivative in y of the n-th coordinate.
    GradY(u8),
    /// Texel offset of the n-th coordinate, integer.
    Offset(u8),
    /// Minimum level, float.
    MinLod,
    /// Value to store (vector), or atomic operand.
    Data,
    /// Comparator of a compare-exchange.
    AtomicCompare,
}

impl ImageInst {
    /// The operands, in the order of [`super::Inst::args`].
    pub fn operands(&self) -> SmallVec<[ImageOperand; 16]> {
        use ImageOperand as O;
        let mut out: SmallVec<[ImageOperand; 16]> = smallvec![O::Image];
        let sampling = matches!(self.op, ImageOp::Sample | ImageOp::Gather(_) | ImageOp::QueryLod);
        if sampling {
            out.push(O::Sampler);
        }
        let query = matches!(self.op, ImageOp::QuerySize | ImageOp::QueryLevels | ImageOp::QuerySamples);
        if !query {
            out.extend((0..self.dim.coords() as u8).map(O::Coord));
            // Integer cube coordinates already include the layer in the third; a level query takes none.
            let layer_in_coord = self.dim == Dim::Cube && !sampling;
            if self.arrayed && !layer_in_coord && self.op != ImageOp::QueryLod {
                out.push(O::Layer);
            }
            if self.multisampled {
                out.push(O::SampleIndex);
            }
        }
        if self.compare {
            out.push(O::Compare);
        }
        match self.lod {
            LodMode::Bias | LodMode::Explicit => out.push(O::Lod),
            LodMode::Gradient => {
                let n = self.dim.coords() as u8;
                out.extend((0..n).map(O::GradX));
                out.extend((0..n).map(O::GradY));
            }
            LodMode::Implicit | LodMode::Zero => {}
        }
        if self.offset {
            out.extend((0..self.dim.coords() as u8).map(O::Offset));
        }
        if self.min_lod {
            out.push(O::MinLod);
        }
        match self.op {
            ImageOp::Store => out.push(O::Data),
            ImageOp::Atomic(AtomicOp::CompareExchange) => out.extend([O::Data, O::AtomicCompare]),
            ImageOp::Atomic(AtomicOp::Load) => {}
            ImageOp::Atomic(_) => out.push(O::Data),
            _ => {}
        }
        out
    }
}

/// Shape in a MIMG instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the instruction's own")]
pub enum MimgDim {
    D1,
    D2,
    D3,
    Cube,
    D1Array,
    D2Array,
    D2Msaa,
    D2ArrayMsaa,
}

impl MimgDim {
    /// Number of address components for the coordinates (layer, face and fragment included).
    pub const fn coords(self) -> usize {
        match self {
            Self::D1 => 1,
            Self::D2 | Self::D1Array => 2,
            Self::D3 | Self::Cube | Self::D2Array | Self::D2Msaa => 3,
            Self::D2ArrayMsaa => 4,
        }
    }

    /// Number of gradient components in one direction.
    pub const fn gradients(self) -> usize {
        match self {
            Self::D1 | Self::D1Array => 1,
            Self::D3 => 3,
            _ => 2,
        }
    }
}

/// A lower-level image operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the instruction's own")]
pub enum MimgOp {
    Sample,
    Gather4,
    GetLod,
    Load,
    LoadMip,
    Store,
    StoreMip,
    Atomic(AtomicOp),
    GetResinfo,
}

/// A lower-level image operation: an `image_*` instruction with its descriptors explicit.
/// The result has as many lanes as `dmask` has bits (Gather4: four), and with `tfe` the status after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MimgInst {
    /// Operation.
    pub op: MimgOp,
    /// Shape.
    pub dim: MimgDim,
    /// Channel mask.
    pub dmask: u8,
    /// Coordinates in texels.
    pub unnormalized: bool,
    /// `_c`.
    pub compare: bool,
    /// `None`, `_b`, `_l`, `_lz`, `_d`.
    pub lod: LodMode,
    /// `_cl`.
    pub clamp: bool,
    /// `_o`: packed offset.
    pub offset: bool,
    /// Texture fail enable: one more result register, 0 if everything read is resident.
    pub tfe: bool,
    /// Memory access flags.
    pub access: Access,
}

impl MimgInst {
    /// Whether it has a sampler: the operand after the image.
    pub const fn samples(&self) -> bool {
        matches!(self.op, MimgOp::Sample | MimgOp::Gather4 | MimgOp::GetLod)
    }

    /// Number of operands, in this order: image descriptor, (sampler), (data, (comparator)), (packed offset), (bias),
    /// (comparator), (gradients: all x, all y), coordinates, (level or clamp).
    /// Only [`LodMode::Explicit`] (`_l`), `LoadMip`, `StoreMip` and `GetResinfo` have a level; `_l` and clamp exclude
    /// each other.
    pub fn operands(&self) -> usize {
        let data = match self.op {
            MimgOp::Store | MimgOp::StoreMip => 1,
            MimgOp::Atomic(AtomicOp::CompareExchange) => 2,
            MimgOp::Atomic(_) => 1,
            _ => 0,
        };
        let lod = match self.lod {
            LodMode::Bias | LodMode::Explicit => 1,
            LodMode::Gradient => 2 * self.dim.gradients(),
            LodMode::Implicit | LodMode::Zero => 0,
        };
        let coords = if self.op == MimgOp::GetResinfo { 0 } else { self.dim.coords() };
        let mip = usize::from(matches!(self.op, MimgOp::LoadMip | MimgOp::StoreMip | MimgOp::GetResinfo));
        // A level query takes no layer.
        let coords = match (self.op, self.dim) {
            (MimgOp::GetLod, MimgDim::D1Array | MimgDim::D2Array) => coords - 1,
            _ => coords,
        };
        1 + usize::from(self.samples())
            + data
            + usize::from(self.offset)
            + usize::from(self.compare)
            + lod
            + coords
            + mip
            + usize::from(self.clamp)
    }
}
