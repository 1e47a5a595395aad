//! `pack create` and `pack merge`.

use super::about::{About, OutArgs, pack_name};
use crate::common::{open_cache, print_json};
use crate::progress::Progress;
use crate::serve::cache_dir;
use dovetail::cache::{Cache, Key, Payload, StoreKind};
use dovetail::error::{Context, Error, Result};
use dovetail::pack::{self, Merged, Pack, PackList, PackMeta, PackSource, PackWriter, Resolve, packs_dir};
use dovetail::ship::transport;
use dovetail::target::Gpu;
use dovetail::toolchain::CacheManifest;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Make a pack of everything in a cache's store.
///
/// Parts, notes and pipelines, for the GPUs asked for. Packs that the cache reads are left out unless `--all` asks for them.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  dovetail pack create --cache cache --name game --version 3 -o game.pack\n  \
    dovetail pack create --cache cache --target gfx1033 --name game-deck --version 3 -o game-deck.pack.zst")]
pub struct CreateArgs {
    /// Cache directory; by default that of `dovetail serve`.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Also take what the packs of the cache have.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    meta: MetaArgs,
    #[command(flatten)]
    out: OutArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Unite packs into one, whose bytes do not depend on their order.
///
/// For a farm: each worker makes a pack, and this one is what a single machine would have made. Exits with 1 if packs have different
/// code under one key: a compiler or a machine is broken.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  dovetail pack merge worker-*.pack --name game --version 3 -o game.pack")]
pub struct MergeArgs {
    /// Packs.
    #[arg(required = true, value_name = "PACK")]
    packs: Vec<PathBuf>,
    #[command(flatten)]
    meta: MetaArgs,
    #[command(flatten)]
    out: OutArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What a pack is called, and what goes into it.
#[derive(clap::Args)]
struct MetaArgs {
    /// Its name: a-z, 0-9 and .-+_. A pack replaces an older one of its name.
    #[arg(long, value_name = "NAME", value_parser = pack_name)]
    name: String,
    /// Its version, a number. A cache refuses to go back to a smaller one.
    #[arg(long, value_name = "N")]
    version: u64,
    /// GPUs whose code it is to have, separated by commas; by default all.
    #[arg(long = "target", value_name = "GPU,…", value_delimiter = ',')]
    targets: Vec<Gpu>,
}

/// A compiler's name, with the beginning of the digest of its sources.
fn compiler(manifest: &CacheManifest) -> String {
    let sources: String = manifest.compiler.sources.chars().take(12).collect();
    format!("{} ({sources})", manifest.compiler.backend)
}

/// What is made of several sources.
#[derive(serde::Serialize)]
struct Made {
    #[serde(flatten)]
    about: About,
    #[serde(flatten)]
    merged: Merged,
}

/// Decides about keys that sources have differently, and about GPUs.
struct Rules {
    manifest: Key,
    targets: Vec<Gpu>,
}

impl Resolve for Rules {
    fn resolve(&self, key: &Key, payloads: &[Payload]) -> Result<Option<Payload>> {
        if *key != self.manifest {
            return Ok(None);
        }
        let manifests = payloads.iter().map(|payload| CacheManifest::read(payload)).collect::<Result<Vec<_>>>()?;
        let Some(first) = manifests.first() else { return Ok(None) };
        if let Some(other) = manifests.iter().find(|other| other.compiler != first.compiler) {
            let why = format!(
                "the packs are of different compilers, {} and {}, and a reader uses the code of one: compile with one",
                compiler(first),
                compiler(other)
            );
            return Err(Error::malformed(why));
        }
        let united = CacheManifest { pairs: manifests.iter().any(|manifest| manifest.pairs), ..first.clone() };
        Ok(Some(Payload::of(united.bytes()?)))
    }

