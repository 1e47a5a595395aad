//! `dovetail verify`: would PAL load this, and does its code keep the rules of the hardware?

use crate::common::print_json;
use dovetail::check::{self, CodeReport};
use dovetail::error::{Context, Result};
use dovetail::link::{VerifyReport, verify};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check linked pipeline ELFs by the rules of the PAL loader, and their code by those of the hardware.
///
/// Exit code 1 if a rule of the loader is broken, or the code has an error; each violation and each finding names its rule.
/// Remarks on the code, which tell of waste, leave the exit code at 0.
#[derive(clap::Args)]
pub struct Args {
    /// Linked ELFs.
    #[arg(required = true, value_name = "ELF")]
    files: Vec<PathBuf>,
    /// Follow every path of the machine code too: waits, registers, branches, exports, limits.
    #[arg(long)]
    code: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Verified {
    file: String,
    report: VerifyReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<CodeReport>,
}

impl Verified {
    fn is_ok(&self) -> bool {
        self.report.is_ok() && self.code.as_ref().is_none_or(CodeReport::is_ok)
    }
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let mut all = Vec::new();
    for file in &args.files {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).at(|| name.clone())?;
        let report = verify(&bytes).at(|| name.clone())?;
        let code = args.code.then(|| check::check(&bytes)).transpose().at(|| name.clone())?;
        all.push(Verified { file: name, report, code });
    }
    if args.json {
        print_json(&all)?;
    } else {
        all.iter().for_each(print);
    }
    Ok(ExitCode::from(u8::from(!all.iter().all(Verified::is_ok))))
}

fn print(v: &Verified) {
    let stages: Vec<_> = v.report.stages.iter().map(|s| s.name()).collect();
    let broken = v.report.violations.len();
    let verdict = if broken == 0 { "loads".to_owned() } else { format!("{broken} violations") };
    println!("{}: {verdict} ({})", v.file, stages.join(", "));
    v.report.violations.iter().for_each(|violation| println!("  {violation}"));
    let Some(code) = &v.code else { return };
    for s in &code.stages {
        println!("  {}: {} instructions in {} blocks followed", s.stage, s.instructions, s.blocks);
    }
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    println!("  code: {}, {}", count(code.errors().count(), "error"), count(code.remarks().count(), "remark"));
    code.findings.iter().for_each(|finding| println!("  {finding}"));
}
