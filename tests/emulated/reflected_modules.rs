//! Compute modules on inputs made from reflection, compared as `./dev proof` compares the corpus: real modules agree,
//! and a reference with a wrong result is detected.
//!
//! `DOVETAIL_MODULE=some.spv` selects another module; only one per process, because lavapipe may crash on what it does
//! not support.

use crate::chosen::ChosenCompiler;
use crate::support;
use crate::support::{glsl, root};
use crate::vulkan::Lavapipe;
use dovetail::compile::request::Module;
use dovetail::emu::inputs::Inputs;
use dovetail::proof::{Absent, Case, Divergence, Fate, Judge, Outputs, Report, RunBudget, Spirv, Tools, compute};
use dovetail::state::VertexInputState;
use dovetail::target::Gpu;
use std::cell::RefCell;
use std::path::PathBuf;

/// Lavapipe with one bit of its results changed.
struct Liar<'a>(&'a Lavapipe);

impl Judge for Liar<'_> {
    fn compute(&self, shader: &Spirv<'_>, inputs: &Inputs) -> Result<Outputs, String> {
        let mut outputs = Judge::compute(self.0, shader, inputs)?;
        let last = outputs.bindings.last_mut().and_then(|bytes| bytes.get_mut(2));
        last.into_iter().for_each(|byte| *byte ^= 0x40);
        Ok(outputs)
    }

    fn draw(
        &self,
        vertex: &Spirv<'_>,
        fragment: Option<&Spirv<'_>>,
        attributes: &VertexInputState,
        inputs: &Inputs,
    ) -> Result<Outputs, String> {
        Judge::draw(self.0, vertex, fragment, attributes, inputs)
    }

    fn subgroup_size(&self) -> u32 {
        self.0.subgroup_size
    }
}

fn judged(module: Vec<u8>, judge: &dyn Judge) -> (Report, usize) {
    let module = Module::new(module).expect("a module");
    let differences = RefCell::new(0);
    let on_difference = |_: &Divergence<'_>| *differences.borrow_mut() += 1;
    let budget = RunBudget { interpreted: 300_000, emulated: 1_000_000 };
    let tools = Tools {
        target: Gpu::default(),
        compiler: &ChosenCompiler::new(),
        options: &Default::default(),
        judge,
        budget,
        on_difference: &on_difference,
    };
    let report = compute(&Case { module: &module, entry: "main", spec: &[], choices: &[] }, &tools);
    (report, differences.into_inner())
}

#[test]
fn a_module_agrees() {
    let test = "reflected_modules::a_module_agrees";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let chosen = std::env::var_os("DOVETAIL_MODULE").map(PathBuf::from);
    let module = match chosen {
        Some(path) => std::fs::read(path).expect("a module"),
        None => match glsl(test, &root().join("testdata/coverage/matrices.comp"), "vulkan1.1") {
            Some(module) => module,
            None => return,
        },
    };
    let (report, differences) = judged(module, vulkan);
    assert_eq!((report.fate, differences), (Fate::Agreed, 0), "{}", report.reason);
    assert!(report.ran && report.same_as_whole == Some(true) && report.exact + report.floats > 0);
}

#[test]
fn a_wrong_bit_differs() {
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip("reflected_modules::a_wrong_bit_differs", &why),
    };
    let module = std::fs::read(root().join("testdata/spirv/glsl450.comp.spv")).expect("a module");
    let (report, differences) = judged(module, &Liar(vulkan));
    assert_eq!((report.fate, differences), (Fate::Differs, 1), "{}", report.reason);
    assert!(report.reason.contains("the interpreter agrees with the emulator"), "{}", report.reason);
}

/// If the driver crashes on a shader, it is left out, and the interpreter is the reference.
#[test]
fn without_a_driver_the_interpreter_judges() {
    let test = "reflected_modules::without_a_driver_the_interpreter_judges";
    let Some(module) = glsl(test, &root().join("testdata/coverage/matrices.comp"), "vulkan1.1") else { return };
    let absent = Absent { why: "the driver died: signal: 6 (SIGABRT)".into(), lanes: 8 };
    let (report, differences) = judged(module, &absent);
    assert_eq!((report.fate, differences), (Fate::AgreedWithInterpreter, 0), "{}", report.reason);
    assert_eq!(report.reason, absent.why);
    assert!(report.ran && report.exact + report.floats > 0);
}
