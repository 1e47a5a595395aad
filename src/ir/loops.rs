//! Natural loops: blocks that can reach a header that dominates them, and blocks that stay in a loop although they leave it
//! ([`Op::StayInLoop`](super::Op::StayInLoop)).

use super::cfg::Cfg;
use super::ids::BlockId;
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List, filled, tables, take};

/// The loops of a graph, outer ones before inner ones.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    headers: Vec<BlockId>,
    /// By block, the loops around it, outer ones first.
    around: Rows<u32>,
    /// By block, its index in reverse postorder.
    position: Vec<u32>,
    /// There is a cycle with several entries.
    irreducible: bool,
}
tables!(Loops { headers, around, position, irreducible });

impl Loops {
    /// The loops of a graph.
    pub(super) fn new(cfg: &Cfg) -> Kept<Self> {
        let mut this = take::<Self>();
        this.position.resize(cfg.block_count(), 0);
        for (b, i) in cfg.order.iter().zip(0..) {
            this.position[b.index()] = i;
        }
        let mut todo = take::<Vec<BlockId>>();
        // Blocks and loops around them, outer loops first; by block, one more than the last of these.
        let mut inside = take::<Vec<(BlockId, u32)>>();
        let mut last = filled(cfg.block_count(), 0);
        for &header in cfg.order.iter() {
            let back = |p: &&BlockId| cfg.reachable(**p) && this.position(**p) >= this.position(header);
            todo.extend(cfg.preds(header).iter().filter(back));
            this.irreducible |= !todo.iter().all(|&p| cfg.dom.dominates(header, p));
            if todo.is_empty() {
                continue;
            }
            let l = this.headers.len() as u32;
            this.headers.push(header);
            last[header.index()] = l + 1;
            inside.push((header, l));
            while let Some(b) = todo.pop() {
                if cfg.reachable(b) && std::mem::replace(&mut last[b.index()], l + 1) != l + 1 {
                    inside.push((b, l));
                    todo.extend(cfg.preds(b));
                }
            }
        }
        if !cfg.stays().is_empty() {
            add_stays(cfg, &this.headers, &mut inside);
        }
        this.around.group(cfg.block_count(), inside.iter().map(|(b, l)| (b.index(), *l)));
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
        self.around.of(b.index())
    }

    /// Whether a loop contains a block.
    pub fn has(&self, l: u32, b: BlockId) -> bool {
        // Loops around a block are in the place where they are around their own header.
        let outside = self.around(self.header(l)).len() - 1;
        self.around(b).get(outside) == Some(&l)
    }

    /// For each loop, the blocks outside of it that its edges lead to, one entry per edge; only edges of these blocks,
    /// in this order.
    pub fn exits(&self, cfg: &Cfg, blocks: impl Iterator<Item = BlockId>) -> Kept<Rows<BlockId>> {
        let mut pairs = take::<Vec<(u32, BlockId)>>();
        for b in blocks {
            for &to in cfg.succs(b) {
                let left = &self.around(b)[common(self.around(b), self.around(to))..];
                pairs.extend(left.iter().map(|l| (*l, to)));
            }
        }
        let mut exits = take::<Rows<BlockId>>();
        exits.group(self.len(), pairs.iter().map(|(l, to)| (*l as usize, *to)));
        exits
    }

    /// A block's index in reverse postorder.
    pub fn position(&self, b: BlockId) -> u32 {
        self.position[b.index()]
    }

    /// Whether every cycle is a loop with one entry (the graph is reducible).
    pub fn are_all(&self) -> bool {
        !self.irreducible
    }
}

/// Adds the blocks that stay in a loop, and those on the way to them, to the pairs of blocks and loops.
fn add_stays(cfg: &Cfg, headers: &[BlockId], inside: &mut Vec<(BlockId, u32)>) {
    let mut todo = take::<Vec<BlockId>>();
    for &(block, of) in cfg.stays() {
        // Inner loops are after outer ones.
        let Some(&(_, innermost)) = inside.iter().rfind(|(b, _)| *b == of) else { continue };
        let header = headers[innermost as usize];
        let around: List<u32> = inside.iter().filter(|(b, _)| *b == header).map(|(_, l)| *l).collect();
        for &l in around.iter().filter(|_| cfg.dom.dominates(header, block)) {
            let mut member = filled(cfg.block_count(), false);
            inside.iter().filter(|(_, of)| *of == l).for_each(|(b, _)| member[b.index()] = true);
            todo.push(block);
            while let Some(b) = todo.pop() {
                if cfg.reachable(b) && !std::mem::replace(&mut member[b.index()], true) {
                    inside.push((b, l));
                    todo.extend(cfg.preds(b));
                }
            }
        }
        // By block, outer loops come first; a stable sort would ask for memory.
        inside.sort_unstable_by_key(|(b, l)| (*l, b.0));
    }
}

/// The number of loops that contain both of two blocks.
pub(super) fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
