//! Variables without a first value that loops assign, and outputs that are not written: what is undefined at first must not
//! decide what is read later.

use crate::bindings::compiled;
use crate::everywhere::{run, storage};
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::Inputs;
use dovetail::target::Stage;

const LANES: u32 = 64;
const RESULTS: u32 = 8;

const SOURCE: &str = "#version 450
    layout(local_size_x = 64) in;
    layout(binding = 0) buffer Out { int r[]; };
    layout(binding = 1) buffer In { int counts[]; };
    void main() {
        int own = int(gl_LocalInvocationIndex), n = counts[own], to = 8 * own;
        int last, i;
        for (i = 0; i < n; i++) last = i;
        r[to] = last;
        // A row of the values of the times before.
        int a, b, c;
        for (i = 0; i < n; i++) { c = b; b = a; a = i * 3; }
        r[to + 1] = a;
        r[to + 2] = b;
        r[to + 3] = c;
        // Assigned in an inner loop, and under a condition that holds at least once.
        int inner, some;
        for (i = 0; i < n; i++) for (int k = 0; k < 3; k++) { inner = i * 10 + k; if (k == 1) some = i; }
        r[to + 4] = inner;
        r[to + 5] = some;
        // Two counters that change places.
        int x, y, t;
        i = 0;
        do { if (i == 0) { x = 7; y = own; } t = x; x = y; y = t; i++; } while (i < n);
        r[to + 6] = x;
        // Assigned only in the iteration that leaves.
        int found;
        for (i = 0; ; i++) { if (i * 2 >= n) { found = i; break; } }
        r[to + 7] = found;
    }";

fn expected(own: i32, n: i32) -> [i32; RESULTS as usize] {
    let swapped = if n % 2 == 1 { own } else { 7 };
    let some = n - 1;
    [n - 1, 3 * (n - 1), 3 * (n - 2), 3 * (n - 3), 10 * (n - 1) + 2, some, swapped, (n + 1) / 2]
}

#[test]
fn loops_give_variables_their_first_value() {
    let test = "uninitialised::loops_give_variables_their_first_value";
    let Some(module) = compiled(test, "u.comp", SOURCE) else { return };
    let counts: Vec<i32> = (0..LANES as i32).map(|own| 3 + own % 5).collect();
    let bytes = |words: &[i32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let bindings = vec![storage(0, vec![0; (4 * LANES * RESULTS) as usize]), storage(1, bytes(&counts))];
    let inputs = Inputs { bindings, grid: [1; 3], ..Default::default() };
    let expected: Vec<i32> = (0..).zip(&counts).flat_map(|(own, n)| expected(own, *n)).collect();
    for left in run(&module, &inputs).unwrap_or_else(|why| panic!("{why}")) {
        let found: Vec<i32> = left.bindings[0].as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect();
        assert_eq!(found, expected, "{} of {} lanes", left.way, left.lanes);
    }
}

#[test]
fn members_beside_one_that_is_indexed_are_not_written() {
    let test = "uninitialised::members_beside_one_that_is_indexed_are_not_written";
    let source = |name: &str| {
        format!(
            "#version 450
            layout(location = 0) in vec4 at;
            out float {name}[3];
            void main() {{ gl_Position = at; for (int i = 0; i < 3; i++) {name}[i] = at.x - float(i); }}"
        )
    };
    for (name, written, others) in [
        ("gl_CullDistance", "store_output[cull_distance", ["store_output[clip_distance", "store_output[point_size"]),
        ("gl_ClipDistance", "store_output[clip_distance", ["store_output[cull_distance", "store_output[point_size"]),
    ] {
        let Some(module) = compiled(test, &format!("{name}.vert"), &source(name)) else { return };
        let text = translate(&module, "main", Stage::Vertex, &[]).expect("a shader").to_string();
        assert_eq!(text.matches(written).count(), 3, "{text}");
        assert!(others.iter().all(|other| !text.contains(other)), "{text}");
    }
}
