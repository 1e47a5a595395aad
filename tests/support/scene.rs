//! Compares a draw pixel by pixel: linked and whole pipelines on the emulator against lavapipe.
//!
//! A pixel at an edge may be covered in one and not in the other, because both snap vertices to fractions of a pixel;
//! these are counted and must be few. All others agree within the bound of their format. A draw that disagrees is
//! shrunk and saved in `target/bundles` for `dovetail replay`.

#![allow(dead_code, reason = "each test program uses its own part of this")]

use crate::chosen::ChosenCompiler;
use crate::support::root;
use crate::vulkan::{Lavapipe, Shader};
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::request::{GeneratorKind, Module};
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::{BlendFactor, Inputs, TargetAttachment};
use dovetail::emu::{self, NamedFormat, RunLimits};
use dovetail::ir::interp::Options;
use dovetail::link::{MetadataVersion, Placement, verify};
use dovetail::pipeline::{Built, PipelineOutcome, PipelineRequest, Route, ShaderRef, build, build_whole};
use dovetail::proof::{Bundle, Judge, Outputs, StageEntry, interpreted_draw, texels_apart};
use dovetail::state::{ColorAttachment, PipelineState};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::Toolchain;

/// A pipeline's shaders and inputs.
pub struct Scene {
    /// SPIR-V.
    pub vertex: Vec<u8>,
    /// SPIR-V.
    pub fragment: Vec<u8>,
    /// Vertex input and resource layout; colours are derived from the draw.
    pub state: PipelineState,
    /// Resources and draw.
    pub inputs: Inputs,
}

/// Maximum number of pixels that only one of the two has drawn.
pub const EDGES: usize = 12;

/// Choices of a pipeline's builder.
#[derive(Clone, Copy, Debug)]
pub struct Arrangement {
    /// Lanes per vertex wave.
    pub vertex: WaveSize,
    /// Lanes per fragment wave.
    pub fragment: WaveSize,
    /// Placement of the parts.
    pub placement: Placement,
}

impl Arrangement {
    /// Wave32, adjacent placement.
    pub const SMALL: Self = Self { vertex: WaveSize::W32, fragment: WaveSize::W32, placement: Placement::Adjacent };
    /// Wave64, chained placement.
    pub const LARGE: Self = Self { vertex: WaveSize::W64, fragment: WaveSize::W64, placement: Placement::Chained };

    /// Every combination.
    pub fn all() -> Vec<Self> {
        let waves = [WaveSize::W32, WaveSize::W64];
        let sizes = waves.into_iter().flat_map(|vertex| waves.map(|fragment| (vertex, fragment)));
        let both = [Placement::Adjacent, Placement::Chained];
        sizes.flat_map(|(vertex, fragment)| both.map(|placement| Self { vertex, fragment, placement })).collect()
    }
}

impl Scene {
    /// ELFs of both routes, each in two entirely different arrangements.
    pub fn pipelines(&self) -> Vec<(String, WaveSize, Vec<u8>)> {
        self.pipelines_in(&[Arrangement::SMALL, Arrangement::LARGE])
    }

    /// The same in these arrangements.
    pub fn pipelines_in(&self, arrangements: &[Arrangement]) -> Vec<(String, WaveSize, Vec<u8>)> {
        let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
        let tools = || Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
        let mut out = self.pipelines_by(&tools(), arrangements);
        // Parts compiled for each other; they do not depend on the placement.
        let modules = self.modules();
        for &arrangement in arrangements.iter().take(1) {
            let built =
                built(build(&self.request(&modules, arrangement, Gpu::Gfx1030), &tools().making_pairs()), "paired");
            let varied = matches!(built.route, Route::Whole(_)) || self.state.view_mask != 0;
            let paired = built.parts.iter().any(|part| part.paired);
            assert!(paired || varied || self.state.color.shades_samples(), "no pair: {:?}", built.parts);
            out.push((format!("paired, {arrangement:?}"), arrangement.fragment, built.elf));
        }
        out
    }

    fn modules(&self) -> [Module; 2] {
        [&self.vertex, &self.fragment].map(|spirv| Module::new(spirv.clone()).expect("a module"))
    }

    fn request<'a>(&'a self, modules: &'a [Module; 2], arrangement: Arrangement, target: Gpu) -> PipelineRequest<'a> {
        PipelineRequest {
            shaders: vec![
                ShaderRef::new(&modules[0], "main", Stage::Vertex, arrangement.vertex),
                ShaderRef::new(&modules[1], "main", Stage::Fragment, arrangement.fragment),
            ]
            .into(),
            state: &self.state,
            layout: None,
            target,
            options: Default::default(),
            placement: arrangement.placement,
        }
    }

