//! Removes branches and changes of masks that are not needed with the registers and the code in between as they are.

use crate::code::{Code, Item};
use crate::mir::{BlockId, Cond, Term};
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{List, filled};
use dovetail_isa::instruction::{Fields, ScalarFields};
use dovetail_isa::{CountedAccess, Instruction, Op, Register, Scalar, Src};
use smallvec::SmallVec;

/// Vector instructions that are run without any lane rather than skipped: a branch that is taken costs more.
const MOST_WITHOUT_LANES: usize = 6;

/// Branches on VCC itself where a comparison of VCC with 0 only sets the branch's SCC.
pub(super) fn on_vcc(code: &mut Code) {
    for block in &mut code.blocks {
        let Term::Branch { when, then, els } = block.term else { continue };
        let direct = match when {
            Cond::Scc1 => Cond::Vccnz,
            Cond::Scc0 => Cond::Vccz,
            _ => continue,
        };
        let Some((last, before)) = code.items[block.items.clone()].split_last() else { continue };
        if is_vcc_test(&last.inst, code.wave) && !before.is_empty() {
            block.items.end -= 1;
            block.term = Term::Branch { when: direct, then, els };
        }
    }
}

/// Whether SCC becomes 1 where VCC is not 0.
fn is_vcc_test(inst: &Instruction, wave: WaveSize) -> bool {
    let op = match wave {
        WaveSize::W32 => Op::SCmpLgU32,
        WaveSize::W64 => Op::SCmpLgU64,
    };
    let Fields::Scalar(f) = &inst.fields else { return false };
    inst.entry.op == op && f.srcs == [Some(Src::Scalar(Scalar::VccLo)), Some(Src::Int(0)), None]
}

/// Removes instructions before the end of the program that only change registers, such as those that enable lanes again.
pub(super) fn read_by_nobody(code: &mut Code) {
    // By block: whether the program only changes registers from the block's start on.
    let mut over = filled(code.blocks.len(), false);
    for n in (0..code.blocks.len()).rev() {
        let last = match code.blocks[n].term {
            Term::End => true,
            Term::Jump(to) => over[to.index()],
            Term::Branch { .. } | Term::Joint => false,
        };
        if !last {
            continue;
        }
        let items = code.blocks[n].items.clone();
        let acts = code.items[items.clone()].iter().rposition(|item| {
            let effects = item.inst.effects(code.wave);
            !effects.pure || effects.access != CountedAccess::None
        });
        code.blocks[n].items.end = items.start + acts.map_or(0, |acts| acts + 1);
        over[n] = acts.is_none();
    }
}

/// A branch whose first side has no code: activates the other side's lanes at once.
///
/// `s_and_saveexec s, c` and, at the common target of both edges, `s_andn2 exec, s, c` become `s_andn1_saveexec s, c`.
pub(super) fn empty_sides(code: &mut Code) {
    let leads_to = code.leads_to();
    let from = ways_to(code, &leads_to);
    for n in 0..code.blocks.len() {
        let Some((next, [save, rest])) = only_way(code, n, &leads_to, &from) else { continue };
        let Some(both) = rest_at_once(&code.items[save].inst, &code.items[rest].inst, code) else { continue };
        let reads_scc = matches!(code.block(next).term, Term::Branch { when: Cond::Scc0 | Cond::Scc1, .. });
        if next.index() > n && !reads_scc {
            code.items[save].inst = both;
            code.blocks[next.index()].items.start += 1;
            code.blocks[n].term = Term::Jump(next);
        }
    }
}

/// A branch whose second side has no code: does not activate its lanes.
///
/// `s_andn2 exec, s, c` and, at the common target of both edges, `s_or exec, exec, s` become `s_mov exec, s`.
pub(super) fn empty_rests(code: &mut Code) {
    let leads_to = code.leads_to();
    let from = ways_to(code, &leads_to);
    for n in 0..code.blocks.len() {
        let Some((next, [rest, all])) = only_way(code, n, &leads_to, &from) else { continue };
        if let Some(back) = back_at_once(&code.items[rest].inst, &code.items[all].inst, code) {
            code.blocks[n].items.end -= 1;
            code.blocks[n].term = Term::Jump(next);
            code.items[all].inst = back;
        }
    }
}

/// Activates all lanes of a branch at once, if these instructions activate those of its second side and then all.
fn back_at_once(rest: &Instruction, all: &Instruction, code: &Code) -> Option<Instruction> {
    let (andn2, or, mov) = match code.wave {
        WaveSize::W32 => (Op::SAndn2B32, Op::SOrB32, Op::SMovB32),
        WaveSize::W64 => (Op::SAndn2B64, Op::SOrB64, Op::SMovB64),
    };
    let (Fields::Scalar(a), Fields::Scalar(b)) = (&rest.fields, &all.fields) else { return None };
    let exec = Some(Scalar::ExecLo);
    let saved = a.srcs[0].filter(|saved| matches!(saved, Src::Scalar(_)))?;
    let lanes = exec.map(Src::Scalar);
    let same = b.srcs == [lanes, Some(saved), None] || b.srcs == [Some(saved), lanes, None];
    let ops = rest.entry.op == andn2 && all.entry.op == or;
    let fields = ScalarFields { srcs: [Some(saved), None, None], ..*b };
    (ops && same && a.dst == exec && b.dst == exec).then(|| Instruction::new(code.isa, mov, Fields::Scalar(fields)))
}

