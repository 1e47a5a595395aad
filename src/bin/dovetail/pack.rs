//! `dovetail pack`: makes packs, sends them to other machines, and adds them to caches.

mod make;
mod place;
mod send;

use crate::common::{Output, print_json};
use crate::progress::Progress;
use dovetail::error::{Context, Error, Result};
use dovetail::pack::{Pack, PackMeta, Root};
use dovetail::ship::transport::{self, LEVEL};
use dovetail::ship::trust::Trust;
use std::path::{Path, PathBuf};
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

/// Where a pack is written.
#[derive(clap::Args)]
struct OutArgs {
    /// Output file; compressed if its name ends in `.zst`, and standard output for `-`.
    #[arg(long, short, value_name = "FILE")]
    out: Output,
    /// Level of compression, 1 to 22: from 10 on it takes seconds for each 10 MB.
    #[arg(long, default_value_t = LEVEL, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=22))]
    level: i32,
}

impl OutArgs {
    /// Has a pack written, and compresses it if its name says so.
    fn write(&self, make: impl FnOnce(&Path) -> Result<About>) -> Result<About> {
        self.out.claim();
        let path = self.out.path();
        let compressed = path.extension().is_some_and(|extension| extension == "zst");
        if !compressed && !self.out.is_standard() {
            return make(path);
        }
        let temporary = tempfile::Builder::new().prefix("dovetail-pack-").tempdir().at(|| "a temporary folder")?;
        let raw = temporary.path().join("pack");
        let about = make(&raw)?;
        if compressed {
            let progress = Progress::new((about.file_bytes as usize).div_ceil(transport::STEP), "compressing, MiB");
            transport::compress(&raw, path, self.level, &mut || progress.tick())?;
            progress.finish();
        } else {
            self.out.write(&dovetail::files::read(&raw, u64::MAX)?)?;
        }
        Ok(about)
    }
}

/// Whose packs are accepted.
#[derive(clap::Args)]
struct TrustArgs {
    /// Public key (.pub), or folder of keys and of signed withdrawals (.withdrawn.toml); may be repeated. By default the folders
    /// dovetail/trust in $XDG_CONFIG_HOME or ~/.config, and /etc/dovetail/trust.
    #[arg(long, value_name = "PATH")]
    trust: Vec<PathBuf>,
}

impl TrustArgs {
    fn read(&self) -> Result<Trust> {
        if self.trust.is_empty() {
            return Trust::standard();
        }
        let (folders, keys): (Vec<PathBuf>, Vec<PathBuf>) = self.trust.iter().cloned().partition(|path| path.is_dir());
        keys.iter().try_fold(Trust::read(&folders)?, |trust, key| trust.with_key(key))
    }
}

/// What a pack is, for people and for other programs.
#[derive(serde::Serialize)]
struct About {
    name: String,
    version: u64,
    root: String,
    targets: Vec<String>,
    compilers: Vec<String>,
    keys: u64,
    payloads: u64,
    payload_bytes: u64,
    file_bytes: u64,
}

impl About {
    fn of(pack: &Pack) -> Self {
        let (head, meta) = (pack.head(), pack.meta().clone());
        let PackMeta { name, version, targets, compilers } = meta;
        Self {
            name,
            version,
            root: pack.root().to_string(),
            targets,
            compilers,
            keys: head.keys,
            payloads: head.payloads,
            payload_bytes: head.data,
            file_bytes: head.file_bytes(),
        }
    }

    fn lines(&self) -> String {
        let list = |list: &[String]| if list.is_empty() { "-".to_owned() } else { list.join(", ") };
        format!(
            "{} {}: {} keys, {} payloads of {} bytes, file {} bytes\n  for {}, by {}\n  root {}",
            self.name,
            self.version,
            self.keys,
            self.payloads,
            self.payload_bytes,
            self.file_bytes,
            list(&self.targets),
            list(&self.compilers),
            self.root
        )
    }

    fn print(&self, json: bool) -> Result<()> {
        if json {
            return print_json(self);
        }
        println!("{}", self.lines());
        Ok(())
    }
}

/// Parses a pack's root.
fn root(text: &str) -> Result<Root> {
    text.parse()
}

/// Parses a pack's name.
fn pack_name(text: &str) -> Result<String> {
    PackMeta { name: text.to_owned(), ..PackMeta::default() }.check()?;
    Ok(text.to_owned())
}

/// The error of an output that is several files.
fn one_file(out: &Output) -> Result<&Path> {
    let path = out.path();
    if out.is_standard() { Err(Error::malformed("this is written to a file only: name one")) } else { Ok(path) }
}
