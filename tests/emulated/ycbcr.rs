//! Y'CBCR samplers: linking the part must fail, and the whole-pipeline compile must convert. Its results on the
//! emulator are compared with the specification's formulas in 64 bits, implemented independently in `ycbcr_reference`,
//! and with lavapipe, which has no conversions and runs a shader that converts explicitly.

use crate::chosen::ChosenCompiler;
use crate::scene::{EDGES, Scene};
use crate::support::{self, glsl};
use crate::vulkan::{Lavapipe, Shader};
use crate::ycbcr_reference::{Case, FORMATS, HEIGHT, Known, WIDTH, contents, noise, reference};
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::Compiler;
use dovetail::compile::request::{Module, StageRequest, TuningOptions};
use dovetail::emu::inputs::{
    Address, BindingElement, Bound, Draw, Image, InputBytes, Inputs, Sampler, TargetAttachment, Topology, VertexBuffer,
};
use dovetail::emu::{self, RunLimits};
use dovetail::error::FullCompile;
use dovetail::ir::ResourceKind;
use dovetail::link::{EmitGlue, Placement, link};
use dovetail::pipeline::{PipelineOutcome, PipelineRequest, Route, ShaderRef, build, build_whole};
use dovetail::state::{
    BindingLayout, ChromaFilter, ChromaLocation, ImmutableSampler, PipelineState, ResourceLayout, SetLayout, Swizzle,
    VertexAttribute, VertexBinding, VertexInputState, VkFormat, YcbcrModel, YcbcrRange,
};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::Toolchain;

use ChromaFilter::{Linear, Nearest};
use ChromaLocation::{CositedEven, Midpoint};

/// Texel coordinates, also beyond the edges, whose fractions are far from where the nearest texel changes.
fn coordinates() -> Vec<[f32; 2]> {
    let parts = [0.13, 0.31, 0.38, 0.64, 0.81];
    let one = |n: usize, texels: u32, stride: usize| {
        let texel = (n * stride) % (texels as usize + 4);
        (texel as f32 - 2.0 + parts[(n / 3 + stride) % 5]) / texels as f32
    };
    (0..192).map(|n| [one(n, WIDTH, 5), one(n, HEIGHT, 3)]).collect()
}

/// Tolerance for lavapipe's 8-bit texels, whose weights have 8 bits.
const ALIKE: f64 = 0.012;

const HEAD: &str = "#version 450\nlayout(local_size_x = 64) in;\n\
                    layout(binding = 1) readonly buffer From { vec2 from[]; };\n\
                    layout(binding = 2) writeonly buffer To { vec4 to[]; };\n";

/// A compute shader with these declarations and this expression of the coordinate `at`.
fn shader(test: &str, declared: &str, expression: &str) -> Option<Module> {
    let declared = match declared.strip_prefix("uniform") {
        Some(rest) => format!("layout(binding = 0) uniform{rest}"),
        None => declared.to_owned(),
    };
    let text = format!(
        "{HEAD}{declared}\nvoid main() {{\n    uint n = gl_GlobalInvocationID.x;\n    vec2 at = from[n];\n    \
         to[n] = {expression};\n}}\n"
    );
    Some(Module::new(spirv(test, "planes.comp", &text)?).expect("a module"))
}

/// SPIR-V of a shader's text.
fn spirv(test: &str, name: &str, text: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a file");
    glsl(test, &path, "vulkan1.1")
}

/// The state for these samplers in binding 0.
fn state(samplers: Vec<ImmutableSampler>, count: u32) -> PipelineState {
    let binding = |binding, kind: ResourceKind| BindingLayout {
        binding,
        kind: kind.into(),
        count: 1,
        dynamic: false,
        offset: None,
        samplers: Vec::new(),
    };
    let combined = BindingLayout { count, samplers, ..binding(0, ResourceKind::CombinedImageSampler) };
    let buffers = [1, 2].map(|n| binding(n, ResourceKind::StorageBuffer));
    let bindings = [combined].into_iter().chain(buffers).collect();
    let layout = ResourceLayout { sets: vec![SetLayout { set: 0, root: None, bindings }], ..ResourceLayout::default() };
    PipelineState { layout, ..PipelineState::default() }
}

