//! `dovetail pack`: makes packs, sends them to other machines, and adds them to caches.

mod about;
mod make;
mod place;
mod send;

use dovetail::error::Result;
use std::process::ExitCode;

/// Make, send and add packs: files of results that never change.
///
/// A pack holds what a cache holds, in one file that other machines read as it is: below their own cache, without a copy of
/// its contents, on read-only media too, and without a compiler. Equal contents give equal bytes, so packs can be compared by
/// their root, and a signature stays valid for a pack that was made again elsewhere.
///
/// Where a command reads a pack, it may be compressed (`.zst`); where it writes one to a name that ends in `.zst`, it compresses it.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  dovetail pack key farm\n  dovetail populate shaders/ --cache farm-cache\n  \
    dovetail pack create --cache farm-cache --name game --version 1 -o game.pack\n  \
    dovetail pack sign game.pack --key farm.key\n\n\
    On another machine, which trusts farm.pub:\n  dovetail pack add game.pack --cache cache --trust farm.pub\n  \
    dovetail link --no-compile --vs a.vert.spv --fs a.frag.spv --state a.toml --cache cache -o a.elf")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Create(make::CreateArgs),
    Merge(make::MergeArgs),
    Diff(send::DiffArgs),
    Apply(send::ApplyArgs),
    Verify(send::VerifyArgs),
    Key(send::KeyArgs),
    Sign(send::SignArgs),
    Add(place::AddArgs),
    Remove(place::RemoveArgs),
    List(place::ListArgs),
}

pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Create(args) => make::create(args),
        Command::Merge(args) => make::merge(args),
        Command::Diff(args) => send::diff(args),
        Command::Apply(args) => send::apply(args),
        Command::Verify(args) => send::verify(args),
        Command::Key(args) => send::key(args),
        Command::Sign(args) => send::sign(args),
        Command::Add(args) => place::add(args),
        Command::Remove(args) => place::remove(args),
        Command::List(args) => place::list(args),
    }
}
