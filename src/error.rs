//! What can go wrong, and whose fault it is.
//!
//! Every failure is one of four kinds, plus the world outside (files, workers). The kind decides what a caller does:
//! a malformed or unsupported shader is reported and skipped, `NeedsFullCompile` is answered by compiling the whole
//! pipeline, a bug is ours. The trail says where: file, entry point, instruction or byte, innermost last.
//! To add a reason for a whole compile, add a variant to [`FullCompile`]; nothing matches on text.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The result of everything fallible in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure: its kind, and the trail of places it came through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    kind: Box<ErrorKind>,
    /// Innermost first, as it is collected on the way out.
    trail: Vec<String>,
}

/// Whose fault a failure is, and what there is to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// The input breaks the rules of its own format.
    Malformed(String),
    /// The input is right, and we do not do this yet. `feature` is a stable name that summaries group by,
    /// such as `OpImageSparseSampleImplicitLod` or `capability Geometry`.
    Unsupported {
        /// Stable name of the feature, for grouping.
        feature: String,
        /// The particular case: instruction, id, operand.
        detail: String,
    },
    /// The parts cannot be linked with this state; compiling the whole pipeline can.
    NeedsFullCompile(FullCompile),
    /// Our own mistake.
    Bug(String),
    /// The compiler process died on this input, on a fresh worker too. A bug (ours or LLVM's) that cost one shader.
    Quarantined {
        /// How it died.
        death: Death,
        /// What it said last.
        detail: String,
    },
    /// The world outside: a file, a process, a store.
    Environment(String),
}

/// How a compiler process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Death {
    /// Exit or signal.
    Crashed,
    /// No answer before the deadline.
    TimedOut,
    /// Its address-space limit was reached.
    OutOfMemory,
    /// It answered something that is no answer.
    Garbled,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crashed => "crashed",
            Self::TimedOut => "timed out",
            Self::OutOfMemory => "ran out of memory",
            Self::Garbled => "gave a garbled answer",
        })
    }
}

/// Why a pipeline cannot be linked from its separately compiled parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FullCompile {
    /// The parts were shaped by another specialization value than the state gives.
    Specialization {
        /// `SpecId` of the constant.
        id: u32,
    },
    /// More values cross a joint than registers can carry (136 VGPRs, 44 SGPRs).
    TooManyValues {
        /// What crosses: `vertex parameters`, `vertex inputs`, `fragment colours`.
        what: String,
        /// How many dwords.
        count: u32,
    },
    /// The resource layout puts a descriptor where the relocations of a part cannot reach it.
    ResourceLayout {
        /// Descriptor set.
        set: u32,
        /// Binding in it.
        binding: u32,
        /// What is wrong with it.
        why: String,
    },
    /// A state item has no prolog or epilog form yet.
    State {
        /// The item, in the words of the state file.
        item: String,
    },
    /// The parts do not fit together: other wave size, target, or generation of the format.
    Mismatch {
        /// What differs.
        what: String,
    },
}

impl fmt::Display for FullCompile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Specialization { id } => {
                write!(f, "specialization constant {id} shaped the code and has another value in this state")
            }
            Self::TooManyValues { what, count } => {
                write!(f, "{count} dwords of {what} do not fit the joint's registers")
            }
            Self::ResourceLayout { set, binding, why } => write!(f, "descriptor set {set} binding {binding}: {why}"),
            Self::State { item } => write!(f, "state `{item}` has no linkable form"),
            Self::Mismatch { what } => write!(f, "the parts differ in {what}"),
        }
    }
}

impl Error {
    fn new(kind: ErrorKind) -> Self {
        Self { kind: Box::new(kind), trail: Vec::new() }
    }

    /// The input breaks the rules of its format.
    pub fn malformed(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed(what.into()))
    }

    /// A feature that is not supported, by a stable name, and the particular case.
    pub fn unsupported(feature: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported { feature: feature.into(), detail: detail.into() })
    }

    /// These parts need a whole-pipeline compile.
    pub fn needs_full(reason: FullCompile) -> Self {
        Self::new(ErrorKind::NeedsFullCompile(reason))
    }

    /// Our own mistake.
    pub fn bug(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug(what.into()))
    }

    /// The world outside failed.
    pub fn environment(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Environment(what.into()))
    }

    /// The compiler process died on this input.
    pub fn quarantined(death: Death, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Quarantined { death, detail: detail.into() })
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The same failure, seen from one place further out. A place that is named already is not named twice.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        let place = place.into();
        if self.trail.last() != Some(&place) {
            self.trail.push(place);
        }
        self
    }

    /// The reason, if this asks for a whole-pipeline compile.
    pub fn full_compile(&self) -> Option<&FullCompile> {
        match &*self.kind {
            ErrorKind::NeedsFullCompile(reason) => Some(reason),
            _ => None,
        }
    }

    /// The same failure where everything was compiled whole, so that asking for that would lead nowhere: what the reason
    /// then means.
    #[must_use]
    pub fn of_whole_compile(self) -> Self {
        let Self { kind, trail } = self;
        let kind = match *kind {
            ErrorKind::NeedsFullCompile(reason) => {
                let detail = reason.to_string();
                match reason {
                    // The code has the state's own values and layout: what still differs is nothing that code could have.
                    FullCompile::Specialization { .. } | FullCompile::ResourceLayout { .. } => {
                        ErrorKind::Malformed(detail)
                    }
                    FullCompile::TooManyValues { what, count } => ErrorKind::Unsupported {
                        feature: format!("this many {what}"),
                        detail: format!("{count}, compiled whole too"),
                    },
                    FullCompile::State { item } => ErrorKind::Unsupported {
                        feature: format!("state `{item}`"),
                        detail: "compiled whole too".into(),
                    },
                    FullCompile::Mismatch { .. } => ErrorKind::Bug(format!("parts of one request: {detail}")),
                }
            }
            other => other,
        };
        Self { kind: Box::new(kind), trail }
    }

    /// Process exit code of the command line for this kind: 2 malformed, 3 unsupported, 4 needs a whole compile,
    /// 5 the world outside, 70 our bug, 71 a compiler that died.
    pub fn exit_code(&self) -> u8 {
        match &*self.kind {
            ErrorKind::Malformed(_) => 2,
            ErrorKind::Unsupported { .. } => 3,
            ErrorKind::NeedsFullCompile(_) => 4,
            ErrorKind::Environment(_) => 5,
            ErrorKind::Bug(_) => 70,
            ErrorKind::Quarantined { .. } => 71,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in self.trail.iter().rev() {
            write!(f, "{place}: ")?;
        }
        match &*self.kind {
            ErrorKind::Malformed(what) => write!(f, "malformed input: {what}"),
            ErrorKind::Unsupported { feature, detail } if detail.is_empty() => write!(f, "unsupported: {feature}"),
            ErrorKind::Unsupported { feature, detail } => write!(f, "unsupported: {feature}: {detail}"),
            ErrorKind::NeedsFullCompile(reason) => write!(f, "needs a whole-pipeline compile: {reason}"),
            ErrorKind::Bug(what) => write!(f, "bug in dovetail: {what}"),
            ErrorKind::Quarantined { death, detail } => write!(f, "the compiler {death} on this shader: {detail}"),
            ErrorKind::Environment(what) => write!(f, "{what}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        Self::environment(e.to_string())
    }
}

/// Adds a place to the trail of a failed result.
pub trait Context<T> {
    /// Names the place, only when there is something to name it for.
    fn at<S: Into<String>>(self, place: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn at<S: Into<String>>(self, place: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|e| e.into().at(place()))
    }
}
