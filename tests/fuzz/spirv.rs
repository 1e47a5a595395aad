//! Mutations of SPIR-V in instructions and operands that keep ids consistent, so that most mutants pass the parser.
//!
//! The grammar says which words of an instruction are ids. A copied instruction gets a new result id; an id operand is
//! replaced by another id of the module.

use super::mutate;
use super::random::Random;
use rspirv::grammar::{INSTRUCTION_TABLE, LogicalOperand, OperandKind, OperandQuantifier};
use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

const HEADER: usize = 5;
const NUMBERS: [u32; 12] = [0, 1, 2, 3, 4, 16, 31, 32, 64, 0xffff, 0x7fff_ffff, u32::MAX];

/// The seeds as instructions, parsed once.
static SEEDS: OnceLock<Vec<Module>> = OnceLock::new();

/// A mutated module; one in eight is mutated in bytes. It uses the smaller of two random seeds, because the largest
/// takes as long as a hundred of the smallest.
pub fn change(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    if random.once_in(8) {
        return mutate::bytes(random, seeds);
    }
    let seeds = SEEDS.get_or_init(|| seeds.iter().map(|bytes| Module::of(bytes)).collect());
    let pair = [random.pick(seeds), random.pick(seeds)];
    let mut module = pair[usize::from(pair[1].insts.len() < pair[0].insts.len())].clone();
    let changes = 1 + random.below(3) * random.below(5);
    for _ in 0..changes {
        module.change(random, seeds);
    }
    module.bytes()
}

/// A module as instructions.
#[derive(Clone)]
struct Module {
    header: Vec<u32>,
    /// Instructions unchanged from the seed are borrowed.
    insts: Vec<Cow<'static, [u32]>>,
}

/// Role of a word in an instruction.
#[derive(Clone, Copy, PartialEq)]
enum Word {
    Result,
    Id,
    Literal,
}

impl Module {
    fn of(bytes: &[u8]) -> Self {
        let words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let (header, mut rest) = words.leak().split_at(HEADER.min(bytes.len() / 4));
        let mut insts = Vec::new();
        while let Some(&first) = rest.first() {
            let (inst, after) = rest.split_at(((first >> 16) as usize).clamp(1, rest.len()));
            insts.push(Cow::Borrowed(inst));
            rest = after;
        }
        Self { header: header.to_vec(), insts }
    }

    fn bytes(&self) -> Vec<u8> {
        let words = self.header.len() + self.insts.iter().map(|inst| inst.len()).sum::<usize>();
        let mut out = Vec::with_capacity(4 * words);
        self.header.iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
        for inst in &self.insts {
            let first = (inst.len() as u32) << 16 | inst[0] & 0xffff;
            out.extend_from_slice(&first.to_le_bytes());
            inst[1..].iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
        }
        out
    }

    fn bound(&self) -> u32 {
        self.header.get(3).copied().unwrap_or(1)
    }

    fn new_id(&mut self) -> u32 {
        let id = self.bound();
        if let Some(bound) = self.header.get_mut(3) {
            *bound = id.saturating_add(1);
        }
        id
    }

    fn any_id(&self, random: &mut Random) -> u32 {
        1 + random.below(self.bound().saturating_sub(1).min(1 << 20) as usize) as u32
    }

    fn change(&mut self, random: &mut Random, seeds: &[Self]) {
        let count = self.insts.len();
        if count == 0 {
            return;
        }
        let at = random.below(count);
        match random.below(12) {
            0 => drop(self.insts.remove(at)),
            1 => {
                let copy = self.renewed(at);
                self.insts.insert(at + 1, copy.into());
            }
            2 => self.insts.swap(at, (at + 1) % count),
            3 => {
                // The same operands with another opcode.
                let other = self.insts[random.below(count)][0];
                self.insts[at].to_mut()[0] = other;
            }
            4 => {
                let len = self.insts[at].len();
                self.insts[at].to_mut().truncate(1 + random.below(len));
            }
            5 => {
                let (id, literal) = (self.any_id(random), *random.pick(&NUMBERS));
                self.insts[at].to_mut().push(if random.once_in(2) { id } else { literal });
            }
            6 => {
                let other = random.pick(seeds);
                let Some(lent) = other.insts.get(random.below(other.insts.len())) else { return };
                let mut lent = lent.to_vec();
                let kinds = words(&lent);
                for (word, kind) in lent.iter_mut().zip(kinds).skip(1) {
                    match kind {
                        Word::Result => *word = self.new_id(),
                        Word::Id => *word = self.any_id(random),
                        Word::Literal => {}
                    }
                }
                self.insts.insert(at, lent.into());
            }
            _ => self.operand(random, at),
        }
    }

    /// Copies an instruction, with a new result id.
    fn renewed(&mut self, at: usize) -> Vec<u32> {
        let mut copy = self.insts[at].to_vec();
        if let Some(n) = words(&copy).iter().position(|w| *w == Word::Result) {
            copy[n] = self.new_id();
        }
        copy
    }

    /// Replaces one operand by another id or number.
    fn operand(&mut self, random: &mut Random, at: usize) {
        let kinds = words(&self.insts[at]);
        if kinds.len() < 2 {
            return;
        }
        let n = 1 + random.below(kinds.len() - 1);
        let word = match kinds[n] {
            Word::Result => return,
            Word::Id => self.any_id(random),
            Word::Literal => match random.below(4) {
                0 => *random.pick(&NUMBERS),
                1 => random.next() as u32,
                2 => self.insts[at][n].wrapping_add(1),
                _ => self.insts[at][n] ^ (1 << random.below(32)),
            },
        };
        self.insts[at].to_mut()[n] = word;
    }
}

/// Operands by opcode.
static GRAMMAR: LazyLock<Vec<Option<&'static [LogicalOperand]>>> = LazyLock::new(|| {
    let mut table = vec![None; 1 << 16];
    for inst in INSTRUCTION_TABLE.iter() {
        table[inst.opcode as usize] = Some(inst.operands);
    }
    table
});

/// Roles of an instruction's words, from the grammar; unknown ones count as numbers.
fn words(inst: &[u32]) -> Vec<Word> {
    let mut out = vec![Word::Literal; inst.len()];
    let Some(Some(operands)) = GRAMMAR.get((inst[0] & 0xffff) as usize) else { return out };
    let mut at = 1;
    for operand in *operands {
        let word = match operand.kind {
            OperandKind::IdResult => Word::Result,
            OperandKind::IdResultType | OperandKind::IdRef | OperandKind::IdScope | OperandKind::IdMemorySemantics => {
                Word::Id
            }
            // Phis and switches: pairs.
            OperandKind::PairIdRefIdRef => Word::Id,
            _ => Word::Literal,
        };
        let end = if operand.quantifier == OperandQuantifier::ZeroOrMore { inst.len() } else { at + 1 };
        while at < end.min(inst.len()) {
            out[at] = word;
            at += 1;
        }
    }
    out
}
