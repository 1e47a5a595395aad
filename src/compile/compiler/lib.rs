//! Compiles a stage: translates, lowers, generates code, and writes the unlinked ELF. All callers use this.

pub mod generators;
#[cfg(feature = "llvm")]
#[cfg(test)]
mod tests;
pub mod unlinked;

use dovetail_base::error::{Context, Error, ErrorKind, Result};
use dovetail_base::target::{Gpu, WaveSize};
use dovetail_compile::request::{CompilerId, Module, StageRequest};
use dovetail_compile::{Compiler, StageElf};
use dovetail_ir::Shader;
use dovetail_ir::watch::{Made, Unwatched, Watch};
use dovetail_metadata::interface::StageInterface;
use dovetail_passes as passes;
use dovetail_passes::Lowered;
use dovetail_passes::backend::{Generator, MachineCode};
use dovetail_spirv as spirv;
use dovetail_spirv::Specialization;
use dovetail_state::Known;
use std::borrow::Cow;

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

    /// The phases whose results an observer can print, in order.
    pub fn phases(&self) -> Vec<&'static str> {
        let passes = passes::PASSES.iter().map(|(name, _)| *name);
        ["upper"].into_iter().chain(passes).chain(["lower"]).chain(self.generator.phases()).collect()
    }

    /// [`Compiler::compile`] with an observer.
    ///
    /// # Errors
    /// As [`Compiler::compile`], and the observer's own.
    pub fn compile_watched(&self, module: &Module, request: &StageRequest, watch: &mut dyn Watch) -> Result<StageElf> {
        let mut run = || {
            let shader = translate(module, request)?;
            self.translated(shader, module, request, watch)
        };
        run().at(|| place(request))
    }

    /// Lowers a translated shader, generates its code, and writes the ELF.
    fn translated(
        &self,
        shader: Shader,
        module: &Module,
        request: &StageRequest,
        watch: &mut dyn Watch,
    ) -> Result<StageElf> {
        let Lowered { shader, interface } = lowered(shader, request, watch)?;
        let (code, interface) = match self.generator.generate(shader, &interface, &request.options, watch) {
            Err(refused) => self.try_again(module, request, refused, watch)?,
            done => (done?, interface),
        };
        let elf = unlinked::write(code, interface)?;
        watch.done("elf", Made::Bytes)?;
        Ok(elf)
    }

    /// Attempts with other options, and then in waves of 32 lanes, if the generator does not support the shader with the
    /// request's.
    fn try_again(
        &self,
        module: &Module,
        request: &StageRequest,
        refused: Error,
        watch: &mut dyn Watch,
    ) -> Result<(MachineCode, StageInterface)> {
        let ErrorKind::Unsupported { feature, .. } = refused.kind() else { return Err(refused) };
        let others = self.generator.fallbacks(&request.options);
        let with = |request: &StageRequest, options| StageRequest { options, ..request.clone() };
        let mut attempts: Vec<StageRequest> = others.iter().map(|options| with(request, options.clone())).collect();
        if let Some(narrow) = in_narrow_waves(module, request)? {
            attempts.extend([request.options.clone()].into_iter().chain(others).map(|options| with(&narrow, options)));
        }
        for attempt in attempts {
            let Lowered { shader, interface } = lowered(translate(module, &attempt)?, &attempt, watch)?;
            match self.generator.generate(shader, &interface, &attempt.options, watch) {
                Err(e) if matches!(e.kind(), ErrorKind::Unsupported { .. }) => {}
                Err(e) => return Err(e),
                Ok(code) => {
                    let another = attempt.options.generator != request.options.generator;
                    return Ok((MachineCode { fallback: another.then(|| feature.clone()), ..code }, interface));
                }
            }
        }
        Err(refused)
    }
}

/// The request in waves of 32 lanes, if it is in waves of 64 and the shader cannot tell. A lane then may have twice the
/// scratch memory.
fn in_narrow_waves(module: &Module, request: &StageRequest) -> Result<Option<StageRequest>> {
    let may = request.wave == WaveSize::W64 && !spirv::reflect(module)?.uses_subgroups;
    Ok(may.then(|| StageRequest { wave: WaveSize::W32, ..request.clone() }))
}

/// What errors of a request name.
fn place(request: &StageRequest) -> String {
    format!("{} `{}`", request.stage, request.entry_point)
}

/// Lowers a translated shader.
fn lowered(shader: Shader, request: &StageRequest, watch: &mut dyn Watch) -> Result<Lowered> {
    watch.done("upper", Made::Shader(&shader))?;
    passes::lower_watched(shader, request, watch)
}

/// Checks the request and translates; nothing here depends on the GPU. A specialization constant that is only an operand becomes a constant if the request has its value,
/// otherwise a relocation.
fn translate(module: &Module, request: &StageRequest) -> Result<Shader> {
    request.check_module(module)?;
    request.options.check()?;
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

    fn compile_for(&self, module: &Module, request: &StageRequest, targets: &[Gpu]) -> Vec<Result<StageElf>> {
        let translated = translate(module, request);
        let one = |target: &Gpu| {
            let request = request.for_gpu(*target);
            let shader = translated.clone();
            let made = shader.and_then(|shader| self.translated(shader, module, &request, &mut Unwatched));
            made.at(|| place(&request))
        };
        targets.iter().map(one).collect()
    }
}
