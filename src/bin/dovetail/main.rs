//! The `dovetail` program.

mod corpus;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find shaders to work on.
    Corpus(corpus::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Corpus(args) => corpus::run(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dovetail: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
