//! Pipelines of every shader of `testdata`: linked in both layouts and compiled as a whole, in wave32 and wave64.

#![allow(dead_code, reason = "each test program uses its own part of this")]

use crate::chosen::ChosenCompiler;
use crate::support::{assembly, glsl, root};
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::Compiler;
use dovetail::compile::request::{Module, TuningOptions};
use dovetail::compile::spirv;
use dovetail::link::Placement;
use dovetail::pipeline::{PipelineOutcome, PipelineRequest, Route, ShaderRef, build, build_whole};
use dovetail::state::{PipelineState, SpecializationEntry};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::template;
use dovetail::toolchain::Toolchain;
use std::path::{Path, PathBuf};

/// A pipeline's ELF and its origin.
pub struct Built {
    /// Shaders, wave size, route.
    pub name: String,
    /// Its bytes.
    pub elf: Vec<u8>,
}

/// Builds pipelines, compiling each shader once.
pub struct Builder<'a> {
    test: &'static str,
    tools: Toolchain<'a>,
    /// Compile options.
    pub options: TuningOptions,
    /// The built pipelines.
    pub built: Vec<Built>,
}

/// Runs `f` with a builder; `None` if a tool is missing.
pub fn build_all(test: &'static str, f: impl FnOnce(&mut Builder<'_>) -> Option<()>) -> Option<Vec<Built>> {
    build_with(test, &ChosenCompiler::new(), f)
}

/// Runs `f` with a builder for this compiler; `None` if a tool is missing.
pub fn build_with(
    test: &'static str,
    compiler: &dyn Compiler,
    f: impl FnOnce(&mut Builder<'_>) -> Option<()>,
) -> Option<Vec<Built>> {
    let cache = Cache::new(Box::new(MemoryStore::default()));
    let tools = Toolchain::new(&cache, Some(compiler)).expect("a toolchain");
    let mut builder = Builder { test, tools, options: TuningOptions::default(), built: Vec::new() };
    f(&mut builder)?;
    Some(builder.built)
}

/// The stage of a source file, by its extension.
pub fn stage_of(path: &Path) -> Stage {
    match path.extension().and_then(|e| e.to_str()) {
        Some("vert") => Stage::Vertex,
        Some("frag") => Stage::Fragment,
        _ => Stage::Compute,
    }
}

/// Files of a folder of `testdata` with these extensions, sorted.
pub fn files(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("testdata").join(folder)).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|p| p.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e)));
    paths.sort();
    assert!(!paths.is_empty(), "{folder}");
    paths
}

/// Directives of a coverage case: lines of its header that begin with `key`.
fn header<'a>(source: &'a str, key: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    let lines = source.lines().filter_map(|l| l.strip_prefix("// ").or(l.strip_prefix("; ")));
    lines.map(|l| l.split_whitespace().collect::<Vec<_>>()).filter(move |words| words.first() == Some(&key))
}

