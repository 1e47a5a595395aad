//! Encoder, printer and decoder against each other and against `llvm-mc`: every row, every form, random valid operands.

mod llvm;
mod random;
mod random_memory;
mod recorded;
mod refusals;
mod round_trip;

use super::{Instruction, encode};
use crate::Isa;
use dovetail_base::target::{Gpu, WaveSize};

pub use dovetail_testing as support;

const GFX: &Isa = Isa::of(Gpu::Gfx1030);

/// A GPU, and what knows its instructions.
pub(super) struct Judge {
    /// LLVM's processor name.
    pub(super) gpu: &'static str,
    /// The assembler and disassembler: the oldest that knows all operations.
    pub(super) tool: &'static str,
    /// The disassembler's own example of each opcode.
    pub(super) examples: &'static str,
    /// Least number of examples that the assembler reads as they are.
    pub(super) usable: usize,
}

impl Judge {
    pub(super) fn isa(&self) -> &'static Isa {
        Isa::of(self.gpu.parse().expect("known"))
    }
}

/// One GPU for each instruction set that is judged.
pub(super) const JUDGES: [Judge; 4] = [
    Judge {
        gpu: "gfx1030",
        tool: "llvm-mc-19",
        examples: include_str!("../../../testdata/isa/opcodes-gfx1030.tsv"),
        usable: 1400,
    },
    Judge {
        gpu: "gfx1100",
        tool: "llvm-mc-22",
        examples: include_str!("../../../testdata/isa/opcodes-gfx1100.tsv"),
        usable: 1400,
    },
    Judge {
        gpu: "gfx1150",
        tool: "llvm-mc-22",
        examples: include_str!("../../../testdata/isa/opcodes-gfx1150.tsv"),
        usable: 1400,
    },
    Judge {
        gpu: "gfx1200",
        tool: "llvm-mc-22",
        examples: include_str!("../../../testdata/isa/opcodes-gfx1200.tsv"),
        usable: 1400,
    },
];

/// For every opcode in the table: the assembler's encoding of the disassembler's own example must be listed
/// identically.
#[test]
fn every_number_is_listed_as_the_disassembler_lists_it() {
    // Operand kinds that nothing here emits; only the name is compared.
    const BY_NAME: [&str; 6] = [
        "s_subvector_loop_begin",
        "s_subvector_loop_end",
        "s_waitcnt_depctr",
        "s_wait_alu",
        "s_atc_probe",
        "s_atc_probe_buffer",
    ];
    for judge in &JUDGES {
        let isa = judge.isa();
        let test = "every_number_is_listed_as_the_disassembler_lists_it";
        let Some(examples) = encoded_examples(judge, test, &[]) else { continue };
        for (text, words) in &examples {
            let inst = crate::disassemble(isa, words).expect(text);
            assert_eq!(usize::from(inst.dwords()), words.len(), "{text}");
            let mut again = Vec::new();
            encode(isa, WaveSize::W32, &inst, &mut again).expect(text);
            assert_eq!(again, *words, "{text}");
            // gfx12 has the instruction, but not its counters.
            let without = inst.entry.op == crate::Op::SWaitcnt && isa.waits.waited(inst.entry.op, 0).is_none();
            if without || BY_NAME.contains(&inst.entry.mnemonic) {
                assert!(text.starts_with(inst.entry.mnemonic));
            } else {
                assert_eq!(inst.text(isa, WaveSize::W32), *text);
            }
            assert!(crate::disassemble(isa, &words[..words.len() - 1]).is_err(), "{text} without its last dword");
        }
        assert!(examples.len() > judge.usable, "{}: {}", judge.gpu, examples.len());
    }
}

