//! The order in which blocks run, by which lanes that diverged reconverge.
//!
//! The lanes whose block is earliest in this order run first, all together. What a header declares decides the order, as
//! SPV_KHR_maximal_reconvergence defines it: every block of a construct, also one that leaves it, comes before the
//! construct's merge block, and every block of a loop's body before its continue target. So lanes wait at a merge block
//! for all that entered the construct with them and have not left a construct around it, and at a continue target for
//! all of their iteration; nobody meets the lanes of another iteration. Blocks of a switch come in the order in which they
//! fall into each other, and lanes wait for those that fall into theirs.
//!
//! A loop without a declaration has no structure that could say which blocks that leave it belong to an iteration. Its
//! lanes meet behind it: what its edges leave to comes after all blocks of the natural loop.

use dovetail_ir::{BlockId, Merge, Shader};

/// Blocks in this order; unreachable ones are left out.
///
/// It is a reverse postorder over the jumps and the edges from each header to the blocks that it declares (those of
/// SPIR-V's structural dominance): a topological order but for the edges back to a loop's header.
pub(super) fn order(shader: &Shader) -> Vec<BlockId> {
    let cfg = shader.cfg();
    // By block: the blocks to which edges leave the undeclared loop of this header; none if it has none.
    let loops = cfg.loops();
    let left = loops.exits(&cfg, shader.block_ids());
    let mut exits: Vec<&[BlockId]> = vec![&[]; cfg.block_count()];
    for l in 0..loops.len() {
        let header = loops.header(l as u32);
        if !matches!(shader.block(header).merge, Merge::Loop { .. }) {
            exits[header.index()] = left.of(l);
        }
    }
    let mut done: Vec<BlockId> = Vec::new();
    let mut seen = vec![false; shader.blocks.len()];
    let mut stack = vec![(Shader::ENTRY, 0usize)];
    if let Some(first) = seen.first_mut() {
        *first = true;
    }
    while let Some((block, next)) = stack.last_mut() {
        // What is visited first comes last: the merge block and all behind it, then the continue construct.
        let declared = shader.block(*block).merge.blocks().filter(|b| cfg.reachable(*b));
        let mut ways = exits[block.index()].iter().copied().chain(declared).chain(cfg.succs(*block).iter().copied());
        match ways.nth(*next) {
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
    use dovetail_ir::parse::parse;

    #[test]
    fn a_loop_stands_before_what_it_leaves_to() {
        // The header's first successor leaves the loop; a plain postorder would put it before the body.
        let shader = parse(
            "shader upper compute \"t\"\nblock0:\n v0: b1 = const 1\n jump block1\nblock1:\n branch v0, block2, block3\nblock2:\n return\nblock3:\n branch v0, block2, block4\nblock4:\n jump block1\nblock5:\n return",
        )
        .expect("test text");
        assert_eq!(order(&shader), [0, 1, 3, 4, 2].map(BlockId));
    }

    #[test]
    fn what_a_declared_loop_leaves_by_stands_in_it() {
        // Block 2 breaks and block 3 returns, from the body; 4 is the continue target, and 5 the merge block.
        let shader = parse(
            "shader upper compute \"t\"\nblock0:\n v0: b1 = const 1\n jump block1\nblock1: merge block5 continue block4\n branch v0, block2, block6\nblock2:\n jump block5\nblock3:\n return\nblock4:\n jump block1\nblock5:\n return\nblock6:\n branch v0, block3, block4",
        )
        .expect("test text");
        let order = order(&shader);
        let at = |n| order.iter().position(|b| *b == BlockId(n)).expect("a block that is reached");
        assert!([2, 3, 6].iter().all(|n| at(1) < at(*n) && at(*n) < at(4)) && at(4) < at(5), "{order:?}");
    }
}
