//! The phases of the native generator that only make code better: each can be left out, to see what it is worth, or which
//! one breaks a shader.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

macro_rules! phases {
    ($($name:ident $text:literal $what:literal;)*) => {
        /// A phase that can be left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Phase { $(#[doc = $what] $name,)* }

        impl Phase {
            /// All, in the order in which each runs for the first time.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

phases! {
    Constants "constants" "What is known while compiling.";
    Promote "promote" "Local variables become values.";
    Number "number" "Equal values are one, and algebra.";
    Jumps "jumps" "Jumps to jumps, and branches that are known.";
    Ifs "ifs" "Small branches become selections.";
    Unroll "unroll" "Loops of few rounds are written out.";
    Licm "licm" "What is the same in each round leaves the loop.";
    Vectors "vectors" "Neighbouring accesses to memory are one.";
    Contract "contract" "Multiplications and additions are one where that is allowed.";
    Dce "dce" "What nobody uses is removed.";
    Blocks "blocks" "Blocks that only follow each other are one.";
    Combine "combine" "Machine instructions are one, in short forms, with direct ways.";
    Schedule "schedule" "The order of instructions within blocks.";
    Clauses "clauses" "Clauses of loads.";
}

impl Phase {
    /// Whether it is one of the middle end: on the IR, before selection.
    pub fn is_middle(self) -> bool {
        self < Self::Combine
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// As its name.
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
    /// Whether a phase is in it.
    pub const fn has(self, phase: Phase) -> bool {
        self.0 >> phase as u32 & 1 == 1
    }

    /// The set with one phase more.
    #[must_use]
    pub const fn with(self, phase: Phase) -> Self {
        Self(self.0 | 1 << phase as u32)
    }

    /// Its phases.
    pub fn iter(self) -> impl Iterator<Item = Phase> {
        Phase::ALL.iter().copied().filter(move |phase| self.has(*phase))
    }
}

/// One word: a phase, or `optimise` for the middle end.
impl FromStr for Phases {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "optimise" {
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

/// As names, which stay what they are when phases are added.
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
