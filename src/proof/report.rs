//! Result of the proof for a shader, or a pair, of the corpus.

use crate::emu::INSTRUCTION_LIMIT;
use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Fate of a shader; the best that can be said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The emulator agrees with the reference, and could have differed.
    Agreed,
    /// The emulator agrees with the interpreter: the reference cannot tell.
    AgreedWithInterpreter,
    /// Every route leaves what the reference leaves, and by the shader's IR no input can change it.
    Constant,
    /// The emulator differs.
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
    /// The process that checks it crashed, or did not finish.
    JudgeFailed,
}

/// The report on a shader that the emulator did not run to its end by one route.
pub(super) fn unfinished<T>(
    route: impl fmt::Display,
    why: &Error,
    interpret: impl FnOnce() -> Result<T>,
) -> (Fate, String) {
    match why.kind() {
        ErrorKind::Unsupported { feature, .. } if feature == INSTRUCTION_LIMIT => (Fate::Cut, why.to_string()),
        // What the shader's own rules forbid says nothing of the emulator.
        _ => match interpret() {
            Err(undefined) => (Fate::ProvesNothing, undefined.to_string()),
            Ok(_) => (Fate::NotRun, format!("{route}: {why}")),
        },
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agreed => "agreed",
            Self::AgreedWithInterpreter => "agreed with the interpreter",
            Self::Constant => "constant",
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
    /// Its fate.
    pub fate: Fate,
    /// Reason, in words; if it agreed, the parts left out.
    pub reason: String,
    /// Whether every pipeline of it ran to the end on the emulator, with any result.
    pub ran: bool,
    /// Whether linked and whole pipelines agree within the bounds; `None` if it could not be linked or run.
    pub same_as_whole: Option<bool>,
    /// Whether their outputs have the same bytes.
    pub same_bytes: Option<bool>,
    /// Instructions of the longest run of one pipeline on the emulator.
    pub instructions: u64,
    /// By route: instructions that its waves executed in the runs that were judged, the same inputs for all routes.
    pub executed: BTreeMap<String, u64>,
    /// Results of a pair with several samples, shaded by pixel and by sample, and their reasons.
    pub samples: BTreeMap<String, (Fate, String)>,
    /// Words compared in the last seed.
    pub exact: usize,
    /// Floats compared in the last seed.
    pub floats: usize,
    /// Total time in milliseconds.
    pub milliseconds: u64,
    /// Part of that in compiler and linker, emulator, interpreter, and driver.
    pub spent: [u64; 4],
}

impl Report {
    /// A report with only a fate.
    pub fn new(fate: Fate, reason: impl Into<String>) -> Self {
        Self { fate, reason: reason.into(), ..Self::default() }
    }

    /// Adds the instructions that the pipelines executed on the same inputs, by route.
    pub(super) fn add_executed(&mut self, counts: &[(&str, u64)]) {
        for (route, count) in counts {
            *self.executed.entry((*route).to_owned()).or_default() += count;
        }
    }
}
