//! `dovetail corpus check`: builds every pipeline of extracted corpora by every route, and counts the results.
//!
//! A pipeline is a line of `pairs.tsv`, or a compute module with the values of `spec.toml`. Its state is the template
//! derived from its shaders. It is linked adjacent and chained, and compiled as a whole; each result is verified,
//! including its code: errors in the code are failures, remarks are counted. With `--tools`, LLVM's tools must read
//! every ELF without complaint, and list the code as we do.

use crate::common::{
    BuildArgs, CacheArgs, JobArgs, TargetArgs, guarded, print_json, read_found_module, read_text, write_file,
};
use crate::objdump::{self, Listing};
use crate::populate::print_counts;
use crate::progress::Progress;
use dovetail::check::{self, CodeRule};
use dovetail::compile::request::{KnownState, Module, default_wave};
use dovetail::compile::spirv;
use dovetail::compile::unlinked::Remarks;
use dovetail::corpus::input::each_file;
use dovetail::corpus::spec::SpecFile;
use dovetail::error::{Context, Error, Result, printable};
use dovetail::link::{Placement, verify};
use dovetail::pipeline::{self, Built, PipelineOutcome, PipelineRequest, Route, ShaderRef};
use dovetail::state::{PipelineState, SpecializationEntry};
use dovetail::target::{Gpu, Stage};
use dovetail::template;
use dovetail::toolchain::Toolchain;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Link every pair and compute shader of extracted corpora in both layouts, compile it as a whole, and verify the
/// results.
#[derive(clap::Args)]
pub struct Args {
    /// Folders written by `corpus extract`.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    jobs: JobArgs,
    /// Check at most this many pipelines of each folder, evenly spread.
    #[arg(long, value_name = "N")]
    sample: Option<NonZeroUsize>,
    /// Have llvm-readelf-19 and llvm-objdump-19 read every ELF, and compare our disassembly with theirs.
    #[arg(long)]
    tools: bool,
    /// Write the BLAKE3 digest of every ELF, including parts, to FILE: two compilers that generate the same code write
    /// the same file.
    #[arg(long, value_name = "FILE")]
    digests: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    build: BuildArgs,
}

struct Pipeline {
    name: String,
    files: Vec<PathBuf>,
    values: Vec<(u32, u64)>,
}

/// The result for one pipeline: for each route, nothing or the error.
#[derive(Serialize)]
struct Checked {
    name: String,
    kind: &'static str,
    /// Invocations per workgroup, compute only.
    invocations: Option<u64>,
    failures: BTreeMap<&'static str, String>,
    /// BLAKE3 of each ELF: of the parts by stage, of the pipelines by route.
    #[serde(skip)]
    digests: BTreeMap<&'static str, blake3::Hash>,
    /// For each stage that LLVM compiled instead of the native generator, the unsupported feature.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fallbacks: BTreeMap<&'static str, String>,
    /// Number of the checker's remarks by rule, over all routes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    remarks: BTreeMap<CodeRule, usize>,
    /// Comparison of our listing with LLVM's, over all routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    listing: Option<Listing>,
}

impl Checked {
    fn new(p: &Pipeline) -> Self {
        Self {
            name: p.name.clone(),
            kind: if p.files.len() == 1 { "compute" } else { "pair" },
            invocations: None,
            failures: BTreeMap::new(),
            digests: BTreeMap::new(),
            fallbacks: BTreeMap::new(),
            remarks: BTreeMap::new(),
            listing: None,
        }
    }

    /// The same error for each route.
    fn failed(p: &Pipeline, why: &Error) -> Self {
        Self { failures: ROUTES.map(|route| (route, why.to_string())).into(), ..Self::new(p) }
    }
}

const ROUTES: [&str; 3] = ["adjacent", "chained", "whole"];

