//! Result of the proof for one shader, or one pair, of the corpus.

use dovetail_base::error::{Error, ErrorKind, Result};
use dovetail_emu::INSTRUCTION_LIMIT;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Outcome for a shader, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The emulator agrees with the reference, and a difference was possible.
    Agreed,
    /// The emulator agrees with the interpreter; the reference has no usable result.
    AgreedWithInterpreter,
    /// Every route gives the reference's result, and by the shader's IR no input can change it.
    Constant,
    /// The emulator differs.
    Differs,
    /// It ran, but the comparison could not have failed.
    #[default]
    ProvesNothing,
    /// It reached the instruction limit.
    Cut,
    /// The emulator cannot run it.
    NotRun,
    /// It does not compile.
    NotCompiled,
    /// The process that checks it crashed, or did not finish.
    JudgeFailed,
}

/// The report on a shader that the emulator did not run to its end on some route.
pub(super) fn unfinished<T>(
    route: impl fmt::Display,
    why: &Error,
    interpret: impl FnOnce() -> Result<T>,
) -> (Fate, String) {
    match why.kind() {
        ErrorKind::Unsupported { feature, .. } if feature == INSTRUCTION_LIMIT => (Fate::Cut, why.to_string()),
        // If the shader itself is invalid on these inputs, this says nothing about the emulator.
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
    /// Reason in words; if it agreed, the parts left out.
    pub reason: String,
    /// Whether every pipeline ran to its end on the emulator, with any result.
    pub ran: bool,
    /// Whether linked pipelines and the whole-pipeline compile agree within the bounds; `None`: it was not linked or
    /// not run.
    pub same_as_whole: Option<bool>,
    /// Whether the outputs of linked pipelines and of the whole-pipeline compile are equal byte for byte.
    pub same_bytes: Option<bool>,
    /// Instructions of the longest run of one pipeline on the emulator.
    pub instructions: u64,
    /// By route: instructions that its waves executed in the compared runs; all routes have the same inputs.
    pub executed: BTreeMap<String, u64>,
    /// Outcomes of a pair with several samples, shaded by pixel and by sample, and the reasons.
    pub samples: BTreeMap<String, (Fate, String)>,
    /// Words compared in the last seed.
    pub exact: usize,
    /// Floats compared in the last seed.
    pub floats: usize,
    /// Time of the whole check in milliseconds.
    pub milliseconds: u64,
    /// Milliseconds of it that were spent in compiler and linker, emulator, interpreter, and driver.
    pub spent: [u64; 4],
}

impl Report {
    /// A report with only an outcome and a reason.
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
