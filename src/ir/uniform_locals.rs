//! Finds locals (scratch variables) with equal contents in all lanes that read them: the part of [`super::uniform`] for
//! per-lane memory.
//!
//! A local differs everywhere if a store has divergent values or offsets. Uniform stores still diverge if only some
//! lanes execute them: if one successor of a divergent branch can reach a store before lanes reconverge, the local
//! differs in every block that another successor reaches.

use super::cfg::Cfg;
use super::graph::PerBlock;
use super::op::Op;
use super::shader::{BlockId, LocalId, Shader};
use dovetail_base::workspace::{Kept, filled, take};
use smallvec::SmallVec;

/// Locals that something stores to.
type Stored = Kept<Vec<LocalId>>;

/// By block, whether it can be reached.
type Reached = PerBlock<bool>;

/// Limit of locals times blocks; above it all locals count as divergent, as the table would be large.
const MAX_TABLE: usize = 1 << 22;
/// Limit of the work of all calls of [`Locals::part`] that find stores, in blocks and entries of the table; above it
/// every local counts as divergent.
const MAX_WORK: usize = 1 << 25;

/// State of the locals; initially all are uniform.
#[derive(Clone, Debug, Default)]
pub(super) struct Locals {
    /// By local and block: whether it differs there. Empty: every local does.
    differs: Kept<Vec<bool>>,
    /// Blocks, and the locals that they store to.
    stored: Kept<Vec<(BlockId, LocalId)>>,
    /// By block, its reconvergence point.
    meeting: PerBlock<Option<BlockId>>,
    /// Work done so far.
    work: usize,
}

impl Locals {
    /// State for a shader; the table stays empty if it has no locals, or too many.
    pub fn new(shader: &Shader, cfg: &Cfg) -> Self {
        let (locals, blocks) = (shader.locals.len(), shader.blocks.len());
        if locals == 0 || locals.saturating_mul(blocks) > MAX_TABLE {
            return Self::default();
        }
        let mut stored = take::<Vec<(BlockId, LocalId)>>();
        for block in shader.block_ids() {
            let first = stored.len();
            for &inst in &shader.block(block).insts {
                let local = stores(&shader.inst(inst).op).map(|local| (block, local));
                let new = local.filter(|pair| !stored[first..].contains(pair));
                stored.extend(new);
            }
        }
        Self { differs: filled(locals * blocks, false), stored, meeting: cfg.meeting_points(), work: 0 }
    }

    /// Whether lanes that read a local together in this block may get different values at one offset.
    pub fn differs(&self, local: LocalId, block: BlockId) -> bool {
        let at = local.index() * self.meeting.len() + block.index();
        self.differs.get(at).copied().unwrap_or(true)
    }

    /// The table row of a local, by block.
    fn of(&mut self, local: LocalId) -> Option<&mut [bool]> {
        self.differs.chunks_exact_mut(self.meeting.len().max(1)).nth(local.index())
    }

    /// Records a divergent store. Returns whether that is new.
    pub fn stored_apart(&mut self, local: LocalId) -> bool {
        let Some(differs) = self.of(local) else { return false };
        let new = differs.contains(&false);
        differs.fill(true);
        new
    }

    /// Records that lanes diverge at the end of this block.
    pub fn part(&mut self, cfg: &Cfg, block: BlockId) {
        if self.differs.is_empty() {
            return;
        }
        let mut ways: SmallVec<[BlockId; 4]> = cfg.succs(block).into();
        ways.sort_unstable();
        ways.dedup();
        let meeting = self.meeting[block.index()];
        let stored: SmallVec<[Stored; 4]> = ways.iter().map(|&way| self.stored_before(cfg, way, meeting)).collect();
        if stored.iter().all(|locals| locals.is_empty()) {
            return;
        }
        let reached: SmallVec<[Reached; 4]> = ways.iter().map(|&way| reach(cfg, way, None)).collect();
        let pairs: usize = stored.iter().map(|locals| locals.len() * (ways.len() - 1)).sum();
        self.work += cfg.block_count().saturating_mul(ways.len() + pairs);
        if self.work > MAX_WORK {
            self.differs.clear();
            return;
        }
        for (n, locals) in stored.iter().enumerate() {
            for local in locals.iter() {
                let Some(differs) = self.of(*local) else { continue };
                for (_, other) in reached.iter().enumerate().filter(|(m, _)| *m != n) {
                    differs.iter_mut().zip(other.iter()).for_each(|(d, o)| *d |= o);
                }
            }
        }
    }

    /// Locals stored to on a path to the reconvergence point.
    fn stored_before(&self, cfg: &Cfg, way: BlockId, meeting: Option<BlockId>) -> Stored {
        let before = reach(cfg, way, meeting);
        let mut stored: Stored =
            self.stored.iter().filter(|(block, _)| before[block.index()]).map(|(_, local)| *local).collect();
        stored.sort_unstable();
        stored.dedup();
        stored
    }
}

/// The local that an operation stores to.
fn stores(op: &Op) -> Option<LocalId> {
    match op {
        Op::LocalStore { local, .. } => Some(*local),
        _ => None,
    }
}

/// The blocks reachable from this one (included), up to `last` (excluded).
fn reach(cfg: &Cfg, from: BlockId, last: Option<BlockId>) -> Reached {
    let mut seen = filled(cfg.block_count(), false);
    let mut todo = filled(1, from);
    while let Some(block) = todo.pop() {
        if Some(block) != last && !std::mem::replace(&mut seen[block.index()], true) {
            todo.extend_from_slice(cfg.succs(block));
        }
    }
    seen
}
