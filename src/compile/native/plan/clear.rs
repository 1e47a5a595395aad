//! Where masks are cleared: at the end of a block that the wave passes before every use of the mask, and
//! whose loops all contain the block that uses it.

use super::{Go, MaskId, Plan, Position};
use crate::layout::BlockLayout;
use dovetail_base::error::{Error, Result};
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_ir::Shader;

/// Adds the clearing of masks to the ends of blocks.
///
/// # Errors
/// A bug: a mask that is used before any block that could clear it.
pub(super) fn place(
    plan: &mut Plan,
    shader: &Shader,
    layout: &BlockLayout,
    mask_of: &[Option<MaskId>],
    save_of: &[Option<MaskId>],
    meeting: &[Option<Position>],
) -> Result<()> {
    let passed = Passed::new(plan);
    let cfg = shader.cfg();
    let loops = cfg.loops();
    let around = |p: Position| loops.around(layout.order[p as usize]);
    // By mask, the blocks at whose ends lanes are added to it.
    let mut waiters = Kept::<Rows<Position>>::default();
    let added = (0..).zip(&plan.exits).flat_map(|(n, exit)| {
        let masks = exit.wait_if.iter().map(|(mask, _)| mask).chain(&exit.wait).chain(&exit.save);
        masks.map(move |mask| (mask.0 as usize, n))
    });
    waiters.group(plan.masks as usize, added);
    let mut clears = List::<(Position, MaskId)>::default();
    let mut clear = |mask: MaskId, user: Position| -> Result<()> {
        let waiters = waiters.of(mask.0 as usize);
        let mut at = passed.above(user);
        loop {
            let Some(here) = at else {
                return Err(Error::bug("native: lanes wait for the entry"));
            };
            let (here_loops, user_loops) = (around(here), around(user));
            let shared = loops_of_both(here_loops, user_loops);
            at = match here_loops.get(shared) {
                // All of a loop without the user is passed at once.
                Some(l) => passed.above(layout.position[loops.header(*l).index()]),
                None if waiters.iter().all(|n| passed.before(here, *n)) => break clears.push((here, mask)),
                None => passed.above(here),
            };
        }
        Ok(())
    };
    for (n, mask) in mask_of.iter().enumerate() {
        let Some(mask) = *mask else { continue };
        clear(mask, n as Position)?;
    }
    for (n, save) in save_of.iter().enumerate() {
        let (Some(save), Some(user)) = (*save, meeting[n]) else { continue };
        let restores = plan.landings[user as usize].add.contains(&save);
        if restores && !passed.before(n as Position, user) {
            clear(save, user)?;
        }
    }
    plan.clears.group(plan.exits.len(), clears.iter().map(|(at, mask)| (*at as usize, *mask)));
    Ok(())
}

/// How many loops, outer ones first, are around both of two blocks.
fn loops_of_both(a: &[u32], b: &[u32]) -> usize {
    let count = a.len().min(b.len());
    // Usually one has all loops of the other.
    if count == 0 || a[count - 1] == b[count - 1] {
        return count;
    }
    let (mut same, mut different) = (0, count - 1);
    while same < different {
        let middle = usize::midpoint(same, different);
        if a[middle] == b[middle] { same = middle + 1 } else { different = middle }
    }
    same
}

/// What the wave has certainly passed when it comes to a position: the tree of dominators in the graph of the wave.
pub(super) struct Passed {
    /// The immediate dominator of each position; none of the entry.
    parents: List<Option<Position>>,
    /// By position: its number in a walk over the tree, and that after all below it.
    spans: List<[u32; 2]>,
}

impl Passed {
    pub(super) fn new(plan: &Plan) -> Self {
        let parents = dominators(plan);
        // First the sizes, then the numbers: a parent comes before its children.
        let mut spans = filled(parents.len(), [0, 1]);
        let above = |n: usize| parents[n].unwrap_or(0) as usize;
        for n in (1..spans.len()).rev() {
            spans[above(n)][1] += spans[n][1];
        }
        let mut next = filled(parents.len(), 1);
        for n in 1..spans.len() {
            let (start, size) = (next[above(n)], spans[n][1]);
            next[above(n)] += size;
            spans[n] = [start, start + size];
            next[n] = start + 1;
        }
        Self { parents, spans }
    }

    /// Whether the wave has passed the first position whenever it comes to the second.
    pub(super) fn before(&self, first: Position, second: Position) -> bool {
        let [start, end] = self.spans[first as usize];
        (start..end).contains(&self.spans[second as usize][0])
    }

    /// The last position that the wave has passed on all ways to this one.
    fn above(&self, at: Position) -> Option<Position> {
        (at != 0).then(|| self.parents[at as usize].unwrap_or(0))
    }
}

/// The immediate dominator of each position in the graph of the wave; none of the entry.
fn dominators(plan: &Plan) -> List<Option<Position>> {
    let mut parents = filled(plan.exits.len(), None);
    for (n, (exit, landing)) in (0..).zip(plan.exits.iter().zip(&plan.landings)) {
        let targets = match exit.go {
            Go::To(to) => [Some(to), None],
            Go::Uniform(a, b) | Go::Divergent { to: a, empty: b, .. } => [Some(a), Some(b)],
            Go::End => [None, None],
        };
        // Back edges change nothing: the graph is reducible and in order, so all ways to a block are known when it is its turn.
        targets.into_iter().flatten().filter(|to| *to > n).for_each(|to| come(&mut parents, n, to));
        // A landing that skips leaves before the block runs, as if from the blocks before it.
        if let (Some(skip), Some(before)) = (landing.skip, parents[n as usize]) {
            come(&mut parents, before, skip);
        }
    }
    parents
}

/// Updates the immediate dominator of a block for another way to it.
fn come(parents: &mut [Option<Position>], from: Position, to: Position) {
    let above = |parents: &[Option<Position>], at: Position| parents[at as usize].unwrap_or(0);
    let (mut a, mut b) = (from, parents[to as usize].unwrap_or(from));
    while a != b {
        if a > b { a = above(parents, a) } else { b = above(parents, b) }
    }
    parents[to as usize] = Some(a);
}
