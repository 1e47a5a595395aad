//! The optional phases of the native generator, which only improve code: each can be left out, to measure its effect or
//! to find which one breaks a shader.

use dovetail_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Name of all phases before instruction selection together.
pub const OPTIMISE: &str = "optimise";

macro_rules! phases {
    ($($name:ident $text:literal $what:literal;)*) => {
        /// An optional phase.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Phase { $(#[doc = $what] $name,)* }

        impl Phase {
            /// All phases, in the order of their first runs.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

phases! {
    Constants "constants" "Evaluates what is known at compile time.";
    Promote "promote" "Promotes local variables to values.";
    Number "number" "Value numbering and algebraic simplification.";
    Jumps "jumps" "Removes jumps to jumps and known branches.";
    Ifs "ifs" "Turns small branches into selects.";
    Unroll "unroll" "Unrolls loops with few iterations.";
    Elements "elements" "Keeps small arrays in registers even if an index is not known.";
    Rotate "rotate" "Moves the test at the top of a loop to its end.";
    Hoist "hoist" "Moves long scalar operations before branches and loops.";
    Licm "licm" "Moves loop-invariant code out of loops.";
    Early "early" "Moves scalar loads to the earliest block that runs whenever their own does.";
    Vectors "vectors" "Merges adjacent memory accesses.";
    Contract "contract" "Fuses multiplications and additions where allowed.";
    Dce "dce" "Removes unused code.";
    Sink "sink" "Moves arithmetic past branches whose other path does not use it.";
    Pairs "pairs" "Computes two 16-bit values with one packed instruction.";
    Reload "reload" "Loads descriptors and uniform data again where too many of them live at once.";
    Blocks "blocks" "Merges consecutive blocks.";
    Combine "combine" "Combines machine instructions, uses short encodings, and shortens control flow.";
    Schedule "schedule" "Schedules the instructions of each block.";
    Masks "masks" "Keeps lane masks in scalar registers if they fit, not in lanes of vector registers.";
    Clauses "clauses" "Forms clauses of loads.";
}

impl Phase {
    /// Whether it belongs to the middle end, which works on IR before instruction selection.
    pub fn is_middle(self) -> bool {
        self < Self::Combine
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Serialized as its name.
impl Serialize for Phase {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl FromStr for Phase {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|phase| phase.name() == text);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|phase| phase.name()).collect();
            Error::malformed(format!("no phase `{text}`; there are {}", names.join(", ")))
        })
    }
}

/// A set of phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Phases(u32);

impl Phases {
    /// Whether the set contains a phase.
    pub const fn has(self, phase: Phase) -> bool {
        self.0 >> phase as u32 & 1 == 1
    }

    /// The set with a phase added.
    #[must_use]
    pub const fn with(self, phase: Phase) -> Self {
        Self(self.0 | 1 << phase as u32)
    }

    /// Its phases.
    pub fn iter(self) -> impl Iterator<Item = Phase> {
        Phase::ALL.iter().copied().filter(move |phase| self.has(*phase))
    }
}

/// Parses one word: a phase, or [`OPTIMISE`].
impl FromStr for Phases {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == OPTIMISE {
            return Ok(Phase::ALL.iter().copied().filter(|phase| phase.is_middle()).collect());
        }
        text.parse().map(|phase| Self::default().with(phase))
    }
}

impl FromIterator<Phase> for Phases {
    fn from_iter<I: IntoIterator<Item = Phase>>(phases: I) -> Self {
        phases.into_iter().fold(Self::default(), Self::with)
    }
}

/// Serialized as names, which keep their meaning when phases are added.
impl Serialize for Phases {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(Phase::name))
    }
}

impl<'de> Deserialize<'de> for Phases {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        names.iter().map(|name| name.parse::<Phase>().map_err(serde::de::Error::custom)).collect()
    }
}
