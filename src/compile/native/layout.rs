//! The order in which blocks are laid out: each after its predecessors except along back edges, loops contiguous, and
//! what only one side of a branch reaches before what the other side reaches.

use crate::error::{Error, Result};
use crate::ir::{BlockId, Shader};

/// Blocks in layout order, and each block's position in it.
#[derive(Debug)]
pub struct Layout {
    /// Reachable blocks.
    pub order: Vec<BlockId>,
    /// By block: its position; `u32::MAX` if it cannot be reached.
    pub position: Vec<u32>,
}

impl Layout {
    /// Lays out a shader that `shape` has prepared.
    ///
    /// # Errors
    /// Unsupported: a loop whose blocks cannot be made contiguous.
    pub fn new(shader: &Shader) -> Result<Self> {
        let cfg = shader.cfg();
        let loops = cfg.loops();
        let mut order = Vec::with_capacity(cfg.order.len());
        let mut seen = vec![false; shader.blocks.len()];
        seen[0] = true;
        let mut stack = vec![(BlockId::ENTRY, ways(shader, BlockId::ENTRY))];
        while let Some((block, ways)) = stack.last_mut() {
            match ways.pop() {
                Some(to) => {
                    if !std::mem::replace(&mut seen[to.index()], true) {
                        let next = self::ways(shader, to);
                        stack.push((to, next));
                    }
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        let mut position = vec![u32::MAX; shader.blocks.len()];
        order.iter().zip(0..).for_each(|(b, n)| position[b.index()] = n);
        for l in 0..loops.len() as u32 {
            let start = position[loops.header(l).index()] as usize;
            let size = order.iter().filter(|b| loops.around(**b).contains(&l)).count();
            if !order[start..start + size].iter().all(|b| loops.around(*b).contains(&l)) {
                return Err(Error::unsupported("native: a loop that is not contiguous", ""));
            }
        }
        Ok(Self { order, position })
    }
}

/// Successors, the first to be visited last in the list: what is visited first comes last in the layout. So the way out
/// of the innermost loop is visited first, and of two others the second target of the branch.
fn ways(shader: &Shader, block: BlockId) -> Vec<BlockId> {
    let cfg = shader.cfg();
    let loops = cfg.loops();
    let depth = |to: BlockId| loops.around(to).iter().filter(|l| loops.around(block).contains(l)).count();
    let mut ways: Vec<BlockId> = cfg.succs(block).to_vec();
    // Stable: equal depths keep the order then, else; the last one is visited first.
    ways.sort_by_key(|to| std::cmp::Reverse(depth(*to)));
    ways
}
