//! Every format: attributes in each vertex format, per vertex and per instance, and colours in each attachment format,
//! with linked and whole pipelines on the emulator and on lavapipe.
//!
//! Eight formats share a draw. Linked and whole pipelines must leave identical bytes. Tables list the formats that
//! lavapipe lacks, and those that cannot be tested otherwise; the tables must be exact.

use crate::chosen::ChosenCompiler;
use crate::scene::{Arrangement, Scene};
use crate::support::{glsl, root};
use crate::vulkan::{Lavapipe, Shader};
use crate::{support, vulkan};
use dovetail::abi::fetch::FetchPlan;
use dovetail::abi::formats::{Format, Number};
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::{
    BindingElement, Blend, BlendEquation, BlendFactor as F, BlendOp as O, Bound, Draw, InputBytes, Inputs,
    TargetAttachment, Topology, VertexBuffer,
};
use dovetail::emu::{self, LoadedPipeline, Machine, NamedFormat, RunLimits};
use dovetail::ir::{NumericKind, ResourceKind};
use dovetail::metadata::interface::{ComponentType, VertexInput};
use dovetail::metadata::registers::spi_shader_col_format;
use dovetail::proof::Random;
use dovetail::state::{
    BindingLayout, PipelineState, SetLayout, VertexAttribute, VertexBinding, VertexInputState, VertexRate,
};
use dovetail::target::{Gpu, Stage};
use dovetail::template;
use dovetail::toolchain::Toolchain;
use std::collections::BTreeSet;

/// Number of attributes, and of attachments, of a draw.
const MANY: usize = 8;
const SIZE: u32 = 16;

/// Vertex formats that Dovetail supports and lavapipe does not.
const NOT_FETCHED_BY_LAVAPIPE: &[&str] = &["A2R10G10B10_SINT_PACK32", "A2B10G10R10_SINT_PACK32"];
/// Attachment formats that Dovetail supports and lavapipe does not.
const NOT_DRAWN_BY_LAVAPIPE: &[&str] = &[
    "R4G4_UNORM_PACK8",
    "R4G4B4A4_UNORM_PACK16",
    "R8_SRGB",
    "R8G8_SRGB",
    "R8G8B8_UNORM",
    "R8G8B8_SNORM",
    "R8G8B8_SRGB",
    "B8G8R8_UNORM",
    "B8G8R8_SNORM",
    "B8G8R8_SRGB",
    "R16G16B16_UNORM",
    "R16G16B16_SNORM",
    "R16G16B16_SFLOAT",
    "E5B9G9R9_UFLOAT_PACK32",
    "R8G8B8_UINT",
    "B8G8R8_UINT",
    "R16G16B16_UINT",
    "R8G8B8_SINT",
    "B8G8R8_SINT",
    "A2R10G10B10_SINT_PACK32",
    "A2B10G10R10_SINT_PACK32",
    "R16G16B16_SINT",
];
/// Formats that the emulator cannot draw to.
const NOT_DRAWN_BY_THE_EMULATOR: &[&str] = &[];

/// Shader type of a format's texels.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Float,
    Uint,
    Sint,
}

impl Kind {
    fn of(format: &Format) -> Self {
        match format.number {
            Number::Uint => Self::Uint,
            Number::Sint => Self::Sint,
            _ => Self::Float,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Uint => "uint",
            Self::Sint => "sint",
        }
    }

    fn wide(self) -> &'static str {
        match self {
            Self::Float => "R32G32B32A32_SFLOAT",
            Self::Uint => "R32G32B32A32_UINT",
            Self::Sint => "R32G32B32A32_SINT",
        }
    }

    fn numeric(self) -> NumericKind {
        match self {
            Self::Float => NumericKind::Float,
            Self::Uint => NumericKind::Uint,
            Self::Sint => NumericKind::Sint,
        }
    }
}