/// The block to which all edges of block n lead, if no other block leads there; and the indices of the last instruction
/// of block n and of the first one of that block.
fn only_way(code: &Code, n: usize, leads_to: &[BlockId], from: &[u32]) -> Option<(BlockId, [usize; 2])> {
    let mut targets = code.blocks[n].term.targets().map(|to| leads_to[to.index()]);
    let next = targets.next().filter(|next| from[next.index()] == 1 && targets.all(|to| to == *next))?;
    let (here, there) = (&code.blocks[n].items, &code.block(next).items);
    (!here.is_empty() && !there.is_empty()).then(|| (next, [here.end - 1, there.start]))
}

/// By block: the number of blocks that lead to it, without those that have no code and only jump on.
fn ways_to(code: &Code, leads_to: &[BlockId]) -> List<u32> {
    let mut from = filled(code.blocks.len(), 0u32);
    for (n, block) in code.blocks.iter().enumerate() {
        if n > 0 && block.items.is_empty() && matches!(block.term, Term::Jump(_)) {
            // Branches go past this block, to the block where it leads.
            continue;
        }
        let mut targets: SmallVec<[BlockId; 2]> = block.term.targets().map(|to| leads_to[to.index()]).collect();
        targets.dedup();
        targets.into_iter().for_each(|to| from[to.index()] += 1);
    }
    from
}

/// Activates the second side's lanes at once, if these instructions activate those of the first side and then of the
/// second.
fn rest_at_once(save: &Instruction, rest: &Instruction, code: &Code) -> Option<Instruction> {
    let (and, andn2, both) = match code.wave {
        WaveSize::W32 => (Op::SAndSaveexecB32, Op::SAndn2B32, Op::SAndn1SaveexecB32),
        WaveSize::W64 => (Op::SAndSaveexecB64, Op::SAndn2B64, Op::SAndn1SaveexecB64),
    };
    let (Fields::Scalar(a), Fields::Scalar(b)) = (&save.fields, &rest.fields) else { return None };
    let saved = a.dst.map(Src::Scalar);
    let same = b.dst == Some(Scalar::ExecLo) && b.srcs == [saved, a.srcs[0], None] && a.srcs[0] != saved;
    let fields = ScalarFields { ..*a };
    (save.entry.op == and && rest.entry.op == andn2 && same)
        .then(|| Instruction::new(code.isa, both, Fields::Scalar(fields)))
}

/// Removes a branch around the next block if no lane is active, provided that the block only changes vector registers
/// or adds its lanes to a mask: without active lanes it does neither.
pub(super) fn run_through(code: &mut Code) {
    for n in 0..code.blocks.len() {
        let Term::Branch { when, then, els } = code.blocks[n].term else { continue };
        let (around, into) = match when {
            Cond::Execz => (then, els),
            Cond::Execnz => (els, then),
            Cond::Scc0 | Cond::Scc1 | Cond::Vccz | Cond::Vccnz => continue,
        };
        let next = code.block(into);
        let items = code.items_of(next);
        let follows = into.index() == n + 1 && next.term == Term::Jump(around) && around > into;
        if follows && items.len() <= MOST_WITHOUT_LANES && items.iter().all(|item| only_lanes(code, item)) {
            code.blocks[n].term = Term::Jump(BlockId(n as u32 + 1));
        }
    }
}

/// Whether an instruction only changes vector registers of its lanes, or a mask by adding them (and SCC, which no block
/// reads from the one before).
fn only_lanes(code: &Code, item: &Item) -> bool {
    if let Fields::Scalar(f) = &item.inst.fields
        && matches!(item.inst.entry.op, Op::SOrB32 | Op::SOrB64)
    {
        let exec = Some(Src::Scalar(Scalar::ExecLo));
        let mask = f.dst.filter(|dst| *dst != Scalar::ExecLo).map(Src::Scalar);
        return mask.is_some() && (f.srcs == [mask, exec, None] || f.srcs == [exec, mask, None]);
    }
    let effects = item.inst.effects(code.wave);
    // A write to one lane happens whichever lanes are active.
    let vector = matches!(item.inst.fields, Fields::Vector(_)) && effects.reads.contains(Register::EXEC);
    vector
        && effects.pure
        && !effects.indirect
        && effects.access == CountedAccess::None
        && effects.writes.scalar_bits() == 0
}
