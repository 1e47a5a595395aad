//! Every row in every form: encoded to bytes, disassembled to text, and assembled back.

use super::random::{Random, any_dual, instructions};
use super::{JUDGES, Judge, llvm};
use crate::instruction::{Fields, VectorFields, VectorForm};
use crate::{Format, InlineFloat, Instruction, Op, OpcodeRow, OperandKind, Src, Traits, disassemble, encode};
use dovetail_base::target::WaveSize;
use std::collections::BTreeMap;

/// Rounds over the whole table.
const ROUNDS: u64 = 12;

/// Mnemonics that `llvm-mc` does not accept, with reasons.
const NOT_TAKEN: &[(&str, &str)] = &[];

/// Why the disassembler prints an instruction differently from how the assembler reads it.
fn says_otherwise(judge: &Judge, inst: &Instruction) -> Option<&'static str> {
    match &inst.fields {
        Fields::Ds(_) if inst.entry.op == Op::DsSwizzleB32 => Some("the pattern is spelled out"),
        _ if judge.tool == "llvm-mc-22" && loses_a_bit(inst) => Some("a bit is lost"),
        Fields::Scalar(_) if inst.entry.op == Op::SWaitcntDepctr => Some("the fields are spelled out"),
        Fields::Scalar(_) if of_no_counter(judge, inst) => Some("no counters, but their names"),
        Fields::Vector(f) if inst.entry.op == Op::VCndmaskB32 && f.mods.abs & 2 != 0 && !judge.isa().names.halves => {
            Some("the mask is listed inside the bars of source 1")
        }
        _ => neither(inst),
    }
}

/// Whether `llvm-mc-22` loses bits of the last dword: bit 7 of a literal, bit 15 of lanes.
/// Of `v_fma_mixlo`, `v_fma_mixhi` and conversions to pairs of small floats it may misread any of them.
fn loses_a_bit(inst: &Instruction) -> bool {
    match &inst.fields {
        Fields::Dual(f) => f.constant == Some(0x80),
        Fields::Scalar(f) if inst.entry.is(Traits::CONSTANT_SECOND.or(Traits::CONSTANT_THIRD)) => {
            f.srcs.contains(&Some(Src::Literal(0x80)))
        }
        Fields::Vector(f) => match f.form {
            VectorForm::Dpp8 { lanes, .. } => lanes == 0x80,
            VectorForm::LongDpp16(_) | VectorForm::LongDpp8 { .. } => {
                let packs = matches!(inst.entry.op, Op::VCvtPkFp8F32 | Op::VCvtPkBf8F32);
                packs || inst.entry.is(Traits::MIX) && inst.entry.is(Traits::PARTIAL)
            }
            VectorForm::Short => f.srcs.contains(&Some(Src::Literal(0x80))),
            _ => false,
        },
        _ => false,
    }
}

/// A wait of other families, which gfx12 has, but not its counters.
fn of_no_counter(judge: &Judge, inst: &Instruction) -> bool {
    inst.entry.op == Op::SWaitcnt && judge.isa().waits.waited(Op::SWaitcnt, 0).is_none()
}

/// Why the assembler reads an instruction differently from how the disassembler prints it.
fn reads_otherwise(judge: &Judge, inst: &Instruction) -> Option<&'static str> {
    match &inst.fields {
        Fields::Scalar(f) if inst.entry.format == Format::Sopc && inst.entry.src_kind(0) == OperandKind::F16 => {
            f.srcs.iter().any(|src| matches!(src, Some(Src::Float(_)))).then_some("a constant is spelled as its bits")
        }
        Fields::Scalar(_) if of_no_counter(judge, inst) => Some("no counters, but their names"),
        Fields::Vector(f) if of_packed(judge, inst, f) => Some("an inline float is read as a literal, or not at all"),
        Fields::Vector(f)
            if inst.entry.op == Op::VCndmaskB16 && f.srcs.iter().any(|src| matches!(src, Some(Src::Float(_)))) =>
        {
            Some("a constant is spelled as its bits")
        }
        Fields::Vector(f) if inst.entry.op == Op::VFmacF16 && f.mods.op_sel & 8 != 0 => {
            Some("the tied half is spelled as another")
        }
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

/// Whether it has an inline float in an operand of which `llvm-mc-22` takes no such: of the packed accumulation of gfx11, and
/// 1/(2π) of matrices.
fn of_packed(judge: &Judge, inst: &Instruction, f: &VectorFields) -> bool {
    let matrix = inst.entry.dst_kind(0).is_matrix();
    let packed = inst.entry.op == Op::VPkFmacF16 && judge.tool == "llvm-mc-22";
    let inline = |src: &Option<Src>| match src {
        Some(Src::Float(InlineFloat::InverseTwoPi)) => matrix || packed,
        Some(Src::Float(_)) => packed,
        _ => false,
    };
    f.srcs.iter().any(inline)
}

/// Why both tools differ from us.
fn neither(inst: &Instruction) -> Option<&'static str> {
    match &inst.fields {
        Fields::Image(f) if f.lwe && !f.tfe => Some("the status register is left out"),
        _ => None,
    }
}

