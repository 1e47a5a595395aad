//! The `dovetail` program: one file per subcommand; everything it does is available in the library.

// First, because its macros replace `println!` and others in the whole program.
#[macro_use]
mod out;

mod bisect;
mod common;
mod compile;
mod corpus;
mod corpus_check;
mod diff;
mod feed;
mod inspect;
mod link;
mod objdump;
mod pack;
mod populate;
mod progress;
mod remote;
mod replay;
mod run;
mod serve;
mod service;
mod state;
mod trace;
mod verify;
mod worker;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Shader cache creator and pipeline linker for AMD GPUs.
///
/// Compiles SPIR-V shaders separately, in advance, to unlinked ELFs, keeps them in a cache, and links them into
/// pipeline ELFs once the pipeline state is known.
///
/// Exit codes: 0 success; 1 success, but some inputs failed; 2 malformed input; 3 unsupported; 4 needs a whole-pipeline
/// compile; 5 file, store or process failure; 6 a replayed bundle still differs, or `bisect` found a broken shader; 70
/// internal bug; 71 the compiler process died on the input.
#[derive(Parser)]
#[command(
    name = "dovetail",
    version,
    after_help = "Example:\n  dovetail populate shaders/ --cache cache\n  \
    dovetail state template a.vert.spv a.frag.spv -o state.toml\n  \
    dovetail link --vs a.vert.spv --fs a.frag.spv --state state.toml --cache cache -o a.elf\n  \
    dovetail inspect a.elf"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Populate(populate::Args),
    Link(link::Args),
    Compile(compile::Args),
    Inspect(inspect::Args),
    Diff(diff::Args),
    Verify(verify::Args),
    Run(run::Args),
    Replay(replay::Args),
    Bisect(bisect::Args),
    Corpus(corpus::Args),
    State(state::Args),
    Serve(serve::Args),
    Service(service::Args),
    Pack(pack::Args),
    #[command(hide = true)]
    Worker(worker::Args),
}

fn main() -> ExitCode {
    dovetail::cache::file_size_limit_is_an_error();
    out::finish(match Cli::parse().command {
        Command::Populate(args) => populate::run(&args),
        Command::Link(args) => link::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Bisect(args) => bisect::run(&args),
        Command::Corpus(args) => corpus::run(args),
        Command::State(args) => state::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Service(args) => service::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Worker(args) => worker::run(&args),
    })
}