fn module(test: &str, name: &str) -> Option<Vec<u8>> {
    glsl(test, &root().join("testdata/formats").join(name), "vulkan1.1")
}

fn target(location: usize, format: &str) -> TargetAttachment {
    let clear = [0.25, 0.5, 0.75, 1.0].map(|x| if format.contains("INT") { x * 4.0 } else { x });
    TargetAttachment { clear, ..TargetAttachment::new(location as u32, format) }
}

/// Runs a scene on both; returns the attachments of each, and the numbers of the export formats in use.
fn run(scene: &mut Scene, tools: &Toolchain<'_>, vulkan: &Lavapipe, at: &str) -> (Vec<[Vec<u8>; 2]>, BTreeSet<u32>) {
    scene.take_colors_from_draw();
    let shader = |module| Shader { module, entry: "main", spec: &[] };
    let theirs = vulkan.draw(shader(&scene.vertex), Some(shader(&scene.fragment)), &scene.state.vertex, &scene.inputs);
    let (mut first, mut exports) = (None, BTreeSet::new());
    for (route, _, elf) in scene.pipelines_by(tools, &[Arrangement::SMALL]) {
        let ours = emu::run(&elf, &scene.state.layout, &scene.inputs, RunLimits::default());
        let ours = ours.unwrap_or_else(|e| panic!("{at}, {route}: {e}")).targets.expect("targets");
        let ours: Vec<Vec<u8>> = ours.colors.into_iter().map(|c| c.data).collect();
        let before = first.get_or_insert_with(|| ours.clone());
        assert!(*before == ours, "{at}: {route} differs from linked");
        let loaded = LoadedPipeline::load(&mut Machine::new(Gpu::Gfx1030), &elf).expect("a pipeline");
        let formats = loaded.registers.field(spi_shader_col_format::ALL);
        exports.extend((0..8).map(|n| formats >> (4 * n) & 15).filter(|n| *n != 0));
    }
    (first.into_iter().flatten().zip(theirs.targets).map(|(ours, theirs)| [ours, theirs]).collect(), exports)
}

/// Vertex formats of this kind that Dovetail supports.
fn fetched(kind: Kind) -> Vec<String> {
    let ty = ComponentType { kind: kind.numeric(), bits: 32 };
    let input = [VertexInput { location: 0, component: 0, count: 4, ty }];
    let can = |name: &String| {
        let Ok(format) = Format::parse(name) else { return false };
        let state = VertexInputState {
            bindings: vec![VertexBinding { binding: 0, stride: 16, rate: VertexRate::Vertex, divisor: 1 }],
            attributes: vec![VertexAttribute {
                location: 0,
                binding: 0,
                format: name.parse().expect("a format"),
                offset: 0,
            }],
        };
        Kind::of(&format) == kind && FetchPlan::new(Gpu::Gfx1030, &input, &state).is_ok()
    };
    vulkan::formats().filter(can).collect()
}

/// Bytes of an element: arbitrary bits, except that 32-bit floats are finite numbers.
fn element(random: &mut Random, name: &str) -> Vec<u8> {
    let format = Format::parse(name).expect("a format");
    let bytes = format.widths().iter().map(|w| usize::from(*w)).sum::<usize>() / 8;
    match format.number {
        Number::Float if format.max_bits() == 32 => {
            (0..bytes / 4).flat_map(|_| (random.between(-9.0, 9.0) as f32).to_le_bytes()).collect()
        }
        _ => (0..bytes).map(|_| random.bits() as u8).collect(),
    }
}

fn same_number(kind: Kind, x: u32, y: u32) -> bool {
    let [a, b] = [x, y].map(f32::from_bits);
    // Normalised values are quotients, which may be rounded twice.
    x == y || kind == Kind::Float && (a.is_nan() && b.is_nan() || (a - b).abs() <= b.abs() * 2f32.powi(-22))
}

