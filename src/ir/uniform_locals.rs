//! Which locals (scratch variables) hold the same in every lane that reads them: the part of [`super::uniform`] for memory
//! that is each lane's own.
//!
//! A local differs everywhere if a store gives lanes different values, or puts them at different places. Stores of one value
//! still leave lanes with different ones where only some of them come by: where lanes part, and one way to where they all
//! meet again leads past a store, the local differs from then on in every block that another way leads to as well.

use super::cfg::Cfg;
use super::op::Op;
use super::shader::{BlockId, LocalId, Shader};

/// Locals times blocks that are looked at; above it all locals count as different, as the table would be large.
const MAX_TABLE: usize = 1 << 22;

/// What is known of the locals; all are the same at first.
#[derive(Clone, Debug, Default)]
pub(super) struct Locals {
    /// By local, the blocks in which it differs.
    differs: Vec<Vec<bool>>,
    /// By block, the locals that it stores to.
    stored: Vec<Vec<LocalId>>,
    /// By block, where all lanes that leave it meet again.
    meeting: Vec<Option<BlockId>>,
}

impl Locals {
    /// Of a shader; the table stays empty where it has no locals, or too many.
    pub fn new(shader: &Shader, cfg: &Cfg) -> Self {
        let (locals, blocks) = (shader.locals.len(), shader.blocks.len());
        if locals == 0 || locals.saturating_mul(blocks) > MAX_TABLE {
            return Self::default();
        }
        let stores = |block: BlockId| {
            let mut stored: Vec<LocalId> =
                shader.block(block).insts.iter().filter_map(|&i| stores(&shader.inst(i).op)).collect();
            stored.sort_unstable();
            stored.dedup();
            stored
        };
        Self {
            differs: vec![vec![false; blocks]; locals],
            stored: shader.block_ids().map(stores).collect(),
            meeting: cfg.meeting_points(),
        }
    }

    /// Whether lanes that read a local together in this block may get different values from one place.
    pub fn differs(&self, local: LocalId, block: BlockId) -> bool {
        self.differs.get(local.index()).and_then(|d| d.get(block.index())).copied().unwrap_or(true)
    }

    /// Notes a store of different values, or to different places. Says whether that is new.
    pub fn stored_apart(&mut self, local: LocalId) -> bool {
        let Some(differs) = self.differs.get_mut(local.index()) else { return false };
        let new = differs.contains(&false);
        differs.fill(true);
        new
    }

    /// Notes that lanes part at the end of this block.
    pub fn part(&mut self, cfg: &Cfg, block: BlockId) {
        if self.differs.is_empty() {
            return;
        }
        let mut ways = cfg.succs[block.index()].clone();
        ways.sort_unstable();
        ways.dedup();
        let reached: Vec<Vec<bool>> = ways.iter().map(|&way| reach(cfg, way, None)).collect();
        for (n, &way) in ways.iter().enumerate() {
            let before = reach(cfg, way, self.meeting[block.index()]);
            let mut stored: Vec<LocalId> =
                (0..before.len()).filter(|&b| before[b]).flat_map(|b| self.stored[b].iter().copied()).collect();
            stored.sort_unstable();
            stored.dedup();
            for local in stored {
                let Some(differs) = self.differs.get_mut(local.index()) else { continue };
                for (_, other) in reached.iter().enumerate().filter(|(m, _)| *m != n) {
                    differs.iter_mut().zip(other).for_each(|(d, o)| *d |= o);
                }
            }
        }
    }
}

/// The local that an operation stores to.
fn stores(op: &Op) -> Option<LocalId> {
    match op {
        Op::LocalStore { local, .. } => Some(*local),
        _ => None,
    }
}

/// The blocks that can follow, this one among them, up to a last one that is not.
fn reach(cfg: &Cfg, from: BlockId, last: Option<BlockId>) -> Vec<bool> {
    let mut seen = vec![false; cfg.succs.len()];
    let mut todo = vec![from];
    while let Some(block) = todo.pop() {
        if Some(block) != last && !std::mem::replace(&mut seen[block.index()], true) {
            todo.extend(&cfg.succs[block.index()]);
        }
    }
    seen
}
