//! What a part claims of its joints is judged in the linked code, so a false claim is found.

use crate::elfs::{Builder, build_with};
use crate::support::root;
use dovetail::check::{CodeRule, check};
use dovetail::compile::backend::{Generator, MachineCode};
use dovetail::compile::compiler::StageCompiler;
use dovetail::compile::llvm::Llvm;
use dovetail::compile::passes::LoweredShader;
use dovetail::compile::request::TuningOptions;
use dovetail::error::Result;
use dovetail::ir::watch::Watch;
use dovetail::metadata::interface::StageInterface;
use dovetail::target::{Stage, WaveSize};

/// LLVM's code, which does not wait for attributes, with the claim that it does.
struct Impatient;

impl Generator for Impatient {
    fn name(&self) -> String {
        "impatient".to_owned()
    }

    fn generate(
        &self,
        shader: LoweredShader,
        interface: &StageInterface,
        options: &TuningOptions,
        watch: &mut dyn Watch,
    ) -> Result<MachineCode> {
        let code = Llvm.generate(shader, interface, options, watch)?;
        Ok(MachineCode { awaits_inputs: interface.prolog, ..code })
    }
}

#[test]
fn a_body_that_does_not_wait_for_its_attributes_is_found() {
    let name = "a_body_that_does_not_wait_for_its_attributes_is_found";
    let pair = ["vert", "frag"].map(|kind| root().join(format!("testdata/draws/varied.{kind}")));
    let both = |builder: &mut Builder<'_>| {
        builder.pipeline(&pair, WaveSize::W32, |_| {})?;
        builder.pipeline(&pair, WaveSize::W64, |_| {})
    };
    let Some(built) = build_with(name, &StageCompiler::with(Impatient), both) else { return };
    for one in &built {
        let report = check(&one.elf).expect("an ELF with code");
        let early = report.errors().filter(|e| e.rule == CodeRule::Wait && e.stage == Stage::Vertex).count();
        assert_eq!(early > 0, !one.name.ends_with("whole"), "{}", one.name);
        assert_eq!(report.errors().count(), early, "{}", one.name);
    }
}
