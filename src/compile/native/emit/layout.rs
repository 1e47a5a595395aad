//! Lays blocks out and assembles them: which blocks are reached, where a branch is needed, and of which kind.
//!
//! A block without code that only jumps on is no target: branches go to where it leads. Blocks that no branch reaches
//! then are left out.

use crate::compile::native::code::{Code, Item, Open};
use crate::compile::native::mir::{BlockId, Cond, Term};
use crate::error::{Error, Result};
use crate::isa::{Assembled, Assembler, Instruction, Label, Op};
use crate::target::GfxIp;

/// The dwords of the code, and where the open values are.
///
/// # Errors
/// Unsupported: a branch over more than 32,767 dwords. A bug: an instruction without encoding, a joint that is not last.
pub(super) fn assemble(code: &Code) -> Result<Assembled<Open>> {
    let leads_to = code.leads_to();
    let order = reached(code, &leads_to);
    let mut out = Assembler::new(code.gfx, code.wave);
    let labels: Vec<Label> = code.blocks.iter().map(|_| out.label()).collect();
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
        terminate(code.gfx, &mut out, &labels, simple(&leads_to, block.term), next)?;
    }
    // Labels have to be placed even where no branch goes there.
    let left = code.blocks.len() - order.len();
    if left > 0 {
        let mut placed = vec![false; code.blocks.len()];
        order.iter().for_each(|id| placed[id.index()] = true);
        labels.iter().zip(placed).filter(|(_, placed)| !placed).try_for_each(|(label, _)| out.place(*label))?;
    }
    out.finish()
}

fn push(out: &mut Assembler<Open>, item: &Item) -> Result<()> {
    match item.open {
        None => out.push(&item.inst),
        Some(open) => out.push_relocated(&item.inst, open),
    }
}

fn terminate(gfx: GfxIp, out: &mut Assembler<Open>, labels: &[Label], term: Term, next: Option<BlockId>) -> Result<()> {
    let mut branch = |op: Op, to: BlockId| out.branch(&Instruction::program(gfx, op, 0), labels[to.index()]);
    match term {
        Term::Jump(to) if Some(to) == next => Ok(()),
        Term::Jump(to) => branch(Op::SBranch, to),
        Term::Branch { when, then, els } if Some(els) == next => branch(op(when), then),
        Term::Branch { when, then, els } if Some(then) == next => branch(op(opposite(when)), els),
        Term::Branch { when, then, els } => {
            branch(op(when), then)?;
            branch(Op::SBranch, els)
        }
        Term::End => out.push(&Instruction::program(gfx, Op::SEndpgm, 0)),
        Term::Joint => Ok(()),
    }
}

const fn op(when: Cond) -> Op {
    match when {
        Cond::Scc1 => Op::SCbranchScc1,
        Cond::Scc0 => Op::SCbranchScc0,
        Cond::Execz => Op::SCbranchExecz,
        Cond::Execnz => Op::SCbranchExecnz,
        Cond::Vccz => Op::SCbranchVccz,
        Cond::Vccnz => Op::SCbranchVccnz,
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

/// The terminator with the targets that it really leads to.
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
fn reached(code: &Code, leads_to: &[BlockId]) -> Vec<BlockId> {
    let mut seen = vec![false; code.blocks.len()];
    let mut work = vec![BlockId(0)];
    while let Some(id) = work.pop() {
        if let Some(seen @ false) = seen.get_mut(id.index()) {
            *seen = true;
            work.extend(simple(leads_to, code.block(id).term).targets());
        }
    }
    (0..).map(BlockId).zip(seen).filter_map(|(id, seen)| seen.then_some(id)).collect()
}
