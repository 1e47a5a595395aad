//! Linked pipelines equal whole ones, over the product of pipeline states: attribute formats, rates, attachments,
//! blending and coverage, layouts, samples, views, specialization.
//!
//! Each pipeline is linked from parts and compiled as a whole, and drawn both ways by the emulator; every attachment
//! and the registers of colour exports are compared. The pipelines are chosen by a walk through the product whose step
//! is coprime to every axis, so that each value meets each value of another axis. Stages with equal known state are
//! compiled once.

use crate::chosen::ChosenCompiler;
use crate::support;
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::request::Module;
use dovetail::compile::spirv::{reflect, translate};
use dovetail::emu::inputs::{
    BindingElement, Blend, BlendEquation, BlendFactor, BlendOp, Bound, Draw, InputBytes, Inputs, TargetAttachment,
    Topology, VertexBuffer,
};
use dovetail::emu::{self, LoadedPipeline, Machine, RunLimits};
use dovetail::link::Placement;
use dovetail::metadata::registers::*;
use dovetail::pipeline::{Built, PipelineOutcome, PipelineRequest, Route, ShaderRef, build, build_whole};
use dovetail::proof::texels_apart;
use dovetail::state::{
    ColorAttachment, PipelineState, SpecializationEntry, VertexAttribute, VertexBinding, VertexInputState, VertexRate,
};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::Toolchain;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::Mutex;

const VERTEX: &str = "#version 450
    #extension GL_EXT_multiview : require
    layout(constant_id = 1) const float shift = 0.0;
    layout(constant_id = 2) const int extra = 3;
    layout(location = 0) in vec4 position;
    layout(location = 1) in vec4 given;
    layout(set = 0, binding = 0) uniform U { vec4 scale; };
    layout(push_constant) uniform P { vec4 offset; };
    layout(location = 0) out vec4 smoothed;
    layout(location = 1) flat out ivec2 number;
    layout(location = 2) noperspective out vec2 linear;
    layout(location = 3) out vec4 constant;
    layout(location = 4) out vec4 half_way;
    void main() {
        gl_Position = position * scale + offset + vec4(shift, 0.0, 0.0, 0.0);
        smoothed = given;
        number = ivec2(extra + gl_ViewIndex, gl_InstanceIndex);
        linear = position.xy;
        constant = vec4(0.0, 0.0, 0.0, 1.0);
        half_way = vec4(0.5);
    }";

/// Common text of all fragment shaders, with placeholders `OUTPUTS` and `WRITES`.
const FRAGMENT: &str = "#version 450
    #extension GL_EXT_multiview : require
    layout(constant_id = 3) const float gain = 1.0;
    layout(constant_id = 4) const bool swapped = false;
    layout(location = 0) in vec4 smoothed;
    layout(location = 1) flat in ivec2 number;
    layout(location = 2) noperspective in vec2 linear;
    layout(location = 3) in vec4 constant;
    layout(location = 4) in vec4 half_way;
    layout(set = 0, binding = 1) readonly buffer T { vec4 table[]; };
    OUTPUTS
    void main() {
        vec4 mixed = smoothed * gain + table[(number.x + number.y) & 3] * constant.w;
        vec4 a = mix(mixed, mixed.wzyx, bvec4(swapped)) * half_way;
        vec4 b = vec4(linear * 0.25 + 0.5, float(number.x) * 0.125, 0.75);
        WRITES
    }";

/// Outputs of a fragment shader, its writes, and possible formats of each attachment.
struct Colors {
    outputs: &'static str,
    writes: &'static str,
    first: &'static [&'static str],
    second: &'static [&'static str],
    dual: bool,
}

const FLOATS: &[&str] = &[
    "R8G8B8A8_UNORM",
    "B8G8R8A8_SRGB",
    "R16G16B16A16_SFLOAT",
    "R32G32B32A32_SFLOAT",
    "A2B10G10R10_UNORM_PACK32",
    "R16G16_SNORM",
    "R32_SFLOAT",
];

