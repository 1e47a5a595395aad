//! Compiles a stage: translates, lowers, generates code, and writes the unlinked ELF. All callers use this.

use super::backend::{Generator, MachineCode};
use super::passes::Lowered;
use super::request::{CompilerId, GeneratorKind, Module, StageRequest, TuningOptions};
use super::spirv::Specialization;
use super::watch::{Made, Unwatched, Watch};
use super::{Compiler, StageElf, passes, spirv, unlinked};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::ir::Shader;
use crate::metadata::interface::StageInterface;
use crate::state::Known;
use crate::workspace::NothingKept;
use std::borrow::Cow;

/// Number of instructions of a lowered shader from which on tables are freed as soon as a phase is done with them: few shaders
/// are larger, and nothing else would use that memory. Below, the tables of all phases take less than 64 MiB.
const LARGE_SHADER: usize = 15_000;

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
            let (code, interface) = match self.generated(module, request, &request.options, watch) {
                Err(refused) => self.fallback(module, request, refused, watch)?,
                done => done?,
            };
            let elf = unlinked::write(code, &interface)?;
            watch.done("elf", Made::Bytes)?;
            Ok(elf)
        };
        run().at(|| format!("{} `{}`", request.stage, request.entry_point))
    }

    /// One attempt, with the request's options or others.
    fn generated(
        &self,
        module: &Module,
        request: &StageRequest,
        options: &TuningOptions,
        watch: &mut dyn Watch,
    ) -> Result<(MachineCode, StageInterface)> {
        let shader = translate(module, request)?;
        watch.done("upper", Made::Shader(&shader))?;
        let Lowered { shader, interface } = passes::lower_watched(shader, request, watch)?;
        let _nothing_kept = (shader.insts.len() >= LARGE_SHADER).then(NothingKept::begin);
        let code = self.generator.generate(shader, &interface, options, watch)?;
        Ok((code, interface))
    }

    /// More attempts: by the same generator without unrolling, since unrolled loops need more registers for masks, and by the
    /// one that takes over what the first one does not support.
    fn fallback(
        &self,
        module: &Module,
        request: &StageRequest,
        refused: Error,
        watch: &mut dyn Watch,
    ) -> Result<(MachineCode, StageInterface)> {
        let ErrorKind::Unsupported { feature, .. } = refused.kind() else { return Err(refused) };
        if request.options.unroll && request.options.generator == GeneratorKind::Native {
            let rolled = TuningOptions { unroll: false, ..request.options.clone() };
            match self.generated(module, request, &rolled, watch) {
                Err(again) if matches!(again.kind(), ErrorKind::Unsupported { .. }) => {}
                done => return done,
            }
        }
        let Some(options) = self.generator.fallback(&request.options) else { return Err(refused) };
        let (mut code, interface) = self.generated(module, request, &options, watch)?;
        code.fallback = Some(feature.clone());
        Ok((code, interface))
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
