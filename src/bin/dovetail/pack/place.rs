//! `pack add`, `remove` and `list`.

use super::about::{About, TrustArgs, pack_name};
use crate::common::print_json;
use crate::progress::Progress;
use crate::serve::{cache_dir, share};
use dovetail::error::Result;
use dovetail::pack::{Listed, Pack, PackList, PackStanding, packs_dir, system_folder, system_packs};
use dovetail::ship::install::{self, Added, Terms};
use dovetail::ship::transport;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Number of packs from which on a miss takes longer than it should.
const MANY: usize = 8;

/// Check a pack and add it to a cache, below its store: every command, service and driver with this cache then reads it.
///
/// The pack is copied into the folder `packs` of the cache, and its root is listed there; a pack with another root is never read. It
/// must be signed by a key that you trust, and not be older than the version that is or was there.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  dovetail pack add game.pack --cache cache --trust farm.pub\n  \
    dovetail pack add mine.pack --cache cache --unsigned\n  sudo dovetail pack add game.pack --system")]
pub struct AddArgs {
    /// The pack.
    pack: PathBuf,
    /// Cache directory; by default that of `dovetail serve`.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Install it for every user and every cache, in /usr/share/dovetail/packs ($DOVETAIL_PACKS), which must belong to root.
    #[arg(long, conflicts_with_all = ["cache", "shared"])]
    system: bool,
    /// Its signature; by default beside it, with `.minisig` at the end of its name.
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    /// Accept it without a signature: for a pack that you made.
    #[arg(long, conflicts_with = "signature")]
    unsigned: bool,
    /// Accept an older version than the one that is or was there, or another pack of the same version.
    #[arg(long)]
    downgrade: bool,
    /// Let every user read the cache, whatever the mask of file modes (umask) says.
    #[arg(long)]
    shared: bool,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Remove a pack from a cache. Its version is remembered: an older one is not accepted later.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  dovetail pack remove game --cache cache")]
pub struct RemoveArgs {
    /// Its name.
    #[arg(value_parser = pack_name)]
    name: String,
    /// Cache directory; by default that of `dovetail serve`.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// List the packs of a cache in the order in which they are read, and those of the system; or describe packs.
///
/// Exits with 1 if a pack that should be read cannot be.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  dovetail pack list --cache cache\n  dovetail pack list *.pack --json")]
pub struct ListArgs {
    /// Packs to describe, in place of those of a cache.
    packs: Vec<PathBuf>,
    /// Cache directory; by default that of `dovetail serve`.
    #[arg(long, value_name = "DIR", conflicts_with = "packs")]
    cache: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn add(args: &AddArgs) -> Result<ExitCode> {
    let trust = args.trust.read()?;
    let terms = Terms { signature: args.signature.clone(), unsigned: args.unsigned, downgrade: args.downgrade };
    let progress = Progress::new(0, "copying and checking");
    let mut done = || {
        progress.found(1);
        progress.tick();
    };
    let added = if args.system {
        install::add_to_system(&args.pack, &system_folder(), &trust, &terms, &mut done)?
    } else {
        let dir = cache_dir(args.cache.as_ref())?;
        if args.shared {
            share(&dir);
        }
        let added = install::add(&args.pack, &dir, &trust, &terms, &mut done)?;
        if args.shared {
            share(&dir);
        }
        let count = PackList::read(&dir)?.accepted().count();
        if count > MANY {
            eprintln!("dovetail: {count} packs are read, each at every miss: unite some (`dovetail pack merge`)");
        }
        added
    };
    progress.finish();
    let Added { listed, meta: _, replaces, comment, path } = &added;
    if args.json {
        let mut about = serde_json::json!(About::of(&Pack::open(path)?));
        about["signer"] = serde_json::json!(listed.signer);
        about["comment"] = serde_json::json!(comment);
        about["replaces"] = serde_json::json!(replaces);
        about["path"] = serde_json::json!(path);
        print_json(&about)?;
    } else {
        let signer = listed.signer.as_ref().map_or("not signed".to_owned(), |signer| format!("signed by {signer}"));
        let instead = replaces.map(|version| format!(", in the place of version {version}")).unwrap_or_default();
        println!("added {} {}, {signer}{instead}\n  {}", listed.name, listed.version, path.display());
    }
    Ok(ExitCode::SUCCESS)
}

pub fn remove(args: &RemoveArgs) -> Result<ExitCode> {
    let removed = install::remove(&cache_dir(args.cache.as_ref())?, &args.name)?;
    if args.json {
        print_json(
            &serde_json::json!({ "name": removed.name, "version": removed.version, "root": removed.root.to_string() }),
        )?;
    } else {
        println!("removed {} {}", removed.name, removed.version);
    }
    Ok(ExitCode::SUCCESS)
}

/// A line of `list`.
#[derive(serde::Serialize)]
struct Row {
    path: PathBuf,
    /// As the cache's list says; `None` for a pack of the system, or one that is only described.
    standing: Option<PackStanding>,
    signer: Option<String>,
    #[serde(flatten)]
    about: Option<About>,
    /// As listed, if the pack itself cannot be read.
    listed: Option<(String, u64)>,
    /// Why it is not read, although it should be.
    refused: Option<String>,
}

impl Row {
    fn of(path: &Path, opened: Result<About>, line: Option<&Listed>) -> Self {
        let listed = line.map(|line| (line.name.clone(), line.version));
        let other = |about: &About| line.is_some_and(|line| about.root != line.root.to_string());
        let (about, refused) = match opened {
            Ok(about) if other(&about) => {
                (None, Some(format!("its root is {}, not the one that was added", about.root)))
            }
            Ok(about) => (Some(about), None),
            Err(e) => (None, Some(e.to_string())),
        };
        let (standing, signer) = (line.map(|line| line.standing), line.and_then(|line| line.signer.clone()));
        Self { path: path.to_owned(), standing, signer, about, listed, refused }
    }

