//! The compiler for tests of machine code: it uses the code generator in the variable `DOVETAIL_BACKEND`, or the
//! default one, so that the same cases test every generator. `DOVETAIL_SCHEDULE` is a seed with which the native
//! generator orders the instructions of each block randomly. The shader is verified after each phase.

use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::{CompilerId, GeneratorKind, Module, Scheduling, StageRequest, TuningOptions};
use dovetail::compile::unlinked::Remarks;
use dovetail::compile::{Compiler, StageElf};
use dovetail::error::{Context, Error, Result};
use dovetail::ir::verify::verify_between;
use dovetail::ir::watch::{Made, Watch};

/// Compiles every request with one generator.
pub struct ChosenCompiler {
    inner: BuiltInCompiler,
    generator: GeneratorKind,
    schedule: Option<u64>,
}

impl ChosenCompiler {
    pub fn new() -> Self {
        let named = std::env::var("DOVETAIL_BACKEND").ok();
        let generator =
            named.map_or(GeneratorKind::default(), |name| name.parse().expect("DOVETAIL_BACKEND: a generator"));
        let seed = std::env::var("DOVETAIL_SCHEDULE").ok();
        let schedule = seed.map(|seed| seed.parse().expect("DOVETAIL_SCHEDULE: a number"));
        Self { inner: BuiltInCompiler::new(), generator, schedule }
    }

    /// The code generator.
    #[allow(dead_code, reason = "not every program asks")]
    pub fn generator(&self) -> GeneratorKind {
        self.generator
    }
}

/// Verifies what each phase makes.
struct Verified;

impl Watch for Verified {
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()> {
        match made {
            Made::Shader(shader) => verify_between(shader).at(|| phase),
            Made::Check(check) => check().at(|| phase),
            Made::Group(_) | Made::Text(_) | Made::Picture(_) | Made::Bytes => Ok(()),
        }
    }
}

impl Compiler for ChosenCompiler {
    fn id(&self) -> &CompilerId {
        self.inner.id()
    }

    fn compile(&self, module: &Module, request: &StageRequest) -> Result<StageElf> {
        let mut options = TuningOptions { generator: self.generator, ..request.options.clone() };
        if let Some(seed) = self.schedule {
            options.native.schedule = Scheduling::Random(seed);
        }
        let request = StageRequest { options, ..request.clone() };
        let elf = self.inner.compile_watched(module, &request, &mut Verified)?;
        // Code of another generator would prove nothing about the chosen one.
        if let Some(feature) = Remarks::of(&elf)?.fallback {
            return Err(Error::bug(format!("LLVM made the code: the native generator does not support {feature}")));
        }
        Ok(elf)
    }
}
