//! Handwritten code in a pipeline, for the checker: where a rule is violated, and that no other rule is.

#![allow(dead_code, reason = "each test program uses its own part of this")]

use crate::link_support::{Unlinked, fragment, state, vertex};
use crate::support::tool;
use dovetail::check::{CodeRule, CodeViolation, check};
use dovetail::link::{EmitGlue, GlueSource, Placement, link};
use dovetail::target::{Gpu, WaveSize};
use object::{Object, ObjectSection, ObjectSymbol};

/// Code, with the position of the line that begins with `>`.
pub struct Assembled {
    /// Its dwords.
    pub words: Vec<u32>,
    /// Byte offset of the line.
    pub bad: Option<u32>,
}

pub fn assemble(test: &str, wave: WaveSize, text: &str) -> Option<Assembled> {
    assemble_for(test, Gpu::default(), wave, text)
}

fn assemble_for(test: &str, gpu: Gpu, wave: WaveSize, text: &str) -> Option<Assembled> {
    let text: String = text.lines().map(|l| l.trim().replacen('>', "bad_here:\n", 1) + "\n").collect();
    let attributes = format!("-mattr=+wavefrontsize{}", wave.lanes());
    let cpu = format!("-mcpu={gpu}");
    let args = ["-arch=amdgcn", &cpu, &attributes, "-filetype=obj"];
    let bytes = tool(test, "llvm-mc-19")?.run(&args, text.as_bytes());
    let file = object::File::parse(&*bytes).expect("an object");
    let data = file.section_by_name(".text").expect("code").data().expect("bytes");
    let (words, _) = data.as_chunks::<4>();
    let bad = file.symbols().find(|s| s.name() == Ok("bad_here")).map(|s| s.address() as u32);
    Some(Assembled { words: words.iter().map(|w| u32::from_le_bytes(*w)).collect(), bad })
}

/// Links a part with this body; compute parts have 512 bytes of LDS, 24 SGPRs and 16 VGPRs.
pub fn linked(part: Unlinked, words: Vec<u32>, placement: Placement) -> Vec<u8> {
    linked_with(part, words, placement, &EmitGlue)
}

/// The same with another source of glue.
pub fn linked_with(mut part: Unlinked, words: Vec<u32>, placement: Placement, glue: &dyn GlueSource) -> Vec<u8> {
    part.code = words;
    (part.sgprs, part.vgprs) = (24, 16);
    let gpu = part.interface.target;
    let others: Vec<Unlinked> = match part.symbol.as_str() {
        "_amdgpu_cs_main" => {
            part.registers[1].1 |= 1 << 15;
            vec![]
        }
        "_amdgpu_ps_main" => vec![vertex()],
        _ => vec![fragment_body()],
    };
    let parts: Vec<Vec<u8>> =
        others.into_iter().map(|other| other.on(gpu)).chain([part]).map(|part| part.build()).collect();
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    link(&parts, &state(), placement, glue).expect("a pipeline")
}

/// `fragment()` with all four components of its colour: `v_mov_b32 v2, 0; v_mov_b32 v3, 0`.
fn fragment_body() -> Unlinked {
    let mut part = fragment();
    part.code = vec![0x7e04_0280, 0x7e06_0280];
    part
}

/// All findings.
pub fn findings(elf: &[u8]) -> Vec<CodeViolation> {
    check(elf).expect("code").findings
}

/// What is found in code of the part's GPU, and the offset of the marked line; `None` if the assembler is missing.
pub fn found(test: &str, part: fn() -> Unlinked, text: &str) -> Option<(Vec<CodeViolation>, Option<u32>)> {
    let interface = part().interface;
    let code = assemble_for(test, interface.target, interface.wave, text)?;
    Some((findings(&linked(part(), code.words, Placement::Adjacent)), code.bad))
}

/// Checks that the rule is violated where the text says, and no other rule anywhere.
#[track_caller]
pub fn breaks(test: &str, part: fn() -> Unlinked, rule: CodeRule, text: &str) {
    let interface = part().interface;
    let Some(code) = assemble_for(test, interface.target, interface.wave, text) else { return };
    let bad = code.bad.expect("a marked line");
    let elf = linked(part(), code.words, Placement::Adjacent);
    let found = findings(&elf);
    let places: Vec<_> = found.iter().map(|f| (f.rule, f.place.part, f.place.offset)).collect();
    assert_eq!(places, [(rule, "body", bad)], "{}", found.iter().map(|f| f.to_string() + "\n").collect::<String>());
}

/// Checks that no rule is violated.
#[track_caller]
pub fn keeps(test: &str, part: fn() -> Unlinked, text: &str) {
    let interface = part().interface;
    let Some(code) = assemble_for(test, interface.target, interface.wave, text) else { return };
    for placement in [Placement::Adjacent, Placement::Chained] {
        let found = findings(&linked(part(), code.words.clone(), placement));
        assert!(found.is_empty(), "{}", found.iter().map(|f| f.to_string() + "\n").collect::<String>());
    }
}
