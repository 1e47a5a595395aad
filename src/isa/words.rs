//! One-dword instructions as words, for joining, terminating, padding and specializing assembled code.

/// Size in bytes of a line of the instruction cache.
pub const LINE: u32 = 64;
/// `s_nop 0`.
pub const S_NOP: u32 = 0xbf80_0000;
/// `s_branch 0`, to the next instruction. The low 16 bits are the distance in dwords.
pub const S_BRANCH: u32 = 0xbf82_0000;
/// `s_code_end`, after the last instruction, for the prefetcher.
pub const S_CODE_END: u32 = 0xbf9f_0000;

const S_CSELECT_B32: u32 = 0x8500_0000;
const S_MOV_B32: u32 = 0xbe80_0300;
/// Operand code of a literal, which would follow the instruction.
const LITERAL: u32 = 255;

/// Replaces an `s_cselect_b32` whose condition is known by an `s_mov_b32` of its first or second source. `None` if the
/// word is not an `s_cselect_b32`, or has a literal.
/// literal.
pub fn chosen(word: u32, first: bool) -> Option<u32> {
    let [a, b] = [word & 0xff, word >> 8 & 0xff];
    let is_choice = word & 0xff80_0000 == S_CSELECT_B32 && ![a, b].contains(&LITERAL);
    is_choice.then_some(S_MOV_B32 | word & 0x7f_0000 | if first { a } else { b })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Instruction, Op, Scalar, Sgpr, Src, encode_all};
    use crate::target::{GfxIp, WaveSize};

    #[test]
    fn the_words_are_what_the_encoder_makes() {
        for (op, word) in [(Op::SNop, S_NOP), (Op::SBranch, S_BRANCH), (Op::SCodeEnd, S_CODE_END)] {
            let inst = Instruction::program(GfxIp::Gfx1030, op, 0);
            assert_eq!(encode_all(GfxIp::Gfx1030, WaveSize::W32, &[inst]).expect("encodes"), word.to_le_bytes());
        }
    }

    #[test]
    fn a_choice_is_a_move_of_one_source() {
        let s = |n| Scalar::Sgpr(Sgpr::new(n).expect("in range"));
        let word = |op, srcs: &[Src]| {
            let inst = Instruction::scalar(GfxIp::Gfx1030, op, Some(s(9)), srcs);
            let bytes = encode_all(GfxIp::Gfx1030, WaveSize::W32, &[inst]).expect("encodes");
            u32::from_le_bytes(bytes.try_into().expect("a dword"))
        };
        let [a, b] = [Src::Scalar(s(3)), Src::Int(0)];
        let choice = word(Op::SCselectB32, &[a, b]);
        assert_eq!(chosen(choice, true), Some(word(Op::SMovB32, &[a])));
        assert_eq!(chosen(choice, false), Some(word(Op::SMovB32, &[b])));
    }
}
