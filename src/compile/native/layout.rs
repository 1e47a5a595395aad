//! The order in which blocks are laid out. Each block comes after its predecessors, except along back edges. The blocks
//! of a loop are contiguous, and the one that goes back is the last of them. The blocks that only one side of a branch
//! reaches come before those that the other side reaches. The end of the shader is last.

use dovetail_base::workspace::{List, filled};
use dovetail_ir::{BlockId, Shader, Terminator};

/// Blocks in layout order, and each block's position in it.
#[derive(Debug)]
pub struct BlockLayout {
    /// Reachable blocks.
    pub order: List<BlockId>,
    /// By block: its position; `u32::MAX` if it cannot be reached.
    pub position: List<u32>,
}

impl BlockLayout {
    /// Lays out a shader that `shape` has prepared.
    pub fn new(shader: &Shader) -> Self {
        let cfg = shader.cfg();
        let loops = cfg.loops();
        let order = cfg.loops_first();
        let mut position = filled(shader.blocks.len(), u32::MAX);
        order.iter().zip(0..).for_each(|(b, n)| position[b.index()] = n);
        let mut it = Self { order, position };
        // Outer loops first: what is moved within one of them stays in it.
        let mut outer_first: List<u32> = (0..loops.len() as u32).collect();
        outer_first.sort_by_key(|l| loops.around(loops.header(*l)).len());
        let mut sizes = filled(loops.len(), 0);
        it.order.iter().flat_map(|b| loops.around(*b)).for_each(|l| sizes[*l as usize] += 1);
        for &l in &outer_first {
            let header = loops.header(l);
            it.make_contiguous(header, sizes[l as usize], |b| loops.has(l, b));
            let back = |b: &&BlockId| loops.has(l, **b);
            if let Some(latch) = cfg.preds(header).iter().find(back) {
                it.latch_last(*latch, it.position[header.index()] as usize + sizes[l as usize]);
            }
        }
        it.end_last(shader);
        it
    }

    /// Moves the block that goes back to a loop's header to the end of the loop: blocks that stay in the loop although no
    /// way leads from them to this block run before the next iteration too.
    fn latch_last(&mut self, latch: BlockId, end: usize) {
        let at = self.position[latch.index()] as usize;
        if at + 1 < end {
            self.order[at..end].rotate_left(1);
            self.order[at..end].iter().zip(at as u32..).for_each(|(b, n)| self.position[b.index()] = n);
        }
    }

    /// Moves the end of the shader after loops without an exit, because an epilog is reached by falling through.
    fn end_last(&mut self, shader: &Shader) {
        let is_end = |b: &BlockId| matches!(shader.block(*b).term(), Some(Terminator::Return(_)));
        if self.order.last().is_some_and(is_end) {
            return;
        }
        self.order.sort_by_key(is_end);
        self.order.iter().zip(0..).for_each(|(b, n)| self.position[b.index()] = n);
    }

    /// Moves blocks that are between a loop's blocks after the last of them. These blocks are exits of the loop: no
    /// block of the loop is reached from them, except its header along the back edge of an outer loop.
    fn make_contiguous(&mut self, header: BlockId, size: usize, is_member: impl Fn(BlockId) -> bool) {
        let first = self.position[header.index()] as usize;
        let (mut end, mut found) = (first, 0);
        while found < size && end < self.order.len() {
            found += usize::from(is_member(self.order[end]));
            end += 1;
        }
        if end - first > size {
            // The sort is stable: members come first, each group in its order.
            self.order[first..end].sort_by_key(|b| !is_member(*b));
            self.order[first..end].iter().zip(first as u32..).for_each(|(b, n)| self.position[b.index()] = n);
        }
    }
}
