//! The native generator's middle end on real shaders: its output is verified and counted.

use crate::support::root;
use dovetail::compile::opt;
use dovetail::compile::passes;
use dovetail::compile::request::{KnownState, Module, StageRequest, TuningOptions, default_wave};
use dovetail::compile::spirv::{reflect, translate};
use dovetail::corpus::input::files;
use dovetail::corpus::spec::SpecFile;
use dovetail::error::Result;
use dovetail::ir::verify::verify;
use dovetail::ir::{Op, Shader};
use dovetail::target::Gpu;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Number of instructions, without constants and undefined values, which are operands in machine code; jumps count.
fn count(shader: &Shader) -> usize {
    let real = shader.live_insts().filter(|inst| !matches!(inst.op, Op::Const(_) | Op::Undef)).count();
    real + shader.blocks.iter().filter(|b| b.term().is_some()).count()
}

/// The lowered shaders of a module's entry points, compiled separately.
fn lowered(file: &Path, spec: &SpecFile) -> Result<Vec<Shader>> {
    let module = Module::new(std::fs::read(file)?)?;
    let info = reflect(&module)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let values: Vec<(u32, u64)> = spec.values(&name).into_iter().map(|(id, v)| (id, u64::from(v))).collect();
    let mut out = Vec::new();
    for entry in &info.entry_points {
        let Some(stage) = entry.stage else { continue };
        let specialization = info.specialization(&values);
        let shader = translate(&module, &entry.name, stage, &specialization)?;
        let request = StageRequest {
            target: Gpu::Gfx1030,
            stage,
            module: module.digest(),
            entry_point: entry.name.clone(),
            specialization,
            wave: default_wave(Gpu::default(), stage, info.uses_subgroups),
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        out.push(passes::lower(shader, &request)?.shader.into_inner());
    }
    Ok(out)
}

/// Every n-th module of every corpus folder.
fn corpus(step: usize) -> Vec<(PathBuf, Shader)> {
    let mut out = Vec::new();
    let mut folders: Vec<_> =
        std::fs::read_dir(root().join("corpus")).into_iter().flatten().filter_map(|e| Some(e.ok()?.path())).collect();
    folders.sort();
    for folder in folders {
        let spec = std::fs::read_to_string(folder.join("spec.toml")).unwrap_or_default();
        let spec = SpecFile::parse(&spec).expect("a list of specialization values");
        let modules =
            files(&folder).expect("a folder").into_iter().filter(|f| f.extension().is_some_and(|e| e == "spv"));
        for file in modules.step_by(step) {
            let shaders = lowered(&file, &spec).unwrap_or_default();
            out.extend(shaders.into_iter().map(|shader| (file.clone(), shader)));
        }
    }
    out
}

#[test]
#[ignore = "prints counts, for people: --run-ignored all"]
fn counts_on_the_corpus() {
    let step = std::env::var("DOVETAIL_STEP").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let only = std::env::var("DOVETAIL_CASE").unwrap_or_default();
    let options = TuningOptions::default();
    let (mut before, mut after, mut logs, mut shaders) = (0, 0, 0.0, 0);
    let mut times: BTreeMap<usize, (Duration, usize)> = BTreeMap::new();
    let mut ops: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (file, mut shader) in corpus(step) {
        if !file.to_string_lossy().contains(&only) {
            continue;
        }
        let name = |inst: &dovetail::ir::Inst| {
            let text = shader.inst_text(inst);
            let text = text.split_once(" = ").map_or(text.as_str(), |(_, right)| right);
            text.split([' ', '[']).next().unwrap_or_default().to_owned()
        };
        let was = count(&shader);
        for inst in shader.live_insts() {
            ops.entry(name(inst)).or_default()[0] += 1;
        }
        let original = shader.clone();
        for (n, (pass, _)) in opt::PASSES.iter().enumerate() {
            let started = Instant::now();
            let earlier = count(&shader);
            opt::PASSES[n].1(&mut shader, &options).unwrap_or_else(|e| panic!("{}: {pass}: {e}", file.display()));
            let entry = times.entry(n).or_default();
            entry.0 += started.elapsed();
            entry.1 += earlier.saturating_sub(count(&shader));
            verify(&shader).unwrap_or_else(|e| panic!("{}: {pass}: {e}\n{original}\n{shader}", file.display()));
        }
        let is = count(&shader);
        for inst in shader.live_insts() {
            let text = shader.inst_text(inst);
            let text = text.split_once(" = ").map_or(text.as_str(), |(_, right)| right);
            ops.entry(text.split([' ', '[']).next().unwrap_or_default().to_owned()).or_default()[1] += 1;
        }
        if std::env::var_os("DOVETAIL_PRINT").is_some() {
            println!("{original}\n=======>\n{shader}");
        }
        if std::env::var_os("DOVETAIL_EACH").is_some() {
            println!("{was:6} {is:6} {}", file.file_name().unwrap_or_default().to_string_lossy());
        }
        (before, after, shaders) = (before + was, after + is, shaders + 1);
        logs += (is as f64 / was as f64).ln();
    }
    for (n, (time, removed)) in times {
        let per = time.as_nanos() as usize / before.max(1);
        println!("{:24} {removed:8} fewer instructions, {per:5} ns each", opt::PASSES[n].0);
    }
    for (op, [was, is]) in ops {
        println!("{op:24} {was:8} {is:8}");
    }
    println!("{shaders} shaders, {before} to {after} instructions, geomean {:.3}", (logs / f64::from(shaders)).exp());
}
