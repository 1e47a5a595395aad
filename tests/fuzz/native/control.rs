//! Control flow: branches, switches with fall-through, loops with breaks and continues from anywhere inside.

use super::generate::{Gen, Kind, Same};
use dovetail::ir::{AluOp, BlockCall, BlockId, Merge, Op, Terminator, Type, Value};

/// A jump that is not part of the shader yet.
pub struct Jump {
    pub block: BlockId,
    pub args: Vec<Value>,
}

impl Jump {
    pub fn get(&self) -> BlockCall<'_> {
        BlockCall { block: self.block, args: &self.args }
    }
}

/// A block that several branches target, with the values passed to it.
#[derive(Clone, Debug)]
pub struct Target {
    block: BlockId,
    /// Variables that are parameters of the block.
    vars: Vec<usize>,
    params: Vec<Value>,
    preds: Vec<BlockId>,
    /// Values of all variables when the target was created; those that are not parameters have them there.
    before: Vec<Value>,
}

/// An enclosing loop or switch.
#[derive(Clone, Debug)]
pub struct Way {
    merge: Target,
    /// Target of `continue`; none in a switch.
    next: Option<Target>,
    /// Lanes that take the same path inside it.
    same: Same,
}

impl Way {
    pub fn is_loop(&self) -> bool {
        self.next.is_some()
    }
}

