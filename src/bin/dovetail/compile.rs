//! `dovetail compile`: one module in this process, with every phase open to view.

use crate::common::{TuningArgs, read_module, write_file};
use crate::populate::wave;
use dovetail::error::{Error, Result};
use dovetail::target::{GfxIp, Stage, WaveSize};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compile one shader early to an unlinked ELF, or show any phase of it.
///
/// Runs in this process, without cache or workers: what crashes here is what a worker would survive.
#[derive(clap::Args)]
#[command(
    after_help = "Phases: upper (as the front end made it), each pass by name, lower (as the code generator takes it), \
    llvm, llvm-opt, asm.\nExample:\n  dovetail compile a.frag.spv --dump lower --dump asm"
)]
pub struct Args {
    /// SPIR-V file.
    #[arg(value_name = "SPIRV")]
    file: PathBuf,
    /// Entry point; needed if there are several.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// GPU to compile for.
    #[arg(long, default_value = "gfx1030")]
    target: GfxIp,
    /// Wave size, 32 or 64.
    #[arg(long, value_name = "LANES", value_parser = wave)]
    wave: Option<WaveSize>,
    /// Specialization value, `id=bits`; may be repeated.
    #[arg(long, value_name = "ID=BITS", value_parser = spec)]
    spec: Vec<(u32, u64)>,
    /// Where the unlinked ELF goes.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the shader after this phase; may be repeated. The variable DOVETAIL_DUMP does the same.
    #[arg(long, value_name = "PHASE")]
    dump: Vec<String>,
    /// Verify the IR after every pass, as debug builds always do.
    #[arg(long)]
    verify_ir: bool,
    #[command(flatten)]
    tuning: TuningArgs,
}

fn spec(text: &str) -> Result<(u32, u64)> {
    let wrong = || Error::malformed(format!("`{text}`: id=bits, such as 0=64"));
    let (id, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((id.parse().map_err(|_| wrong())?, value.parse().map_err(|_| wrong())?))
}

#[cfg(not(feature = "llvm"))]
pub fn run(_: &Args) -> Result<ExitCode> {
    Err(Error::environment("this dovetail was built without a compiler (feature `llvm`)"))
}

#[cfg(feature = "llvm")]
pub fn run(args: &Args) -> Result<ExitCode> {
    use dovetail::compile::request::{StageRequest, default_wave};
    use dovetail::compile::{llvm, passes, spirv, unlinked};
    use dovetail::error::Context;
    use dovetail::ir::verify::{verify, verify_between};

    let place = || args.file.display().to_string();
    let module = read_module(&args.file)?;
    let info = spirv::reflect(&module).at(place)?;
    let (entry_point, stage) = choose(&info.entry_points, args.entry.as_deref()).at(place)?;
    let options = args.tuning.options();
    let request = StageRequest {
        target: args.target,
        stage,
        module: module.digest(),
        specialization: info.specialization(&args.spec),
        wave: args.wave.unwrap_or_else(|| default_wave(stage, info.uses_subgroups)),
        options: options.clone(),
        known: Default::default(),
        entry_point,
    };
    let mut wanted = args.dump.clone();
    wanted.extend(std::env::var("DOVETAIL_DUMP"));
    let mut seen = Vec::new();
    let mut broken = None;
    let upper = spirv::translate(&module, &request.entry_point, stage, &request.specialization).at(place)?;
    let lowered = passes::lower_with(upper, &request, &mut |phase, shader| {
        seen.push(phase.to_owned());
        if wanted.iter().any(|w| w == phase) {
            println!("; ---- {phase}\n{shader}");
        }
        if args.verify_ir && broken.is_none() {
            broken = verify_between(shader).err().map(|e| e.at(phase.to_owned()));
        }
    })
    .at(place)?;
    if let Some(e) = broken {
        return Err(e);
    }
    if args.verify_ir {
        verify(&lowered.shader).at(|| "after lowering")?;
    }
    for (phase, stage) in [
        ("llvm", llvm::DumpStage::Translated),
        ("llvm-opt", llvm::DumpStage::Optimized),
        ("asm", llvm::DumpStage::Assembly),
    ] {
        seen.push(phase.to_owned());
        if wanted.iter().any(|w| w == phase) {
            println!("; ---- {phase}\n{}", llvm::dump_ir(&lowered.shader, args.target, &options, stage).at(place)?);
        }
    }
    if wanted.iter().any(|w| w == "lower") {
        println!("; ---- lower\n{}", lowered.shader);
    }
    seen.push("lower".to_owned());
    if let Some(unknown) = wanted.iter().find(|w| !seen.contains(w)) {
        return Err(Error::malformed(format!("no phase `{unknown}`; there are {}", seen.join(", "))));
    }
    let object = llvm::emit_object(&lowered.shader, args.target, &options).at(place)?;
    let elf = unlinked::write(&object.bytes, &lowered.interface).at(place)?;
    match &args.out {
        Some(out) => write_file(out, &elf.0)?,
        None if wanted.is_empty() => println!("{}: {} bytes; give -o to keep them", place(), elf.0.len()),
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "llvm")]
fn choose(entries: &[dovetail::compile::spirv::EntryPointInfo], name: Option<&str>) -> Result<(String, Stage)> {
    let fitting: Vec<_> = entries.iter().filter(|e| name.is_none_or(|n| n == e.name)).collect();
    match fitting.as_slice() {
        [one] => match one.stage {
            Some(stage) => Ok((one.name.clone(), stage)),
            None => Err(Error::unsupported(format!("execution model {}", one.model), one.name.clone())),
        },
        [] => Err(Error::malformed("no such entry point")),
        several => {
            let names: Vec<_> = several.iter().map(|e| e.name.as_str()).collect();
            Err(Error::malformed(format!("several entry points ({}): choose by --entry", names.join(", "))))
        }
    }
}
