//! Drops pairs that cost more instructions than they save.
//!
//! Pairs that share a dword are judged together: one alone may have to put its operands together, but then all of them use
//! these.

use super::find::{Pairs, operands, unsigned};
use super::pair::{Kind, Pair, kind, places};
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_ir::{AluOp, Bits, BlockId, Inst, Op, Shader, Type, Value};
use rustc_hash::FxHashMap;

/// Assumed executions of a loop; loops deeper than [`MOST_DEPTH`] count as that deep.
const ITERATIONS: i64 = 8;
const MOST_DEPTH: usize = 3;

/// Drops each connected set of pairs that saves nothing.
pub(super) fn drop_losses(shader: &Shader, pairs: &mut Pairs) {
    let cfg = shader.cfg();
    let loops = cfg.loops();
    let weight = |block: BlockId| ITERATIONS.pow(loops.around(block).len().min(MOST_DEPTH) as u32);
    let mut sums = Sums {
        shader,
        gain: filled(pairs.all.len(), 0),
        group: (0..pairs.all.len() as u32).collect(),
        put_together: Kept::default(),
        pairs,
    };
    for n in 0..sums.pairs.all.len() {
        let Pair { members, kind, home } = sums.pairs.all[n];
        if kind == Kind::Params {
            for from in cfg.preds(home) {
                for call in shader.block(*from).calls().filter(|call| call.block == home) {
                    sums.needs(n, places(shader, members).map(|n| call.args[n]), weight(*from));
                }
            }
        }
        if kind.is_joint() {
            sums.gain[n] += weight(home);
            let Some(Inst { op: Op::Alu(op, _), .. }) = shader.def(members[0]) else { continue };
            for both in operands(shader, sums.pairs, members).iter() {
                sums.needs(n, both.map(|v| unsigned(shader, *op, v)), weight(home));
            }
        }
    }
    for id in cfg.order.iter() {
        for inst in shader.block(*id).insts.iter().map(|i| shader.inst(*i)) {
            sums.used(inst, weight(*id));
        }
        sums.leaves(*id, weight(*id));
    }
    let mut total = filled(sums.gain.len(), 0);
    for n in 0..total.len() {
        let group = sums.group(n);
        total[group] += sums.gain[n];
    }
    for n in 0..total.len() {
        if total[sums.group(n)] <= 0 {
            sums.pairs.drop(n);
        }
    }
}

struct Sums<'a> {
    shader: &'a Shader,
    pairs: &'a mut Pairs,
    /// By pair, the instructions that it saves, by how often they run.
    gain: List<i64>,
    /// By pair, another one of the same set, or itself.
    group: List<u32>,
    /// Halves that have to be put together, and a pair that needs them.
    put_together: Kept<FxHashMap<[Value; 2], u32>>,
}

impl Sums<'_> {
    /// The set of a pair.
    fn group(&mut self, mut n: usize) -> usize {
        while self.group[n] as usize != n {
            let next = self.group[n] as usize;
            self.group[n] = self.group[next];
            n = next;
        }
        n
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.group(a), self.group(b));
        self.group[a] = b as u32;
    }

    /// A pair reads two values as the halves of one dword.
    fn needs(&mut self, n: usize, both: [Value; 2], weight: i64) {
        let [a, b] = both;
        let of = both.map(|v| self.pairs.of(v));
        if let (Some(first), Some(second)) = (of[0], of[1])
            && first == second
        {
            return self.join(n, first);
        }
        if self.pairs.side_by_side(self.shader, both) {
            return of.into_iter().flatten().for_each(|other| self.join(n, other));
        }
        let undefined = |v: Value| matches!(self.shader.def(v), Some(Inst { op: Op::Undef, .. }));
        if undefined(a) || undefined(b) {
            return;
        }
        match self.put_together.get(&both) {
            Some(other) => self.join(n, *other as usize),
            None => {
                self.put_together.insert(both, n as u32);
                self.gain[n] -= weight;
            }
        }
    }

    /// The pair whose high half a value is, if no dword of its own computes it.
    fn high(&self, v: Value) -> Option<usize> {
        let n = self.pairs.of(v)?;
        let pair = &self.pairs.all[n];
        (pair.members[1] == v && pair.kind != Kind::Apart).then_some(n)
    }

    /// The uses of an instruction that is in no pair.
    fn used(&mut self, inst: &Inst, weight: i64) {
        let shader = self.shader;
        let result = inst.result.filter(|v| self.pairs.of(*v).is_none_or(|n| !self.pairs.all[n].kind.is_joint()));
        if inst.result.is_some() && result.is_none() {
            return;
        }
        if inst.op == Op::Compose && result.is_some_and(|v| shader.ty(v).bits() == Bits::B16) {
            for both in inst.args.chunks_exact(2) {
                let n = self.pairs.of(both[0]).filter(|n| self.pairs.all[*n].members == [both[0], both[1]]);
                // The vector needs no instruction.
                if let Some(n) = n.filter(|n| self.pairs.all[*n].kind != Kind::Apart) {
                    self.gain[n] += weight;
                }
            }
            return;
        }
        for v in &inst.args {
            if let Some(n) = self.high(*v).filter(|_| !reads_halves(shader, inst)) {
                self.gain[n] -= weight;
            }
        }
    }

    /// The values that leave a block otherwise than for a pair of parameters.
    fn leaves(&mut self, id: BlockId, weight: i64) {
        let shader = self.shader;
        let end = &shader.block(id).end;
        for v in end.own_values() {
            if let Some(n) = self.high(*v) {
                self.gain[n] -= weight;
            }
        }
        for call in shader.block(id).calls() {
            for (v, param) in call.args.iter().zip(&shader.block(call.block).params) {
                if let Some(n) = self.high(*v).filter(|_| self.pairs.of(*param).is_none()) {
                    self.gain[n] -= weight;
                }
            }
        }
    }
}

/// Whether an instruction reads a high half without another instruction.
fn reads_halves(shader: &Shader, inst: &Inst) -> bool {
    let Op::Alu(op, _) = inst.op else { return false };
    let result = inst.result.map_or(Type::B1, |v| shader.ty(v));
    match op {
        AluOp::FConv => true,
        _ if op.takes_float() && op.compares() => true,
        _ if result == Type::B16 => op.takes_float() || inst.result.and_then(|v| kind(shader, v)).is_some(),
        _ => false,
    }
}
