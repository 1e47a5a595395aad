//! Cuts long blocks into pieces, so that islands of branches fit between them.

use super::islands::Islands;
use crate::code::{Code, CodeBlock, Merging, Open, dwords};
use crate::mir::{BlockId, Term};
use dovetail_base::workspace::List;
use dovetail_isa::Op;
use dovetail_isa::instruction::{Fields, ScalarFields};

/// Dwords after which a piece ends, at the next place where a block can be cut.
const LENGTH: usize = 2_000;

/// The code, which has `size` dwords, with its blocks cut; `None` if none is too long, which is nearly always so.
pub(super) fn cut(code: &Code, size: usize) -> Option<Code> {
    if size <= Islands::NEAR || code.blocks.iter().all(|b| dwords(code.items_of(b)) <= 2 * LENGTH) {
        return None;
    }
    let mut pieces = List::<CodeBlock>::default();
    // By block, its first piece.
    let mut first = List::<BlockId>::default();
    for block in &code.blocks {
        first.push(BlockId(pieces.len() as u32));
        let mut start = block.items.start;
        for &at in &places(code, block) {
            let next = BlockId(pieces.len() as u32 + 1);
            pieces.push(CodeBlock { items: start..at, term: Term::Jump(next) });
            start = at;
        }
        pieces.push(CodeBlock { items: start..block.items.end, term: Term::End });
    }
    // The last piece of each block ends as the block does.
    let renamed = |id: BlockId| first[id.index()];
    let ends = first.iter().skip(1).map(|next| next.index()).chain([pieces.len()]);
    for (end, block) in ends.zip(&code.blocks) {
        pieces[end - 1].term = match block.term {
            Term::Jump(to) => Term::Jump(renamed(to)),
            Term::Branch { when, then, els } => Term::Branch { when, then: renamed(then), els: renamed(els) },
            term @ (Term::End | Term::Joint) => term,
        };
    }
    Some(Code { blocks: pieces, ..code.clone() })
}

/// The instructions of a block that begin pieces. A clause stays whole, as do loads that the linker may merge.
fn places(code: &Code, block: &CodeBlock) -> List<usize> {
    let mut out = List::default();
    let (mut since, mut clause) = (0, 0);
    for at in block.items.clone() {
        let item = &code.items[at];
        let merges = matches!(item.open, Some(Open::Descriptor { merging: Merging::Next, .. }));
        if since >= LENGTH && clause == 0 && !merges {
            out.push(at);
            since = 0;
        }
        since += usize::from(item.inst.dwords());
        clause = match item.inst.fields {
            // The immediate is the number of the clause's instructions, less 1.
            Fields::Scalar(ScalarFields { imm, .. }) if item.inst.entry.op == Op::SClause => imm + 1,
            _ => clause.saturating_sub(1),
        };
    }
    out
}
