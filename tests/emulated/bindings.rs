//! Bindings shared by several variables: the layout's kind for them, the memory they access, and layouts that do not
//! match.

use crate::chosen::ChosenCompiler;
use crate::support;
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::request::{CompilerId, Module, StageRequest};
use dovetail::compile::spirv::{reflect, translate};
use dovetail::compile::{Compiler, StageElf};
use dovetail::emu::RunLimits;
use dovetail::emu::inputs::{BindingElement, Bound, InputBytes, Inputs};
use dovetail::error::{Error, ErrorKind, FullCompile};
use dovetail::ir::{Op, Shader};
use dovetail::link::Placement;
use dovetail::pipeline::{PipelineOutcome, PipelineRequest, ShaderRef, build, build_whole};
use dovetail::proof::Pipelines;
use dovetail::state::{BindingKind, KindSet, PipelineState, ResourceKind, SpecializationEntry};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::Toolchain;
use std::process::Command;

pub(crate) fn compiled(test: &str, name: &str, source: &str) -> Option<Module> {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join(name);
    std::fs::write(&path, source).expect("written");
    support::glsl(test, &path, "vulkan1.2").map(|bytes| Module::new(bytes).expect("a module"))
}

fn assembled(test: &str, source: &str) -> Option<Module> {
    let tool = support::tool(test, "spirv-as")?;
    let bytes = tool.run(&["--target-env", "vulkan1.1", "-o", "-", "-"], source.as_bytes());
    Some(Module::new(bytes).expect("a module"))
}

fn upper(module: &Module, stage: Stage) -> Shader {
    translate(module, "main", stage, &[]).expect("a shader")
}

fn kind_of(state: &PipelineState, binding: u32) -> (BindingKind, u32) {
    let found = state.layout.sets[0].bindings.iter().find(|b| b.binding == binding).expect("laid out");
    (found.kind, found.count)
}

#[test]
fn variables_that_share_a_binding_have_a_state() {
    let test = "bindings::variables_that_share_a_binding_have_a_state";
    let vertex = "#version 450\n#extension GL_EXT_samplerless_texture_functions : require
        layout(binding = 0) uniform texture2D image;
        layout(binding = 1) uniform U { vec4 u; } uniforms[2];
        void main() { gl_Position = texelFetch(image, ivec2(gl_VertexIndex), 0) + uniforms[1].u; }";
    let fragment = "#version 450\n#extension GL_EXT_nonuniform_qualifier : require
        layout(location = 0) out vec4 color;
        layout(binding = 0) uniform sampler its_sampler;
        layout(binding = 1) uniform texture2D images[];
        layout(binding = 1) readonly buffer B { vec4 b; } buffers[3];
        void main() { color = textureLod(sampler2D(images[nonuniformEXT(int(gl_FragCoord.x))], its_sampler), vec2(0.5), 0.0) + buffers[2].b; }";
    let Some(vertex) = compiled(test, "a.vert", vertex) else { return };
    let Some(fragment) = compiled(test, "a.frag", fragment) else { return };
    let shaders = [upper(&vertex, Stage::Vertex), upper(&fragment, Stage::Fragment)];
    let state = dovetail::template::state(&shaders).expect("a state");
    assert_eq!(kind_of(&state, 0), (BindingKind::One(ResourceKind::CombinedImageSampler), 1));
    let heap = [ResourceKind::UniformBuffer, ResourceKind::SampledImage, ResourceKind::StorageBuffer];
    assert_eq!(kind_of(&state, 1), (BindingKind::Mutable(KindSet::of(&heap)), 64));
    let text = dovetail::template::toml(&state, &[]).expect("as text");
    assert_eq!(toml::from_str::<PipelineState>(&text).expect("read again"), state, "{text}");
}

