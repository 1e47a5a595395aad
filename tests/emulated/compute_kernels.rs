//! Compute shaders end to end: GLSL is compiled to SPIR-V and to parts, linked, loaded and dispatched on the emulator,
//! and the results are compared with plain Rust.

use crate::bindings::compiled;
use crate::chosen::ChosenCompiler;
use crate::shaders;
use dovetail::abi::layout::ResolvedLayout;
use dovetail::compile::Compiler;
use dovetail::compile::request::{Module, StageRequest, TuningOptions};
use dovetail::emu::{LoadedPipeline, Machine, RunLimits};
use dovetail::ir::ResourceKind;
use dovetail::link::{EmitGlue, Placement, link};
use dovetail::state::{BindingLayout, PipelineState, ResourceLayout, SetLayout};
use dovetail::target::{Gpu, Stage, WaveSize};

/// Runs a shader of `testdata/shaders` on storage buffers of floats, given in the order of the bindings of set 0.
fn run(name: &str, wave: WaveSize, buffers: &[Vec<f32>], push: &[u32], grid: [u32; 3]) -> Option<Vec<Vec<f32>>> {
    run_with(TuningOptions::default(), &ChosenCompiler::new(), name, wave, buffers, push, grid)
}

/// As [`run`], with options and a compiler.
fn run_with(
    options: TuningOptions,
    compiler: &dyn Compiler,
    name: &str,
    wave: WaveSize,
    buffers: &[Vec<f32>],
    push: &[u32],
    grid: [u32; 3],
) -> Option<Vec<Vec<f32>>> {
    let dir = tempfile::tempdir().expect("a folder");
    let module = Module::new(std::fs::read(shaders::spirv(name, dir.path(), name)?).expect("written")).expect("SPIR-V");
    Some(run_module(options, compiler, &module, wave, buffers, push, grid))
}

/// As [`run_with`], with a module.
fn run_module(
    options: TuningOptions,
    compiler: &dyn Compiler,
    module: &Module,
    wave: WaveSize,
    buffers: &[Vec<f32>],
    push: &[u32],
    grid: [u32; 3],
) -> Vec<Vec<f32>> {
    let request = StageRequest {
        target: Gpu::Gfx1030,
        stage: Stage::Compute,
        module: module.digest(),
        entry_point: "main".to_owned(),
        specialization: vec![],
        wave,
        options,
        known: Default::default(),
    };
    let part = compiler.compile(module, &request).expect("compiles");
    let binding = |binding| BindingLayout {
        binding,
        kind: ResourceKind::StorageBuffer.into(),
        count: 1,
        dynamic: false,
        offset: None,
        samplers: Vec::new(),
    };
    let bindings = (0..).take(buffers.len()).map(binding).collect();
    let layout = ResourceLayout {
        sets: vec![SetLayout { set: 0, root: None, bindings }],
        push_constant_bytes: 4 * push.len() as u32,
        push_constant_root: None,
    };
    let places = ResolvedLayout::new(&layout).expect("a layout");
    let state = PipelineState { layout, ..PipelineState::default() };
    let elf = link(&[&part.0], &state, Placement::Adjacent, &EmitGlue).expect("links");

    let mut machine = Machine::new(Gpu::Gfx1030);
    let pipeline = LoadedPipeline::load(&mut machine, &elf).expect("loads");
    let mut root = vec![0; places.root_dwords() as usize];
    let mut table = vec![0; 16 * buffers.len()];
    let mut addresses = Vec::new();
    for (binding, values) in (0..).zip(buffers) {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let address = machine.alloc_with(&bytes).expect("room");
        let descriptor = [address as u32, (address >> 32) as u32, bytes.len() as u32, 0x3101_4fac];
        let at = places.binding(0, binding).expect("laid out").offset as usize;
        let words: Vec<u8> = descriptor.into_iter().flat_map(u32::to_le_bytes).collect();
        table[at..at + 16].copy_from_slice(&words);
        addresses.push(address);
    }
    let table = machine.alloc_with(&table).expect("room");
    root[places.set_pointer(0).expect("set 0") as usize] = table as u32;
    let first = places.push_constants().map_or(0, |place| place.root as usize);
    root[first..first + push.len()].copy_from_slice(push);
    let limits = RunLimits { instructions: 10_000_000, ..RunLimits::default() };
    machine.dispatch(&pipeline, &root, grid, limits).expect("runs");
    let read = |(address, values): (&u64, &Vec<f32>)| {
        let bytes = machine.read(*address, 4 * values.len()).expect("ours");
        bytes.chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().expect("four"))).collect()
    };
    addresses.iter().zip(buffers).map(read).collect()
}

fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn matrices_are_multiplied() {
    let (m, n, k) = (64, 128, 32);
    let [a, b] = [numbers(m * k, 1), numbers(k * n, 2)];
    for wave in [WaveSize::W32, WaveSize::W64] {
        let buffers = [a.clone(), b.clone(), vec![0.0; m * n]];
        let push = [m as u32, n as u32, k as u32];
        let Some(after) = run("gemm_f32.comp", wave, &buffers, &push, [2, 1, 1]) else { return };
        for row in 0..m {
            for column in 0..n {
                let sum = (0..k).fold(0.0f32, |sum, i| a[row * k + i].mul_add(b[i * n + column], sum));
                assert_eq!(after[2][row * n + column], sum, "{wave:?} {row}, {column}");
            }
        }
    }
}