#[test]
fn every_format_is_fetched() {
    let test = "formats::every_format_is_fetched";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    let mut random = Random::new(7);
    let (mut missing, mut count) = (Vec::new(), 0);
    for kind in [Kind::Float, Kind::Uint, Kind::Sint] {
        let stages = ["vert", "frag"].map(|stage| module(test, &format!("fetch_{}.{stage}", kind.name())));
        let [Some(vertex), Some(fragment)] = stages else { return };
        let (known, without): (Vec<_>, Vec<_>) =
            fetched(kind).into_iter().partition(|name| vulkan.supports(name).vertices);
        missing.extend(without);
        count += known.len();
        for names in known.chunks(MANY) {
            // Every format once per vertex and once per instance.
            for round in 0..2 {
                let mut state = PipelineState::default();
                let mut buffers = Vec::new();
                for location in 0..MANY {
                    let name = &names[location % names.len()];
                    let instance = location % 2 == round;
                    let elements: Vec<Vec<u8>> = (0..33).map(|_| element(&mut random, name)).collect();
                    let stride = (elements[0].len() as u32).next_multiple_of(4) + 4 * (location as u32 % 3);
                    let offset = if stride as usize >= elements[0].len() + 4 { 4 } else { 0 };
                    let mut data = vec![0xa5; 33 * stride as usize];
                    for (to, from) in data.chunks_mut(stride as usize).zip(&elements) {
                        to[offset as usize..][..from.len()].copy_from_slice(from);
                    }
                    let binding = location as u32;
                    state.vertex.bindings.push(VertexBinding {
                        binding,
                        stride,
                        rate: if instance { VertexRate::Instance } else { VertexRate::Vertex },
                        divisor: if instance { location as u32 / 2 } else { 1 },
                    });
                    state.vertex.attributes.push(VertexAttribute {
                        location: binding,
                        binding,
                        format: name.parse().expect("a format"),
                        offset,
                    });
                    buffers.push(VertexBuffer { binding, stride, data: InputBytes(data) });
                }
                let draw = Draw {
                    instances: 7,
                    first_instance: 1,
                    vertex_buffers: buffers,
                    targets: (0..MANY).map(|n| target(n, kind.wide())).collect(),
                    ..Draw::new(Topology::PointList, 32, [SIZE; 2])
                };
                let inputs = Inputs { draw: Some(draw), ..Default::default() };
                let mut scene = Scene { vertex: vertex.clone(), fragment: fragment.clone(), state, inputs };
                let (both, _) = run(&mut scene, &tools, vulkan, &names[0]);
                for ([ours, theirs], attribute) in both.iter().zip(&scene.state.vertex.attributes) {
                    let words =
                        |bytes: &[u8]| bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
                    let (ours, theirs): (Vec<u32>, Vec<u32>) = (words(ours), words(theirs));
                    let distinct: BTreeSet<u32> = theirs.iter().copied().collect();
                    assert!(distinct.len() > 3, "{}: {} values prove nothing", attribute.format, distinct.len());
                    // For some formats lavapipe returns the smallest value unclamped, below -1.
                    let normal = attribute.format.to_string().contains("SNORM");
                    let least = |word: u32| if normal { f32::from_bits(word).max(-1.0).to_bits() } else { word };
                    let wrong = (0..ours.len()).find(|n| !same_number(kind, ours[*n], least(theirs[*n])));
                    if let Some(n) = wrong {
                        let [a, b] = [ours[n], theirs[n]];
                        let rate = &scene.state.vertex.bindings[attribute.binding as usize];
                        panic!("{}: word {n} is {a:#x}, of lavapipe {b:#x}; {rate:?}", attribute.format);
                    }
                }
            }
        }
    }
    assert_eq!(missing, NOT_FETCHED_BY_LAVAPIPE, "what lavapipe does not fetch");
    eprintln!("{count} formats fetched");
}

