//! A static checker for the machine code of a final ELF: it checks every path through prolog, body and epilog without
//! running it.
//!
//! ```text
//! bytes ── code ──> Code        words, parts, and what the metadata declare of each stage
//!   per stage ── flow ──> Graph     reachable instructions, their effects, basic blocks
//!     ├ waits      results used before they have arrived, exports overwritten, barriers with work outstanding
//!     ├ values     registers read that were not written, or not for the active lanes (written), or only saved (saved)
//!     ├ handover   entry registers that a prolog overwrites and the body reads
//!     ├ results    arithmetic with unused results
//!     ├ lanes      vector work with EXEC = 0
//!     ├ meet       lanes that do not reconverge where paths join
//!     ├ empty_loops  loops that a wave goes around with EXEC = 0
//!     ├ exports    undeclared or missing exports, and a last one with `done`
//!     ├ hazards    clauses, and hazards that the hardware does not interlock
//!     └ limits     registers, LDS and scratch beyond the declarations; operands that the hardware does not accept
//! ```
//!
//! Invariant: code from LLVM and from the native generator has no errors; `docs/proof.md` names each exception that
//! this required.
//!
//! A broken rule is an error, or a remark if it only costs work ([`CodeRule::severity`]).
//!
//! The checker shares the decoder and the ELF reader with the rest, but no rules: it knows nothing about how code is
//! made. To add a rule, add a variant of [`CodeRule`], a pass or a line in one, and a good and a bad case in
//! `tests/code/rules.rs`.

#[cfg(test)]
mod by_hand;
mod code;
mod empty_loops;
mod entry;
pub mod estimate;
mod exports;
mod flow;
mod handover;
mod hazards;
mod lanes;
mod lds_direct;
mod limits;
mod mask_op;
mod masks;
mod meet;
mod names;
mod pairs;
mod priority;
mod register_hazards;
mod report;
mod results;
mod saved;
mod solve;
mod values;
mod waits;
mod written;

pub use report::{CodeReport, CodeRule, CodeViolation, InstructionPlace, Severity, StageReport};

use code::Code;
use dovetail_base::error::Result;
use flow::Graph;
use report::Reporter;

/// Checks all code of a final ELF.
///
/// # Errors
/// Malformed: not an ELF with code and metadata that can be checked.
pub fn check(bytes: &[u8]) -> Result<CodeReport> {
    let code = Code::read(bytes)?;
    let mut report = CodeReport::default();
    for stage in &code.stages {
        let mut reporter = Reporter::new(&code, stage);
        let graph = Graph::new(&code, stage, &mut reporter);
        waits::check(&graph, &mut reporter);
        values::check(&graph, &code, stage, &mut reporter);
        handover::check(&graph, &code, stage, &mut reporter);
        results::check(&graph, &code, &mut reporter);
        lanes::check(&graph, &code, &mut reporter);
        meet::check(&graph, stage, &mut reporter);
        empty_loops::check(&graph, stage.wave, &mut reporter);
        exports::check(&graph, &code, stage, &mut reporter);
        hazards::check(&graph, stage.wave, &mut reporter);
        priority::check(&graph, &mut reporter);
        register_hazards::check(&graph, stage.wave, &mut reporter);
        limits::check(&graph, stage, &mut reporter);
        report.stages.push(StageReport {
            stage: stage.stage,
            instructions: graph.steps.len(),
            blocks: graph.blocks.len(),
        });
        report.findings.extend(reporter.finish());
    }
    Ok(report)
}