fn inputs(images: Vec<(Image, Sampler)>) -> Inputs {
    let at = coordinates();
    let bytes = InputBytes(at.iter().flatten().flat_map(|x| x.to_le_bytes()).collect());
    let bind = |binding, bound| BindingElement { set: 0, binding, element: 0, bound };
    let mut bindings: Vec<BindingElement> = (0..)
        .zip(images)
        .map(|(element, (image, sampler))| BindingElement {
            element,
            ..bind(0, Bound::CombinedImageSampler(image, sampler))
        })
        .collect();
    bindings.push(bind(1, Bound::StorageBuffer(bytes)));
    bindings.push(bind(2, Bound::StorageBuffer(InputBytes(vec![0; 16 * at.len()]))));
    Inputs { bindings, grid: [at.len() as u32 / 64, 1, 1], ..Default::default() }
}

fn floats(bytes: &[u8]) -> Vec<[f32; 4]> {
    let one = |b: &[u8]| f32::from_le_bytes(b.try_into().expect("four"));
    bytes.chunks_exact(16).map(|b| [one(&b[..4]), one(&b[4..8]), one(&b[8..12]), one(&b[12..])]).collect()
}

/// Builds the pipeline; returns the route too.
fn built(module: &Module, state: &PipelineState, wave: WaveSize) -> dovetail::error::Result<(Route, Vec<u8>)> {
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    match build(&request(module, state, wave), &tools)? {
        PipelineOutcome::Built(built) => Ok((built.route, built.elf)),
        other => panic!("{other:?}"),
    }
}

fn request<'a>(module: &'a Module, state: &'a PipelineState, wave: WaveSize) -> PipelineRequest<'a> {
    PipelineRequest {
        shaders: vec![ShaderRef::new(module, "main", Stage::Compute, wave)].into(),
        state,
        layout: None,
        target: Gpu::Gfx1030,
        options: Default::default(),
        placement: Placement::Adjacent,
    }
}

/// Results of the pipeline on the emulator.
fn emulated(module: &Module, state: &PipelineState, inputs: &Inputs, wave: WaveSize) -> Vec<[f32; 4]> {
    let (route, elf) = built(module, state, wave).expect("built");
    assert!(matches!(route, Route::Whole(_)), "{route:?}");
    let ran = emu::run(&elf, &state.layout, inputs, RunLimits::default()).expect("runs");
    floats(ran.bindings.last().expect("the results"))
}

/// The largest difference and its index.
fn apart<T: Copy + Into<f64>>(ours: &[[f32; 4]], theirs: &[[T; 4]]) -> (f64, usize) {
    assert_eq!(ours.len(), theirs.len());
    let one = |(a, b): (&[f32; 4], &[T; 4])| {
        a.iter().zip(b).map(|(a, b)| (f64::from(*a) - (*b).into()).abs()).fold(0.0, f64::max)
    };
    let all = ours.iter().zip(theirs).map(one).zip(0..);
    all.fold((0.0, 0), |most, one| if one.0 >= most.0 || one.0.is_nan() { one } else { most })
}

