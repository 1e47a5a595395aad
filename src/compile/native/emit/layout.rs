//! Lays blocks out and assembles them: which blocks are reached, where a branch is needed, and of which kind.
//!
//! A block without code that only jumps on is no target: branches go to where it leads. Blocks that no branch reaches
//! then are left out.

use super::islands::Islands;
use super::pieces;
use crate::code::{Code, Item, Open, dwords};
use crate::mir::{BlockId, Cond, Term};
use dovetail_base::error::{Error, Result};
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_isa::{Assembled, Assembler, Instruction, Isa, Label, Op};
use rustc_hash::FxHashMap;

/// The dwords of the code, and where the open values are.
///
/// # Errors
/// A bug: an instruction without encoding, a joint that is not last.
pub(super) fn assemble(code: &Code) -> Result<Assembled<Open>> {
    let size = dwords(&code.items);
    // Islands are between blocks.
    let cut = pieces::cut(code, size);
    let code = cut.as_ref().unwrap_or(code);
    let leads_to = code.leads_to();
    let order = reached(code, &leads_to);
    let islands = islands(code, size, &leads_to, &order);
    let mut out = Assembler::new(code.isa, code.wave);
    let labels: List<Label> = code.blocks.iter().map(|_| out.label()).collect();
    let mut ways = Kept::<FxHashMap<(usize, BlockId), Label>>::default();
    for (n, &id) in order.iter().enumerate() {
        let block = code.block(id);
        out.place(labels[id.index()])?;
        for item in code.items_of(block) {
            push(&mut out, item)?;
        }
        let next = order.get(n + 1).copied();
        if block.term == Term::Joint && next.is_some() {
            return Err(Error::bug("a joint that is not the end of the code"));
        }
        let mut way = |out: &mut Assembler<Open>, slot: Option<usize>, to: BlockId| match slot {
            None => labels[to.index()],
            Some(slot) => *ways.entry((slot, to)).or_insert_with(|| out.label()),
        };
        // Islands after this block are in the way of the next one.
        let next = next.filter(|_| islands.at(n).is_empty());
        let mut branch = |out: &mut Assembler<Open>, op: Op, to: BlockId| {
            let label = way(out, islands.first(n, to), to);
            out.branch(&Instruction::program(code.isa, op, 0), label)
        };
        terminate(code.isa, &mut out, &mut branch, simple(&leads_to, block.term), next)?;
        for &(to, slot) in islands.at(n) {
            let own = way(&mut out, Some(n), to);
            out.place(own)?;
            let label = way(&mut out, slot, to);
            out.branch(&Instruction::program(code.isa, Op::SBranch, 0), label)?;
        }
    }
    // Labels have to be placed even where no branch goes there.
    let left = code.blocks.len() - order.len();
    if left > 0 {
        let mut placed = filled(code.blocks.len(), false);
        order.iter().for_each(|id| placed[id.index()] = true);
        labels.iter().zip(&placed).filter(|(_, placed)| !**placed).try_for_each(|(label, _)| out.place(*label))?;
    }
    out.finish()
}

fn push(out: &mut Assembler<Open>, item: &Item) -> Result<()> {
    match item.open {
        None => out.push(&item.inst),
        Some(open) => out.push_relocated(&item.inst, open),
    }
}

/// Dwords of the branches that a block ends in, at most.
const BRANCHES: usize = 2;

/// Plans the islands of code that has `size` dwords without its branches; most code has none.
fn islands(code: &Code, size: usize, leads_to: &[BlockId], order: &[BlockId]) -> Islands {
    if size + BRANCHES * order.len() <= Islands::NEAR {
        return Islands::default();
    }
    let sizes: List<usize> = order.iter().map(|id| dwords(code.items_of(code.block(*id))) + BRANCHES).collect();
    let mut targets = Kept::<Rows<BlockId>>::default();
    order.iter().for_each(|id| targets.push(simple(leads_to, code.block(*id).term).targets()));
    let mut position = filled(code.blocks.len(), 0);
    order.iter().enumerate().for_each(|(n, id)| position[id.index()] = n);
    Islands::new(&sizes, &targets, |id| position[id.index()])
}

/// Appends a branch to a block.
type Branch<'a> = dyn FnMut(&mut Assembler<Open>, Op, BlockId) -> Result<()> + 'a;

fn terminate(
    isa: &'static Isa,
    out: &mut Assembler<Open>,
    branch: &mut Branch<'_>,
    term: Term,
    next: Option<BlockId>,
) -> Result<()> {
    match term {
        Term::Jump(to) if Some(to) == next => Ok(()),
        Term::Jump(to) => branch(out, Op::SBranch, to),
        Term::Branch { when, then, els } if Some(els) == next => branch(out, when.op(), then),
        Term::Branch { when, then, els } if Some(then) == next => branch(out, opposite(when).op(), els),
        Term::Branch { when, then, els } => {
            branch(out, when.op(), then)?;
            branch(out, Op::SBranch, els)
        }
        Term::End => out.push(&Instruction::program(isa, Op::SEndpgm, 0)),
        Term::Joint => Ok(()),
    }
}

const fn opposite(when: Cond) -> Cond {
    match when {
        Cond::Scc1 => Cond::Scc0,
        Cond::Scc0 => Cond::Scc1,
        Cond::Execz => Cond::Execnz,
        Cond::Execnz => Cond::Execz,
        Cond::Vccz => Cond::Vccnz,
        Cond::Vccnz => Cond::Vccz,
    }
}

/// The terminator with its effective targets.
fn simple(leads_to: &[BlockId], term: Term) -> Term {
    match term {
        Term::Jump(to) => Term::Jump(leads_to[to.index()]),
        Term::Branch { when, then, els } => {
            let (then, els) = (leads_to[then.index()], leads_to[els.index()]);
            if then == els { Term::Jump(then) } else { Term::Branch { when, then, els } }
        }
        Term::End | Term::Joint => term,
    }
}

/// The blocks that the wave may reach, in layout order.
fn reached(code: &Code, leads_to: &[BlockId]) -> List<BlockId> {
    let mut seen = filled(code.blocks.len(), false);
    let mut work = filled(1, BlockId(0));
    while let Some(id) = work.pop() {
        if let Some(seen @ false) = seen.get_mut(id.index()) {
            *seen = true;
            work.extend(simple(leads_to, code.block(id).term).targets());
        }
    }
    (0..).map(BlockId).zip(&seen).filter_map(|(id, seen)| seen.then_some(id)).collect()
}
