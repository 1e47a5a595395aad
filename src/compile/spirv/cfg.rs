//! A function's control flow: which blocks are reachable, in which order they are translated, what headers declare.
//!
//! The order is a reverse postorder, so that every block comes after its dominators and after all predecessors but those
//! of back edges, whatever order the module has them in.

use super::parse::{Block, Function, Inst};
use crate::error::{Error, Result};
use rspirv::dr::Operand;
use smallvec::SmallVec;
use spirv::Op;

/// What `OpSelectionMerge` or `OpLoopMerge` declares, as positions of blocks.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// Merge block.
    Selection(usize),
    /// Merge block, continue target.
    Loop(usize, usize),
}

/// The control flow of a function; blocks by their position.
#[derive(Debug)]
pub struct Cfg {
    /// Reachable blocks, in order of translation.
    pub order: Vec<usize>,
    /// Which are reachable.
    pub reachable: Vec<bool>,
    /// What each block declares.
    pub headers: Vec<Option<Header>>,
    /// Reachable blocks that return.
    pub returns: usize,
    /// For each block, the span of its subtree in the dominator tree.
    spans: Vec<(u32, u32)>,
    /// Label and position, sorted.
    labels: Vec<(u32, usize)>,
}

impl Cfg {
    /// The control flow of a function with a body.
    ///
    /// # Errors
    /// Malformed: branches to what is no block of the function, or to its first one.
    pub fn of(f: &Function) -> Result<Self> {
        let mut labels: Vec<(u32, usize)> = f.blocks.iter().enumerate().map(|(n, b)| (b.label, n)).collect();
        labels.sort_unstable();
        if labels.windows(2).any(|w| matches!(w, [a, b] if a.0 == b.0)) {
            return Err(f.def.malformed("two blocks of one label"));
        }
        let n = f.blocks.len();
        let mut cfg = Self {
            order: Vec::with_capacity(n),
            reachable: vec![false; n],
            headers: vec![None; n],
            returns: 0,
            spans: Vec::new(),
            labels,
        };
        let mut successors = Vec::with_capacity(n);
        for b in &f.blocks {
            successors.push(cfg.successors(b)?);
        }
        for (b, header) in f.blocks.iter().zip(0..) {
            let declared = cfg.header(b)?;
            if let Some(slot) = cfg.headers.get_mut::<usize>(header) {
                *slot = declared;
            }
        }
        cfg.visit(&successors);
        cfg.spans = dominators(&cfg.order, &successors);
        let returns = |n: &&usize| {
            let last = f.blocks.get(**n).and_then(|b| b.insts.last()).map(Inst::op);
            matches!(last, Some(Op::Return | Op::ReturnValue))
        };
        cfg.returns = cfg.order.iter().filter(returns).count();
        Ok(cfg)
    }

