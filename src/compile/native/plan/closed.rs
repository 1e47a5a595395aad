//! Closed branches: all that lies between the branch and the block where its paths meet is entered by the branch only
//! and left only to that block.

use super::Position;
use crate::compile::native::layout::BlockLayout;
use crate::ir::Shader;

/// By position: where the paths of a divergent branch meet again, if it is closed.
pub(super) fn meeting_points(shader: &Shader, layout: &BlockLayout, divergent: &[bool]) -> Vec<Option<Position>> {
    let cfg = shader.cfg();
    let meets = cfg.meeting_points();
    let at = |b: crate::ir::BlockId| layout.position[b.index()];
    let count = layout.order.len();
    // By position: the earliest predecessor and the latest successor.
    let mut first = vec![u32::MAX; count];
    let mut last = vec![0u32; count];
    for (n, &block) in layout.order.iter().enumerate() {
        first[n] = cfg.preds(block).iter().map(|p| at(*p)).filter(|p| *p != u32::MAX).min().unwrap_or(u32::MAX);
        last[n] = cfg.succs(block).iter().map(|s| at(*s)).max().unwrap_or(u32::MAX);
    }
    let earliest = |n: usize| cfg.succs(layout.order[n]).iter().map(|s| at(*s)).min().unwrap_or(u32::MAX);
    let mut out = vec![None; count];
    for n in 0..count {
        let meeting = meets[layout.order[n].index()].map(at).filter(|m| *m != u32::MAX && *m as usize > n);
        let Some(meeting) = meeting.filter(|_| divergent[n]) else { continue };
        let inside = n + 1..meeting as usize;
        // Lanes that never leave a loop meet nobody: their side does not count for the meeting point.
        let between = last[n] <= meeting && earliest(n) as usize > n;
        let closed = between
            && inside.clone().all(|k| {
                // Entered from the branch on, left to the meeting point at the latest, and not back beyond the branch.
                first[k] as usize >= n && last[k] <= meeting && earliest(k) as usize > n
            });
        out[n] = closed.then_some(meeting);
    }
    out
}
