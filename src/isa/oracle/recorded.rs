//! What `llvm-mc-22` said of some instructions of gfx11, gfx11.5 and gfx12, for machines that do not have it.
//!
//! The record is made by `cargo test --profile checked -p dovetail-isa -- --ignored record_encodings`: an instruction of
//! each row, in one of its forms, of which the disassembler and the assembler say the same.

use super::random::{Random, instructions};
use super::{JUDGES, llvm};
use crate::{Isa, disassemble, encode};
use dovetail_base::target::WaveSize;
use std::collections::BTreeMap;

const RECORD: &str = include_str!("../../../testdata/isa/encodings-llvm22.tsv");

#[test]
fn recorded_encodings_are_read_and_written() {
    let mut lines = BTreeMap::<&str, usize>::new();
    for line in RECORD.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let &[gpu, lanes, words, text] = columns.as_slice() else { panic!("{line}") };
        let isa = Isa::of(gpu.parse().expect("known"));
        let wave = WaveSize::try_from(lanes.parse::<u32>().expect("a number")).expect("a wave size");
        let words: Vec<u32> = words.split(' ').map(|word| u32::from_str_radix(word, 16).expect("a word")).collect();
        let inst = disassemble(isa, &words).expect(text);
        assert_eq!(inst.spelled(isa, wave, true), text, "{line}");
        let mut again = Vec::new();
        encode(isa, wave, &inst, &mut again).expect(text);
        assert_eq!(again, words, "{line}");
        *lines.entry(gpu).or_default() += 1;
    }
    assert!(["gfx1100", "gfx1150", "gfx1200"].iter().all(|gpu| lines[gpu] > 1000), "{lines:?}");
}

#[test]
#[ignore = "writes testdata/isa/encodings-llvm22.tsv"]
fn record_encodings() {
    let mut out = "#gpu\tlanes\tdwords\ttext, as llvm-mc-22 disassembles and assembles it\n".to_owned();
    for (gpu, wave) in [("gfx1100", WaveSize::W64), ("gfx1150", WaveSize::W32), ("gfx1200", WaveSize::W32)] {
        let judge = JUDGES.iter().find(|judge| judge.gpu == gpu).expect("judged");
        let (isa, mut random) = (judge.isa(), Random(0x1234_5678_9abc_def1));
        let one = |row| {
            let mut forms = instructions(&mut random, isa, row, wave);
            (!forms.is_empty()).then(|| forms.swap_remove(random.below(forms.len() as u32) as usize))
        };
        let insts: Vec<_> = isa.rows().filter_map(one).collect();
        let words = insts.iter().map(|inst| {
            let mut words = Vec::new();
            encode(isa, wave, inst, &mut words).expect("valid");
            words
        });
        let words: Vec<Vec<u32>> = words.collect();
        let blocks: Vec<String> = words.iter().map(|words| llvm::block(words)).collect();
        let texts = llvm::listings(judge, "record_encodings", wave, &blocks).expect("llvm-mc-22");
        let texts: Vec<String> = texts.into_iter().map(Result::unwrap_or_default).collect();
        let bytes = llvm::assemble(judge, "record_encodings", wave, &texts).expect("llvm-mc-22");
        let said = insts.iter().zip(&texts).zip(bytes);
        for ((words, block), ((inst, text), bytes)) in words.iter().zip(&blocks).zip(said) {
            // The known differences of the tool are no record.
            if bytes.as_ref() == Ok(block) && inst.spelled(isa, wave, true) == *text {
                let words: Vec<String> = words.iter().map(|word| format!("{word:08x}")).collect();
                out += &format!("{gpu}\t{}\t{}\t{text}\n", wave.lanes(), words.join(" "));
            }
        }
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/isa/encodings-llvm22.tsv");
    std::fs::write(file, out).expect("the record");
}
