//! Every row in every form: encoded to bytes, disassembled to text, and assembled back.

use super::random::{Random, instructions};
use super::{GFX, llvm};
use crate::instruction::{Fields, VectorForm};
use crate::{Instruction, Op, OperandKind, Src, disassemble, encode};
use dovetail_base::target::WaveSize;
use std::collections::BTreeMap;

/// Rounds over the whole table.
const ROUNDS: u64 = 12;

/// Mnemonics that `llvm-mc-19` does not accept, with reasons.
const NOT_TAKEN: &[(&str, &str)] = &[];

/// Why the disassembler prints an instruction differently from how the assembler reads it.
fn says_otherwise(inst: &Instruction) -> Option<&'static str> {
    match &inst.fields {
        Fields::Ds(_) if inst.entry.op == Op::DsSwizzleB32 => Some("the pattern is spelled out"),
        Fields::Scalar(_) if inst.entry.op == Op::SWaitcntDepctr => Some("the fields are spelled out"),
        _ => neither(inst),
    }
}

/// Why the assembler reads an instruction differently from how the disassembler prints it.
fn reads_otherwise(inst: &Instruction) -> Option<&'static str> {
    match &inst.fields {
        Fields::Vector(f) if inst.entry.src.is_empty() && f.form != VectorForm::Short => Some("no name for this form"),
        Fields::Vector(f) => {
            let wide =
                |i: usize| inst.entry.src_kind(i) == OperandKind::F64 && matches!(f.srcs[i], Some(Src::Literal(_)));
            let changed = |i: usize| (f.mods.abs | f.mods.neg) >> i & 1 == 1;
            (0..3).any(|i| wide(i) && changed(i)).then_some("a double's literal takes no sign")
        }
        _ => neither(inst),
    }
}

/// Why both tools differ from us.
fn neither(inst: &Instruction) -> Option<&'static str> {
    match &inst.fields {
        Fields::Image(f) if f.lwe && !f.tfe => Some("the status register is left out"),
        _ => None,
    }
}

fn samples(wave: WaveSize) -> Vec<Instruction> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ u64::from(wave.lanes()));
    let round = |_| GFX.rows().flat_map(|row| instructions(&mut random, row.op, wave)).collect::<Vec<_>>();
    (0..ROUNDS).flat_map(round).collect()
}

fn dwords(inst: &Instruction, wave: WaveSize) -> Vec<u32> {
    let mut dwords = Vec::new();
    encode(GFX, wave, inst, &mut dwords).unwrap_or_else(|e| panic!("{e}"));
    dwords
}

#[test]
fn decoding_undoes_encoding() {
    for wave in [WaveSize::W32, WaveSize::W64] {
        for inst in samples(wave) {
            let mut code = dwords(&inst, wave);
            assert_eq!(code.len(), usize::from(inst.dwords()), "{}", inst.text(GFX, wave));
            assert_eq!(disassemble(GFX, &code), Ok(inst), "{} {code:x?}", inst.text(GFX, wave));
            code.push(0xbf80_0000);
            assert_eq!(disassemble(GFX, &code), Ok(inst), "{} and another", inst.text(GFX, wave));
            code.truncate(usize::from(inst.dwords()) - 1);
            assert!(disassemble(GFX, &code).is_err(), "{} without its last dword", inst.text(GFX, wave));
        }
    }
}

/// Errors by operation, a few examples each.
#[derive(Default)]
struct Wrong(BTreeMap<&'static str, Vec<String>>);

impl Wrong {
    fn add(&mut self, inst: &Instruction, what: String) {
        let known = NOT_TAKEN.iter().any(|(name, _)| *name == inst.entry.mnemonic);
        if !known {
            self.0.entry(inst.entry.mnemonic).or_default().push(what);
        }
    }

    fn none(&self) {
        let shown: Vec<String> = self.0.values().flat_map(|list| list.iter().take(2).cloned()).collect();
        let counts: Vec<String> = self.0.iter().map(|(name, list)| format!("{name} {}", list.len())).collect();
        assert!(self.0.is_empty(), "{}\n{}", shown.join("\n"), counts.join(", "));
    }
}

#[test]
fn the_disassembler_says_what_we_print() {
    let mut wrong = Wrong::default();
    for wave in [WaveSize::W32, WaveSize::W64] {
        let insts = samples(wave);
        let blocks: Vec<String> = insts.iter().map(|inst| llvm::block(&dwords(inst, wave))).collect();
        let Some(answers) = llvm::listings("the_disassembler_says_what_we_print", wave, &blocks) else { return };
        for (inst, theirs) in insts.iter().zip(answers) {
            let ours = inst.text(GFX, wave);
            if theirs.as_ref() != Ok(&ours) && says_otherwise(inst).is_none() {
                wrong.add(inst, format!("ours:   {ours}\ntheirs: {theirs:?}"));
            }
        }
    }
    wrong.none();
}

#[test]
fn the_assembler_reads_our_text_as_our_bytes() {
    let mut wrong = Wrong::default();
    for wave in [WaveSize::W32, WaveSize::W64] {
        let insts = samples(wave);
        let texts: Vec<String> = insts.iter().map(|inst| inst.text(GFX, wave)).collect();
        let Some(answers) = llvm::assemble("the_assembler_reads_our_text_as_our_bytes", wave, &texts) else { return };
        for ((inst, text), theirs) in insts.iter().zip(texts).zip(answers) {
            let ours = llvm::block(&dwords(inst, wave));
            if theirs.as_ref() != Ok(&ours) && reads_otherwise(inst).is_none() {
                wrong.add(inst, format!("{text}\n  ours:   {ours}\n  theirs: {theirs:?}"));
            }
        }
    }
    wrong.none();
}

#[test]
fn every_row_is_tried() {
    let insts = samples(WaveSize::W32);
    let unseen: Vec<&str> = GFX
        .rows()
        .map(|row| row.op)
        .map(|op| GFX.row(op))
        .filter(|entry| !insts.iter().any(|inst| inst.entry == *entry))
        .map(|entry| entry.mnemonic)
        .collect();
    assert!(unseen.is_empty(), "{unseen:?}");
    assert!(NOT_TAKEN.iter().all(|(name, why)| !why.is_empty() && insts.iter().any(|i| i.entry.mnemonic == *name)));
}
