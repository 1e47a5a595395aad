//! Turns scratch variables into SSA values (Braun et al., Simple and Efficient Construction of Static Single Assignment
//! Form, 2013).
//!
//! A load gives the last value stored to each of its cells. If the block has no store, the search continues in the
//! dominators as long as no store can come between; otherwise it makes a block parameter, whose values the jumps supply
//! after all blocks are walked. Blocks are walked in an order in which dominators come first; nothing recurses. A cell
//! without a store is undefined. All stores and loads of promoted variables are removed.

use super::cells::{Access, Cell, Cells};
use super::names::ValueNames;
use super::params;
use dovetail_base::error::Result;
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{BlockId, Inst, InstArgs, InstId, LocalId, Op, Shader, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Promotes every scratch variable whose accesses have constant offsets.
///
/// # Errors
/// None but bugs.
pub(super) fn run(shader: &mut Shader, options: &TuningOptions) -> Result<()> {
    let Some(cells) = Cells::new(shader) else { return Ok(()) };
    let stores = Stores::new(shader, &cells);
    let walk = Promotion {
        cfg: shader.cfg(),
        defs: Defs::new(shader.blocks.len(), cells.len()),
        shader,
        cells,
        stores,
        names: ValueNames::default(),
        undef: [None; 4],
        front: List::default(),
        pending: List::default(),
        path: List::default(),
    };
    walk.run();
    remove_locals(shader);
    params::run(shader, options)
}

/// Removes variables without accesses.
fn remove_locals(shader: &mut Shader) {
    let mut used = filled(shader.locals.len(), false);
    for inst in shader.live_insts() {
        if let Some(local) = inst.op.local() {
            used[local.index()] = true;
        }
    }
    let mut count = 0;
    let new: List<LocalId> = (used.iter())
        .map(|used| {
            count += u32::from(*used);
            LocalId(count.saturating_sub(1))
        })
        .collect();
    let mut kept = used.iter();
    shader.locals.retain(|_| kept.next().copied().unwrap_or(true));
    let Shader { blocks, insts, .. } = shader;
    for id in blocks.iter().flat_map(|block| &block.insts) {
        if let Op::LocalLoad { local, .. } | Op::LocalStore { local, .. } = &mut insts[id.index()].op {
            *local = new[local.index()];
        }
    }
}

struct Promotion<'a> {
    shader: &'a mut Shader,
    cfg: Arc<Cfg>,
    cells: Cells,
    stores: Stores,
    /// Value of a cell at the end of a block; in the current block, at the current position.
    defs: Defs,
    names: ValueNames,
    /// The undefined value of each width.
    undef: [Option<Value>; 4],
    /// Instructions for the start of the entry block.
    front: List<InstId>,
    /// New parameters, whose values the jumps must still supply.
    pending: List<(BlockId, Cell, Value)>,
    path: List<BlockId>,
}

