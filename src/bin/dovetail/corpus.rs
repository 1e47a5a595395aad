//! `dovetail corpus`: extracts SPIR-V modules from files of any kind into a directory.
//!
//! Writes `<name>.spv` for each distinct module, `index.json` (description and origin of each), `pairs.tsv` (matching
//! vertex and fragment modules) and `spec.toml` (workgroup sizes for modules that leave them to specialization). The
//! output depends only on the contents and the order of the files.

use crate::common::{InputArgs, folder, print_json};
use clap::Subcommand;
use clap::builder::{OsStringValueParser, TypedValueParser};
use dovetail::corpus::describe::{Entry, Extent, SpecConstant};
use dovetail::corpus::extract::{CorpusModule, Extraction, Extractor, pairs};
use dovetail::corpus::input;
use dovetail::corpus::spec::{SpecFile, suggest};
use dovetail::error::{Context, Error, Result, printable};
use dovetail::files::write_unsynced;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Extract and check corpora of real shaders.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Search files for SPIR-V: plain, in zip, tar, gzip, zlib, zstd and xz, and in Qt resources.
    ///
    /// Modules whose names differ only in their stage (`rounded.vert`, `rounded.frag`) are listed as pairs, which other
    /// commands link.
    ///
    /// A file that cannot be read completely is skipped or cut, and named; the exit code is then 1.
    Extract {
        /// Files, and directories to search.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// Output directory; created if missing.
        #[arg(short, long, value_parser = OsStringValueParser::new().try_map(folder))]
        out: PathBuf,
        /// Print the counts as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        input: InputArgs,
    },
    Check(crate::corpus_check::Args),
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Extract { paths, out, json, input } => extract(&paths, &out, input.bytes(), json),
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    called: Vec<&'a str>,
}

impl<'a> IndexEntry<'a> {
    fn new(module: &'a CorpusModule) -> Self {
        let about = &module.description;
        Self {
            name: &module.name,
            file: file_name(module),
            origin: &module.origin,
            blake3: module.digest.to_hex().to_string(),
            bytes: module.bytes,
            entries: &about.entries,
            cooperative_matrix: about.cooperative_matrix,
            workgroup: about.workgroup,
            constants: &about.constants,
            called: module.called.iter().map(|called| called.name.as_str()).collect(),
        }
    }
}

fn file_name(module: &CorpusModule) -> String {
    format!("{}.spv", module.name)
}

fn extract(paths: &[PathBuf], out: &Path, memory: u64, json: bool) -> Result<ExitCode> {
    fs::create_dir_all(out).at(|| out.display().to_string())?;
    let mut saved = Ok(());
    let mut save_module = |module: &CorpusModule, bytes: Vec<u8>| {
        if saved.is_ok() {
            saved = save(out, &file_name(module), &bytes);
        }
    };
    let mut extractor = Extractor::new(&mut save_module);
    let mut bad = Vec::new();
    for path in paths {
        input::each_file(path, &mut |file| {
            let searched = file.and_then(|file| {
                let bytes = input::read_input(&file, memory)?;
                extractor.add(&input::below(path, &file), &bytes, memory);
                Ok(())
            });
            bad.extend(searched.err().map(|e| e.to_string()));
        });
    }
    let extraction = extractor.finish();
    saved?;
    let incomplete = extraction.incomplete.iter();
    bad.extend(incomplete.map(|(file, why)| format!("{}: not searched completely: {why}", printable(file))));
    for why in &bad {
        eprintln!("{why}");
    }
    if extraction.modules.is_empty() {
        return Err(Error::malformed("no SPIR-V module in the given paths"));
    }
    let (pairs, left_out) = write(&extraction, out)?;
    let modules = extraction.modules.len();
    if json {
        print_json(&serde_json::json!({
            "out": out.display().to_string(), "modules": modules, "pairs": pairs, "pairs_left_out": left_out, "input_errors": bad,
        }))?;
    } else {
        println!("{}: {modules} modules, {pairs} vertex+fragment pairs", printable(&out.display().to_string()));
        if left_out > 0 {
            println!("{left_out} combinations of modules with the same folder and name were skipped");
        }
    }
    Ok(ExitCode::from(u8::from(!bad.is_empty())))
}

/// Writes the lists; returns the numbers of pairs listed and left out.
fn write(extraction: &Extraction, out: &Path) -> Result<(usize, usize)> {
    let modules = &extraction.modules;
    let index: Vec<_> = modules.iter().map(IndexEntry::new).collect();
    let index = serde_json::to_vec_pretty(&index).map_err(|e| Error::bug(e.to_string()).at("index.json"))?;
    save(out, "index.json", &index)?;
    let pairs = pairs(modules);
    let lines = pairs.found.iter().map(|(base, v, f)| format!("{base}\t{}\t{}\n", file_name(v), file_name(f)));
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
    Ok((pairs.found.len(), pairs.left_out))
}

fn save(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    write_unsynced(&directory.join(name), bytes)
}
