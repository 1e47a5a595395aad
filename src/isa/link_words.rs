//! Instructions as words: what the linker writes into code, and what it recognises and changes there, without decoding.

use super::layout::{CodeField, EncodingLayout};
use super::operand_codes::{LITERAL, OperandCodes};
use super::tables::row_of;
use super::{Op, OpcodeRow};

/// The words of an instruction set that a link needs.
#[derive(Debug)]
pub struct LinkWords {
    /// `s_nop 0`.
    pub nop: u32,
    /// `s_branch 0`, to the next instruction. The low 16 bits are the distance in dwords.
    pub branch: u32,
    /// `s_code_end`, after the last instruction, for the prefetcher.
    pub code_end: u32,
    /// `nop` and `code_end` many times: most gaps are shorter and are filled by one copy.
    pub nops: WordRun,
    /// See `nops`.
    pub code_ends: WordRun,
    /// A distance with which a branch goes astray.
    pub bad_distance: Option<u16>,
    /// Branches, without their distances.
    branches: [u32; 7],
    /// `s_cselect_b32`, without operands.
    select: Pattern,
    /// `s_mov_b32`, without operands.
    copy: Pattern,
    /// Destination of both, and first and second source.
    dst: CodeField,
    srcs: [CodeField; 2],
    loads: Loads,
}

/// A word as often as it fits the 256 bytes to which code is aligned, in memory order.
pub type WordRun = [[u8; 4]; 64];

/// `s_load_dword` to `s_load_dwordx16` by address.
#[derive(Debug)]
struct Loads {
    /// First dwords without operands, by the logarithm of the number of dwords loaded.
    by_size: [u32; 5],
    /// Bits of prefix and opcode.
    mask: u32,
    data: CodeField,
    base: CodeField,
    offset: CodeField,
    /// Register of an offset, and its code if there is none.
    register: CodeField,
    none: u8,
}

/// Bits that tell an operation.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    mask: u32,
    value: u32,
}

impl Pattern {
    const fn matches(self, word: u32) -> bool {
        word & self.mask == self.value
    }
}

/// The first dword of a scalar operation or a scalar load without operands: beginning of the format, opcode.
const fn pattern(rows: &'static [OpcodeRow], layout: &EncodingLayout, op: Op) -> Pattern {
    let row = row_of(rows, op);
    let field = match layout.scalar(row.format) {
        Some(scalar) => scalar.op,
        None => layout.smem.op,
    };
    match (layout.prefix(row.format), field.put(row.number as u32)) {
        (Some(prefix), Some(number)) => {
            Pattern { mask: prefix.mask | field.mask() as u32, value: prefix.value | number as u32 }
        }
        // An operation that the instruction set lacks: no word matches.
        _ => Pattern { mask: 0, value: u32::MAX },
    }
}

impl LinkWords {
    pub(super) const fn new(
        rows: &'static [OpcodeRow],
        layout: &EncodingLayout,
        codes: OperandCodes,
        bad_distance: Option<u16>,
    ) -> Self {
        const LOADS: [Op; 5] =
            [Op::SLoadDword, Op::SLoadDwordx2, Op::SLoadDwordx4, Op::SLoadDwordx8, Op::SLoadDwordx16];
        const BRANCHES: [Op; 7] = [
            Op::SBranch,
            Op::SCbranchScc0,
            Op::SCbranchScc1,
            Op::SCbranchVccz,
            Op::SCbranchVccnz,
            Op::SCbranchExecz,
            Op::SCbranchExecnz,
        ];
        let (mut by_size, mut branches, mut n) = ([0; 5], [0; 7], 0);
        while n < BRANCHES.len() {
            branches[n] = pattern(rows, layout, BRANCHES[n]).value;
            if n < LOADS.len() {
                by_size[n] = pattern(rows, layout, LOADS[n]).value;
            }
            n += 1;
        }
        let smem = &layout.smem;
        let nop = pattern(rows, layout, Op::SNop).value;
        let code_end = pattern(rows, layout, Op::SCodeEnd).value;
        Self {
            nop,
            branch: pattern(rows, layout, Op::SBranch).value,
            code_end,
            nops: [nop.to_le_bytes(); 64],
            code_ends: [code_end.to_le_bytes(); 64],
            bad_distance,
            branches,
            select: pattern(rows, layout, Op::SCselectB32),
            copy: pattern(rows, layout, Op::SMovB32),
            dst: layout.sop2.dst,
            srcs: layout.sop2.srcs,
            loads: Loads {
                by_size,
                mask: pattern(rows, layout, Op::SLoadDword).mask,
                data: smem.data,
                base: smem.base,
                offset: smem.offset,
                register: smem.soffset,
                none: codes.null,
            },
        }
    }

