//! The size of waves.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Lanes per wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub enum WaveSize {
    /// 32 lanes.
    W32,
    /// 64 lanes.
    W64,
}

impl WaveSize {
    /// Number of lanes.
    pub const fn lanes(self) -> u32 {
        match self {
            Self::W32 => 32,
            Self::W64 => 64,
        }
    }
}

impl From<WaveSize> for u32 {
    fn from(w: WaveSize) -> u32 {
        w.lanes()
    }
}

impl TryFrom<u32> for WaveSize {
    type Error = Error;
    fn try_from(n: u32) -> Result<Self> {
        match n {
            32 => Ok(Self::W32),
            64 => Ok(Self::W64),
            _ => Err(Error::malformed(format!("wave size {n}: 32 or 64"))),
        }
    }
}