impl Promotion<'_> {
    fn run(mut self) {
        let mut old = List::<InstId>::default();
        for block in Arc::clone(&self.cfg).order.iter().copied() {
            old.clear();
            old.append(&mut self.shader.block_mut(block).insts);
            for &id in &old {
                match self.cells.access(self.shader, self.shader.inst(id)) {
                    Some(access) => self.access(block, id, access),
                    None => self.keep(block, id),
                }
            }
        }
        let passed = self.complete();
        self.shader.block_mut(BlockId::ENTRY).insts.splice(0..0, self.front.drain(..));
        pass(self.shader, &self.cfg, &self.pending, &passed);
        self.names.apply(self.shader);
    }

    /// Keeps an instruction that accesses no promoted variable, unless it extracts from a known vector.
    fn keep(&mut self, block: BlockId, id: InstId) {
        if let Inst { op: Op::Extract(lane), args, result: Some(result) } = self.shader.inst(id) {
            let (lane, result, vector) = (usize::from(*lane), *result, args[0]);
            let vector = self.names.of(vector);
            if let Some(Inst { op: Op::Compose, args, .. }) = self.shader.def(vector)
                && let Some(&part) = args.get(lane)
            {
                let part = self.names.of(part);
                return self.names.set(result, part);
            }
        }
        self.shader.block_mut(block).insts.push(id);
    }

    fn access(&mut self, block: BlockId, id: InstId, access: Access) {
        match (access.stored, self.shader.inst(id).result) {
            (Some(stored), _) => {
                let stored = self.names.of(stored);
                for lane in 0..access.ty.lanes() {
                    let scalar = self.lane(block, stored, lane);
                    self.store(block, access, lane, scalar);
                }
            }
            (None, Some(result)) => {
                let lanes: SmallVec<[Value; 4]> =
                    (0..access.ty.lanes()).map(|lane| self.load(block, access, lane)).collect();
                let whole = self.compose(block, &lanes, access.ty);
                self.names.set(result, whole);
            }
            (None, None) => {}
        }
    }

    /// One lane of a value.
    fn lane(&mut self, block: BlockId, v: Value, lane: u32) -> Value {
        let ty = self.shader.ty(v);
        if ty.is_scalar() {
            return v;
        }
        if let Some(Inst { op: Op::Compose, args, .. }) = self.shader.def(v)
            && let Some(&part) = args.get(lane as usize)
        {
            return self.names.of(part);
        }
        self.make(block, Op::Extract(lane as u8), &[v], ty.element())
    }

    fn store(&mut self, block: BlockId, access: Access, lane: u32, v: Value) {
        let cells: SmallVec<[Cell; 8]> = self.cells.of(access, lane).collect();
        if let [cell] = cells[..] {
            return self.defs.set(block, cell, v);
        }
        let Some(ty) = cells.first().and_then(|c| Type::vector(self.cells.width(*c), cells.len() as u32)) else {
            return;
        };
        let parts = self.make(block, Op::Bitcast, &[v], ty);
        for (lane, cell) in (0..).zip(cells) {
            let part = self.lane(block, parts, lane);
            self.defs.set(block, cell, part);
        }
    }

    fn load(&mut self, block: BlockId, access: Access, lane: u32) -> Value {
        let cells: SmallVec<[Cell; 8]> = self.cells.of(access, lane).collect();
        let parts: SmallVec<[Value; 8]> = cells.iter().map(|cell| self.read(block, *cell)).collect();
        let element = access.ty.element();
        if let [one] = parts[..] {
            return one;
        }
        let ty = cells.first().and_then(|c| Type::vector(self.cells.width(*c), cells.len() as u32));
        let whole = self.compose(block, &parts, ty.unwrap_or(element));
        self.make(block, Op::Bitcast, &[whole], element)
    }

    fn compose(&mut self, block: BlockId, parts: &[Value], ty: Type) -> Value {
        match parts {
            [one] => *one,
            _ => self.make(block, Op::Compose, parts, ty),
        }
    }

    fn make(&mut self, block: BlockId, op: Op, args: &[Value], ty: Type) -> Value {
        let v = Value(self.shader.values.len() as u32);
        let id = self.shader.add_inst(op, InstArgs::from_slice(args), Some(ty));
        self.shader.block_mut(block).insts.push(id);
        v
    }

    /// The value of a cell at the end of a block; in the current block, at the current position.
    fn read(&mut self, block: BlockId, cell: Cell) -> Value {
        let mut at = block;
        self.path.clear();
        let v = loop {
            if let Some(v) = self.defs.get(at, cell) {
                break v;
            }
            self.path.push(at);
            let Some(above) = self.cfg.dom.parent(at) else { break self.undefined(cell) };
            if self.cfg.preds(at).len() > 1 && self.stores.are_below(&self.cfg, cell, above) {
                let v = self.shader.add_param(at, Type::scalar(self.cells.width(cell)));
                self.pending.push((at, cell, v));
                break v;
            }
            at = above;
        };
        for at in self.path.drain(..) {
            self.defs.set(at, cell, v);
        }
        v
    }

    fn undefined(&mut self, cell: Cell) -> Value {
        let width = self.cells.width(cell);
        let slot = width.bytes().trailing_zeros() as usize;
        if let Some(v) = self.undef[slot] {
            return v;
        }
        let v = Value(self.shader.values.len() as u32);
        self.front.push(self.shader.add_inst(Op::Undef, InstArgs::new(), Some(Type::scalar(width))));
        self.undef[slot] = Some(v);
        v
    }

    /// The values of each new parameter on every edge; reading them may make more parameters.
    fn complete(&mut self) -> List<Value> {
        let cfg = Arc::clone(&self.cfg);
        let mut passed = List::default();
        let mut n = 0;
        while let Some(&(block, cell, _)) = self.pending.get(n) {
            passed.extend(cfg.preds(block).iter().map(|&from| self.read(from, cell)));
            n += 1;
        }
        passed
    }
}