    fn print(&self) {
        let standing = self.standing.map_or("system".to_owned(), |standing| standing.to_string());
        let (name, version) = self.listed.clone().unwrap_or_default();
        match (&self.about, &self.refused) {
            (Some(about), _) => println!("{standing}: {}", about.lines()),
            (None, Some(why)) => println!("{standing}, cannot be read: {name} {version}\n  {why}"),
            (None, None) => println!("{standing}: {name} {version}"),
        }
        if let Some(signer) = &self.signer {
            println!("  signed by {signer}");
        }
        println!("  {}", self.path.display());
    }
}

pub fn list(args: &ListArgs) -> Result<ExitCode> {
    let rows = if args.packs.is_empty() { rows(&cache_dir(args.cache.as_ref())?)? } else { described(&args.packs)? };
    let refused = rows.iter().any(|row| row.refused.is_some());
    if args.json {
        print_json(&rows)?;
    } else if args.packs.is_empty() {
        rows.iter().for_each(Row::print);
        if rows.is_empty() {
            eprintln!("No packs: `dovetail pack add` adds some.");
        }
    } else {
        rows.iter().filter_map(|row| row.about.as_ref()).for_each(|about| println!("{}", about.lines()));
    }
    Ok(ExitCode::from(u8::from(refused)))
}

fn described(packs: &[PathBuf]) -> Result<Vec<Row>> {
    packs.iter().map(|path| Ok(Row::of(path, Ok(About::of(&*transport::open(path)?)), None))).collect()
}

fn rows(cache: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in &PackList::read(cache)?.0 {
        let path = packs_dir(cache).join(&line.path);
        if line.standing == PackStanding::Accepted {
            rows.push(Row::of(&path, Pack::open(&path).map(|pack| About::of(&pack)), Some(line)));
        } else {
            let listed = Some((line.name.clone(), line.version));
            let (standing, signer) = (Some(line.standing), line.signer.clone());
            rows.push(Row { path, standing, signer, about: None, listed, refused: None });
        }
    }
    for path in system_packs(&system_folder())? {
        rows.push(Row::of(&path, Pack::open(&path).map(|pack| About::of(&pack)), None));
    }
    Ok(rows)
}