pub fn run(args: &Args) -> Result<ExitCode> {
    let (mut pipelines, mut unread) = (Vec::new(), Vec::new());
    for dir in &args.dirs {
        let all = collect(dir, &mut unread);
        let step = args.sample.map_or(1, |n| all.len().div_ceil(n.get())).max(1);
        pipelines.extend(all.into_iter().step_by(step));
    }
    let cache = args.build.cache.open()?;
    let compiler = args.build.worker.start(args.jobs.count())?;
    let tools = Toolchain::new(&cache, Some(&compiler))?;
    tools.record_compiler()?;
    let pool = args.jobs.threads()?;
    let targets = args.target.all();
    let work: Vec<(&Pipeline, Gpu)> =
        pipelines.iter().flat_map(|p| targets.iter().map(move |target| (p, *target))).collect();
    let progress = Progress::new(work.len(), "linking");
    let checked: Vec<Checked> = pool.install(|| {
        work.par_iter()
            .map(|(p, target)| {
                let checked = guarded(|| check(args, *target, &tools, p)).unwrap_or_else(|e| Checked::failed(p, &e));
                progress.tick();
                Checked { name: args.target.name(&p.name, *target), ..checked }
            })
            .collect()
    });
    progress.finish();
    CacheArgs::tell(&cache);
    if let Some(file) = &args.digests {
        write_file(file, digests(&checked).as_bytes())?;
    }
    if args.json {
        print_json(&checked)?;
    } else {
        print(&checked);
    }
    let bad = |c: &Checked| !c.failures.is_empty() || c.listing.as_ref().is_some_and(|l| l.same != l.lines);
    // On standard error, next to the table or the JSON.
    unread.iter().for_each(|why| eprintln!("{why}"));
    Ok(ExitCode::from(u8::from(checked.iter().any(bad) || !unread.is_empty())))
}

/// Pairs, then compute modules, of one extracted folder. An unreadable file only skips itself.
fn collect(dir: &Path, unread: &mut Vec<Error>) -> Vec<Pipeline> {
    let mut keep = |found: Result<()>| unread.extend(found.err());
    let mut out = Vec::new();
    let pairs = dir.join("pairs.tsv");
    if pairs.exists() {
        keep(read_text(&pairs).map(|pairs| out.extend(pairs.lines().skip(1).filter_map(|line| pair(dir, line)))));
    }
    let (at, mut spec) = (dir.join("spec.toml"), SpecFile::default());
    if at.exists() {
        let read = read_text(&at).and_then(|text| SpecFile::parse(&text).at(|| at.display().to_string()));
        keep(read.map(|read| spec = read));
    }
    each_file(dir, &mut |file| keep(file.map(|file| out.extend(compute(file, &spec)))));
    out
}

/// A line of `pairs.tsv`: the common name, the vertex module, the fragment module.
fn pair(dir: &Path, line: &str) -> Option<Pipeline> {
    let [base, vert, frag] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
    Some(Pipeline { name: base.to_owned(), files: vec![dir.join(vert), dir.join(frag)], values: Vec::new() })
}

/// The pipeline of a compute module; `None` if the file is not a supported one.
fn compute(file: PathBuf, spec: &SpecFile) -> Option<Pipeline> {
    if file.extension().is_none_or(|e| e != "spv") {
        return None;
    }
    let info = read_found_module(&file).and_then(|m| spirv::reflect(&m)).ok()?;
    if info.cooperative_matrix || !info.entry_points.iter().any(|e| e.stage.is_some_and(Stage::is_dispatched)) {
        return None;
    }
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let values = spec.values(&name).into_iter().map(|(id, v)| (id, u64::from(v))).collect();
    Some(Pipeline { name, files: vec![file], values })
}

