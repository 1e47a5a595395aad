//! `dovetail diff`: two versions of a shader's code side by side, with instruction counts; or ratios over a folder of
//! shaders.

mod many;

use crate::common::{TuningArgs, print_json, read_elf, read_module};
use crate::populate::wave;
use dovetail::check::estimate::{self, Placed};
use dovetail::compile::Compiler;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::generators::is_built_in;
use dovetail::compile::phases::Phase;
use dovetail::compile::request::{GeneratorKind, Module, NativeOptions, StageRequest, TuningOptions, default_wave};
use dovetail::compile::spirv;
use dovetail::compile::unlinked::Remarks;
use dovetail::error::{Context, Error, Result};
use dovetail::isa::{Instruction, Isa, Latency, Op, Traits};
use dovetail::target::{Gpu, Stage, WaveSize};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show two versions of a shader's code side by side, with instruction counts by class.
///
/// A SPIR-V file is compiled by both code generators, or in a build with one only, with the given options and with the
/// default ones; if no options are given, with and without the optional phases. Two ELF files are compared as they are. For a
/// folder, all SPIR-V files are compiled, and sums and geometric means printed. Cycles are an estimate for a single wave.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  dovetail diff a.frag.spv --counts\n  dovetail diff before.elf after.elf\n  dovetail diff corpus/ggml --sample 50 --disable schedule"
)]
pub struct Args {
    /// SPIR-V file, ELF, or folder of SPIR-V files.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// ELF to compare it with.
    #[arg(value_name = "ELF")]
    other: Option<PathBuf>,
    /// Entry point; required if there are several.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Stage of the entry point: vertex, fragment or compute; required if several of one name differ only in it.
    #[arg(long)]
    stage: Option<Stage>,
    /// GPU to compile for.
    #[arg(long, default_value = "gfx1030")]
    target: Gpu,
    /// Wave size, 32 or 64; for ELF files, that of the listing.
    #[arg(long, value_name = "LANES", value_parser = wave)]
    wave: Option<WaveSize>,
    /// Compile with the layout of `state template` and all specialization values known.
    #[arg(long)]
    laid_out: bool,
    /// Print only the counts.
    #[arg(long)]
    counts: bool,
    /// Compile at most this many files of a folder, evenly spread.
    #[arg(long, value_name = "N")]
    sample: Option<NonZeroUsize>,
    /// For a folder, also print each shader's figures.
    #[arg(long)]
    each: bool,
    /// Print the counts as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tuning: TuningArgs,
}

/// One version of the code.
#[derive(Serialize)]
struct Side {
    name: String,
    bytes: usize,
    total: usize,
    /// VGPRs up to the highest one used.
    vgprs: u32,
    /// Waves per SIMD that this number of registers allows.
    waves: u32,
    /// Estimated cycles.
    cycles: u64,
    counts: BTreeMap<&'static str, usize>,
    #[serde(skip)]
    lines: Vec<String>,
}

const CLASSES: [&str; 9] =
    ["scalar", "vector", "moves", "scalar memory", "vector memory", "LDS", "export", "branch", "wait"];

