//! `dovetail link`: links shaders and a state into a pipeline ELF.

mod missing;

use crate::common::{BuildArgs, CacheArgs, Output, print_json, read_module, read_state};
use crate::populate::wave;
use dovetail::compile::Compiler;
use dovetail::compile::request::{Module, default_wave};
use dovetail::compile::spirv::{self, ModuleInfo};
use dovetail::error::{Context, Error, Result, printable};
use dovetail::link::{MetadataVersion, Placement, verify};
use dovetail::pipeline::{self, Built, PipelineOutcome, PipelineRequest, Route, ShaderRef};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::{Toolchain, recorded_compiler};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Link shaders and a pipeline state into a pipeline ELF.
///
/// Parts come from the cache, or are compiled if the cache lacks them. A pipeline that cannot be linked is compiled as
/// a whole; the output says so, with the reason.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  dovetail link --vs a.vert.spv --fs a.frag.spv --state a.toml --cache cache -o a.elf\n  \
    dovetail link --cs k.comp.spv --state k.toml --cache cache -o k.elf"
)]
pub struct Args {
    /// Vertex shader.
    #[arg(long, value_name = "SPIRV", required_unless_present = "cs", conflicts_with = "cs")]
    vs: Option<PathBuf>,
    /// Fragment shader; without one, nothing is shaded.
    #[arg(long, value_name = "SPIRV", requires = "vs")]
    fs: Option<PathBuf>,
    /// Compute shader.
    #[arg(long, value_name = "SPIRV")]
    cs: Option<PathBuf>,
    /// Entry point of every shader; required if a module has several of a stage.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Pipeline state (see docs/state.md; `dovetail state template` writes one).
    #[arg(long, value_name = "TOML")]
    state: PathBuf,
    /// Output file for the pipeline ELF; `-` is standard output.
    #[arg(long, short, value_name = "ELF")]
    out: Output,
    /// GPU.
    #[arg(long, default_value = "gfx1030")]
    target: Gpu,
    /// Wave size of every stage, 32 or 64.
    #[arg(long, value_name = "LANES", value_parser = wave)]
    wave: Option<WaveSize>,
    /// adjacent: parts fall through into each other; chained: branches connect the parts.
    #[arg(long, default_value = "adjacent", value_parser = layout)]
    layout: Placement,
    /// Metadata version: 2 lists registers by number (2.6), 3 by name (3.0), as current drivers write it; by default 2, from
    /// gfx11 on 3. Drivers of gfx12 read 3 only.
    #[arg(long, value_parser = metadata)]
    metadata: Option<MetadataVersion>,
    /// Run the vertex shader as a primitive shader (NGG), as `ngg = true` in the state does: a vertex shader that reads the
    /// primitive id stays on the hardware VS stage.
    #[arg(long, conflicts_with = "cs")]
    ngg: bool,
    /// Compile the whole pipeline even if it could be linked.
    #[arg(long)]
    whole: bool,
    /// Compile the vertex and the fragment shader for each other, unless the cache has them: the fragment shader with the vertex
    /// shader's constants, the vertex shader for what the fragment shader reads. A pair in the cache is used even without this.
    #[arg(long, conflicts_with_all = ["whole", "no_compile"])]
    pair: bool,
    /// Use only the cache, like a driver without a compiler; exit code 4 if something is missing.
    #[arg(long)]
    no_compile: bool,
    /// Print the actions as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    build: BuildArgs,
}

fn layout(text: &str) -> Result<Placement> {
    match text {
        "adjacent" => Ok(Placement::Adjacent),
        "chained" => Ok(Placement::Chained),
        _ => Err(Error::malformed(format!("layout `{text}`: adjacent or chained"))),
    }
}

fn metadata(text: &str) -> Result<MetadataVersion> {
    match text {
        "2" => Ok(MetadataVersion::Registers),
        "3" => Ok(MetadataVersion::Named),
        _ => Err(Error::malformed(format!("metadata `{text}`: 2 or 3"))),
    }
}

/// The version that is asked for, or the usual one of the GPU.
fn metadata_for(args: &Args) -> Result<MetadataVersion> {
    let wanted = args.metadata.unwrap_or(MetadataVersion::usual(args.target));
    if wanted.read_by(args.target) != wanted {
        return Err(Error::unsupported(format!("metadata 2 for {}", args.target), "its drivers read 3 only"));
    }
    Ok(wanted)
}