impl Builder<'_> {
    /// SPIR-V of a source file, and the specialization values in its header.
    fn module(&self, path: &Path) -> Option<(Module, Vec<(u32, u64)>)> {
        let source = std::fs::read_to_string(path).expect("a source");
        let target = header(&source, "target").next().map_or("vulkan1.1".to_owned(), |w| w[1].to_owned());
        let assembled = path.extension().is_some_and(|e| e == "spvasm");
        let words = if assembled { assembly(self.test, path)? } else { glsl(self.test, path, &target)? };
        let number = |text: &str| text.parse::<f64>().expect("a number") as u64;
        let spec = header(&source, "spec").map(|w| (number(w[1]) as u32, number(w[2]))).collect();
        Some((Module::new(words).expect("a module"), spec))
    }

    /// Builds a pipeline of these files by all routes, for a wave size, in its template state modified by `change`.
    pub fn pipeline(&mut self, paths: &[PathBuf], wave: WaveSize, change: impl Fn(&mut PipelineState)) -> Option<()> {
        let mut modules = Vec::new();
        for path in paths {
            let (module, spec) = self.module(path)?;
            modules.push((stage_of(path), module, spec));
        }
        let mut shaders = Vec::new();
        for (stage, module, spec) in &modules {
            let info = spirv::reflect(module).expect("a module");
            shaders.push(spirv::translate(module, "main", *stage, &info.specialization(spec)).expect("a shader"));
        }
        let mut state = template::state(&shaders).expect("a state");
        let specs = modules.iter().flat_map(|(_, _, spec)| spec);
        state.specialization = specs.map(|&(id, value)| SpecializationEntry { stage: None, id, value }).collect();
        change(&mut state);
        let shader = |stage, module, spec: &[(u32, u64)]| {
            ShaderRef::new(module, "main", stage, wave).with_spec_ids(spec.iter().map(|s| s.0))
        };
        let refs: Vec<ShaderRef<'_>> = modules.iter().map(|(stage, m, spec)| shader(*stage, m, spec)).collect();
        let names: Vec<_> = paths.iter().map(|p| p.file_name().unwrap_or_default().to_string_lossy()).collect();
        for (route, placement) in
            [("adjacent", Placement::Adjacent), ("chained", Placement::Chained), ("whole", Placement::Adjacent)]
        {
            let request = PipelineRequest {
                shaders: refs.clone().into(),
                state: &state,
                layout: None,
                target: Gpu::Gfx1030,
                options: self.options.clone(),
                placement,
            };
            let name = format!("{}, wave{}, {route}", names.join(" + "), wave.lanes());
            let outcome =
                if route == "whole" { build_whole(&request, &self.tools, None) } else { build(&request, &self.tools) };
            let Ok(PipelineOutcome::Built(built)) = outcome else { panic!("{name}: {outcome:?}") };
            assert!(route == "whole" || built.route == Route::Linked, "{name}: {:?}", built.route);
            self.built.push(Built { name, elf: built.elf });
        }
        Some(())
    }

    /// Builds the compute shaders and pairs of `testdata/shaders`, `draw` and `draws`.
    pub fn shaders(&mut self) -> Option<()> {
        let at = |name: &str| root().join("testdata").join(name);
        let fixed = |name: &str| (at("draw/screen.vert"), at(name));
        let mut pairs = vec![
            (at("shaders/skinned.vert"), at("shaders/pbr.frag")),
            fixed("shaders/fxaa.frag"),
            (at("draws/varied.vert"), at("draws/varied.frag")),
        ];
        let frags = files("draw", &["frag"]).into_iter().filter(|p| !p.ends_with("inputs.frag"));
        pairs.extend(frags.map(|frag| (at("draw/triangle.vert"), frag)));
        for wave in [WaveSize::W32, WaveSize::W64] {
            for (vert, frag) in &pairs {
                self.pipeline(&[vert.clone(), frag.clone()], wave, |_| {})?;
            }
            for path in files("shaders", &["comp"]) {
                self.pipeline(&[path], wave, |_| {})?;
            }
        }
        Some(())
    }

    /// Builds one pair with prologs and epilogs of many states.
    pub fn glue(&mut self) -> Option<()> {
        let pair = ["vert", "frag"].map(|kind| root().join(format!("testdata/draws/varied.{kind}")));
        let vertex = ["R8G8B8A8_UNORM", "R16G16_SFLOAT", "R32_SFLOAT", "A2B10G10R10_UNORM_PACK32", "R8G8B8_UNORM"];
        for format in vertex {
            self.pipeline(&pair, WaveSize::W64, |state| {
                for (n, attribute) in state.vertex.attributes.iter_mut().enumerate() {
                    attribute.format = format.parse().expect("a format");
                    attribute.offset = u32::try_from(n).unwrap_or(0) * 16 + 2 * u32::from(format.starts_with("R16"));
                }
                for (n, binding) in state.vertex.bindings.iter_mut().enumerate() {
                    binding.divisor = u32::try_from(n).unwrap_or(0) + 1;
                    binding.rate = dovetail::state::VertexRate::Instance;
                }
            })?;
        }
        for format in ["R16G16B16A16_SFLOAT", "R32G32B32A32_SFLOAT", "R16G16_UNORM", "R32_SFLOAT", "R8G8B8A8_SRGB"] {
            self.pipeline(&pair, WaveSize::W64, |state| {
                state.color.attachments.iter_mut().for_each(|a| a.format = format.parse().expect("a format"));
            })?;
        }
        self.pipeline(&pair, WaveSize::W64, |state| state.color.attachments.clear())
    }

    /// Builds the pipelines of `testdata/check`: compute shaders, pairs of equal name, vertex shaders without a
    /// fragment shader.
    pub fn right(&mut self) -> Option<()> {
        let files = files("check", &["vert", "comp"]);
        for wave in [WaveSize::W32, WaveSize::W64] {
            for path in &files {
                let pair = [path.clone(), path.with_extension("frag")];
                let shaders = if pair[1].exists() { &pair[..] } else { &pair[..1] };
                self.pipeline(shaders, wave, |_| {})?;
            }
        }
        Some(())
    }

    /// Builds the cases of `testdata/coverage`.
    pub fn coverage(&mut self, waves: &[WaveSize]) -> Option<()> {
        for path in files("coverage", &["comp", "spvasm"]) {
            for wave in waves {
                self.pipeline(std::slice::from_ref(&path), *wave, |_| {})?;
            }
        }
        Some(())
    }
}
