//! What parts cannot be linked for is compiled as a whole, and draws what the interpreter does.

use crate::chosen::ChosenCompiler;
use crate::scene::Scene;
use crate::support;
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::request::{GeneratorKind, Module};
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::{
    BindingElement, Bound, Draw, InputBytes, Inputs, TargetAttachment, Topology, VertexBuffer,
};
use dovetail::error::{ErrorKind, Result};
use dovetail::link::Placement;
use dovetail::pipeline::{Built, PipelineOutcome, PipelineRequest, Route, ShaderRef, build};
use dovetail::state::{VertexAttribute, VertexBinding, VertexInputState};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::Toolchain;
use std::fmt::Write;

/// A vertex shader that draws two triangles, with more declarations and statements.
fn triangles(declarations: &str, statements: &str) -> String {
    format!(
        "#version 450
        {declarations}
        void main() {{
            vec2 corners[3] = vec2[](vec2(-0.9, -0.8), vec2(0.95, -0.7), vec2(-0.6, 0.9));
            gl_Position = vec4(corners[gl_VertexIndex % 3] * (gl_VertexIndex < 3 ? 1.0 : -0.4), 0.0, 1.0);
            {statements}
        }}"
    )
}

fn spirv(test: &str, source: &str, stage: &str) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("shader").with_extension(stage);
    std::fs::write(&path, source).expect("a source");
    support::glsl(test, &path, "vulkan1.1")
}

fn floats(numbers: &[f32]) -> InputBytes {
    InputBytes(numbers.iter().flat_map(|x| x.to_le_bytes()).collect())
}

/// A draw of two triangles to a float attachment.
fn scene(test: &str, vertex: &str, fragment: &str) -> Option<Scene> {
    let (vertex, fragment) = (spirv(test, vertex, "vert")?, spirv(test, fragment, "frag")?);
    let ir = |spirv: &[u8], stage| {
        let module = Module::new(spirv.to_vec()).expect("a module");
        translate(&module, "main", stage, &[]).expect("a shader")
    };
    let shaders = [ir(&vertex, Stage::Vertex), ir(&fragment, Stage::Fragment)];
    let state = dovetail::template::state(&shaders).expect("a state");
    let clear = TargetAttachment { clear: [0.0; 4], ..TargetAttachment::new(0, "R32G32B32A32_SFLOAT") };
    let draw = Draw { targets: vec![clear], ..Draw::new(Topology::TriangleList, 6, [24, 20]) };
    Some(Scene { vertex, fragment, state, inputs: Inputs { draw: Some(draw), ..Inputs::default() } })
}

/// Builds the pipeline, linked if that is possible.
fn built(scene: &Scene) -> Result<Built> {
    let modules = [&scene.vertex, &scene.fragment].map(|spirv| Module::new(spirv.clone()).expect("a module"));
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler))?;
    let request = PipelineRequest {
        shaders: vec![
            ShaderRef::new(&modules[0], "main", Stage::Vertex, WaveSize::W32),
            ShaderRef::new(&modules[1], "main", Stage::Fragment, WaveSize::W64),
        ]
        .into(),
        state: &scene.state,
        layout: None,
        target: Gpu::Gfx1030,
        options: Default::default(),
        placement: Placement::Adjacent,
    };
    match build(&request, &tools)? {
        PipelineOutcome::Built(built) => Ok(built),
        other => panic!("{other:?}"),
    }
}

/// Checks that the pipeline is compiled as a whole because of this, and what it draws.
fn refused(mut scene: Scene, name: &str, says: &str) {
    scene.take_colors_from_draw();
    let route = built(&scene).unwrap_or_else(|e| panic!("{name}: {e}")).route;
    assert!(matches!(&route, Route::Whole(Some(why)) if why.contains(says)), "{name}: {route:?}");
    scene.judge_interpreted(name);
}

