//! Orders the instructions of a block so that the members of each pair can be computed at once.
//!
//! A pair is computed as soon as the operands of both members are. Arithmetic that needs a member waits for that; an
//! instruction that may not wait (an access to memory, for example) splits the pairs on which it depends and which are not
//! computed yet. Everything else stays in order.

use super::find::Pairs;
use dovetail_base::workspace::{List, filled};
use dovetail_ir::{BlockId, InstId, Op, Shader, Value};

/// Most instructions that wait at a time, so that the time is linear.
const MOST_WAITING: usize = 128;

const NONE: u32 = u32::MAX;

pub(super) struct Order {
    /// By value, its position in its block.
    position: List<u32>,
    home: List<BlockId>,
    /// By block, whether it has pairs.
    paired: List<bool>,
}

/// The block at hand.
struct Walk<'a> {
    shader: &'a Shader,
    pairs: &'a mut Pairs,
    order: &'a Order,
    block: BlockId,
    insts: &'a [InstId],
    /// By position.
    done: List<bool>,
    waiting: List<u32>,
    out: List<InstId>,
}

impl Order {
    pub fn new(shader: &Shader, pairs: &Pairs) -> Self {
        let mut paired = filled(shader.blocks.len(), false);
        let joint = pairs.kept().filter(|(_, pair)| pair.kind.is_joint());
        joint.for_each(|(_, pair)| paired[pair.home.index()] = true);
        let mut position = filled(shader.values.len(), NONE);
        let mut home = filled(shader.values.len(), Shader::ENTRY);
        for id in shader.block_ids() {
            for (n, inst) in (0..).zip(&shader.block(id).insts) {
                if let Some(v) = shader.inst(*inst).result {
                    (position[v.index()], home[v.index()]) = (n, id);
                }
            }
        }
        Self { position, home, paired }
    }

    /// The instructions of a block in an order in which members of a pair follow each other. Pairs for which there is none
    /// are dropped.
    pub fn of_block(&self, shader: &Shader, pairs: &mut Pairs, block: BlockId) -> List<InstId> {
        let insts: &[InstId] = &shader.block(block).insts;
        if !self.paired[block.index()] {
            return insts.iter().copied().collect();
        }
        let done = filled(insts.len(), false);
        let (waiting, out) = (List::default(), List::default());
        let mut walk = Walk { shader, pairs, order: self, block, insts, done, waiting, out };
        for n in 0..insts.len() as u32 {
            walk.visit(n);
        }
        while let Some(first) = walk.waiting.first().copied() {
            walk.force(first);
            walk.wake();
        }
        walk.out
    }
}

impl Walk<'_> {
    /// The position of the instruction of this block that makes a value.
    fn maker(&self, v: Value) -> Option<u32> {
        let n = *self.order.position.get(v.index())?;
        (n != NONE && self.order.home[v.index()] == self.block).then_some(n)
    }

    /// The position of the other member of a pair that is computed at once.
    fn partner(&self, n: u32) -> Option<(usize, u32)> {
        let v = self.shader.inst(self.insts[n as usize]).result?;
        let pair = self.pairs.of(v)?;
        let [a, b] = self.pairs.all[pair].members;
        let joint = self.pairs.all[pair].kind.is_joint();
        let other = self.maker(if a == v { b } else { a }).filter(|_| joint)?;
        Some((pair, other))
    }

    /// An operand of an instruction that is not computed yet.
    fn missing(&self, n: u32) -> Option<u32> {
        let inst = self.shader.inst(self.insts[n as usize]);
        inst.args.iter().filter_map(|v| self.maker(*v)).find(|m| !self.done[*m as usize])
    }

    /// Computes an instruction, or the pair that it is in, if all operands are there.
    fn try_now(&mut self, n: u32) -> bool {
        let other = self.partner(n).map(|(_, other)| other);
        if self.missing(n).is_some() || other.is_some_and(|other| self.missing(other).is_some()) {
            return false;
        }
        for n in [Some(n), other].into_iter().flatten() {
            self.done[n as usize] = true;
            self.out.push(self.insts[n as usize]);
        }
        true
    }

    fn visit(&mut self, n: u32) {
        if self.done[n as usize] {
            return;
        }
        let inst = self.shader.inst(self.insts[n as usize]);
        let may_wait = matches!(inst.op, Op::Alu(..) | Op::Compose | Op::Extract(_) | Op::Bitcast);
        if !may_wait {
            self.force(n);
        } else if !self.try_now(n) {
            self.waiting.push(n);
            if self.waiting.len() > MOST_WAITING {
                self.force(self.waiting[0]);
            }
            return;
        }
        self.wake();
    }

    /// Computes what waits and can be computed now.
    fn wake(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for at in 0..self.waiting.len() {
                let n = self.waiting[at];
                changed |= !self.done[n as usize] && self.try_now(n);
            }
            let done = &self.done;
            self.waiting.retain(|n| !done[*n as usize]);
        }
    }

    /// Computes an instruction and what it needs, and splits pairs that cannot be computed at once.
    fn force(&mut self, n: u32) {
        let mut stack = List::<u32>::default();
        stack.push(n);
        while let Some(&top) = stack.last() {
            if self.done[top as usize] {
                stack.pop();
            } else if let Some(missing) = self.missing(top) {
                stack.push(missing);
            } else if !self.try_now(top)
                && let Some((pair, _)) = self.partner(top)
            {
                self.pairs.drop(pair);
            }
        }
    }
}
