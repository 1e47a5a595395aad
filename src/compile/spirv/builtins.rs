//! Maps SPIR-V's built-ins to the IR's, as inputs and as outputs, per stage.
//!
//! To add a built-in, add a line to [`input`] or [`output`].

use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_ir::sample_shading::FragmentRead;
use dovetail_ir::{BuiltIn, Interp, InterpPlace, NumericKind, OutputSlot};
use spirv::BuiltIn as Spv;

/// Source of an input component.
#[derive(Clone, Debug)]
pub enum InputSource {
    /// A location.
    Location {
        /// Location.
        location: u32,
        /// Component, 0 to 3.
        component: u8,
        /// Numeric kind of the bits.
        kind: NumericKind,
        /// Interpolation.
        interp: Interp,
    },
    /// A component of a built-in, and where in the pixel it is interpolated, if it is.
    BuiltIn(BuiltIn, u8, InterpPlace),
    /// Workgroup number times size plus local number.
    GlobalInvocationId(u8),
    /// A constant of the execution mode.
    WorkgroupSize(u8),
    /// A constant integer.
    Constant(u32),
    /// Nothing: an index beyond the input.
    Undefined,
    /// Reading it is an error.
    Unsupported(Spv),
}

impl InputSource {
    /// This source at another location in the pixel, if it is interpolated.
    pub fn at(self, place: InterpPlace) -> Self {
        match self {
            Self::BuiltIn(builtin, component, _) if builtin.is_interpolated() => {
                Self::BuiltIn(builtin, component, place)
            }
            Self::Location { location, component, kind, interp: Interp::At { perspective, .. } } => {
                Self::Location { location, component, kind, interp: Interp::At { perspective, place } }
            }
            other => other,
        }
    }

    /// This source as a vertex of the primitive has it; `None` if it is not [`Interp::Vertex`].
    pub fn at_vertex(self, vertex: u8) -> Option<Self> {
        match self {
            Self::Location { location, component, kind, interp: Interp::Vertex(_) } => {
                Some(Self::Location { location, component, kind, interp: Interp::Vertex(vertex) })
            }
            Self::Undefined => Some(self),
            _ => None,
        }
    }

    /// The fragment input that it reads; `None` if it is not one.
    pub fn read(&self) -> Option<FragmentRead> {
        match *self {
            Self::Location { interp, .. } => Some(FragmentRead::Location(interp)),
            Self::BuiltIn(builtin, _, place) => Some(FragmentRead::BuiltIn(builtin, place)),
            _ => None,
        }
    }
}

/// A component of a built-in input. `place`: where in the pixel it is interpolated, unless the built-in itself says where.
pub fn input(stage: Stage, builtin: Spv, component: u32, place: InterpPlace) -> InputSource {
    use BuiltIn as B;
    let c = component.min(255) as u8;
    if let Some((ours, place)) = barycentric_pair(builtin).filter(|_| stage.shades_pixels() && c < 2) {
        return InputSource::BuiltIn(ours, c + 1, place);
    }
    let (ours, components) = match (stage, builtin) {
        (_, Spv::DeviceIndex) => (B::DeviceIndex, 1),
        (_, Spv::SubgroupSize) => (B::SubgroupSize, 1),
        (_, Spv::SubgroupLocalInvocationId) => (B::SubgroupLocalInvocationId, 1),
        (_, Spv::SubgroupEqMask) => (B::SubgroupEqMask, 2),
        (_, Spv::SubgroupGeMask) => (B::SubgroupGeMask, 2),
        (_, Spv::SubgroupGtMask) => (B::SubgroupGtMask, 2),
        (_, Spv::SubgroupLeMask) => (B::SubgroupLeMask, 2),
        (_, Spv::SubgroupLtMask) => (B::SubgroupLtMask, 2),
        (Stage::Vertex, Spv::VertexIndex) => (B::VertexIndex, 1),
        (Stage::Vertex, Spv::InstanceIndex) => (B::InstanceIndex, 1),
        (Stage::Vertex, Spv::BaseVertex) => (B::BaseVertex, 1),
        (Stage::Vertex, Spv::BaseInstance) => (B::BaseInstance, 1),
        (Stage::Vertex, Spv::DrawIndex) => (B::DrawIndex, 1),
        (Stage::Vertex | Stage::Fragment, Spv::ViewIndex) => (B::ViewIndex, 1),
        (Stage::Fragment, Spv::FragCoord) => (B::FragCoord, 4),
        (Stage::Fragment, Spv::FrontFacing) => (B::FrontFacing, 1),
        (Stage::Fragment, Spv::PointCoord) => (B::PointCoord, 2),
        (Stage::Fragment, Spv::SampleId) => (B::SampleId, 1),
        (Stage::Fragment, Spv::SamplePosition) => (B::SamplePosition, 2),
        (Stage::Fragment, Spv::SampleMask) => (B::SampleMaskIn, 1),
        (Stage::Fragment, Spv::HelperInvocation) => (B::HelperInvocation, 1),
        (Stage::Fragment, Spv::PrimitiveId) => (B::PrimitiveId, 1),
        (Stage::Fragment, Spv::Layer) => (B::Layer, 1),
        (Stage::Fragment, Spv::ViewportIndex) => (B::ViewportIndex, 1),
        (Stage::Fragment, Spv::ClipDistance) => (B::ClipDistance, 8),
        (Stage::Fragment, Spv::CullDistance) => (B::CullDistance, 8),
        (Stage::Fragment, Spv::ShadingRateKHR) => (B::ShadingRate, 1),
        (Stage::Fragment, Spv::FullyCoveredEXT) => (B::FullyCovered, 1),
        (Stage::Fragment, Spv::FragInvocationCountEXT) => (B::FragInvocationCount, 1),
        // Vulkan: (1, 1) without a fragment density map, and no state has one.
        (Stage::Fragment, Spv::FragSizeEXT) => return InputSource::Constant(1),
        (Stage::Fragment, Spv::BaryCoordKHR) => (B::BaryCoord, 3),
        (Stage::Fragment, Spv::BaryCoordNoPerspKHR) => (B::BaryCoordNoPersp, 3),
        (Stage::Fragment, Spv::BaryCoordPullModelAMD) => (B::BaryCoordPullModel, 3),
        (Stage::Compute, Spv::NumWorkgroups) => (B::NumWorkgroups, 3),
        (Stage::Compute, Spv::WorkgroupId) => (B::WorkgroupId, 3),
        (Stage::Compute, Spv::LocalInvocationId) => (B::LocalInvocationId, 3),
        (Stage::Compute, Spv::LocalInvocationIndex) => (B::LocalInvocationIndex, 1),
        (Stage::Compute, Spv::SubgroupId) => (B::SubgroupId, 1),
        (Stage::Compute, Spv::NumSubgroups) => (B::NumSubgroups, 1),
        (Stage::Compute, Spv::GlobalInvocationId) if c < 3 => return InputSource::GlobalInvocationId(c),
        (Stage::Compute, Spv::WorkgroupSize) if c < 3 => return InputSource::WorkgroupSize(c),
        _ => return InputSource::Unsupported(builtin),
    };
    // Of the four words of a lane mask, two can be nonzero; a sample mask has one.
    let place = if ours.is_interpolated() { place } else { InterpPlace::Center };
    if c < components { InputSource::BuiltIn(ours, c, place) } else { InputSource::Constant(0) }
}

