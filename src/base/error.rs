//! Errors, by whose fault they are.
//!
//! Every failure is malformed input, an unsupported feature, a needed whole-pipeline compile, or a bug, plus failures
//! of the environment (files, workers). The kind decides what a caller does: it reports and skips a malformed or
//! unsupported shader, answers `NeedsFullCompile` by compiling the whole pipeline, and reports a bug. The trail gives
//! the location: file, entry point, instruction or byte, innermost last. To add a reason for a whole-pipeline compile,
//! add a variant to [`FullCompile`]; nothing matches on text.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Result of a fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure: its kind and its trail of locations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    kind: Box<ErrorKind>,
    /// Innermost first, as collected on the way out.
    trail: Vec<String>,
}

/// Kind of a failure: whose fault it is, and so how to handle it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// The input violates its format.
    Malformed(String),
    /// The input is valid but not supported yet. `feature` is a stable name that summaries group by, such as
    /// `OpImageSparseSampleImplicitLod` or `capability Geometry`.
    Unsupported {
        /// Stable name of the feature, for grouping.
        feature: String,
        /// The particular case: instruction, id, operand.
        detail: String,
    },
    /// The parts cannot be linked with this state; a whole-pipeline compile can handle it.
    NeedsFullCompile(FullCompile),
    /// An internal error.
    Bug(String),
    /// The compiler process died on this input, also in a fresh worker. A bug (Dovetail's or LLVM's) that cost one
    /// shader.
    Quarantined {
        /// Cause of death.
        death: Death,
        /// Its last output.
        detail: String,
    },
    /// The environment: a file, a process, a store.
    Environment(String),
    /// No memory for something whose size comes from the caller or from a file.
    Memory(String),
}

/// End of a compiler process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Death {
    /// Exit or signal.
    Crashed,
    /// No answer before the deadline.
    TimedOut,
    /// Its address-space limit was reached.
    OutOfMemory,
    /// Its answer was invalid.
    Garbled,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crashed => "crashed",
            Self::TimedOut => "timed out",
            Self::OutOfMemory => "ran out of memory",
            Self::Garbled => "wrote invalid output",
        })
    }
}

/// Reason why a pipeline cannot be linked from its separately compiled parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FullCompile {
    /// The parts were compiled for another specialization value than the state's.
    Specialization {
        /// `SpecId` of the constant.
        id: u32,
    },
    /// More values pass between parts than registers hold (136 VGPRs, 44 SGPRs).
    TooManyValues {
        /// Kind of the values: `vertex parameters`, `vertex inputs`, `fragment colours`.
        what: String,
        /// Number of dwords.
        count: u32,
    },
    /// The layout places a descriptor where a part's relocations cannot reach it.
    ResourceLayout {
        /// Descriptor set.
        set: u32,
        /// Binding in it.
        binding: u32,
        /// The reason.
        why: String,
    },
    /// A state item has no prolog or epilog form yet.
    State {
        /// The item, as named in the state file.
        item: String,
    },
    /// The interfaces of the parts do not match: different wave size, target, or format generation.
    Mismatch {
        /// The difference.
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
            Self::State { item } => write!(f, "linking does not support state `{item}`"),
            Self::Mismatch { what } => write!(f, "the parts differ in {what}"),
        }
    }
}

impl Error {
    fn new(kind: ErrorKind) -> Self {
        Self { kind: Box::new(kind), trail: Vec::new() }
    }

