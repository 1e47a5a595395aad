//! The compiler that tests of machine code judge: with the code generator that the variable `DOVETAIL_BACKEND` names, or
//! the default one. So the same cases judge every generator.

use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::{CompilerId, GeneratorKind, Module, StageRequest, TuningOptions};
use dovetail::compile::{Compiler, StageElf};
use dovetail::error::Result;

/// Compiles every request with one generator.
pub struct ChosenCompiler {
    inner: BuiltInCompiler,
    generator: GeneratorKind,
}

impl ChosenCompiler {
    pub fn new() -> Self {
        let named = std::env::var("DOVETAIL_BACKEND").ok();
        let generator =
            named.map_or(GeneratorKind::default(), |name| name.parse().expect("DOVETAIL_BACKEND: a generator"));
        Self { inner: BuiltInCompiler::new(), generator }
    }
}

impl Compiler for ChosenCompiler {
    fn id(&self) -> &CompilerId {
        self.inner.id()
    }

    fn compile(&self, module: &Module, request: &StageRequest) -> Result<StageElf> {
        let options = TuningOptions { generator: self.generator, ..request.options.clone() };
        self.inner.compile(module, &StageRequest { options, ..request.clone() })
    }
}
