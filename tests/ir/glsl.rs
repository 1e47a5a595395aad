//! The SPIR-V front end on GLSL: one invocation of the IR is run, and memory and outputs are compared.

use crate::invocation::run::{World, run};
use crate::invocation::{shader, words};
use crate::support;
use dovetail::compile::request::Module;
use dovetail::compile::spirv::reflect;
use dovetail::ir::{Merge, NumericKind, Op, OutputSlot};
use dovetail::target::Stage;
use std::path::Path;

/// Compiles GLSL to SPIR-V with glslang; `None` if that is missing.
pub fn glsl(test: &str, stage: Stage, source: &str) -> Option<Module> {
    let tool = support::tool(test, "glslangValidator")?;
    let extension = match stage {
        Stage::Vertex => "vert",
        Stage::Fragment => "frag",
        Stage::Compute => "comp",
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join(format!("a.{extension}")), folder.path().join("a.spv"));
    std::fs::write(&from, source).expect("a file");
    let path = |p: &Path| p.to_str().expect("a path").to_owned();
    tool.run(&["-V", "--target-env", "vulkan1.3", "-o", &path(&to), &path(&from)], b"");
    Some(Module::new(std::fs::read(&to).expect("SPIR-V")).expect("a module"))
}

fn floats(floats: &[f32]) -> Vec<u8> {
    words(&floats.iter().map(|f| f.to_bits()).collect::<Vec<_>>())
}

/// Runs a compute shader with an output buffer at binding 0 of `n` words and an input buffer at binding 1.
fn compute(test: &str, source: &str, input: Vec<u8>, n: usize, spec: &[(u32, u64)]) -> Option<Vec<u32>> {
    let module = glsl(test, Stage::Compute, source)?;
    let mut world = World { buffers: vec![vec![0; 4 * n], input], ..World::default() };
    run(&shader(&module, Stage::Compute, spec), &mut world);
    let words = world.buffers[0].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    Some(words.collect())
}

fn as_floats(words: Vec<u32>) -> Vec<f32> {
    words.into_iter().map(f32::from_bits).collect()
}

#[test]
fn loops_switches_and_calls() {
    let source = "#version 450
        layout(binding=0) buffer O { int o[]; };
        layout(binding=1) buffer I { int i[]; };
        int classify(int x) {
            switch (x) {
            case 0: return 100;
            case 1: x += 10;
            case 2: x += 20; break;
            case -5: return -1;
            default: if (x > 50) return 7;
            }
            return x;
        }
        int sum(int n, inout int rounds) {
            int s = 0;
            for (int k = 0; k < n; k++) {
                if (k == 2) continue;
                for (int j = 0; ; j++) {
                    rounds++;
                    if (j >= k) break;
                    s += j;
                }
                if (s > 40) return -s;
            }
            return s;
        }
        void main() {
            for (int k = 0; k < 6; k++) o[k] = classify(i[k]);
            int rounds = 0;
            o[6] = sum(i[6], rounds);
            o[7] = rounds;
            o[8] = sum(i[7], rounds);
            do { rounds -= 3; } while (rounds > 0);
            o[9] = rounds;
            o[10] = o.length();
        }";
    let input: [i32; 8] = [0, 1, 2, -5, 60, 9, 5, 100];
    let input = words(&input.map(|x| x as u32));
    let Some(got) = compute("loops_switches_and_calls", source, input, 16, &[]) else { return };
    // sum(5): k = 0, 1, 3, 4 with j up to k: 1 + 2 + 4 + 5 rounds, 0 + 0 + 3 + 6 in all.
    // sum(100): on with k = 5, 6, 7: 12 + 12 + 6 + 7 + 8 = 45 rounds, a sum of 9 + 10 + 15 + 21 = 55, over 40.
    let want = [100, 31, 22, -1, 7, 9, 9, 12, -55, 0, 16].map(|x: i32| x as u32);
    assert_eq!(got[..11], want);
}