/// The disassembler's examples and some more, with the dwords that the assembler makes of them; `None` without the tool.
pub(super) fn encoded_examples(judge: &Judge, test: &str, more: &[&str]) -> Option<Vec<(String, Vec<u32>)>> {
    let examples = judge.examples.lines().skip(1).filter_map(|line| line.split('\t').nth(5));
    // A half of a dual instruction is none.
    let whole = |text: &&str| !text.contains("Invalid register") && !text.starts_with("v_dual");
    let usable = examples.filter(whole).chain(more.iter().copied()).collect::<Vec<_>>().join("\n");
    let tool = support::tool(test, judge.tool)?;
    let gpu = format!("-mcpu={}", judge.gpu);
    // The assembler reads a few examples as something else, reports that and continues.
    let output = tool.output(
        &["-arch=amdgcn", &gpu, "-mattr=+wavefrontsize32,-wavefrontsize64", "-show-encoding"],
        usable.as_bytes(),
    );
    let output = String::from_utf8(output.stdout).expect("text");
    let of_line = |line: &str| {
        let (text, encoding) = line.split_once("encoding: [")?;
        let text = text.trim().trim_end_matches([';', '/', ' ']).trim();
        let byte = |byte: &str| u8::from_str_radix(byte.trim().trim_start_matches("0x"), 16).expect("a byte");
        let bytes: Vec<u8> = encoding.trim_end_matches(']').split(',').map(byte).collect();
        let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four"))).collect();
        Some((text.to_owned(), words))
    };
    // It takes registers of another kind for some operands, and says so.
    Some(output.lines().filter(|line| !line.contains("Invalid register")).filter_map(of_line).collect())
}

/// Arbitrary dwords are rejected, or decoded to an instruction that can be listed.
#[test]
fn any_dwords_are_read_or_refused() {
    proptest::proptest!(|(words: [u32; 6], top in 0u32..64, judge in 0..JUDGES.len())| {
        let words = [words[0] & 0x03ff_ffff | top << 26, words[1], words[2], words[3], words[4], words[5]];
        if let Some((inst, again)) = read_twice(JUDGES[judge].isa(), &words) {
            proptest::prop_assert_eq!(inst, again, "only bits without a meaning are lost");
        }
    });
}

/// Every image access of every dimension, with each number of address dwords: it must be the required number, or
/// decoding fails.
#[test]
fn address_dwords_are_those_that_the_addresses_need() {
    let mut read = [0; 4];
    for case in 0..1u32 << 12 {
        let (number, dim, a16) = (case >> 4, case >> 1 & 7, case & 1);
        let lengths = (0..4u32).filter(|nsa| {
            let operation = (number & 0x7f) << 18 | number >> 7;
            let word = 0xf000_0000 | operation | 1 << 8 | dim << 3 | nsa << 1;
            let read = read_twice(GFX, &[word, a16 << 30, 0x0403_0201, 0x0807_0605, 0x0c0b_0a09]);
            read.is_some_and(|(inst, again)| inst == again)
        });
        let lengths: Vec<u32> = lengths.collect();
        lengths.iter().for_each(|nsa| read[*nsa as usize] += 1);
        assert!(lengths.iter().filter(|nsa| **nsa > 0).count() <= 1, "image {number}, dimension {dim}: {lengths:?}");
    }
    assert!(read.iter().all(|count| *count > 0), "{read:?}");
}

/// The instruction that these dwords decode to, and the instruction that its encoding decodes to (the same one, if the
/// encoder rejects it).
fn read_twice(isa: &'static Isa, words: &[u32]) -> Option<(Instruction, Instruction)> {
    let inst = crate::disassemble(isa, words).ok()?;
    assert!(!inst.text(isa, WaveSize::W64).is_empty());
    let mut written = Vec::new();
    let Ok(()) = encode(isa, WaveSize::W32, &inst, &mut written) else { return Some((inst, inst)) };
    assert_eq!(written.len(), usize::from(inst.dwords()), "{}", inst.text(isa, WaveSize::W64));
    Some((inst, crate::disassemble(isa, &written).expect("what the encoder wrote")))
}
