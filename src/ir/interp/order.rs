//! The order in which blocks run, so that lanes that diverged meet again where they can.
//!
//! The lanes whose place in this order is the earliest run first. It is a topological order without back edges, so lanes
//! wait at a join for all that can still come; and every block of a loop stands before the blocks that the loop leaves to,
//! so they wait there for those that go round.

use super::super::cfg::Cfg;
use super::super::{BlockId, Merge, Shader};
use std::collections::BTreeSet;

/// Blocks in the order; what the entry does not reach is left out.
pub(super) fn order(shader: &Shader) -> Vec<BlockId> {
    let cfg = shader.cfg();
    let exits: Vec<Vec<BlockId>> = shader.block_ids().map(|header| exits(&cfg, header)).collect();
    let mut done: Vec<BlockId> = Vec::new();
    let mut seen = vec![false; shader.blocks.len()];
    let mut stack = vec![(Shader::ENTRY, 0usize)];
    if let Some(first) = seen.first_mut() {
        *first = true;
    }
    while let Some((block, next)) = stack.last_mut() {
        // What is visited first comes last: where a loop leaves to, then its continue block, then the ways on.
        let continue_to = match shader.block(*block).merge {
            Merge::Loop { continue_to, .. } if cfg.reachable(continue_to) => Some(continue_to),
            _ => None,
        };
        let mut ways = exits[block.index()].iter().chain(continue_to.as_ref()).chain(cfg.succs(*block));
        match ways.nth(*next).copied() {
            Some(to) => {
                *next += 1;
                if !seen[to.index()] {
                    seen[to.index()] = true;
                    stack.push((to, 0));
                }
            }
            None => {
                done.push(*block);
                stack.pop();
            }
        }
    }
    done.reverse();
    done
}

/// Where the natural loop of this header leaves to; empty if it is not one.
fn exits(cfg: &Cfg, header: BlockId) -> Vec<BlockId> {
    let back = cfg.preds(header).iter().copied().filter(|&p| cfg.dom.dominates(header, p));
    let mut work: Vec<BlockId> = back.collect();
    if work.is_empty() {
        return Vec::new();
    }
    let mut inside = BTreeSet::from([header]);
    while let Some(b) = work.pop() {
        if inside.insert(b) {
            work.extend(cfg.preds(b).iter().copied().filter(|&p| cfg.reachable(p)));
        }
    }
    let leaving = inside.iter().flat_map(|b| cfg.succs(*b).iter()).filter(|s| !inside.contains(s));
    leaving.copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    #[test]
    fn a_loop_stands_before_what_it_leaves_to() {
        // The first way on from the header leaves the loop; a plain postorder would put it before the body.
        let shader = parse(
            "shader upper compute \"t\"\nblock0:\n v0: b1 = const 1\n jump block1\nblock1:\n branch v0, block2, block3\nblock2:\n return\nblock3:\n branch v0, block2, block4\nblock4:\n jump block1\nblock5:\n return",
        )
        .expect("test text");
        assert_eq!(order(&shader), [0, 1, 3, 4, 2].map(BlockId));
    }
}
