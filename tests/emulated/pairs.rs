//! Stages compiled for each other: what is removed, that the image stays the same, that a driver finds them in the cache, and that the link
//! refuses them with another partner.

use crate::chosen::ChosenCompiler;
use crate::support;
use dovetail::cache::{Cache, StoreKind};
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::Inputs;
use dovetail::emu::{self, RunLimits};
use dovetail::error::FullCompile;
use dovetail::link::{EmitGlue, Object, Placement, Size, link_objects, verify};
use dovetail::metadata::interface::{ParamConstant, Semantic, StageKind};
use dovetail::pipeline::{Built, PipelineOutcome, PipelineRequest, Route, ShaderRef, build, build_whole};
use dovetail::runtime::{
    Answer, Context, ContextInfo, Layout, ModuleRef, PipelineFlags, PipelineInfo, Shader, ShaderInfo,
};
use dovetail::state::PipelineState;
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::{Pair, ReadyPart, Toolchain};
use object::{Object as _, ObjectSymbol as _};

const VERTEX: &str = "#version 450
layout(location = 0) in vec2 position;
layout(location = 1) in vec4 color;
layout(location = 2) in vec3 normal;
layout(location = 0) out vec4 tint;
layout(location = 1) flat out int kind;
layout(location = 2) out vec3 lit;
layout(location = 3) out vec2 uv;
void main() {
    gl_Position = vec4(position, 0.5, 1.0);
    tint = color * 0.5;
    kind = 2;
    lit = normalize(normal);
    uv = vec2(0.25, position.x * 0.125);
}";

const FRAGMENT: &str = "#version 450
layout(location = 0) in vec4 tint;
layout(location = 1) flat in int kind;
layout(location = 3) in vec2 uv;
layout(location = 0) out vec4 o;
void main() { o = kind == 2 ? tint + vec4(uv, 0.0, 0.0) : vec4(1.0, 0.0, 0.0, 1.0); }";

/// Reads what the other does not.
const OTHER: &str = "#version 450
layout(location = 2) in vec3 lit;
layout(location = 0) out vec4 o;
void main() { o = vec4(lit, 1.0); }";

/// Writes another constant.
const CHANGED: &str = "#version 450
layout(location = 0) in vec2 position;
layout(location = 0) out vec4 tint;
layout(location = 1) flat out int kind;
layout(location = 3) out vec2 uv;
void main() {
    gl_Position = vec4(position, 0.5, 1.0);
    tint = vec4(position, 0.0, 1.0);
    kind = 3;
    uv = vec2(0.25, position.y);
}";

const INPUTS: &str = r#"
    [draw]
    vertices = 3
    extent = [16, 16]
    targets = [{ location = 0, format = "R32G32B32A32_SFLOAT" }]
    vertex_buffers = [
        { binding = 0, stride = 8, data = { f32 = [-1.0, -1.0, 3.0, -1.0, -1.0, 3.0] } },
        { binding = 1, stride = 16, data = { f32 = [0.0, 0.5, 1.0, 1.0, 1.0, 0.0, 0.5, 1.0, 0.5, 0.5, 0.25, 1.0] } },
        { binding = 2, stride = 12, data = { f32 = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0] } },
    ]
"#;

fn module(test: &str, source: &str, extension: &str) -> Option<Module> {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("shader").with_extension(extension);
    std::fs::write(&path, source).expect("a source");
    Some(Module::new(support::glsl(test, &path, "vulkan1.1")?).expect("a module"))
}

fn request<'a>(modules: [&'a Module; 2], state: &'a PipelineState) -> PipelineRequest<'a> {
    let stages = [(Stage::Vertex, WaveSize::W32), (Stage::Fragment, WaveSize::W64)];
    let shaders =
        stages.into_iter().zip(modules).map(|((stage, wave), module)| ShaderRef::new(module, "main", stage, wave));
    PipelineRequest {
        shaders: shaders.collect(),
        state,
        layout: None,
        target: Gpu::Gfx1030,
        options: Default::default(),
        placement: Placement::Adjacent,
    }
}

/// A state for these and any shaders that read no more.
fn state(vertex: &Module) -> PipelineState {
    let upper = translate(vertex, "main", Stage::Vertex, &[]).expect("a shader");
    let mut state = dovetail::template::state(&[upper]).expect("a state");
    let target = r#"[[attachments]]
        location = 0
        format = "R32G32B32A32_SFLOAT""#;
    state.color = toml::from_str(target).expect("a colour state");
    state
}

fn built(outcome: Result<PipelineOutcome, dovetail::error::Error>) -> Built {
    match outcome {
        Ok(PipelineOutcome::Built(built)) => built,
        other => panic!("{other:?}"),
    }
}