impl Gen<'_> {
    /// Generates a few statements.
    pub fn statements(&mut self) {
        let count = 1 + self.random.below(6);
        for _ in 0..count {
            if self.block.is_none() || self.budget <= 0 {
                return;
            }
            self.budget -= 1;
            self.statement();
        }
    }

    fn statement(&mut self) {
        if self.fragment.is_some() && self.random.once_in(4) {
            return self.of_fragments();
        }
        match self.random.below(40) {
            0..=13 => self.expression(),
            14..=16 => self.assign(),
            17..=20 => {
                let known = *self.random.pick(&self.scope);
                self.mix(known.value, known.kind);
            }
            21..=25 => self.access(),
            26..=29 => self.across_lanes(),
            30..=33 if self.depth < 4 => self.selection(),
            34 if self.depth < 4 => self.switch(),
            35..=36 if self.depth < 3 => self.repeat(),
            37..=38 => self.escape(),
            // Not with workgroup memory: lanes would leave while others wait for them at a barrier.
            39 if self.depth > 0
                && self.shader.shared_bytes == 0
                && self.may_break_quads()
                && self.random.once_in(3) =>
            {
                self.leave();
            }
            _ if self.random.once_in(60) => self.long(),
            _ => self.expression(),
        }
    }

    /// A long block, rarely of more than the 128 KiB that a branch reaches.
    fn long(&mut self) {
        let steps = *self.random.pick(&[60, 300, 300, 1000]);
        let steps = if self.random.once_in(12) { 12_000 } else { steps };
        let mut value = self.operand(Kind::INT);
        let mut odd = || {
            let number = self.random.next() as u32 | 1;
            self.c32(number)
        };
        let numbers: Vec<Value> = (0..7).map(|_| odd()).collect();
        for n in 0..steps {
            let product = self.alu(AluOp::IMul, &[value, numbers[n % 7]]);
            value = self.alu(AluOp::IXor, &[product, numbers[n % 5]]);
        }
        self.mix(value, Kind::INT);
    }

    /// Assigns a value to a variable.
    fn assign(&mut self) {
        let n = self.random.below(self.vars.len());
        let (kind, same) = (self.vars[n].kind, self.vars[n].same);
        if self.same >= same {
            let value = self.operand_of(kind, same);
            self.vars[n].now = value;
        }
    }

    // ---- targets

    /// Creates a block with these variables as parameters.
    pub fn target_of(&mut self, vars: Vec<usize>) -> Target {
        let block = self.new_block();
        let params = vars.iter().map(|n| self.shader.add_param(block, self.vars[*n].kind.ty())).collect();
        let before = self.vars.iter().map(|var| var.now).collect();
        Target { block, vars, params, preds: Vec::new(), before }
    }

    pub fn target(&mut self) -> Target {
        // Variable 0 accumulates everything computed.
        let vars = (0..self.vars.len()).filter(|n| *n == 0 || self.random.once_in(2)).collect();
        self.target_of(vars)
    }

    /// The jump from here to a target.
    pub fn call(&mut self, to: &mut Target) -> Jump {
        to.preds.extend(self.block);
        Jump { block: to.block, args: to.vars.iter().map(|n| self.vars[*n].now).collect() }
    }

    pub fn jump(&mut self, to: &mut Target) {
        if self.block.is_some() {
            let call = self.call(to);
            self.end(Terminator::Jump(call.get()));
        }
    }

    /// Continues in a target. A block without predecessors is unreachable.
    pub fn begin(&mut self, target: &Target, same: Same) {
        if target.preds.is_empty() {
            self.shader.block_mut(target.block).end.set(Terminator::Unreachable);
            self.block = None;
            return;
        }
        self.enter(target.block, &target.preds);
        for (var, before) in self.vars.iter_mut().zip(&target.before) {
            var.now = *before;
        }
        for (n, param) in target.vars.iter().zip(&target.params) {
            self.vars[*n].now = *param;
            let (kind, var) = (self.vars[*n].kind, self.vars[*n].same);
            self.see(*param, kind, var.min(same));
        }
    }

    pub fn set_merge(&mut self, merge: Merge) {
        if let Some(block) = self.block {
            self.shader.block_mut(block).merge = merge;
        }
    }

    /// A condition, and the lanes in which it is equal.
    pub fn condition(&mut self) -> (Value, Same) {
        let same = *self.random.pick(&[Same::Lane, Same::Lane, Same::Lane, Same::Wave, Same::Group]);
        let same = self.or_quad(same);
        let known = self.known_of(Kind::TRUTH, same);
        // A constant condition would test nothing.
        if self.shader.as_const(known.value).is_none() {
            return (known.value, known.same);
        }
        let a = self.known_of(Kind::INT, same);
        let mask = self.random.pick(&[1, 3, 4, 0x11, 7]);
        let mask = self.c32(*mask);
        let masked = self.alu(AluOp::IAnd, &[a.value, mask]);
        let b = self.c32(1);
        let op = *self.random.pick(&[AluOp::IEq, AluOp::INe, AluOp::ULt, AluOp::UGe]);
        let cond = self.alu(op, &[masked, b]);
        self.see(cond, Kind::TRUTH, a.same);
        (cond, a.same)
    }

    // ---- statements

    fn selection(&mut self) {
        let (cond, same) = self.condition();
        let around = self.same;
        let mut merge = self.target();
        let mut then = self.target_of(vec![]);
        let mut els = self.random.once_in(2).then(|| self.target_of(vec![]));
        let yes = self.call(&mut then);
        let no = match &mut els {
            Some(els) => self.call(els),
            None => self.call(&mut merge),
        };
        self.set_merge(Merge::Selection(merge.block));
        let (yes, no) = if els.is_none() && self.random.once_in(2) { (no, yes) } else { (yes, no) };
        self.end(Terminator::Branch { cond, then: yes.get(), els: no.get() });
        self.depth += 1;
        for side in [Some(then), els].into_iter().flatten() {
            self.same = around.min(same);
            self.begin(&side, self.same);
            self.statements();
            self.jump(&mut merge);
        }
        self.depth -= 1;
        self.same = around;
        self.begin(&merge, around);
    }

    fn switch(&mut self) {
        let same = *self.random.pick(&[Same::Lane, Same::Lane, Same::Group]);
        let same = self.or_quad(same);
        let known = self.known_of(Kind::INT, same);
        let seven = self.c32(7);
        let value = self.alu(AluOp::IAnd, &[known.value, seven]);
        let around = self.same;
        let merge = self.target();
        let mut cases: Vec<Target> = (0..2 + self.random.below(3)).map(|_| self.target()).collect();
        let mut literals: Vec<u64> = (0..8).collect();
        let mut calls = Vec::new();
        for case in &mut cases {
            let more = literals.len() > 4 && self.random.once_in(4);
            for _ in 0..1 + usize::from(more) {
                let literal = literals.remove(self.random.below(literals.len()));
                calls.push((literal, self.call(case)));
            }
        }
        let last = cases.len() - 1;
        let mut merge = merge;
        let default = if self.random.once_in(3) { self.call(&mut merge) } else { self.call(&mut cases[last]) };
        self.set_merge(Merge::Selection(merge.block));
        if let Some(block) = self.block.take() {
            let cases = calls.iter().map(|(literal, call)| (*literal, call.get()));
            self.shader.block_mut(block).end.set_switch(value, cases, default.get());
        }
        let same = around.min(known.same);
        self.ways.push(Way { merge, next: None, same });
        self.depth += 1;
        for n in 0..cases.len() {
            self.same = same;
            let case = cases[n].clone();
            self.begin(&case, same);
            self.statements();
            let falls = n < last && self.random.once_in(3);
            if falls {
                let mut next = cases[n + 1].clone();
                self.jump(&mut next);
                cases[n + 1] = next;
            } else {
                self.leave_way(self.ways.len() - 1, false);
            }
        }
        self.depth -= 1;
        self.same = around;
        if let Some(way) = self.ways.pop() {
            self.begin(&way.merge, around);
        }
    }

    fn repeat(&mut self) {
        let around = self.same;
        let same = *self.random.pick(&[Same::Lane, Same::Lane, Same::Group]);
        let same = around.min(self.or_quad(same));
        let known = self.known_of(Kind::INT, same);
        let trips = self.trips(known.value);
        let same = same.min(known.same);
        let mut merge = self.target();
        let mut head = self.target();
        let i = self.shader.add_param(head.block, Type::B32);
        // Of the time before, undefined at first: what a variable holds that is declared outside and assigned inside.
        let late = self.random.once_in(2).then(|| {
            let params = [Type::B32, Type::B1].map(|ty| self.shader.add_param(head.block, ty));
            (params, [self.push(Op::Undef, &[], Type::B32), self.constant(Type::B1, 0)])
        });
        let zero = self.c32(0);
        let mut call = self.call(&mut head);
        call.args.push(zero);
        call.args.extend(late.into_iter().flat_map(|(_, first)| first));
        self.end(Terminator::Jump(call.get()));
        self.begin(&head, same);
        self.same = same;
        let i_same = if same == Same::Lane { Same::Lane } else { same };
        self.see(i, Kind::INT, i_same);
        if let Some(([before, is_second], _)) = late {
            let first = self.c32(5);
            let seen = self.alu(AluOp::Select, &[is_second, before, first]);
            self.see(seen, Kind::INT, i_same);
        }
        let mut next = self.target_of(head.vars.clone());
        let at_top = self.random.once_in(2);
        let loop_merge = Merge::Loop { merge: merge.block, continue_to: next.block };
        if at_top {
            for _ in 0..self.random.below(2) {
                self.expression();
            }
            let goes_on = self.alu(AluOp::ULt, &[i, trips]);
            let mut body = self.target_of(vec![]);
            let (inside, out) = (self.call(&mut body), self.call(&mut merge));
            self.set_merge(loop_merge);
            self.end(Terminator::Branch { cond: goes_on, then: inside.get(), els: out.get() });
            self.ways.push(Way { merge, next: Some(next), same });
            self.begin(&body, same);
        } else {
            self.set_merge(loop_merge);
            self.ways.push(Way { merge, next: Some(next), same });
            if self.random.once_in(2) {
                // A header by itself, or one block with the body.
                let mut body = self.target_of(vec![]);
                self.jump(&mut body);
                self.begin(&body, same);
            }
        }
        self.depth += 1;
        self.statements();
        self.same = same;
        self.leave_way(self.ways.len() - 1, true);
        self.depth -= 1;
        let Some(way) = self.ways.pop() else { return };
        (merge, next) = match way.next {
            Some(next) => (way.merge, next),
            None => return,
        };
        self.same = same;
        self.begin(&next, same);
        if self.block.is_some() {
            if self.random.once_in(4) {
                self.expression();
            }
            let one = self.c32(1);
            let more = self.alu(AluOp::IAdd, &[i, one]);
            let late = late.map(|_| {
                let value = if self.random.once_in(3) { i } else { self.operand_of(Kind::INT, same) };
                [value, self.constant(Type::B1, 1)]
            });
            let back = |it: &mut Self, head: &mut Target| {
                let mut call = it.call(head);
                call.args.push(more);
                call.args.extend(late.into_iter().flatten());
                call
            };
            if at_top {
                let call = back(self, &mut head);
                self.end(Terminator::Jump(call.get()));
            } else {
                let goes_on = self.alu(AluOp::ULt, &[more, trips]);
                let call = back(self, &mut head);
                let out = self.call(&mut merge);
                self.end(Terminator::Branch { cond: goes_on, then: call.get(), els: out.get() });
            }
        }
        self.same = around;
        self.begin(&merge, around);
    }

    /// A trip count: a constant, equal in all lanes, or different in each lane.
    fn trips(&mut self, value: Value) -> Value {
        if self.random.once_in(3) {
            let n = 1 + self.random.below(5) as u32;
            return self.c32(n);
        }
        let three = self.c32(3);
        let few = self.alu(AluOp::IAnd, &[value, three]);
        let least = self.random.below(2) as u32;
        let least = self.c32(least);
        self.alu(AluOp::IAdd, &[few, least])
    }

    /// Breaks or continues a loop or switch, unconditionally or under a condition.
    fn escape(&mut self) {
        if self.ways.is_empty() {
            return;
        }
        let n = self.ways.len() - 1 - self.random.below(self.ways.len().min(2));
        let next = self.ways[n].next.is_some() && self.random.once_in(2);
        // Also leaves all loops in between, whose lanes must take the same path too.
        let least = self.ways[n..].iter().map(|way| way.same).max().unwrap_or(Same::Lane);
        if self.random.once_in(4) {
            if self.same >= least {
                self.leave_way(n, next);
            }
            return;
        }
        let (cond, same) = self.condition();
        if self.same.min(same) < least {
            return;
        }
        let mut then = self.target_of(vec![]);
        let mut els = self.target_of(vec![]);
        let (yes, no) = (self.call(&mut then), self.call(&mut els));
        self.set_merge(Merge::Selection(els.block));
        self.end(Terminator::Branch { cond, then: yes.get(), els: no.get() });
        let around = self.same;
        self.same = around.min(same);
        self.begin(&then, self.same);
        if self.random.once_in(2) {
            self.expression();
        }
        self.leave_way(n, next);
        self.same = around;
        self.begin(&els, around);
    }

    fn leave_way(&mut self, n: usize, next: bool) {
        let mut way = self.ways[n].clone();
        match &mut way.next {
            Some(target) if next => self.jump(target),
            _ => self.jump(&mut way.merge),
        }
        self.ways[n] = way;
    }
}
