//! Runs a compute shader in every way there is: on the emulator, linked in both placements and compiled as a whole, in waves
//! of 32 and 64, and on the interpreter with subgroups of both sizes.

use crate::chosen::ChosenCompiler;
use crate::support;
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate_judged;
use dovetail::emu::RunLimits;
use dovetail::emu::inputs::{BindingElement, Bound, InputBytes, Inputs};
use dovetail::ir::interp::Options;
use dovetail::pipeline::ShaderRef;
use dovetail::proof::{Pipelines, bytes_of, interpreted};
use dovetail::target::{Stage, WaveSize};

/// Assembles SPIR-V; `None` if the assembler is missing.
pub fn assembled(test: &str, source: &str) -> Option<Module> {
    let tool = support::tool(test, "spirv-as")?;
    let bytes = tool.run(&["--target-env", "spv1.6", "-o", "-", "-"], source.as_bytes());
    Some(Module::new(bytes).expect("a module"))
}

/// A storage buffer of set 0, element 0.
pub fn storage(binding: u32, data: Vec<u8>) -> BindingElement {
    BindingElement { set: 0, binding, element: 0, bound: Bound::StorageBuffer(InputBytes(data)) }
}

/// What one way of running leaves in each binding; empty for one that it cannot write.
pub struct Left {
    /// The way.
    pub way: String,
    /// Lanes of a wave.
    pub lanes: u32,
    /// Contents, in the order of the inputs.
    pub bindings: Vec<Vec<u8>>,
}

/// Runs the module's `main` in every way.
pub fn run(module: &Module, inputs: &Inputs) -> Result<Vec<Left>, String> {
    let mut all = Vec::new();
    let text = |e: dovetail::error::Error| e.to_string();
    let ir = translate_judged(module, "main", Stage::Compute, &[]).map_err(text)?;
    for wave in [WaveSize::W32, WaveSize::W64] {
        let lanes = wave.lanes();
        let options = Options { subgroup_size: lanes, shadow: true, limit: 10_000_000, ..Options::default() };
        let known = interpreted(&ir, inputs, options).map_err(text)?;
        all.push(Left { way: "interpreted".to_owned(), lanes, bindings: bytes_of(&known).map_err(text)? });
        let state = dovetail::template::state(std::slice::from_ref(&ir)).map_err(text)?;
        let shader = ShaderRef::new(module, "main", Stage::Compute, wave);
        let pipelines = Pipelines::new(vec![shader], state, &ChosenCompiler::new()).map_err(text)?;
        if let Some(why) = &pipelines.not_linked {
            return Err(why.clone());
        }
        for (name, elf) in &pipelines.elfs {
            let ran = pipelines
                .run(elf, inputs, RunLimits { instructions: 100_000_000, ..RunLimits::default() })
                .map_err(text)?;
            all.push(Left { way: name.to_string(), lanes, bindings: ran.bindings });
        }
    }
    Ok(all)
}
