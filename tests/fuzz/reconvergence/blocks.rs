//! Blocks in a random order in which each comes after those that dominate it, as SPIR-V demands.

use super::super::random::Random;
use std::collections::BTreeMap;

/// A block under construction.
#[derive(Clone, Debug)]
pub struct Block {
    pub label: u32,
    /// Its instructions.
    pub code: Vec<u32>,
    /// Labels that it jumps to.
    pub ways: Vec<u32>,
    /// Labels that it declares.
    pub ends: Vec<u32>,
}

/// The blocks of a function in another order; the first one stays. Order 0 leaves them as they are.
pub fn arranged(blocks: Vec<Block>, order: u64) -> Vec<Block> {
    if order == 0 {
        return blocks;
    }
    // What nothing jumps to comes after the header that declares it.
    let declared = dominators(&blocks, |b| [&b.ways[..], &b.ends].concat());
    let parents = dominators(&blocks, |b| b.ways.clone());
    let parents: Vec<_> = parents.into_iter().zip(declared).map(|(jumps, all)| jumps.or(all)).collect();
    let mut random = Random::new(order, 0xb10c);
    let (mut out, mut ready) = (Vec::new(), vec![0]);
    while !ready.is_empty() {
        let n = ready.swap_remove(random.below(ready.len()));
        out.push(blocks[n].clone());
        ready.extend((1..blocks.len()).filter(|b| parents[*b] == Some(n)));
    }
    assert_eq!(out.len(), blocks.len(), "a block that no header leads to");
    out
}

/// The immediate dominator of each block but the first; `None` if no way leads there.
fn dominators(blocks: &[Block], ways: impl Fn(&Block) -> Vec<u32>) -> Vec<Option<usize>> {
    let numbers: BTreeMap<u32, usize> = blocks.iter().enumerate().map(|(n, b)| (b.label, n)).collect();
    let ways: Vec<Vec<usize>> = blocks.iter().map(|b| ways(b).iter().map(|to| numbers[to]).collect()).collect();
    // Postorder.
    let (mut done, mut seen, mut stack) = (Vec::new(), vec![false; blocks.len()], vec![(0, 0)]);
    seen[0] = true;
    while let Some((n, next)) = stack.last_mut() {
        match ways[*n].get(*next) {
            Some(&to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, 0));
                }
            }
            None => {
                done.push(*n);
                stack.pop();
            }
        }
    }
    let mut place = vec![0; blocks.len()];
    done.iter().enumerate().for_each(|(at, n)| place[*n] = at);
    let mut parents: Vec<Option<usize>> = vec![None; blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &n in done.iter().rev().filter(|n| **n != 0) {
            let mut before = (0..blocks.len()).filter(|b| ways[*b].contains(&n) && (*b == 0 || parents[*b].is_some()));
            let first = before.next();
            let common = before.fold(first, |a, b| a.map(|a| meet(&parents, &place, a, b)));
            changed |= parents[n] != common;
            parents[n] = common;
        }
    }
    parents
}

/// The nearest block above both.
fn meet(parents: &[Option<usize>], place: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if place[a] < place[b] {
            a = parents[a].unwrap_or(0);
        } else {
            b = parents[b].unwrap_or(0);
        }
    }
    a
}