/// A shader that reads through `%r`, writes the same word through `%w`, and reads it again: first each lane its own
/// word, then all lanes the last one. Both variables are binding 0; binding 1 holds the values read.
fn read_write_read(decorations: &str) -> String {
    format!(
        "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %id
        OpExecutionMode %main LocalSize 32 1 1
        OpDecorate %id BuiltIn LocalInvocationIndex
        OpDecorate %words ArrayStride 4
        OpDecorate %fours ArrayStride 16
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %read_block Block
        OpMemberDecorate %read_block 0 Offset 0
        OpDecorate %results Block
        OpMemberDecorate %results 0 Offset 0
        OpDecorate %w DescriptorSet 0
        OpDecorate %w Binding 0
        OpDecorate %r DescriptorSet 0
        OpDecorate %r Binding 0
        OpDecorate %out DescriptorSet 0
        OpDecorate %out Binding 1
        {decorations}
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %u32 = OpTypeInt 32 0
        %four = OpTypeVector %u32 4
        %n0 = OpConstant %u32 0
        %n7 = OpConstant %u32 7
        %n40 = OpConstant %u32 40
        %n100 = OpConstant %u32 100
        %words = OpTypeRuntimeArray %u32
        %fours = OpTypeRuntimeArray %four
        %block = OpTypeStruct %words
        %read_block = OpTypeStruct %words
        %results = OpTypeStruct %fours
        %to_block = OpTypePointer StorageBuffer %block
        %to_read = OpTypePointer StorageBuffer %read_block
        %to_results = OpTypePointer StorageBuffer %results
        %to_u32 = OpTypePointer StorageBuffer %u32
        %to_four = OpTypePointer StorageBuffer %four
        %in_u32 = OpTypePointer Input %u32
        %id = OpVariable %in_u32 Input
        %w = OpVariable %to_block StorageBuffer
        %r = OpVariable %to_read StorageBuffer
        %out = OpVariable %to_results StorageBuffer
        %main = OpFunction %void None %fn
        %entry = OpLabel
        %i = OpLoad %u32 %id
        %rp = OpAccessChain %to_u32 %r %n0 %i
        %rq = OpAccessChain %to_u32 %r %n0 %n40
        %wp = OpAccessChain %to_u32 %w %n0 %i
        %wq = OpAccessChain %to_u32 %w %n0 %n40
        %a = OpLoad %u32 %rp
        %b = OpLoad %u32 %rq
        %more = OpIAdd %u32 %a %n100
        OpStore %wp %more
        OpStore %wq %n7
        %c = OpLoad %u32 %rp
        %d = OpLoad %u32 %rq
        %all = OpCompositeConstruct %four %a %b %c %d
        %op = OpAccessChain %to_four %out %n0 %i
        OpStore %op %all
        OpReturn
        OpFunctionEnd"
    )
}

#[test]
fn variables_of_one_binding_are_one_memory() {
    let test = "bindings::variables_of_one_binding_are_one_memory";
    let words: Vec<u32> = (0..41).map(|n| 1000 + n).collect();
    let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    // Within a wave, all lanes read before any writes.
    let expected: Vec<u32> = (0..32).flat_map(|n| [1000 + n, 1040, 1100 + n, 7]).collect();
    for decorations in [
        "OpDecorate %r NonWritable",
        "OpMemberDecorate %read_block 0 NonWritable",
        "OpDecorate %r NonWritable OpDecorate %r Aliased OpDecorate %w Aliased",
        "OpDecorate %r NonWritable OpDecorate %r Restrict",
        "OpDecorate %r NonWritable OpDecorate %r Restrict OpDecorate %w Restrict",
        "OpMemberDecorate %read_block 0 NonWritable OpDecorate %r Restrict",
    ] {
        let source = read_write_read(&decorations.replace(" Op", "\n        Op"));
        let Some(module) = assembled(test, &source) else { return };
        for wave in [WaveSize::W32, WaveSize::W64] {
            let state = dovetail::template::state(&[upper(&module, Stage::Compute)]).expect("a state");
            let pipelines =
                Pipelines::new(vec![shader(&module, wave, &[])], state, &ChosenCompiler::new()).expect("built");
            let bind = |binding, data| BindingElement {
                set: 0,
                binding,
                element: 0,
                bound: Bound::StorageBuffer(InputBytes(data)),
            };
            let bindings = vec![bind(0, bytes(&words)), bind(1, vec![0; 512])];
            let inputs = Inputs { bindings, grid: [1; 3], ..Default::default() };
            for (route, elf) in &pipelines.elfs {
                let left = pipelines
                    .run(elf, &inputs, RunLimits { instructions: 100_000, ..RunLimits::default() })
                    .expect("runs")
                    .bindings;
                let found: Vec<u32> = left[1].as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
                assert_eq!(found, expected, "{route}, {wave:?}: {decorations}");
            }
        }
    }
}

/// For each buffer load, in order, whether nothing writes its memory.
fn fixed_loads(module: &Module) -> Vec<bool> {
    let ir = upper(module, Stage::Compute);
    let load = |op: &Op| match op {
        Op::BufferLoad { kind, access, .. } => Some(access.read_only || *kind == dovetail::ir::BufferKind::Uniform),
        _ => None,
    };
    ir.insts.iter().filter_map(|inst| load(&inst.op)).collect()
}