#[test]
fn layouts_of_structs_arrays_and_matrices() {
    let source = "#version 450
        #extension GL_EXT_scalar_block_layout : require
        struct S { vec3 a; float b; mat2x3 m; bool t; vec2 v[2]; };
        layout(std430, binding=0) buffer O { float o[]; };
        layout(std140, binding=1) uniform I { float pad; layout(row_major) mat3 r; S s[2]; };
        S pass(S x) { x.b += 1.0; return x; }
        void main() {
            o[0] = r[1][2];
            vec3 column = r[2];
            o[1] = column.x; o[2] = column.y;
            S copy = pass(s[1]);
            o[3] = copy.a.z; o[4] = copy.b; o[5] = copy.m[1].y; o[6] = copy.t ? 1.0 : 0.0; o[7] = copy.v[1].x;
            S all[2] = s;
            int k = int(pad);
            o[8] = all[k].m[k].z;
            all[k].v[k] = vec2(5.0, 6.0);
            o[9] = all[1].v[1].y;
            mat3 t = transpose(r);
            o[10] = t[2][1];
            o[11] = r[k][k + 1];
        }";
    // std140: pad at 0, r at 16 with rows of 16 bytes, s at 64 with elements of 96: a 0, b 12, m 16 and 32, t 48, v 64 and 80.
    let mut input = [0f32; 64];
    input[0] = 1.0;
    for row in 0..3 {
        for column in 0..3 {
            input[4 + 4 * row + column] = (10 * row + column) as f32;
        }
    }
    for n in 0..2 {
        let s = 16 + 24 * n;
        let base = 100.0 * (n + 1) as f32;
        for k in 0..24 {
            input[s + k] = base + k as f32;
        }
        input[s + 12] = f32::from_bits(1);
    }
    let Some(got) = compute("layouts_of_structs_arrays_and_matrices", source, floats(&input), 12, &[]) else { return };
    assert_eq!(as_floats(got), [21.0, 2.0, 12.0, 202.0, 204.0, 209.0, 1.0, 220.0, 210.0, 6.0, 21.0, 21.0]);
}

#[test]
fn integers_of_all_widths() {
    let source = "#version 450
        #extension GL_EXT_shader_explicit_arithmetic_types : require
        layout(binding=0) buffer O { uint o[]; };
        layout(binding=1) buffer I { uint x; int y; uint8_t b[4]; uint16_t h[2]; uint64_t w; };
        void main() {
            o[0] = bitfieldInsert(x, 0x5u, 4, 8);
            o[1] = bitfieldExtract(x, 8, 12);
            o[2] = uint(bitfieldExtract(y, 0, 4));
            o[3] = bitCount(x) + bitfieldReverse(x);
            uint carry; o[4] = uaddCarry(x, 0xf0000000u, carry); o[5] = carry;
            uint hi, lo; umulExtended(x, x, hi, lo); o[6] = hi; o[7] = lo;
            o[8] = uint(y % 7); o[9] = uint(y / 7); o[10] = uint(y >> 2); o[11] = x >> 3;
            o[12] = uint(b[1] + b[2]); o[13] = uint(int8_t(b[3]));
            h[1] = h[0] + h[1]; o[14] = uint(h[1]);
            w = (w << 36) | uint64_t(x); o[15] = uint(w >> 32); o[16] = uint(w);
            b[0] = uint8_t(300);  o[17] = uint(b[0]);
            u8vec4 all = u8vec4(b[0], b[1], b[2], b[3]); o[18] = uint(all.w);
            o[19] = x < 5u || y < 0 ? 1u : 0u;
            o[20] = uint(all.x == b[0]);
        }";
    let mut input = words(&[0x1234_5678, -20i32 as u32]);
    input.extend([1, 200, 100, 0xff]);
    input.extend(words(&[0x0002_fffe, 0x9abc_def0, 0xffff_ffff]));
    // The 64-bit member is at offset 16.
    let low = input.split_off(16);
    input.extend(low);
    let Some(got) = compute("integers_of_all_widths", source, input, 21, &[]) else { return };
    let x = 0x1234_5678u32;
    let square = u64::from(x) * u64::from(x);
    let want = [
        0x1234_5058,
        0x456,
        -4i32 as u32,
        x.count_ones().wrapping_add(x.reverse_bits()),
        x.wrapping_add(0xf000_0000),
        1,
        (square >> 32) as u32,
        square as u32,
        got[8], // of a negative number: undefined in GLSL
        -2i32 as u32,
        -5i32 as u32,
        x >> 3,
        44,
        u32::MAX,
        0,
        got[15], // below
        x,
        44,
        255,
        1,
        1,
    ];
    let wide = (0x9abc_def0u64 | 0xffff_ffff << 32) << 36 | u64::from(x);
    assert_eq!(got[15], (wide >> 32) as u32);
    assert_eq!(got, want);
}

