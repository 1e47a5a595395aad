//! What one generator does not support, another one may compile.

use crate::shapes::memory_in_turn;
use dovetail::compile::Compiler;
use dovetail::compile::backend::{Generator, MachineCode};
use dovetail::compile::compiler::StageCompiler;
use dovetail::compile::native::Native;
use dovetail::compile::passes::LoweredShader;
use dovetail::compile::request::{GeneratorKind, KnownState, Module, StageRequest, TuningOptions};
use dovetail::compile::unlinked::Remarks;
use dovetail::compile::watch::Watch;
use dovetail::error::{Error, ErrorKind, Result};
use dovetail::metadata::interface::StageInterface;
use dovetail::target::{GfxIp, Stage, WaveSize};

/// Refuses everything as the native generator, for this reason, and is the native generator as LLVM, if it takes over.
struct Refusing {
    reason: fn() -> Error,
    takes_over: bool,
}

impl Generator for Refusing {
    fn name(&self) -> String {
        "refusing".to_owned()
    }

    fn generate(
        &self,
        shader: LoweredShader,
        interface: &StageInterface,
        options: &TuningOptions,
        watch: &mut dyn Watch,
    ) -> Result<MachineCode> {
        match options.generator {
            GeneratorKind::Native => Err((self.reason)()),
            GeneratorKind::Llvm => Native.generate(shader, interface, options, watch),
        }
    }

    fn fallback(&self, options: &TuningOptions) -> Option<TuningOptions> {
        self.takes_over.then(|| TuningOptions { generator: GeneratorKind::Llvm, ..options.clone() })
    }
}

fn compiled(reason: fn() -> Error, takes_over: bool) -> Result<Remarks> {
    let module = Module::new(memory_in_turn(2)).expect("a module");
    let request = StageRequest {
        target: GfxIp::Gfx1030,
        stage: Stage::Compute,
        module: module.digest(),
        entry_point: "main".to_owned(),
        specialization: Vec::new(),
        wave: WaveSize::W32,
        options: TuningOptions::default(),
        known: KnownState::default(),
    };
    Remarks::of(&StageCompiler::with(Refusing { reason, takes_over }).compile(&module, &request)?)
}

#[test]
fn only_what_is_not_supported_goes_to_the_next_generator_and_the_code_says_so() {
    let unsupported = || Error::unsupported("a feature", "of a test");
    let remarks = compiled(unsupported, true).expect("code of the other generator");
    assert_eq!(remarks.fallback.as_deref(), Some("a feature"));
    let refused = compiled(unsupported, false).expect_err("nothing takes over");
    assert!(matches!(refused.kind(), ErrorKind::Unsupported { .. }), "{refused}");
    let broken = compiled(|| Error::bug("a bug"), true).expect_err("a bug is not hidden");
    assert!(matches!(broken.kind(), ErrorKind::Bug(_)), "{broken}");
}