    /// Replaces an `s_cselect_b32` whose condition is known by an `s_mov_b32` of its first or second source. `None` if
    /// the word is not an `s_cselect_b32`, or has a literal.
    pub fn chosen(&self, word: u32, first: bool) -> Option<u32> {
        let sources = self.srcs.map(|field| field.get(word.into()));
        let is_choice = self.select.matches(word) && !sources.contains(&LITERAL);
        let source = if first { sources[0] } else { sources[1] };
        let operands = self.dst.put(self.dst.get(word.into()))? | self.srcs[0].put(source)?;
        is_choice.then_some(self.copy.value | operands as u32)
    }

    /// Whether a word is an `s_mov_b32` without a literal.
    pub const fn is_move(&self, word: u32) -> bool {
        self.copy.matches(word) && self.srcs[0].get(word as u128) != LITERAL
    }

    /// Distance of a branch in dwords, counted from the next instruction; `None` if the word is no branch.
    pub fn branch_distance(&self, word: u32) -> Option<i16> {
        self.branches.contains(&(word & 0xffff_0000)).then_some((word as u16).cast_signed())
    }

    /// The scalar load by address in these two dwords, if it is one.
    pub fn load(&self, words: u64) -> Option<ScalarLoad> {
        let loads = &self.loads;
        let size = loads.by_size.iter().position(|load| words as u32 & loads.mask == *load)?;
        let word = words.into();
        Some(ScalarLoad {
            dwords: 1 << size,
            data: loads.data.get(word),
            base: loads.base.get(word),
            offset: loads.offset.get(word),
            operands: words as u32 & !loads.mask,
        })
    }

    /// The first dword of the same load of another number of dwords: 1, 2, 4, 8 or 16.
    pub fn widened(&self, load: &ScalarLoad, dwords: u32) -> u32 {
        let size = self.loads.by_size.get(dwords.trailing_zeros() as usize);
        size.copied().unwrap_or_default() | load.operands
    }

    /// A scalar load by address without its offset register: that register and the next one are its address if `second`.
    /// `None` if it is no such load, or the register is odd or none.
    pub fn with_table(&self, words: u64, second: bool) -> Option<u64> {
        self.load(words)?;
        let Loads { base, register, none, .. } = &self.loads;
        let (word, none) = (u128::from(words), u32::from(*none));
        let offset = register.get(word);
        let even = offset.is_multiple_of(2) && offset < none.min(NAMED);
        let table = if second { offset / 2 } else { base.get(word) };
        let rest = register.clear(base.clear(word));
        even.then_some((rest | register.put(none)? | base.put(table)?) as u64)
    }

    /// Adds to the constant offset of a scalar load, in its second dword; `None` if the sum does not fit.
    pub fn with_offset(&self, word: u32, add: u64) -> Option<u32> {
        let field = self.loads.offset;
        let word = u128::from(word) << 32;
        let sum = u64::from(field.get(word)).checked_add(add)?;
        let bits = field.put_number(i32::try_from(sum).ok()?)?;
        Some(((field.clear(word) | bits) >> 32) as u32)
    }
}

/// Number of the first scalar register that has a name of its own.
const NAMED: u32 = 124;

