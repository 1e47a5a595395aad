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
    let parents = dominators(plan);
    let dominates = |a: Position, b: Position| dominates(&parents, a, b);
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
        let mut at = user;
        loop {
            if at == 0 {
                return Err(Error::bug("native: lanes wait for the entry"));
            }
            at = parents[at as usize].unwrap_or(0);
            let fits = around(at).iter().all(|l| around(user).contains(l));
            if fits && waiters.iter().all(|n| dominates(at, *n)) {
                break;
            }
        }
        clears.push((at, mask));
        Ok(())
    };
    for (n, mask) in mask_of.iter().enumerate() {
        let Some(mask) = *mask else { continue };
        clear(mask, n as Position)?;
    }
    for (n, save) in save_of.iter().enumerate() {
        let (Some(save), Some(user)) = (*save, meeting[n]) else { continue };
        let restores = plan.landings[user as usize].add.contains(&save);
        if restores && !dominates(n as Position, user) {
            clear(save, user)?;
        }
    }
    plan.clears.group(plan.exits.len(), clears.iter().map(|(at, mask)| (*at as usize, *mask)));
    Ok(())
}

/// Whether the wave has passed a position whenever it comes to another.
pub(super) fn dominates(parents: &[Option<Position>], a: Position, mut b: Position) -> bool {
    while b > a {
        b = parents[b as usize].unwrap_or(0);
    }
    a == b
}

/// The immediate dominator of each position in the graph of the wave; none of the entry.
pub(super) fn dominators(plan: &Plan) -> List<Option<Position>> {
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