/// Vertex buffers for the attributes of a shader, in the formats of its template or in others; every second is per
/// instance.
fn fetching(
    stages: [Vec<u8>; 2],
    formats: &[&str],
    round: usize,
    targets: Vec<TargetAttachment>,
    random: &mut Random,
) -> Scene {
    let [vertex, fragment] = stages;
    let ir = translate(&Module::new(vertex.clone()).expect("a module"), "main", Stage::Vertex, &[]).expect("a shader");
    let mut state = template::state(&[ir]).expect("a state");
    let mut vertex_buffers = Vec::new();
    let VertexInputState { bindings, attributes } = &mut state.vertex;
    for (n, (binding, attribute)) in bindings.iter_mut().zip(attributes).enumerate() {
        if let Some(format) = formats.get(n % formats.len().max(1)) {
            attribute.format = format.parse().expect("a format");
        }
        let elements: Vec<Vec<u8>> = (0..33).map(|_| element(random, &attribute.format.to_string())).collect();
        let bytes = elements[0].len() as u32;
        attribute.offset = 8 * (n as u32 % 2);
        binding.stride = (bytes + attribute.offset).next_multiple_of(8) + 8 * (n as u32 % 3);
        binding.rate = if n % 2 == round { VertexRate::Instance } else { VertexRate::Vertex };
        binding.divisor = 1 + (n / 2 % 3) as u32 * (n % 2 == round) as u32;
        let mut data = vec![0xa5; 33 * binding.stride as usize];
        for (to, from) in data.chunks_mut(binding.stride as usize).zip(&elements) {
            to[attribute.offset as usize..][..from.len()].copy_from_slice(from);
        }
        vertex_buffers.push(VertexBuffer { binding: binding.binding, stride: binding.stride, data: InputBytes(data) });
    }
    let draw = Draw {
        instances: 7,
        first_instance: 1,
        vertex_buffers,
        targets,
        ..Draw::new(Topology::PointList, 32, [SIZE; 2])
    };
    Scene { vertex, fragment, state, inputs: Inputs { draw: Some(draw), ..Default::default() } }
}

/// A 64-bit shader input reads 64-bit formats with as many channels, and no others. Lavapipe 22.3 reads some channels
/// of such attributes as zero, so the interpreter is the only reference (doubles as varyings are compared with lavapipe
/// in `stages`).
#[test]
fn wide_formats_are_fetched() {
    let test = "formats::wide_formats_are_fetched";
    let mut random = Random::new(11);
    for kind in [Kind::Float, Kind::Uint, Kind::Sint] {
        let names = [format!("fetch_wide_{}.vert", kind.name()), "fetch_wide.frag".to_owned()];
        let [Some(vertex), Some(fragment)] = names.map(|name| module(test, &name)) else { return };
        for round in 0..2 {
            let targets = (0..7).map(|n| target(n, "R32G32B32A32_UINT")).collect();
            let stages = [vertex.clone(), fragment.clone()];
            let mut scene = fetching(stages, &[], round, targets, &mut random);
            let name = format!("{kind:?}, {round}");
            scene.judge_interpreted(&name);
        }
    }
}

/// 16-bit inputs read formats of up to 16 bits per channel. Lavapipe lacks `storageInputOutput16`, so the interpreter
/// is the reference.
#[test]
fn narrow_inputs_are_fetched() {
    let test = "formats::narrow_inputs_are_fetched";
    let mut random = Random::new(13);
    for kind in [Kind::Float, Kind::Uint, Kind::Sint] {
        let names = ["narrow_", ""].map(|form| format!("fetch_{form}{}", kind.name()));
        let [vertex, fragment] = [format!("{}.vert", names[0]), format!("{}.frag", names[1])];
        let [Some(vertex), Some(fragment)] = [vertex, fragment].map(|name| module(test, &name)) else { return };
        let fits = |name: &String| {
            let format = Format::parse(name).expect("a format");
            let plain = ["SFLOAT", "UNORM", "UINT", "SINT"].iter().any(|end| name.ends_with(end));
            format.max_bits() <= 16 && plain && NamedFormat::new(name).is_ok()
        };
        let formats: Vec<String> = fetched(kind).into_iter().filter(fits).collect();
        for names in formats.chunks(MANY) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let targets = (0..MANY).map(|n| target(n, kind.wide())).collect();
            let mut scene = fetching([vertex.clone(), fragment.clone()], &names, 0, targets, &mut random);
            scene.judge_interpreted(names[0]);
        }
    }
}

