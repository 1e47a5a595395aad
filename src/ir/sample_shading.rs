//! Effect of per-sample shading on each fragment input, in one table.
//!
//! | input | shaded per pixel | shaded per sample | what changes |
//! |---|---|---|---|
//! | flat, or of one vertex | | the same | nothing |
//! | interpolated at the centre or a covered point | there | at the sample | the code |
//! | interpolated at the sample (`Sample`) | is not possible | there | it requires this |
//! | interpolated at an offset from the centre, or at a numbered sample | there | there | nothing |
//! | `SampleId`, `SamplePosition` | is not possible | its own | it requires this |
//! | `SampleMask` | a bit for every covered sample | its own bit | the code |
//! | `FragInvocationCountEXT` | 1 | the number of samples | the code |
//! | `FragCoord` | the centre | the sample | a register (`SPI_BARYC_CNTL.POS_FLOAT_LOCATION`) |
//! | `FragCoord` decorated `Sample` | is not possible | the sample | it requires this, also where it is not read |
//! | any other | | the same | nothing |
//!
//! Interpolated inputs are locations that are not flat, the point coordinate, clip and cull distances, and barycentric
//! coordinates ([`BuiltIn::is_interpolated`]).
//!
//! Vulkan ("Sample Shading") evaluates each value at the location of its sample if the factor is 1, and the factor is 1
//! if the state says so or the shader's interface has `SampleId` or `SamplePosition`. `Sample` needs per-sample shading
//! too. So it makes no difference what requires it, and a shader that requires it itself is correct under either state.
//! A covered sample is a point inside both pixel and primitive, which is all that `Centroid` needs.

use super::interface::{BuiltIn, Interp, InterpPlace};
use super::op::Op;

/// A read of a fragment shader's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentRead {
    /// A location.
    Location(Interp),
    /// A built-in; the location in the pixel matters if it is interpolated.
    BuiltIn(BuiltIn, InterpPlace),
}

/// Effect of per-sample shading on a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleEffect {
    /// Nothing, or only a register changes.
    Nothing,
    /// The code must differ.
    Code,
    /// The read itself requires per-sample shading.
    Asks,
}

impl FragmentRead {
    /// The input that an operation reads, if any.
    pub const fn of(op: &Op) -> Option<Self> {
        match *op {
            Op::LoadInput { interp, .. } => Some(Self::Location(interp)),
            Op::LoadBuiltIn { builtin, place, .. } => Some(Self::BuiltIn(builtin, place)),
            _ => None,
        }
    }

    /// The effect, by the table.
    pub const fn effect(self) -> SampleEffect {
        match self {
            Self::Location(Interp::Flat | Interp::Vertex(_)) => SampleEffect::Nothing,
            Self::Location(Interp::At { place, .. }) => place.effect(),
            Self::BuiltIn(builtin, place) if builtin.is_interpolated() => place.effect(),
            Self::BuiltIn(BuiltIn::SampleId | BuiltIn::SamplePosition, _) => SampleEffect::Asks,
            Self::BuiltIn(BuiltIn::SampleMaskIn | BuiltIn::FragInvocationCount, _) => SampleEffect::Code,
            Self::BuiltIn(..) => SampleEffect::Nothing,
        }
    }
}

impl InterpPlace {
    const fn effect(self) -> SampleEffect {
        match self {
            Self::Center | Self::Centroid => SampleEffect::Code,
            Self::Sample => SampleEffect::Asks,
            Self::AtOffset | Self::AtSample => SampleEffect::Nothing,
        }
    }
}

/// Changes a read for per-sample shading: inputs interpolated in the pixel are interpolated at the sample.
pub fn move_to_sample(op: &mut Op) {
    let place = match op {
        Op::LoadInput { interp: Interp::At { place, .. }, .. } => place,
        Op::LoadBuiltIn { builtin, place, .. } if builtin.is_interpolated() => place,
        _ => return,
    };
    if place.effect() == SampleEffect::Code {
        *place = InterpPlace::Sample;
    }
}
