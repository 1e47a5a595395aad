//! Branches and loops.

use super::*;

impl Generator {
    /// The operation for the wave size.
    pub(super) fn by_wave(&self, w32: Op, w64: Op) -> Op {
        if self.f.wave == WaveSize::W32 { w32 } else { w64 }
    }

    /// A mask for EXEC: a variable, or a value.
    pub(super) fn saved_mask(&mut self) -> Vec<Val> {
        let mask = self.fresh_mask();
        self.pools.masks.pop();
        let variable = self.chance(60);
        mask.iter().for_each(|val| self.f.values[val.index()].variable = variable);
        mask
    }

    pub(super) fn arguments(&mut self, params: &[Val]) -> Vec<Operand> {
        let of = |it: &mut Self, class| match it.below(10) {
            0 => Operand::constant(3),
            1 => Operand::one(OperandValue::Undef),
            _ => Operand::val(it.pick(class)),
        };
        params.iter().map(|param| of(self, self.f.class(*param))).collect()
    }

    pub(super) fn parameters(&mut self, scalars: bool) -> Vec<Val> {
        let mut params: Vec<Val> = (0..self.below(4)).map(|_| self.f.value(RegisterClass::Vector)).collect();
        if scalars {
            params.extend((0..self.below(3)).map(|_| self.f.value(RegisterClass::Scalar)));
        }
        params
    }

    pub(super) fn show(&mut self, params: &[Val]) {
        for val in params {
            let pool = if self.f.class(*val) == RegisterClass::Scalar {
                &mut self.pools.scalars
            } else {
                &mut self.pools.vectors
            };
            pool.push(*val);
        }
    }

    /// Generates some instructions and constructs, from the open block on.
    pub(super) fn region(&mut self, nesting: u32) {
        for _ in 0..1 + self.below(4) {
            (0..self.below(8)).for_each(|_| self.simple());
            if nesting == 0 || self.budget == 0 {
                continue;
            }
            match self.below(6) {
                0 => self.divergent_if(nesting),
                1 => self.divergent_if_else(nesting),
                2 => self.uniform_if(nesting),
                3 => self.uniform_loop(nesting),
                4 => self.divergent_loop(nesting),
                _ => {}
            }
        }
    }

    fn side(&mut self, nesting: u32) -> Pools {
        let before = self.pools.clone();
        self.region(nesting - 1);
        std::mem::replace(&mut self.pools, before)
    }

    /// Arguments from the end of a side, whose values are visible only there.
    fn arguments_in(&mut self, side: Pools, params: &[Val]) -> Vec<Operand> {
        let outside = std::mem::replace(&mut self.pools, side);
        let args = self.arguments(params);
        self.pools = outside;
        args
    }

    fn divergent_if(&mut self, nesting: u32) {
        let (then, merge) = (self.label(), self.label());
        let (condition, saved) = (self.mask(), self.saved_mask());
        self.tail();
        let save = self.by_wave(Op::SAndSaveexecB32, Op::SAndSaveexecB64);
        self.isa(save, &run(&saved), &condition);
        self.end(vec![(then, vec![]), (merge, vec![])], Ending::Branch(Cond::Execz, merge, then));
        self.begin(then, vec![]);
        self.side(nesting);
        self.end(vec![(merge, vec![])], Ending::Jump(merge));
        self.begin(merge, vec![]);
        let or = self.by_wave(Op::SOrB32, Op::SOrB64);
        self.isa(or, &[EXEC], &[vec![EXEC], run(&saved)].concat());
    }

