//! Reports of the checker: one finding for each rule that an instruction breaks, with its part, offset and text.

use super::code::{Code, StageCode};
use super::flow::Step;
use crate::isa::{Register, disassemble};
use crate::target::Stage;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// A rule for code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeRule {
    /// Reachable words are instructions.
    Decode,
    /// Branches target instructions of this stage.
    Branch,
    /// Every branch can be followed; otherwise nothing is proved.
    Unfollowed,
    /// Each path ends with `s_endpgm`, and leaves its part only for the next.
    End,
    /// Code that no path reaches.
    Unreachable,
    /// No use of a register before the operation outstanding on it was waited for; nothing outstanding at a barrier.
    Wait,
    /// EXEC is unchanged while an export may still read it.
    ExecWhileExport,
    /// No read of a register that was never written.
    Uninitialised,
    /// Values that a body stores or exports are defined.
    Undefined,
    /// No arithmetic with an unused result.
    DeadResult,
    /// No vector work before lanes have reconverged.
    Lanes,
    /// No vector work with EXEC = 0.
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
    /// LDS within its size by the constant offset.
    Beyond,
    /// Exports and attributes as the registers declare them, the last one with `done`.
    Export,
    /// A register set by the hardware before the first instruction still holds that value when a body reads it.
    Entry,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A wave may hang, lose lanes, read a value with another meaning, or break the ABI; or that cannot be excluded.
    Error,
    /// Waste: the code is right but does useless work, or works on a value that the shader leaves undefined.
    Remark,
}

impl CodeRule {
    /// Severity of a break of this rule.
    pub const fn severity(self) -> Severity {
        match self {
            // Compilers learn only after instruction selection which dwords of a wide result are read. Vector work with
            // EXEC = 0 has no effect: LLVM uses such a branch as "never", after any mask. A shader may store an
            // undefined value: only the stored data is undefined then. Addresses in LDS wrap, so a large offset is right with
            // a negative register; and beyond its size LDS reads 0 and writes nothing.
            Self::Beyond | Self::DeadResult | Self::Idle | Self::Undefined | Self::Unreachable => Severity::Remark,
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

impl fmt::Display for CodeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An instruction and its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstructionPlace {
    /// Part: prolog, body or epilog.
    pub part: &'static str,
    /// Byte offset in the part.
    pub offset: u32,
    /// Byte offset in `.text`.
    pub address: u32,
    /// The assembler's text, or the word.
    pub instruction: String,
}

impl fmt::Display for InstructionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x} `{}`", self.part, self.offset, self.instruction)
    }
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodeViolation {
    /// The rule.
    pub rule: CodeRule,
    /// Severity.
    pub severity: Severity,
    /// Stage.
    pub stage: Stage,
    /// Instruction that breaks the rule.
    pub place: InstructionPlace,
    /// Register concerned.
    pub register: Option<String>,
    /// Instruction that is still outstanding, or was needed before.
    pub issued: Option<InstructionPlace>,
    /// Explanation, with the values.
    pub what: String,
}

impl fmt::Display for CodeViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}: {:?}: ", self.severity, self.stage, self.place, self.rule)?;
        if let Some(register) = &self.register {
            write!(f, "{register} ")?;
        }
        f.write_str(&self.what)?;
        self.issued.as_ref().map_or(Ok(()), |issued| write!(f, " {issued}"))
    }
}

/// Size of the code followed for one stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageReport {
    /// Stage.
    pub stage: Stage,
    /// Reachable instructions.
    pub instructions: usize,
    /// Basic blocks.
    pub blocks: usize,
}

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CodeReport {
    /// Stages followed.
    pub stages: Vec<StageReport>,
    /// Errors and remarks, by stage and address.
    pub findings: Vec<CodeViolation>,
}

impl CodeReport {
    /// Whether there is no error.
    pub fn is_ok(&self) -> bool {
        self.errors().next().is_none()
    }

    /// The errors among the findings.
    pub fn errors(&self) -> impl Iterator<Item = &CodeViolation> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// The remarks among the findings.
    pub fn remarks(&self) -> impl Iterator<Item = &CodeViolation> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Remark)
    }
}

/// Collects findings of one stage; at most one per instruction and rule.
pub(super) struct Reporter<'a> {
    code: &'a Code<'a>,
    stage: &'a StageCode,
    found: BTreeMap<(u32, CodeRule), CodeViolation>,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(code: &'a Code<'a>, stage: &'a StageCode) -> Self {
        Self { code, stage, found: BTreeMap::new() }
    }

    /// Reports an instruction that breaks a rule.
    pub(super) fn add(&mut self, rule: CodeRule, at: u32, what: impl Into<String>) {
        self.insert(rule, at, None, None, what.into());
    }

    /// Reports an instruction that breaks a rule about a register.
    pub(super) fn register(&mut self, rule: CodeRule, step: &Step, register: Register, what: impl Into<String>) {
        self.insert(rule, step.at, Some(register), None, what.into());
    }

    /// Reports an instruction that comes too early after another.
    pub(super) fn early(
        &mut self,
        rule: CodeRule,
        step: &Step,
        register: Option<Register>,
        issued: Option<u32>,
        what: &str,
    ) {
        self.insert(rule, step.at, register, issued, what.to_owned());
    }

    fn insert(&mut self, rule: CodeRule, at: u32, register: Option<Register>, issued: Option<u32>, what: String) {
        if self.found.contains_key(&(at, rule)) {
            return;
        }
        let finding = CodeViolation {
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

    /// All findings, by address.
    pub(super) fn finish(self) -> impl Iterator<Item = CodeViolation> {
        self.found.into_values()
    }
}
