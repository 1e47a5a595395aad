//! `dovetail state template`: generates a state file from the declarations of shaders.

use crate::common::{read_module, write_file};
use dovetail::compile::spirv::{self, ModuleInfo};
use dovetail::error::{Context, Error, Result};
use dovetail::template;
use std::path::PathBuf;
use std::process::ExitCode;

/// Pipeline state files.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Write a state file for these shaders: descriptor sets, push constants, vertex attributes, colour attachments.
    ///
    /// Formats are guessed from the shaders' types (four 32-bit components, R8G8B8A8_UNORM colours): edit them to match
    /// the application.
    #[command(after_help = "Example:\n  dovetail state template a.vert.spv a.frag.spv -o state.toml")]
    Template {
        /// SPIR-V files of one pipeline: vertex and fragment, or compute.
        #[arg(required = true, value_name = "SPIRV")]
        shaders: Vec<PathBuf>,
        /// Output file; by default standard output.
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let Command::Template { shaders, out } = &args.command;
    let mut translated = Vec::new();
    for path in shaders {
        let place = || path.display().to_string();
        let module = read_module(path)?;
        let info: ModuleInfo = spirv::reflect(&module).at(place)?;
        for entry in &info.entry_points {
            if let Some(stage) = entry.stage {
                translated.push(spirv::translate(&module, &entry.name, stage, &[]).at(place)?);
            }
        }
    }
    if translated.is_empty() {
        return Err(Error::malformed("no vertex, fragment or compute entry point in the given files"));
    }
    let text = template::toml(&template::state(&translated)?)?;
    match out {
        Some(path) => write_file(path, text.as_bytes())?,
        None => print!("{text}"),
    }
    Ok(ExitCode::SUCCESS)
}
