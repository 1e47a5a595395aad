//! Closed branches: all that lies between the branch and the block where its paths meet is entered by the branch only
//! and left only to that block.

use super::Position;
use crate::layout::BlockLayout;
use dovetail_base::workspace::{List, filled};
use dovetail_ir::Shader;
use std::ops::Range;

/// By position: where the paths of a divergent branch meet again, if it is closed.
pub(super) fn meeting_points(shader: &Shader, layout: &BlockLayout, divergent: &[bool]) -> List<Option<Position>> {
    let cfg = shader.cfg();
    let meets = cfg.meeting_points();
    let at = |b: dovetail_ir::BlockId| layout.position[b.index()];
    let count = layout.order.len();
    let edges = Edges::of(layout.order.iter().map(|&block| Edge {
        entered: cfg.preds(block).iter().map(|p| at(*p)).min().unwrap_or(u32::MAX),
        left_to: cfg.succs(block).iter().map(|s| at(*s)).max().unwrap_or(u32::MAX),
        back_to: cfg.succs(block).iter().map(|s| at(*s)).min().unwrap_or(u32::MAX),
    }));
    let mut out = filled(count, None);
    for n in 0..count {
        let meeting = meets[layout.order[n].index()].map(at).filter(|m| *m != u32::MAX && *m as usize > n);
        let Some(meeting) = meeting.filter(|_| divergent[n]) else { continue };
        let own = edges.over(n..n + 1);
        let inside = edges.over(n + 1..meeting as usize);
        // The meeting point ignores a side whose lanes never leave a loop, so the branch's own targets are checked too.
        let between = own.left_to <= meeting && own.back_to as usize > n;
        // The blocks in between are entered only from the branch or from each other, and lead neither beyond the
        // meeting point nor back to the branch or before it.
        let closed =
            between && inside.entered as usize >= n && inside.left_to <= meeting && inside.back_to as usize > n;
        out[n] = closed.then_some(meeting);
    }
    out
}

/// How far the edges of some blocks reach, as positions.
#[derive(Clone, Copy)]
struct Edge {
    /// The earliest predecessor of these blocks; one that is not in the layout is at [`u32::MAX`].
    entered: u32,
    /// The latest successor of these blocks.
    left_to: u32,
    /// The earliest successor of these blocks.
    back_to: u32,
}

impl Edge {
    /// The value for no blocks.
    const NONE: Self = Self { entered: u32::MAX, left_to: 0, back_to: u32::MAX };

    fn and(self, other: Self) -> Self {
        Self {
            entered: self.entered.min(other.entered),
            left_to: self.left_to.max(other.left_to),
            back_to: self.back_to.min(other.back_to),
        }
    }
}

/// A tree over the edges of all blocks, so that nested branches do not look at each block again: entry n combines
/// entries `2 * n` and `2 * n + 1`, and the second half of the list are the blocks themselves.
struct Edges(List<Edge>);

impl Edges {
    fn of(blocks: impl ExactSizeIterator<Item = Edge>) -> Self {
        let count = blocks.len();
        let mut tree = filled(count, Edge::NONE);
        tree.extend(blocks);
        for n in (1..count).rev() {
            tree[n] = tree[2 * n].and(tree[2 * n + 1]);
        }
        Self(tree)
    }

    /// The value for the blocks in a range of positions.
    fn over(&self, range: Range<usize>) -> Edge {
        let count = self.0.len() / 2;
        let (mut from, mut to, mut edge) = (range.start + count, range.end + count, Edge::NONE);
        while from < to {
            if from % 2 == 1 {
                edge = edge.and(self.0[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                edge = edge.and(self.0[to]);
            }
            (from, to) = (from / 2, to / 2);
        }
        edge
    }
}
