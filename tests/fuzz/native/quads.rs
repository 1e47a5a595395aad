//! Features of fragment shaders: quad operations, demotion, branches for live pixels.

use super::generate::{Gen, Kind, Same};
use super::scene::SMOOTH_BITS;
use dovetail::ir::{
    AluOp, Bits, BuiltIn, DerivativeKind, FpFlags, Merge, Op, QuadSwap, SubgroupOp, Terminator, Type, Value,
};

impl Gen<'_> {
    fn quads(&self) -> bool {
        self.same >= Same::Quad && self.fragment.as_ref().is_some_and(|f| !f.broken)
    }

    /// Generates an operation that only fragment shaders have.
    pub fn of_fragments(&mut self) {
        match self.random.below(10) {
            0..=3 if self.quads() => self.across_quad(),
            4 | 5 if self.may_demote() => self.demote(),
            6 if self.may_kill() && self.may_break_quads() && self.depth < 4 => self.kill(),
            7 | 8 if self.depth < 4 => self.where_live(),
            9 => {
                // The current state or the initial one.
                let began = Op::load_builtin(BuiltIn::HelperInvocation, 0);
                let op = if self.random.once_in(3) { began } else { Op::IsHelper };
                let value = self.push(op, &[], Type::B1);
                self.see(value, Kind::TRUTH, Same::Lane);
                self.show(value, Kind::TRUTH);
            }
            _ => self.expression(),
        }
    }

    /// A derivative, or the value of another lane of the quad.
    fn across_quad(&mut self) {
        if self.random.once_in(2) {
            return self.derivative();
        }
        let ty = *self.random.pick(&[Type::B32, Type::B32, Type::B64, Type::B16, Type::B8]);
        let value = self.operand(Kind::Bits(ty));
        let (op, lane, same) = if self.random.once_in(2) {
            let n = self.random.below(4) as u32;
            (SubgroupOp::QuadBroadcast, Some(self.c32(n)), Same::Quad)
        } else {
            let swap = *self.random.pick(&[QuadSwap::Horizontal, QuadSwap::Vertical, QuadSwap::Diagonal]);
            (SubgroupOp::QuadSwap(swap), None, Same::Lane)
        };
        let args: Vec<Value> = std::iter::once(value).chain(lane).collect();
        let value = self.subgroup(op, &args, ty);
        self.see(value, Kind::Bits(ty), same);
        self.show(value, Kind::Bits(ty));
    }

    /// Stores half of these values, because few other statements use them.
    fn show(&mut self, value: Value, kind: Kind) {
        if self.random.once_in(2) {
            self.mix(value, kind);
        }
    }

    fn derivative(&mut self) {
        let fine = self.random.once_in(2);
        let kind = DerivativeKind { vertical: self.random.once_in(2), fine };
        let linear = self.fragment.as_ref().map_or(Vec::new(), |f| f.linear.clone());
        let (value, bits, size) = if fine && self.random.once_in(2) {
            // Of an arbitrary integer.
            let word = self.operand(Kind::INT);
            let most = 1 + self.random.below(20) as u8;
            let mask = self.c32((1 << most) - 1);
            let word = self.alu(AluOp::IAnd, &[word, mask]);
            (self.push(Op::Alu(AluOp::U2F, FpFlags::NONE), &[word], Type::B32), Bits::B32, most)
        } else if fine {
            let (bits, most) = *self.random.pick(&[(Bits::B32, 23), (Bits::B32, 23), (Bits::B16, 10)]);
            let known = self.known_of(Kind::Float(bits, most), Same::Lane);
            let Kind::Float(_, size) = known.kind else { return };
            (known.value, bits, size)
        } else {
            (*self.random.pick(&linear), Bits::B32, SMOOTH_BITS)
        };
        let value = self.push(Op::Derivative(kind), &[value], Type::scalar(bits));
        // A coarse derivative is equal in the quad, because its operand is linear.
        let same = if fine { Same::Lane } else { Same::Quad };
        let kind = Kind::Float(bits, size + 1);
        self.see(value, kind, same);
        self.show(value, kind);
    }

    fn may_kill(&self) -> bool {
        self.fragment.as_ref().is_some_and(|f| !f.no_helpers)
    }

    fn may_demote(&self) -> bool {
        // A loop would reach operations for live pixels again, with helpers.
        let again = self.fragment.as_ref().is_some_and(|f| f.live.is_some_and(|ways| self.ways.len() > ways));
        self.may_kill() && !again
    }

    /// Demotes some pixels to helpers.
    fn demote(&mut self) {
        let (cond, _) = self.condition();
        self.demote_if(cond);
    }

    fn demote_if(&mut self, cond: Value) {
        self.effect(Op::DemoteIf, &[cond]);
        if let Some(f) = &mut self.fragment {
            f.live = None;
        }
    }

    /// Ends some pixels without a result.
    fn kill(&mut self) {
        let (cond, same) = self.condition();
        let (mut dead, mut rest) = (self.target_of(vec![]), self.target_of(vec![]));
        let (yes, no) = (self.call(&mut dead), self.call(&mut rest));
        self.set_merge(Merge::Selection(no.block));
        self.end(Terminator::Branch { cond, then: yes.get(), els: no.get() });
        let around = self.same;
        self.same = around.min(same);
        self.begin(&dead, self.same);
        if self.random.once_in(3) {
            self.access();
        }
        let live = self.fragment.as_ref().and_then(|f| f.live);
        let yes = self.constant(Type::B1, 1);
        self.demote_if(yes);
        if self.random.once_in(2) {
            self.leave();
        } else {
            self.end_dead();
        }
        // The remaining pixels are as before.
        if let Some(f) = &mut self.fragment {
            f.live = live;
        }
        self.same = around;
        self.begin(&rest, around);
    }

    /// A branch for live pixels.
    fn where_live(&mut self) {
        let helper = self.push(Op::IsHelper, &[], Type::B1);
        let cond = self.alu(AluOp::INot, &[helper]);
        let around = self.same;
        let mut merge = self.target();
        let mut inside = self.target_of(vec![]);
        let (yes, no) = (self.call(&mut inside), self.call(&mut merge));
        self.set_merge(Merge::Selection(no.block));
        self.end(Terminator::Branch { cond, then: yes.get(), els: no.get() });
        self.same = Same::Lane;
        self.depth += 1;
        let ways = self.ways.len();
        let before = self.fragment.as_ref().and_then(|f| f.live);
        if let Some(f) = &mut self.fragment {
            f.live = before.or(Some(ways));
        }
        self.begin(&inside, Same::Lane);
        for _ in 0..1 + self.random.below(3) {
            self.across_lanes();
        }
        self.statements();
        self.jump(&mut merge);
        if let Some(f) = &mut self.fragment {
            f.live = before.filter(|_| f.live.is_some());
        }
        self.depth -= 1;
        self.same = around;
        self.begin(&merge, around);
    }

    /// The result of an atomic; 0 in helpers, where it has none.
    pub fn of_live(&mut self, value: Value) -> Value {
        if self.all_live() {
            return value;
        }
        let ty = self.shader.ty(value);
        let helper = self.push(Op::IsHelper, &[], Type::B1);
        let zero = self.constant(ty, 0);
        self.alu(AluOp::Select, &[helper, zero, value])
    }
}
