//! Inputs and outputs of a stage: built-ins, inputs and their interpolation, outputs, export targets.

/// Interpolation of a fragment input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interp {
    /// The provoking vertex's value.
    Flat,
    /// Interpolated with these barycentric coordinates.
    At {
        /// Perspective-correct, or linear in the screen (`NoPerspective`).
        perspective: bool,
        /// Location in the pixel.
        place: InterpPlace,
    },
    /// One vertex's own value (explicit vertex parameter): 0, 1 or 2.
    Vertex(u8),
}

/// Location in a pixel at which an input is interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InterpPlace {
    /// Pixel centre.
    Center,
    /// Covered point.
    Centroid,
    /// Sample being shaded.
    Sample,
    /// Centre plus the two operands.
    AtOffset,
    /// Sample whose number is the operand.
    AtSample,
}

/// Built-in inputs, with their number of components where not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are SPIR-V's own")]
pub enum BuiltIn {
    VertexIndex,
    InstanceIndex,
    BaseVertex,
    BaseInstance,
    DrawIndex,
    ViewIndex,
    DeviceIndex,
    /// 4.
    FragCoord,
    /// b1.
    FrontFacing,
    /// 2.
    PointCoord,
    SampleId,
    /// 2.
    SamplePosition,
    /// One component per 32-sample word.
    SampleMaskIn,
    /// b1, as the invocation started.
    HelperInvocation,
    PrimitiveId,
    Layer,
    ViewportIndex,
    /// Vulkan's flags of a fragment's size: 1 and 2 for two and four rows, 4 and 8 for two and four columns.
    ShadingRate,
    /// b1: the primitive covers all of the fragment.
    FullyCovered,
    /// Invocations per fragment.
    FragInvocationCount,
    /// Up to 8.
    ClipDistance,
    /// Up to 8.
    CullDistance,
    /// 3: perspective barycentric coordinates.
    BaryCoord,
    /// 3: linear ones.
    BaryCoordNoPersp,
    /// 3: i/w, j/w and 1/w at the pixel's centre, where i and j are [`Self::BaryCoord`]'s second and third.
    BaryCoordPullModel,
    /// 3.
    NumWorkgroups,
    /// 3.
    WorkgroupId,
    /// 3.
    LocalInvocationId,
    LocalInvocationIndex,
    SubgroupSize,
    SubgroupLocalInvocationId,
    SubgroupId,
    NumSubgroups,
    /// 2: low and high half of the mask; likewise the following ones.
    SubgroupEqMask,
    SubgroupGeMask,
    SubgroupGtMask,
    SubgroupLeMask,
    SubgroupLtMask,
}

impl BuiltIn {
    /// Whether it says something of the subgroup, so that the subgroup's size matters.
    pub const fn is_of_subgroup(self) -> bool {
        matches!(
            self,
            Self::SubgroupSize
                | Self::SubgroupId
                | Self::NumSubgroups
                | Self::SubgroupLocalInvocationId
                | Self::SubgroupEqMask
                | Self::SubgroupGeMask
                | Self::SubgroupGtMask
                | Self::SubgroupLeMask
                | Self::SubgroupLtMask
        )
    }

    /// Whether it is interpolated, so that its location in the pixel matters.
    pub const fn is_interpolated(self) -> bool {
        matches!(
            self,
            Self::PointCoord | Self::ClipDistance | Self::CullDistance | Self::BaryCoord | Self::BaryCoordNoPersp
        )
    }
}

/// Destination of an output component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OutputSlot {
    /// A location: parameter of a vertex shader, colour of a fragment shader.
    Location {
        /// Location.
        location: u32,
        /// Component, 0 to 3; of a 64-bit value the first of two.
        component: u8,
        /// Dual-source index, otherwise 0.
        index: u8,
    },
    /// Position, component 0 to 3.
    Position(u8),
    /// Point size.
    PointSize,
    /// Clip distance.
    ClipDistance(u8),
    /// Cull distance.
    CullDistance(u8),
    /// Layer.
    Layer,
    /// Viewport index.
    ViewportIndex,
    /// Requested fragment size, in Vulkan's flags.
    ShadingRate,
    /// Depth.
    FragDepth,
    /// Stencil reference.
    FragStencilRef,
    /// Sample mask, first word.
    SampleMask,
}

/// Export targets of the hardware (pal-abi 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExportTarget {
    /// Colour 0 to 7.
    Mrt(u8),
    /// Depth, stencil, sample mask.
    MrtZ,
    /// Nothing, only the valid mask.
    Null,
    /// Position vector 0 to 3.
    Pos(u8),
    /// Parameter 0 to 31.
    Param(u8),
}

impl ExportTarget {
    /// Target number in the instruction.
    pub const fn number(self) -> u8 {
        match self {
            Self::Mrt(n) => n,
            Self::MrtZ => 8,
            Self::Null => 9,
            Self::Pos(n) => 12 + n,
            Self::Param(n) => 32 + n,
        }
    }
}