fn picture(built: &Built, state: &PipelineState) -> Vec<u8> {
    assert_eq!(verify(&built.elf).expect("an ELF").violations, []);
    let inputs: Inputs = toml::from_str(INPUTS).expect("inputs");
    let ran = emu::run(&built.elf, &state.layout, &inputs, RunLimits::default()).expect("a picture");
    ran.targets.expect("targets").colors.remove(0).data
}

/// The pair of two modules, which has to be there.
fn pair(tools: &Toolchain<'_>, request: &PipelineRequest<'_>) -> (Pair, Pair) {
    let early = |n: usize| {
        let shader = &request.shaders[n];
        let part = tools.part(shader.module(), &request.stage(shader, Default::default())).expect("a part");
        part.expect("an early part")
    };
    let early = [early(0), early(1)];
    let pair = tools.pair(&early[0], &early[1]).expect("a pair").expect("it was made");
    (early.map(|part| ReadyPart::clone(&part)), pair.into_owned())
}

#[test]
fn what_the_other_stage_makes_needless_falls_away() {
    let test = "pairs::what_the_other_stage_makes_needless_falls_away";
    let Some(vertex) = module(test, VERTEX, "vert") else { return };
    let fragment = module(test, FRAGMENT, "frag").expect("as before");
    let state = state(&vertex);
    let dir = tempfile::tempdir().expect("a folder");
    let (cache, compiler) = (Cache::open(dir.path(), StoreKind::Lmdb).expect("a cache"), ChosenCompiler::new());
    let request = request([&vertex, &fragment], &state);
    let apart = built(build(&request, &Toolchain::new(&cache, Some(&compiler)).expect("tools")));
    assert!(apart.parts.iter().all(|part| !part.paired));

    let tools = Toolchain::new(&cache, Some(&compiler)).expect("tools").making_pairs();
    let paired = built(build(&request, &tools));
    assert!(paired.parts.iter().all(|part| part.paired) && paired.route == Route::Linked, "{:?}", paired.parts);
    let (early, pair) = pair(&tools, &request);
    let inputs = |pair: &Pair| {
        let [StageKind::Vertex(v), StageKind::Fragment(f)] = pair.each_ref().map(|p| &p.object.interface().kind) else {
            panic!("a vertex and a fragment part")
        };
        let fetched: Vec<u32> = v.fetch.inputs.iter().map(|input| input.location).collect();
        let read: Vec<(Semantic, u8)> = f.inputs.iter().map(|input| (input.semantic, input.channels)).collect();
        (fetched, read, v.pre_rasterization.exported_params, f.constants.clone())
    };
    let at = Semantic::Location;
    assert_eq!(inputs(&early), (vec![0, 1, 2], vec![(at(0), 15), (at(1), 1), (at(3), 3)], 0, vec![]));
    let constants = vec![
        ParamConstant { semantic: at(1), component: 0, bits: 2 },
        ParamConstant { semantic: at(3), component: 0, bits: 0.25f32.to_bits() },
    ];
    assert_eq!(inputs(&pair), (vec![0, 1], vec![(at(0), 15), (at(3), 2)], 2, constants.clone()));
    let code = |built: &Built| {
        let file = object::File::parse(built.elf.as_slice()).expect("an ELF");
        let body = file.symbols().find(|symbol| symbol.name() == Ok("_amdgpu_ps_main")).expect("a fragment stage");
        body.size()
    };
    assert!(pair[1].object.open_symbols().is_empty() && code(&paired) < code(&apart));

    // The whole-pipeline compile uses the constants too.
    let whole = built(build_whole(&request, &tools, None));
    assert!(whole.parts.iter().all(|part| part.paired), "{:?}", whole.parts);
    let pictures = [&apart, &paired, &whole].map(|built| picture(built, &state));
    assert!(pictures[0] == pictures[1] && pictures[0] == pictures[2]);
    let colors: std::collections::BTreeSet<&[u8]> = pictures[0].chunks(16).collect();
    assert!(colors.len() > 50, "{} colours prove nothing", colors.len());
}