/// A scalar load by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarLoad {
    /// Number of dwords loaded.
    pub dwords: u32,
    /// First register loaded.
    pub data: u32,
    /// Half of the first register of the address.
    pub base: u32,
    /// Constant offset, its sign not extended.
    pub offset: u32,
    /// The first dword without the operation.
    operands: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruction::{Fields, SmemFields};
    use crate::{CachePolicy, Instruction, Isa, Op, Scalar, Sgpr, Src, encode_all};
    use dovetail_base::target::{Gpu, WaveSize};

    const WORDS: &LinkWords = &Isa::of(Gpu::Gfx1030).words;

    #[test]
    fn the_words_are_what_the_encoder_makes() {
        for (op, word) in [(Op::SNop, WORDS.nop), (Op::SBranch, WORDS.branch), (Op::SCodeEnd, WORDS.code_end)] {
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
            let words = WORDS.load(load(op, 4, 0x30, None)).expect("a load");
            assert_eq!((words.dwords, words.data, words.base, words.offset), (1 << n, 8, 2, 0x30));
            assert_eq!(WORDS.widened(&words, 16), load(Op::SLoadDwordx16, 4, 0x30, None) as u32);
            let open = load(op, 4, 0x30, Some(s(6)));
            assert_eq!(WORDS.with_table(open, false), Some(load(op, 4, 0x30, None)));
            assert_eq!(WORDS.with_table(open, true), Some(load(op, 6, 0x30, None)));
        }
        let by_descriptor = load(Op::SBufferLoadDword, 4, 0, Some(s(6)));
        assert_eq!((WORDS.load(by_descriptor), WORDS.with_table(by_descriptor, true)), (None, None));
        assert_eq!(WORDS.with_table(load(Op::SLoadDword, 4, 0, Some(s(7))), true), None);
        assert_eq!(WORDS.with_table(load(Op::SLoadDword, 4, 0, None), true), None);
    }

    #[test]
    fn moves_and_branches_are_recognised() {
        assert!(WORDS.is_move(word(Op::SMovB32, &[Src::Scalar(s(3))])));
        assert!(!WORDS.is_move(word(Op::SMovB32, &[Src::Literal(1000)])));
        assert!(!WORDS.is_move(word(Op::SNotB32, &[Src::Scalar(s(3))])));
        let program = |op, imm| {
            let inst = Instruction::program(Isa::of(Gpu::Gfx1030), op, imm);
            let bytes = encode_all(Isa::of(Gpu::Gfx1030), WaveSize::W32, &[inst]).expect("encodes");
            u32::from_le_bytes(bytes.try_into().expect("a dword"))
        };
        let branches = [Op::SBranch, Op::SCbranchScc0, Op::SCbranchScc1, Op::SCbranchVccz, Op::SCbranchVccnz];
        for op in branches.into_iter().chain([Op::SCbranchExecz, Op::SCbranchExecnz]) {
            assert_eq!(WORDS.branch_distance(program(op, 0xfffe)), Some(-2), "{op:?}");
        }
        for op in [Op::SNop, Op::SEndpgm, Op::SWaitcnt, Op::SBarrier] {
            assert_eq!(WORDS.branch_distance(program(op, 0)), None, "{op:?}");
        }
    }

    #[test]
    fn a_choice_is_a_move_of_one_source() {
        let [a, b] = [Src::Scalar(s(3)), Src::Int(0)];
        let choice = word(Op::SCselectB32, &[a, b]);
        assert_eq!(WORDS.chosen(choice, true), Some(word(Op::SMovB32, &[a])));
        assert_eq!(WORDS.chosen(choice, false), Some(word(Op::SMovB32, &[b])));
    }

    #[test]
    fn gfx11_has_other_words_and_the_same_loads() {
        words_of_later_families(Isa::of("gfx1100".parse().expect("known")));
    }

    #[test]
    fn gfx12_has_the_words_of_gfx11_and_other_loads() {
        words_of_later_families(Isa::of("gfx1200".parse().expect("known")));
    }

    fn words_of_later_families(isa: &'static Isa) {
        let words = &isa.words;
        assert_eq!((words.nop, words.branch, words.code_end), (0xbf80_0000, 0xbfa0_0000, 0xbf9f_0000));
        let encoded = |inst: Instruction| -> Vec<u32> {
            let bytes = encode_all(isa, WaveSize::W32, &[inst]).expect("encodes");
            bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
        };
        let choice =
            encoded(Instruction::scalar(isa, Op::SCselectB32, Some(s(9)), &[Src::Scalar(s(3)), Src::Int(0)]))[0];
        let moved = encoded(Instruction::scalar(isa, Op::SMovB32, Some(s(9)), &[Src::Scalar(s(3))]))[0];
        assert_eq!((words.chosen(choice, true), words.is_move(moved)), (Some(moved), true));
        for op in [Op::SCbranchScc0, Op::SCbranchExecnz] {
            assert_eq!(words.branch_distance(encoded(Instruction::program(isa, op, 0xfffe))[0]), Some(-2));
        }
        let of = |op, base, offset, soffset| {
            let fields = SmemFields { data: s(8), base: s(base), offset, soffset, cache: CachePolicy::default() };
            let dwords = encoded(Instruction::new(isa, op, Fields::Smem(fields)));
            u64::from(dwords[1]) << 32 | u64::from(dwords[0])
        };
        let load = |base, soffset| of(Op::SLoadDwordx4, base, 0x30, soffset);
        assert_eq!(words.with_table(load(4, Some(s(6))), true), Some(load(6, None)));
        let known = words.load(load(4, None)).expect("a load");
        assert_eq!((known.dwords, known.data, known.base, known.offset), (4, 8, 2, 0x30));
        assert_eq!(words.widened(&known, 8), of(Op::SLoadDwordx8, 4, 0x30, None) as u32);
    }
}