pub fn run(args: &Args) -> Result<ExitCode> {
    if args.other.is_none() && args.file.is_dir() {
        many::run(args, &args.file)?;
        return Ok(ExitCode::SUCCESS);
    }
    let [a, b] = match &args.other {
        Some(other) => {
            let wave = args.wave.unwrap_or(WaveSize::W32);
            let read = |path: &PathBuf| side(&path.display().to_string(), &read_elf(path)?, wave);
            [read(&args.file)?, read(other)?]
        }
        None => compiled(args, &read_module(&args.file)?).at(|| args.file.display().to_string())?,
    };
    if args.json {
        print_json(&[&a, &b])?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.counts {
        print_lines(&a, &b);
    }
    println!("{:<15} {:>10} {:>10} {:>7}", "", a.name, b.name, "ratio");
    let row = |what: &str, a: usize, b: usize| {
        println!("{what:<15} {a:>10} {b:>10} {:>7.3}", a as f64 / b.max(1) as f64);
    };
    for class in CLASSES {
        let [a, b] = [&a, &b].map(|side| side.counts.get(class).copied().unwrap_or(0));
        row(class, a, b);
    }
    row("all", a.total, b.total);
    row("bytes", a.bytes, b.bytes);
    row("VGPRs", a.vgprs as usize, b.vgprs as usize);
    row("cycles", a.cycles as usize, b.cycles as usize);
    Ok(ExitCode::SUCCESS)
}

/// The code of a shader, by the native generator and by LLVM.
fn compiled(args: &Args, module: &Module) -> Result<[Side; 2]> {
    let info = spirv::reflect(module)?;
    let (entry_point, stage) = crate::compile::choose(&info.entry_points, args.entry.as_deref(), args.stage)?;
    let mut request = StageRequest {
        target: args.target,
        stage,
        module: module.digest(),
        specialization: info.specialization(&[]),
        wave: args.wave.unwrap_or_else(|| default_wave(args.target, stage, info.uses_subgroups)),
        options: args.tuning.options(),
        known: Default::default(),
        entry_point,
    };
    if args.laid_out {
        request = crate::compile::laid_out(module, &request)?;
    }
    let compiler = BuiltInCompiler::new();
    let make = |(name, options): (&str, TuningOptions)| -> Result<Side> {
        let elf = compiler.compile(module, &StageRequest { options, ..request.clone() })?;
        if let Some(feature) = Remarks::of(&elf)?.fallback {
            return Err(Error::unsupported(feature, "LLVM made the code of both"));
        }
        side(name, &elf.0, request.wave)
    };
    let [first, second] = versions(&request.options);
    Ok([make(first)?, make(second)?])
}

/// The options of both versions, and their names.
fn versions(given: &TuningOptions) -> [(&'static str, TuningOptions); 2] {
    let both = [GeneratorKind::Native, GeneratorKind::Llvm];
    if both.iter().all(|generator| is_built_in(*generator)) {
        let [native, llvm] = both.map(|generator| TuningOptions { generator, ..given.clone() });
        return [("native", native), ("llvm", llvm)];
    }
    let default = TuningOptions::default();
    if *given != default {
        return [("given", given.clone()), ("default", default)];
    }
    let native = NativeOptions { without: Phase::ALL.iter().copied().collect(), ..NativeOptions::default() };
    [("default", default.clone()), ("plain", TuningOptions { native, ..default })]
}

/// Lists and counts the code of an ELF, without padding.
fn side(name: &str, elf: &[u8], wave: WaveSize) -> Result<Side> {
    let words = estimate::text(elf).at(|| name)?;
    let name = Path::new(name).file_name().map_or_else(|| name.into(), |n| n.to_string_lossy().into_owned());
    let mut out =
        Side { name, bytes: 0, total: 0, vgprs: 0, waves: 0, cycles: 0, counts: BTreeMap::new(), lines: Vec::new() };
    let gpu = Gpu::of_elf(elf)?;
    let code = estimate::instructions(&words, Isa::of(gpu))?;
    for Placed { inst, .. } in &code {
        out.bytes += 4 * usize::from(inst.dwords());
        out.total += 1;
        *out.counts.entry(class(inst)).or_default() += 1;
        out.lines.push(inst.text(Isa::of(gpu), wave));
    }
    out.vgprs = estimate::vgprs(&code, wave);
    out.waves = gpu.facts().waves(out.vgprs, wave);
    out.cycles = estimate::cycles(Isa::of(gpu), &code, wave);
    Ok(out)
}

fn class(inst: &Instruction) -> &'static str {
    let entry = inst.entry;
    match entry.latency {
        _ if entry.is(Traits::WAITS) => "wait",
        _ if matches!(entry.op, Op::SMovB32 | Op::SMovB64 | Op::SMovkI32 | Op::VMovB32) => "moves",
        Latency::Control => "branch",
        Latency::None | Latency::Salu | Latency::Message => "scalar",
        Latency::Smem => "scalar memory",
        Latency::Lds => "LDS",
        Latency::VectorMemory | Latency::Sample => "vector memory",
        Latency::Export => "export",
        Latency::Valu
        | Latency::Wide
        | Latency::QuarterRate
        | Latency::Transcendental
        | Latency::Double
        | Latency::DoubleTranscendental
        | Latency::Interp => "vector",
    }
}

fn print_lines(a: &Side, b: &Side) {
    const WIDTH: usize = 58;
    println!("{:<WIDTH$} {}", a.name, b.name);
    for n in 0..a.lines.len().max(b.lines.len()) {
        let [left, right] = [a, b].map(|side| side.lines.get(n).map_or("", String::as_str));
        println!("{left:<WIDTH$} {right}");
    }
    println!();
}