/// Attachment formats of this kind.
fn drawn(kind: Kind) -> Vec<String> {
    let can = |name: &String| Format::parse(name).is_ok_and(|f| f.is_color() && Kind::of(&f) == kind);
    vulkan::formats().filter(can).collect()
}

/// Allowed difference of two components.
fn bound(format: &Format, component: u8, value: f32, blended: bool) -> f32 {
    let width = format.position(component).map_or(32, |n| format.widths()[usize::from(n)]);
    let steps = if blended { 3.0 } else { 1.0 };
    match format.number {
        Number::Uint | Number::Sint => 0.0,
        Number::Float if width == 32 => {
            if blended {
                value.abs().max(1.0) * 2f32.powi(-20)
            } else {
                0.0
            }
        }
        Number::Float => {
            let digits = if width == 16 { 10 } else { i32::from(width) - 5 };
            // The terms that blending adds may be larger than their sum.
            let least = if blended { 1.0 } else { 2f32.powi(-14) };
            steps * value.abs().max(least) * 2f32.powi(-digits)
        }
        // Lavapipe rounds signed 10-bit values in packed words twice.
        Number::Snorm => (steps + 1.0) / ((1u32 << (width - 1)) - 1) as f32,
        // On the sRGB curve a step can be this wide.
        Number::Srgb if component < 3 => steps * 2.3 / 255.0,
        _ => steps / ((1u64 << width) - 1) as f32,
    }
}

fn equation(source: F, destination: F, op: O) -> BlendEquation {
    BlendEquation { source, destination, op }
}

/// Every blend factor and every operation.
fn blends() -> Vec<Blend> {
    let pairs = [
        equation(F::SrcAlpha, F::OneMinusSrcAlpha, O::Add),
        equation(F::One, F::One, O::Max),
        equation(F::DstColor, F::Zero, O::Add),
        equation(F::OneMinusDstColor, F::SrcColor, O::Subtract),
        equation(F::DstAlpha, F::OneMinusDstAlpha, O::ReverseSubtract),
        equation(F::One, F::Zero, O::Min),
        equation(F::OneMinusSrcColor, F::DstColor, O::Add),
        equation(F::SrcAlpha, F::One, O::Add),
    ];
    (0..MANY).map(|n| Blend { color: pairs[n], alpha: pairs[(n * 3 + 1) % MANY] }).collect()
}

