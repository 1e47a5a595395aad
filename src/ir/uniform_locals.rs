//! Which locals (scratch variables) hold the same in every lane that reads them: the part of [`super::uniform`] for memory
//! that is each lane's own.
//!
//! A local differs everywhere if a store gives lanes different values, or puts them at different places. Stores of one value
//! still leave lanes with different ones where only some of them come by: where lanes part, and one way to where they all
//! meet again leads past a store, the local differs from then on in every block that another way leads to as well.

use super::cfg::Cfg;
use super::graph::PerBlock;
use super::op::Op;
use super::shader::{BlockId, LocalId, Shader};
use smallvec::{SmallVec, smallvec};

/// Locals that something stores to.
type Stored = SmallVec<[LocalId; 32]>;

/// Whether each block can be reached.
type Reached = SmallVec<[bool; 128]>;

/// Locals times blocks that are looked at; above it all locals count as different, as the table would be large.
const MAX_TABLE: usize = 1 << 22;
/// Limit of the work of all calls of [`Locals::part`] that find stores, in blocks and entries of the table; above it every
/// local counts as different.
const MAX_WORK: usize = 1 << 25;

/// What is known of the locals; all are the same at first.
#[derive(Clone, Debug, Default)]
pub(super) struct Locals {
    /// By local and block: whether it differs there. Empty: every local does.
    differs: Vec<bool>,
    /// Blocks, and the locals that they store to.
    stored: SmallVec<[(BlockId, LocalId); 16]>,
    /// By block, where all lanes that leave it meet again.
    meeting: PerBlock<Option<BlockId>>,
    /// What was looked at so far.
    work: usize,
}

impl Locals {
    /// Of a shader; the table stays empty where it has no locals, or too many.
    pub fn new(shader: &Shader, cfg: &Cfg) -> Self {
        let (locals, blocks) = (shader.locals.len(), shader.blocks.len());
        if locals == 0 || locals.saturating_mul(blocks) > MAX_TABLE {
            return Self::default();
        }
        let mut stored = SmallVec::new();
        for block in shader.block_ids() {
            let first = stored.len();
            for &inst in &shader.block(block).insts {
                let local = stores(&shader.inst(inst).op).map(|local| (block, local));
                stored.extend(local.filter(|pair| !stored[first..].contains(pair)));
            }
        }
        Self { differs: vec![false; locals * blocks], stored, meeting: cfg.meeting_points(), work: 0 }
    }

    /// Whether lanes that read a local together in this block may get different values from one place.
    pub fn differs(&self, local: LocalId, block: BlockId) -> bool {
        let at = local.index() * self.meeting.len() + block.index();
        self.differs.get(at).copied().unwrap_or(true)
    }

    /// The blocks of a local.
    fn of(&mut self, local: LocalId) -> Option<&mut [bool]> {
        self.differs.chunks_exact_mut(self.meeting.len().max(1)).nth(local.index())
    }

    /// Notes a store of different values, or to different places. Says whether that is new.
    pub fn stored_apart(&mut self, local: LocalId) -> bool {
        let Some(differs) = self.of(local) else { return false };
        let new = differs.contains(&false);
        differs.fill(true);
        new
    }

    /// Notes that lanes part at the end of this block.
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
        self.work += cfg.len().saturating_mul(ways.len() + pairs);
        if self.work > MAX_WORK {
            self.differs.clear();
            return;
        }
        for (n, locals) in stored.iter().enumerate() {
            for local in locals {
                let Some(differs) = self.of(*local) else { continue };
                for (_, other) in reached.iter().enumerate().filter(|(m, _)| *m != n) {
                    differs.iter_mut().zip(other).for_each(|(d, o)| *d |= o);
                }
            }
        }
    }

    /// What is stored on a way to where lanes meet again.
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

/// The blocks that can follow, this one among them, up to a last one that is not.
fn reach(cfg: &Cfg, from: BlockId, last: Option<BlockId>) -> Reached {
    let mut seen: Reached = smallvec![false; cfg.len()];
    let mut todo: PerBlock<BlockId> = smallvec![from];
    while let Some(block) = todo.pop() {
        if Some(block) != last && !std::mem::replace(&mut seen[block.index()], true) {
            todo.extend_from_slice(cfg.succs(block));
        }
    }
    seen
}
