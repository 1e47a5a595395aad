//! AMD's instruction sets on GLSL, by the interpreter, with results derived by hand from the extensions' texts.

use crate::glsl::glsl;
use crate::invocation::{run_lanes, shader};
use dovetail::ir::{Op, Scope};
use dovetail::target::Stage;

/// Runs a compute shader with an input buffer at binding 0 and an output of `n` words at 1; the output, and how many of
/// its values are not defined.
fn lanes(test: &str, source: &str, input: &[u32], n: usize, size: u32) -> Option<(Vec<u32>, usize)> {
    let ir = shader(&glsl(test, Stage::Compute, source)?, Stage::Compute, &[]);
    Some(run_lanes(&ir, &[(0, input.to_vec()), (1, vec![0; n])], size))
}

#[test]
fn directions_hit_faces_of_a_cube() {
    let source = "#version 450
        #extension GL_AMD_gcn_shader : require
        layout(local_size_x = 10) in;
        layout(binding = 0) buffer I { float i[]; };
        layout(binding = 1) buffer O { float o[]; };
        void main() {
            uint n = gl_LocalInvocationIndex;
            vec3 d = vec3(i[3u * n], i[3u * n + 1u], i[3u * n + 2u]);
            o[3u * n] = cubeFaceIndexAMD(d);
            vec2 place = cubeFaceCoordAMD(d);
            o[3u * n + 1u] = place.x;
            o[3u * n + 2u] = place.y;
        }";
    // Direction, face, and sc / 2 |ma| + 1/2 and tc / 2 |ma| + 1/2 by the table of Vulkan's cube faces. Where two axes are
    // equal, z is the major one before y, and y before x.
    let cases: [([f32; 3], [f32; 3]); 10] = [
        ([1.0, 0.5, 0.25], [0.0, 0.375, 0.25]),
        ([-2.0, 1.0, 0.5], [1.0, 0.625, 0.25]),
        ([0.5, 2.0, 1.0], [2.0, 0.625, 0.75]),
        ([0.5, -2.0, 1.0], [3.0, 0.625, 0.25]),
        ([0.5, 1.0, 2.0], [4.0, 0.625, 0.25]),
        ([0.5, 1.0, -2.0], [5.0, 0.375, 0.25]),
        ([1.0, 1.0, 1.0], [4.0, 1.0, 0.0]),
        ([-1.0, -1.0, 0.0], [3.0, 0.0, 0.5]),
        ([1.0, -1.0, -1.0], [5.0, 0.0, 1.0]),
        ([0.0, 0.0, -0.0], [4.0, f32::NAN, f32::NAN]),
    ];
    let input: Vec<u32> = cases.iter().flat_map(|(d, _)| d.map(f32::to_bits)).collect();
    let Some((got, _)) = lanes("directions_hit_faces_of_a_cube", source, &input, 30, 32) else { return };
    for ((direction, want), got) in cases.iter().zip(got.chunks(3)) {
        let same = want.iter().zip(got).all(|(want, got)| {
            let got = f32::from_bits(*got);
            got == *want || got.is_nan() && want.is_nan()
        });
        assert!(same, "{direction:?}: {:?}, not {want:?}", got.iter().map(|b| f32::from_bits(*b)).collect::<Vec<_>>());
    }
}

#[test]
fn the_time_is_that_of_the_compute_unit() {
    let source = "#version 450
        #extension GL_AMD_gcn_shader : require
        #extension GL_ARB_gpu_shader_int64 : require
        layout(binding = 0) buffer O { uint64_t o; };
        void main() { o = timeAMD(); }";
    let Some(module) = glsl("the_time_is_that_of_the_compute_unit", Stage::Compute, source) else { return };
    let ir = shader(&module, Stage::Compute, &[]);
    assert_eq!(ir.insts.iter().filter(|i| i.op == Op::ReadClock(Scope::Subgroup)).count(), 1);
}

/// Every fourth lane, from the second on, is not active.
fn is_active(lane: u32) -> bool {
    lane % 4 != 1
}

#[test]
fn lanes_are_read_by_patterns_and_inactive_ones_give_zero() {
    let source = "#version 450
        #extension GL_AMD_shader_ballot : require
        #extension GL_ARB_gpu_shader_int64 : require
        layout(local_size_x = 64) in;
        layout(binding = 0) buffer I { uint i[]; };
        layout(binding = 1) buffer O { uint o[]; };
        void main() {
            uint n = gl_LocalInvocationIndex;
            if (n % 4u == 1u) return;
            uint x = i[n];
            o[5u * n] = swizzleInvocationsAMD(x, uvec4(1, 2, 3, 0));
            o[5u * n + 1u] = swizzleInvocationsAMD(uvec2(1, x), uvec4(2, 0, 2, 0)).y;
            o[5u * n + 2u] = swizzleInvocationsMaskedAMD(x, uvec3(15, 16, 5));
            o[5u * n + 3u] = writeInvocationAMD(x, 7u, 6u);
            o[5u * n + 4u] = mbcntAMD(0xf0f0f0f00f0f0f0ful);
        }";
    let input: Vec<u32> = (100..164).collect();
    for size in [32, 64] {
        let test = "lanes_are_read_by_patterns_and_inactive_ones_give_zero";
        let Some((got, undefined)) = lanes(test, source, &input, 320, size) else { return };
        assert_eq!(undefined, 0, "a lane that is not active gives zero, not anything");
        for n in (0..64).filter(|n| is_active(*n)) {
            let lane = n % size;
            let quad = n - n % 4;
            let read = |from: u32| if is_active(from) { 100 + from } else { 0 };
            let next = read(quad + [1, 2, 3, 0][n as usize % 4]);
            let even = read(quad + [2, 0, 2, 0][n as usize % 4]);
            // The and of 15 in the same 32 lanes, the or of 16, which is not set then, and the exclusive or.
            let masked = read(n - n % 32 + ((n % 16 + 16) ^ 5));
            let written = if lane == 6 { 7 } else { 100 + n };
            let below = (0xf0f0_f0f0_0f0f_0f0f_u64 & ((1 << lane) - 1)).count_ones();
            let at = 5 * n as usize;
            assert_eq!(got[at..at + 5], [next, even, masked, written, below], "lane {n} of subgroups of {size}");
        }
        // The first by hand: lanes 1 and 21 are not active, and lane 2 is.
        assert_eq!(got[..5], [0, 102, 0, 100, 0]);
        // Lane 3: lane 0, lane 0, lane 22, itself, and three lanes of the mask below.
        assert_eq!(got[15..20], [100, 100, 122, 103, 3]);
    }
}
