//! Specialization constants as relocations: pipelines of one part with different values give the same results as
//! whole-pipeline compiles for those values, and as plain Rust.

use crate::chosen::ChosenCompiler;
use crate::support;
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::request::{KnownState, Module};
use dovetail::compile::spirv::{reflect, translate};
use dovetail::emu::inputs::{BindingElement, Bound, InputBytes, Inputs};
use dovetail::emu::{self, RunLimits};
use dovetail::link::{Object, Placement};
use dovetail::pipeline::{Built, PipelineOutcome, PipelineRequest, Route, ShaderRef, build, build_whole};
use dovetail::state::{PipelineState, SpecializationEntry};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::{Fetched, Toolchain};

fn compiled(test: &str, source: &str) -> Option<Module> {
    compiled_for(test, source, "vulkan1.1")
}

fn compiled_for(test: &str, source: &str, environment: &str) -> Option<Module> {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("shader.comp");
    std::fs::write(&path, source).expect("a source");
    Some(Module::new(support::glsl(test, &path, environment)?).expect("a module"))
}

/// A shader with a storage buffer of input words at binding 0 and of output words at 1.
struct Subject<'a> {
    module: &'a Module,
    tools: &'a Toolchain<'a>,
    state: PipelineState,
}

impl<'a> Subject<'a> {
    fn new(module: &'a Module, tools: &'a Toolchain<'a>) -> Self {
        let shader = translate(module, "main", Stage::Compute, &[]).expect("a shader");
        Self { module, tools, state: dovetail::template::state(&[shader]).expect("a state") }
    }

    fn shader(&self, wave: WaveSize) -> ShaderRef<'a> {
        let ids = reflect(self.module).expect("a module").spec_constants.into_iter().map(|c| c.id);
        ShaderRef::new(self.module, "main", Stage::Compute, wave).with_spec_ids(ids)
    }

    fn request<'s>(&self, state: &'s PipelineState, wave: WaveSize, placement: Placement) -> PipelineRequest<'s>
    where
        'a: 's,
    {
        let shaders = vec![self.shader(wave)];
        PipelineRequest {
            shaders: shaders.into(),
            state,
            layout: None,
            target: Gpu::Gfx1030,
            options: Default::default(),
            placement,
        }
    }

    fn state(&self, values: &[(u32, u64)]) -> PipelineState {
        let entry = |&(id, value)| SpecializationEntry { stage: None, id, value };
        PipelineState { specialization: values.iter().map(entry).collect(), ..self.state.clone() }
    }

    /// The parsed part.
    fn part(&self) -> Object {
        let state = self.state(&[]);
        let request = self.request(&state, WaveSize::W32, Placement::Adjacent);
        let early = request.stage(&request.shaders[0], KnownState::default());
        match self.tools.stage(self.module, &early).expect("a part") {
            Fetched::Hit(elf) | Fetched::Compiled(elf) => Object::parse(&elf.0).expect("our own"),
            Fetched::NotCached => panic!("there is a compiler"),
        }
    }

    /// The output for these values, which must be equal on every route, and how each linked pipeline was built.
    fn run(&self, values: &[(u32, u64)], input: &[u32], out: usize) -> (Vec<u32>, Vec<Built>) {
        let bytes =
            |words: &[u32]| Bound::StorageBuffer(InputBytes(words.iter().flat_map(|w| w.to_le_bytes()).collect()));
        let bind = |binding, bound| BindingElement { set: 0, binding, element: 0, bound };
        let inputs = Inputs {
            bindings: vec![bind(0, bytes(input)), bind(1, bytes(&vec![0; out]))],
            grid: [1, 1, 1],
            ..Inputs::default()
        };
        let state = self.state(values);
        let (mut results, mut linked) = (Vec::new(), Vec::new());
        for wave in [WaveSize::W32, WaveSize::W64] {
            for placement in [Placement::Adjacent, Placement::Chained] {
                let request = self.request(&state, wave, placement);
                for outcome in [build(&request, self.tools), build_whole(&request, self.tools, None)] {
                    let Ok(PipelineOutcome::Built(built)) = outcome else { panic!("{values:?}: {outcome:?}") };
                    let ran = emu::run(&built.elf, &state.layout, &inputs, RunLimits::default()).expect("runs");
                    let words = ran.bindings[1].as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b));
                    results.push((built.route.clone(), words.collect::<Vec<_>>()));
                    if built.route == Route::Linked {
                        linked.push(built);
                    }
                }
            }
        }
        let (_, first) = results[0].clone();
        for (route, result) in &results {
            assert_eq!(*result, first, "{values:?}: {route:?}");
        }
        (first, linked)
    }
}

