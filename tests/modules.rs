//! Any compute module, on inputs made from reflection: the interpreter and lavapipe agree.
//!
//! `DOVETAIL_MODULE=some.spv` chooses it. One module a process, since lavapipe may not survive what it does not know.

#[path = "support/cases.rs"]
mod cases;
mod support;
#[path = "support/vulkan.rs"]
mod vulkan;

use cases::{encoded, reflected, world};
use dovetail::compile::request::Module;
use dovetail::compile::spirv::{reflect, translate};
use dovetail::emu::inputs::Bound;
use dovetail::ir::interp::{Options, dispatch};
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
    let inputs = reflected(&ir, 7);
    let mut world = world(&inputs);
    let options = Options { subgroup_size: vulkan.subgroup_size, limit: 3_000_000, shadow: true };
    dispatch(&ir, &mut world, inputs.grid, options).unwrap_or_else(|e| panic!("{e}"));
    let shader = vulkan::Shader { module: &bytes, entry: &entry.name, spec: &[] };
    let outputs = vulkan.compute(shader, &inputs);
    let mut written = 0;
    for (b, theirs) in inputs.bindings.iter().zip(&outputs.bindings) {
        let place = (b.set, b.binding, b.element);
        let verdict = match &b.bound {
            Bound::StorageBuffer(_) => world.buffers[&place].judge(theirs, 8.0),
            Bound::StorageImage(image) => encoded(&image.format, &world.textures[&place]).judge(theirs, 8.0),
            _ => continue,
        };
        assert!(verdict.wrong.is_empty(), "binding {}: {:#?}", b.binding, verdict.wrong);
        written += verdict.written - verdict.uncertain;
    }
    assert!(written > 0, "nothing was written that can be compared");
}