    /// Whether every path to reachable block `b` leads through `a`.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        match (self.spans.get(a), self.spans.get(b)) {
            (Some(a), Some(b)) => a.0 <= b.0 && b.1 <= a.1,
            _ => false,
        }
    }

    /// Position of the block with a label.
    ///
    /// # Errors
    /// Malformed: none of this function, or the entry.
    pub fn target(&self, label: u32) -> Result<usize> {
        let found = self.labels.binary_search_by_key(&label, |(l, _)| *l).ok().and_then(|n| self.labels.get(n));
        match found {
            Some((_, 0)) => Err(Error::malformed(format!("a branch to the function's first block %{label}"))),
            Some((_, n)) => Ok(*n),
            None => Err(Error::malformed(format!("%{label} is not a block of this function"))),
        }
    }

    /// What a block's terminator may jump to, then what it declares: a merge block comes after the blocks it merges.
    fn successors(&self, b: &Block) -> Result<SmallVec<[usize; 2]>> {
        let Some(last) = b.insts.last() else { return Ok(SmallVec::new()) };
        targets(last)?.into_iter().map(|id| self.target(id).map_err(|e| e.at(last.place()))).collect()
    }

    fn header(&self, b: &Block) -> Result<Option<Header>> {
        let Some(merge) = b.insts.len().checked_sub(2).and_then(|n| b.insts.get(n)) else { return Ok(None) };
        let target = |n: usize| self.target(merge.id(n)?).map_err(|e| e.at(merge.place()));
        Ok(match merge.op() {
            Op::SelectionMerge => Some(Header::Selection(target(0)?)),
            Op::LoopMerge => Some(Header::Loop(target(0)?, target(1)?)),
            _ => None,
        })
    }

    /// Postorder by an explicit stack, then turned round.
    fn visit(&mut self, successors: &[SmallVec<[usize; 2]>]) {
        let mut stack: Vec<(usize, usize)> = Vec::new();
        if let Some(first) = self.reachable.first_mut() {
            *first = true;
            stack.push((0, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            let out = successors.get(*block).map_or(&[][..], |s| s.as_slice());
            // The last successor first: a selection's merge, and a loop's exit, then come after its body.
            let target = out.len().checked_sub(*next + 1).and_then(|n| out.get(n)).copied();
            *next += 1;
            match target {
                Some(t) => {
                    if let Some(seen @ false) = self.reachable.get_mut(t) {
                        *seen = true;
                        stack.push((t, 0));
                    }
                }
                None => {
                    self.order.push(*block);
                    stack.pop();
                }
            }
        }
        self.order.reverse();
    }
}

/// Spans of subtrees in the dominator tree; an unreachable block's is empty and within none.
///
/// Immediate dominators by iteration over the order (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm).
fn dominators(order: &[usize], successors: &[SmallVec<[usize; 2]>]) -> Vec<(u32, u32)> {
    const NONE: usize = usize::MAX;
    let n = successors.len();
    let mut rank = vec![NONE; n];
    order.iter().enumerate().for_each(|(r, b)| rank[*b] = r);
    let mut predecessors: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); order.len()];
    for (r, b) in order.iter().enumerate() {
        successors[*b].iter().for_each(|s| predecessors[rank[*s]].push(r));
    }
    // By rank from here on.
    let mut idom = vec![NONE; order.len()];
    if let Some(first) = idom.first_mut() {
        *first = 0;
    }
    let mut changed = true;
    while changed {
        changed = false;
        for r in 1..order.len() {
            let mut new = NONE;
            for &p in predecessors[r].iter().filter(|p| idom[**p] != NONE) {
                let (mut a, mut b) = (p, if new == NONE { p } else { new });
                while a != b {
                    if a > b { a = idom[a] } else { b = idom[b] }
                }
                new = a;
            }
            changed |= idom[r] != new;
            idom[r] = new;
        }
    }
    // A dominator has a lower rank than what it dominates: sizes by one pass up, starts by one pass down.
    let mut size = vec![1u32; order.len()];
    for r in (1..order.len()).rev() {
        size[idom[r]] += size[r];
    }
    let mut start = vec![0u32; order.len()];
    let mut next: Vec<u32> = vec![1; order.len()];
    for r in 1..order.len() {
        let d = idom[r];
        start[r] = next[d];
        next[d] += size[r];
        next[r] = start[r] + 1;
    }
    let mut spans = vec![(u32::MAX, 0); n];
    for (r, b) in order.iter().enumerate() {
        spans[*b] = (start[r], start[r] + size[r]);
    }
    spans
}

/// Labels that a terminator may jump to.
pub fn targets(inst: &Inst) -> Result<SmallVec<[u32; 2]>> {
    Ok(match inst.op() {
        Op::Branch => SmallVec::from_slice(&[inst.id(0)?]),
        Op::BranchConditional => SmallVec::from_slice(&[inst.id(1)?, inst.id(2)?]),
        Op::Switch => {
            let mut out: SmallVec<[u32; 2]> = SmallVec::from_slice(&[inst.id(1)?]);
            for n in (3..inst.len()).step_by(2) {
                out.push(inst.id(n)?);
            }
            out
        }
        _ => SmallVec::new(),
    })
}

/// Literal of case `n` of an `OpSwitch` at operand position.
pub fn case(inst: &Inst, n: usize) -> Result<u64> {
    match inst.operand(n)? {
        Operand::LiteralBit32(x) => Ok(u64::from(*x)),
        Operand::LiteralBit64(x) => Ok(*x),
        _ => Err(inst.malformed("a case without a literal")),
    }
}
