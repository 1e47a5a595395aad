//! The order in which blocks run, so that lanes that diverged reconverge where they can.
//!
//! The lanes whose block is earliest in this order run first. It is a topological order without back edges, so lanes
//! wait at a join for all that can still arrive; and every block of a loop comes before the loop's exits, so lanes wait
//! there for those still in the loop.

use super::super::{BlockId, Merge, Shader};

/// Blocks in this order; unreachable ones are left out.
pub(super) fn order(shader: &Shader) -> Vec<BlockId> {
    let cfg = shader.cfg();
    // By block: the blocks to which edges leave the loop of this header; none if it has none.
    let loops = cfg.loops();
    let left = loops.exits(&cfg, shader.block_ids());
    let mut exits: Vec<&[BlockId]> = vec![&[]; cfg.len()];
    for l in 0..loops.len() {
        exits[loops.header(l as u32).index()] = left.of(l);
    }
    let mut done: Vec<BlockId> = Vec::new();
    let mut seen = vec![false; shader.blocks.len()];
    let mut stack = vec![(Shader::ENTRY, 0usize)];
    if let Some(first) = seen.first_mut() {
        *first = true;
    }
    while let Some((block, next)) = stack.last_mut() {
        // Blocks visited first come last: loop exits, then the continue block, then other successors.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    #[test]
    fn a_loop_stands_before_what_it_leaves_to() {
        // The header's first successor leaves the loop; a plain postorder would put it before the body.
        let shader = parse(
            "shader upper compute \"t\"\nblock0:\n v0: b1 = const 1\n jump block1\nblock1:\n branch v0, block2, block3\nblock2:\n return\nblock3:\n branch v0, block2, block4\nblock4:\n jump block1\nblock5:\n return",
        )
        .expect("test text");
        assert_eq!(order(&shader), [0, 1, 3, 4, 2].map(BlockId));
    }
}
