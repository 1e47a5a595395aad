//! Finds values that are equal in all lanes that compute them (lower level).
//!
//! Sources of divergence are vector registers, lane primitives and memory that may change; `uniform_locals` finds
//! divergent scratch memory. Divergence spreads through operands and through control flow. From a divergent branch each
//! successor is followed: a block reached from two of them has divergent parameters. If some lanes stay in a loop while
//! others leave it, they leave in different iterations: its values then differ between lanes *outside* of it, but not
//! inside, and its exits count as a divergent branch. In an irreducible graph every parameter is divergent.

use super::amd::AmdOp;
use super::block::Terminator;
use super::cfg::Cfg;
use super::graph::PerBlock;
use super::lanes::LaneOp;
use super::op::Op;
use super::shader::{BlockId, RegClass, Shader, Value};
use super::uniform_locals::Locals;
use super::uniform_ways::{Parted, Reach};
use super::wave_wide::is_of_wave;
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, filled, take};
use std::sync::Arc;

/// Walks over a shader after which every value counts as divergent. Another walk is needed only if divergence spreads
/// around a loop, or through scratch memory.
const MAX_ROUNDS: u32 = 64;

/// The result for one shader in its current state.
#[derive(Clone, Debug)]
pub struct Uniformity {
    /// By value, whether it diverges where it is defined.
    divergent: Kept<Vec<bool>>,
    /// Block that defines each value.
    home: Kept<Vec<BlockId>>,
    cfg: Arc<Cfg>,
    /// By loop, whether lanes leave it in different iterations.
    divergent_exit: Kept<Vec<bool>>,
    /// By loop, of it and those around it: the innermost one that lanes leave in different iterations, and its depth.
    left_apart: Kept<Vec<Option<(u32, u32)>>>,
    /// Scratch variables.
    locals: Locals,
}

