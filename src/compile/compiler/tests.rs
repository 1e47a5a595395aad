//! Compiles SPIR-V to unlinked ELFs: every shader of the test data, in both wave sizes, without pipeline state.

use crate::generators::LlvmCompiler;
use dovetail_base::error::{ErrorKind, Result};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_compile::Compiler;
use dovetail_compile::request::{KnownState, Module, StageRequest, TuningOptions};
use dovetail_metadata::interface::{ComponentType, FragmentInput, FragmentReads, Semantic};
use dovetail_state::{
    ColorAttachment, ColorState, Known, VertexAttribute, VertexBinding, VertexInputState, VertexRate,
};
use dovetail_testing::{llvm_tool, root};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files below `testdata` with one of the endings, sorted.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let folder = root().join("testdata").join(folder);
    let mut out: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    out.retain(|p| endings.iter().any(|e| p.extension().is_some_and(|x| x == *e)));
    out.sort();
    out
}

fn stage(path: &Path) -> Stage {
    let name = path.file_name().unwrap().to_str().unwrap();
    match name {
        _ if name.contains(".vert") => Stage::Vertex,
        _ if name.contains(".frag") => Stage::Fragment,
        _ => Stage::Compute,
    }
}

fn compile(module: &Module, stage: Stage, wave: WaveSize, known: KnownState) -> Result<Vec<u8>> {
    let request = StageRequest {
        target: Gpu::Gfx1030,
        stage,
        module: module.digest(),
        entry_point: "main".to_owned(),
        specialization: Vec::new(),
        wave,
        options: TuningOptions::default(),
        known,
    };
    LlvmCompiler::new().compile(module, &request).map(|elf| elf.0)
}

/// Whether it compiles; any error but an unsupported feature fails the test.
fn check(path: &Path, spirv: Vec<u8>) -> bool {
    let module = Module::new(spirv).unwrap();
    let stage = stage(path);
    for wave in [WaveSize::W32, WaveSize::W64] {
        let elf = match compile(&module, stage, wave, KnownState::default()) {
            Ok(elf) => elf,
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported { .. }) => return false,
            Err(e) => panic!("{}: {e}", path.display()),
        };
        let code = llvm_tool("llvm-objdump-19", &["-d", "-r"], &elf);
        assert!(code.contains(Gpu::default().hardware_stage(stage).unlinked_symbol()), "{}: {code}", path.display());
        assert!(!code.contains("unknown") && !code.contains("invalid"), "{}: {code}", path.display());
        llvm_tool("llvm-readelf-19", &["-a"], &elf);
        assert_eq!(
            elf,
            compile(&module, stage, wave, KnownState::default()).unwrap(),
            "{} gives other bytes",
            path.display()
        );
    }
    true
}

#[test]
fn modules_of_the_test_data_compile() {
    // These modules have every form of an instruction, including forms that the hardware lacks.
    let files = files("spirv", &["spv"]);
    let done = files.iter().filter(|path| check(path, std::fs::read(path).unwrap())).count();
    assert!(done > files.len() / 2, "{done} of {}", files.len());
}

/// Compiles a shader of the test data to SPIR-V.
fn glslang(path: &Path) -> Vec<u8> {
    let spirv = tempfile::NamedTempFile::new().unwrap();
    let out = Command::new("glslangValidator")
        .args(["-V", "--target-env", "vulkan1.2", "-o"])
        .args([spirv.path(), path])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    std::fs::read(spirv.path()).unwrap()
}

#[test]
fn every_shader_of_the_test_data_compiles() {
    let files = files("shaders", &["vert", "frag", "comp"]);
    assert!(!files.is_empty());
    for path in files {
        assert!(check(&path, glslang(&path)), "{} is refused", path.display());
    }
}

#[test]
fn with_everything_known_a_body_needs_no_glue() {
    let float = |location, channels| FragmentInput {
        semantic: Semantic::Location(location),
        channels,
        flat: false,
        per_vertex: false,
        ty: ComponentType::F32,
    };
    let format = |name: &str| name.parse().expect("a format");
    let attribute = |location, name, offset| VertexAttribute { location, binding: 0, format: format(name), offset };
    let vertex = VertexInputState {
        bindings: vec![VertexBinding { binding: 0, stride: 20, rate: VertexRate::Vertex, divisor: 1 }],
        attributes: vec![
            attribute(0, "R32G32_SFLOAT", 0),
            attribute(1, "R32G32_SFLOAT", 8),
            attribute(2, "R8G8B8A8_UNORM", 16),
        ],
    };
    let color = ColorAttachment {
        location: 0,
        format: format("B8G8R8A8_UNORM"),
        write_mask: 15,
        blend: true,
        blend_source_alpha: true,
    };
    let known = KnownState {
        operands: Known::Known(Vec::new()),
        layout: Known::Unknown,
        vertex: Known::Known(vertex),
        reads: Known::Known(FragmentReads { inputs: vec![float(0, 3), float(1, 15)], constants: Vec::new() }),
        constants: Known::Unknown,
        multiview: Known::Known(false),
        sample_shading: Known::Unknown,
        colors: Known::Known(ColorState { attachments: vec![color], ..ColorState::default() }),
    };
    for (name, wanted) in [
        ("ui.vert", ["tbuffer_load_format_x", "exp pos0", "exp param1"]),
        ("ui.frag", ["image_sample", "exp mrt0", " compr vm"]),
    ] {
        let path = root().join("testdata/shaders").join(name);
        let module = Module::new(glslang(&path)).unwrap();
        for wave in [WaveSize::W32, WaveSize::W64] {
            let elf = compile(&module, stage(&path), wave, known.clone()).unwrap();
            let code = llvm_tool("llvm-objdump-19", &["-d", "-r"], &elf);
            for wanted in wanted.into_iter().chain(["s_endpgm"]) {
                assert!(code.contains(wanted), "no `{wanted}` in\n{code}");
            }
            assert!(!code.contains("dovetail.next"), "{code}");
        }
    }
}

#[test]
fn the_compiler_names_its_llvm() {
    assert!(LlvmCompiler::new().id().backend.starts_with("llvm 19.1."));
}