#[test]
fn what_nobody_writes_may_be_read_early() {
    let test = "bindings::what_nobody_writes_may_be_read_early";
    // The results are always written.
    let apart = "OpDecorate %r NonWritable OpDecorate %r Restrict";
    let source = read_write_read(&apart.replace(" Op", "\n        Op")).replace("%r Binding 0", "%r Binding 2");
    let Some(module) = assembled(test, &source) else { return };
    assert_eq!(fixed_loads(&module), [true; 4], "another binding, by its word");
    let Some(module) = assembled(test, &source.replace("OpDecorate %r Restrict", "")) else { return };
    assert_eq!(fixed_loads(&module), [false; 4], "another binding, which may be the same buffer");

    let uniform = |decoration: &str| {
        let class = source.replace("%to_read = OpTypePointer StorageBuffer", "%to_read = OpTypePointer Uniform");
        let class = class.replace("%r = OpVariable %to_read StorageBuffer", "%r = OpVariable %to_read Uniform");
        let words = class.replace("%read_block = OpTypeStruct %words", "%read_block = OpTypeStruct %some");
        let words = words.replace(
            "%fours = OpType",
            "%some = OpTypeArray %u32 %n100\n%in_block = OpTypePointer Uniform %u32\n%fours = OpType",
        );
        let words = words.replace("%rp = OpAccessChain %to_u32", "%rp = OpAccessChain %in_block");
        let words = words.replace("%rq = OpAccessChain %to_u32", "%rq = OpAccessChain %in_block");
        words
            .replace("OpDecorate %r NonWritable\n        OpDecorate %r Restrict", decoration)
            .replace("OpDecorate %words", "OpDecorate %some ArrayStride 16\n        OpDecorate %words")
    };
    let Some(module) = assembled(test, &uniform("")) else { return };
    assert_eq!(fixed_loads(&module), [true; 4], "a uniform buffer");
    let Some(module) = assembled(test, &uniform("OpDecorate %r Aliased\n OpDecorate %w Aliased")) else { return };
    assert_eq!(fixed_loads(&module), [false; 4], "a uniform buffer that says that it is written by another name");
}

fn shader<'a>(module: &'a Module, wave: WaveSize, spec_ids: &[u32]) -> ShaderRef<'a> {
    ShaderRef::new(module, "main", Stage::Compute, wave).with_spec_ids(spec_ids.iter().copied())
}

/// Results of building a pipeline, linked if possible, and compiled as a whole.
fn both_ways(
    shaders: Vec<ShaderRef<'_>>,
    state: &PipelineState,
    compiler: &dyn Compiler,
) -> [Result<PipelineOutcome, Error>; 2] {
    let cache = Cache::new(Box::new(MemoryStore::default()));
    let tools = Toolchain::new(&cache, Some(compiler)).expect("a cache");
    let target = Gpu::Gfx1030;
    let request = PipelineRequest {
        shaders: shaders.into(),
        state,
        layout: None,
        target,
        options: Default::default(),
        placement: Placement::Adjacent,
    };
    [build(&request, &tools), build_whole(&request, &tools, None)]
}

const KINDS: &str = "#version 450\n#extension GL_EXT_samplerless_texture_functions : require
    layout(constant_id = 3) const bool twice = false;
    layout(binding = 0) buffer B { vec4 b; };
    layout(binding = 1) uniform texture2D image;
    layout(binding = 2) uniform texture2D unread;
    void main() {
        vec4 unused = texelFetch(unread, ivec2(0), 0);
        b = texelFetch(image, ivec2(0), 0) * (twice ? 2.0 : 1.0);
    }";

#[test]
fn a_layout_of_another_kind_is_malformed() {
    let test = "bindings::a_layout_of_another_kind_is_malformed";
    let Some(module) = compiled(test, "k.comp", KINDS) else { return };
    use ResourceKind as K;
    let fitting = dovetail::template::state(&[upper(&module, Stage::Compute)]).expect("a state");
    let compiler = ChosenCompiler::new();
    let said = |state: &PipelineState| both_ways(vec![shader(&module, WaveSize::W32, &[3])], state, &compiler);
    assert!(said(&fitting).iter().all(Result::is_ok));
    for (binding, kind) in [
        (0, BindingKind::One(K::UniformBuffer)),
        (0, BindingKind::One(K::Sampler)),
        (0, BindingKind::Mutable(KindSet::of(&[K::UniformBuffer, K::StorageImage]))),
        (1, BindingKind::One(K::StorageImage)),
        (1, BindingKind::One(K::UniformTexelBuffer)),
        (2, BindingKind::One(K::StorageBuffer)),
    ] {
        let mut state = fitting.clone();
        state.layout.sets[0].bindings[binding].kind = kind;
        for result in said(&state) {
            let why = result.expect_err("another kind");
            assert_eq!(why.exit_code(), 2, "{binding} {kind}: {why}");
            assert!(why.to_string().contains(&format!("binding {binding}")), "{why}");
        }
    }
    // A list that contains the kind, or a combined kind with it, works.
    for kind in [
        BindingKind::One(K::CombinedImageSampler),
        BindingKind::Mutable(KindSet::of(&[K::StorageBuffer, K::CombinedImageSampler])),
        BindingKind::Mutable(KindSet::of(&[K::SampledImage, K::UniformBuffer])),
    ] {
        let mut state = fitting.clone();
        state.layout.sets[0].bindings[1].kind = kind;
        assert!(said(&state).iter().all(Result::is_ok));
    }
    // 2 is not a boolean.
    let mut state = fitting.clone();
    state.specialization = vec![SpecializationEntry { stage: None, id: 3, value: 2 }];
    for result in said(&state) {
        assert_eq!(result.expect_err("no boolean").exit_code(), 2);
    }
    assert_eq!(reflect(&module).expect("a module").spec_constants.len(), 1);

    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("k.spv"), module.bytes()).expect("written");
    let mut state = fitting;
    state.layout.sets[0].bindings[0].kind = K::UniformBuffer.into();
    std::fs::write(dir.path().join("k.toml"), dovetail::template::toml(&state, &[]).expect("as text"))
        .expect("written");
    for whole in [&[][..], &["--whole"]] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        program
            .current_dir(dir.path())
            .args(["link", "--cs", "k.spv", "--state", "k.toml", "--cache", "c", "-o", "k.elf"]);
        let out = program.args(whole).output().expect("runs");
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains("set 0 binding 0: malformed input: the shader has a StorageBuffer"), "{said}");
    }
}