const WIDTHS: &str = "#version 450
    #extension GL_EXT_shader_explicit_arithmetic_types : require
    layout(constant_id = 1) const uint word = 7u;
    layout(constant_id = 2) const int64_t wide = 0x123456789abl;
    layout(constant_id = 3) const int16_t half_word = int16_t(-3);
    layout(constant_id = 4) const uint8_t byte_word = uint8_t(200);
    layout(constant_id = 5) const bool flag = true;
    layout(constant_id = 6) const float real = 1.5;
    layout(constant_id = 7) const double long_real = 2.25lf;
    layout(constant_id = 8) const float16_t short_real = 0.5hf;
    layout(constant_id = 9) const uint unused = 1u;
    const uint sum = (word + 3u) * 2u;
    const bool many = word > 100u;
    layout(local_size_x = 1) in;
    layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
    layout(set = 0, binding = 1) writeonly buffer B { uint b[]; };
    void main() {
        uint x = a[0];
        b[0] = x + word;
        uvec2 w = unpack32(uint64_t(wide) + uint64_t(x));
        b[1] = w.x;
        b[2] = w.y;
        b[3] = uint(int(half_word) * int(x));
        b[4] = uint(byte_word) + x;
        b[5] = mix(~x, x, flag);
        b[6] = floatBitsToUint(float(x) * real);
        b[7] = floatBitsToUint(float(double(x) * long_real));
        b[8] = floatBitsToUint(float(float16_t(x) * short_real));
        b[9] = sum + x;
        b[10] = mix(2u * x, x, many);
        b[11] = uint(dot(vec2(real, 2.0), vec2(x)));
        // Selected for the whole wave.
        b[12] = x > 5u ? word : x + 1u;
        b[13] = x > 50u ? word : x + 1u;
    }";

/// Expected results of [`WIDTHS`] for an input, with these values in the order of its constants.
fn widths(x: u32, v: [u64; 8]) -> Vec<u32> {
    let [word, wide, half, byte, flag, real, long, short] = v;
    let word = word as u32;
    let wide = wide.wrapping_add(x.into());
    let real = f32::from_bits(real as u32);
    let short = match short {
        0x3800 => 0.5,
        0x4400 => 4.0,
        other => panic!("{other:#x}"),
    };
    vec![
        x.wrapping_add(word),
        wide as u32,
        (wide >> 32) as u32,
        (i32::from(half as u16 as i16)).wrapping_mul(x as i32) as u32,
        byte as u32 + x,
        if flag != 0 { x } else { !x },
        (x as f32 * real).to_bits(),
        ((f64::from(x) * f64::from_bits(long)) as f32).to_bits(),
        (x as f32 * short).to_bits(),
        (word.wrapping_add(3)).wrapping_mul(2).wrapping_add(x),
        if word > 100 { x } else { 2 * x },
        (real * x as f32 + 2.0 * x as f32) as u32,
        if x > 5 { word } else { x + 1 },
        if x > 50 { word } else { x + 1 },
    ]
}

const DEFAULTS: [u64; 8] = [7, 0x0123_4567_89ab, 0xfffd, 200, 1, 0x3fc0_0000, 0x4002_0000_0000_0000, 0x3800];

