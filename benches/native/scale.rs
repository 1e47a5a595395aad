//! Whether compile time is linear in the size of a shader: the same piece of code 10, 100 and 1000 times in sequence.

use crate::alloc::allocations;
use crate::support::{self, Input, cpu};
use dovetail::compile::Compiler;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::GeneratorKind;
use dovetail::corpus::spec::SpecFile;
use dovetail::target::Stage;
use std::hint::black_box;

/// Numbers of copies.
const SIZES: [usize; 3] = [10, 100, 1000];
/// Limit of the time per copy, relative to ten times fewer copies. Generous, because other processes may use the
/// caches.
const MOST: f64 = 2.5;

/// From this many copies on the shader is so large that its tables are freed after each phase, and the limit of its
/// allocations per copy.
const LARGE: usize = 1000;
const FREED: f64 = 20.0;

/// Each copy has arithmetic, memory, a divergent branch and a merged value, with different constants.
fn text(copies: usize) -> String {
    let mut out = "#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { float data[]; };
void main() {
    uint at = gl_GlobalInvocationID.x;
    float sum = 0.0;
"
    .to_owned();
    for n in 0..copies {
        out += &format!(
            "    {{ float x = data[at + {n}u]; if (x > {n}.5) x = sqrt(x) * sum + {n}.25; else sum += x; sum = fma(x, sum, {n}.0); }}\n"
        );
    }
    out + "    data[at] = sum;\n}\n"
}

/// Prints CPU time and allocations per copy at each size. Does nothing without glslangValidator.
pub fn print(runs: usize) {
    let compiler = BuiltInCompiler::new();
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut rows: Vec<(usize, f64, f64)> = Vec::new();
    println!("\n| copies of a piece | CPU µs a copy | allocations a copy |\n| ---: | ---: | ---: |");
    for copies in SIZES {
        let file = dir.path().join("scale.comp");
        std::fs::write(&file, text(copies)).expect("a temporary file");
        let Some(bytes) = support::glsl(&file) else { return };
        let mut input = Input::new("scale", bytes, Stage::Compute, &SpecFile::default()).expect("a compute shader");
        input.request.options.generator = GeneratorKind::Native;
        let compile = || black_box(compiler.compile(&input.module, &input.request)).expect("it is supported");
        compile();
        let times = (0..runs).map(|_| {
            let start = cpu();
            compile();
            cpu() - start
        });
        let least = times.min().unwrap_or_default().as_secs_f64() * 1e6 / copies as f64;
        let (asked, _) = allocations(compile);
        let asked = asked as f64 / copies as f64;
        println!("| {copies} | {least:.2} | {asked:.2} |");
        rows.push((copies, least, asked));
    }
    for pair in rows.windows(2) {
        let [(_, time, asked), (copies, more_time, more_asked)] = [pair[0], pair[1]];
        assert!(more_time <= MOST * time, "a copy takes {time:.2} µs, and {more_time:.2} µs among ten times as many");
        let most = if copies < LARGE { 1.5 * asked } else { FREED };
        assert!(more_asked <= most, "a copy makes {asked:.2} allocations, {more_asked:.2} among ten times as many");
    }
}