/// Compares the emulator with the formulas.
fn judge(module: &Module, case: Case, known: Known, wave: WaveSize) -> (Vec<[f32; 4]>, Inputs) {
    let (planes, image) = contents(known, 7);
    let inputs = inputs(vec![(image, case.sampler())]);
    let state = state(vec![case.sampler().immutable()], 1);
    let ours = emulated(module, &state, &inputs, wave);
    let wanted: Vec<[f64; 4]> = coordinates().iter().map(|at| reference(&case, known, &planes, *at)).collect();
    let (most, n) = apart(&ours, &wanted);
    assert!(most < 3e-5, "{case:?} {wave:?}: {most} at {:?}: {:?}, not {:?}", coordinates()[n], ours[n], wanted[n]);
    let different: std::collections::BTreeSet<[u32; 4]> = ours.iter().map(|c| c.map(f32::to_bits)).collect();
    assert!(different.len() > 20, "{case:?}: {} colours prove nothing", different.len());
    (ours, inputs)
}

fn found(name: &str) -> Known {
    *FORMATS.iter().find(|known| known.name == name).expect("a format")
}

#[test]
fn every_format_is_converted_as_the_formulas_say() {
    let test = "ycbcr::every_format_is_converted_as_the_formulas_say";
    let Some(module) = shader(test, "uniform sampler2D planes;", "textureLod(planes, at, 0.0)") else { return };
    for known in FORMATS {
        judge(&module, Case::new(known.name), *known, WaveSize::W64);
    }
}

#[test]
fn models_ranges_and_swizzles_are_those_of_the_state() {
    let test = "ycbcr::models_ranges_and_swizzles_are_those_of_the_state";
    let Some(module) = shader(test, "uniform sampler2D planes;", "textureLod(planes, at, 0.0)") else { return };
    use YcbcrModel::{RgbIdentity, Ycbcr601, Ycbcr709, Ycbcr2020, YcbcrIdentity};
    for model in [RgbIdentity, YcbcrIdentity, Ycbcr709, Ycbcr601, Ycbcr2020] {
        for range in [YcbcrRange::Full, YcbcrRange::Narrow] {
            for name in ["G8_B8R8_2PLANE_420_UNORM", "G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16"] {
                let mut case = Case::new(name);
                (case.conversion.model, case.conversion.range) = (model, range);
                judge(&module, case, found(name), WaveSize::W32);
                case.conversion.components = [Swizzle::B, Swizzle::Identity, Swizzle::R, Swizzle::Zero];
                judge(&module, case, found(name), WaveSize::W32);
            }
        }
    }
}

/// Every combination of chroma locations, filters and reconstruction.
fn ways(name: &str) -> Vec<Case> {
    let mut out = Vec::new();
    for bits in 0..32 {
        let bit = |n: u32| bits >> n & 1 == 1;
        let filter = |n| if bit(n) { Linear } else { Nearest };
        let location = |n| if bit(n) { CositedEven } else { Midpoint };
        let mut case = Case::new(name);
        case.filter = filter(0);
        case.conversion.chroma_filter = filter(1);
        case.conversion.x_chroma_offset = location(2);
        case.conversion.y_chroma_offset = location(3);
        case.conversion.explicit_reconstruction = bit(4);
        out.push(case);
    }
    out
}

#[test]
fn chroma_is_reconstructed_where_and_how_the_state_says() {
    let test = "ycbcr::chroma_is_reconstructed_where_and_how_the_state_says";
    let Some(module) = shader(test, "uniform sampler2D planes;", "textureLod(planes, at, 0.0)") else { return };
    for name in ["G8_B8_R8_3PLANE_420_UNORM", "G8B8G8R8_422_UNORM"] {
        for case in ways(name) {
            judge(&module, case, found(name), WaveSize::W64);
        }
    }
}

