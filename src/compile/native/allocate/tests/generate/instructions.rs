//! Single instructions.

use super::*;

impl Generator {
    pub(super) fn mask(&mut self) -> Vec<Operand> {
        if self.pools.masks.is_empty() || self.chance(30) {
            self.compare();
        }
        let n = self.below(self.pools.masks.len() as u32) as usize;
        run(&self.pools.masks[n].clone())
    }

    pub(super) fn compare(&mut self) {
        let (a, b) = (self.source(), self.source());
        let mask = self.fresh_mask();
        self.isa(Op::VCmpLtF32, &run(&mask), &[a, b]);
    }

    pub(super) fn simple(&mut self) {
        self.budget = self.budget.saturating_sub(1);
        let modifiers = Extra::Vector(Modifiers::default());
        match self.below(24) {
            0..=4 => {
                let uses = [self.source(), self.source()];
                let def = self.fresh(RegisterClass::Vector, 1);
                self.inst(Opcode::Isa(Op::VAddF32), &run(&def), &uses, false, modifiers);
            }
            5 | 6 => {
                let uses = [self.source(), self.source(), self.source()];
                let def = self.fresh(RegisterClass::Vector, 1);
                self.inst(Opcode::Isa(Op::VFmacF32), &run(&def), &uses, true, modifiers);
            }
            7 | 8 => {
                let uses = [self.scalar(), self.scalar()];
                let def = self.fresh(RegisterClass::Scalar, 1);
                self.isa(Op::SAddU32, &run(&def), &uses);
            }
            9 => {
                let (a, b) = (self.pick_run(RegisterClass::Scalar, 2), self.pick_run(RegisterClass::Scalar, 2));
                let def = self.fresh(RegisterClass::Scalar, 2);
                self.isa(Op::SAndB64, &run(&def), &[a, b].concat());
            }
            10 | 11 => {
                let kinds = if self.chance(10) { 5 } else { 4 };
                let number = self.below(kinds) as usize;
                let (op, count) = [
                    (Op::SLoadDword, 1),
                    (Op::SLoadDwordx2, 2),
                    (Op::SLoadDwordx4, 4),
                    (Op::SLoadDwordx8, 8),
                    (Op::SLoadDwordx16, 16),
                ][number];
                let uses = self.pick_run(RegisterClass::Scalar, 2);
                let def = self.fresh(RegisterClass::Scalar, count);
                let extra = Extra::Smem { offset: 16, cache: CachePolicy::default() };
                self.inst(Opcode::Isa(op), &run(&def), &uses, false, extra);
            }
            12..=14 => self.buffer(),
            15 | 16 => self.image(),
            17 => self.compare(),
            18 => {
                let (a, b, mask) = (self.source(), self.source(), self.mask());
                let def = self.fresh(RegisterClass::Vector, 1);
                self.inst(Opcode::Isa(Op::VCndmaskB32), &run(&def), &[vec![a, b], mask].concat(), false, modifiers);
            }
            19 => {
                let (a, b, mask) = (self.source(), self.source(), self.mask());
                let def = self.fresh(RegisterClass::Vector, 1);
                let carry = self.fresh_mask();
                let defs = [run(&def), run(&carry)].concat();
                self.inst(Opcode::Isa(Op::VAddCoCiU32), &defs, &[vec![a, b], mask].concat(), false, modifiers);
            }
            20 => self.copy(),
            21 => {
                let (amount, pair) = (self.source(), self.pick_run(RegisterClass::Vector, 2));
                let def = self.fresh(RegisterClass::Vector, 2);
                self.inst(Opcode::Isa(Op::VLshlrevB64), &run(&def), &[vec![amount], pair].concat(), false, modifiers);
            }
            22 => {
                let from = Operand::val(self.pick(RegisterClass::Vector));
                let def = self.fresh(RegisterClass::Scalar, 1);
                self.isa(Op::VReadfirstlaneB32, &run(&def), &[from]);
            }
            _ => self.flags(),
        }
    }

