//! Any compute module, on inputs made from reflection: the interpreter and lavapipe agree.
//!
//! `DOVETAIL_MODULE=some.spv` chooses it. One module a process, since lavapipe may not survive what it does not know.

mod support;
#[path = "support/vulkan.rs"]
mod vulkan;

use dovetail::compile::request::Module;
use dovetail::compile::spirv::{reflect, translate};
use dovetail::ir::interp::Options;
use dovetail::proof::{Choice, Declared, interpreted, judge};
use dovetail::target::Stage;
use support::root;
use vulkan::Lavapipe;

#[test]
fn a_module_agrees() {
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip("modules::a_module_agrees", &why),
    };
    let chosen = std::env::var_os("DOVETAIL_MODULE").map(Into::into);
    let path = chosen.unwrap_or_else(|| root().join("testdata/spirv/glsl450.comp.spv"));
    let bytes = std::fs::read(&path).expect("a module");
    let module = Module::new(bytes.clone()).expect("a module");
    let entries = reflect(&module).expect("a module").entry_points;
    let entry = entries.iter().find(|e| e.stage == Some(Stage::Compute)).expect("a compute shader");
    let ir = translate(&module, &entry.name, Stage::Compute, &[]).unwrap_or_else(|e| panic!("{e}"));
    let declared = Declared::new(&bytes).expect("declarations");
    let inputs = declared
        .inputs(&ir, 7, &Choice { numbers: vec![1, 2, 3], ..Default::default() })
        .unwrap_or_else(|e| panic!("{e}"));
    let options = Options { subgroup_size: vulkan.subgroup_size, limit: 3_000_000, shadow: true, ..Options::default() };
    let known = interpreted(&ir, &inputs, options).unwrap_or_else(|e| panic!("{e}"));
    let own: Vec<_> = known.iter().map(|k| k.as_ref().map_or(Vec::new(), |k| k.bytes().expect("bytes"))).collect();
    let shader = vulkan::Shader { module: &bytes, entry: &entry.name, spec: &[] };
    let outputs = vulkan.compute(shader, &inputs);
    let verdict = judge(8.0, &inputs, &known, &own, &outputs.bindings).unwrap_or_else(|e| panic!("{e}"));
    assert!(verdict.written > verdict.uncertain, "nothing was written that can be compared");
}
