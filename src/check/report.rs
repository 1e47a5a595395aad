//! What the checker says: one finding for each rule that an instruction breaks, with its place in part, offset and text.

use super::code::{Code, StageCode};
use super::flow::Step;
use crate::isa::{Register, disassemble};
use crate::target::Stage;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// What code has to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Reachable words are instructions.
    Decode,
    /// Branches lead to instructions of this stage.
    Branch,
    /// Where a path cannot be followed, nothing is proved.
    Unfollowed,
    /// Each path ends with `s_endpgm`, and leaves its part only for the next.
    End,
    /// Code that no path reaches.
    Unreachable,
    /// No use of a register before what is outstanding on it has been waited for; nothing outstanding at a barrier.
    Wait,
    /// EXEC stays while an export may still read it.
    ExecWhileExport,
    /// No read of a register that nothing has written.
    Uninitialised,
    /// What a body stores or exports has a value.
    Undefined,
    /// No arithmetic whose result nothing reads.
    DeadResult,
    /// No vector work where paths meet with some of each other's lanes.
    Lanes,
    /// No vector work on a path where no lane is left.
    Idle,
    /// Waits that this generation needs between dependent instructions.
    Hazard,
    /// A clause holds instructions of one kind.
    Clause,
    /// Operands that the hardware takes.
    Operands,
    /// Registers within what the metadata declares.
    Registers,
    /// LDS and scratch only where they are declared.
    Memory,
    /// Exports and attributes as the registers declare them, ended by one that is done.
    Export,
    /// What the hardware sets before the first instruction is there when a body reads it, whatever ran before.
    Entry,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A wave may hang, lose lanes, read what has another meaning, or break the ABI; or that cannot be excluded.
    Error,
    /// Waste: the code is right and does work for nothing, or for a value that the shader leaves undefined.
    Remark,
}

impl Rule {
    /// What breaking it means.
    pub const fn severity(self) -> Severity {
        match self {
            // Which dwords of a wide result are read, compilers find out after they have chosen its instructions.
            // And what is done for no lane is not done: LLVM branches on EXEC = 0 for "never", after any mask.
            // A shader may store what it never gave a value: what arrives is undefined, and nothing else is.
            Self::DeadResult | Self::Idle | Self::Undefined | Self::Unreachable => Severity::Remark,
            _ => Severity::Error,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Remark => "remark",
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An instruction in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstructionPlace {
    /// Part: prolog, body or epilog.
    pub part: &'static str,
    /// Byte in the part.
    pub offset: u32,
    /// Byte in `.text`.
    pub address: u32,
    /// The assembler's text, or the word.
    pub instruction: String,
}

impl fmt::Display for InstructionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x} `{}`", self.part, self.offset, self.instruction)
    }
}

/// One rule broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// How bad that is.
    pub severity: Severity,
    /// Stage.
    pub stage: Stage,
    /// Instruction that breaks the rule.
    pub place: InstructionPlace,
    /// On which register.
    pub register: Option<String>,
    /// What is still outstanding, or would have been needed before.
    pub issued: Option<InstructionPlace>,
    /// Explanation, with the values.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}: {:?}: ", self.severity, self.stage, self.place, self.rule)?;
        if let Some(register) = &self.register {
            write!(f, "{register} ")?;
        }
        f.write_str(&self.what)?;
        self.issued.as_ref().map_or(Ok(()), |issued| write!(f, " {issued}"))
    }
}

/// What was followed of one stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageReport {
    /// Stage.
    pub stage: Stage,
    /// Instructions that a path reaches.
    pub instructions: usize,
    /// Basic blocks.
    pub blocks: usize,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CodeReport {
    /// Stages followed.
    pub stages: Vec<StageReport>,
    /// Errors and remarks, by stage and place.
    pub findings: Vec<Finding>,
}

impl CodeReport {
    /// Whether there is no error.
    pub fn is_ok(&self) -> bool {
        self.errors().next().is_none()
    }

    /// The errors among the findings.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// The remarks among the findings.
    pub fn remarks(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Remark)
    }
}

/// Collects findings of one stage; an instruction breaks a rule once.
pub(super) struct Reporter<'a> {
    code: &'a Code<'a>,
    stage: &'a StageCode,
    found: BTreeMap<(u32, Rule), Finding>,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(code: &'a Code<'a>, stage: &'a StageCode) -> Self {
        Self { code, stage, found: BTreeMap::new() }
    }

    /// An instruction breaks a rule.
    pub(super) fn add(&mut self, rule: Rule, at: u32, what: impl Into<String>) {
        self.insert(rule, at, None, None, what.into());
    }

    /// An instruction breaks a rule about a register.
    pub(super) fn register(&mut self, rule: Rule, step: &Step, register: Register, what: impl Into<String>) {
        self.insert(rule, step.at, Some(register), None, what.into());
    }

    /// An instruction comes too early after another.
    pub(super) fn early(
        &mut self,
        rule: Rule,
        step: &Step,
        register: Option<Register>,
        issued: Option<u32>,
        what: &str,
    ) {
        self.insert(rule, step.at, register, issued, what.to_owned());
    }

    fn insert(&mut self, rule: Rule, at: u32, register: Option<Register>, issued: Option<u32>, what: String) {
        if self.found.contains_key(&(at, rule)) {
            return;
        }
        let finding = Finding {
            rule,
            severity: rule.severity(),
            stage: self.stage.stage,
            place: self.place(at),
            register: register.map(|r| r.to_string()),
            issued: issued.map(|at| self.place(at)),
            what,
        };
        self.found.insert((at, rule), finding);
    }

    fn place(&self, at: u32) -> InstructionPlace {
        let part = self.code.part(at);
        let rest = self.code.words.get(at as usize..).unwrap_or_default();
        let instruction = match disassemble(self.code.target, rest) {
            Ok(inst) => inst.text(self.stage.wave),
            Err(_) => rest.first().map_or_else(|| "end of .text".to_owned(), |word| format!(".long {word:#010x}")),
        };
        InstructionPlace {
            part: part.map_or("no part", |p| self.code.role(self.stage, p)),
            offset: part.map_or(0, |p| at.saturating_sub(p.start)).saturating_mul(4),
            address: at.saturating_mul(4),
            instruction,
        }
    }

    /// Whether nothing was found so far.
    pub(super) fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// All of them, by place.
    pub(super) fn finish(self) -> impl Iterator<Item = Finding> {
        self.found.into_values()
    }
}