/// Vulkan's devices have 32 locations, whose 128 dwords fit. More would not fit a whole compile either, which says so by name.
#[test]
fn more_attributes_than_a_prolog_passes() {
    let test = "refusals::more_attributes_than_a_prolog_passes";
    for count in [32, 34] {
        let mut declarations = "layout(location = 0) out vec4 o;\n".to_owned();
        let mut sum = "vec4(0.0)".to_owned();
        for n in 0..count {
            let _ = writeln!(declarations, "layout(location = {n}) in vec4 a{n};");
            let _ = write!(sum, " + a{n} * {:.3}", 0.125 + f64::from(n) / 32.0);
        }
        let vertex = triangles(&declarations, &format!("o = {sum};"));
        let fragment = "#version 450
            layout(location = 0) in vec4 i; layout(location = 0) out vec4 c; void main() { c = i; }";
        let Some(mut scene) = scene(test, &vertex, fragment) else { return };
        let format = "R32G32B32A32_SFLOAT".parse().expect("a format");
        let attribute = |location, offset| VertexAttribute { location, binding: 0, format, offset };
        scene.state.vertex = VertexInputState {
            bindings: vec![VertexBinding { binding: 0, stride: 32, rate: Default::default(), divisor: 1 }],
            attributes: (0..count).map(|n| attribute(n, n % 3 * 8)).collect(),
        };
        let data = (0..48).map(|n| n as f32 * 0.5).collect::<Vec<_>>();
        let draw = scene.inputs.draw.as_mut().expect("a draw");
        draw.vertex_buffers = vec![VertexBuffer { binding: 0, stride: 32, data: floats(&data) }];
        scene.take_colors_from_draw();
        match built(&scene) {
            Ok(built) => {
                assert_eq!((count, built.route), (32, Route::Linked));
                scene.judge_interpreted("32 attributes");
            }
            Err(e) => {
                let named =
                    matches!(e.kind(), ErrorKind::Unsupported { feature, .. } if feature == "this many vertex inputs");
                assert!(named && count == 34, "{count}: {e}");
            }
        }
    }
}

/// 36 vectors, of which the fragment shader reads three.
#[test]
fn more_parameters_than_an_epilog_takes() {
    let [mut declarations, mut writes] = [(); 2].map(|()| String::new());
    for n in 0..36 {
        let _ = writeln!(declarations, "layout(location = {n}) out vec4 o{n};");
        let _ = write!(writes, "o{n} = vec4(gl_VertexIndex * {n} + 1, corners[gl_VertexIndex % 3], gl_VertexIndex);");
    }
    let vertex = triangles(&declarations, &writes);
    let fragment = "#version 450
        layout(location = 1) in vec4 a; layout(location = 17) flat in vec4 b; layout(location = 35) in vec4 d;
        layout(location = 0) out vec4 c; void main() { c = a + b * 2.0 + d.wzyx; }";
    let test = "refusals::more_parameters_than_an_epilog_takes";
    let Some(scene) = scene(test, &vertex, fragment) else { return };
    refused(scene, "36 parameters", "vertex parameters");
}

/// The fragment shader reads the primitive id, which a vertex part compiled on its own does not pass on.
#[test]
fn a_primitive_id_that_no_part_passes_on() {
    let fragment = "#version 450
        layout(location = 0) out vec4 c;
        void main() { c = vec4(gl_PrimitiveID + 1, gl_FragCoord.xy, gl_PrimitiveID * 2); }";
    let test = "refusals::a_primitive_id_that_no_part_passes_on";
    let Some(scene) = scene(test, &triangles("", ""), fragment) else { return };
    refused(scene, "primitive id", "primitive id");
}

/// The offset of a scalar load reaches the first MiB of a table. LLVM's code has it in a register and reaches everything.
#[test]
fn a_descriptor_that_a_load_does_not_reach() {
    let fragment = "#version 450
        layout(set = 0, binding = 0) uniform U { vec4 u; };
        layout(location = 0) out vec4 c; void main() { c = u + vec4(gl_FragCoord.xy, 0.0, 1.0); }";
    let test = "refusals::a_descriptor_that_a_load_does_not_reach";
    let Some(mut scene) = scene(test, &triangles("", ""), fragment) else { return };
    scene.state.layout.sets[0].bindings[0].offset = Some(0x20_0000);
    let bound = Bound::UniformBuffer(floats(&[0.25, 7.0, -3.0, 2.0]));
    scene.inputs.bindings = vec![BindingElement { set: 0, binding: 0, element: 0, bound }];
    match ChosenCompiler::new().generator() {
        GeneratorKind::Native => refused(scene, "far descriptor", "first MiB"),
        GeneratorKind::Llvm => {
            scene.take_colors_from_draw();
            assert_eq!(built(&scene).expect("a pipeline").route, Route::Linked);
            scene.judge_interpreted("far descriptor");
        }
    }
}
