//! `dovetail verify`: would PAL load this?

use crate::common::print_json;
use dovetail::error::{Context, Result};
use dovetail::link::verify;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check linked pipeline ELFs by the rules of the PAL loader.
///
/// Exit code 1 if a rule is broken; each violation names its rule.
#[derive(clap::Args)]
pub struct Args {
    /// Linked ELFs.
    #[arg(required = true, value_name = "ELF")]
    files: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let mut reports = Vec::new();
    for file in &args.files {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).at(|| name.clone())?;
        reports.push((name.clone(), verify(&bytes).at(|| name)?));
    }
    let clean = reports.iter().all(|(_, report)| report.is_ok());
    if args.json {
        let list: Vec<_> = reports.iter().map(|(f, r)| serde_json::json!({ "file": f, "report": r })).collect();
        print_json(&list)?;
    } else {
        for (file, report) in &reports {
            let stages: Vec<_> = report.stages.iter().map(|s| s.name()).collect();
            let verdict =
                if report.is_ok() { "loads".to_owned() } else { format!("{} violations", report.violations.len()) };
            println!("{file}: {} ({})", verdict, stages.join(", "));
            report.violations.iter().for_each(|v| println!("  {v}"));
        }
    }
    Ok(ExitCode::from(u8::from(!clean)))
}