    /// SCC or VCC, used across other instructions.
    fn flags(&mut self) {
        if self.chance(50) && !self.vcc {
            self.vcc = true;
            let vcc = Operand::fixed(PhysReg::VCC);
            let (a, b, c) = (self.source(), self.source(), self.source());
            let def = self.fresh(RegisterClass::Vector, 1);
            self.isa(Op::VDivScaleF32, &[run(&def)[0], vcc], &[a, b, c]);
            (0..self.below(3)).for_each(|_| self.simple());
            let def = self.fresh(RegisterClass::Vector, 1);
            self.isa(Op::VDivFmasF32, &run(&def), &[a, b, c]);
            self.vcc = false;
            return;
        }
        let (a, b) = (self.scalar(), self.scalar());
        self.isa(Op::SCmpEqU32, &[], &[a, b]);
        (0..self.below(3)).for_each(|_| self.without_scc());
        let def = self.fresh(RegisterClass::Scalar, 1);
        self.isa(Op::SCselectB32, &run(&def), &[a, b]);
    }

    pub(super) fn without_scc(&mut self) {
        match self.below(3) {
            0 => self.buffer(),
            1 => self.copy(),
            _ => self.image(),
        }
    }

    fn copy(&mut self) {
        let count = 1 + self.below(4);
        let (mut defs, mut uses) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let scalar = self.chance(40);
            uses.push(if scalar { self.scalar() } else { self.source() });
            let val = self.f.value(if scalar { RegisterClass::Scalar } else { RegisterClass::Vector });
            defs.push(Operand::val(val));
        }
        self.inst(Opcode::Pseudo(Pseudo::Copy), &defs, &uses, false, Extra::None);
        for val in defs.iter().filter_map(|one| one.as_val()) {
            let class = self.f.class(val);
            if class == RegisterClass::Scalar { &mut self.pools.scalars } else { &mut self.pools.vectors }.push(val);
        }
    }

    fn buffer(&mut self) {
        let extra = Extra::Buffer { offset: 0, idxen: false, offen: true, format: None, cache: CachePolicy::default() };
        let address = vec![Operand::val(self.pick(RegisterClass::Vector))];
        let descriptor = self.pick_run(RegisterClass::Scalar, 4);
        let offset = vec![self.scalar()];
        let uses = [address, descriptor, offset].concat();
        match self.below(4) {
            0 => {
                let data = self.pick_run(RegisterClass::Vector, 4);
                self.inst(Opcode::Isa(Op::BufferStoreDwordx4), &[], &[uses, data].concat(), false, extra);
            }
            1 => {
                let data = self.pick_run(RegisterClass::Vector, 2);
                let def = self.fresh(RegisterClass::Vector, 1);
                let uses = [uses, data].concat();
                self.inst(Opcode::Isa(Op::BufferAtomicCmpswap), &run(&def), &uses, true, extra);
            }
            _ => {
                let (op, count) = [(Op::BufferLoadDword, 1), (Op::BufferLoadDwordx3, 3), (Op::BufferLoadDwordx4, 4)]
                    [self.below(3) as usize];
                let def = self.fresh(RegisterClass::Vector, count);
                self.inst(Opcode::Isa(op), &run(&def), &uses, false, extra);
            }
        }
    }

    fn image(&mut self) {
        let nsa = self.chance(30);
        let count = 2 + self.below(3);
        let address = match nsa {
            true => (0..count).map(|_| Operand::val(self.pick(RegisterClass::Vector))).collect(),
            false => self.pick_run(RegisterClass::Vector, count),
        };
        let (resource, sampler) = (self.pick_run(RegisterClass::Scalar, 8), self.pick_run(RegisterClass::Scalar, 4));
        let channels = 1 + self.below(4);
        let extra = Extra::Image {
            dim: 1,
            dmask: (1 << channels) - 1,
            unorm: false,
            tfe: false,
            d16: false,
            nsa,
            cache: CachePolicy::default(),
        };
        let mut uses = [address, resource, sampler].concat();
        // The old value of a destination that a failed access leaves unchanged.
        let tied = self.chance(20);
        if tied {
            uses.extend(self.pick_run(RegisterClass::Vector, channels));
        }
        let def = self.fresh(RegisterClass::Vector, channels);
        self.inst(Opcode::Isa(Op::ImageSample), &run(&def), &uses, tied, extra);
    }
}
