//! Code after allocation: the target's instructions in blocks, not yet laid out in bytes.
//!
//! `emit` makes it of a physical function, `waits` adds to it, `emit` assembles it. All registers are decided; what is
//! open are branches and the values that a linker or loader fills in.

use super::mir::{BlockId, Cond, Term};
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{List, filled};
use dovetail_ir::SymbolId;
use dovetail_isa::Instruction;
use dovetail_isa::Isa;
use std::fmt;
use std::ops::Range;

/// Value of an instruction's only literal, or another part of it, if it is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// The value of a symbol, from the linker.
    Symbol(SymbolId),
    /// The value of a symbol, added to the offset of a scalar load.
    Offset(SymbolId),
    /// Whether a symbol's value is not 0: then the first source of the `s_cselect_b32` is taken.
    Choice(SymbolId),
    /// The place of a descriptor.
    Descriptor {
        /// The value is added to the offset of the scalar load.
        offset: SymbolId,
        /// Whether a symbol's value is not 0: then the offset register is that of the table's address.
        in_root: Option<SymbolId>,
        /// Whether the linker may merge it with another load.
        merging: Merging,
    },
    /// Whether the `s_mov_b32` is needed, which the linker knows.
    ForRootBuffers,
    /// The low half of a constant table's address.
    TableLow(u32),
    /// The high half.
    TableHigh(u32),
}

/// Which loads the linker may merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    /// None.
    Alone,
    /// The first of several in a row.
    First,
    /// With the load before.
    Next,
}

/// An instruction, with the part that is still open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// The instruction.
    pub inst: Instruction,
    /// The part of its encoding that is not known yet.
    pub open: Option<Open>,
}

impl Item {
    /// An instruction with nothing open.
    pub const fn new(inst: Instruction) -> Self {
        Self { inst, open: None }
    }
}

/// Dwords of these instructions.
pub fn dwords(items: &[Item]) -> usize {
    items.iter().map(|item| usize::from(item.inst.dwords())).sum()
}

/// A block.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeBlock {
    /// Instructions: indices into [`Code::items`].
    pub items: Range<usize>,
    /// Where the wave continues.
    pub term: Term,
}

/// The code of a stage.
#[derive(Clone, Debug)]
pub struct Code {
    /// Generation.
    pub isa: &'static Isa,
    /// Lanes of a wave.
    pub wave: WaveSize,
    /// Blocks in layout order; the first one is the entry.
    pub blocks: List<CodeBlock>,
    /// Instructions of all blocks, in order.
    pub items: List<Item>,
}

impl Code {
    /// A block.
    pub fn block(&self, id: BlockId) -> &CodeBlock {
        &self.blocks[id.index()]
    }

    /// By block, where a jump to it leads: on through blocks without code. A loop of such blocks leads to one of them.
    pub fn leads_to(&self) -> List<BlockId> {
        let mut known: List<Option<BlockId>> = filled(self.blocks.len(), None);
        let mut path = List::<BlockId>::default();
        for start in (0..self.blocks.len() as u32).map(BlockId) {
            let mut at = start;
            let end = loop {
                let block = self.block(at);
                match (known[at.index()], block.items.is_empty(), block.term) {
                    (Some(end), ..) => break end,
                    (None, true, Term::Jump(to)) => {
                        // If the path returns to this block, it ends here.
                        known[at.index()] = Some(at);
                        path.push(at);
                        at = to;
                    }
                    _ => break at,
                }
            };
            path.push(at);
            path.drain(..).for_each(|id| known[id.index()] = Some(end));
        }
        (0..).map(BlockId).zip(known.iter().copied()).map(|(id, end)| end.unwrap_or(id)).collect()
    }

    /// Replaces the instructions of each block by those that `make` adds to the list for it, by the block's number.
    pub fn rewrite(&mut self, mut make: impl FnMut(&Self, usize, &mut List<Item>)) {
        let mut items = List::default();
        let mut ranges = List::<Range<usize>>::default();
        for n in 0..self.blocks.len() {
            let first = items.len();
            make(self, n, &mut items);
            ranges.push(first..items.len());
        }
        self.blocks.iter_mut().zip(ranges.drain(..)).for_each(|(block, range)| block.items = range);
        self.items = items;
    }

    /// Puts a branch to the end in front, for waves that have no lanes to work on: only the epilog is for them.
    pub fn skip_if_no_lanes(&mut self) {
        let end = BlockId(self.blocks.len() as u32 + 1);
        let next = |to: BlockId| BlockId(to.0 + 1);
        let start = CodeBlock { items: 0..0, term: Term::Branch { when: Cond::Execz, then: end, els: BlockId(1) } };
        let mut blocks = List::default();
        blocks.push(start);
        for mut block in self.blocks.drain(..) {
            block.term = match block.term {
                Term::Jump(to) => Term::Jump(next(to)),
                Term::Branch { when, then, els } => Term::Branch { when, then: next(then), els: next(els) },
                Term::Joint => Term::Jump(end),
                Term::End => Term::End,
            };
            blocks.push(block);
        }
        blocks.push(CodeBlock { items: self.items.len()..self.items.len(), term: Term::Joint });
        self.blocks = blocks;
    }

    /// The instructions of a block.
    pub fn items_of(&self, block: &CodeBlock) -> &[Item] {
        &self.items[block.items.clone()]
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, block) in self.blocks.iter().enumerate() {
            writeln!(f, "b{n}:")?;
            for item in self.items_of(block) {
                write!(f, "  {}", item.inst.text(self.isa, self.wave))?;
                match item.open {
                    Some(
                        Open::Symbol(symbol)
                        | Open::Offset(symbol)
                        | Open::Choice(symbol)
                        | Open::Descriptor { offset: symbol, .. },
                    ) => writeln!(f, " ; {symbol}")?,
                    Some(Open::ForRootBuffers) => writeln!(f, " ; for root buffers")?,
                    Some(Open::TableLow(table) | Open::TableHigh(table)) => writeln!(f, " ; table{table}")?,
                    None => writeln!(f)?,
                }
            }
            writeln!(f, "  {}", block.term)?;
        }
        Ok(())
    }
}
