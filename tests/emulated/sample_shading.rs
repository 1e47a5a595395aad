//! Sample shading requested by the state or by the shader: which pipelines link a variant, and the rasterizer registers
//! of both routes. No pipeline may read an input at the pixel centre on one route and at the sample on the other.

use crate::chosen::ChosenCompiler;
use crate::support;
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::request::Module;
use dovetail::compile::variant;
use dovetail::emu::{LoadedPipeline, Machine};
use dovetail::link::{Placement, verify};
use dovetail::metadata::registers::{RegisterWords, pa_sc_mode_cntl_1, spi_baryc_cntl, spi_ps_input_addr};
use dovetail::pipeline::{PipelineOutcome, PipelineRequest, Route, ShaderRef, build, build_whole};
use dovetail::state::{ColorAttachment, PipelineState};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::Toolchain;

/// Bits of SPI_PS_INPUT_ADDR.
const PERSP_SAMPLE: u32 = 1 << 0;
const PERSP_CENTER: u32 = 1 << 1;
const PERSP_CENTROID: u32 = 1 << 2;
const LINEAR_SAMPLE: u32 = 1 << 4;
const LINEAR_CENTER: u32 = 1 << 5;
const ANCILLARY: u32 = 1 << 13;
const COVERAGE: u32 = 1 << 14;
/// All bits that depend on the shading rate.
const ALL: u32 = 0x7f | ANCILLARY | COVERAGE;

const VERTEX: &str = "#version 450
out gl_PerVertex { vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[1]; };
layout(location = 0) out vec2 a;
layout(location = 1) flat out int b;
void main() {
    a = vec2(gl_VertexIndex, 1.0);
    b = gl_VertexIndex;
    gl_Position = vec4(a, 0.5, 1.0);
    gl_PointSize = 4.0;
    gl_ClipDistance[0] = a.x;
}";

/// An input that a fragment shader reads, whether the state alone selects another part for it, and the inputs that its
/// waves then load.
const CASES: &[(&str, &str, bool, u32)] = &[
    ("layout(location = 0) in vec2 a;", "a.x", true, PERSP_SAMPLE),
    ("layout(location = 0) centroid in vec2 a;", "a.x", true, PERSP_SAMPLE),
    ("layout(location = 0) sample in vec2 a;", "a.x", false, PERSP_SAMPLE),
    ("layout(location = 0) noperspective in vec2 a;", "a.x", true, LINEAR_SAMPLE),
    ("layout(location = 0) in vec2 a;", "a.x + gl_SampleID", false, PERSP_SAMPLE | ANCILLARY),
    ("layout(location = 0) centroid in vec2 a;", "a.x + gl_SamplePosition.x", false, PERSP_SAMPLE | ANCILLARY),
    ("", "gl_SampleMaskIn[0]", true, COVERAGE | ANCILLARY),
    ("", "gl_SampleMaskIn[0] + gl_SampleID", false, COVERAGE | ANCILLARY),
    ("", "gl_PointCoord.x", true, PERSP_SAMPLE),
    ("", "gl_PointCoord.x + gl_SampleID", false, PERSP_SAMPLE | ANCILLARY),
    ("in float gl_ClipDistance[1];", "gl_ClipDistance[0]", true, PERSP_SAMPLE),
    ("in float gl_ClipDistance[1];", "gl_ClipDistance[0] + gl_SampleID", false, PERSP_SAMPLE | ANCILLARY),
    ("", "gl_BaryCoordEXT.y", true, PERSP_SAMPLE),
    ("", "gl_BaryCoordNoPerspEXT.x + gl_SampleID", false, LINEAR_SAMPLE | ANCILLARY),
    ("", "gl_FragInvocationCountEXT", true, 0),
    ("", "gl_FragInvocationCountEXT + gl_SampleID", false, ANCILLARY),
    ("layout(location = 1) flat in int b;", "b", false, 0),
    ("", "gl_FragCoord.x", false, 0),
    ("", "float(gl_FrontFacing)", false, 0),
    ("layout(location = 0) in vec2 a;", "interpolateAtOffset(a, vec2(0.25)).x", false, 1 << 3),
];

fn fragment(declares: &str, reads: &str) -> String {
    format!(
        "#version 450
        #extension GL_EXT_fragment_shader_barycentric : enable
        #extension GL_EXT_fragment_invocation_density : enable
        {declares}
        layout(location = 0) out vec4 color;
        void main() {{ color = vec4({reads}); }}"
    )
}

fn compiled(test: &str, source: &str, extension: &str) -> Option<Module> {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("shader").with_extension(extension);
    std::fs::write(&path, source).expect("a source");
    Some(Module::new(support::glsl(test, &path, "vulkan1.1")?).expect("a module"))
}

