//! `dovetail link`: links shaders and a state into a pipeline ELF.

use crate::common::{BuildArgs, CacheArgs, print_json, read_module, read_toml, write_file};
use crate::populate::wave;
use dovetail::compile::request::{Module, default_wave};
use dovetail::compile::spirv::{self, ModuleInfo};
use dovetail::error::{Context, Error, Result, printable};
use dovetail::link::{MetadataVersion, Placement, verify};
use dovetail::pipeline::{self, PipelineOutcome, PipelineRequest, Route, ShaderRef};
use dovetail::state::PipelineState;
use dovetail::target::{GfxIp, Stage, WaveSize};
use dovetail::toolchain::Toolchain;
use std::path::PathBuf;
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
    /// Output file for the pipeline ELF.
    #[arg(long, short, value_name = "ELF")]
    out: PathBuf,
    /// GPU.
    #[arg(long, default_value = "gfx1030")]
    target: GfxIp,
    /// Wave size of every stage, 32 or 64.
    #[arg(long, value_name = "LANES", value_parser = wave)]
    wave: Option<WaveSize>,
    /// adjacent: parts fall through into each other; chained: branches connect the parts.
    #[arg(long, default_value = "adjacent", value_parser = layout)]
    layout: Placement,
    /// Metadata version: 2 lists registers by number (2.6), 3 by name (3.0), as current drivers write it.
    #[arg(long, default_value = "2", value_parser = metadata)]
    metadata: MetadataVersion,
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

pub fn run(args: &Args) -> Result<ExitCode> {
    let state: PipelineState = read_toml(&args.state)?;
    let given = [(&args.vs, Stage::Vertex), (&args.fs, Stage::Fragment), (&args.cs, Stage::Compute)];
    let mut modules = Vec::new();
    for (path, stage) in given {
        let Some(path) = path else { continue };
        let place = || path.display().to_string();
        let module = read_module(path)?;
        let info = spirv::reflect(&module).at(place)?;
        modules.push((stage, entry(args, &info, stage).at(place)?, module, info));
    }
    let shaders =
        modules.iter().map(|(stage, entry, module, info)| shader(args, *stage, entry, module, info)).collect();
    let cache = args.build.cache.open()?;
    let compiler = if args.no_compile { None } else { args.build.worker.start_if_built(1)? };
    let tools = Toolchain::new(&cache, compiler.as_deref())?.with_metadata(args.metadata);
    let tools = if args.pair { tools.making_pairs() } else { tools };
    let request = PipelineRequest {
        shaders,
        state: &state,
        layout: None,
        target: args.target,
        options: args.build.tuning.options(),
        placement: args.layout,
    };
    let outcome =
        if args.whole { pipeline::build_whole(&request, &tools, None) } else { pipeline::build(&request, &tools) };
    CacheArgs::tell(&cache);
    let built = match outcome? {
        PipelineOutcome::Built(built) => built,
        PipelineOutcome::NotCached(stage) => {
            eprintln!("dovetail: the {stage} shader is not in the cache, and there is no compiler");
            return Ok(ExitCode::from(4));
        }
    };
    // Users of the file trust it; a violation here is an internal bug and must not be written.
    let report = verify(&built.elf)?;
    if let Some(violation) = report.violations.first() {
        return Err(Error::bug(format!("the linked ELF violates a loader rule: {violation}")));
    }
    write_file(&args.out, &built.elf)?;
    if args.json {
        print_json(&serde_json::json!({
            "route": built.route, "layout": built.placement, "parts": built.parts.as_slice(), "bytes": built.elf.len(),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    match &built.route {
        Route::Linked => println!("linked {}", args.out.display()),
        Route::Whole(None) => println!("compiled whole {}", args.out.display()),
        Route::Whole(Some(why)) => println!("compiled whole {}: {why}", args.out.display()),
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
    Ok(ExitCode::SUCCESS)
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

fn shader<'a>(args: &Args, stage: Stage, entry: &str, module: &'a Module, info: &ModuleInfo) -> ShaderRef<'a> {
    let wave = args.wave.unwrap_or_else(|| default_wave(stage, info.uses_subgroups));
    ShaderRef::new(module, entry, stage, wave).with_spec_ids(info.spec_constants.iter().map(|c| c.id))
}