/// A shader for lavapipe, which has no conversions: it samples the planes of [`IN_PLANES`] as ordinary images and
/// converts explicitly: BT.709, narrow.
fn by_planes(sample: &str, moved: [f64; 2]) -> (String, String) {
    let declared = "layout(binding = 0) uniform sampler2D luma;\nlayout(binding = 3) uniform sampler2D cb;\n\
                    layout(binding = 4) uniform sampler2D cr;\n\
                    vec4 converted(vec3 v) {\n    v = (v * 255.0 - vec3(128.0, 16.0, 128.0)) / vec3(224.0, 219.0, 224.0);\n    \
                    return vec4(v.y + 1.5748 * v.x, v.y - (0.33480248 * v.x + 0.13397432 * v.z) / 0.7152,\n    \
                    v.y + 1.8556 * v.z, 1.0);\n}\n";
    let [x, y] = moved;
    let one = |name: &str, at: &str| sample.replace("IMAGE", name).replace("AT", at);
    let chroma = format!("at + vec2({x:.9}, {y:.9})");
    let read = format!("converted(vec3({}.r, {}.r, {}.r))", one("cr", &chroma), one("luma", "at"), one("cb", &chroma));
    (declared.to_owned(), read)
}

const IN_PLANES: &str = "G8_B8_R8_3PLANE_420_UNORM";

/// Offset of cosited chroma: half a luma texel.
fn moved(case: &Case) -> [f64; 2] {
    let c = &case.conversion;
    [(c.x_chroma_offset, WIDTH), (c.y_chroma_offset, HEIGHT)]
        .map(|(at, texels)| if at == CositedEven { 0.5 / f64::from(texels) } else { 0.0 })
}

/// The planes of an image as three images: luma in binding 0, CB in 3, CR in 4.
fn planes_apart(case: &Case, image: &Image) -> Vec<BindingElement> {
    let extents = [[WIDTH, HEIGHT], [WIDTH / 2, HEIGHT / 2], [WIDTH / 2, HEIGHT / 2]];
    let filters = [case.filter, case.conversion.chroma_filter, case.conversion.chroma_filter];
    let mut data = image.data.0.as_slice();
    let mut out = Vec::new();
    for ((binding, [width, height]), filter) in [0, 3, 4].into_iter().zip(extents).zip(filters) {
        let (own, later) = data.split_at((width * height) as usize);
        data = later;
        let (format, data) = ("R8_UNORM".to_owned(), InputBytes(own.to_vec()));
        let plane = Image { format, extent: [width, height, 1], data, ..image.clone() };
        let sampler = Sampler { conversion: None, ..Case { filter, ..*case }.sampler() };
        let bound = Bound::CombinedImageSampler(plane, sampler);
        out.push(BindingElement { set: 0, binding, element: 0, bound });
    }
    out
}

fn lavapipe(test: &str) -> Option<&'static Lavapipe> {
    Lavapipe::get().map_err(|why| support::skip(test, &why)).ok()
}

#[test]
fn lavapipe_filters_the_planes_alike() {
    let test = "ycbcr::lavapipe_filters_the_planes_alike";
    let Some(vulkan) = lavapipe(test) else { return };
    let Some(module) = shader(test, "uniform sampler2D planes;", "textureLod(planes, at, 0.0)") else { return };
    for case in ways(IN_PLANES).into_iter().filter(|case| !case.conversion.explicit_reconstruction) {
        let (ours, mut inputs) = judge(&module, case, found(IN_PLANES), WaveSize::W32);
        let (declared, read) = by_planes("textureLod(IMAGE, AT, 0.0)", moved(&case));
        let Some(other) = shader(test, &declared, &read) else { return };
        let planes = planes_apart(&case, &contents(found(IN_PLANES), 7).1);
        inputs.bindings.splice(..1, planes);
        let theirs = vulkan.compute(Shader { module: other.bytes(), entry: "main", spec: &[] }, &inputs);
        let theirs = floats(theirs.bindings.last().expect("the results"));
        let (most, n) = apart(&ours, &theirs);
        assert!(most < ALIKE, "{case:?}: {most}: {:?}, not {:?} at {:?}", ours[n], theirs[n], coordinates()[n]);
    }
}

