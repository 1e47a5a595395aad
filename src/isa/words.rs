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
pub fn chosen(word: u32, first: bool) -> Option<u32> {
    let [a, b] = [word & 0xff, word >> 8 & 0xff];
    let is_choice = word & 0xff80_0000 == S_CSELECT_B32 && ![a, b].contains(&LITERAL);
    is_choice.then_some(S_MOV_B32 | word & 0x7f_0000 | if first { a } else { b })
}

/// Whether a word is an `s_mov_b32` without a literal.
pub const fn is_move(word: u32) -> bool {
    word & 0xff80_ff00 == S_MOV_B32 && word & 0xff != LITERAL
}

/// Distance of a branch in dwords, counted from the next instruction; `None` if the word is no branch.
pub fn branch_distance(word: u32) -> Option<i16> {
    // s_branch, and s_cbranch_scc0 to s_cbranch_execnz.
    let is_branch = matches!(word >> 16, 0xbf82 | 0xbf84..=0xbf89);
    is_branch.then_some((word as u16).cast_signed())
}

/// `s_load_dword` to `s_load_dwordx16` by address, as the two dwords of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadWords(pub u64);

impl LoadWords {
    /// The load, if it is one.
    pub fn new(words: u64) -> Option<Self> {
        (words & 0xff00_0000 == 0xf400_0000 && words >> 18 & 0x3f <= 4).then_some(Self(words))
    }

    /// Number of dwords loaded.
    pub const fn dwords(self) -> u32 {
        1 << (self.0 >> 18 & 7)
    }

    /// The same load of another number of dwords; its first dword.
    pub const fn widened(self, dwords: u32) -> u32 {
        self.0 as u32 & !(7 << 18) | dwords.trailing_zeros() << 18
    }

    /// First register loaded.
    pub const fn data(self) -> u32 {
        self.0 as u32 >> 6 & 0x7f
    }

    /// Half of the first register of the address.
    pub const fn base(self) -> u32 {
        self.0 as u32 & 0x3f
    }

    /// Constant offset.
    pub const fn offset(self) -> u32 {
        (self.0 >> 32) as u32 & 0x1f_ffff
    }
}

/// Shift of the offset register in the two dwords of a scalar load, and its code if there is none.
const OFFSET_REGISTER: u32 = 57;
const NO_REGISTER: u64 = 125;

/// A scalar load by address without its offset register: that register and the next one are its address if `second`. `None`
/// if it is no such load, or the register is odd or none.
pub fn with_table(words: u64, second: bool) -> Option<u64> {
    let LoadWords(words) = LoadWords::new(words)?;
    let register = words >> OFFSET_REGISTER;
    let even = register.is_multiple_of(2) && register < NO_REGISTER;
    let table = if second { register / 2 } else { words & 0x3f };
    let rest = words & !(0x7f << OFFSET_REGISTER) & !0x3f;
    even.then_some(rest | NO_REGISTER << OFFSET_REGISTER | table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::instruction::{Fields, SmemFields};
    use crate::isa::{CachePolicy, Instruction, Isa, Op, Scalar, Sgpr, Src, encode_all};
    use crate::target::{Gpu, WaveSize};

    #[test]
    fn the_words_are_what_the_encoder_makes() {
        for (op, word) in [(Op::SNop, S_NOP), (Op::SBranch, S_BRANCH), (Op::SCodeEnd, S_CODE_END)] {
            let inst = Instruction::program(Isa::of(Gpu::Gfx1030), op, 0);
            assert_eq!(encode_all(Isa::of(Gpu::Gfx1030), WaveSize::W32, &[inst]).expect("encodes"), word.to_le_bytes());
        }
    }

    fn s(n: u8) -> Scalar {
        Scalar::Sgpr(Sgpr::new(n).expect("in range"))
    }

    fn word(op: Op, srcs: &[Src]) -> u32 {
        let inst = Instruction::scalar(Isa::of(Gpu::Gfx1030), op, Some(s(9)), srcs);
        let bytes = encode_all(Isa::of(Gpu::Gfx1030), WaveSize::W32, &[inst]).expect("encodes");
        u32::from_le_bytes(*bytes.first_chunk().expect("a dword"))
    }

    fn load(op: Op, base: u8, offset: i32, soffset: Option<Scalar>) -> u64 {
        let fields = SmemFields { data: s(8), base: s(base), offset, soffset, cache: CachePolicy::default() };
        let inst = Instruction::new(Isa::of(Gpu::Gfx1030), op, Fields::Smem(fields));
        let bytes = encode_all(Isa::of(Gpu::Gfx1030), WaveSize::W32, &[inst]).expect("encodes");
        u64::from_le_bytes(bytes.try_into().expect("two dwords"))
    }

    #[test]
    fn loads_get_wider_and_another_address() {
        let ops = [Op::SLoadDword, Op::SLoadDwordx2, Op::SLoadDwordx4, Op::SLoadDwordx8, Op::SLoadDwordx16];
        for (n, op) in ops.into_iter().enumerate() {
            let words = LoadWords::new(load(op, 4, 0x30, None)).expect("a load");
            assert_eq!((words.dwords(), words.data(), words.base(), words.offset()), (1 << n, 8, 2, 0x30));
            assert_eq!(words.widened(16), load(Op::SLoadDwordx16, 4, 0x30, None) as u32);
            let open = load(op, 4, 0x30, Some(s(6)));
            assert_eq!(with_table(open, false), Some(load(op, 4, 0x30, None)));
            assert_eq!(with_table(open, true), Some(load(op, 6, 0x30, None)));
        }
        let by_descriptor = load(Op::SBufferLoadDword, 4, 0, Some(s(6)));
        assert_eq!((LoadWords::new(by_descriptor), with_table(by_descriptor, true)), (None, None));
        assert_eq!(with_table(load(Op::SLoadDword, 4, 0, Some(s(7))), true), None);
        assert_eq!(with_table(load(Op::SLoadDword, 4, 0, None), true), None);
    }

    #[test]
    fn moves_and_branches_are_recognised() {
        assert!(is_move(word(Op::SMovB32, &[Src::Scalar(s(3))])));
        assert!(!is_move(word(Op::SMovB32, &[Src::Literal(1000)])));
        assert!(!is_move(word(Op::SNotB32, &[Src::Scalar(s(3))])));
        let program = |op, imm| {
            let inst = Instruction::program(Isa::of(Gpu::Gfx1030), op, imm);
            let bytes = encode_all(Isa::of(Gpu::Gfx1030), WaveSize::W32, &[inst]).expect("encodes");
            u32::from_le_bytes(bytes.try_into().expect("a dword"))
        };
        let branches = [Op::SBranch, Op::SCbranchScc0, Op::SCbranchScc1, Op::SCbranchVccz, Op::SCbranchVccnz];
        for op in branches.into_iter().chain([Op::SCbranchExecz, Op::SCbranchExecnz]) {
            assert_eq!(branch_distance(program(op, 0xfffe)), Some(-2), "{op:?}");
        }
        for op in [Op::SNop, Op::SEndpgm, Op::SWaitcnt, Op::SBarrier] {
            assert_eq!(branch_distance(program(op, 0)), None, "{op:?}");
        }
    }

    #[test]
    fn a_choice_is_a_move_of_one_source() {
        let [a, b] = [Src::Scalar(s(3)), Src::Int(0)];
        let choice = word(Op::SCselectB32, &[a, b]);
        assert_eq!(chosen(choice, true), Some(word(Op::SMovB32, &[a])));
        assert_eq!(chosen(choice, false), Some(word(Op::SMovB32, &[b])));
    }
}
