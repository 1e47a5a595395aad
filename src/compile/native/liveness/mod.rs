//! The values that are live at block boundaries: scalar values along linear edges, vector values along logical edges.
//!
//! Only values that some block uses without having defined them before have a number; the others live and die in their
//! block. What lives out of a block is what lives into its successors. A block's parameters are defined at its start.
//! Arguments of an edge are used at the end of the block before its tail if it is the block's only edge, as the copies
//! stand there; otherwise at the start of the target, which has no other predecessor then.
//!
//! Variables that live in one stretch of the code ([`spans`]) are in no list.

mod spans;

pub use spans::Span;

use super::mir::preds::Preds;
use super::mir::{BlockId, MachineFunction, Operand, RegisterClass, Val};
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List, filled};

/// Live values at the starts of blocks, as lists: most values live in few blocks.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    /// Predecessors along logical edges.
    pub logical: Preds,
    /// Predecessors along linear edges.
    pub linear: Preds,
    /// By value: its number, if it is live between blocks.
    place: List<Option<u32>>,
    /// The values by number.
    values: List<Val>,
    /// By block, numbers of values, ascending.
    live_in: Kept<Rows<u32>>,
    /// By value: its stretch, if it is in no list. Empty if all are in lists.
    spans: List<Option<Span>>,
}

/// Pairs of a value's number and a block, grouped by number.
struct Pairs {
    /// The blocks of every number, in the order of `runs`.
    blocks: List<BlockId>,
    /// Each number, and where its blocks end in `blocks`.
    runs: List<(u32, usize)>,
    /// By block: the last number that was added for it.
    last: List<u32>,
}

impl Pairs {
    fn new(blocks: usize, numbers: usize) -> Self {
        let mut runs = List::default();
        runs.reserve(numbers);
        Self { blocks: List::default(), runs, last: filled(blocks, u32::MAX) }
    }

    /// Adds a pair if it is not there. All pairs of one number are added before those of the next.
    fn add(&mut self, place: u32, block: BlockId) -> bool {
        let new = std::mem::replace(&mut self.last[block.index()], place) != place;
        if new {
            self.blocks.push(block);
            match self.runs.last_mut() {
                Some((last, end)) if *last == place => *end = self.blocks.len(),
                _ => self.runs.push((place, self.blocks.len())),
            }
        }
        new
    }

    /// Whether a pair is there, of the number that was added last.
    fn has(&self, place: u32, block: BlockId) -> bool {
        self.last[block.index()] == place
    }

    /// By block: the numbers that are paired with it.
    fn by_block(&self) -> Kept<Rows<u32>> {
        let mut rows = Kept::<Rows<u32>>::default();
        let starts = [0].into_iter().chain(self.runs.iter().map(|(_, end)| *end));
        let pairs = self
            .runs
            .iter()
            .zip(starts)
            .flat_map(|((place, end), start)| self.blocks[start..*end].iter().map(|block| (block.index(), *place)));
        rows.group(self.last.len(), pairs);
        rows
    }
}

impl Liveness {
    /// Computes the liveness of a verified function.
    pub fn new(f: &MachineFunction) -> Self {
        let live = Self::with(f, spans::spans(f));
        debug_assert!(live.has_whole_spans(f), "a variable is live beyond its stretch");
        live
    }

    /// Whether lists agree that variables with a stretch live nowhere else. Not for large functions: lists of all that
    /// lives in them are what stretches are to avoid.
    fn has_whole_spans(&self, f: &MachineFunction) -> bool {
        const MOST_BLOCKS: usize = 1_000;
        let within = |val: Val, id: BlockId| self.span(val).is_none_or(|[first, last]| first <= id && id <= last);
        self.spans.is_empty() || f.blocks.len() > MOST_BLOCKS || {
            let all = Self::with(f, List::default());
            f.block_ids().all(|id| all.live_in(id).chain(all.live_out(f, id)).all(|val| within(val, id)))
        }
    }

    fn with(f: &MachineFunction, spans: List<Option<Span>>) -> Self {
        let (logical, linear) = (Preds::logical(f), Preds::linear(f));
        let mut scan = Scan {
            spans: &spans,
            place: filled(f.values.len(), None),
            values: List::default(),
            defined: filled(f.values.len(), u32::MAX),
            exposed: List::default(),
            homes: List::default(),
        };
        f.block_ids().for_each(|block| scan.block(f, &logical, block));
        let Scan { place, values, mut exposed, homes, .. } = scan;
        // By value, the blocks that define it: several only of variables.
        let mut homes: List<(u32, BlockId)> =
            homes.iter().filter_map(|(val, block)| Some((place[val.index()]?, *block))).collect();
        homes.sort_unstable_by_key(|(place, block)| (*place, block.0));
        exposed.sort_unstable_by_key(|(place, block)| (*place, block.0));
        let mut into = Pairs::new(f.blocks.len(), values.len());
        let mut work = List::<BlockId>::default();
        let mut homes = &homes[..];
        for uses in exposed.chunk_by(|a, b| a.0 == b.0) {
            let place = uses[0].0;
            let own = homes.partition_point(|home| home.0 < place);
            let count = homes[own..].partition_point(|home| home.0 == place);
            let (own, rest) = homes[own..].split_at(count);
            homes = rest;
            // The value is live from its uses back to its definitions.
            let preds = if f.class(values[place as usize]) == RegisterClass::Scalar { &linear } else { &logical };
            work.extend(uses.iter().map(|(_, block)| *block));
            while let Some(block) = work.pop() {
                if !into.add(place, block) {
                    continue;
                }
                let made = |pred: &BlockId| own.binary_search_by_key(&pred.0, |(_, home)| home.0).is_ok();
                work.extend(preds.of(block).iter().filter(|pred| !into.has(place, **pred) && !made(pred)));
            }
        }
        let live_in = into.by_block();
        Self { logical, linear, place, values, live_in, spans }
    }