/// A shader of the pipeline.
struct Given<'a> {
    path: &'a Path,
    stage: Stage,
    entry: String,
    module: Module,
    info: ModuleInfo,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    args.out.claim();
    let mut state = read_state(&args.state)?;
    state.ngg |= args.ngg;
    let mut given = Vec::new();
    for (path, stage) in [(&args.vs, Stage::Vertex), (&args.fs, Stage::Fragment), (&args.cs, Stage::Compute)] {
        let Some(path) = path else { continue };
        let place = || path.display().to_string();
        let module = read_module(path)?;
        let info = spirv::reflect(&module).at(place)?;
        given.push(Given { path, stage, entry: entry(args, &info, stage).at(place)?, module, info });
    }
    let shaders: Vec<_> = given.iter().map(|given| (given, shader(args, given))).collect();
    let request = PipelineRequest {
        shaders: shaders.iter().map(|(_, shader)| shader.clone()).collect(),
        state: &state,
        layout: None,
        target: args.target,
        options: args.build.tuning.options(),
        placement: args.layout,
    };
    let cache = args.build.cache.open()?;
    let compiler = if args.no_compile { None } else { Some(args.build.worker.start(1)?) };
    let recorded = recorded_compiler(&cache);
    if compiler.is_none() && recorded.as_ref().is_ok_and(Option::is_none) {
        CacheArgs::tell(&cache);
        return missing::report(args, &shaders, &request, &cache, None, None);
    }
    let tools =
        Toolchain::new(&cache, compiler.as_ref().map(|pool| pool as &dyn Compiler))?.with_metadata(metadata_for(args)?);
    let tools = if args.pair { tools.making_pairs() } else { tools };
    let outcome =
        if args.whole { pipeline::build_whole(&request, &tools, None) } else { pipeline::build(&request, &tools) };
    if recorded.is_ok_and(|recorded| recorded.is_none()) {
        // So that a cache which only links have filled serves a program without a compiler. If this fails, so did storing the
        // parts, which is told.
        let _ = tools.record_compiler();
    }
    CacheArgs::tell(&cache);
    let built = match outcome {
        Ok(PipelineOutcome::Built(built)) => built,
        Ok(PipelineOutcome::NotCached(_)) => {
            return missing::report(args, &shaders, &request, &cache, Some(&tools), None);
        }
        Err(e) if compiler.is_none() && e.full_compile().is_some() => {
            return missing::report(args, &shaders, &request, &cache, Some(&tools), Some(&e));
        }
        Err(e) => return Err(e),
    };
    // Users of the file trust it; a violation here is an internal bug and must not be written.
    let report = verify(&built.elf)?;
    if let Some(violation) = report.violations.first() {
        return Err(Error::bug(format!("the linked ELF violates a loader rule: {violation}")));
    }
    args.out.write(&built.elf)?;
    if args.json {
        print_json(&serde_json::json!({
            "route": built.route, "layout": built.placement, "parts": built.parts.as_slice(), "bytes": built.elf.len(),
        }))?;
    } else {
        print(args, &built);
    }
    Ok(ExitCode::SUCCESS)
}

fn print(args: &Args, built: &Built) {
    let out = &args.out;
    let whole = if built.parts.iter().all(|part| part.hit) { "compiled whole before" } else { "compiled whole" };
    match &built.route {
        Route::Linked => println!("linked {out}"),
        Route::Whole(None) => println!("{whole} {out}"),
        Route::Whole(Some(why)) => println!("{whole} {out}: {why}"),
    }
    for part in &built.parts {
        let origin = if part.hit { "cache" } else { "compiled" };
        let whose = if part.paired { ", for the other stage" } else { "" };
        println!("  {:<9} {origin:<9} {:>7} bytes{whose}", part.stage.name(), part.bytes);
    }
    println!("  pipeline            {:>7} bytes", built.elf.len());
    if built.placement != args.layout {
        println!("  placed adjacent: a branch of the chained placement would exceed its range");
    }
}

fn entry(args: &Args, info: &ModuleInfo, stage: Stage) -> Result<String> {
    let mut fitting = info
        .entry_points
        .iter()
        .filter(|e| e.stage == Some(stage) && args.entry.as_ref().is_none_or(|name| *name == e.name));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one.name.clone()),
        (None, _) => Err(none(args, info, stage)),
        _ => Err(Error::malformed(format!("several {stage} entry points: select one with --entry"))),
    }
}

/// No entry point fits: says which ones there are.
fn none(args: &Args, info: &ModuleInfo, stage: Stage) -> Error {
    let there: Vec<String> =
        info.entry_points.iter().map(|e| format!("`{}` ({})", printable(&e.name), e.model)).collect();
    let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
    let named = args.entry.as_ref().map_or(String::new(), |name| format!(" `{name}`"));
    Error::malformed(format!("no {stage} entry point{named}; the module's entry points: {there}"))
}

fn shader<'a>(args: &Args, given: &'a Given<'_>) -> ShaderRef<'a> {
    let wave = args.wave.unwrap_or_else(|| default_wave(args.target, given.stage, given.info.uses_subgroups));
    let ids = given.info.spec_constants.iter().map(|constant| constant.id);
    ShaderRef::new(&given.module, &given.entry, given.stage, wave).with_spec_ids(ids)
}