/// AMD's built-ins of two coordinates, I and J: the weights of the second and third vertex.
fn barycentric_pair(builtin: Spv) -> Option<(BuiltIn, InterpPlace)> {
    Some(match builtin {
        Spv::BaryCoordSmoothAMD => (BuiltIn::BaryCoord, InterpPlace::Center),
        Spv::BaryCoordSmoothCentroidAMD => (BuiltIn::BaryCoord, InterpPlace::Centroid),
        Spv::BaryCoordSmoothSampleAMD => (BuiltIn::BaryCoord, InterpPlace::Sample),
        Spv::BaryCoordNoPerspAMD => (BuiltIn::BaryCoordNoPersp, InterpPlace::Center),
        Spv::BaryCoordNoPerspCentroidAMD => (BuiltIn::BaryCoordNoPersp, InterpPlace::Centroid),
        Spv::BaryCoordNoPerspSampleAMD => (BuiltIn::BaryCoordNoPersp, InterpPlace::Sample),
        _ => return None,
    })
}

/// The slot of a component of a built-in output; `None` if nothing can observe it.
///
/// # Errors
/// Unsupported built-ins.
pub fn output(stage: Stage, builtin: Spv, component: u32) -> Result<Option<OutputSlot>> {
    let c = component.min(255) as u8;
    let slot = match (stage, builtin) {
        (Stage::Vertex, Spv::Position) if c < 4 => OutputSlot::Position(c),
        (Stage::Vertex, Spv::PointSize) => OutputSlot::PointSize,
        (Stage::Vertex, Spv::ClipDistance) if c < 8 => OutputSlot::ClipDistance(c),
        (Stage::Vertex, Spv::CullDistance) if c < 8 => OutputSlot::CullDistance(c),
        (Stage::Vertex, Spv::Layer) => OutputSlot::Layer,
        (Stage::Vertex, Spv::ViewportIndex) => OutputSlot::ViewportIndex,
        (Stage::Vertex, Spv::PrimitiveShadingRateKHR) => OutputSlot::ShadingRate,
        (Stage::Fragment, Spv::FragDepth) => OutputSlot::FragDepth,
        (Stage::Fragment, Spv::FragStencilRefEXT) => OutputSlot::FragStencilRef,
        (Stage::Fragment, Spv::SampleMask) if c == 0 => OutputSlot::SampleMask,
        (Stage::Fragment, Spv::SampleMask) => return Ok(None),
        _ => {
            return Err(Error::unsupported(
                format!("BuiltIn {builtin:?}"),
                format!("output of a {} shader", stage.name()),
            ));
        }
    };
    Ok(Some(slot))
}
