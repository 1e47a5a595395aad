//! `dovetail corpus`: files of any kind into a directory of SPIR-V modules.
//!
//! Writes `<name>.spv` for each distinct module, `index.json` (what each is and where it comes from), `pairs.tsv` (vertex and
//! fragment modules that belong together) and `spec.toml` (workgroup sizes for modules that leave them open). All of it
//! depends on the contents and the order of the files only.

use crate::common::write_file;
use clap::Subcommand;
use dovetail::corpus::describe::{Entry, Extent, SpecConstant};
use dovetail::corpus::extract::{Extraction, Extractor, Module, pairs};
use dovetail::corpus::input;
use dovetail::corpus::spec::{SpecFile, suggest};
use dovetail::error::{Context, Error, Result};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Corpora of shaders that others wrote: find them, and run them through everything.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Search files for SPIR-V: plain, in zip, tar, gzip, zlib and zstd, and in Qt resources.
    Extract {
        /// Files, and directories to search through.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// Directory to write to; made if missing.
        #[arg(short, long)]
        out: PathBuf,
    },
    Check(crate::corpus_check::Args),
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Extract { paths, out } => extract(&paths, &out).map(|()| ExitCode::SUCCESS),
        Command::Check(args) => crate::corpus_check::run(&args),
    }
}

/// A line of `index.json`.
#[derive(Serialize)]
struct IndexEntry<'a> {
    name: &'a str,
    file: String,
    origin: &'a str,
    blake3: String,
    bytes: usize,
    entries: &'a [Entry],
    cooperative_matrix: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    workgroup: Option<[Extent; 3]>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    constants: &'a [SpecConstant],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    called: &'a [String],
}

impl<'a> IndexEntry<'a> {
    fn new(module: &'a Module) -> Self {
        let about = &module.description;
        Self {
            name: &module.name,
            file: file_name(module),
            origin: &module.origin,
            blake3: module.digest.to_hex().to_string(),
            bytes: module.bytes.len(),
            entries: &about.entries,
            cooperative_matrix: about.cooperative_matrix,
            workgroup: about.workgroup,
            constants: &about.constants,
            called: &module.called,
        }
    }
}

fn file_name(module: &Module) -> String {
    format!("{}.spv", module.name)
}

fn extract(paths: &[PathBuf], out: &Path) -> Result<()> {
    let mut extractor = Extractor::default();
    for path in paths {
        for file in input::files(path)? {
            let bytes = fs::read(&file).at(|| file.display().to_string())?;
            extractor.add(&file.display().to_string(), &bytes);
        }
    }
    let extraction = extractor.finish();
    for file in &extraction.incomplete {
        eprintln!("{file}: larger or deeper than the limits; not all of it was searched");
    }
    if extraction.modules.is_empty() {
        return Err(Error::malformed("no SPIR-V module in the given paths"));
    }
    write(&extraction, out)
}

fn write(extraction: &Extraction, out: &Path) -> Result<()> {
    fs::create_dir_all(out).at(|| out.display().to_string())?;
    let modules = &extraction.modules;
    for module in modules {
        save(out, &file_name(module), &module.bytes)?;
    }
    let index: Vec<_> = modules.iter().map(IndexEntry::new).collect();
    let index = serde_json::to_vec_pretty(&index).map_err(|e| Error::bug(e.to_string()).at("index.json"))?;
    save(out, "index.json", &index)?;
    let pairs = pairs(modules);
    let lines = pairs.iter().map(|(base, v, f)| format!("{base}\t{}\t{}\n", file_name(v), file_name(f)));
    save(
        out,
        "pairs.tsv",
        std::iter::once("base\tvert\tfrag\n".to_owned()).chain(lines).collect::<String>().as_bytes(),
    )?;
    let mut spec = SpecFile::default();
    for module in modules {
        let values = suggest(&module.description);
        if !values.is_empty() {
            spec.push(&module.name, values);
        }
    }
    save(out, "spec.toml", spec.to_toml().as_bytes())?;
    println!("{}: {} modules, {} vertex+fragment pairs", out.display(), modules.len(), pairs.len());
    Ok(())
}

fn save(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    write_file(&directory.join(name), bytes)
}