    /// The same, with a cache that already has the parts.
    pub fn pipelines_by(
        &self,
        tools: &Toolchain<'_>,
        arrangements: &[Arrangement],
    ) -> Vec<(String, WaveSize, Vec<u8>)> {
        self.pipelines_for(Gpu::Gfx1030, tools, arrangements)
    }

    /// The same for a GPU.
    pub fn pipelines_for(
        &self,
        target: Gpu,
        tools: &Toolchain<'_>,
        arrangements: &[Arrangement],
    ) -> Vec<(String, WaveSize, Vec<u8>)> {
        let modules = self.modules();
        let mut out = Vec::new();
        for &arrangement in arrangements {
            let request = self.request(&modules, arrangement, target);
            for (name, outcome) in [("linked", build(&request, tools)), ("whole", build_whole(&request, tools, None))] {
                let elf = built(outcome, name).elf;
                out.push((format!("{name}, {arrangement:?}"), arrangement.fragment, elf));
            }
        }
        out
    }

    /// Sets the state's colour attachments from the draw.
    pub fn take_colors_from_draw(&mut self) {
        let draw = self.inputs.draw.as_ref().expect("a draw");
        (self.state.color.samples, self.state.color.sample_shading) = (draw.samples, draw.sample_shading);
        self.state.color.alpha_to_one = draw.alpha_to_one;
        self.state.view_mask = draw.view_mask;
        let second = |f| {
            use BlendFactor::{OneMinusSrc1Alpha, OneMinusSrc1Color, Src1Alpha, Src1Color};
            matches!(f, Src1Color | OneMinusSrc1Color | Src1Alpha | OneMinusSrc1Alpha)
        };
        let blends = || draw.targets.iter().filter_map(|t| t.blend);
        let both = blends().flat_map(|b| [b.color, b.alpha]).flat_map(|e| [e.source, e.destination]);
        self.state.color.dual_source = both.into_iter().any(second);
        self.state.color.attachments = draw
            .targets
            .iter()
            .map(|t| ColorAttachment {
                location: t.location,
                format: t.format.parse().expect("a format"),
                write_mask: t.write_mask,
                blend: t.blend.is_some(),
                blend_source_alpha: t.blend.is_some_and(|b| {
                    [b.color.source, b.color.destination]
                        .iter()
                        .any(|f| matches!(f, BlendFactor::SrcAlpha | BlendFactor::OneMinusSrcAlpha))
                }),
            })
            .collect();
    }

    /// The case as a bundle, for fragment waves of this size.
    fn bundle(&self, name: &str, wave: WaveSize, edges: usize) -> Bundle {
        let stage = |stage, spirv: &Vec<u8>, wave| {
            let entry = StageEntry { stage, entry_point: "main".to_owned(), wave };
            (entry, Module::new(spirv.clone()).expect("a module"))
        };
        let vertex = stage(Stage::Vertex, &self.vertex, WaveSize::W32);
        let fragment = stage(Stage::Fragment, &self.fragment, wave);
        let mut bundle = Bundle::new(name, 0, "lavapipe", vec![vertex, fragment]);
        bundle.manifest.edges = edges;
        (bundle.state, bundle.inputs) = (self.state.clone(), self.inputs.clone());
        bundle
    }

    /// Draws by every route and on lavapipe, and compares every attachment and every writable buffer.
    pub fn judge(&mut self, vulkan: &Lavapipe, name: &str, edges: usize, step: Option<f32>) {
        self.judge_in(&[Arrangement::SMALL, Arrangement::LARGE], vulkan, name, edges, step);
    }

    /// The same in these arrangements.
    pub fn judge_in(
        &mut self,
        arrangements: &[Arrangement],
        vulkan: &Lavapipe,
        name: &str,
        edges: usize,
        step: Option<f32>,
    ) {
        self.take_colors_from_draw();
        let ask = |inputs: &Inputs| {
            let shader = |module| Shader { module, entry: "main", spec: &[] };
            let fragment = shader(&self.fragment);
            Judge::draw(vulkan, &shader(&self.vertex), Some(&fragment), &self.state.vertex, inputs)
        };
        self.judge_primitive_shader(name);
        let theirs = ask(&self.inputs).unwrap_or_else(|why| panic!("{name}: {why}"));
        for (route, wave, elf) in self.pipelines_in(arrangements) {
            let compared = || {
                let ours = emu::run(&elf, &self.state.layout, &self.inputs, RunLimits::default());
                self.compared(&ours.map_err(|e| e.to_string())?, &theirs, (edges, step))
            };
            if let Err(why) = compared() {
                let bundle = self.bundle(name, wave, edges);
                let saved = bundle.report_failure(&root().join("target/bundles"), &ChosenCompiler::new(), &mut { ask });
                panic!("{name}, {route}: {why}\n{saved}");
            }
        }
    }

