//! LLVM as a [`Generator`]: IR to LLVM's module, and its object to machine code.

use super::emit::{Object, emit_assembly, emit_object};
use super::object;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::ParameterPath;
use dovetail_compile::request::TuningOptions;
use dovetail_ir::watch::{Made, Watch};
use dovetail_metadata::interface::StageInterface;
use dovetail_passes::LoweredShader;
use dovetail_passes::backend::{Generator, MachineCode};
use dovetail_passes::entry_facts::EntryFacts;

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
        if !shader.stage.has_workgroups() && interface.target.facts().parameters == ParameterPath::Ring {
            let what = format!("LLVM: {} shaders for {}", shader.stage, interface.target);
            return Err(Error::unsupported(what, "the native generator makes them"));
        }
        if interface.target.facts().workgroup_ids_apart {
            let what = format!("LLVM: code for {}", interface.target);
            return Err(Error::unsupported(what, "the native generator makes it"));
        }
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