/// One value of each reason: adding a variant breaks the build here.
fn reasons() -> Vec<FullCompile> {
    let all = vec![
        FullCompile::Specialization { id: 3 },
        FullCompile::TooManyValues { what: "vertex inputs".into(), count: 200 },
        FullCompile::ResourceLayout { set: 0, binding: 1, why: "it is elsewhere".into() },
        FullCompile::State { item: "color.sample_shading".into() },
        FullCompile::Mismatch { what: "the GPU".into() },
    ];
    for reason in &all {
        match reason {
            FullCompile::Specialization { .. }
            | FullCompile::TooManyValues { .. }
            | FullCompile::ResourceLayout { .. }
            | FullCompile::State { .. }
            | FullCompile::Mismatch { .. } => {}
        }
    }
    all
}

/// A compiler that returns `NeedsFullCompile` for every request.
struct Refuses(CompilerId, FullCompile);

impl Compiler for Refuses {
    fn id(&self) -> &CompilerId {
        &self.0
    }

    fn compile(&self, _: &Module, _: &StageRequest) -> Result<StageElf, Error> {
        Err(Error::needs_full(self.1.clone()))
    }
}

#[test]
fn a_whole_compile_never_asks_for_a_whole_compile() {
    let module = Module::new(0x0723_0203u32.to_le_bytes().to_vec()).expect("words");
    for reason in reasons() {
        let id = CompilerId { sources: "none".into(), backend: "none".into() };
        let compiler = Refuses(id, reason.clone());
        for result in both_ways(vec![shader(&module, WaveSize::W32, &[])], &PipelineState::default(), &compiler) {
            let why = result.expect_err("it refuses");
            assert!(why.full_compile().is_none(), "{why}");
            let expected = match reason {
                FullCompile::Specialization { .. } | FullCompile::ResourceLayout { .. } => 2,
                FullCompile::TooManyValues { .. } | FullCompile::State { .. } => 3,
                FullCompile::Mismatch { .. } => 70,
            };
            assert_eq!(why.exit_code(), expected, "{why}");
            assert!(why.to_string().starts_with("compute shader: "), "{why}");
        }
    }
}

#[test]
fn more_attributes_than_there_are_is_said_by_name() {
    let test = "bindings::more_attributes_than_there_are_is_said_by_name";
    let many = |word: &str| (0..33).map(|n| format!("layout(location = {n}) {word} vec4 v{n};\n")).collect::<String>();
    let sum: String = (0..33).map(|n| format!(" + v{n}")).collect();
    let set: String = (0..33).map(|n| format!("v{n} = p * {n}.0;")).collect();
    let vertex = format!(
        "#version 450\nlayout(location = 0) in vec4 p;\n{}void main() {{ gl_Position = p; {set} }}",
        many("out")
    );
    let fragment =
        format!("#version 450\n{}layout(location = 0) out vec4 c;\nvoid main() {{ c = vec4(0.0){sum}; }}", many("in"));
    let Some(vertex) = compiled(test, "a.vert", &vertex) else { return };
    let Some(fragment) = compiled(test, "a.frag", &fragment) else { return };
    let state = dovetail::template::state(&[upper(&vertex, Stage::Vertex), upper(&fragment, Stage::Fragment)]);
    let of = |module, stage| ShaderRef::new(module, "main", stage, WaveSize::W64);
    let shaders = vec![of(&vertex, Stage::Vertex), of(&fragment, Stage::Fragment)];
    for result in both_ways(shaders, &state.expect("a state"), &ChosenCompiler::new()) {
        let why = result.expect_err("there are 32");
        assert!(matches!(why.kind(), ErrorKind::Unsupported { .. }), "{why}");
    }
}
