//! Stages: those of the API, for which applications write shaders, and those of the hardware, which run them. Which runs
//! which is in the table of `shape.rs`.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An API stage that Dovetail compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Vertex.
    Vertex,
    /// Fragment.
    Fragment,
    /// Compute.
    Compute,
}

impl FromStr for Stage {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|stage| stage.name() == s);
        found.ok_or_else(|| Error::malformed(format!("stage `{s}`: {}", Self::ALL.map(Self::name).join(", "))))
    }
}

impl Stage {
    /// Number of stages; tables by stage have this length, and `stage as usize` is the index.
    pub const COUNT: usize = Self::ALL.len();
    /// Every stage, in the order of the variants.
    pub const ALL: [Self; 3] = [Self::Vertex, Self::Fragment, Self::Compute];

    /// Name in messages and keys.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vertex => "vertex",
            Self::Fragment => "fragment",
            Self::Compute => "compute",
        }
    }

    /// Key of `.shaders`.
    pub const fn api_key(self) -> &'static str {
        match self {
            Self::Vertex => ".vertex",
            Self::Fragment => ".pixel",
            Self::Compute => ".compute",
        }
    }

    /// Whether it is run by a dispatch, not by a draw: no stage comes before or after it.
    pub const fn is_dispatched(self) -> bool {
        match self {
            Self::Compute => true,
            Self::Vertex | Self::Fragment => false,
        }
    }

    /// Whether an invocation begins with a vertex of the draw: it has attributes, which a prolog may fetch.
    pub const fn fetches_attributes(self) -> bool {
        match self {
            Self::Vertex => true,
            Self::Fragment | Self::Compute => false,
        }
    }

    /// Whether an invocation shades a pixel or a sample of it. Such invocations run in quads, with helpers where a primitive
    /// does not cover a quad's pixel, so that derivatives exist.
    pub const fn shades_pixels(self) -> bool {
        match self {
            Self::Fragment => true,
            Self::Vertex | Self::Compute => false,
        }
    }

    /// Whether its invocations form workgroups: it has shared memory and barriers, and its id in the grid.
    pub const fn has_workgroups(self) -> bool {
        match self {
            Self::Compute => true,
            Self::Vertex | Self::Fragment => false,
        }
    }

    /// Whether its results go to the rasterizer: positions, and the parameters that a fragment stage reads.
    pub const fn feeds_the_rasterizer(self) -> bool {
        match self {
            Self::Vertex => true,
            Self::Fragment | Self::Compute => false,
        }
    }

    /// Whether it reads parameters: what the rasterizer interpolates between the vertices of a primitive.
    pub const fn reads_parameters(self) -> bool {
        match self {
            Self::Fragment => true,
            Self::Vertex | Self::Compute => false,
        }
    }

    /// Whether a pipeline may lack it: PAL needs code for each hardware stage, so a link then adds a shader that does
    /// nothing.
    pub const fn can_be_absent(self) -> bool {
        match self {
            Self::Fragment => true,
            Self::Vertex | Self::Compute => false,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Some of the API stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageSet(u8);

impl StageSet {
    /// No stage.
    pub const NONE: Self = Self(0);

    /// With another stage.
    #[must_use]
    pub const fn with(self, stage: Stage) -> Self {
        Self(self.0 | 1 << stage as u8)
    }

    /// Whether all stages of another set are in this one.
    pub const fn contains(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether a stage is in it.
    pub const fn has(self, stage: Stage) -> bool {
        self.0 >> stage as u8 & 1 == 1
    }
}

impl FromIterator<Stage> for StageSet {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Self {
        stages.into_iter().fold(Self::NONE, Self::with)
    }
}

/// A stage of the hardware, by PAL's name (`Util::Abi::HardwareStage`). From gfx9 on LS is merged into HS, and ES into GS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HardwareStage {
    /// LS-HS: vertex and tessellation control shaders.
    Hs,
    /// ES-GS: what comes before the rasterizer, as a primitive shader (NGG) or as a legacy geometry shader.
    Gs,
    /// What comes before the rasterizer, without a geometry shader. There is none from gfx11 on.
    Vs,
    /// Fragment shaders.
    Ps,
    /// Compute.
    Cs,
}

impl HardwareStage {
    /// Number of stages; tables by stage have this length, and `stage as usize` is the index.
    pub const COUNT: usize = Self::ALL.len();
    /// Every stage, in the order of the variants.
    pub const ALL: [Self; 5] = [Self::Hs, Self::Gs, Self::Vs, Self::Ps, Self::Cs];

    /// Key of `.hardware_stages` and item of `.hardware_mapping`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Hs => ".hs",
            Self::Gs => ".gs",
            Self::Vs => ".vs",
            Self::Ps => ".ps",
            Self::Cs => ".cs",
        }
    }

    /// Entry symbol that PAL looks up in a final ELF.
    pub const fn entry_symbol(self) -> &'static str {
        match self {
            Self::Hs => "_amdgpu_hs_main",
            Self::Gs => "_amdgpu_gs_main",
            Self::Vs => "_amdgpu_vs_main",
            Self::Ps => "_amdgpu_ps_main",
            Self::Cs => "_amdgpu_cs_main",
        }
    }

    /// Symbol of the body in an unlinked ELF; a body that begins with vertices needs a fetch prolog.
    pub const fn unlinked_symbol(self) -> &'static str {
        match self {
            Self::Hs => "_amdgpu_hs_main_fetchless",
            Self::Gs => "_amdgpu_gs_main_fetchless",
            Self::Vs => "_amdgpu_vs_main_fetchless",
            Self::Ps | Self::Cs => self.entry_symbol(),
        }
    }

    /// Whether its waves work on the vertices and on the primitives of a group: they export both.
    pub const fn runs_primitives(self) -> bool {
        match self {
            Self::Gs => true,
            Self::Hs | Self::Vs | Self::Ps | Self::Cs => false,
        }
    }

    /// The SGPR of the first user data: merged stages have eight system values before them (ACO's documentation, LLPC).
    pub const fn first_user_sgpr(self) -> u32 {
        match self {
            Self::Hs | Self::Gs => 8,
            Self::Vs | Self::Ps | Self::Cs => 0,
        }
    }

    /// Number of user-data SGPRs that the hardware loads (pal-abi 2.3, 2.5).
    pub const fn max_user_sgprs(self) -> u32 {
        match self {
            Self::Hs | Self::Gs | Self::Vs | Self::Ps => 32,
            Self::Cs => 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_stages_are_in_the_order_of_the_variants() {
        assert!(Stage::ALL.into_iter().enumerate().all(|(n, stage)| stage as usize == n));
        assert!(HardwareStage::ALL.into_iter().enumerate().all(|(n, stage)| stage as usize == n));
    }
}
