//! What became of a shader, or a pair, of the corpus.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What became of it; the best that can be said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The emulator left what the judge left, and it could have been otherwise.
    Agreed,
    /// The emulator left what the interpreter left: the judge cannot say.
    AgreedWithInterpreter,
    /// It left something else.
    Differs,
    /// It ran, but the comparison could not have failed.
    #[default]
    ProvesNothing,
    /// It would run too long: the instruction limit.
    Cut,
    /// The emulator cannot run it.
    NotRun,
    /// It does not compile.
    NotCompiled,
    /// The program that judges it died of it, or did not come to an end.
    JudgeFailed,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agreed => "agreed",
            Self::AgreedWithInterpreter => "agreed with the interpreter",
            Self::Differs => "differs",
            Self::ProvesNothing => "proves nothing",
            Self::Cut => "cut",
            Self::NotRun => "not run",
            Self::NotCompiled => "not compiled",
            Self::JudgeFailed => "judge failed",
        })
    }
}

/// A report on one shader or pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// What became of it.
    pub fate: Fate,
    /// Why, in words; for what agreed: what was left out.
    pub reason: String,
    /// Whether every pipeline of it ran to the end on the emulator, whatever came of it.
    pub ran: bool,
    /// Whether the linked pipelines left what the whole one left, within the bounds; none if it could not be linked or run.
    pub same_as_whole: Option<bool>,
    /// Whether they left the same bytes.
    pub same_bytes: Option<bool>,
    /// Instructions that the emulator took for one run of one pipeline, the longest.
    pub instructions: u64,
    /// Words and floats that were compared, of the last seed.
    pub exact: usize,
    /// See `exact`.
    pub floats: usize,
    /// Milliseconds that it took, all in all.
    pub milliseconds: u64,
    /// Of those, in the compiler and the linker, the emulator, the interpreter, and the driver.
    pub spent: [u64; 4],
}

impl Report {
    /// A report of a fate without more.
    pub fn new(fate: Fate, reason: impl Into<String>) -> Self {
        Self { fate, reason: reason.into(), ..Self::default() }
    }
}