#[test]
fn matrices_and_dynamic_indices() {
    let source = "#version 450
        layout(binding=0) buffer O { float o[]; };
        layout(binding=1) buffer I { int k; float f[15]; };
        const float table[4] = float[](0.5, 1.5, 2.5, 3.5);
        shared vec3 group[4];
        void main() {
            mat2x3 m = mat2x3(1, 2, 3, 4, 5, 6);
            vec3 mv = m * vec2(f[0], f[1]);
            vec2 vm = vec3(1, 10, 100) * m;
            mat2 mm = transpose(m) * m;
            mat3x2 outer = outerProduct(vec2(2, 3), vec3(5, 7, 11));
            o[0] = mv.x; o[1] = mv.z; o[2] = vm.x; o[3] = vm.y; o[4] = mm[0][1]; o[5] = mm[1][1];
            o[6] = outer[2][1]; o[7] = outer[0][0];
            vec4 v = vec4(1, 2, 3, 4);
            v[k] = 9.0;
            o[8] = v[k - 1] + v[k];
            o[9] = table[k + 1];
            group[k] = vec3(f[2]); group[k].y += 1.0;
            o[10] = group[2].y; o[11] = group[k].z;
            m[k - 1][k] = -1.0;
            o[12] = dot(m[1], vec3(1, 1, 1));
            bvec3 less = lessThan(vec3(1, 5, 3), vec3(2));
            o[13] = any(less) && !all(less) ? 1.0 : 0.0;
            vec3 mixed = mix(vec3(1), vec3(2), less);
            o[14] = mixed.x * 10.0 + mixed.y;
            o[15] = v.wzyx[k] + mod(-7.0, 3.0);
        }";
    let mut input = words(&[2]);
    input.extend(floats(&[3.0, 4.0, 8.0]));
    input.resize(64, 0);
    let Some(got) = compute("matrices_and_dynamic_indices", source, input, 16, &[]) else { return };
    assert_eq!(
        as_floats(got),
        [19.0, 33.0, 321.0, 654.0, 32.0, 77.0, 33.0, 10.0, 11.0, 3.5, 9.0, 8.0, 8.0, 1.0, 21.0, 2.0 + 2.0]
    );
}

#[test]
fn specialization_constants_shape_code_and_are_recorded_only_where_used() {
    let source = "#version 450
        layout(local_size_x_id=1, local_size_y=2) in;
        layout(constant_id=2) const int n = 3;
        layout(constant_id=5) const bool flag = true;
        layout(constant_id=7) const float unused = 1.0;
        const int twice = n * 2 + (flag ? 1 : 0);
        layout(binding=0) buffer O { uint o[]; };
        layout(binding=1) buffer I { uint i[]; };
        void main() {
            int a[twice];
            for (int k = 0; k < twice; k++) a[k] = k * k;
            o[0] = uint(a[i[0]]);
            o[1] = uint(a.length());
            o[2] = gl_WorkGroupSize.x;
            o[3] = gl_GlobalInvocationID.x + 1000 * gl_GlobalInvocationID.y;
        }";
    let name = "specialization_constants_shape_code_and_are_recorded_only_where_used";
    let Some(got) = compute(name, source, words(&[6]), 4, &[]) else { return };
    // Workgroup 2, invocation (1, 2).
    assert_eq!(got, [36, 7, 1, 2 + 1 + 1000 * (2 * 2 + 2)]);
    let spec = [(1, 8), (2, 10), (5, 0), (7, 0), (99, 1)];
    let got = compute(name, source, words(&[6]), 4, &spec).expect("as before");
    assert_eq!(got, [36, 20, 8, 2 * 8 + 1 + 1000 * (2 * 2 + 2)]);

    let module = glsl(name, Stage::Compute, source).expect("as before");
    let s = shader(&module, Stage::Compute, &spec);
    assert_eq!(s.modes.local_size, [8, 2, 1]);
    assert_eq!(s.modes.spec.iter().map(|v| (v.id, v.value)).collect::<Vec<_>>(), [(1, 8), (2, 10), (5, 0)]);
    let info = reflect(&module).expect("a module");
    let constants: Vec<_> = info.spec_constants.iter().map(|c| (c.id, c.default, c.bits)).collect();
    assert_eq!(constants, [(1, 1, 32), (2, 3, 32), (5, 1, 1), (7, 0x3f80_0000, 32)]);
    assert_eq!(info.entry_points[0].stage, Some(Stage::Compute));
}