    /// The input violates its format.
    pub fn malformed(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed(what.into()))
    }

    /// An unsupported feature, by its stable name, and the particular case.
    pub fn unsupported(feature: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported { feature: feature.into(), detail: detail.into() })
    }

    /// These parts need a whole-pipeline compile.
    pub fn needs_full(reason: FullCompile) -> Self {
        Self::new(ErrorKind::NeedsFullCompile(reason))
    }

    /// An internal error.
    pub fn bug(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug(what.into()))
    }

    /// A failure of the environment.
    pub fn environment(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Environment(what.into()))
    }

    /// No memory for this.
    pub fn memory(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Memory(what.into()))
    }

    /// Whether the input is not at fault, so that the same may succeed later: a failure of the environment, or of memory.
    pub fn may_pass(&self) -> bool {
        matches!(*self.kind, ErrorKind::Environment(_) | ErrorKind::Memory(_))
    }

    /// The compiler process died on this input.
    pub fn quarantined(death: Death, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Quarantined { death, detail: detail.into() })
    }

    /// Kind of this failure.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Whether it is an internal error.
    pub fn is_bug(&self) -> bool {
        matches!(&*self.kind, ErrorKind::Bug(_))
    }

    /// Adds an outer location to the trail, unless it is the outermost already.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        let place = place.into();
        if self.trail.last() != Some(&place) {
            self.trail.push(place);
        }
        self
    }

    /// The outermost location, such as the file.
    pub fn place(&self) -> Option<&str> {
        self.trail.last().map(String::as_str)
    }

    /// The reason, if this requires a whole-pipeline compile.
    pub fn full_compile(&self) -> Option<&FullCompile> {
        match &*self.kind {
            ErrorKind::NeedsFullCompile(reason) => Some(reason),
            _ => None,
        }
    }

    /// Converts a failure of a whole-pipeline compile: another compile could not help, so `NeedsFullCompile` becomes
    /// another kind.
    #[must_use]
    pub fn of_whole_compile(self) -> Self {
        let Self { kind, trail } = self;
        let kind = match *kind {
            ErrorKind::NeedsFullCompile(reason) => {
                let detail = reason.to_string();
                match reason {
                    // The code was compiled for the state's values and layout, so no other code could remove the
                    // difference.
                    FullCompile::Specialization { .. } | FullCompile::ResourceLayout { .. } => {
                        ErrorKind::Malformed(detail)
                    }
                    FullCompile::TooManyValues { what, count } => ErrorKind::Unsupported {
                        feature: format!("this many {what}"),
                        detail: format!("{count}, even in a whole-pipeline compile"),
                    },
                    FullCompile::State { item } => ErrorKind::Unsupported {
                        feature: format!("state `{item}`"),
                        detail: "even in a whole-pipeline compile".into(),
                    },
                    FullCompile::Mismatch { .. } => ErrorKind::Bug(format!("parts of one request: {detail}")),
                }
            }
            other => other,
        };
        Self { kind: Box::new(kind), trail }
    }

    /// Exit code of the command line for this kind: 2 malformed, 3 unsupported, 4 needs a whole-pipeline compile, 5
    /// environment or memory, 70 internal error, 71 a compiler process that died.
    pub fn exit_code(&self) -> u8 {
        match &*self.kind {
            ErrorKind::Malformed(_) => 2,
            ErrorKind::Unsupported { .. } => 3,
            ErrorKind::NeedsFullCompile(_) => 4,
            ErrorKind::Environment(_) | ErrorKind::Memory(_) => 5,
            ErrorKind::Bug(_) => 70,
            ErrorKind::Quarantined { .. } => 71,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in self.trail.iter().rev() {
            write!(f, "{}: ", printable(place))?;
        }
        let what = match &*self.kind {
            ErrorKind::Malformed(what) => format!("malformed input: {what}"),
            ErrorKind::Unsupported { feature, detail } if detail.is_empty() => format!("unsupported: {feature}"),
            ErrorKind::Unsupported { feature, detail } => format!("unsupported: {feature}: {detail}"),
            ErrorKind::NeedsFullCompile(reason) => format!("needs a whole-pipeline compile: {reason}"),
            ErrorKind::Bug(what) => format!("bug in dovetail: {what}"),
            ErrorKind::Quarantined { death, detail } => format!("the compiler {death} on this shader: {detail}"),
            ErrorKind::Environment(what) => what.clone(),
            ErrorKind::Memory(what) => format!("out of memory: {what}"),
        };
        // Messages of the TOML parser have several lines.
        f.write_str(&printable_lines(&what))
    }
}

/// Makes a foreign name printable: one line, without terminal control characters.
pub fn printable(name: &str) -> Cow<'_, str> {
    escaped(name, char::is_control)
}

/// Makes text of several lines printable likewise.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.is_control() && c != '\n' && c != '\t')
}

fn escaped(text: &str, which: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&which) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for c in text.chars() {
        if which(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        let is_memory = e.kind() == std::io::ErrorKind::OutOfMemory;
        if is_memory { Self::memory(e.to_string()) } else { Self::environment(e.to_string()) }
    }
}

/// Adds a location to the trail of a failed result.
pub trait Context<T> {
    /// Names the location; evaluated only on failure.
    fn at<S: Into<String>>(self, place: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn at<S: Into<String>>(self, place: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|e| e.into().at(place()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_command_a_terminal() {
        let error = Error::malformed("tag \u{1b}[2J\u{9b}1m of \u{7f}\nsecond line").at("a\nb\u{1b}]0;t\u{7}.spv");
        assert_eq!(
            error.to_string(),
            "a\\nb\\u{1b}]0;t\\u{7}.spv: malformed input: tag \\u{1b}[2J\\u{9b}1m of \\u{7f}\nsecond line"
        );
        assert_eq!(printable("plain name"), "plain name");
    }
}
