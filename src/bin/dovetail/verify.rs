//! `dovetail verify`: checks that PAL would load an ELF, and that its code obeys the hardware's rules.

use crate::common::{print_json, read_elf};
use dovetail::check::{self, CodeReport};
use dovetail::error::{Context, Result};
use dovetail::link::{VerifyReport, verify};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check linked pipeline ELFs by the PAL loader's rules, and their code by the hardware's.
///
/// Exit code 1 if a loader rule is violated or the code has an error; each violation and finding names its rule.
/// Remarks on the code, which report waste, do not change the exit code.
#[derive(clap::Args)]
pub struct Args {
    /// Linked ELFs.
    #[arg(required = true, value_name = "ELF")]
    files: Vec<PathBuf>,
    /// Also follow every path of the machine code: waits, registers, branches, exports, limits.
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
        let bytes = read_elf(file)?;
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
