//! Pairs that the proof also draws with four samples per pixel, results that no input affects, and comparisons that
//! random inputs do not meet.

use crate::chosen::ChosenCompiler;
use crate::support::{glsl, root, skip};
use crate::vulkan::Lavapipe;
use dovetail::compile::request::{Module, TuningOptions};
use dovetail::emu::inputs::Inputs;
use dovetail::proof::{Absent, Case, Fate, Judge, Outputs, Report, Spirv, Tools, compute, pair};
use dovetail::state::VertexInputState;
use dovetail::target::Gpu;
use std::sync::LazyLock;

/// Lavapipe with one value of resolved multisampled attachments changed.
struct Wrong<'a>(&'a Lavapipe);

impl Judge for Wrong<'_> {
    fn compute(&self, shader: &Spirv<'_>, inputs: &Inputs) -> Result<Outputs, String> {
        Judge::compute(self.0, shader, inputs)
    }

    fn draw(
        &self,
        vertex: &Spirv<'_>,
        fragment: Option<&Spirv<'_>>,
        attributes: &VertexInputState,
        inputs: &Inputs,
    ) -> Result<Outputs, String> {
        let mut out = Judge::draw(self.0, vertex, fragment, attributes, inputs)?;
        if inputs.draw.as_ref().is_some_and(|draw| draw.samples > 1) {
            let middle = out.targets[0].len() / 2 + 16 * 16;
            out.targets[0][middle..middle + 4].copy_from_slice(&7f32.to_le_bytes());
        }
        Ok(out)
    }

    fn subgroup_size(&self) -> u32 {
        self.0.subgroup_size
    }
}

fn judged(judge: &dyn Judge, test: &str, vertex: &str, fragment: &str) -> Option<Report> {
    let read = |name: &str| glsl(test, &root().join("testdata").join(name), "vulkan1.2");
    let (vertex, fragment) = (read(vertex)?, read(fragment)?);
    let [vertex, fragment] = [&vertex, &fragment].map(|module| Spirv { module, entry: "main", spec: &[] });
    Some(pair(&vertex, &fragment, &tools(judge, &ChosenCompiler::new())))
}

fn tools<'a>(judge: &'a dyn Judge, compiler: &'a ChosenCompiler) -> Tools<'a> {
    static OPTIONS: LazyLock<TuningOptions> = LazyLock::new(Default::default);
    Tools {
        compiler,
        target: Gpu::default(),
        options: &OPTIONS,
        judge,
        budget: Default::default(),
        on_difference: &|_| (),
    }
}

fn vulkan(test: &str) -> Option<&'static Lavapipe> {
    Lavapipe::get().map_err(|why| skip(test, &why)).ok()
}

/// Coverage, masks, centroids, sample numbers, offsets, and inputs interpolated at the sample.
#[test]
fn four_samples_agree() {
    let test = "sampled_pairs::four_samples_agree";
    // Lavapipe is not a reference for masks and for inputs interpolated at the sample.
    let absent = Absent { why: "the interpreter judges".to_owned(), lanes: 8 };
    let mut cases: Vec<(&dyn Judge, &str, [Fate; 2])> =
        ["samples", "samples_of_a_pixel", "samples_decorated", "samples_numbered", "interpolated_at"]
            .map(|name| (&absent as &dyn Judge, name, [Fate::AgreedWithInterpreter; 2]))
            .to_vec();
    if let Some(vulkan) = vulkan(test) {
        cases.push((vulkan, "../pairs/cut", [Fate::Agreed, Fate::AgreedWithInterpreter]));
    }
    for (judge, name, fates) in cases {
        let stages = ["vert", "frag"].map(|stage| format!("stages/{name}.{stage}"));
        let Some(report) = judged(judge, test, &stages[0], &stages[1]) else { return };
        let became = ["pixel", "sample"].map(|shaded| report.samples.get(shaded).cloned());
        let found = became.clone().map(|found| found.map(|(fate, _)| fate));
        assert_eq!(found, fates.map(Some), "{name}: {} {}: {became:?}", report.fate, report.reason);
    }
}

/// A wrong value among the resolved ones is detected.
#[test]
fn a_wrong_sample_is_seen() {
    let test = "sampled_pairs::a_wrong_sample_is_seen";
    let Some(vulkan) = vulkan(test) else { return };
    let Some(report) = judged(&Wrong(vulkan), test, "draws/varied.vert", "draws/varied.frag") else { return };
    assert_eq!(report.fate, Fate::Agreed, "{}", report.reason);
    let (fate, why) = &report.samples["pixel"];
    assert!(*fate == Fate::ProvesNothing && why.contains("expected 7 "), "{why}");
}

/// A triangle computed from vertex numbers, with colours from pixel coordinates; an empty kernel.
#[test]
fn what_no_input_reaches_is_constant() {
    let test = "sampled_pairs::what_no_input_reaches_is_constant";
    let Some(vulkan) = vulkan(test) else { return };
    let Some(report) = judged(vulkan, test, "pairs/still.vert", "pairs/still.frag") else { return };
    assert_eq!(report.fate, Fate::Constant, "{}", report.reason);
    // If an attribute moves the picture, two seeds differ.
    let Some(report) = judged(vulkan, test, "pairs/columns.vert", "pairs/still.frag") else { return };
    assert_eq!(report.fate, Fate::Agreed, "{}", report.reason);
    let Some(module) = glsl(test, &root().join("testdata/pairs/still.comp"), "vulkan1.2") else { return };
    let module = Module::new(module).expect("a module");
    let report = compute(
        &Case { module: &module, entry: "main", spec: &[], choices: &[] },
        &tools(vulkan, &ChosenCompiler::new()),
    );
    assert_eq!(report.fate, Fate::Constant, "{}", report.reason);
}

/// Results that depend on the equality of two values, and a matrix in a texture.
#[test]
fn comparisons_are_met() {
    let test = "sampled_pairs::comparisons_are_met";
    let Some(vulkan) = vulkan(test) else { return };
    for (vertex, fragment) in [("columns", "expected"), ("expected", "passed"), ("fetched", "shaded")] {
        let (a, b) = (format!("pairs/{vertex}.vert"), format!("pairs/{fragment}.frag"));
        let Some(report) = judged(vulkan, test, &a, &b) else { return };
        assert_eq!(report.fate, Fate::Agreed, "{vertex}, {fragment}: {}", report.reason);
    }
}
