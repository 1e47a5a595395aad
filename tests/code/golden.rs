//! Digests of the bytes of parts and pipelines: a change that should not change code changes no digest, and one that
//! should shows in the list. Each generator has its own list; LLVM's is for one version of LLVM.
//!
//! `DOVETAIL_GOLDEN=write` rewrites the list of the generator that `DOVETAIL_BACKEND` names.

use crate::chosen::ChosenCompiler;
use crate::support::{root, without};
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::Compiler;
use dovetail::compile::request::{KnownState, Module, default_wave};
use dovetail::compile::spirv::{reflect, translate};
use dovetail::link::Placement;
use dovetail::pipeline::{PipelineOutcome, PipelineRequest, ShaderRef, build, build_whole};
use dovetail::target::{Gpu, Stage};
use dovetail::toolchain::Toolchain;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Compiled SPIR-V modules of `testdata`: one shader, or a vertex and a fragment shader.
fn pipelines() -> Vec<Vec<PathBuf>> {
    let golden = |names: [&str; 2]| names.map(|name| root().join("testdata/golden").join(name)).to_vec();
    let mut all = vec![golden(["ui.vert.spv", "ui.frag.spv"]), golden(["skinned.vert.spv", "pbr.frag.spv"])];
    let folder = std::fs::read_dir(root().join("testdata/spirv")).expect("the modules");
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with("spv"));
    files.sort();
    all.extend(files.into_iter().map(|path| vec![path]));
    all
}

fn name(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// One line for each part, and for the pipeline by each route; a lone fragment shader has only its part.
fn digests(files: &[PathBuf], compiler: &ChosenCompiler) -> String {
    let cache = Cache::new(Box::new(MemoryStore::default()));
    let tools = Toolchain::new(&cache, Some(compiler)).expect("a toolchain");
    let modules: Vec<Module> =
        files.iter().map(|path| Module::new(std::fs::read(path).expect("a file")).expect("a module")).collect();
    let (mut shaders, mut irs) = (Vec::new(), Vec::new());
    for module in &modules {
        let info = reflect(module).expect("a module");
        let entry = &info.entry_points[0];
        let (stage, entry_point) = (entry.stage.expect("a stage"), entry.name.clone());
        irs.push(translate(module, &entry_point, stage, &[]).expect("a shader"));
        shaders.push(ShaderRef::new(
            module,
            &entry_point,
            stage,
            default_wave(Gpu::default(), stage, info.uses_subgroups),
        ));
    }
    let state = dovetail::template::state(&irs).expect("a state");
    let alone = shaders.len() == 1 && shaders[0].stage() != Stage::Compute;
    let request = |placement| PipelineRequest {
        shaders: shaders.clone().into(),
        state: &state,
        layout: None,
        target: Gpu::Gfx1030,
        options: Default::default(),
        placement,
    };
    let mut out = String::new();
    let mut line =
        |name: &str, what: &str, elf: &[u8]| writeln!(out, "{} {what} {name}", blake3::hash(elf)).expect("text");
    for (shader, file) in shaders.iter().zip(files) {
        let early = request(Placement::Adjacent).stage(shader, KnownState::default());
        line(&name(file), "part", &compiler.compile(shader.module(), &early).expect("a part").0);
    }
    if alone {
        return out;
    }
    for (what, placement, whole) in [
        ("adjacent", Placement::Adjacent, false),
        ("chained", Placement::Chained, false),
        ("whole", Placement::Adjacent, true),
    ] {
        let request = request(placement);
        let built = if whole { build_whole(&request, &tools, None) } else { build(&request, &tools) };
        let Ok(PipelineOutcome::Built(built)) = built else { panic!("{files:?}: not built") };
        line(&name(&files[0]), what, &built.elf);
    }
    out
}

#[test]
fn the_bytes_are_those_of_the_list() {
    let test = "golden::the_bytes_are_those_of_the_list";
    if std::env::var_os("DOVETAIL_SCHEDULE").is_some() {
        return without(test, "a random schedule gives other bytes each time");
    }
    let compiler = ChosenCompiler::new();
    let made: String = pipelines().iter().map(|files| digests(files, &compiler)).collect();
    let generator = std::env::var("DOVETAIL_BACKEND").unwrap_or_else(|_| "native".into());
    // LLVM's code depends on its version; the native generator's only on this program.
    let version = if generator == "native" { "native".to_owned() } else { compiler.id().backend.clone() };
    let made = format!("{version}\n{made}");
    let file = root().join("testdata/golden").join(format!("{generator}.txt"));
    if std::env::var("DOVETAIL_GOLDEN").is_ok_and(|what| what == "write") {
        std::fs::write(&file, &made).expect("the list");
    }
    let list = std::fs::read_to_string(&file).expect("the list");
    if list.lines().next() != Some(version.as_str()) {
        return without(test, &format!("the list is of {:?}, this is {version}", list.lines().next()));
    }
    let differ: Vec<(&str, &str)> = made.lines().zip(list.lines()).filter(|(made, list)| made != list).collect();
    assert!(
        made == list,
        "{} of {} differ: {differ:#?}\nIf they should: DOVETAIL_GOLDEN=write, once with DOVETAIL_BACKEND=llvm",
        differ.len(),
        list.lines().count()
    );
}