    fn wants(&self, _: &Key, payload: &Payload) -> bool {
        // What is no ELF belongs to no GPU.
        self.targets.is_empty() || Gpu::of_elf(payload).ok().is_none_or(|gpu| self.targets.contains(&gpu))
    }
}

impl MetaArgs {
    /// Writes a pack of everything that the sources have.
    fn make(&self, sources: &[&dyn PackSource], expected: u64, to: &Path) -> Result<Made> {
        let rules = Rules { manifest: CacheManifest::key()?, targets: self.targets.clone() };
        let (mut targets, mut compilers) = (BTreeSet::new(), BTreeSet::new());
        let progress = Progress::new(expected as usize, "packing");
        let mut writer = PackWriter::create(to)?;
        let merged = pack::merge(sources, &rules, &mut writer, |key, payload| {
            targets.extend(Gpu::of_elf(payload).ok());
            if *key == rules.manifest {
                compilers.extend(CacheManifest::read(payload).ok().map(|manifest| compiler(&manifest)));
            }
            progress.tick();
        })?;
        progress.finish();
        let targets = targets.iter().map(Gpu::to_string).collect();
        let meta = PackMeta {
            name: self.name.clone(),
            version: self.version,
            targets,
            compilers: compilers.into_iter().collect(),
        };
        writer.finish(&meta)?;
        let pack = Pack::open(to)?;
        Ok(Made { about: About::of(&pack), merged })
    }
}

impl Made {
    fn report(&self, json: bool) -> Result<ExitCode> {
        let Merged { keys: _, doubles, differing, examples, lost } = &self.merged;
        if json {
            print_json(self)?;
        } else {
            println!("{}", self.about.lines());
            if *doubles > 0 {
                println!("  {doubles} keys of several packs");
            }
        }
        if *lost > 0 {
            eprintln!("dovetail: {lost} entries are damaged and were left out: populate the cache again");
        }
        if *differing > 0 {
            eprintln!(
                "dovetail: {differing} keys have different contents, and one of each was taken: {}",
                examples.join(", ")
            );
        }
        Ok(ExitCode::from(u8::from(*lost > 0 || *differing > 0)))
    }
}

/// Writes what `make` makes, and reports it.
fn write(out: &OutArgs, json: bool, make: impl FnOnce(&Path) -> Result<Made>) -> Result<ExitCode> {
    let mut merged = Merged::default();
    let about = out.write(|path| {
        let made = make(path)?;
        merged = made.merged;
        Ok(made.about)
    })?;
    Made { about, merged }.report(json)
}

pub fn create(args: &CreateArgs) -> Result<ExitCode> {
    let dir = cache_dir(args.cache.as_ref())?;
    let place = || dir.display().to_string();
    // Not its packs: those are sources of their own.
    let store = Cache::new(StoreKind::Lmdb.open(&dir)?);
    let mut packs = Vec::new();
    if args.all {
        drop(open_cache(&dir, StoreKind::Lmdb)?);
        for line in PackList::read(&dir)?.accepted() {
            packs.push(Pack::open(&packs_dir(&dir).join(&line.path))?);
        }
    }
    if store.keys_after(None)?.is_empty() && packs.is_empty() {
        return Err(
            Error::environment("there is nothing in this cache: fill it first (`dovetail populate`)").at(place())
        );
    }
    let sources: Vec<&dyn PackSource> =
        std::iter::once(&store as &dyn PackSource).chain(packs.iter().map(|pack| pack as _)).collect();
    write(&args.out, args.json, |path| args.meta.make(&sources, 0, path))
}

pub fn merge(args: &MergeArgs) -> Result<ExitCode> {
    let packs = args.packs.iter().map(|path| transport::open(path)).collect::<Result<Vec<_>>>()?;
    let sources: Vec<&dyn PackSource> = packs.iter().map(|pack| &**pack as &dyn PackSource).collect();
    let expected = packs.iter().map(|pack| pack.head().keys).sum();
    write(&args.out, args.json, |path| args.meta.make(&sources, expected, path)).at(|| "merge")
}
