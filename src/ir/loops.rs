//! Natural loops: blocks that can reach a header that dominates them.

use super::cfg::Cfg;
use super::ids::BlockId;
use smallvec::SmallVec;

/// The loops of a graph, outer ones before inner ones.
#[derive(Clone, Debug)]
pub struct Loops {
    headers: Vec<BlockId>,
    /// By block, the loops around it, outer ones first.
    around: Vec<SmallVec<[u32; 4]>>,
    /// By block, its index in reverse postorder.
    position: Vec<u32>,
    reducible: bool,
}

impl Loops {
    /// The loops of a graph.
    pub(super) fn new(cfg: &Cfg) -> Self {
        let count = cfg.len();
        let mut this = Self {
            headers: Vec::new(),
            around: vec![SmallVec::new(); count],
            position: vec![0; count],
            reducible: true,
        };
        for (b, i) in cfg.order.iter().zip(0..) {
            this.position[b.index()] = i;
        }
        let mut todo = Vec::new();
        for &header in &cfg.order {
            let back = |p: &&BlockId| cfg.reachable(**p) && this.position(**p) >= this.position(header);
            todo.extend(cfg.preds(header).iter().filter(back));
            this.reducible &= todo.iter().all(|&p| cfg.dom.dominates(header, p));
            if todo.is_empty() {
                continue;
            }
            let l = this.headers.len() as u32;
            this.headers.push(header);
            this.around[header.index()].push(l);
            while let Some(b) = todo.pop() {
                if cfg.reachable(b) && !this.around[b.index()].contains(&l) {
                    this.around[b.index()].push(l);
                    todo.extend(cfg.preds(b));
                }
            }
        }
        this
    }

    /// Number of loops.
    pub fn len(&self) -> usize {
        self.headers.len()
    }

    /// Whether there are no loops.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// The header of a loop.
    pub fn header(&self, l: u32) -> BlockId {
        self.headers[l as usize]
    }

    /// The loops around a block, outer ones first.
    pub fn around(&self, b: BlockId) -> &[u32] {
        &self.around[b.index()]
    }

    /// For each loop, the blocks outside of it that its edges lead to, one entry per edge; only edges of these blocks,
    /// in this order.
    pub(super) fn exits(&self, cfg: &Cfg, blocks: impl Iterator<Item = BlockId>) -> Vec<Vec<BlockId>> {
        let mut exits = vec![Vec::new(); self.len()];
        for b in blocks {
            for &to in cfg.succs(b) {
                let left = &self.around(b)[common(self.around(b), self.around(to))..];
                left.iter().for_each(|l| exits[*l as usize].push(to));
            }
        }
        exits
    }

    /// A block's index in reverse postorder.
    pub fn position(&self, b: BlockId) -> u32 {
        self.position[b.index()]
    }

    /// Whether every cycle is a loop with one entry (the graph is reducible).
    pub fn are_all(&self) -> bool {
        self.reducible
    }
}

/// The number of loops that contain both of two blocks.
pub(super) fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
