//! Which values are the same in every lane that computes them (lower level).
//!
//! Sources of divergence are vector registers, lane primitives and memory that may change. It spreads along operands, and
//! through control: where lanes part at a branch, a block that two ways from it reach gives its parameters different
//! values to different lanes, up to the block where all ways meet again; and if lanes leave a loop in different iterations, what the loop
//! computed differs between lanes *outside* it, though not inside. An irreducible graph makes every parameter divergent.

use super::cfg::{Cfg, DomTree};
use super::op::{AmdOp, Op};
use super::shader::{BlockId, RegClass, Shader, Terminator, Value};

/// The answer for one shader as it is now.
#[derive(Clone, Debug)]
pub struct Uniformity {
    /// By value, where it is made.
    divergent: Vec<bool>,
    /// Block that makes each value.
    home: Vec<BlockId>,
    loops: Vec<Loop>,
    /// By block, the loops around it.
    around: Vec<Vec<usize>>,
}

#[derive(Clone, Debug)]
struct Loop {
    header: BlockId,
    /// Lanes leave it in different iterations.
    divergent_exit: bool,
}

impl Uniformity {
    /// Analyses a shader; one without entry arguments (upper level) has no scalar registers.
    pub fn new(shader: &Shader) -> Self {
        let cfg = Cfg::new(shader);
        let post = cfg.postdominators();
        let mut this = Self {
            divergent: vec![false; shader.values.len()],
            home: vec![Shader::ENTRY; shader.values.len()],
            loops: Vec::new(),
            around: vec![Vec::new(); shader.blocks.len()],
        };
        for id in shader.block_ids() {
            let block = shader.block(id);
            let results = block.insts.iter().filter_map(|&i| shader.inst(i).result);
            for v in block.params.iter().copied().chain(results) {
                this.home[v.index()] = id;
            }
        }
        let reducible = this.find_loops(&cfg);
        for id in shader.block_ids() {
            for (i, &p) in shader.block(id).params.iter().enumerate() {
                let scalar =
                    || shader.lower.as_ref().and_then(|l| l.args.get(i)).is_some_and(|a| a.class == RegClass::Sgpr);
                this.divergent[p.index()] = if id == Shader::ENTRY { !scalar() } else { !reducible };
            }
        }
        this.spread(shader, &cfg, &post);
        this
    }

    /// Whether lanes that compute this value together agree on it.
    pub fn is_uniform(&self, v: Value) -> bool {
        !self.divergent[v.index()]
    }

    /// Whether lanes that are in `block` together agree on the value.
    pub fn is_uniform_in(&self, v: Value, block: BlockId) -> bool {
        let left = |&l: &usize| self.loops[l].divergent_exit && !self.around[block.index()].contains(&l);
        self.is_uniform(v) && !self.around[self.home[v.index()].index()].iter().any(left)
    }

    /// Natural loops; false if there is a cycle that has two ways in.
    fn find_loops(&mut self, cfg: &Cfg) -> bool {
        let mut position = vec![0; self.around.len()];
        for (i, b) in cfg.order.iter().enumerate() {
            position[b.index()] = i;
        }
        let mut reducible = true;
        for &header in &cfg.order {
            let back = |p: &&BlockId| cfg.reachable(**p) && position[p.index()] >= position[header.index()];
            let mut todo: Vec<BlockId> = cfg.preds[header.index()].iter().filter(back).copied().collect();
            reducible &= todo.iter().all(|&p| cfg.dom.dominates(header, p));
            if todo.is_empty() {
                continue;
            }
            let l = self.loops.len();
            self.loops.push(Loop { header, divergent_exit: false });
            self.around[header.index()].push(l);
            while let Some(b) = todo.pop() {
                if cfg.reachable(b) && !self.around[b.index()].contains(&l) {
                    self.around[b.index()].push(l);
                    todo.extend(&cfg.preds[b.index()]);
                }
            }
        }
        reducible
    }