const COLORS: &[Colors] = &[
    Colors {
        outputs: "layout(location = 0) out vec4 c0; layout(location = 1) out vec4 c1;",
        writes: "c0 = a; c1 = b;",
        first: FLOATS,
        second: &["R16G16B16A16_SFLOAT", "R8G8B8A8_UNORM", ""],
        dual: false,
    },
    Colors {
        outputs: "layout(location = 0) out vec4 c0; layout(location = 1) out ivec4 c1;",
        writes: "c0 = b; c1 = ivec4(number, gl_ViewIndex, 9);",
        first: FLOATS,
        second: &["R32G32B32A32_SINT", "R8G8B8A8_SINT", "R16G16_SINT"],
        dual: false,
    },
    Colors {
        outputs: "layout(location = 0, index = 0) out vec4 c0; layout(location = 0, index = 1) out vec4 c1;",
        writes: "c0 = a; c1 = b;",
        first: FLOATS,
        second: &[""],
        dual: true,
    },
];

/// Formats of the attribute, with the size of an element in bytes.
const ATTRIBUTES: &[(&str, u32)] = &[
    ("R32G32B32A32_SFLOAT", 16),
    ("R8G8B8A8_UNORM", 4),
    ("R16G16_SFLOAT", 4),
    ("R32_SFLOAT", 4),
    ("A2B10G10R10_UNORM_PACK32", 4),
    ("R8G8B8_UNORM", 3),
];
const RATES: &[(VertexRate, u32)] = &[(VertexRate::Vertex, 1), (VertexRate::Instance, 1), (VertexRate::Instance, 0)];
/// Values of the constants, in the order of their ids; `None`: the default.
const SPECIALIZATIONS: &[[Option<u64>; 4]] = &[
    [None; 4],
    [Some(0x3e80_0000), Some(5), None, Some(1)],
    [None, Some(0xffff_ffff), Some(0x3f00_0000), None],
    [Some(0xbe00_0000), None, Some(0x4000_0000), Some(1)],
];
const LAYOUTS: usize = 4;
/// Number of samples, and whether each is shaded.
const SAMPLES: &[(u32, bool)] = &[(1, false), (4, false), (4, true), (2, true)];
const VIEWS: &[u32] = &[0, 0b1, 0b101];
/// No blending, over, add; each with all channels or some.
const BLENDS: usize = 6;
/// Neither, alpha to coverage, alpha to one.
const COVERAGES: usize = 3;

/// A point in the product.
#[derive(Clone, Copy, Debug)]
struct Point {
    colors: usize,
    first: usize,
    second: usize,
    attribute: usize,
    rate: usize,
    specialization: usize,
    layout: usize,
    samples: usize,
    views: usize,
    blend: usize,
    coverage: usize,
}

impl Point {
    /// The n-th point of the walk: every axis has its own step, and the steps have no common divisor.
    fn of(n: usize) -> Self {
        let axis = |speed: usize, len: usize| n / speed % len;
        let colors = axis(1, COLORS.len());
        Self {
            colors,
            first: axis(3, FLOATS.len()),
            second: axis(5, COLORS[colors].second.len()),
            attribute: axis(7, ATTRIBUTES.len()),
            rate: axis(11, RATES.len()),
            specialization: axis(2, SPECIALIZATIONS.len()),
            layout: axis(13, LAYOUTS),
            samples: axis(17, SAMPLES.len()),
            views: axis(19, VIEWS.len()),
            blend: axis(4, BLENDS),
            coverage: axis(23, COVERAGES),
        }
    }

