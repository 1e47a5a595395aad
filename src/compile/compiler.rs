//! Compiles a stage: translates, lowers, generates code, and writes the unlinked ELF. All callers use this.

use super::backend::Generator;
use super::request::{CompilerId, Module, StageRequest};
use super::spirv::Specialization;
use super::watch::{Made, Unwatched, Watch};
use super::{Compiler, StageElf, passes, spirv, unlinked};
use crate::error::{Context, Result};
use crate::ir::Shader;
use crate::state::Known;
use crate::workspace::NothingKept;
use std::borrow::Cow;

/// Size in bytes of a module from which on tables are freed as soon as a phase is done with them: few modules are larger, and
/// nothing else would use that memory. Below, a kernel of 520 KiB takes 35 MiB with the tables of all phases.
const LARGE_MODULE: usize = 3 << 18;

/// Compiles in this process, with one code generator.
#[derive(Debug)]
pub struct StageCompiler<G> {
    id: CompilerId,
    generator: G,
}

impl<G: Generator> StageCompiler<G> {
    /// A compiler with this code generator.
    pub fn with(generator: G) -> Self {
        let sources = env!("DOVETAIL_COMPILER_SOURCES").to_owned();
        Self { id: CompilerId { sources, backend: generator.name() }, generator }
    }

    /// [`Compiler::compile`] with an observer.
    ///
    /// # Errors
    /// As [`Compiler::compile`], and the observer's own.
    pub fn compile_watched(&self, module: &Module, request: &StageRequest, watch: &mut dyn Watch) -> Result<StageElf> {
        let mut run = || -> Result<StageElf> {
            request.check_module(module)?;
            request.options.check()?;
            let shader = translate(module, request)?;
            watch.done("upper", Made::Shader(&shader))?;
            let lowered = passes::lower_watched(shader, request, watch)?;
            let code = self.generator.generate(&lowered, &request.options, watch)?;
            let elf = unlinked::write(code, lowered.interface())?;
            watch.done("elf", Made::Bytes)?;
            Ok(elf)
        };
        let _nothing_kept = (module.bytes().len() >= LARGE_MODULE).then(NothingKept::begin);
        run().at(|| format!("{} `{}`", request.stage, request.entry_point))
    }
}

/// Translates. A specialization constant that is only an operand becomes a constant if the request has its value,
/// otherwise a relocation.
fn translate(module: &Module, request: &StageRequest) -> Result<Shader> {
    let (mut values, late) = (Cow::Borrowed(&request.specialization), module.operand_ids());
    let late = match &request.known.operands {
        Known::Unknown => late,
        Known::Known(operands) => {
            values.to_mut().extend(operands);
            values.to_mut().sort_by_key(|(id, _)| *id);
            &[]
        }
    };
    spirv::translate_with(module, &request.entry_point, request.stage, Specialization { values: &values, late })
}

impl<G: Generator> Compiler for StageCompiler<G> {
    fn id(&self) -> &CompilerId {
        &self.id
    }

    fn compile(&self, module: &Module, request: &StageRequest) -> Result<StageElf> {
        self.compile_watched(module, request, &mut Unwatched)
    }
}
