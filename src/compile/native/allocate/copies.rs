//! Turns parallel copies into sequences of moves.
//!
//! All copies of one place happen at once: a register that is written may be the source of another copy. Copies whose
//! target has no more readers come first and free their sources (chains). The rest are cycles, which `v_swap_b32`
//! rotates in the vector file, and a free register or three exclusive ors in the scalar file. Constants come last,
//! since nothing waits for them.

use super::output::{Output, fixed_pair};
use super::registers::{RegSet, class_of};
use crate::mir::{Operand, OperandValue, PhysReg, RegisterClass};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{List, filled};
use dovetail_ir::SymbolId;
use dovetail_isa::Op;

/// The source of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopySource {
    /// A register.
    Reg(PhysReg),
    /// A constant.
    Const(u32),
    /// A literal that the linker fills in.
    Reloc(SymbolId),
}

impl CopySource {
    fn operand(self) -> Operand {
        Operand::one(match self {
            Self::Reg(reg) => OperandValue::Fixed(reg),
            Self::Const(bits) => OperandValue::Const(bits),
            Self::Reloc(symbol) => OperandValue::Reloc(symbol),
        })
    }
}

/// Scratch resources for cycles of scalar registers at the place of the copies.
#[derive(Clone, Copy, Debug)]
pub struct CopyScratch {
    /// A scalar register that holds nothing and is in no copy.
    pub free: Option<PhysReg>,
    /// Whether SCC may be overwritten.
    pub scc_dead: bool,
}

/// Copies that happen at once.
#[derive(Debug)]
pub struct Moves {
    list: List<Move>,
    /// By register code: the number of copies that read the register and are not done yet.
    readers: List<u16>,
    /// By register code: the index in `list` of the copy that writes the register.
    into: List<Option<u16>>,
    ready: List<u16>,
}

#[derive(Clone, Copy, Debug)]
struct Move {
    to: PhysReg,
    from: CopySource,
    done: bool,
}

/// Number of register codes.
const CODES: usize = 512;

impl Default for Moves {
    fn default() -> Self {
        Self { list: List::default(), readers: filled(CODES, 0), into: filled(CODES, None), ready: List::default() }
    }
}

impl Moves {
    /// Adds a copy. A copy of a register to itself is left out.
    pub fn add(&mut self, to: PhysReg, from: CopySource) {
        if from == CopySource::Reg(to) {
            return;
        }
        debug_assert!(self.into[usize::from(to.0)].is_none(), "two copies into {to}");
        self.into[usize::from(to.0)] = Some(self.list.len() as u16);
        if let CopySource::Reg(reg) = from {
            self.readers[usize::from(reg.0)] += 1;
        }
        self.list.push(Move { to, from, done: false });
    }

    /// Removes all copies.
    pub fn clear(&mut self) {
        for one in &self.list {
            self.into[usize::from(one.to.0)] = None;
            if let CopySource::Reg(reg) = one.from {
                self.readers[usize::from(reg.0)] = 0;
            }
        }
        self.list.clear();
    }

    /// The registers that are read or written.
    pub fn registers(&self) -> RegSet {
        let mut set = RegSet::default();
        for one in &self.list {
            set.insert(one.to);
            if let CopySource::Reg(reg) = one.from {
                set.insert(reg);
            }
        }
        set
    }

    /// The registers that are written.
    pub fn targets(&self) -> RegSet {
        let mut set = RegSet::default();
        self.list.iter().for_each(|one| set.insert(one.to));
        set
    }