    /// To the fixpoint: divergence only ever grows.
    fn spread(&mut self, shader: &Shader, cfg: &Cfg, post: &DomTree) {
        let mut parted = vec![false; shader.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for &id in &cfg.order {
                for &i in &shader.block(id).insts {
                    let inst = shader.inst(i);
                    let Some(v) = inst.result else { continue };
                    let uniform = self.rule(&inst.op, &inst.args, id);
                    changed |= !uniform && !std::mem::replace(&mut self.divergent[v.index()], true);
                }
                let Some(term) = &shader.block(id).term else { continue };
                for call in term.calls() {
                    for (&p, &a) in shader.block(call.block).params.iter().zip(&call.args) {
                        // A value that leaves a loop on this jump is used outside already.
                        let uniform = self.is_uniform_in(a, id) && self.is_uniform_in(a, call.block);
                        changed |= !uniform && !std::mem::replace(&mut self.divergent[p.index()], true);
                    }
                }
                let selector = match term {
                    Terminator::Branch { cond, .. } => *cond,
                    Terminator::Switch { value, .. } => *value,
                    _ => continue,
                };
                if !parted[id.index()] && !self.is_uniform_in(selector, id) {
                    parted[id.index()] = true;
                    changed = true;
                    self.part(shader, cfg, id, post.parent(id));
                }
            }
        }
    }

    /// Lanes part at the end of `from` and are together again at `meet`.
    fn part(&mut self, shader: &Shader, cfg: &Cfg, from: BlockId, meet: Option<BlockId>) {
        // By which successor of `from` each block is reached, or by itself where ways join.
        let mut label: Vec<Option<BlockId>> = vec![None; cfg.succs.len()];
        let mut joins: Vec<BlockId> = Vec::new();
        let mut changed = true;
        while changed {
            changed = false;
            for &b in &cfg.order {
                let mut new = None;
                for &p in &cfg.preds[b.index()] {
                    let way = if p == from { Some(b) } else { label[p.index()].filter(|_| Some(p) != meet) };
                    match (new, way) {
                        (Some(other), Some(way)) if other != way && !joins.contains(&b) => joins.push(b),
                        _ => new = new.or(way),
                    }
                }
                if joins.contains(&b) {
                    new = Some(b);
                }
                changed |= new != label[b.index()];
                label[b.index()] = new;
            }
        }
        // Two edges with different values may lead straight to one block.
        joins.extend(
            cfg.succs[from.index()].iter().filter(|&s| cfg.succs[from.index()].iter().filter(|t| *t == s).count() > 1),
        );
        for l in self.around[from.index()].clone() {
            let header = self.loops[l].header;
            if meet.is_none_or(|m| !self.around[m.index()].contains(&l)) {
                self.loops[l].divergent_exit = true;
            } else if label[header.index()].is_some() && meet != Some(header) {
                // Some lanes go round while others are on their way to the meeting point in the same loop.
                joins.push(header);
            }
        }
        for b in joins {
            for p in &shader.block(b).params {
                self.divergent[p.index()] = true;
            }
        }
    }

    /// Whether an operation gives the same in every lane, as far as its operands do.
    fn rule(&self, op: &Op, args: &[Value], block: BlockId) -> bool {
        let same = || args.iter().all(|&a| self.is_uniform_in(a, block));
        match op {
            Op::Const(_) | Op::Undef | Op::Reloc(_) | Op::AddressHigh => true,
            Op::Alu(..) | Op::Compose | Op::Extract(_) | Op::Bitcast => same(),
            Op::ConstLoad { .. } | Op::TableLoad { .. } | Op::BufferSize | Op::PushConstant { .. } => same(),
            Op::BufferLoad { kind, access, .. } => {
                let fixed = access.read_only || *kind == super::op::BufferKind::Uniform;
                fixed && !access.volatile && same()
            }
            Op::GlobalLoad { access, .. } => access.read_only && !access.volatile && same(),
            Op::Amd(amd) => match amd {
                AmdOp::ReadFirstLane | AmdOp::ReadLane | AmdOp::Ballot => true,
                AmdOp::StrictWwm | AmdOp::Wqm | AmdOp::CubeId | AmdOp::CubeS | AmdOp::CubeT | AmdOp::CubeMa => same(),
                _ => false,
            },
            _ => false,
        }
    }
}
