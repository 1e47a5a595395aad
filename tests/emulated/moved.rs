//! Large structures that calls take and return by value: copied by loops, in scratch memory that the calls share.

use crate::bindings::compiled;
use crate::everywhere::{run, storage};
use dovetail::emu::inputs::Inputs;

const LANES: usize = 64;
const WORDS: u32 = 512;

/// Calls of two functions that change a structure: one loads it, one has several returns.
fn source(calls: u32) -> String {
    let call = |n: u32| match n % 5 {
        4 => format!("s = other(s, s.v[({n}u + i) & 511u]);\n"),
        _ => format!("s = change(s, s.v[({n}u + i) & 511u]);\n"),
    };
    let calls: String = (0..calls).map(call).collect();
    format!(
        "#version 450
        layout(local_size_x = {LANES}) in;
        layout(binding = 0) buffer Out {{ uint left[]; }};
        struct S {{ uint v[{WORDS}]; }};
        S change(S s, uint k) {{ s.v[k & 511u] += k; return s; }}
        S other(S s, uint k) {{ S t = s; if ((k & 1u) == 0u) return t; t.v[(k + 1u) & 511u] ^= k; s = t; return s; }}
        void main() {{
            uint i = gl_LocalInvocationIndex;
            S s;
            for (uint k = 0u; k < {WORDS}u; k++) s.v[k] = k ^ i;
            S before = s;
            {calls}
            uint sum = 0u;
            for (uint k = 0u; k < {WORDS}u; k++) sum = sum * 5u + s.v[k] + 3u * before.v[k];
            left[i] = sum;
        }}"
    )
}

fn expected(calls: u32, i: u32) -> u32 {
    let mut s: Vec<u32> = (0..WORDS).map(|k| k ^ i).collect();
    let before = s.clone();
    for n in 0..calls {
        let k = s[((n + i) & 511) as usize];
        match n % 5 {
            4 if k & 1 == 1 => s[(k.wrapping_add(1) & 511) as usize] ^= k,
            4 => {}
            _ => s[(k & 511) as usize] = s[(k & 511) as usize].wrapping_add(k),
        }
    }
    let step =
        |sum: u32, (s, before): (&u32, &u32)| sum.wrapping_mul(5).wrapping_add(*s).wrapping_add(before.wrapping_mul(3));
    s.iter().zip(&before).fold(0, step)
}

#[test]
fn structures_go_by_value_through_many_calls() {
    let test = "moved::structures_go_by_value_through_many_calls";
    let Some(module) = compiled(test, "m.comp", &source(24)) else { return };
    let inputs = Inputs { bindings: vec![storage(0, vec![0; 4 * LANES])], grid: [1; 3], ..Default::default() };
    let expected: Vec<u32> = (0..LANES as u32).map(|i| expected(24, i)).collect();
    for left in run(&module, &inputs).unwrap_or_else(|why| panic!("{why}")) {
        let found: Vec<u32> = left.bindings[0].as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        assert_eq!(found, expected, "{} of {} lanes", left.way, left.lanes);
    }
}
