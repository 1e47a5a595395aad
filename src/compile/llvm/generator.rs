//! LLVM as a [`Generator`]: IR to LLVM's module, and its object to machine code.

use super::emit::{Object, emit_assembly, emit_object};
use super::object;
use crate::compile::backend::{Generator, MachineCode};
use crate::compile::entry_facts::EntryFacts;
use crate::compile::passes::LoweredShader;
use crate::compile::request::TuningOptions;
use crate::error::{Context, Result};
use crate::ir::watch::{Made, Watch};
use crate::metadata::interface::StageInterface;

/// LLVM 19, as linked in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Llvm;

impl Generator for Llvm {
    fn name(&self) -> String {
        let (major, minor, patch) = inkwell::support::get_llvm_version();
        format!("llvm {major}.{minor}.{patch}")
    }

    fn phases(&self) -> Vec<&'static str> {
        vec!["llvm", "llvm-opt", "asm"]
    }

    fn generate(
        &self,
        shader: LoweredShader,
        interface: &StageInterface,
        options: &TuningOptions,
        watch: &mut dyn Watch,
    ) -> Result<MachineCode> {
        let shader = &shader;
        let Object { bytes, simplified } = emit_object(shader, interface.target, options, watch)?;
        // The code generator changes the module, so its assembly is made from the shader again.
        let assembly = || emit_assembly(shader, interface.target, options);
        watch.done("asm", Made::Text(&assembly))?;
        let mut code = object::read(&bytes, interface)?;
        // Code that is not optimised loads inputs that it does not use.
        if cfg!(debug_assertions) && options.llvm.opt_level > 0 && simplified.is_none() {
            EntryFacts::of(shader, interface.target)?.agree(options, &code.registers).at(|| "LLVM's register words")?;
        }
        code.simplified = simplified;
        watch.done("object", Made::Bytes)?;
        Ok(code)
    }
}