#[test]
fn one_part_serves_every_value_of_every_width() {
    let test = "specialized::one_part_serves_every_value_of_every_width";
    let Some(module) = compiled(test, WIDTHS) else { return };
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    let subject = Subject::new(&module, &tools);
    assert_eq!(module.operand_ids(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let part = subject.part();
    let interface = part.interface();
    let operands: Vec<_> = interface.spec_operands.iter().map(|o| (o.id, o.bits)).collect();
    assert_eq!(operands, [(1, 32), (2, 64), (3, 16), (4, 8), (5, 1), (6, 32), (7, 64), (8, 16)]);
    assert_eq!(interface.specialization, []);
    let others = [1000, 0xffff_ffff_ffff_ffff, 0x7fff, 0, 0, 0xc0a0_0000, 0xbff0_0000_0000_0000, 0x4400];
    let mut bytes = Vec::new();
    for which in 0..16u32 {
        // No value, each value alone, and all values.
        let given = |n: usize| which > 8 || which as usize == n + 1;
        let values: Vec<(u32, u64)> = (1..).zip(others).filter(|(id, _)| given(*id as usize - 1)).collect();
        let expect = std::array::from_fn(|n| if given(n) { others[n] } else { DEFAULTS[n] });
        if which > 9 {
            break;
        }
        let (got, linked) = subject.run(&values, &[21], 14);
        assert_eq!(got, widths(21, expect), "{values:?}");
        assert_eq!(linked.len(), 4, "{values:?}: every early route is a link");
        // Compiled once per wave size, and never for a value.
        let made = linked.iter().flat_map(|built| &built.parts).filter(|part| !part.hit).count();
        assert_eq!(made, if which == 0 { 1 } else { 0 }, "{values:?}");
        bytes.push(linked[0].elf.len());
    }
    bytes.dedup();
    assert_eq!(bytes.len(), 1, "only values differ");
}

#[test]
fn a_value_that_does_not_fit_its_constant_is_malformed() {
    let test = "specialized::a_value_that_does_not_fit_its_constant_is_malformed";
    let Some(module) = compiled(test, WIDTHS) else { return };
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    let subject = Subject::new(&module, &tools);
    for (id, value) in [(5, 2), (4, 256), (3, 0xffff_fffd), (1, 1 << 32)] {
        let state = subject.state(&[(id, value)]);
        let request = subject.request(&state, WaveSize::W32, Placement::Adjacent);
        for outcome in [build(&request, &tools), build_whole(&request, &tools, None)] {
            assert_eq!(outcome.expect_err("too wide").exit_code(), 2, "{id} {value}");
        }
    }
}

const SHAPES: &str = "#version 450
    layout(constant_id = 1) const uint length = 4u;
    layout(constant_id = 2) const uint bound = 3u;
    layout(constant_id = 3) const bool branch = false;
    layout(constant_id = 4) const uint divisor = 5u;
    layout(constant_id = 5) const uint index = 1u;
    layout(constant_id = 6) const uint added = 1u;
    layout(constant_id = 7) const uint mode = 2u;
    layout(local_size_x_id = 8) in;
    layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
    layout(set = 0, binding = 1) buffer B { uint b[]; };
    uint picked(uint of[length], uint at) { return of[at]; }
    void main() {
        if (gl_LocalInvocationIndex != 0u) { return; }
        uint list[length];
        for (uint i = 0u; i < length; ++i) { list[i] = a[i]; }
        uint sum = 0u;
        for (uint i = 0u; i < bound; ++i) { sum += a[i] * added; }
        if (branch) { sum += a[3]; b[6] = sum; }
        b[0] = sum;
        b[1] = a[0] / divisor;
        b[2] = list[index];
        b[3] = picked(list, added);
        if (mode == 2u) { b[4] = a[1]; } else { b[4] = a[2]; }
        b[5] = gl_WorkGroupSize.x + added;
    }";

#[test]
fn what_shapes_code_is_in_the_key_and_held_against_the_state() {
    let test = "specialized::what_shapes_code_is_in_the_key_and_held_against_the_state";
    let Some(module) = compiled(test, SHAPES) else { return };
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    let subject = Subject::new(&module, &tools);
    assert_eq!(module.operand_ids(), [6]);
    let part = subject.part();
    assert_eq!(part.interface().specialization.iter().map(|v| v.id).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 7, 8]);
    assert_eq!(part.interface().spec_operands.iter().map(|o| o.id).collect::<Vec<_>>(), [6]);
    let input = [30, 41, 52, 63, 74];
    type Case = (&'static [(u32, u64)], [u32; 7]);
    let cases: [Case; 4] = [
        (&[], [123, 6, 41, 41, 41, 2, 0]),
        (&[(6, 3)], [369, 6, 41, 63, 41, 4, 0]),
        (&[(6, 2), (2, 5), (3, 1), (4, 3)], [583, 10, 41, 52, 41, 3, 583]),
        (&[(1, 5), (5, 4), (6, 4), (7, 0), (8, 7)], [492, 6, 74, 74, 52, 11, 0]),
    ];
    for (n, (values, expect)) in cases.into_iter().enumerate() {
        let (got, linked) = subject.run(values, &input, 7);
        assert_eq!(got, expect, "{values:?}");
        let made = linked.iter().flat_map(|built| &built.parts).filter(|part| !part.hit).count();
        assert_eq!(made, [1, 0, 2, 2][n], "{values:?}: a part for each value that shapes");
    }
}

const SIZED: &str = "#version 450
    layout(constant_id = 1) const uint added = 1u;
    layout(local_size_x_id = 8, local_size_y_id = 9) in;
    layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
    layout(set = 0, binding = 1) buffer B { uint b[]; };
    void main() { b[gl_LocalInvocationIndex] = a[0] + added; }";

/// From SPIR-V 1.6 on the size is an execution mode, which comes before the constants that it names.
#[test]
fn a_workgroup_size_shapes_code_as_a_built_in_and_as_an_execution_mode() {
    let test = "specialized::a_workgroup_size_shapes_code_as_a_built_in_and_as_an_execution_mode";
    for environment in ["vulkan1.1", "vulkan1.3"] {
        let Some(module) = compiled_for(test, SIZED, environment) else { return };
        let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
        let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
        let subject = Subject::new(&module, &tools);
        assert_eq!(module.operand_ids(), [1], "{environment}");
        let (got, _) = subject.run(&[(8, 3), (9, 2), (1, 4)], &[30], 8);
        assert_eq!(got, [34, 34, 34, 34, 34, 34, 0, 0], "{environment}");
    }
}
