//! Code of a test, without an ELF around it.

use super::code::{Code, CodeSpan, StageCode};
use super::flow::Graph;
use super::report::Reporter;
use dovetail_base::target::{Family, HardwareStage, Stage, WaveSize};
use dovetail_isa::instruction::Instruction;
use dovetail_isa::{Isa, Op, encode};
use dovetail_metadata::registers::RegisterWords;

/// The instructions of gfx1100.
pub(super) fn gfx11() -> &'static Isa {
    Isa::of("gfx1100".parse().expect("known"))
}

/// The places, in the order of code that ends after it, of the instructions that a pass reports.
pub(super) fn places(
    isa: &'static Isa,
    wave: WaveSize,
    code: &[Instruction],
    check: impl Fn(&Graph, &mut Reporter<'_>),
) -> Vec<usize> {
    let mut words = Vec::new();
    let end = Instruction::program(isa, Op::SEndpgm, 0);
    let starts: Vec<u32> = code
        .iter()
        .chain([&end])
        .map(|inst| {
            let start = words.len() as u32;
            encode(isa, wave, inst, &mut words).expect("encodes");
            start
        })
        .collect();
    let hardware = HardwareStage::Cs;
    let parts = vec![CodeSpan { symbol: hardware.entry_symbol(), start: 0, end: words.len() as u32 }];
    let stage = StageCode {
        stage: Stage::Compute,
        hardware,
        wave,
        entry: 0,
        user_data: Vec::new(),
        vgprs: [256; 2],
        sgprs: 128,
        scratch: false,
        lds: 0,
    };
    let code = Code { isa, words, parts, stages: Vec::new(), registers: RegisterWords::new(Family::Gfx11) };
    let mut reporter = Reporter::new(&code, &stage);
    let graph = Graph::new(&code, &stage, &mut reporter);
    check(&graph, &mut reporter);
    let found = reporter.finish().map(|finding| finding.place.address / 4);
    found.map(|at| starts.binary_search(&at).expect("an instruction")).collect()
}