/// Implicit levels of detail in a fragment shader, in both wave sizes and both placements.
#[test]
fn a_converted_texture_is_drawn() {
    let test = "ycbcr::a_converted_texture_is_drawn";
    let Some(vulkan) = lavapipe(test) else { return };
    let read = |name: &str| glsl(test, &support::root().join("testdata/shaders").join(name), "vulkan1.1");
    let (Some(vertex), Some(fragment)) = (read("ui.vert"), read("ui.frag")) else { return };
    let case = Case::new(IN_PLANES);
    let attribute = |location, name: &str| VertexAttribute {
        location,
        binding: location,
        format: VkFormat::named(name).expect("a format"),
        offset: 0,
    };
    let binding = |binding, stride| VertexBinding { binding, stride, rate: Default::default(), divisor: 1 };
    let buffer = |binding, stride, data: &[f32]| {
        let data = InputBytes(data.iter().flat_map(|x| x.to_le_bytes()).collect());
        VertexBuffer { binding, stride, data }
    };
    let mut state = state(vec![case.sampler().immutable()], 1);
    state.layout.push_constant_bytes = 16;
    let formats = ["R32G32_SFLOAT", "R32G32_SFLOAT", "R32G32B32A32_SFLOAT"];
    state.vertex = VertexInputState {
        bindings: vec![binding(0, 8), binding(1, 8), binding(2, 16)],
        attributes: (0..).zip(formats).map(|(n, name)| attribute(n, name)).collect(),
    };
    let image = contents(found(IN_PLANES), 5).1;
    let planes = planes_apart(&case, &image);
    let bound = Bound::CombinedImageSampler(image, case.sampler());
    let inputs = Inputs {
        bindings: vec![BindingElement { set: 0, binding: 0, element: 0, bound }],
        push_constants: InputBytes([1.0f32, 1.0, 0.0, 0.0].into_iter().flat_map(f32::to_le_bytes).collect()),
        draw: Some(Draw {
            vertex_buffers: vec![
                buffer(0, 8, &[-0.93, -0.91, 0.9, -0.7, -0.5, 0.8, 0.7, 0.9]),
                buffer(1, 8, &[-0.3, -0.2, 1.3, 0.1, 0.0, 1.4, 1.2, 1.1]),
                buffer(2, 16, &[1.0; 16]),
            ],
            targets: vec![TargetAttachment {
                clear: [0.0, 0.0, 0.0, 1.0],
                ..TargetAttachment::new(0, "B8G8R8A8_UNORM")
            }],
            ..Draw::new(Topology::TriangleStrip, 4, [64, 48])
        }),
        ..Default::default()
    };
    let (declared, read) = by_planes("texture(IMAGE, AT)", moved(&case));
    let text = format!(
        "#version 450\nlayout(location = 0) in vec2 at;\nlayout(location = 1) in vec4 c;\n\
         layout(location = 0) out vec4 o;\n{declared}void main() {{\n    o = c * {read};\n}}\n"
    );
    let Some(by_hand) = spirv(test, "planes.frag", &text) else { return };
    let shader = |module| Shader { module, entry: "main", spec: &[] };
    let apart = Inputs { bindings: planes, ..inputs.clone() };
    let theirs = vulkan.draw(shader(&vertex), Some(shader(&by_hand)), &state.vertex, &apart);
    let mut scene = Scene { vertex, fragment, state, inputs };
    scene.take_colors_from_draw();
    for (route, _, elf) in scene.pipelines() {
        let ours = emu::run(&elf, &scene.state.layout, &scene.inputs, RunLimits::default()).expect("runs");
        let ours = &ours.targets.expect("targets").colors[0].data;
        let far = |(a, b): &(&[u8], &[u8])| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 5);
        let wrong = ours.chunks(4).zip(theirs.targets[0].chunks(4)).filter(far).count();
        assert!(wrong <= EDGES, "{route}: {wrong} pixels are of another colour");
    }
}