    fn divergent_if_else(&mut self, nesting: u32) {
        let [then, els, merge, flip] = [(); 4].map(|()| self.label());
        let (condition, saved) = (self.mask(), self.saved_mask());
        let inside = self.parameters(true);
        let args = self.arguments(&inside);
        self.tail();
        let save = self.by_wave(Op::SAndSaveexecB32, Op::SAndSaveexecB64);
        self.isa(save, &run(&saved), &condition);
        // Sometimes a separate block, which only the wave passes, switches to the other lanes.
        let own_block = self.chance(50);
        let next = if own_block { flip } else { els };
        self.end(vec![(then, args), (els, vec![])], Ending::Branch(Cond::Execz, next, then));
        let params = self.parameters(false);
        let before = self.pools.clone();
        self.begin(then, inside.clone());
        self.show(&inside);
        self.region(nesting - 1);
        let side = std::mem::replace(&mut self.pools, before);
        let args = self.arguments_in(side, &params);
        self.tail();
        let xor = self.by_wave(Op::SXorB32, Op::SXorB64);
        let turn = [vec![EXEC], run(&saved)].concat();
        if own_block {
            self.end(vec![(merge, args)], Ending::Jump(flip));
            self.begin(flip, vec![]);
            self.isa(xor, &[EXEC], &turn);
            self.end(vec![], Ending::Branch(Cond::Execz, merge, els));
        } else {
            self.isa(xor, &[EXEC], &turn);
            self.end(vec![(merge, args)], Ending::Jump(els));
        }
        self.begin(els, vec![]);
        let side = self.side(nesting);
        let args = self.arguments_in(side, &params);
        self.tail();
        let or = self.by_wave(Op::SOrB32, Op::SOrB64);
        self.isa(or, &[EXEC], &[vec![EXEC], run(&saved)].concat());
        self.end(vec![(merge, args)], Ending::Jump(merge));
        self.begin(merge, params.clone());
        self.show(&params);
    }

    fn uniform_if(&mut self, nesting: u32) {
        let [then, els, merge] = [(); 3].map(|()| self.label());
        let inside = self.parameters(true);
        let args = self.arguments(&inside);
        let (a, b) = (self.scalar(), self.scalar());
        self.isa(Op::SCmpEqU32, &[], &[a, b]);
        (0..self.below(3)).for_each(|_| self.without_scc());
        self.end(vec![(then, vec![]), (els, args)], Ending::Branch(Cond::Scc1, then, els));
        let params = self.parameters(true);
        self.begin(then, vec![]);
        let side = self.side(nesting);
        let args = self.arguments_in(side, &params);
        self.end(vec![(merge, args)], Ending::Jump(merge));
        let before = self.pools.clone();
        self.begin(els, inside.clone());
        self.show(&inside);
        self.region(nesting - 1);
        let side = std::mem::replace(&mut self.pools, before);
        let args = self.arguments_in(side, &params);
        self.end(vec![(merge, args)], Ending::Jump(merge));
        self.begin(merge, params.clone());
        self.show(&params);
    }

    fn uniform_loop(&mut self, nesting: u32) {
        let [head, body, exit] = [(); 3].map(|()| self.label());
        let params = self.parameters(true);
        let args = self.arguments(&params);
        self.end(vec![(head, args)], Ending::Jump(head));
        self.depth += 1;
        self.begin(head, params.clone());
        self.show(&params);
        (0..self.below(4)).for_each(|_| self.simple());
        let (a, b) = (self.scalar(), self.scalar());
        self.isa(Op::SCmpEqU32, &[], &[a, b]);
        let outside = self.parameters(true);
        let args = self.arguments(&outside);
        self.end(vec![(exit, args), (body, vec![])], Ending::Branch(Cond::Scc0, exit, body));
        self.begin(body, vec![]);
        let side = self.side(nesting);
        let args = self.arguments_in(side, &params);
        self.end(vec![(head, args)], Ending::Jump(head));
        self.depth -= 1;
        self.begin(exit, outside.clone());
        self.show(&outside);
    }

    fn divergent_loop(&mut self, nesting: u32) {
        let [head, body, exit] = [(); 3].map(|()| self.label());
        let all = self.saved_mask();
        let mov = self.by_wave(Op::SMovB32, Op::SMovB64);
        self.isa(mov, &run(&all), &[EXEC]);
        let params = self.parameters(true);
        let args = self.arguments(&params);
        self.end(vec![(head, args)], Ending::Jump(head));
        self.depth += 1;
        self.begin(head, params.clone());
        self.show(&params);
        (0..self.below(4)).for_each(|_| self.simple());
        let leaving = self.mask();
        self.tail();
        let andn2 = self.by_wave(Op::SAndn2B32, Op::SAndn2B64);
        self.isa(andn2, &[EXEC], &[vec![EXEC], leaving].concat());
        self.end(vec![(body, vec![]), (exit, vec![])], Ending::Jump(body));
        self.begin(body, vec![]);
        let side = self.side(nesting);
        let args = self.arguments_in(side, &params);
        self.end(vec![(head, args)], Ending::Branch(Cond::Execnz, head, exit));
        self.depth -= 1;
        // The wave reaches the exit after the next iteration's parameters are set, so a scalar parameter does not
        // outlive the loop.
        self.pools.scalars.retain(|val| !params.contains(val));
        self.begin(exit, vec![]);
        self.isa(mov, &[EXEC], &run(&all));
    }
}
