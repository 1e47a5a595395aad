//! The SPIR-V front end on variables: a load of what is known gives the value itself, and only then.

use crate::glsl::glsl;
use crate::invocation::run::{World, run};
use crate::invocation::{shader, words};
use dovetail::ir::{Op, Shader};
use dovetail::target::Stage;

/// The shader of a body that reads `i[]` and writes `o[]`, and its eight words for eight inputs.
fn translated(test: &str, functions: &str, body: &str, input: [u32; 8]) -> Option<(Shader, Vec<u32>)> {
    let source = format!(
        "#version 450
        layout(binding=0) buffer O {{ uint o[8]; }};
        layout(binding=1) buffer I {{ uint i[8]; }};
        {functions}
        void main() {{ {body} }}"
    );
    let shader = shader(&glsl(test, Stage::Compute, &source)?, Stage::Compute, &[]);
    let mut world = World { buffers: vec![vec![0; 32], words(&input)], ..World::default() };
    run(&shader, &mut world);
    let out = world.buffers[0].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Some((shader, out))
}

fn loads(shader: &Shader) -> usize {
    shader.live_insts().filter(|inst| matches!(inst.op, Op::LocalLoad { .. })).count()
}

#[test]
fn what_a_path_has_stored_is_not_loaded() {
    let functions = "struct S { uint a; uvec3 b; bool c; };
        uint twice(uint x) { uint y = x; y += x; return y; }";
    // Parts of a structure, parts of a vector, a copy, calls, and paths that branch and do not store.
    let body = "S s; s.a = i[0]; s.b = uvec3(i[1], i[2], 0); s.c = i[3] == 4; s.b.z = s.a + s.b.x;
        S t = s; uint n = twice(t.b.z);
        if (t.c) { o[0] = n; uint m = s.a; if (i[4] == 5) { o[1] = m + n; } else { o[2] = m; } } else { o[3] = t.b.y; }
        o[4] = s.a + t.b.x; uvec4 v = uvec4(n); v.y = 7; v.wz = v.xy; o[5] = v.z; o[6] = v.w;";
    let Some((shader, out)) = translated("what_a_path_has_stored", functions, body, [1, 2, 3, 4, 5, 6, 7, 8]) else {
        return;
    };
    assert_eq!(out, [6, 7, 0, 0, 3, 7, 6, 0]);
    assert_eq!(loads(&shader), 0, "{shader}");
}

#[test]
fn what_another_path_may_have_stored_is_loaded() {
    let functions = "uint after(inout uint x, uint by) { if (x > by) { x = 2 * x; return 1; } x += 1; return 2; }
        void count(inout uint a[4], uint n) { for (uint k = 0; k < n; k++) { a[k] += k; } }";
    let body = "uint x = i[0], y = x, z = x;
        if (i[1] > 1) x = 20;
        o[0] = x;
        for (uint k = 0; k < i[2]; k++) { o[1] += y; y = y + 1; if (y == 4) z = y; }
        o[2] = y; o[3] = z;
        uint n = after(x, i[3]); o[4] = 100 * n + x;
        uint a[4] = uint[](i[0], i[1], i[2], i[3]); count(a, i[0]); a[i[1]] = 9; o[5] = a[0] + a[1] * 10 + a[2] * 100;
        uint w = 5; while (true) { w += i[0]; if (w > i[6]) break; w *= 2; } o[6] = w;
        switch (i[4]) { case 5: w = 1; case 6: w += 1; default: w += 10; } o[7] = w;";
    let input = [3, 2, 4, 19, 5, 6, 40, 8];
    let Some((shader, out)) = translated("what_another_path_may_have_stored", functions, body, input) else { return };
    // y is 3, 4, 5 and 6; a is 3, 2, 4, 19, then 3, 3, 6, 19, then 3, 3, 9; w is 8, 16, 19, 38, 41, then 12.
    assert_eq!(out, [20, 18, 7, 4, 140, 933, 41, 12]);
    assert!(loads(&shader) > 0);
}