/// Passes the values of new parameters in the jumps. `passed` holds them for each parameter in turn, in the order of
/// edges.
fn pass(shader: &mut Shader, cfg: &Cfg, params: &[(BlockId, Cell, Value)], passed: &[Value]) {
    if params.is_empty() {
        return;
    }
    // By block, the parameters in the order in which they were added, each with its first value in `passed`.
    let mut of_block = List::<(BlockId, usize)>::default();
    let mut start = 0;
    for (block, ..) in params {
        of_block.push((*block, start));
        start += cfg.preds(*block).len();
    }
    of_block.sort_by_key(|(block, _)| *block);
    let mut edge = filled(shader.blocks.len(), 0);
    for block in &mut shader.blocks {
        for call in 0..block.calls().count() {
            let Some(to) = block.end.targets_mut().nth(call).copied() else { continue };
            let next = &mut edge[to.index()];
            let n = std::mem::replace(next, *next + 1);
            let first = of_block.partition_point(|(b, _)| *b < to);
            let own = of_block[first..].iter().take_while(|(b, _)| *b == to);
            block.end.add_args(call, own.filter_map(|(_, start)| passed.get(start + n)).copied());
        }
    }
}

/// The blocks that store to each cell, by their preorder numbers in the dominator tree.
struct Stores(List<(Cell, u32)>);

impl Stores {
    fn new(shader: &Shader, cells: &Cells) -> Self {
        let cfg = shader.cfg();
        let mut all = List::<(Cell, u32)>::default();
        for &block in cfg.order.iter() {
            let Some((number, _)) = cfg.dom.span(block) else { continue };
            for &id in &shader.block(block).insts {
                let Some(access) = cells.access(shader, shader.inst(id)) else { continue };
                if access.stored.is_some() {
                    let lanes = 0..access.ty.lanes();
                    all.extend(lanes.flat_map(|lane| cells.of(access, lane)).map(|cell| (cell, number)));
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    /// Whether a block that `above` strictly dominates stores to the cell.
    fn are_below(&self, cfg: &Cfg, cell: Cell, above: BlockId) -> bool {
        let Some((first, last)) = cfg.dom.span(above) else { return true };
        let next = self.0.partition_point(|stored| *stored <= (cell, first));
        self.0.get(next).is_some_and(|&(c, number)| c == cell && number <= last)
    }
}

/// Known values by block and cell.
enum Defs {
    /// Every pair, where these are few.
    Table {
        cells: usize,
        values: List<Option<Value>>,
    },
    Map(Kept<FxHashMap<(BlockId, Cell), Value>>),
}

/// Pairs of block and cell up to which they have a table.
const MAX_TABLE: usize = 1 << 15;

impl Defs {
    fn new(blocks: usize, cells: usize) -> Self {
        match blocks.saturating_mul(cells) {
            size @ 0..=MAX_TABLE => Self::Table { cells, values: filled(size, None) },
            _ => Self::Map(Kept::default()),
        }
    }

    fn get(&self, block: BlockId, cell: Cell) -> Option<Value> {
        match self {
            Self::Table { cells, values } => values[block.index() * cells + cell as usize],
            Self::Map(map) => map.get(&(block, cell)).copied(),
        }
    }

    fn set(&mut self, block: BlockId, cell: Cell, v: Value) {
        match self {
            Self::Table { cells, values } => values[block.index() * *cells + cell as usize] = Some(v),
            Self::Map(map) => _ = map.insert((block, cell), v),
        }
    }
}