    /// Emits all copies as moves, and removes them.
    ///
    /// # Errors
    /// No register is free for a cycle of scalar registers while SCC is live. Bug: a copy from a vector to a scalar
    /// register.
    pub fn flush(&mut self, out: &mut Output, place: impl FnOnce(&RegSet) -> CopyScratch) -> Result<()> {
        if self.list.is_empty() {
            return Ok(());
        }
        for n in 0..self.list.len() {
            if self.is_ready(n) {
                self.ready.push(n as u16);
            }
        }
        // In the order in which they were added, so that neighbours stay together.
        self.ready.reverse();
        while let Some(n) = self.ready.pop() {
            self.single(usize::from(n), out)?;
        }
        let left = |one: &Move| !one.done && matches!(one.from, CopySource::Reg(_));
        if self.list.iter().any(left) {
            let place = place(&self.registers());
            for n in 0..self.list.len() {
                if left(&self.list[n]) {
                    self.cycle(n, out, place)?;
                }
            }
        }
        for one in &self.list {
            if !matches!(one.from, CopySource::Reg(_)) {
                let op = if class_of(one.to) == RegisterClass::Scalar { Op::SMovB32 } else { Op::VMovB32 };
                out.insert(op, &[Operand::fixed(one.to)], &[one.from.operand()], false);
            }
            self.into[usize::from(one.to.0)] = None;
        }
        self.list.clear();
        Ok(())
    }

    /// Whether copy `n` copies a register, is not done, and its target has no more readers.
    fn is_ready(&self, n: usize) -> bool {
        let one = &self.list[n];
        !one.done && matches!(one.from, CopySource::Reg(_)) && self.readers[usize::from(one.to.0)] == 0
    }

    fn single(&mut self, n: usize, out: &mut Output) -> Result<()> {
        let Move { to, from, done } = self.list[n];
        let CopySource::Reg(from) = from else { return Ok(()) };
        if done {
            return Ok(());
        }
        if class_of(to) == RegisterClass::Vector {
            out.insert(Op::VMovB32, &[Operand::fixed(to)], &[Operand::fixed(from)], false);
        } else if class_of(from) == RegisterClass::Vector {
            return Err(Error::bug(format!("a copy of {from} to {to}")));
        } else if let Some(other) = self.other_half(to, from) {
            let low = |reg: PhysReg| PhysReg(reg.0 & !1);
            out.insert(Op::SMovB64, &fixed_pair(low(to)), &fixed_pair(low(from)), false);
            self.finish(other);
        } else {
            out.insert(Op::SMovB32, &[Operand::fixed(to)], &[Operand::fixed(from)], false);
        }
        self.finish(n);
        Ok(())
    }

    /// The copy of the other register of an aligned pair, if it has the same direction and can be done now.
    fn other_half(&self, to: PhysReg, from: PhysReg) -> Option<usize> {
        let other = usize::from(self.into[usize::from(to.0 ^ 1)]?);
        let parallel = to.0 & 1 == from.0 & 1 && self.list[other].from == CopySource::Reg(PhysReg(from.0 ^ 1));
        (parallel && self.is_ready(other)).then_some(other)
    }

    /// Finishes a copy: its source has one reader less.
    fn finish(&mut self, n: usize) {
        self.list[n].done = true;
        let CopySource::Reg(from) = self.list[n].from else { return };
        let readers = &mut self.readers[usize::from(from.0)];
        *readers -= 1;
        if *readers == 0
            && let Some(freed) = self.into[usize::from(from.0)]
            && self.is_ready(usize::from(freed))
        {
            self.ready.push(freed);
        }
    }

    /// Rotates the cycle of copy `n`, each of whose registers is read once.
    fn cycle(&mut self, n: usize, out: &mut Output, place: CopyScratch) -> Result<()> {
        let first = self.list[n].to;
        let scratch = match (class_of(first), place) {
            (RegisterClass::Vector, _) => None,
            (RegisterClass::Scalar, CopyScratch { free: Some(reg), .. }) => Some(reg),
            (RegisterClass::Scalar, CopyScratch { scc_dead: true, .. }) => None,
            (RegisterClass::Scalar, _) => {
                return Err(Error::unsupported("no SGPR to exchange others with", format!("at {first}")));
            }
        };
        if let Some(scratch) = scratch {
            out.insert(Op::SMovB32, &[Operand::fixed(scratch)], &[Operand::fixed(first)], false);
        }
        let mut n = n;
        while let Move { to, from: CopySource::Reg(from), .. } = self.list[n] {
            self.list[n].done = true;
            self.readers[usize::from(from.0)] -= 1;
            let last = from == first;
            match scratch {
                Some(scratch) => {
                    let from = if last { scratch } else { from };
                    out.insert(Op::SMovB32, &[Operand::fixed(to)], &[Operand::fixed(from)], false);
                }
                // The earlier exchanges have given the last register its value.
                None if !last => exchange(to, from, out),
                None => {}
            }
            let Some(next) = self.into[usize::from(from.0)].filter(|_| !last) else { break };
            n = usize::from(next);
        }
        Ok(())
    }
}