#[test]
fn vertex_outputs_are_what_some_store_reaches() {
    let source = "#version 450
        layout(location=0) in vec3 position;
        layout(location=1) in mat2 m;
        layout(location=3) in ivec2 which[2];
        layout(location=0) out vec4 color;
        layout(location=2, component=1) out vec2 part;
        layout(location=4) out Block { vec2 a; float b[2]; } block;
        layout(location=8) out float never;
        void main() {
            gl_Position = vec4(position, 1.0);
            color.xz = m * position.xy;
            part = vec2(gl_VertexIndex);
            block.b[which[position.x > 0.0 ? 1 : 0].y] = 3.0;
        }";
    let Some(module) = glsl("vertex_outputs_are_what_some_store_reaches", Stage::Vertex, source) else { return };
    let s = shader(&module, Stage::Vertex, &[]);
    let f = f32::to_bits;
    let mut inputs = vec![0; 20];
    inputs[..3].copy_from_slice(&[f(1.0), f(2.0), f(3.0)]);
    inputs[4..6].copy_from_slice(&[f(10.0), f(20.0)]);
    inputs[8..10].copy_from_slice(&[f(30.0), f(40.0)]);
    inputs[17] = 1;
    let mut world = World { inputs, ..World::default() };
    run(&s, &mut world);
    let at = |location, component| OutputSlot::Location { location, component, index: 0 };
    let got = |slot| {
        let found = world.outputs.iter().find(|o| o.0 == slot).unwrap_or_else(|| panic!("no {slot:?}"));
        (found.1, f32::from_bits(found.2 as u32))
    };
    use NumericKind::Float;
    assert_eq!(got(OutputSlot::Position(1)), (Float, 2.0));
    assert_eq!(got(OutputSlot::Position(3)), (Float, 1.0));
    assert_eq!(got(at(0, 0)), (Float, 70.0));
    assert_eq!(got(at(0, 2)), (Float, 100.0));
    assert_eq!(got(at(2, 1)), (Float, 7.0));
    assert_eq!(got(at(2, 2)), (Float, 7.0));
    assert_eq!(got(at(6, 0)), (Float, 3.0));
    let slots: Vec<OutputSlot> = world.outputs.iter().map(|o| o.0).collect();
    for absent in [at(0, 1), at(0, 3), at(8, 0), OutputSlot::PointSize] {
        assert!(!slots.contains(&absent), "{absent:?} is written by nothing");
    }
}

#[test]
fn discard_demotes_and_leaves_by_the_one_exit() {
    let source = "#version 450
        layout(location=0) flat in int n;
        layout(location=0) out vec4 color;
        layout(location=1) out uint id;
        void check(int x) { if (x == 3) discard; }
        void main() {
            color = vec4(0.25);
            for (int i = 0; i < n; i++) check(i);
            id = 5u;
        }";
    let Some(module) = glsl("discard_demotes_and_leaves_by_the_one_exit", Stage::Fragment, source) else { return };
    let s = shader(&module, Stage::Fragment, &[]);
    for (n, demoted) in [(3, false), (4, true)] {
        let mut world = World { inputs: vec![n], ..World::default() };
        run(&s, &mut world);
        assert_eq!(world.demoted, demoted, "{n} rounds");
        let slot = OutputSlot::Location { location: 1, component: 0, index: 0 };
        assert!(world.outputs.iter().any(|o| (o.0, o.1) == (slot, NumericKind::Uint)));
    }
    assert!(s.blocks.iter().any(|b| matches!(b.merge, Merge::Loop { .. })), "the loop keeps its structure");
}

