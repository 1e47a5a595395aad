//! One-dword instructions without operands, as words: to join, end and pad code that is assembled as bytes.

/// `s_nop 0`.
pub const S_NOP: u32 = 0xbf80_0000;
/// `s_branch 0`: to the next instruction. The low 16 bits are the distance in dwords.
pub const S_BRANCH: u32 = 0xbf82_0000;
/// `s_code_end`: after the last instruction, for the prefetcher.
pub const S_CODE_END: u32 = 0xbf9f_0000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Instruction, Op, encode_all};
    use crate::target::{GfxIp, WaveSize};

    #[test]
    fn the_words_are_what_the_encoder_makes() {
        for (op, word) in [(Op::SNop, S_NOP), (Op::SBranch, S_BRANCH), (Op::SCodeEnd, S_CODE_END)] {
            let inst = Instruction::program(GfxIp::Gfx1030, op, 0);
            assert_eq!(encode_all(GfxIp::Gfx1030, WaveSize::W32, &[inst]).expect("encodes"), word.to_le_bytes());
        }
    }
}
