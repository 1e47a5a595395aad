//! All built-in code generators as one: the request names the one to use.
//!
//! If the native generator does not support a shader, LLVM compiles it, where it is built in, and the code records
//! this. Other errors have no such fallback: malformed input stays malformed, and bugs must not be hidden.

use crate::StageCompiler;
#[cfg(not(feature = "llvm"))]
use dovetail_base::error::Error;
use dovetail_base::error::Result;
use dovetail_compile::request::GeneratorKind;
use dovetail_compile::request::TuningOptions;
use dovetail_ir::watch::Watch;
#[cfg(feature = "llvm")]
use dovetail_llvm::Llvm;
use dovetail_metadata::interface::StageInterface;
use dovetail_native::Native;
use dovetail_passes::LoweredShader;
use dovetail_passes::backend::{Generator, MachineCode};

/// Whether this build has a generator.
pub const fn is_built_in(kind: GeneratorKind) -> bool {
    match kind {
        GeneratorKind::Llvm => cfg!(feature = "llvm"),
        GeneratorKind::Native => true,
    }
}

/// All built-in generators.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltInGenerators;

/// Compiles in this process, with the generator that a request names.
pub type BuiltInCompiler = StageCompiler<BuiltInGenerators>;

impl BuiltInCompiler {
    /// A compiler with all built-in generators.
    pub fn new() -> Self {
        Self::with(BuiltInGenerators)
    }
}

impl Default for BuiltInCompiler {
    fn default() -> Self {
        Self::new()
    }
}

/// Compiles in this process with LLVM, which can end it: use a worker where that must not happen.
#[cfg(feature = "llvm")]
pub type LlvmCompiler = StageCompiler<Llvm>;

#[cfg(feature = "llvm")]
impl LlvmCompiler {
    /// A compiler with the linked LLVM.
    pub fn new() -> Self {
        Self::with(Llvm)
    }
}

#[cfg(feature = "llvm")]
impl Default for LlvmCompiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Generator for BuiltInGenerators {
    fn name(&self) -> String {
        let names: &[String] = &[
            #[cfg(feature = "llvm")]
            Llvm.name(),
            Native.name(),
        ];
        names.join(", ")
    }

    fn phases(&self) -> Vec<&'static str> {
        let phases: &[Vec<&'static str>] = &[
            Native.phases(),
            #[cfg(feature = "llvm")]
            Llvm.phases(),
        ];
        phases.concat()
    }

    fn generate(
        &self,
        shader: LoweredShader,
        interface: &StageInterface,
        options: &TuningOptions,
        watch: &mut dyn Watch,
    ) -> Result<MachineCode> {
        match options.generator {
            #[cfg(feature = "llvm")]
            GeneratorKind::Llvm => Llvm.generate(shader, interface, options, watch),
            GeneratorKind::Native => Native.generate(shader, interface, options, watch),
            #[cfg(not(feature = "llvm"))]
            missing => {
                let _ = (shader, interface, watch);
                Err(Error::environment(format!("this build has no code generator `{missing}`")))
            }
        }
    }

    fn fallbacks(&self, options: &TuningOptions) -> Vec<TuningOptions> {
        match options.generator {
            GeneratorKind::Native => {
                let llvm = cfg!(feature = "llvm");
                let other = llvm.then(|| TuningOptions { generator: GeneratorKind::Llvm, ..options.clone() });
                Native.fallbacks(options).into_iter().chain(other).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::generators::*;
    use dovetail_base::target::{Gpu, Stage, WaveSize};
    use dovetail_compile::Compiler;
    use dovetail_compile::request::{KnownState, Module, StageRequest};

    #[test]
    fn limits_of_registers_that_no_code_fits_are_refused_before_any_generator_runs() {
        let module = Module::new(0x0723_0203u32.to_le_bytes().to_vec()).unwrap();
        for generator in [GeneratorKind::Native, GeneratorKind::Llvm] {
            for (vgpr_limit, refused) in [(0, false), (1, true), (23, true), (24, false), (256, false)] {
                let request = StageRequest {
                    target: Gpu::Gfx1030,
                    stage: Stage::Compute,
                    module: module.digest(),
                    entry_point: "main".to_owned(),
                    specialization: Vec::new(),
                    wave: WaveSize::W32,
                    options: TuningOptions { generator, vgpr_limit, ..TuningOptions::default() },
                    known: KnownState::default(),
                };
                // The module is truncated, so every request fails, for one reason or another.
                let why = BuiltInCompiler::new().compile(&module, &request).unwrap_err().to_string();
                assert_eq!(why.contains(&format!("a limit of {vgpr_limit} VGPRs")), refused, "{generator}: {why}");
            }
        }
    }
}