fn samples(judge: &Judge, wave: WaveSize) -> Vec<Instruction> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ u64::from(wave.lanes()));
    let isa = judge.isa();
    let round = |_| isa.rows().flat_map(|row| instructions(&mut random, isa, row, wave)).collect::<Vec<_>>();
    (0..ROUNDS).flat_map(round).collect()
}

fn dwords(judge: &Judge, inst: &Instruction, wave: WaveSize) -> Vec<u32> {
    let mut dwords = Vec::new();
    encode(judge.isa(), wave, inst, &mut dwords).unwrap_or_else(|e| panic!("{e}"));
    dwords
}

fn cases() -> impl Iterator<Item = (&'static Judge, WaveSize)> {
    JUDGES.iter().flat_map(|judge| [WaveSize::W32, WaveSize::W64].map(|wave| (judge, wave)))
}

#[test]
fn decoding_undoes_encoding() {
    for (judge, wave) in cases() {
        let isa = judge.isa();
        for inst in samples(judge, wave) {
            let mut code = dwords(judge, &inst, wave);
            assert_eq!(code.len(), usize::from(inst.dwords()), "{}", inst.text(isa, wave));
            assert_eq!(disassemble(isa, &code), Ok(inst), "{} {code:x?}", inst.text(isa, wave));
            code.push(0xbf80_0000);
            assert_eq!(disassemble(isa, &code), Ok(inst), "{} and another", inst.text(isa, wave));
            code.truncate(usize::from(inst.dwords()) - 1);
            assert!(disassemble(isa, &code).is_err(), "{} without its last dword", inst.text(isa, wave));
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
    let (mut wrong, mut died) = (Wrong::default(), 0);
    for (judge, wave) in cases() {
        let insts = samples(judge, wave);
        let blocks: Vec<String> = insts.iter().map(|inst| llvm::block(&dwords(judge, inst, wave))).collect();
        let answers = llvm::listings(judge, "the_disassembler_says_what_we_print", wave, &blocks);
        for (inst, theirs) in insts.iter().zip(answers.into_iter().flatten()) {
            let ours = inst.spelled(judge.isa(), wave, true);
            if theirs.as_ref().is_err_and(|why| why == llvm::DIES) {
                // `llvm-mc-22`, of some 16-bit operations whose second dword is nearly 0.
                died += 1;
            } else if theirs.as_ref() != Ok(&ours) && says_otherwise(judge, inst).is_none() {
                wrong.add(inst, format!("{} ours:   {ours}\n        theirs: {theirs:?}", judge.gpu));
            }
        }
    }
    wrong.none();
    assert!(died < 50, "{died}");
}

#[test]
fn the_assembler_reads_our_text_as_our_bytes() {
    let mut wrong = Wrong::default();
    for (judge, wave) in cases() {
        let insts = samples(judge, wave);
        let texts: Vec<String> = insts.iter().map(|inst| inst.spelled(judge.isa(), wave, true)).collect();
        let answers = llvm::assemble(judge, "the_assembler_reads_our_text_as_our_bytes", wave, &texts);
        for ((inst, text), theirs) in insts.iter().zip(texts).zip(answers.into_iter().flatten()) {
            let ours = llvm::block(&dwords(judge, inst, wave));
            if theirs.as_ref() != Ok(&ours) && reads_otherwise(judge, inst).is_none() {
                wrong.add(inst, format!("{} {text}\n  ours:   {ours}\n  theirs: {theirs:?}", judge.gpu));
            }
        }
    }
    wrong.none();
}

#[test]
fn every_row_is_tried() {
    for judge in &JUDGES {
        let insts = samples(judge, WaveSize::W32);
        let tried = |entry: &OpcodeRow| {
            let second = |inst: &Instruction| matches!(&inst.fields, Fields::Dual(f) if f.second == entry);
            insts.iter().any(|inst| inst.entry == entry || second(inst))
        };
        let unseen: Vec<&str> = judge.isa().rows().filter(|entry| !tried(entry)).map(|entry| entry.mnemonic).collect();
        assert!(unseen.is_empty(), "{unseen:?}");
    }
    assert!(NOT_TAKEN.iter().all(|(_, why)| !why.is_empty()));
}

/// Pairs of halves with random operands: the assembler takes those that we take, and no others.
#[test]
fn halves_in_conflict_are_those_that_the_assembler_refuses() {
    let test = "halves_in_conflict_are_those_that_the_assembler_refuses";
    for judge in JUDGES.iter().filter(|judge| judge.isa().has(Op::VDualMovB32)) {
        let mut random = Random(0x0123_4567_89ab_cdef);
        let pairs: Vec<Instruction> = (0..4000).map(|_| any_dual(&mut random, judge.isa())).collect();
        let texts: Vec<String> = pairs.iter().map(|inst| inst.spelled(judge.isa(), WaveSize::W32, true)).collect();
        let Some(answers) = llvm::assemble(judge, test, WaveSize::W32, &texts) else { continue };
        let mut taken = 0;
        for ((inst, text), theirs) in pairs.iter().zip(texts).zip(answers) {
            let Fields::Dual(f) = &inst.fields else { continue };
            let ours = f.conflict(inst.entry);
            taken += usize::from(ours.is_none());
            assert_eq!(ours.is_none(), theirs.is_ok(), "{text}: {ours:?}, {theirs:?}");
        }
        assert!((400..3600).contains(&taken), "{taken}");
    }
}