/// Exchanges two registers of a class.
fn exchange(a: PhysReg, b: PhysReg, out: &mut Output) {
    let [a, b] = [a, b].map(Operand::fixed);
    if matches!(a.what, OperandValue::Fixed(reg) if class_of(reg) == RegisterClass::Vector) {
        out.insert(Op::VSwapB32, &[a], &[b, a], true);
        return;
    }
    for (to, from) in [(a, b), (b, a), (a, b)] {
        out.insert(Op::SXorB32, &[to], &[to, from], false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::{MachineInst, Opcode};
    use proptest::prelude::*;

    /// The contents of the registers after the moves, if each register first held its own number; SCC counts as a
    /// register.
    fn run(out: &Output) -> Vec<u64> {
        let mut regs: Vec<u64> = (0..CODES as u64).collect();
        let reg = |op: &Operand| match op.what {
            OperandValue::Fixed(reg) => usize::from(reg.0),
            _ => CODES,
        };
        for MachineInst { op, operands, defs, uses, .. } in &out.insts {
            let at = *operands as usize;
            let (defs, uses) = out.operands[at..at + usize::from(*defs + *uses)].split_at(usize::from(*defs));
            let value = |op: &Operand| match op.what {
                OperandValue::Fixed(reg) => regs[usize::from(reg.0)],
                OperandValue::Const(bits) => 1000 + u64::from(bits),
                _ => u64::MAX,
            };
            let values: Vec<u64> = uses.iter().map(value).collect();
            match op {
                Opcode::Isa(Op::SMovB32 | Op::VMovB32) => regs[reg(&defs[0])] = values[0],
                Opcode::Isa(Op::SMovB64) => {
                    assert_eq!(reg(&defs[0]) % 2 + reg(&uses[0]) % 2, 0, "pairs are aligned");
                    regs[reg(&defs[0])] = values[0];
                    regs[reg(&defs[1])] = values[1];
                }
                Opcode::Isa(Op::VSwapB32) => {
                    regs[reg(&uses[0])] = values[1];
                    regs[reg(&uses[1])] = values[0];
                }
                Opcode::Isa(Op::SXorB32) => regs[reg(&defs[0])] = values[0] ^ values[1],
                other => panic!("{other:?}"),
            }
        }
        regs
    }

    proptest! {
        #[test]
        fn moves_do_what_the_copies_say(
            scalar in proptest::collection::btree_map(0u16..12, 0u16..14, 0..10),
            vector in proptest::collection::btree_map(256u16..268, prop_oneof![256u16..268, 0u16..12], 0..10),
            constants in proptest::collection::btree_map(268u16..272, 0u32..100, 0..3),
            free in proptest::option::of(Just(PhysReg(20))),
        ) {
            let mut moves = Moves::default();
            let mut expected: Vec<u64> = (0..CODES as u64).collect();
            for (to, from) in scalar.iter().chain(&vector) {
                moves.add(PhysReg(*to), CopySource::Reg(PhysReg(*from)));
                expected[usize::from(*to)] = u64::from(*from);
            }
            for (to, bits) in &constants {
                moves.add(PhysReg(*to), CopySource::Const(*bits));
                expected[usize::from(*to)] = 1000 + u64::from(*bits);
            }
            let mut out = Output::default();
            moves.flush(&mut out, |_| CopyScratch { free, scc_dead: free.is_none() }).expect("a sequence");
            let mut got = run(&out);
            got[20] = 20;
            prop_assert_eq!(got, expected);
            prop_assert!(moves.list.is_empty() && moves.readers.iter().all(|n| *n == 0) && moves.into.iter().all(Option::is_none));
        }
    }
}
