//! Finds the words of push constants and uniform buffers that a shader declares as integers and uses only as floats, or
//! only as two halves: the constants of filters, which programs pass as bits.

use super::reads::bound;
use dovetail_ir::{AluOp, Bits, Inst, LocalId, Op, Shader, Value};
use std::collections::BTreeMap;

/// How a word is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordUse {
    /// As a float of 32 bits.
    Float,
    /// As two floats of 16 bits.
    Halves,
    /// As something else, or as several of these.
    Other,
}

/// The used words of a block by byte offset.
type Words = BTreeMap<u32, WordUse>;

/// How a shader uses the words of its push constants and buffers.
#[derive(Debug, Default)]
pub(super) struct FloatWords {
    push_constants: Words,
    buffers: BTreeMap<(u32, u32), Words>,
}

/// A place that holds a copy of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// A component of a value.
    Component(Value, u32),
    /// A variable's word, by byte offset.
    Local(LocalId, u32),
    PushConstant(u32),
    Buffer((u32, u32), u32),
}

/// Sets of places that hold the same bits, and how each set is used; `None`: not at all.
#[derive(Default)]
struct Copies {
    numbers: BTreeMap<Holder, usize>,
    parents: Vec<usize>,
    uses: Vec<Option<WordUse>>,
}

impl Copies {
    fn set(&mut self, holder: Holder) -> usize {
        let mut n = *self.numbers.entry(holder).or_insert_with(|| {
            self.parents.push(self.parents.len());
            self.uses.push(None);
            self.parents.len() - 1
        });
        while self.parents[n] != n {
            self.parents[n] = self.parents[self.parents[n]];
            n = self.parents[n];
        }
        n
    }

    fn join(&mut self, a: Holder, b: Holder) {
        let (a, b) = (self.set(a), self.set(b));
        if a != b {
            self.uses[a] = both(self.uses[a], self.uses[b]);
            self.parents[b] = a;
        }
    }

    fn used(&mut self, holder: Holder, how: WordUse) {
        let set = self.set(holder);
        self.uses[set] = both(self.uses[set], Some(how));
    }
}

/// The use of a word that is used in two ways.
fn both(a: Option<WordUse>, b: Option<WordUse>) -> Option<WordUse> {
    if a == b || b.is_none() { a } else { a.map_or(b, |_| Some(WordUse::Other)) }
}

impl FloatWords {
    /// Follows copies of words through values, variables and jumps.
    pub fn of(ir: &Shader) -> Self {
        let mut copies = Copies::default();
        ir.live_insts().for_each(|inst| follow(ir, inst, &mut copies));
        for call in ir.blocks.iter().flat_map(|b| b.calls()) {
            for (&arg, &param) in call.args.iter().zip(&ir.block(call.block).params) {
                join(ir, arg, param, &mut copies);
            }
        }
        let mut out = Self::default();
        for holder in copies.numbers.keys().copied().collect::<Vec<_>>() {
            let set = copies.set(holder);
            let Some(how) = copies.uses[set] else { continue };
            match holder {
                Holder::PushConstant(at) => out.push_constants.insert(at, how),
                Holder::Buffer(place, at) => out.buffers.entry(place).or_default().insert(at, how),
                Holder::Component(..) | Holder::Local(..) => None,
            };
        }
        out
    }

    /// The use of a word of push constants, if it is used.
    pub fn push_constant(&self, at: usize) -> Option<WordUse> {
        self.push_constants.get(&u32::try_from(at).ok()?).copied()
    }

    /// The use of a word of a uniform buffer, by set and binding, if it is used.
    pub fn uniform(&self, place: (u32, u32), at: usize) -> Option<WordUse> {
        self.buffers.get(&place)?.get(&u32::try_from(at).ok()?).copied()
    }
}

/// Records that two values have the same components.
fn join(ir: &Shader, a: Value, b: Value, copies: &mut Copies) {
    for n in 0..ir.ty(a).lanes().min(ir.ty(b).lanes()) {
        copies.join(Holder::Component(a, n), Holder::Component(b, n));
    }
}

/// Records that a value's words are copies of words in memory, from an offset on.
fn joined_with_memory(ir: &Shader, v: Value, at: Option<u64>, copies: &mut Copies, word: impl Fn(u32) -> Holder) {
    let ty = ir.ty(v);
    for n in 0..ty.lanes() {
        match at.and_then(|at| u32::try_from(at).ok()) {
            Some(at) if ty.bits() == Bits::B32 => copies.join(Holder::Component(v, n), word(at + 4 * n)),
            // The words are at an unknown offset, or the value has parts of words.
            _ => copies.used(Holder::Component(v, n), WordUse::Other),
        }
    }
}

