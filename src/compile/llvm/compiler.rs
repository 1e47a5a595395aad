//! The whole way of one stage: translate, lower, emit, add the joint.

use super::effort;
use super::emit::emit_object;
use crate::compile::request::{CompilerId, Module, StageRequest};
use crate::compile::{Compiler, StageElf, passes, spirv, unlinked};
use crate::error::{Context, Result};

/// Compiles in this process. LLVM can end it on bad luck: put it into a worker where that must not happen.
#[derive(Debug)]
pub struct LlvmCompiler {
    id: CompilerId,
}

impl LlvmCompiler {
    /// With the LLVM that is linked in.
    pub fn new() -> Self {
        let (major, minor, patch) = inkwell::support::get_llvm_version();
        let sources = env!("DOVETAIL_COMPILER_SOURCES").to_owned();
        Self { id: CompilerId { sources, backend: format!("llvm {major}.{minor}.{patch}") } }
    }
}

impl Default for LlvmCompiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Compiler for LlvmCompiler {
    fn id(&self) -> &CompilerId {
        &self.id
    }

    fn compile(&self, module: &Module, request: &StageRequest) -> Result<StageElf> {
        let run = || -> Result<StageElf> {
            request.check_module(module)?;
            let shader = spirv::translate(module, &request.entry_point, request.stage, &request.specialization)?;
            let lowered = passes::lower(shader, request)?;
            let (options, simplified) = effort::options(&lowered.shader, &request.options);
            let object = emit_object(&lowered.shader, request.target, &options)?;
            unlinked::write_simplified(&object.bytes, &lowered.interface, simplified.as_deref())
        };
        run().at(|| format!("{} `{}`", request.stage, request.entry_point))
    }
}