    fn colors(&self) -> &'static Colors {
        &COLORS[self.colors]
    }

    fn state(&self, template: &PipelineState) -> PipelineState {
        let mut state = template.clone();
        let set = &mut state.layout.sets[0];
        match self.layout {
            0 => {}
            1 => {
                set.root = Some(3);
                (set.bindings[0].offset, set.bindings[1].offset) = (Some(64), Some(16));
                state.layout.push_constant_root = Some(5);
            }
            2 => set.bindings.iter_mut().for_each(|binding| binding.dynamic = true),
            _ => set.bindings[1].dynamic = true,
        }
        let format = |name: &str| name.parse().expect("a format");
        let (attribute, size) = ATTRIBUTES[self.attribute];
        let (rate, divisor) = RATES[self.rate];
        let binding = |binding, stride, rate, divisor| VertexBinding { binding, stride, rate, divisor };
        let at = |location, name| VertexAttribute { location, binding: location, format: format(name), offset: 0 };
        state.vertex = VertexInputState {
            bindings: vec![binding(0, 16, VertexRate::Vertex, 1), binding(1, size, rate, divisor)],
            attributes: vec![at(0, "R32G32B32A32_SFLOAT"), at(1, attribute)],
        };
        state.specialization = (1..)
            .zip(SPECIALIZATIONS[self.specialization])
            .filter_map(|(id, value)| Some(SpecializationEntry { stage: None, id, value: value? }))
            .collect();
        state.color.attachments = self
            .targets()
            .iter()
            .map(|t| ColorAttachment {
                location: t.location,
                format: format(&t.format),
                write_mask: t.write_mask,
                blend: t.blend.is_some(),
                blend_source_alpha: t.blend.is_some_and(|b| b.color.source == BlendFactor::SrcAlpha),
            })
            .collect();
        (state.color.samples, state.color.sample_shading) = SAMPLES[self.samples];
        state.color.alpha_to_coverage = self.coverage == 1;
        state.color.alpha_to_one = self.coverage == 2;
        state.color.dual_source = self.colors().dual;
        state.view_mask = VIEWS[self.views];
        state
    }

    fn targets(&self) -> Vec<TargetAttachment> {
        let over = |source, destination| BlendEquation { source, destination, op: BlendOp::Add };
        let blend = match self.blend % 3 {
            _ if self.colors().dual => Some(Blend::PRODUCT),
            0 => None,
            1 => Some(Blend {
                color: over(BlendFactor::SrcAlpha, BlendFactor::OneMinusSrcAlpha),
                alpha: over(BlendFactor::One, BlendFactor::Zero),
            }),
            _ => Some(Blend {
                color: over(BlendFactor::One, BlendFactor::One),
                alpha: over(BlendFactor::One, BlendFactor::One),
            }),
        };
        let mask = if self.blend < 3 { 15 } else { 0b0101 };
        let target = |location, format: &str| TargetAttachment {
            clear: [0.25, 0.5, 0.0, 1.0],
            write_mask: mask,
            // Integer formats do not blend.
            blend: blend.filter(|_| !format.ends_with("INT")),
            ..TargetAttachment::new(location, format)
        };
        let formats = [(0, self.colors().first[self.first]), (1, self.colors().second[self.second])];
        formats.into_iter().filter(|(_, format)| !format.is_empty()).map(|(n, format)| target(n, format)).collect()
    }

    fn inputs(&self) -> Inputs {
        let floats = |x: &[f32]| InputBytes(x.iter().flat_map(|x| x.to_le_bytes()).collect());
        let bind = |binding, bound| BindingElement { set: 0, binding, element: 0, bound };
        let corners = [[-1.0, -1.0, 0.5, 1.0], [1.0, -0.75, 0.25, 1.0], [-0.5, 1.0, 0.75, 1.5], [0.75, 0.75, 0.5, 1.0]];
        let corners: Vec<f32> = corners.concat();
        // Valid in any format: no float is infinite.
        let bytes = (0..128u32).map(|n| if n % 4 == 3 { 0x3e } else { (n * 37 % 0x78) as u8 }).collect();
        let table: Vec<f32> = (0..16).map(|n| n as f32 * 0.0625).collect();
        let (samples, sample_shading) = SAMPLES[self.samples];
        let buffer = |binding, stride, data| VertexBuffer { binding, stride, data };
        Inputs {
            bindings: vec![
                bind(0, Bound::UniformBuffer(floats(&[1.0, 0.875, 1.0, 1.0]))),
                bind(1, Bound::StorageBuffer(floats(&table))),
            ],
            push_constants: floats(&[0.0, 0.125, 0.0, 0.0]),
            draw: Some(Draw {
                instances: 2,
                vertex_buffers: vec![
                    buffer(0, 16, floats(&corners)),
                    buffer(1, ATTRIBUTES[self.attribute].1, InputBytes(bytes)),
                ],
                targets: self.targets(),
                samples,
                sample_shading,
                alpha_to_one: self.coverage == 2,
                view_mask: VIEWS[self.views],
                ..Draw::new(Topology::TriangleStrip, 4, [12, 10])
            }),
            ..Inputs::default()
        }
    }
}

/// The registers of colour exports and of the shader's inputs.
fn registers(elf: &[u8]) -> Vec<Option<u32>> {
    let words = LoadedPipeline::load(&mut Machine::new(Gpu::Gfx1030), elf).expect("loads").registers;
    let same = [
        SPI_SHADER_COL_FORMAT,
        CB_SHADER_MASK,
        SPI_SHADER_Z_FORMAT,
        DB_SHADER_CONTROL,
        PA_CL_VS_OUT_CNTL,
        PA_SC_MODE_CNTL_1,
        SPI_SHADER_POS_FORMAT,
    ];
    same.iter().map(|register| words.get(*register)).collect()
}