#[test]
fn a_driver_takes_the_pairs_that_its_cache_has() {
    let test = "pairs::a_driver_takes_the_pairs_that_its_cache_has";
    let Some(vertex) = module(test, VERTEX, "vert") else { return };
    let [fragment, other] = [FRAGMENT, OTHER].map(|source| module(test, source, "frag").expect("as before"));
    let state = state(&vertex);
    let dir = tempfile::tempdir().expect("a folder");
    let (cache, compiler) = (Cache::open(dir.path(), StoreKind::Lmdb).expect("a cache"), ChosenCompiler::new());
    let [request, apart] = [&fragment, &other].map(|fragment| request([&vertex, fragment], &state));
    let elf = {
        let tools = Toolchain::new(&cache, Some(&compiler)).expect("tools");
        tools.record_compiler().expect("a manifest");
        drop(built(build(&apart, &tools)));
        let tools = tools.making_pairs();
        drop(built(build_whole(&request, &tools, None)));
        let made = built(build(&request, &tools));
        // Recording the compiler again keeps the note on pairs.
        tools.record_compiler().expect("a manifest");
        made.elf
    };
    let tools = Toolchain::new(&cache, None).expect("tools");
    for _ in 0..2 {
        let found = built(build(&request, &tools));
        assert!(found.elf == elf && found.parts.iter().all(|part| part.paired && part.hit));
        let found = built(build(&apart, &tools));
        assert!(found.parts.iter().all(|part| !part.paired && part.hit));
    }

    let info = ContextInfo { cache_dir: Some(dir.path()), ..ContextInfo::new(Gpu::Gfx1030) };
    let context = Context::new(&info).expect("a context");
    let shader = |module: &Module, stage, wave| {
        let info = ShaderInfo {
            module: ModuleRef::Code(module.bytes()),
            entry_point: "main",
            stage,
            wave: Some(wave),
            specialization: &[],
            no_disk: false,
            fail_on_compile: false,
            priority: 0,
            user: 0,
        };
        Shader::new(&context, &info).expect("a shader")
    };
    let (vertex, fragment) =
        (shader(&vertex, Stage::Vertex, WaveSize::W32), shader(&fragment, Stage::Fragment, WaveSize::W64));
    let layout = Layout::new(&state.layout).expect("a layout");
    let mut out = vec![0; 1 << 16];
    for shaders in [[&vertex, &fragment], [&fragment, &vertex]] {
        let info = PipelineInfo {
            shaders: &shaders,
            layout: &layout,
            state: &state,
            placement: Placement::Adjacent,
            flags: PipelineFlags::default(),
            priority: 0,
            user: 0,
        };
        let Answer::Ready((Size::Written(size), _)) = context.link_into(&info, &mut out).expect("a link") else {
            panic!("not linked")
        };
        assert!(out[..size] == elf[..]);
        // The whole pipeline is found with the same constants.
        let whole = PipelineInfo { flags: PipelineFlags::LINK_TIME_OPTIMIZATION, ..info };
        let found = context.link_into(&whole, &mut out).expect("a link");
        assert!(matches!(found, Answer::Ready((Size::Written(size), _)) if out[..size] != elf[..]), "{found:?}");
    }
}

#[test]
fn with_another_partner_each_is_refused() {
    let test = "pairs::with_another_partner_each_is_refused";
    let Some(vertex) = module(test, VERTEX, "vert") else { return };
    let [fragment, other] = [FRAGMENT, OTHER].map(|source| module(test, source, "frag").expect("as before"));
    let changed = module(test, CHANGED, "vert").expect("as before");
    let state = state(&vertex);
    let (cache, compiler) = (Cache::new(Box::new(dovetail::cache::MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("tools").making_pairs();
    let requests =
        [[&vertex, &fragment], [&vertex, &other], [&changed, &fragment]].map(|modules| request(modules, &state));
    requests.iter().for_each(|request| drop(built(build(request, &tools))));
    let [(early, own), (_, reads_other), (early_changed, _)] = requests.each_ref().map(|request| pair(&tools, request));
    let link = |parts: [&Object; 2]| link_objects(&parts, &state, Placement::Adjacent, &EmitGlue);
    let [own_vertex, own_fragment] = [&*own[0].object, &*own[1].object];
    assert!(link([own_vertex, own_fragment]).is_ok());
    // The part that it replaces lists the same constants.
    assert!(link([&early[0].object, own_fragment]).is_ok());
    let refused = [
        ([own_vertex, &*early[1].object], "fragment shader"),
        ([own_vertex, &*reads_other[1].object], "fragment shader"),
        ([&*reads_other[0].object, own_fragment], "fragment shader"),
        ([&*early_changed[0].object, own_fragment], "constants"),
    ];
    for (parts, why) in refused {
        let error = link(parts).expect_err("another partner");
        assert!(matches!(error.full_compile(), Some(FullCompile::Mismatch { what }) if what.contains(why)), "{error}");
    }
    // Also without a fragment stage.
    let error = link_objects(&[own_vertex], &state, Placement::Adjacent, &EmitGlue).expect_err("no partner");
    assert!(error.full_compile().is_some(), "{error}");
}
