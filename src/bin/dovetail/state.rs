//! `dovetail state template`: generates a state file from the declarations of shaders.

use crate::common::{Output, print_json, read_module};
use dovetail::compile::spirv;
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
        /// Output file; by default standard output, as for `-`.
        #[arg(long, short, value_name = "FILE", default_value = "-", hide_default_value = true)]
        out: Output,
        /// Print the state as JSON, for other programs; the commands of this one read TOML.
        #[arg(long, conflicts_with = "out")]
        json: bool,
    },
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let Command::Template { shaders, out, json } = &args.command;
    let (mut translated, mut constants) = (Vec::new(), Vec::new());
    for path in shaders {
        let place = || path.display().to_string();
        let module = read_module(path)?;
        let info = spirv::reflect(&module).at(place)?;
        for entry in &info.entry_points {
            if let Some(stage) = entry.stage {
                translated.push(spirv::translate(&module, &entry.name, stage, &[]).at(place)?);
                constants.extend(info.spec_constants.iter().map(|constant| template::Constant {
                    stage,
                    id: constant.id,
                    name: constant.name.clone(),
                    bits: constant.bits,
                    default: constant.default,
                    is_operand: module.operand_ids().contains(&constant.id),
                }));
            }
        }
    }
    if translated.is_empty() {
        return Err(Error::malformed("no vertex, fragment or compute entry point in the given files"));
    }
    let state = template::state(&translated)?;
    if *json {
        print_json(&state)?;
    } else {
        out.write(template::toml(&state, &constants)?.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
