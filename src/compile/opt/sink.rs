//! Moves arithmetic past branches, to the block that all its uses need: paths that do not use it do not execute it.
//!
//! A result moves down to the nearest block that dominates its uses, but not into a loop, and only if a path from its old
//! block avoids the new one. Loads stay: they begin as early as possible.

use dovetail_base::error::Result;
use dovetail_base::workspace::{List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{BlockId, InstId, Op, PerBlock, Shader, Value};

/// Largest number of steps in the tree of dominators, or of postdominators, for one use.
const MOST_STEPS: usize = 64;

/// Moves arithmetic towards its uses.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    let cfg = shader.cfg();
    if cfg.order.len() < 2 {
        return Ok(());
    }
    let meeting = cfg.meeting_points();
    let mut wanted = Wanted { cfg: &cfg, meeting: &meeting, at: filled(shader.values.len(), None) };
    // Users before the makers of their operands.
    let mut moved = List::<(BlockId, InstId)>::default();
    for &block in cfg.order.iter().rev() {
        shader.block(block).end.values().iter().for_each(|v| wanted.use_at(*v, block));
        for &id in shader.block(block).insts.iter().rev() {
            let inst = shader.inst(id);
            let movable = matches!(inst.op, Op::Alu(..) | Op::Compose | Op::Extract(_) | Op::Bitcast);
            let to = inst.result.filter(|_| movable).and_then(|v| wanted.place(v, block)).unwrap_or(block);
            inst.args.iter().for_each(|v| wanted.use_at(*v, to));
            if to != block {
                moved.push((to, id));
            }
        }
    }
    if moved.is_empty() {
        return Ok(());
    }
    let mut goes = filled(shader.insts.len(), false);
    moved.iter().for_each(|(_, id)| goes[id.index()] = true);
    for block in &mut shader.blocks {
        block.insts.retain(|id| !goes[id.index()]);
    }
    // Makers first again; stable, so that this order stays within a block.
    moved.reverse();
    moved.sort_by_key(|(to, _)| *to);
    for of_block in moved.chunk_by(|a, b| a.0 == b.0) {
        shader.block_mut(of_block[0].0).insts.splice(0..0, of_block.iter().map(|(_, id)| *id));
    }
    Ok(())
}

/// Where values are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// In this block and blocks that it dominates.
    Below(BlockId),
    /// In too many places.
    Anywhere,
}

struct Wanted<'a> {
    cfg: &'a Cfg,
    meeting: &'a PerBlock<Option<BlockId>>,
    /// By value; `None` without a use.
    at: List<Option<Use>>,
}

impl Wanted<'_> {
    fn use_at(&mut self, v: Value, block: BlockId) {
        let at = &mut self.at[v.index()];
        *at = Some(match *at {
            None => Use::Below(block),
            Some(Use::Below(before)) => {
                self.cfg.dom.common(before, block, MOST_STEPS).map_or(Use::Anywhere, Use::Below)
            }
            Some(Use::Anywhere) => Use::Anywhere,
        });
    }

    /// The block that a value's maker moves to from `home`, if it moves.
    fn place(&self, v: Value, home: BlockId) -> Option<BlockId> {
        let Some(Use::Below(mut to)) = self.at[v.index()].filter(|at| *at != Use::Below(home)) else { return None };
        let loops = self.cfg.loops();
        let around = loops.around(home);
        for _ in 0..MOST_STEPS {
            if loops.around(to).iter().all(|l| around.contains(l)) {
                break;
            }
            to = self.cfg.dom.parent(to)?;
        }
        let leaves_none = loops.around(to) == around;
        (to != home && leaves_none && self.cfg.dom.dominates(home, to) && self.is_avoided(home, to)).then_some(to)
    }

    /// Whether a path from a block does not lead to another one.
    fn is_avoided(&self, from: BlockId, other: BlockId) -> bool {
        let mut block = from;
        for _ in 0..MOST_STEPS {
            match self.meeting[block.index()] {
                Some(next) if next == other => return false,
                Some(next) => block = next,
                None => return true,
            }
        }
        false
    }
}