impl Uniformity {
    /// The uniformity of a shader; recomputed only if blocks, instructions or entry registers have changed since the
    /// last call.
    pub fn of(shader: &Shader) -> Arc<Self> {
        let args = shader.lower.iter().flat_map(|lower| &lower.args);
        let scalar = args.map(|arg| u64::from(arg.class == RegClass::Sgpr));
        let classes = scalar.fold(1u64, |all, one| all.rotate_left(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ one);
        let key = [shader.blocks.stamp(), shader.insts.stamp(), classes, shader.locals.len() as u64];
        shader.uniformity.get(key, |_| false, || Self::new(shader))
    }

    /// Analyses a shader; one without entry arguments (upper level) has no scalar registers.
    fn new(shader: &Shader) -> Self {
        let cfg = shader.cfg();
        let mut this = Self {
            divergent: filled(shader.values.len(), false),
            home: filled(shader.values.len(), Shader::ENTRY),
            locals: Locals::new(shader, &cfg),
            divergent_exit: filled(cfg.loops().len(), false),
            left_apart: filled(cfg.loops().len(), None),
            cfg: Arc::clone(&cfg),
        };
        for id in shader.block_ids() {
            let block = shader.block(id);
            let results = block.insts.iter().filter_map(|&i| shader.inst(i).result);
            for v in block.params.iter().copied().chain(results) {
                this.home[v.index()] = id;
            }
        }
        for id in shader.block_ids() {
            for (i, &p) in shader.block(id).params.iter().enumerate() {
                let scalar =
                    || shader.lower.as_ref().and_then(|l| l.args.get(i)).is_some_and(|a| a.class == RegClass::Sgpr);
                this.divergent[p.index()] = if id == Shader::ENTRY { !scalar() } else { !cfg.loops().are_all() };
            }
        }
        this.spread(shader, &cfg);
        this
    }

    /// Whether lanes that compute this value together get equal results.
    pub fn is_uniform(&self, v: Value) -> bool {
        !self.divergent[v.index()]
    }

    /// Whether lanes that are in `block` together have equal values.
    pub fn is_uniform_in(&self, v: Value, block: BlockId) -> bool {
        self.is_uniform(v) && !self.leaves_apart(v, block)
    }

    /// Whether lanes may leave a loop in different iterations.
    pub fn leave_apart(&self, l: u32) -> bool {
        self.divergent_exit[l as usize]
    }

    /// Whether lanes in `block` may have this value from different iterations of a loop that they have left.
    pub fn leaves_apart(&self, v: Value, block: BlockId) -> bool {
        let loops = self.cfg.loops();
        let innermost = loops.around(self.home[v.index()]).last();
        // If the block is in this loop, it is in those around it too.
        let left = innermost.and_then(|l| self.left_apart[*l as usize]);
        left.is_some_and(|(l, depth)| loops.around(block).get(depth as usize) != Some(&l))
    }

    /// Records that lanes leave a loop in different iterations; returns whether that is new.
    fn leave_loop_apart(&mut self, l: u32) -> bool {
        if std::mem::replace(&mut self.divergent_exit[l as usize], true) {
            return false;
        }
        let loops = self.cfg.loops();
        let depth = loops.around(loops.header(l)).len() - 1;
        for inner in l..loops.len() as u32 {
            let is_inside = loops.around(loops.header(inner)).get(depth) == Some(&l);
            let known = self.left_apart[inner as usize];
            if is_inside && known.is_none_or(|(_, other)| (other as usize) < depth) {
                self.left_apart[inner as usize] = Some((l, depth as u32));
            }
        }
        true
    }

    /// Runs to the fixpoint: divergence only ever grows.
    fn spread(&mut self, shader: &Shader, cfg: &Cfg) {
        let mut parted: PerBlock<bool> = filled(shader.blocks.len(), false);
        let mut reach = None;
        let (mut changed, mut rounds) = (true, 0);
        while changed {
            changed = false;
            rounds += 1;
            if rounds > MAX_ROUNDS {
                self.divergent.fill(true);
                return;
            }
            for &id in cfg.order.iter() {
                for &i in &shader.block(id).insts {
                    let inst = shader.inst(i);
                    if let Op::LocalStore { local, .. } = inst.op
                        && inst.args.iter().any(|&a| !self.is_uniform_in(a, id))
                    {
                        changed |= self.locals.stored_apart(local);
                    }
                    let Some(v) = inst.result else { continue };
                    let uniform = self.rule(&inst.op, &inst.args, id);
                    changed |= !uniform && !std::mem::replace(&mut self.divergent[v.index()], true);
                }
                let Some(term) = shader.block(id).term() else { continue };
                for call in shader.block(id).calls() {
                    for (&p, &a) in shader.block(call.block).params.iter().zip(call.args) {
                        // A value that leaves a loop along this jump is used outside of the loop.
                        let uniform = self.is_uniform_in(a, id) && self.is_uniform_in(a, call.block);
                        changed |= !uniform && !std::mem::replace(&mut self.divergent[p.index()], true);
                    }
                }
                let selector = match term {
                    Terminator::Branch { cond, .. } => cond,
                    Terminator::Switch { value, .. } => value,
                    _ => continue,
                };
                if !parted[id.index()] && !self.is_uniform_in(selector, id) {
                    parted[id.index()] = true;
                    changed = true;
                    self.locals.part(cfg, id);
                    let reach = reach.get_or_insert_with(|| Reach::new(cfg));
                    self.part(shader, cfg, cfg.succs(id), cfg.loops().around(id), reach);
                }
            }
        }
    }

    /// Lanes diverge to these successors (a block listed twice: two edges to it) from a block inside these loops.
    fn part(&mut self, shader: &Shader, cfg: &Cfg, ways: &[BlockId], loops: &[u32], reach: &mut Reach) {
        // Lists of successors, each with the number of loops around their source.
        let mut todo = take::<Rows<BlockId>>();
        let mut depths = take::<Vec<usize>>();
        todo.push(ways.iter().copied());
        depths.push(loops.len());
        while let Some(depth) = depths.pop() {
            let loops = &loops[..depth];
            let parted = Parted::new(cfg, todo.of(depths.len()), loops, reach);
            todo.truncate(depths.len());
            for b in parted.joins.iter() {
                for p in &shader.block(*b).params {
                    self.divergent[p.index()] = true;
                }
            }
            for (depth, (&l, round)) in loops.iter().zip(&parted.rounds).enumerate() {
                let leaves = parted.outermost as usize <= depth;
                if round.is_some() && leaves && self.leave_loop_apart(l) {
                    todo.push(reach.exits.of(l as usize).iter().copied());
                    depths.push(depth);
                }
            }
        }
    }

    /// Whether an operation's result is uniform, given its operands.
    fn rule(&self, op: &Op, args: &[Value], block: BlockId) -> bool {
        let same = || args.iter().all(|&a| self.is_uniform_in(a, block));
        match op {
            op if is_of_wave(op) => same(),
            Op::Descriptor { .. } | Op::BufferSize | Op::PushConstant { .. } => same(),
            Op::LocalLoad { local, .. } => self.cfg.loops().are_all() && same() && !self.locals.differs(*local, block),
            Op::GlobalLoad { access, .. } => access.read_only && !access.volatile && same(),
            Op::Target(AmdOp::Lane(amd)) => match amd {
                // Uniform, but different in each iteration of a cycle.
                LaneOp::ReadFirstLane | LaneOp::ReadLane | LaneOp::Ballot => self.cfg.loops().are_all(),
                LaneOp::StrictWwm | LaneOp::Wqm | LaneOp::CubeId | LaneOp::CubeS | LaneOp::CubeT | LaneOp::CubeMa => {
                    same()
                }
                _ => false,
            },
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    #[test]
    fn it_is_kept_until_the_shader_changes() {
        let text = "shader lower compute \"t\"\nmodes 64 1 1 any any any any rte rte rte\nlower wave32 \"m\"\n\
            arg sgpr b32 system \"s\"\nblock0(v0: b32):\n v1: b32 = iadd v0, v0\n return";
        let mut shader = parse(text).expect("test text");
        let first = Uniformity::of(&shader);
        assert!(first.is_uniform(Value(1)) && Arc::ptr_eq(&first, &Uniformity::of(&shader)));
        assert!(Arc::ptr_eq(&first, &Uniformity::of(&shader.clone())), "a clone is the same shader");
        shader.lower.as_mut().expect("a lower-level shader").args[0].class = RegClass::Vgpr;
        let second = Uniformity::of(&shader);
        assert!(!second.is_uniform(Value(1)), "the register is another");
        shader.inst_mut(crate::InstId(0)).args = crate::InstArgs::new();
        assert!(!Arc::ptr_eq(&second, &Uniformity::of(&shader)), "an instruction is another");
    }
}