    /// Draws with the vertex shader as a primitive shader, in groups of several sizes, and with the code of GPUs that have no
    /// other vertex shaders, and compares with the hardware VS stage: nothing may differ.
    pub fn judge_primitive_shader(&self, name: &str) {
        let draw = self.inputs.draw.as_ref().expect("a draw");
        let mut ngg = Self {
            vertex: self.vertex.clone(),
            fragment: self.fragment.clone(),
            state: self.state.clone(),
            inputs: Inputs::default(),
        };
        (ngg.state.ngg, ngg.state.raster.primitive) = (true, draw.topology.kind());
        let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
        let run = |elf: &[u8], group| {
            let limits = RunLimits { group, ..RunLimits::default() };
            let ran = emu::run(elf, &self.state.layout, &self.inputs, limits).unwrap_or_else(|e| panic!("{name}: {e}"));
            let targets = ran.targets.expect("targets");
            let colors: Vec<Vec<u8>> = targets.colors.into_iter().map(|color| color.data).collect();
            let depth = targets.depth.map(|depth| depth.data.iter().map(|z| z.to_bits()).collect::<Vec<_>>());
            (ran.bindings, colors, depth, targets.stencil.map(|stencil| stencil.data))
        };
        for (arrangement, version, gpus) in [
            (Arrangement::SMALL, MetadataVersion::Registers, &[Gpu::Gfx1100][..]),
            (Arrangement::LARGE, MetadataVersion::Named, &[Gpu::Gfx1100, Gpu::Gfx1150, Gpu::Gfx1200]),
        ] {
            let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain").with_metadata(version);
            let of = |scene: &Self, gpu| {
                scene.pipelines_for(gpu, &tools, &[arrangement]).into_iter().map(|(_, _, elf)| elf).collect::<Vec<_>>()
            };
            let before = of(self, Gpu::Gfx1030);
            let mut others = vec![of(&ngg, Gpu::Gfx1030)];
            if ChosenCompiler::new().generator() == GeneratorKind::Native {
                others.extend(gpus.iter().map(|gpu| of(&ngg, *gpu)));
            }
            for (before, elf) in others.iter().flat_map(|others| before.iter().zip(others)) {
                // It reads the primitive id.
                if elf == before {
                    continue;
                }
                let report = verify(elf).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(report.is_ok(), "{name}: {:?}", report.violations);
                let code = dovetail::check::check(elf).unwrap_or_else(|e| panic!("{name}: {e}"));
                let errors: Vec<_> = code.errors().collect();
                assert!(errors.is_empty(), "{name}: {errors:#?}");
                let expected = run(before, None);
                for group in [None, Some(1), Some(29), Some(256)] {
                    assert!(
                        run(elf, group) == expected,
                        "{name}, {arrangement:?}: groups of {group:?} draw another picture"
                    );
                }
            }
        }
    }

    /// Draws by every route, and compares with the interpreter's results for both shaders.
    pub fn judge_interpreted(&mut self, name: &str) {
        self.take_colors_from_draw();
        let ir = |spirv: &[u8], stage| {
            let module = Module::new(spirv.to_vec()).expect("a module");
            translate(&module, "main", stage, &[]).unwrap_or_else(|e| panic!("{name}: {e}"))
        };
        self.judge_primitive_shader(name);
        let (vertex, fragment) = (ir(&self.vertex, Stage::Vertex), ir(&self.fragment, Stage::Fragment));
        for (route, wave, elf) in self.pipelines() {
            let at = format!("{name}, {route}");
            let options = Options { subgroup_size: wave.lanes(), shadow: true, ..Default::default() };
            let drawn = interpreted_draw(&vertex, Some(&fragment), &self.state.vertex, &self.inputs, options);
            let drawn = drawn.unwrap_or_else(|e| panic!("{at}: {e}"));
            let ours = emu::run(&elf, &self.state.layout, &self.inputs, RunLimits::default());
            let targets = ours.unwrap_or_else(|e| panic!("{at}: {e}")).targets.expect("targets");
            for (known, color) in drawn.targets.iter().zip(&targets.colors) {
                let own = known.bytes().expect("bytes");
                let verdict = known.judge_between(&color.data, &own, 2.0);
                assert!(
                    verdict.wrong.is_empty(),
                    "{at}, {}: {:#?}",
                    color.state.location,
                    &verdict.wrong[..4.min(verdict.wrong.len())]
                );
                let left: std::collections::BTreeSet<_> = color.data.chunks(16).collect();
                let open = verdict.loose + verdict.uncertain + verdict.not_finite;
                assert!(
                    left.len() > 3 && open * 4 < verdict.written,
                    "{at}, {}: proves nothing: {verdict:?}",
                    color.state.location
                );
            }
        }
    }