fn check(args: &Args, target: Gpu, tools: &Toolchain<'_>, p: &Pipeline) -> Result<Checked> {
    let loaded = load(p)?;
    let mut checked = Checked::new(p);
    checked.invocations = loaded.invocations;
    for route in ROUTES {
        let request = PipelineRequest {
            shaders: loaded.shaders(target).into(),
            state: &loaded.state,
            layout: None,
            target,
            options: args.build.tuning.options(),
            placement: if route == "chained" { Placement::Chained } else { Placement::Adjacent },
        };
        let built = if route == "whole" {
            pipeline::build_whole(&request, tools, None)
        } else {
            pipeline::build(&request, tools)
        };
        if route == ROUTES[0]
            && let Err(why) = unlinked(args, tools, &request, &mut checked)
        {
            checked.failures.insert("unlinked", why.to_string());
        }
        match built.and_then(|outcome| judge(args, route, outcome, &mut checked)) {
            Ok(Some(listing)) => checked.listing.get_or_insert_default().add(listing),
            Ok(None) => {}
            Err(why) => drop(checked.failures.insert(route, why.to_string())),
        }
    }
    Ok(checked)
}

/// Checks that a result came by the expected route, and loads; with `--tools`, also its listing.
fn judge(args: &Args, route: &'static str, outcome: PipelineOutcome, checked: &mut Checked) -> Result<Option<Listing>> {
    let Built { elf, route: went, .. } = match outcome {
        PipelineOutcome::Built(built) => built,
        PipelineOutcome::NotCached(stage) => {
            return Err(Error::environment(format!("{stage} shader not cached, no compiler")));
        }
    };
    if let (Route::Whole(why), true) = (&went, route != "whole") {
        return Err(Error::unsupported("linking this pipeline", why.clone().unwrap_or_default()));
    }
    checked.digests.insert(route, blake3::hash(&elf));
    if let Some(v) = verify(&elf)?.violations.first() {
        return Err(Error::bug(v.to_string()));
    }
    let code = check::check(&elf)?;
    for remark in code.remarks() {
        *checked.remarks.entry(remark.rule).or_default() += 1;
    }
    if let Some(first) = code.errors().next() {
        return Err(Error::bug(format!("{} errors in the code, the first: {first}", code.errors().count())));
    }
    if !args.tools {
        return Ok(None);
    }
    outside(&elf)?;
    objdump::compare(&elf).map(Some)
}

/// Digests of the parts, their generators, and with `--tools`, whether LLVM's tools accept them.
fn unlinked(args: &Args, tools: &Toolchain<'_>, request: &PipelineRequest<'_>, checked: &mut Checked) -> Result<()> {
    if !args.tools && args.digests.is_none() && !args.build.tuning.falls_back() {
        return Ok(());
    }
    for shader in &request.shaders {
        let fetched = tools.stage(shader.module(), &request.stage(shader, KnownState::default()))?;
        let Some(elf) = fetched.elf() else { continue };
        let stage = shader.stage().name();
        checked.digests.insert(stage, blake3::hash(&elf.0));
        checked.fallbacks.extend(Remarks::of(elf)?.fallback.map(|feature| (stage, feature)));
        if args.tools {
            outside(&elf.0).at(|| format!("unlinked {} stage", shader.stage()))?;
        }
    }
    Ok(())
}

/// Runs LLVM's tools, which print warnings and continue.
fn outside(elf: &[u8]) -> Result<()> {
    let file = objdump::scratch(elf)?;
    for (tool, options) in [("llvm-readelf-19", &["-a"][..]), ("llvm-objdump-19", &["-d", "-r"])] {
        let out = Command::new(tool).args(options).arg(file.path()).stdout(Stdio::null()).output();
        let out = out.map_err(|e| Error::environment(format!("{tool}: {e}; Debian has it in llvm-19")))?;
        if !out.status.success() || !out.stderr.is_empty() {
            return Err(Error::bug(format!("{tool}: {}", String::from_utf8_lossy(&out.stderr).trim())));
        }
    }
    Ok(())
}

struct Loaded {
    modules: Vec<(Module, spirv::ModuleInfo, String, Stage)>,
    state: PipelineState,
    invocations: Option<u64>,
}