#[test]
fn an_early_part_is_refused_and_the_reason_says_why() {
    let test = "ycbcr::an_early_part_is_refused_and_the_reason_says_why";
    let Some(module) = shader(test, "uniform sampler2D planes;", "textureLod(planes, at, 0.0)") else { return };
    let case = Case::new("G8_B8R8_2PLANE_420_UNORM");
    let converting = state(vec![case.sampler().immutable()], 1);
    let part = early(&module);
    let why = link(&[&part], &converting, Placement::Adjacent, &EmitGlue).expect_err("refused");
    let Some(FullCompile::ResourceLayout { set: 0, binding: 0, why }) = why.full_compile() else { panic!("{why}") };
    assert!(why.contains("converts from Y'CBCR"), "{why}");
    let (route, once) = built(&module, &converting, WaveSize::W64).expect("built");
    assert!(matches!(&route, Route::Whole(Some(why)) if why.contains("converts from Y'CBCR")), "{route:?}");
    let (_, again) = built(&module, &converting, WaveSize::W64).expect("built");
    assert!(once == again, "the same request gives the same bytes");
    let mut other = case;
    other.conversion.range = YcbcrRange::Full;
    let (_, other) = built(&module, &state(vec![other.sampler().immutable()], 1), WaveSize::W64).expect("built");
    assert!(once != other, "another range is other code");
    let (route, _) = built(&module, &state(Vec::new(), 1), WaveSize::W64).expect("built");
    assert!(matches!(route, Route::Linked), "{route:?}");
}

/// The part compiled without the layout.
fn early(module: &Module) -> Vec<u8> {
    let request = StageRequest {
        target: Gpu::Gfx1030,
        stage: Stage::Compute,
        module: module.digest(),
        entry_point: "main".to_owned(),
        specialization: Vec::new(),
        wave: WaveSize::W64,
        options: TuningOptions::default(),
        known: Default::default(),
    };
    ChosenCompiler::new().compile(module, &request).expect("compiles").0
}

#[test]
fn elements_of_an_array_convert_each_in_its_way() {
    let test = "ycbcr::elements_of_an_array_convert_each_in_its_way";
    let expression = "vec4(textureLod(both[0], at, 0.0).xy, textureLod(both[1], at, 0.0).xy)";
    let Some(module) = shader(test, "uniform sampler2D both[2];", expression) else { return };
    let mut second = Case::new("G16_B16_R16_3PLANE_420_UNORM");
    (second.filter, second.conversion.model) = (Nearest, YcbcrModel::Ycbcr601);
    let cases = [Case::new("G8_B8R8_2PLANE_420_UNORM"), second];
    let names = ["G8_B8R8_2PLANE_420_UNORM", "G16_B16_R16_3PLANE_420_UNORM"];
    let [(one, first), (other, image)] = [contents(found(names[0]), 1), contents(found(names[1]), 2)];
    let inputs = inputs(vec![(first, cases[0].sampler()), (image, cases[1].sampler())]);
    let state = state(cases.iter().map(|case| case.sampler().immutable()).collect(), 2);
    let ours = emulated(&module, &state, &inputs, WaveSize::W64);
    let wanted: Vec<[f64; 4]> = coordinates()
        .iter()
        .map(|at| {
            let [a, b, ..] = reference(&cases[0], found(names[0]), &one, *at);
            let [c, d, ..] = reference(&cases[1], found(names[1]), &other, *at);
            [a, b, c, d]
        })
        .collect();
    let (most, n) = apart(&ours, &wanted);
    assert!(most < 3e-5, "{most}: {:?}, not {:?}", ours[n], wanted[n]);
}