#[test]
fn softmax_goes_through_subgroups_and_barriers() {
    let (rows, n, scale) = (2, 600, 3.0f32);
    let before = numbers(rows * n, 3);
    for wave in [WaveSize::W32, WaveSize::W64] {
        let push = [n as u32, scale.to_bits()];
        let Some(after) = run("softmax.comp", wave, std::slice::from_ref(&before), &push, [rows as u32, 1, 1]) else {
            return;
        };
        for row in 0..rows {
            let scaled: Vec<f64> = before[row * n..][..n].iter().map(|x| f64::from(*x * scale)).collect();
            let most = scaled.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = scaled.iter().map(|x| (x - most).exp()).sum();
            for (i, x) in scaled.iter().enumerate() {
                let (wanted, got) = ((x - most).exp() / sum, f64::from(after[0][row * n + i]));
                assert!((got / wanted - 1.0).abs() < 1e-5, "{wave:?} {row}, {i}: {got}, not {wanted}");
            }
        }
    }
}

/// The results are identical for any order of the instructions in a block.
#[test]
fn random_orders_of_instructions_give_the_same_results() {
    use dovetail::compile::generators::BuiltInCompiler;
    use dovetail::compile::phases::{Phase, Phases};
    use dovetail::compile::request::{GeneratorKind, NativeOptions, Scheduling};

    let compiler = BuiltInCompiler::new();
    let (m, n, k) = (64, 128, 32);
    let gemm = vec![numbers(m * k, 1), numbers(k * n, 2), vec![0.0; m * n]];
    let cases = [
        ("gemm_f32.comp", gemm, vec![m as u32, n as u32, k as u32], [2, 1, 1]),
        ("softmax.comp", vec![numbers(600, 3)], vec![600, 3.0f32.to_bits()], [1, 1, 1]),
    ];
    for (name, buffers, push, grid) in &cases {
        for wave in [WaveSize::W32, WaveSize::W64] {
            let with = |native: NativeOptions| {
                let options = TuningOptions { generator: GeneratorKind::Native, native, ..TuningOptions::default() };
                run_with(options, &compiler, name, wave, buffers, push, *grid)
            };
            let Some(wanted) =
                with(NativeOptions { without: Phases::default().with(Phase::Schedule), ..NativeOptions::default() })
            else {
                return;
            };
            let bits = |all: &[Vec<f32>]| all.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
            for how in (1..=6).map(Scheduling::Random).chain([Scheduling::Cycles]) {
                let got = with(NativeOptions { schedule: how, ..NativeOptions::default() }).expect("as before");
                assert!(bits(&got) == bits(&wanted), "{name} {wave:?} {how:?}");
            }
        }
    }
}

/// Vulkan leaves the value undefined, but memory beyond the table need not exist.
#[test]
fn an_index_beyond_a_constant_table_stays_in_it() {
    let source = "#version 460\n\
        layout(local_size_x = 64) in;\n\
        layout(set = 0, binding = 0) buffer Values { uint at[64]; float table[64]; float copy[64]; float part[64]; };\n\
        const float ONES[5] = float[](1.5, 2.5, 3.5, 4.5, 5.5);\n\
        const vec3 THREES[3] = vec3[](vec3(1, 2, 3), vec3(4, 5, 6), vec3(7, 8, 9));\n\
        float of(float all[5], uint n) { return all[n]; }\n\
        void main() {\n\
            uint n = at[gl_LocalInvocationIndex];\n\
            table[gl_LocalInvocationIndex] = ONES[n];\n\
            copy[gl_LocalInvocationIndex] = of(ONES, n);\n\
            part[gl_LocalInvocationIndex] = THREES[n].y + THREES[n / 2][n % 5];\n\
        }\n";
    let Some(module) = compiled("tables", "tables.comp", source) else { return };
    let indices: Vec<u32> = (0..64).map(|n| if n < 8 { n } else { 0x9e37_79b9u32.wrapping_mul(n) }).collect();
    let values: Vec<f32> = indices.iter().map(|n| f32::from_bits(*n)).chain([0.0; 192]).collect();
    for wave in [WaveSize::W32, WaveSize::W64] {
        let compiler = ChosenCompiler::new();
        let options = TuningOptions::default();
        let after = &run_module(options, &compiler, &module, wave, std::slice::from_ref(&values), &[], [1; 3])[0];
        for (n, index) in indices.iter().enumerate() {
            let [table, copy, part] = [after[64 + n], after[128 + n], after[192 + n]];
            for value in [table, copy] {
                assert!((1..=5).any(|n| value == n as f32 + 0.5), "{wave:?}, {index:#x}: {value}");
            }
            if *index < 5 {
                assert_eq!([table, copy], [*index as f32 + 1.5; 2], "{wave:?}, {index}");
            }
            if *index < 3 {
                assert_eq!(part, (3 * index + 2 + 3 * (index / 2) + index % 5 + 1) as f32, "{wave:?}, {index}");
            }
            assert!((2.0..=17.0).contains(&part), "{wave:?}, {index:#x}: {part}");
        }
    }
}