    /// The stretch of a variable that is in no list.
    pub fn span(&self, val: Val) -> Option<Span> {
        *self.spans.get(val.index())?
    }

    /// Values live into a block, without its parameters and those with a stretch.
    pub fn live_in(&self, block: BlockId) -> impl Iterator<Item = Val> {
        self.live_in.of(block.index()).iter().map(|place| self.values[*place as usize])
    }

    /// Values live out of a block: into a successor of their kind. One may come several times. Arguments of its only edge
    /// are not among them.
    pub fn live_out<'a>(&'a self, f: &'a MachineFunction, block: BlockId) -> impl Iterator<Item = Val> + 'a {
        successors(f, block).flat_map(move |(to, kind)| {
            self.live_in(to).filter(move |val| kind.is_none_or(|kind| f.class(*val) == kind))
        })
    }

    /// Whether a value is live out of a block.
    pub fn is_live_out(&self, f: &MachineFunction, block: BlockId, val: Val) -> bool {
        let follows = |kind: Option<RegisterClass>| kind.is_none_or(|kind| f.class(val) == kind);
        self.is_global(val) && successors(f, block).any(|(to, kind)| follows(kind) && self.is_live_in(to, val))
    }

    /// Whether a value is live into a block.
    pub fn is_live_in(&self, block: BlockId, val: Val) -> bool {
        self.place[val.index()].is_some_and(|place| self.live_in.of(block.index()).binary_search(&place).is_ok())
    }

    /// Whether a value is live between blocks at all.
    pub fn is_global(&self, val: Val) -> bool {
        self.place[val.index()].is_some()
    }
}

/// The successors of a block, each with the class of the values that go there: both, if the wave goes where its lanes go.
fn successors(f: &MachineFunction, block: BlockId) -> impl Iterator<Item = (BlockId, Option<RegisterClass>)> {
    let block = f.block(block);
    let both = block.edges.iter().map(|edge| edge.to).eq(block.term.targets());
    let lanes = block.edges.iter().map(move |edge| (edge.to, (!both).then_some(RegisterClass::Vector)));
    let wave = block.term.targets().filter(move |_| !both).map(|to| (to, Some(RegisterClass::Scalar)));
    lanes.chain(wave)
}

/// Whether the copies for the block's edges are before its tail; otherwise each is at the start of its target.
pub fn copies_before_tail(f: &MachineFunction, block: BlockId) -> bool {
    f.block(block).edges.len() == 1
}

/// The arguments that are copied at the start of a block, into its parameters.
pub fn args_at_start<'a>(f: &'a MachineFunction, logical: &Preds, block: BlockId) -> &'a [Operand] {
    match logical.of(block) {
        [only] if !copies_before_tail(f, *only) => {
            let edge = f.block(*only).edges.iter().find(|edge| edge.to == block);
            edge.map_or(&[], |edge| f.args(edge))
        }
        _ => &[],
    }
}

/// The arguments that are copied at the end of a block, before its tail.
pub fn args_at_end(f: &MachineFunction, block: BlockId) -> &[Operand] {
    match &f.block(block).edges[..] {
        [edge] => f.args(edge),
        _ => &[],
    }
}

/// One walk over the code.
struct Scan<'a> {
    spans: &'a [Option<Span>],
    place: List<Option<u32>>,
    values: List<Val>,
    /// By value: the block in which it was last seen to be defined.
    defined: List<u32>,
    /// Uses in blocks that have not defined the value before: the number of the value, and the block.
    exposed: List<(u32, BlockId)>,
    /// Definitions: the value, and the block that defines it.
    homes: List<(Val, BlockId)>,
}

impl Scan<'_> {
    fn block(&mut self, f: &MachineFunction, logical: &Preds, id: BlockId) {
        let block = f.block(id);
        self.uses(args_at_start(f, logical, id), id);
        f.params_of(block).iter().for_each(|val| self.define(*val, id));
        for (n, inst) in (block.insts.start..).zip(f.insts_of(block)) {
            if n == block.tail {
                self.uses(args_at_end(f, id), id);
            }
            self.uses(f.uses(inst), id);
            f.defs(inst).iter().filter_map(|op| op.as_val()).for_each(|val| self.define(val, id));
        }
        if block.tail >= block.insts.end {
            self.uses(args_at_end(f, id), id);
        }
    }

    fn has_span(&self, val: Val) -> bool {
        self.spans.get(val.index()).is_some_and(Option::is_some)
    }

    fn define(&mut self, val: Val, id: BlockId) {
        if !self.has_span(val) && std::mem::replace(&mut self.defined[val.index()], id.0) != id.0 {
            self.homes.push((val, id));
        }
    }

    fn uses(&mut self, operands: &[Operand], id: BlockId) {
        for val in operands.iter().filter_map(|op| op.as_val()) {
            if self.defined[val.index()] == id.0 || self.has_span(val) {
                continue;
            }
            let values = &mut self.values;
            let place = *self.place[val.index()].get_or_insert_with(|| {
                values.push(val);
                values.len() as u32 - 1
            });
            self.exposed.push((place, id));
        }
    }
}
