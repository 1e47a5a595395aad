//! Changes of SPIR-V by instructions and operands, with ids kept in order: most changed modules get past the parser.
//!
//! The grammar says which words of an instruction are ids. A copied instruction gets a new result id; an operand that is an
//! id becomes another one that the module has.

use super::mutate;
use super::random::Random;
use rspirv::grammar::{INSTRUCTION_TABLE, LogicalOperand, OperandKind, OperandQuantifier};
use std::sync::LazyLock;

const HEADER: usize = 5;
const NUMBERS: [u32; 12] = [0, 1, 2, 3, 4, 16, 31, 32, 64, 0xffff, 0x7fff_ffff, u32::MAX];

/// A changed module; one in eight is changed without regard to what it means.
pub fn change(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    if random.once_in(8) {
        return mutate::bytes(random, seeds);
    }
    let mut module = Module::of(&seeds[random.below(seeds.len())]);
    let changes = 1 + random.below(3) * random.below(5);
    for _ in 0..changes {
        module.change(random, seeds);
    }
    module.bytes()
}

/// A module as instructions.
struct Module {
    header: Vec<u32>,
    insts: Vec<Vec<u32>>,
}

/// What a word of an instruction is.
#[derive(Clone, Copy, PartialEq)]
enum Word {
    Result,
    Id,
    Literal,
}

impl Module {
    fn of(bytes: &[u8]) -> Self {
        let words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let (header, mut rest) = words.split_at(HEADER.min(words.len()));
        let mut insts = Vec::new();
        while let Some(&first) = rest.first() {
            let (inst, after) = rest.split_at(((first >> 16) as usize).clamp(1, rest.len()));
            insts.push(inst.to_vec());
            rest = after;
        }
        Self { header: header.to_vec(), insts }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out: Vec<u8> = self.header.iter().flat_map(|w| w.to_le_bytes()).collect();
        for inst in &self.insts {
            let first = (inst.len() as u32) << 16 | inst[0] & 0xffff;
            out.extend(first.to_le_bytes());
            out.extend(inst[1..].iter().flat_map(|w| w.to_le_bytes()));
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

    fn change(&mut self, random: &mut Random, seeds: &[Vec<u8>]) {
        let count = self.insts.len();
        if count == 0 {
            return;
        }
        let at = random.below(count);
        match random.below(12) {
            0 => drop(self.insts.remove(at)),
            1 => {
                let copy = self.renewed(at);
                self.insts.insert(at + 1, copy);
            }
            2 => self.insts.swap(at, (at + 1) % count),
            3 => {
                // The same operands for another operation.
                let other = self.insts[random.below(count)][0];
                self.insts[at][0] = other;
            }
            4 => {
                let len = self.insts[at].len();
                self.insts[at].truncate(1 + random.below(len));
            }
            5 => {
                let (id, literal) = (self.any_id(random), *random.pick(&NUMBERS));
                self.insts[at].push(if random.once_in(2) { id } else { literal });
            }
            6 => {
                let other = Self::of(&seeds[random.below(seeds.len())]);
                let Some(lent) = other.insts.get(random.below(other.insts.len())) else { return };
                let mut lent = lent.clone();
                let kinds = words(&lent);
                for (word, kind) in lent.iter_mut().zip(kinds).skip(1) {
                    match kind {
                        Word::Result => *word = self.new_id(),
                        Word::Id => *word = self.any_id(random),
                        Word::Literal => {}
                    }
                }
                self.insts.insert(at, lent);
            }
            _ => self.operand(random, at),
        }
    }

    /// A copy of an instruction with a result of its own.
    fn renewed(&mut self, at: usize) -> Vec<u32> {
        let mut copy = self.insts[at].clone();
        if let Some(n) = words(&copy).iter().position(|w| *w == Word::Result) {
            copy[n] = self.new_id();
        }
        copy
    }

    /// One operand is another id, or another number.
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
        self.insts[at][n] = word;
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

/// What the words of an instruction are, by the grammar; what it does not tell counts as a number.
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
