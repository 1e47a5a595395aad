//! A function's control flow: reachable blocks, their translation order, and the headers' declarations.
//!
//! The order is a reverse postorder, so that every block comes after its dominators and all its predecessors except
//! along back edges, whatever their order in the module.

use super::decode::Insts;
use super::instruction::SpirvInst;
use super::parse::SpirvFunction;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{Kept, filled, take};
use dovetail_ir::cfg::DomTree;
use dovetail_ir::{BlockId, Graph, PerBlock};
use rspirv::dr::Operand;
use spirv::Op;

/// Declaration of `OpSelectionMerge` or `OpLoopMerge`, with blocks by index.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// Merge block.
    Selection(usize),
    /// Merge block, continue target.
    Loop(usize, usize),
}

/// The control flow of a function; blocks by index.
#[derive(Debug)]
pub struct SpirvCfg {
    /// Reachable blocks, in translation order.
    pub order: PerBlock<usize>,
    /// By block, whether it is reachable.
    pub reachable: PerBlock<bool>,
    /// By block, its merge declaration.
    pub headers: PerBlock<Option<Header>>,
    /// By block: whether it, or a block after it in this order, jumps to it.
    pub repeats: PerBlock<bool>,
    /// Number of reachable blocks that return.
    pub returns: usize,
    /// Whether a reachable block that returns is in a loop.
    pub returns_in_loop: bool,
    /// By block, its nesting depth: constructs entered by their header and not yet ended by their merge block.
    pub nesting: PerBlock<u32>,
    dom: Kept<DomTree>,
    /// Label and block index, sorted.
    labels: PerBlock<(u32, usize)>,
    /// For each phi (by its id) and predecessor (by its label), sorted: the incoming id.
    incoming: Kept<Vec<(u32, u32, u32)>>,
}

impl SpirvCfg {
    /// The control flow of a function with a body.
    ///
    /// # Errors
    /// Malformed: branches to a label that is no block of the function, or to its first block.
    pub fn of(f: &SpirvFunction<'_>) -> Result<Self> {
        let mut labels: PerBlock<(u32, usize)> = f.blocks.iter().enumerate().map(|(n, b)| (b.label, n)).collect();
        labels.sort_unstable();
        if labels.windows(2).any(|w| matches!(w, [a, b] if a.0 == b.0)) {
            return Err(f.def.malformed("two blocks of one label"));
        }
        let n = f.blocks.len();
        let mut cfg = Self {
            order: take(),
            reachable: filled(n, false),
            headers: filled(n, None),
            repeats: filled(n, false),
            returns: 0,
            returns_in_loop: false,
            nesting: filled(n, 0),
            dom: Kept::default(),
            labels,
            incoming: incoming(f)?,
        };
        let mut successors = take::<Graph>();
        for b in f.blocks {
            cfg.successors(f.insts_of(b), &mut successors)?;
        }
        for (b, header) in f.blocks.iter().zip(0..) {
            let declared = cfg.header(f.insts_of(b))?;
            if let Some(slot) = cfg.headers.get_mut::<usize>(header) {
                *slot = declared;
            }
        }
        cfg.visit(&successors);
        cfg.find_repeats(&successors);
        cfg.dom = DomTree::new(&successors, &successors.reversed());
        let repeated = cfg.nest();
        for &n in &cfg.order {
            let last = f.blocks.get(n).and_then(|b| f.insts_of(b).last()).map(|last| last.op());
            if matches!(last, Some(Op::Return | Op::ReturnValue)) {
                cfg.returns += 1;
                cfg.returns_in_loop |= repeated.get(n).copied().unwrap_or(false);
            }
        }
        Ok(cfg)
    }

    /// The immediate dominator of a reachable block; the first one has none.
    pub fn parent(&self, n: usize) -> Option<usize> {
        self.dom.parent(BlockId(n as u32)).map(|parent| parent.index())
    }