#[test]
fn every_format_is_drawn() {
    let test = "formats::every_format_is_drawn";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    let Some(vertex) = module(test, "colors.vert") else { return };
    let mut random = Random::new(3);
    let (mut missing, mut unencoded, mut count, mut exports) = (Vec::new(), Vec::new(), 0, BTreeSet::new());
    for kind in [Kind::Float, Kind::Uint, Kind::Sint] {
        let Some(fragment) = module(test, &format!("colors_{}.frag", kind.name())) else { return };
        let (known, without): (Vec<_>, Vec<_>) = drawn(kind).into_iter().partition(|name| vulkan.supports(name).colors);
        missing.extend(without);
        let (known, without): (Vec<_>, Vec<_>) = known.into_iter().partition(|name| NamedFormat::new(name).is_ok());
        unencoded.extend(without);
        count += known.len();
        for names in known.chunks(MANY) {
            // Plain; with a write mask; blended, in two ways if there are two.
            for round in 0..4 {
                let blended = |name: &str| round >= 2 && vulkan.supports(name).blending;
                let targets = (0..MANY).map(|n| {
                    let name = &names[n % names.len()];
                    TargetAttachment {
                        write_mask: if round == 1 { [1, 14, 5, 10, 7, 8, 3, 12][(n + names.len()) % 8] } else { 15 },
                        blend: blended(name).then(|| blends()[(n + 3 * round) % MANY]),
                        ..target(n, name)
                    }
                });
                let targets: Vec<TargetAttachment> = targets.collect();
                let mut colors = Vec::new();
                for target in &targets {
                    let format = Format::parse(&target.format).expect("a format");
                    for n in 0..SIZE * SIZE * 4 {
                        let component = (n % 4) as u8;
                        let width = format.position(component).map_or(1, |n| format.widths()[usize::from(n)]);
                        let bits = random.bits() as u32 >> (32 - width);
                        let word = match kind {
                            Kind::Float => (random.between(-1.25, 1.5) as f32).to_bits(),
                            Kind::Uint => bits,
                            Kind::Sint => {
                                (bits << (32 - width)).cast_signed().wrapping_shr(32 - u32::from(width)).cast_unsigned()
                            }
                        };
                        colors.extend(word.to_le_bytes());
                    }
                }
                let layout = BindingLayout {
                    binding: 0,
                    kind: ResourceKind::StorageBuffer.into(),
                    count: 1,
                    dynamic: false,
                    offset: None,
                    samplers: Vec::new(),
                };
                let mut state = PipelineState::default();
                state.layout.sets = vec![SetLayout { set: 0, root: None, bindings: vec![layout] }];
                let inputs = Inputs {
                    bindings: vec![BindingElement {
                        set: 0,
                        binding: 0,
                        element: 0,
                        bound: Bound::StorageBuffer(InputBytes(colors)),
                    }],
                    draw: Some(Draw { targets: targets.clone(), ..Draw::new(Topology::TriangleList, 3, [SIZE; 2]) }),
                    ..Default::default()
                };
                let mut scene = Scene { vertex: vertex.clone(), fragment: fragment.clone(), state, inputs };
                let (both, formats) = run(&mut scene, &tools, vulkan, &names[0]);
                exports.extend(formats);
                for ([ours, theirs], target) in both.iter().zip(&targets) {
                    compare(target, ours, theirs);
                }
            }
        }
    }
    assert_eq!(exports, (1..=9).collect(), "export formats in use");
    assert_eq!(missing, NOT_DRAWN_BY_LAVAPIPE, "what lavapipe does not draw");
    assert_eq!(unencoded, NOT_DRAWN_BY_THE_EMULATOR, "what the emulator does not draw");
    eprintln!("{count} formats drawn");
}

fn compare(target: &TargetAttachment, ours: &[u8], theirs: &[u8]) {
    let named = NamedFormat::new(&target.format).expect("a format");
    let format = Format::parse(&target.format).expect("a format");
    let bytes = named.format.bytes();
    let mut distinct = BTreeSet::new();
    for (n, (a, b)) in ours.chunks(bytes).zip(theirs.chunks(bytes)).enumerate() {
        distinct.insert(b);
        for (component, (x, y)) in (0..).zip(named.decode(a).into_iter().zip(named.decode(b))) {
            let [fx, fy] = [x, y].map(f32::from_bits);
            let bound = bound(&format, component, fy, target.blend.is_some());
            let close = x == y || (fx - fy).abs() <= bound * 1.001;
            assert!(close, "{target:?}: pixel {n}, component {component}: {fx} ({x:#x}), of lavapipe {fy} ({y:#x})");
        }
    }
    let written = (0..4).any(|n| target.write_mask >> n & 1 == 1 && format.position(n).is_some());
    assert!(
        distinct.len() > 1 || !written || target.blend.is_some(),
        "{target:?}: {} colours prove nothing",
        distinct.len()
    );
}
