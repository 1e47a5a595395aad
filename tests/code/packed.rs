//! Which GLSL on vectors of 16 bits becomes which vector instructions.
//!
//! Each row is a statement of a compute shader that loads `x`, `y` and `z` and stores `r`, and the instructions on 16 bits
//! that it needs, with the fields that select halves and change signs. Registers are not compared.

use crate::chosen::ChosenCompiler;
use crate::support::glsl;
use dovetail::check::estimate;
use dovetail::compile::Compiler;
use dovetail::compile::request::{GeneratorKind, Module, StageRequest, TuningOptions};
use dovetail::isa::Isa;
use dovetail::target::{Gpu, Stage, WaveSize};
use std::io::Write;

/// Type of the vectors, statement, instructions.
const TABLE: &[(&str, &str, &[&str])] = &[
    ("f16vec2", "r = x + y", &["v_pk_add_f16"]),
    ("f16vec2", "r = x - y", &["v_pk_add_f16 neg_lo:[0,1] neg_hi:[0,1]"]),
    ("f16vec2", "r = x * y.yx", &["v_pk_mul_f16 op_sel:[0,1] op_sel_hi:[1,0]"]),
    ("f16vec2", "r = x * y.yy", &["v_pk_mul_f16 op_sel:[0,1]"]),
    ("f16vec2", "r = x * 2.0hf", &["v_pk_mul_f16 op_sel_hi:[1,0]"]),
    ("f16vec2", "r = x * f16vec2(3.0hf, 5.0hf)", &["v_pk_mul_f16"]),
    ("f16vec2", "r = fma(x, y, -z)", &["v_pk_fma_f16 neg_lo:[0,0,1] neg_hi:[0,0,1]"]),
    ("f16vec2", "r = fma(x, f16vec2(-y.y, y.x), z)", &["v_pk_fma_f16 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[0,1,0]"]),
    ("f16vec2", "r = min(x, y)", &["v_pk_min_f16"]),
    ("f16vec2", "r = max(x, y)", &["v_pk_max_f16"]),
    ("f16vec2", "r = clamp(x + y, 0.0hf, 1.0hf)", &["v_pk_add_f16 clamp"]),
    ("f16vec4", "r = x + y", &["v_pk_add_f16", "v_pk_add_f16"]),
    ("f16vec3", "r = x + y", &["v_pk_add_f16", "v_add_f16"]),
    ("f16vec2", "r = abs(x)", &["v_and_b32"]),
    ("f16vec2", "r = -x", &["v_xor_b32"]),
    ("f16vec2", "r = x.x < 0.0hf ? y : z", &["v_cmp_gt_f16", "v_cndmask_b32"]),
    (
        "f16vec2",
        "r = floor(x)",
        &["v_floor_f16", "v_floor_f16_sdwa dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1"],
    ),
    ("f16vec2", "r = f16vec2(x.y + y.x)", &["v_add_f16_sdwa src0_sel:WORD_1", "v_perm_b32"]),
    ("i16vec2", "r = x + y", &["v_pk_add_u16"]),
    ("i16vec2", "r = x - y", &["v_pk_sub_u16"]),
    ("i16vec2", "r = x * y", &["v_pk_mul_lo_u16"]),
    ("i16vec2", "r = x * y + z", &["v_pk_mad_u16"]),
    ("i16vec2", "r = min(x, y)", &["v_pk_min_i16"]),
    ("i16vec2", "r = max(x, y)", &["v_pk_max_i16"]),
    ("i16vec2", "r = x << 3s", &["v_pk_lshlrev_b16 op_sel_hi:[0,1]"]),
    ("i16vec2", "r = x >> 3s", &["v_pk_ashrrev_i16 op_sel_hi:[0,1]"]),
    ("i16vec2", "r = x ^ y", &["v_xor_b32"]),
    ("i16vec2", "r = x + (-1s)", &["v_pk_add_u16 op_sel_hi:[1,0]"]),
    ("u16vec2", "r = min(x, y)", &["v_pk_min_u16"]),
    ("u16vec2", "r = max(x, y)", &["v_pk_max_u16"]),
    ("u16vec2", "r = x >> y", &["v_pk_lshrrev_b16"]),
];

/// The instructions of a shader that may be part of a statement: mnemonic without the encoding's size, and modifiers.
fn instructions(vector: &str, statement: &str) -> Option<Vec<String>> {
    let test = "statements_on_16_bits_become_the_expected_instructions";
    let source = format!(
        "#version 450
        #extension GL_EXT_shader_16bit_storage : require
        #extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
        #extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
        layout(local_size_x = 32) in;
        layout(set = 0, binding = 0) buffer A {{ {vector} a[]; }};
        void main() {{
            uint i = gl_GlobalInvocationID.x * 4u;
            {vector} x = a[i], y = a[i + 1u], z = a[i + 2u], r;
            {statement};
            a[i + 3u] = r;
        }}"
    );
    let mut file = tempfile::Builder::new().suffix(".comp").tempfile().expect("a file");
    file.write_all(source.as_bytes()).expect("written");
    let module = Module::new(glsl(test, file.path(), "vulkan1.2")?).expect("SPIR-V");
    let request = StageRequest {
        target: Gpu::Gfx1030,
        stage: Stage::Compute,
        module: module.digest(),
        entry_point: "main".to_owned(),
        specialization: vec![],
        wave: WaveSize::W32,
        options: TuningOptions::default(),
        known: Default::default(),
    };
    let part = ChosenCompiler::new().compile(&module, &request).expect("compiles");
    let words = estimate::text(&part.0).expect("code");
    let code = estimate::instructions(&words, Isa::of(Gpu::Gfx1030)).expect("instructions");
    let text = code.iter().map(|placed| placed.inst.text(Isa::of(Gpu::Gfx1030), WaveSize::W32));
    // What computes the addresses.
    let address =
        ["v_lshl", "v_add_nc_u32", "v_mov", "v_or_b32", "v_mad_u32_u24", "v_mul_u32_u24", "v_add_lshl", "v_mul_lo_u32"];
    Some(text.filter(|t| t.starts_with("v_") && !address.iter().any(|a| t.starts_with(a))).map(|t| short(&t)).collect())
}

/// An instruction without its registers.
fn short(text: &str) -> String {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let name = name.trim_end_matches("_e32").trim_end_matches("_e64");
    let fields = rest.split(' ').filter(|word| word.contains(':') || *word == "clamp");
    std::iter::once(name).chain(fields).collect::<Vec<_>>().join(" ")
}

#[test]
fn statements_on_16_bits_become_the_expected_instructions() {
    if ChosenCompiler::new().generator() != GeneratorKind::Native {
        return;
    }
    let mut wrong = Vec::new();
    for (vector, statement, expected) in TABLE {
        let Some(found) = instructions(vector, statement) else { return };
        let mut left: Vec<&String> = found.iter().collect();
        // A row may leave out fields; each of its instructions is there, and nothing else.
        for wanted in *expected {
            let fits = |one: &&String| wanted.split(' ').all(|word| one.split(' ').any(|other| other == word));
            match left.iter().position(fits) {
                Some(n) => _ = left.remove(n),
                None => wrong.push(format!("{vector}: {statement}: no {wanted} in {found:?}")),
            }
        }
        if !left.is_empty() {
            wrong.push(format!("{vector}: {statement}: not expected: {left:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