    /// Whether `a` dominates the reachable block `b`.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        self.dom.dominates(BlockId(a as u32), BlockId(b as u32))
    }

    /// The incoming id of a phi for a predecessor.
    ///
    /// # Errors
    /// Malformed: there is none.
    pub fn incoming(&self, phi: &SpirvInst<'_>, from: u32) -> Result<u32> {
        let wanted = (phi.result()?, from);
        let at = self.incoming.partition_point(|(phi, label, _)| (*phi, *label) < wanted);
        match self.incoming.get(at) {
            Some(&(phi, label, id)) if (phi, label) == wanted => Ok(id),
            _ => Err(phi.malformed(format!("no value for predecessor %{from}"))),
        }
    }

    /// Index of the block with a label.
    ///
    /// # Errors
    /// Malformed: not a block of this function, or its entry.
    pub fn target(&self, label: u32) -> Result<usize> {
        let found = self.labels.binary_search_by_key(&label, |(l, _)| *l).ok().and_then(|n| self.labels.get(n));
        match found {
            Some((_, 0)) => Err(Error::malformed(format!("a branch to the function's first block %{label}"))),
            Some((_, n)) => Ok(*n),
            None => Err(Error::malformed(format!("%{label} is not a block of this function"))),
        }
    }

    /// Appends the possible successors of a block.
    fn successors(&self, insts: Insts<'_>, out: &mut Graph) -> Result<()> {
        if let Some(last) = insts.last() {
            for label in targets(last) {
                out.add(BlockId(self.target(label?).map_err(|e| e.at(last.place()))? as u32));
            }
        }
        out.end();
        Ok(())
    }

    fn header(&self, insts: Insts<'_>) -> Result<Option<Header>> {
        let Some(merge) = insts.len().checked_sub(2).and_then(|n| insts.get(n)) else { return Ok(None) };
        let target = |n: usize| self.target(merge.id(n)?).map_err(|e| e.at(merge.place()));
        Ok(match merge.op() {
            Op::SelectionMerge => Some(Header::Selection(target(0)?)),
            Op::LoopMerge => Some(Header::Loop(target(0)?, target(1)?)),
            _ => None,
        })
    }

    /// Postorder with an explicit stack, then reversed.
    fn visit(&mut self, successors: &Graph) {
        let mut stack = take::<Vec<(usize, usize)>>();
        if let Some(first) = self.reachable.first_mut() {
            *first = true;
            stack.push((0, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            let out = successors.of(BlockId(*block as u32));
            // The last successor first: a selection's merge and a loop's exit then come after its body.
            let target = out.len().checked_sub(*next + 1).and_then(|n| out.get(n)).map(|n| n.index());
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

    fn find_repeats(&mut self, successors: &Graph) {
        let mut seen = filled(self.repeats.len(), false);
        for &n in &self.order {
            seen[n] = true;
            for to in successors.of(BlockId(n as u32)) {
                self.repeats[to.index()] |= seen[to.index()];
            }
        }
    }

    /// Sets the nesting depth of each block: that of its immediate dominator, plus 1 if that is a header; for a merge
    /// block, that of its header. Returns for each block whether one of the constructs around it is a loop.
    fn nest(&mut self) -> PerBlock<bool> {
        let mut repeated = filled(self.headers.len(), false);
        let mut headers: PerBlock<Option<usize>> = filled(self.headers.len(), None);
        for (n, header) in self.headers.iter().enumerate() {
            if let Some(Header::Selection(merge) | Header::Loop(merge, _)) = *header
                && let Some(slot) = headers.get_mut(merge)
            {
                *slot = Some(n);
            }
        }
        for &n in &self.order {
            let merged = headers.get(n).copied().flatten().filter(|h| *h != n && self.dominates(*h, n));
            let Some(above) = merged.or(self.parent(n)) else { continue };
            let header = self.headers.get(above).copied().flatten().filter(|_| merged.is_none());
            let deep = self.nesting.get(above).copied().unwrap_or(0) + u32::from(header.is_some());
            if let Some(slot) = self.nesting.get_mut(n) {
                *slot = deep;
            }
            let outer = repeated.get(above).copied().unwrap_or(false);
            if let Some(slot) = repeated.get_mut(n) {
                *slot = outer || matches!(header, Some(Header::Loop(..)));
            }
        }
        repeated
    }
}

/// See [`SpirvCfg::incoming`]; if a phi names a predecessor twice, the first value.
fn incoming(f: &SpirvFunction<'_>) -> Result<Kept<Vec<(u32, u32, u32)>>> {
    let mut out = take::<Vec<(u32, u32, u32)>>();
    for phi in f.blocks.iter().flat_map(|b| f.insts_of(b).iter().take_while(|i| i.op() == Op::Phi)) {
        for n in (0..phi.len()).step_by(2) {
            out.push((phi.result()?, phi.id(n + 1)?, phi.id(n)?));
        }
    }
    out.sort_by_key(|(phi, label, _)| (*phi, *label));
    Ok(out)
}

/// Labels to which a terminator may jump.
pub fn targets(inst: SpirvInst<'_>) -> impl Iterator<Item = Result<u32>> {
    let (labels, step) = match inst.op() {
        Op::Branch => (0..1, 1),
        Op::BranchConditional => (1..3, 1),
        // The default, then each case's label after its literal.
        Op::Switch => (1..inst.len().max(2), 2),
        _ => (0..0, 1),
    };
    labels.step_by(step).map(move |n| inst.id(n))
}

/// Literal of case `n` of an `OpSwitch`.
pub fn case(inst: &SpirvInst<'_>, n: usize) -> Result<u64> {
    match inst.operand(n)? {
        Operand::LiteralBit32(x) => Ok(u64::from(*x)),
        Operand::LiteralBit64(x) => Ok(*x),
        _ => Err(inst.malformed("a case without a literal")),
    }
}