fn follow(ir: &Shader, inst: &Inst, copies: &mut Copies) {
    let constant = |n: usize| inst.args.get(n).and_then(|v| ir.as_const(*v));
    match (&inst.op, inst.result, inst.args.as_slice()) {
        (Op::PushConstant { .. }, Some(v), _) => {
            joined_with_memory(ir, v, constant(0), copies, Holder::PushConstant);
        }
        (Op::BufferLoad { .. }, Some(v), _) => {
            if let Some(place) = bound(ir, inst) {
                joined_with_memory(ir, v, constant(1), copies, |at| Holder::Buffer(place, at));
            }
        }
        (Op::LocalLoad { local, .. }, Some(v), _) => {
            joined_with_memory(ir, v, constant(0), copies, |at| Holder::Local(*local, at));
        }
        (Op::LocalStore { local, .. }, _, [_, v]) => {
            joined_with_memory(ir, *v, constant(0), copies, |at| Holder::Local(*local, at));
        }
        (Op::Compose, Some(v), args) => {
            for (n, &arg) in args.iter().enumerate() {
                copies.join(Holder::Component(v, n as u32), Holder::Component(arg, 0));
            }
        }
        (Op::Extract(n), Some(v), [arg]) => {
            copies.join(Holder::Component(v, 0), Holder::Component(*arg, u32::from(*n)));
        }
        (Op::Bitcast, Some(v), [arg]) => {
            let (from, to) = (ir.ty(*arg), ir.ty(v));
            match (from.bits(), to.bits()) {
                (from, to) if from == to => join(ir, *arg, v, copies),
                // A use of either half is a use of the word.
                (Bits::B32, Bits::B16) => {
                    (0..to.lanes()).for_each(|n| copies.join(Holder::Component(v, n), Holder::Component(*arg, n / 2)))
                }
                (Bits::B16, Bits::B32) => {
                    (0..from.lanes()).for_each(|n| copies.join(Holder::Component(*arg, n), Holder::Component(v, n / 2)))
                }
                _ => (0..from.lanes()).for_each(|n| copies.used(Holder::Component(*arg, n), WordUse::Other)),
            }
        }
        (Op::Alu(AluOp::Select, _), Some(v), [cond, a, b]) => {
            copies.used(Holder::Component(*cond, 0), WordUse::Other);
            join(ir, *a, v, copies);
            join(ir, *b, v, copies);
        }
        (Op::Alu(op, _), _, args) => {
            for &arg in args {
                let how = match ir.ty(arg).bits() {
                    Bits::B32 if op.takes_float() => WordUse::Float,
                    Bits::B16 if op.takes_float() => WordUse::Halves,
                    _ => WordUse::Other,
                };
                copies.used(Holder::Component(arg, 0), how);
            }
        }
        // Images and outputs take floats and integers alike, so being an operand of theirs is no use: how the word is
        // computed with before decides.
        (Op::Image(_) | Op::StoreOutput { .. }, ..) => {}
        (_, _, args) => {
            for &arg in args {
                (0..ir.ty(arg).lanes()).for_each(|n| copies.used(Holder::Component(arg, n), WordUse::Other));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_ir::parse::parse;

    #[test]
    fn words_are_what_their_copies_are_used_as() {
        let ir = parse(
            "shader upper compute \"t\"\nmodes 1 1 1 any any any any rte rte rte\nlocal0 \"l\" 16 align16\nblock0:\n\
             v0: b32 = const 0x0\n v1: b32x4 = push_constant[align16] v0\n local_store[local0 align16] v0, v1\n\
             v2: b32 = const 0x4\n v3: b32 = local_load[local0 align4] v2\n v4: b32 = fadd v3, v3\n\
             v5: b32 = extract[0] v1\n v6: b32 = iadd v5, v5\n\
             v7: b32 = extract[2] v1\n v8: b16x2 = bitcast v7\n v9: b16 = extract[1] v8\n v10: b16 = fneg v9\n\
             v11: b32 = extract[3] v1\n v12: b32 = fneg v11\n v13: b32 = iadd v11, v11\n return\n",
        );
        use WordUse::{Float, Halves, Other};
        let words = FloatWords::of(&ir.expect("a shader"));
        let found = [0, 4, 8, 12, 16].map(|at| words.push_constant(at));
        assert_eq!(found, [Some(Other), Some(Float), Some(Halves), Some(Other), None]);
    }
}
