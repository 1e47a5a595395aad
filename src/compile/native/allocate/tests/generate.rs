//! Random functions that satisfy the verifier: structured control flow with both kinds of edges, many live values,
//! runs, tied operands, fixed registers. What they compute is meaningless.

mod control;
mod instructions;

use crate::mir::{
    BlockId, Cond, Edge, EntryValue, Extra, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue,
    PhysReg, Pseudo, RegisterClass, Term, Val,
};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_isa::Isa;
use dovetail_isa::Op;
use dovetail_isa::instruction::{CachePolicy, Modifiers};

/// Parameters of a generated function.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Seed.
    pub seed: u64,
    /// Wave size.
    pub wave: WaveSize,
    /// Approximate number of instructions.
    pub size: u32,
    /// Number of values that live from start to end.
    pub live: u32,
}

/// Makes a function.
pub fn generate(shape: Shape) -> MachineFunction {
    let mut it = Generator {
        random: shape.seed ^ 0x9e37_79b9_7f4a_7c15,
        f: MachineFunction::new(Isa::of(Gpu::Gfx1030), Stage::Compute, shape.wave),
        open: None,
        labels: Vec::new(),
        ends: Vec::new(),
        pools: Pools::default(),
        budget: shape.size,
        vcc: false,
        depth: 0,
    };
    it.function(shape.live);
    it.f
}

/// The values that are visible.
#[derive(Clone, Debug, Default)]
struct Pools {
    scalars: Vec<Val>,
    vectors: Vec<Val>,
    /// Values that were defined together.
    groups: Vec<Vec<Val>>,
    masks: Vec<Vec<Val>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Label(usize);

enum Ending {
    Jump(Label),
    Branch(Cond, Label, Label),
    Stop,
    Joint,
}

/// Logical edges before their targets are known.
type Edges = Vec<(Label, Vec<Operand>)>;

struct Generator {
    random: u64,
    f: MachineFunction,
    open: Option<(Vec<Val>, u32, Option<u32>)>,
    labels: Vec<Option<BlockId>>,
    ends: Vec<(Edges, Ending)>,
    pools: Pools,
    budget: u32,
    /// VCC holds a value.
    vcc: bool,
    depth: u8,
}

fn run(vals: &[Val]) -> Vec<Operand> {
    let count = vals.len() as u8;
    vals.iter()
        .enumerate()
        .map(|(n, val)| Operand { run: if n == 0 { count } else { 0 }, ..Operand::val(*val) })
        .collect()
}

const EXEC: Operand = Operand::fixed(PhysReg::EXEC);

impl Generator {
    fn below(&mut self, n: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 20) % u64::from(n.max(1))) as u32
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    fn begin(&mut self, label: Label, params: Vec<Val>) {
        self.labels[label.0] = Some(BlockId(self.ends.len() as u32));
        self.open = Some((params, self.f.insts.len() as u32, None));
    }

    fn tail(&mut self) {
        let here = self.f.insts.len() as u32;
        self.open.as_mut().expect("an open block").2 = Some(here);
    }

    fn end(&mut self, edges: Edges, end: Ending) {
        let (params, start, tail) = self.open.take().expect("an open block");
        let here = self.f.insts.len() as u32;
        let first = self.f.params.len() as u32;
        self.f.params.extend(params);
        let params = first..self.f.params.len() as u32;
        let tail = tail.unwrap_or(here);
        self.f.blocks.push(MachineBlock {
            params,
            insts: start..here,
            tail,
            edges: Default::default(),
            term: Term::End,
            depth: self.depth,
        });
        self.ends.push((edges, end));
    }

    fn inst(&mut self, op: Opcode, defs: &[Operand], uses: &[Operand], tied: bool, extra: Extra) {
        let operands = self.f.operands.len() as u32;
        self.f.operands.extend_from_slice(defs);
        self.f.operands.extend_from_slice(uses);
        self.f.insts.push(MachineInst { op, operands, defs: defs.len() as u8, uses: uses.len() as u8, tied, extra });
    }

    fn isa(&mut self, op: Op, defs: &[Operand], uses: &[Operand]) {
        self.inst(Opcode::Isa(op), defs, uses, false, Extra::None);
    }

    fn fresh(&mut self, class: RegisterClass, count: u32) -> Vec<Val> {
        let vals: Vec<Val> = (0..count).map(|_| self.f.value(class)).collect();
        let pool = if class == RegisterClass::Scalar { &mut self.pools.scalars } else { &mut self.pools.vectors };
        pool.extend(&vals);
        if count > 1 {
            self.pools.groups.push(vals.clone());
        }
        vals
    }

    fn fresh_mask(&mut self) -> Vec<Val> {
        let mask: Vec<Val> = (0..self.f.wave.lanes() / 32).map(|_| self.f.value(RegisterClass::Scalar)).collect();
        self.pools.masks.push(mask.clone());
        mask
    }