    fn compared(&self, ours: &emu::RunOutcome, theirs: &Outputs, bound: (usize, Option<f32>)) -> Result<(), String> {
        let draw = self.inputs.draw.as_ref().expect("a draw");
        for ((binding, ours), theirs) in self.inputs.bindings.iter().zip(&ours.bindings).zip(&theirs.bindings) {
            if binding.bound.storage_buffer().is_some() && ours != theirs {
                return Err(format!("binding {} differs", binding.binding));
            }
        }
        let targets = ours.targets.as_ref().expect("targets");
        for (target, theirs) in targets.colors.iter().zip(&theirs.targets) {
            compare(&target.state, [&target.data, theirs], bound)
                .map_err(|why| format!("target {}: {why}", target.state.location))?;
        }
        if let Some(stencil) = &targets.stencil {
            let clear = [f32::from(stencil.state.clear); 4];
            let state = TargetAttachment { format: "R8_UINT".to_owned(), clear, ..draw.targets[0].clone() };
            compare(&state, [&stencil.data, &theirs.stencil], bound).map_err(|why| format!("stencil: {why}"))?;
        }
        let Some(depth) = &targets.depth else { return Ok(()) };
        let bits = depth.data.iter().flat_map(|z| z.to_le_bytes()).collect::<Vec<u8>>();
        let clear = [depth.state.clear; 4];
        let state = TargetAttachment { format: "R32_SFLOAT".to_owned(), clear, ..draw.targets[0].clone() };
        compare(&state, [&bits, &theirs.depth], bound).map_err(|why| format!("depth: {why}"))
    }

    /// Draws by every route, and compares the first two attachments with each other.
    pub fn judge_alike(&mut self, name: &str, step: Option<f32>) {
        self.take_colors_from_draw();
        self.judge_primitive_shader(name);
        for (route, _, elf) in self.pipelines() {
            let at = format!("{name}, {route}");
            let ours = emu::run(&elf, &self.state.layout, &self.inputs, RunLimits::default());
            let targets = ours.unwrap_or_else(|e| panic!("{at}: {e}")).targets.expect("targets");
            let [first, second] = &targets.colors[..] else { panic!("{at}: not two attachments") };
            compare(&first.state, [&first.data, &second.data], (0, step)).unwrap_or_else(|why| panic!("{at}: {why}"));
        }
    }
}

/// Compares two attachments; returns why they are not the same picture, or prove nothing.
pub fn compare(
    target: &TargetAttachment,
    [ours, theirs]: [&[u8]; 2],
    (allowed, step): (usize, Option<f32>),
) -> Result<(), String> {
    if ours.len() != theirs.len() {
        return Err(format!("{} bytes, not {}", ours.len(), theirs.len()));
    }
    let format = NamedFormat::new(&target.format).expect("a format");
    let clear = target.clear.map(|x| if format.format.is_integer() { x as u32 } else { x.to_bits() });
    let clear = format.encode(clear).expect("a clear colour");
    let pixels = || theirs.chunks(format.format.bytes());
    let drawn = pixels().filter(|pixel| *pixel != &clear[..]).count();
    let colors: std::collections::BTreeSet<_> = pixels().collect();
    assert!(drawn > 100 && colors.len() > 3, "{drawn} pixels of {} colours prove nothing", colors.len());
    let apart = texels_apart(&target.format, ours, theirs, step).map_err(|e| e.to_string())?;
    if apart.len() <= allowed {
        return Ok(());
    }
    Err(format!("{} of {drawn} pixels differ: {:?}", apart.len(), &apart[..8.min(apart.len())]))
}

fn built(outcome: Result<PipelineOutcome, dovetail::error::Error>, name: &str) -> Built {
    match outcome {
        Ok(PipelineOutcome::Built(built)) => built,
        other => panic!("{name}: {other:?}"),
    }
}
