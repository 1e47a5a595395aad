//! Where masks are set to no lanes: at a block that the wave passes before every use of the mask, as often as the block
//! that uses it.

use super::{Go, MaskId, Plan, Position};
use crate::compile::native::layout::BlockLayout;
use crate::error::{Error, Result};
use crate::ir::Shader;

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
    let dominates = |a: Position, mut b: Position| {
        while b > a {
            b = parents[b as usize];
        }
        a == b
    };
    let cfg = shader.cfg();
    let loops = cfg.loops();
    let around = |p: Position| loops.around(layout.order[p as usize]);
    // By mask, the blocks at whose ends lanes are added to it.
    let mut waiters: Vec<Vec<Position>> = vec![Vec::new(); plan.masks as usize];
    for (n, exit) in (0..).zip(&plan.exits) {
        let added = exit.wait_if.iter().map(|(mask, _)| mask).chain(&exit.wait).chain(&exit.save);
        added.for_each(|mask| waiters[mask.0 as usize].push(n));
    }
    let clear = |plan: &mut Plan, mask: MaskId, user: Position| -> Result<()> {
        let waiters = &waiters[mask.0 as usize];
        let mut at = user;
        loop {
            if at == 0 {
                return Err(Error::bug("native: lanes wait for the entry"));
            }
            at = parents[at as usize];
            let fits = around(at).iter().all(|l| around(user).contains(l));
            if fits && waiters.iter().all(|n| dominates(at, *n)) {
                break;
            }
        }
        plan.exits[at as usize].clear.push(mask);
        Ok(())
    };
    for (n, mask) in mask_of.iter().enumerate() {
        let Some(mask) = *mask else { continue };
        clear(plan, mask, n as Position)?;
    }
    for (n, save) in save_of.iter().enumerate() {
        let (Some(save), Some(user)) = (*save, meeting[n]) else { continue };
        let restores = plan.landings[user as usize].add.contains(&save);
        if restores && !dominates(n as Position, user) {
            clear(plan, save, user)?;
        }
    }
    Ok(())
}

/// The immediate dominator of each position in the graph of the wave; of the entry itself.
fn dominators(plan: &Plan) -> Vec<Position> {
    let count = plan.exits.len();
    let mut preds: Vec<Vec<Position>> = vec![Vec::new(); count];
    for (n, (exit, landing)) in plan.exits.iter().zip(&plan.landings).enumerate() {
        let targets = match exit.go {
            Go::To(to) => [Some(to), None],
            Go::Uniform(a, b) | Go::Divergent { to: a, empty: b, .. } => [Some(a), Some(b)],
            Go::End => [None, None],
        };
        // Back edges change nothing: the graph is reducible and in order.
        for to in targets.into_iter().flatten().filter(|to| *to as usize > n) {
            preds[to as usize].push(n as Position);
        }
        if let Some(skip) = landing.skip {
            // The landing is left before the block, as if by the blocks before it.
            let before = preds[n].clone();
            preds[skip as usize].extend(before);
        }
    }
    let mut parents = vec![0 as Position; count];
    for n in 1..count {
        let mut all = preds[n].iter().copied();
        let Some(mut parent) = all.next() else { continue };
        for other in all {
            let (mut a, mut b) = (parent, other);
            while a != b {
                if a > b { a = parents[a as usize] } else { b = parents[b as usize] }
            }
            parent = a;
        }
        parents[n] = parent;
    }
    parents
}