#[test]
fn what_vulkan_forbids_is_refused_by_name_and_queries_are_not() {
    let test = "ycbcr::what_vulkan_forbids_is_refused_by_name_and_queries_are_not";
    let case = Case::new("G8_B8R8_2PLANE_420_UNORM");
    for (declared, count, expression, why) in [
        ("uniform sampler2D both[2];", 2, "textureLod(both[n % 2u], at, 0.0)", "an index that is no constant"),
        ("uniform sampler2D one;", 1, "textureGather(one, at)", "another operation than a sample"),
        ("uniform sampler2D one;", 1, "texelFetch(one, ivec2(at), 0)", "do not belong together"),
        ("uniform sampler2D one;", 1, "textureLodOffset(one, at, 0.0, ivec2(1))", "a texel offset"),
        ("uniform sampler2D both[3];", 2, "textureLod(both[2], at, 0.0)", "3 descriptors, the layout 2"),
    ] {
        let Some(module) = shader(test, declared, expression) else { return };
        let state = state(vec![case.sampler().immutable(); count as usize], count);
        let refused = built(&module, &state, WaveSize::W64).expect_err(expression).to_string();
        assert!(refused.contains(why), "{expression}: {refused}");
    }
    let Some(module) =
        shader(test, "uniform sampler2D one;", "vec4(textureSize(one, 0), textureQueryLevels(one), 4.0)")
    else {
        return;
    };
    let inputs = inputs(vec![(contents(found("G8_B8R8_2PLANE_420_UNORM"), 3).1, case.sampler())]);
    let ours = emulated(&module, &state(vec![case.sampler().immutable()], 1), &inputs, WaveSize::W64);
    assert!(ours.iter().all(|v| *v == [WIDTH as f32, HEIGHT as f32, 1.0, 4.0]), "{:?}", ours[0]);
}

/// A whole-pipeline compile has the words in its code; a part compiled in advance reads what the driver wrote, and so
/// does an index that may select one of several samplers.
#[test]
fn words_of_immutable_samplers_are_in_code_that_knows_them() {
    let test = "ycbcr::words_of_immutable_samplers_are_in_code_that_knows_them";
    let image = |seed: u32| {
        let mut next = noise(seed);
        let data = InputBytes((0..WIDTH * HEIGHT * 4).map(|_| next() as u8).collect());
        Image { format: "R8G8B8A8_UNORM".to_owned(), data, ..contents(FORMATS[2], 1).1 }
    };
    let sampler = |linear| Sampler {
        mag_linear: linear,
        min_linear: linear,
        address: [Address::ClampToEdge; 3],
        ..Default::default()
    };
    let [linear, nearest] = [true, false].map(sampler);
    for (index, fixed, bound, inlined) in [
        ("1", [linear, nearest], [nearest, linear], true),
        ("n % 2u", [nearest, nearest], [linear, linear], true),
        ("n % 2u", [linear, nearest], [linear, nearest], false),
    ] {
        let expression = format!("textureLod(both[{index}], at, 0.0)");
        let Some(module) = shader(test, "uniform sampler2D both[2];", &expression) else { return };
        let state = state(fixed.iter().map(Sampler::immutable).collect(), 2);
        let run = |elf: &[u8], samplers: [Sampler; 2]| {
            let inputs = inputs((1..).map(image).zip(samplers).collect());
            let ran = emu::run(elf, &state.layout, &inputs, RunLimits::default()).expect("runs");
            floats(ran.bindings.last().expect("the results"))
        };
        let (route, linked) = built(&module, &state, WaveSize::W32).expect("built");
        assert!(matches!(route, Route::Linked), "{route:?}");
        let whole = whole(&module, &state);
        let wanted = run(&linked, fixed);
        assert!(wanted == run(&whole, fixed), "{index}: both routes");
        assert!(wanted == run(&whole, bound), "{index}: what is bound is not read, or the same");
        assert_eq!(wanted != run(&linked, bound), inlined, "{index}: an early part reads what is bound");
    }
}

/// The pipeline compiled as a whole.
fn whole(module: &Module, state: &PipelineState) -> Vec<u8> {
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    match build_whole(&request(module, state, WaveSize::W32), &tools, None).expect("built") {
        PipelineOutcome::Built(built) => built.elf,
        other => panic!("{other:?}"),
    }
}
