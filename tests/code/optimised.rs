//! What steps of the middle end are for, seen in the code that they give.

use crate::chosen::ChosenCompiler;
use crate::support::glsl;
use dovetail::check::estimate;
use dovetail::compile::Compiler;
use dovetail::compile::phases::Phase;
use dovetail::compile::request::{GeneratorKind, Module, NativeOptions, StageRequest, TuningOptions};
use dovetail::isa::Isa;
use dovetail::target::{Gpu, Stage, WaveSize};

/// The mnemonics of a shader's code, with all steps or without one; `None` without a tool, or if another generator is tested.
fn mnemonics(test: &str, extension: &str, source: &str, without: Option<Phase>) -> Option<Vec<&'static str>> {
    let compiler = ChosenCompiler::new();
    if compiler.generator() != GeneratorKind::Native {
        return None;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join(format!("s.{extension}"));
    std::fs::write(&path, source).expect("written");
    let module = Module::new(glsl(test, &path, "vulkan1.3")?).expect("a module");
    let native = NativeOptions { without: without.into_iter().collect(), ..NativeOptions::default() };
    let request = StageRequest {
        target: Gpu::Gfx1030,
        stage: if extension == "frag" { Stage::Fragment } else { Stage::Compute },
        module: module.digest(),
        entry_point: "main".to_owned(),
        specialization: Vec::new(),
        wave: WaveSize::W64,
        options: TuningOptions { generator: GeneratorKind::Native, native, ..TuningOptions::default() },
        known: Default::default(),
    };
    let elf = compiler.compile(&module, &request).expect("compiles");
    let words = estimate::text(&elf.0).expect("code");
    let code = estimate::instructions(&words, Isa::of(Gpu::Gfx1030)).expect("instructions");
    Some(code.iter().map(|placed| placed.inst.entry.mnemonic).collect())
}

fn count(all: &[&str], wanted: &str) -> usize {
    all.iter().filter(|name| name.starts_with(wanted)).count()
}

#[test]
fn many_descriptors_do_not_leave_the_registers() {
    let test = "optimised::many_descriptors_do_not_leave_the_registers";
    let samples: String = (0..40).map(|n| format!("r += texture(t[{}], a * {n}.5);\n", n % 20)).collect();
    let source = format!(
        "#version 450
        layout(location = 0) in vec2 a;
        layout(location = 0) out vec4 o;
        layout(binding = 0) uniform sampler2D t[20];
        void main() {{ vec4 r = vec4(0); {samples} o = r; }}"
    );
    let Some(with) = mnemonics(test, "frag", &source, None) else { return };
    let without = mnemonics(test, "frag", &source, Some(Phase::Reload)).expect("the tool");
    assert_eq!(count(&with, "image_sample"), 40);
    assert_eq!((count(&with, "v_writelane"), count(&with, "v_readlane")), (0, 0), "{with:?}");
    assert!(count(&without, "v_writelane") > 100, "the case is one where it helps");
}

#[test]
fn a_loop_with_one_known_bound_of_two_has_no_way_back() {
    let test = "optimised::a_loop_with_one_known_bound_of_two_has_no_way_back";
    let source = "#version 450
        layout(local_size_x = 64) in;
        layout(binding = 0) buffer B { uint r[]; };
        layout(binding = 1) uniform U { int n; };
        void main() {
            uint sum = 0;
            for (int i = 0, x = 0; x < n && i < 4; i++, x += 2) if (x == 2 * i) sum += uint(i * 3);
            r[gl_LocalInvocationIndex] = sum;
        }";
    let Some(with) = mnemonics(test, "comp", source, None) else { return };
    let without = mnemonics(test, "comp", source, Some(Phase::Unroll)).expect("the tool");
    assert!(with.len() < without.len(), "{} and {} instructions", with.len(), without.len());
    assert_eq!(count(&with, "s_cbranch"), 0, "{with:?}");
}

#[test]
fn packing_and_unpacking_of_constants_is_known() {
    let test = "optimised::packing_and_unpacking_of_constants_is_known";
    let source = "#version 450
        layout(local_size_x = 64) in;
        layout(binding = 0) buffer B { uint r[]; };
        void main() {
            vec2 h = unpackHalf2x16(0xfc003c00u);
            uint sum = packSnorm4x8(vec4(0.1, 1.0, -1.0, 0.5)) + uint(h.x) + (h.y < -1e30 ? 5u : 7u);
            r[gl_LocalInvocationIndex] = sum;
        }";
    let Some(with) = mnemonics(test, "comp", source, None) else { return };
    assert_eq!(count(&with, "v_cvt") + count(&with, "v_min") + count(&with, "v_rndne"), 0, "{with:?}");
}