fn load(p: &Pipeline) -> Result<Loaded> {
    let mut modules = Vec::new();
    let mut shaders = Vec::new();
    let wanted: &[Stage] = if p.files.len() == 1 { &[Stage::Compute] } else { &[Stage::Vertex, Stage::Fragment] };
    for (file, stage) in p.files.iter().zip(wanted) {
        let module = read_found_module(file)?;
        let info = spirv::reflect(&module)?;
        let entry = info.entry_points.iter().find(|e| e.stage == Some(*stage));
        let entry = entry.ok_or_else(|| Error::malformed(format!("no {stage} entry point")))?.name.clone();
        shaders.push(spirv::translate(&module, &entry, *stage, &info.specialization(&p.values))?);
        modules.push((module, info, entry, *stage));
    }
    let mut state = template::state(&shaders)?;
    state.specialization = p.values.iter().map(|&(id, value)| SpecializationEntry { stage: None, id, value }).collect();
    let invocations = shaders
        .iter()
        .find(|s| s.stage.is_dispatched())
        .map(|s| s.modes.local_size.iter().map(|&n| u64::from(n)).product());
    Ok(Loaded { modules, state, invocations })
}

impl Loaded {
    fn shaders(&self, target: Gpu) -> Vec<ShaderRef<'_>> {
        self.modules
            .iter()
            .map(|(module, info, entry, stage)| {
                let shader = ShaderRef::new(module, entry, *stage, default_wave(target, *stage, info.uses_subgroups));
                shader.with_spec_ids(info.spec_constants.iter().map(|c| c.id))
            })
            .collect()
    }
}

/// One line for each ELF, in the order of the pipelines: digest, route or stage, name.
fn digests(checked: &[Checked]) -> String {
    let mut out = String::new();
    for c in checked {
        for (what, digest) in &c.digests {
            out += &format!("{digest} {what} {}\n", printable(&c.name));
        }
    }
    out
}

fn print(checked: &[Checked]) {
    for kind in ["pair", "compute"] {
        let of: Vec<&Checked> = checked.iter().filter(|c| c.kind == kind).collect();
        if of.is_empty() {
            continue;
        }
        let good = |route| of.iter().filter(|c| !c.failures.contains_key(route)).count();
        println!(
            "{:<8} {:>5} pipelines: {} linked adjacent, {} linked chained, {} compiled whole; all verified",
            kind,
            of.len(),
            good(ROUTES[0]),
            good(ROUTES[1]),
            good(ROUTES[2])
        );
        if kind == "compute" {
            let real = of.iter().filter(|c| c.failures.is_empty() && c.invocations >= Some(64)).count();
            println!("         {real:>5} of the good ones have workgroups of at least 64 invocations");
        }
    }
    for rule in checked.iter().flat_map(|c| c.remarks.keys()).collect::<BTreeSet<_>>() {
        let counts: Vec<usize> = checked.iter().filter_map(|c| c.remarks.get(rule).copied()).collect();
        println!("remarks  {:>5} {rule} in {} pipelines", counts.iter().sum::<usize>(), counts.len());
    }
    let mut fallbacks: BTreeMap<String, usize> = BTreeMap::new();
    for feature in checked.iter().flat_map(|c| c.fallbacks.values()) {
        *fallbacks.entry(printable(feature).into_owned()).or_default() += 1;
    }
    print_counts("not supported by the native generator, early parts compiled by LLVM", &fallbacks);
    let mut all = Listing::default();
    checked.iter().filter_map(|c| c.listing.clone()).for_each(|listing| all.add(listing));
    if all.lines != 0 {
        println!("listing  {:>5} instructions, {} as llvm-objdump-19 lists them", all.lines, all.same);
    }
    for c in checked {
        if let Some(first) = c.listing.as_ref().and_then(|listing| listing.first.as_ref()) {
            println!("{} listing: {first}", printable(&c.name));
        }
        // Most errors are those of every route.
        let mut routes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        c.failures.iter().for_each(|(route, why)| routes.entry(why).or_default().push(route));
        for (why, routes) in routes {
            println!("{} {}: {why}", printable(&c.name), routes.join(", "));
        }
    }
}
