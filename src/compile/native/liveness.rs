//! Which values are live where blocks meet: scalar ones along linear edges, vector ones along logical edges.
//!
//! Only values that some block uses without having defined them before have a place in the bit rows; the others live
//! and die in their block. A block's parameters are defined at its start. Arguments of an edge are used at the end of
//! the block before its tail if it is the block's only edge, as the copies stand there; otherwise at the start of the
//! target, which has no other predecessor then.

use super::mir::preds::Preds;
use super::mir::{BlockId, Class, Function, Operand, Val};

/// Live values at the ends of blocks.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    /// Predecessors along logical edges.
    pub logical: Preds,
    /// Predecessors along linear edges.
    pub linear: Preds,
    /// Row position of each value that is live between blocks.
    place: Vec<Option<u32>>,
    /// The values by row position.
    values: Vec<Val>,
    words: usize,
    live_in: Vec<u64>,
    live_out: Vec<u64>,
}

impl Liveness {
    /// Computes it. The function must be verified.
    pub fn new(f: &Function) -> Self {
        let (logical, linear) = (Preds::logical(f), Preds::linear(f));
        let mut scan =
            Scan { place: vec![None; f.values.len()], values: Vec::new(), defined: vec![u32::MAX; f.values.len()] };
        // Once to number the values, once to fill the rows.
        let mut exposed: Vec<(BlockId, Val)> = Vec::new();
        for block in f.block_ids() {
            scan.block(f, &logical, block, &mut exposed);
        }
        let words = scan.values.len().div_ceil(64);
        let mut it = Self {
            logical,
            linear,
            place: scan.place,
            values: scan.values,
            words,
            live_in: vec![0; words * f.blocks.len()],
            live_out: vec![0; words * f.blocks.len()],
        };
        for (block, val) in exposed {
            it.set_in(block, val);
        }
        it.solve(f);
        it
    }

    fn set_in(&mut self, block: BlockId, val: Val) {
        if let Some(place) = self.place[val.index()] {
            self.live_in[block.index() * self.words + place as usize / 64] |= 1 << (place % 64);
        }
    }

    /// Spreads backward until nothing changes.
    fn solve(&mut self, f: &Function) {
        let words = self.words;
        let mut kill = vec![0u64; words * f.blocks.len()];
        for id in f.block_ids() {
            let block = f.block(id);
            let defs = f.insts_of(block).iter().flat_map(|inst| f.defs(inst)).filter_map(|op| op.as_val());
            for val in defs.chain(f.params_of(block).iter().copied()) {
                if let Some(place) = self.place[val.index()] {
                    kill[id.index() * words + place as usize / 64] |= 1 << (place % 64);
                }
            }
        }
        let mut scalar = vec![0u64; words];
        for (place, val) in self.values.iter().enumerate() {
            scalar[place / 64] |= u64::from(f.class(*val) == Class::Scalar) << (place % 64);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for id in f.block_ids().rev() {
                let block = f.block(id);
                let row = id.index() * words;
                for word in 0..words {
                    let of = |to: BlockId| self.live_in[to.index() * words + word];
                    let linear = block.term.targets().fold(0, |bits, to| bits | of(to));
                    let logical = block.edges.iter().fold(0, |bits, edge| bits | of(edge.to));
                    let out = (linear & scalar[word]) | (logical & !scalar[word]);
                    // A parameter is live into no block but its own; there it is defined, not live in.
                    let into = self.live_in[row + word] | (out & !kill[row + word]);
                    changed |= into != self.live_in[row + word];
                    self.live_out[row + word] = out;
                    self.live_in[row + word] = into;
                }
            }
        }
    }

    /// Values live into a block, without its parameters.
    pub fn live_in(&self, block: BlockId) -> impl Iterator<Item = Val> {
        self.row(&self.live_in, block)
    }

    /// Values live out of a block: into a successor of their kind. Arguments of its only edge are not among them.
    pub fn live_out(&self, block: BlockId) -> impl Iterator<Item = Val> {
        self.row(&self.live_out, block)
    }

    /// Whether a value is live out of a block.
    pub fn is_live_out(&self, block: BlockId, val: Val) -> bool {
        self.bit(&self.live_out, block, val)
    }

    /// Whether a value is live into a block.
    pub fn is_live_in(&self, block: BlockId, val: Val) -> bool {
        self.bit(&self.live_in, block, val)
    }

    /// Whether it is live between blocks at all.
    pub fn is_global(&self, val: Val) -> bool {
        self.place[val.index()].is_some()
    }

    fn bit(&self, rows: &[u64], block: BlockId, val: Val) -> bool {
        self.place[val.index()]
            .is_some_and(|place| rows[block.index() * self.words + place as usize / 64] >> (place % 64) & 1 != 0)
    }

    fn row<'a>(&'a self, rows: &'a [u64], block: BlockId) -> impl Iterator<Item = Val> {
        let row = &rows[block.index() * self.words..(block.index() + 1) * self.words];
        row.iter().enumerate().flat_map(move |(word, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(self.values[64 * word + bit as usize])
            })
        })
    }
}

/// Whether the copies for the block's edges stand before its tail; otherwise each at the start of its target.
pub fn copies_before_tail(f: &Function, block: BlockId) -> bool {
    f.block(block).edges.len() == 1
}

/// The arguments that are copied at the start of a block, into its parameters.
pub fn args_at_start<'a>(f: &'a Function, logical: &Preds, block: BlockId) -> &'a [Operand] {
    match logical.of(block) {
        [only] if !copies_before_tail(f, *only) => {
            let edge = f.block(*only).edges.iter().find(|edge| edge.to == block);
            edge.map_or(&[], |edge| f.args(edge))
        }
        _ => &[],
    }
}

/// The arguments that are copied at the end of a block, before its tail.
pub fn args_at_end(f: &Function, block: BlockId) -> &[Operand] {
    match &f.block(block).edges[..] {
        [edge] => f.args(edge),
        _ => &[],
    }
}

/// One walk over the code.
struct Scan {
    place: Vec<Option<u32>>,
    values: Vec<Val>,
    /// The block in which a value was last seen to be defined.
    defined: Vec<u32>,
}

impl Scan {
    fn block(&mut self, f: &Function, logical: &Preds, id: BlockId, exposed: &mut Vec<(BlockId, Val)>) {
        let block = f.block(id);
        self.uses(args_at_start(f, logical, id), id, exposed);
        for val in f.params_of(block) {
            self.defined[val.index()] = id.0;
        }
        for (n, inst) in (block.insts.start..).zip(f.insts_of(block)) {
            if n == block.tail {
                self.uses(args_at_end(f, id), id, exposed);
            }
            self.uses(f.uses(inst), id, exposed);
            for val in f.defs(inst).iter().filter_map(|op| op.as_val()) {
                self.defined[val.index()] = id.0;
            }
        }
        if block.tail >= block.insts.end {
            self.uses(args_at_end(f, id), id, exposed);
        }
    }

    fn uses(&mut self, operands: &[Operand], id: BlockId, exposed: &mut Vec<(BlockId, Val)>) {
        for val in operands.iter().filter_map(|op| op.as_val()) {
            if self.defined[val.index()] == id.0 {
                continue;
            }
            if self.place[val.index()].is_none() {
                self.place[val.index()] = Some(self.values.len() as u32);
                self.values.push(val);
            }
            exposed.push((id, val));
        }
    }
}