/// Compares these pipelines; returns the number of pictures.
fn compare(test: &str, points: impl Iterator<Item = usize>) -> Option<usize> {
    let dir = tempfile::tempdir().expect("a folder");
    let compiled = |name: &str, source: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, source).expect("a source");
        Some(Module::new(support::glsl(test, &path, "vulkan1.1")?).expect("a module"))
    };
    let vertex = compiled("m.vert", VERTEX)?;
    let fragments: Vec<Module> = COLORS
        .iter()
        .map(|c| compiled("m.frag", &FRAGMENT.replace("OUTPUTS", c.outputs).replace("WRITES", c.writes)))
        .collect::<Option<_>>()?;
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    let templates: Vec<PipelineState> = fragments
        .iter()
        .map(|fragment| {
            let shaders = [(&vertex, Stage::Vertex), (fragment, Stage::Fragment)];
            let shaders = shaders.map(|(module, stage)| translate(module, "main", stage, &[]).expect("a shader"));
            dovetail::template::state(&shaders).expect("a state")
        })
        .collect();
    let pictures = Mutex::new(BTreeSet::new());
    let early = Mutex::new(BTreeSet::new());
    points.collect::<Vec<_>>().into_par_iter().for_each(|n| {
        let point = Point::of(n);
        let state = point.state(&templates[point.colors]);
        let (placement, wave) = [(Placement::Adjacent, WaveSize::W64), (Placement::Chained, WaveSize::W32)][n / 29 % 2];
        let shader = |stage, module| {
            let ids = reflect(module).expect("a module").spec_constants.into_iter().map(|c| c.id);
            ShaderRef::new(module, "main", stage, wave).with_spec_ids(ids)
        };
        let request = PipelineRequest {
            shaders: vec![shader(Stage::Vertex, &vertex), shader(Stage::Fragment, &fragments[point.colors])].into(),
            state: &state,
            layout: None,
            target: Gpu::Gfx1030,
            options: Default::default(),
            placement,
        };
        let built = |outcome: Result<PipelineOutcome, _>| -> Built {
            match outcome {
                Ok(PipelineOutcome::Built(built)) => built,
                other => panic!("{n} {point:?}: {other:?}"),
            }
        };
        let (linked, whole) = (built(build(&request, &tools)), built(build_whole(&request, &tools, None)));
        assert_eq!(linked.route, Route::Linked, "{n} {point:?}");
        early.lock().expect("no panic").extend(linked.parts.iter().map(|part| (part.stage, part.bytes)));
        assert_eq!(registers(&linked.elf), registers(&whole.elf), "{n} {point:?}");
        let inputs = point.inputs();
        let draw = |built: &Built| {
            let drawn = emu::run(&built.elf, &state.layout, &inputs, RunLimits::default());
            drawn.unwrap_or_else(|e| panic!("{n} {point:?}: {e}")).targets.expect("targets").colors
        };
        for (ours, theirs) in draw(&linked).iter().zip(&draw(&whole)) {
            let format = &ours.state.format;
            let apart = texels_apart(format, &ours.data, &theirs.data, None).expect("a format");
            assert!(apart.is_empty(), "{n} {point:?}, {format}: {:?}", &apart[..4.min(apart.len())]);
            pictures.lock().expect("no panic").insert(*blake3::hash(&ours.data).as_bytes());
        }
    });
    // A vertex part and its variant for views, three fragment parts and their variants for sample shading, in two wave
    // sizes.
    let early = early.into_inner().expect("no panic").len();
    assert!(early <= 2 * (2 + 6), "{early} early parts");
    Some(pictures.into_inner().expect("no panic").len())
}

#[test]
fn a_sample_of_the_product_links_as_it_compiles() {
    let test = "matrix::a_sample_of_the_product_links_as_it_compiles";
    let Some(pictures) = compare(test, (0..5200).step_by(47)) else { return };
    assert!(pictures > 80, "{pictures} pictures prove little");
}

#[test]
#[ignore = "some minutes: `./dev test --full`"]
fn five_thousand_pipelines_link_as_they_compile() {
    let test = "matrix::five_thousand_pipelines_link_as_they_compile";
    let Some(pictures) = compare(test, 0..5200) else { return };
    assert!(pictures > 2000, "{pictures} pictures prove little");
}
