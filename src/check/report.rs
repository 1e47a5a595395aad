//! Reports of the checker: one finding for each rule that an instruction breaks, with part, offset and text.

use super::code::{Code, StageCode};
use super::flow::Step;
use dovetail_base::target::Stage;
use dovetail_isa::{Register, disassemble};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// A rule for code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeRule {
    /// Reachable words must be instructions.
    Decode,
    /// Branches must target instructions of this stage.
    Branch,
    /// Every branch target must be known; otherwise nothing is proved.
    Unfollowed,
    /// Each path must end with `s_endpgm`, and leave its part only for the next.
    End,
    /// There is code that no path reaches.
    Unreachable,
    /// A register must not be used before a wait for the operation outstanding on it; nothing may be outstanding at a
    /// barrier.
    Wait,
    /// EXEC must not change while an export may still read it.
    ExecWhileExport,
    /// A register must be written before it is read.
    Uninitialised,
    /// Values that a body stores or exports must be defined.
    Undefined,
    /// The result of arithmetic must be used.
    DeadResult,
    /// There must be no vector work before lanes have reconverged.
    Lanes,
    /// A wave must not go around a loop with EXEC = 0.
    EmptyLoop,
    /// There must be no vector work with EXEC = 0.
    Idle,
    /// Dependent instructions must have the waits that this GPU generation needs.
    Hazard,
    /// A clause must hold instructions of one kind.
    Clause,
    /// Operands must be such as the hardware accepts.
    Operands,
    /// Registers must be within the metadata's declarations.
    Registers,
    /// LDS and scratch must be declared if they are used.
    Memory,
    /// A constant LDS offset must be within the LDS size.
    Beyond,
    /// Exports and attributes must be as the registers declare them, and the last export must have `done`.
    Export,
    /// A register that the hardware sets at entry must still hold that value when a body reads it.
    Entry,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A wave may hang, lose lanes, read a wrong value, or break the ABI; or this cannot be excluded.
    Error,
    /// The code is correct, but does useless work, or works on a value that the shader leaves undefined.
    Remark,
}

impl CodeRule {
    /// Severity of a violation of this rule.
    pub const fn severity(self) -> Severity {
        match self {
            // Beyond: addresses in LDS wrap, so a large offset is correct with a negative register, and beyond its size
            // LDS reads 0 and ignores writes. DeadResult: compilers learn only after instruction selection which dwords
            // of a wide result are read. Idle: vector work with EXEC = 0 has no effect; LLVM uses such a branch as
            // "never", after any mask. Undefined: a shader may store an undefined value, which makes only the stored
            // data undefined.
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
    /// The part: prolog, body or epilog.
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
    /// The instruction that breaks the rule.
    pub place: InstructionPlace,
    /// The register concerned.
    pub register: Option<String>,
    /// The instruction whose operation is outstanding, or that should have come first.
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

/// Size of the code checked for one stage.
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
        let instruction = match disassemble(self.code.isa, rest) {
            Ok(inst) => inst.text(self.code.isa, self.stage.wave),
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