fn state(samples: u32, sample_shading: bool) -> PipelineState {
    let mut state = PipelineState::default();
    let format = "R32G32B32A32_SFLOAT".parse().expect("a format");
    let target = ColorAttachment { location: 0, format, write_mask: 15, blend: false, blend_source_alpha: false };
    state.color.attachments = vec![target];
    (state.color.samples, state.color.sample_shading) = (samples, sample_shading);
    state
}

/// Builds the pipeline by both routes.
fn built(tools: &Toolchain<'_>, modules: [&Module; 2], state: &PipelineState) -> [(Route, RegisterWords); 2] {
    let stages = [(Stage::Vertex, WaveSize::W32), (Stage::Fragment, WaveSize::W64)];
    let shaders =
        stages.into_iter().zip(modules).map(|((stage, wave), module)| ShaderRef::new(module, "main", stage, wave));
    let request = PipelineRequest {
        shaders: shaders.collect(),
        state,
        layout: None,
        target: Gpu::Gfx1030,
        options: Default::default(),
        placement: Placement::Adjacent,
    };
    [build(&request, tools), build_whole(&request, tools, None)].map(|outcome| {
        let Ok(PipelineOutcome::Built(built)) = outcome else { panic!("{outcome:?}") };
        verify(&built.elf).expect("a pipeline ELF");
        let loaded = LoadedPipeline::load(&mut Machine::new(Gpu::Gfx1030), &built.elf).expect("what the loader takes");
        (built.route, loaded.registers)
    })
}

/// Whether this state links a variant of the fragment shader.
fn has_variant(tools: &Toolchain<'_>, module: &Module, state: &PipelineState) -> bool {
    let fragment = ShaderRef::new(module, "main", Stage::Fragment, WaveSize::W64);
    let request = PipelineRequest {
        shaders: vec![fragment.clone()].into(),
        state,
        layout: None,
        target: Gpu::Gfx1030,
        options: Default::default(),
        placement: Placement::Adjacent,
    };
    let early = tools.part(module, &request.stage(&fragment, Default::default())).expect("a part").expect("a compiler");
    variant(state, early.object.interface()).is_some()
}

/// SPI_PS_INPUT_ADDR, PS_ITER_SAMPLE and POS_FLOAT_LOCATION.
fn rate(registers: &RegisterWords) -> (u32, u32, u32) {
    let inputs = registers.field(spi_ps_input_addr::ENA);
    (inputs, registers.field(pa_sc_mode_cntl_1::PS_ITER_SAMPLE), registers.field(spi_baryc_cntl::POS_FLOAT_LOCATION))
}

#[test]
fn both_routes_read_every_input_at_the_sample() {
    let test = "sample_shading::both_routes_read_every_input_at_the_sample";
    let Some(vertex) = compiled(test, VERTEX, "vert") else { return };
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    for (declares, reads, varies, loads) in CASES {
        let name = format!("{declares} {reads}");
        let module = compiled(test, &fragment(declares, reads), "frag").expect("as before");
        let routes = built(&tools, [&vertex, &module], &state(4, true));
        assert_eq!(routes[0].0, Route::Linked, "{name}");
        assert_eq!(has_variant(&tools, &module, &state(4, true)), *varies, "{name}");
        for (route, registers) in &routes {
            let (address, each, place) = rate(registers);
            // A wave that interpolates nothing loads an arbitrary pair.
            let address = if loads & 0x7f == 0 { address & !0x7f } else { address };
            assert_eq!((address & ALL, each, place), (*loads, 1, 2), "{name}: {route:?}, {address:#x}");
        }
    }
}

#[test]
fn what_nobody_asks_for_stays_in_the_pixel() {
    let test = "sample_shading::what_nobody_asks_for_stays_in_the_pixel";
    let Some(vertex) = compiled(test, VERTEX, "vert") else { return };
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    let cases = [
        ("layout(location = 0) in vec2 a;", "a.x", PERSP_CENTER),
        ("layout(location = 0) centroid in vec2 a;", "a.x", PERSP_CENTROID),
        ("", "gl_SampleMaskIn[0]", COVERAGE),
        ("", "gl_BaryCoordNoPerspEXT.y", LINEAR_CENTER),
        ("", "interpolateAtCentroid(gl_BaryCoordEXT).y", PERSP_CENTROID),
    ];
    for (declares, reads, loads) in cases {
        let module = compiled(test, &fragment(declares, reads), "frag").expect("as before");
        // With one sample, the sample is the pixel, whatever is requested.
        for state in [state(4, false), state(1, true)] {
            for (route, registers) in built(&tools, [&vertex, &module], &state) {
                let (address, each, place) = rate(&registers);
                assert!(!matches!(route, Route::Whole(Some(_))), "{declares} {reads}: {route:?}");
                let address = if loads & 0x7f == 0 { address & !0x7f } else { address };
                assert_eq!((address & ALL, each, place), (loads, 0, 0), "{declares} {reads}: {route:?}");
            }
        }
    }
}