    fn pick(&mut self, class: RegisterClass) -> Val {
        let n = self.below(u32::MAX) as usize;
        let pool = if class == RegisterClass::Scalar { &self.pools.scalars } else { &self.pools.vectors };
        // Recent values are chosen twice as often.
        let recent = pool.len().min(6);
        if n.is_multiple_of(3) { pool[n / 3 % pool.len()] } else { pool[pool.len() - 1 - n / 3 % recent] }
    }

    /// A run of values that were defined together, or of any values.
    fn pick_run(&mut self, class: RegisterClass, count: u32) -> Vec<Operand> {
        let groups: Vec<Vec<Val>> = self
            .pools
            .groups
            .iter()
            .filter(|g| g.len() >= count as usize && self.f.class(g[0]) == class)
            .cloned()
            .collect();
        if !groups.is_empty() && self.chance(60) {
            let group = &groups[self.below(groups.len() as u32) as usize];
            return run(&group[..count as usize]);
        }
        let vals: Vec<Val> = (0..count).map(|_| self.pick(class)).collect();
        let mut run = run(&vals);
        if count > 1 && self.chance(20) {
            let hole = self.below(count) as usize;
            run[hole].what = OperandValue::Undef;
        }
        run
    }

    fn source(&mut self) -> Operand {
        match self.below(12) {
            0 => Operand::constant(7),
            1 | 2 => Operand::val(self.pick(RegisterClass::Scalar)),
            3 => Operand::one(OperandValue::Undef),
            _ => Operand::val(self.pick(RegisterClass::Vector)),
        }
    }

    fn result(&mut self) -> Operand {
        match self.below(8) {
            0 => Operand::constant(3),
            1 => Operand::one(OperandValue::Undef),
            _ => Operand::val(self.pick(RegisterClass::Vector)),
        }
    }

    fn scalar(&mut self) -> Operand {
        match self.below(8) {
            0 => Operand::constant(64),
            1 => Operand::one(OperandValue::Undef),
            _ => Operand::val(self.pick(RegisterClass::Scalar)),
        }
    }

    fn function(&mut self, live: u32) {
        let entry = self.label();
        self.begin(entry, vec![]);
        for n in 0..6 {
            let val = self.chance(80).then(|| self.fresh(RegisterClass::Scalar, 1)[0]);
            self.f.entry.push(EntryValue { val, reg: PhysReg::sgpr(n) });
            self.f.address_high = val.filter(|_| n == 5);
        }
        for n in 0..3 {
            let val = self.chance(80).then(|| self.fresh(RegisterClass::Vector, 1)[0]);
            self.f.entry.push(EntryValue { val, reg: PhysReg::vgpr(n) });
        }
        for class in [RegisterClass::Scalar, RegisterClass::Vector] {
            let val = self.fresh(class, 1);
            let op = if class == RegisterClass::Scalar { Op::SMovB32 } else { Op::VMovB32 };
            self.isa(op, &run(&val), &[Operand::constant(9)]);
        }
        let first = self.pools.vectors.len();
        for _ in 0..live {
            let uses = [self.source()];
            let def = self.fresh(RegisterClass::Vector, 1);
            self.isa(Op::VMovB32, &run(&def), &uses);
        }
        let kept: Vec<Val> = self.pools.vectors[first..].to_vec();
        while self.budget > 0 {
            self.region(3);
        }
        for val in kept {
            self.inst(Opcode::Isa(Op::DsWriteB32), &[], &[Operand::val(val); 2], false, Extra::Ds { offsets: [0; 2] });
        }
        let joint = self.chance(50);
        if joint {
            let uses: Vec<Operand> = (0..3 + self.below(6)).map(|_| self.result()).collect();
            self.inst(Opcode::Pseudo(Pseudo::Return), &[], &uses, false, Extra::None);
        }
        self.end(vec![], if joint { Ending::Joint } else { Ending::Stop });
        self.link();
    }

    /// Replaces labels with blocks.
    fn link(&mut self) {
        for (n, (edges, end)) in std::mem::take(&mut self.ends).into_iter().enumerate() {
            let at = |label: Label| self.labels[label.0].expect("a block for each label");
            let term = match end {
                Ending::Jump(to) => Term::Jump(at(to)),
                Ending::Branch(when, then, els) => Term::Branch { when, then: at(then), els: at(els) },
                Ending::Stop => Term::End,
                Ending::Joint => Term::Joint,
            };
            self.f.blocks[n].term = term;
            for (to, args) in edges {
                let to = at(to);
                let start = self.f.operands.len() as u32;
                self.f.operands.extend(args);
                self.f.blocks[n].edges.push(Edge { to, args: start..self.f.operands.len() as u32 });
            }
        }
    }
}