#[test]
fn addresses_lead_through_physical_memory() {
    let source = "#version 450
        #extension GL_EXT_buffer_reference2 : require
        #extension GL_EXT_scalar_block_layout : require
        layout(buffer_reference) buffer Node;
        layout(buffer_reference, scalar, buffer_reference_align=8) buffer Node { uint value; Node next; vec3 v; };
        layout(buffer_reference, std430) buffer Words { uint w[]; };
        layout(binding=0) buffer O { uint o[]; };
        layout(binding=1) buffer I { Node first; Words words; };
        void main() {
            Node n = first;
            uint sum = 0;
            while (n.value != 0) { sum += n.value; n = n.next; }
            o[0] = sum;
            o[1] = uint(n.v.z);
            Words w = words;
            w.w[sum & 3] = 77;
            o[2] = w.w[1];
            Node second = first + 1;
            o[3] = second.value;
            second.v.yz = vec2(0.0);
        }";
    let Some(module) = glsl("addresses_lead_through_physical_memory", Stage::Compute, source) else { return };
    let node = |value: u32, next: u32, z: f32| words(&[value, 0, 32 * next, 2, 0, 0, z.to_bits(), 0]);
    let nodes = [node(5, 2, 1.0), node(0, 0, 9.0), node(6, 1, 2.0)].concat();
    let buffers = vec![vec![0; 16], words(&[0, 2, 0, 3]), nodes, words(&[1, 2, 3, 4])];
    let mut world = World { buffers, ..World::default() };
    run(&shader(&module, Stage::Compute, &[]), &mut world);
    assert_eq!(world.buffers[0], words(&[11, 9, 2, 0]));
    assert_eq!(world.buffers[3], words(&[1, 2, 3, 77]));
    assert_eq!(world.buffers[2][32..], [node(0, 0, 0.0), node(6, 1, 2.0)].concat());
}

#[test]
fn arrays_of_bindings_choose_a_descriptor() {
    let source = "#version 450
        #extension GL_EXT_nonuniform_qualifier : require
        layout(binding=0) buffer O { uint o[]; };
        layout(binding=1) readonly buffer I { uint x; } i;
        layout(binding=2) buffer A { uint x; uint y[]; } a[2][2];
        void main() {
            o[0] = a[1][0].x;
            o[1] = a[i.x][1].y[i.x];
            o[2] = a[1][nonuniformEXT(i.x)].y.length();
        }";
    let Some(module) = glsl("arrays_of_bindings_choose_a_descriptor", Stage::Compute, source) else { return };
    let s = shader(&module, Stage::Compute, &[]);
    let array = |n: u32| words(&(0..4 + n).map(|k| 10 * n + k).collect::<Vec<_>>());
    let buffers = vec![vec![0; 12], words(&[1]), array(0), array(1), array(2), array(3)];
    let mut world = World { buffers, ..World::default() };
    run(&s, &mut world);
    assert_eq!(world.buffers[0], words(&[20, 32, 6]));
    let a = s.resources.iter().find(|r| r.binding == 2).expect("the array");
    assert_eq!((a.count, a.written), (Some(4), false));
    let written: Vec<u32> = s.resources.iter().filter(|r| r.written).map(|r| r.binding).collect();
    assert_eq!(written, [0]);
    let non_uniform = |op: &Op| matches!(op, Op::Descriptor { non_uniform: true, .. });
    assert_eq!(s.insts.iter().filter(|i| non_uniform(&i.op)).count(), 1);
    // The output may alias the same memory.
    assert!(!s.insts.iter().any(|i| matches!(i.op, Op::BufferLoad { access, .. } if access.read_only)));
}
