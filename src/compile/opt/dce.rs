//! Removes unneeded instructions and block parameters, and empties unreachable blocks.
//!
//! Needed are effects ([`Op::has_side_effects`](dovetail_ir::Op::has_side_effects)), conditions, returned values, and
//! their operands; a store to a local only if something loads what it stores. One walk over the uses, so linear.

use dovetail_base::error::Result;
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{List, filled};
use dovetail_ir::{BlockId, Inst, LocalId, Op, Shader, Value};

/// Removes everything that is not needed.
///
/// # Errors
/// None.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    let cfg = shader.cfg();
    for id in shader.block_ids().filter(|&b| !cfg.reachable(b)) {
        shader.block_mut(id).make_unreachable();
    }
    let mut locals = Locals::of(shader);
    let live = live_values(shader, &mut locals);
    for at in 0..shader.blocks.len() {
        let mut insts = std::mem::take(&mut shader.blocks[at].insts);
        insts.retain(|&i| {
            let inst = shader.inst(i);
            match stored(shader, inst) {
                Some((local, dwords)) => locals.is_read(local, dwords),
                None => inst.op.has_side_effects() || inst.results().iter().any(|v| live[v.index()]),
            }
        });
        shader.blocks[at].insts = insts;
    }
    remove_params(shader, &live);
    Ok(())
}

/// Dwords of a local, one bit each; the last bit stands for all further dwords.
type Dwords = u64;

/// Loads and stores of locals.
struct Locals {
    /// The dwords loaded, by local.
    read: List<Dwords>,
    /// Sorted by local.
    stores: List<(LocalId, Dwords, [Value; 2])>,
}

impl Locals {
    fn of(shader: &Shader) -> Self {
        let store = |inst: &Inst| match (stored(shader, inst), inst.args.as_slice()) {
            (Some((local, dwords)), &[at, value]) => Some((local, dwords, [at, value])),
            _ => None,
        };
        let mut stores = List::default();
        if !shader.locals.is_empty() {
            stores.extend(shader.live_insts().filter_map(store));
            stores.sort_by_key(|(local, ..)| *local);
        }
        Self { read: filled(shader.locals.len(), 0), stores }
    }

    fn is_read(&self, local: LocalId, dwords: Dwords) -> bool {
        self.read.get(local.index()).is_none_or(|read| read & dwords != 0)
    }

    /// Records a needed load; returns the operands of the stores that it may see and no earlier load saw.
    fn load(&mut self, local: LocalId, dwords: Dwords) -> impl Iterator<Item = Value> {
        let read = self.read.get_mut(local.index());
        let new = read.map_or(0, |read| {
            let new = dwords & !*read;
            *read |= dwords;
            new
        });
        let first = self.stores.partition_point(|(other, ..)| *other < local);
        let all = self.stores.get(first..).unwrap_or_default().iter().take_while(move |_| new != 0);
        let of_local = all.take_while(move |(other, ..)| *other == local);
        of_local.filter(move |(_, stored, _)| stored & new != 0).flat_map(|(.., operands)| *operands)
    }
}

/// The local that an instruction stores to, and the dwords.
fn stored(shader: &Shader, inst: &Inst) -> Option<(LocalId, Dwords)> {
    match (&inst.op, inst.args.as_slice()) {
        (Op::LocalStore { local, .. }, &[at, value]) => Some((*local, dwords(shader, at, value))),
        _ => None,
    }
}

/// The local that an instruction loads from, and the dwords.
fn loaded(shader: &Shader, inst: &Inst) -> Option<(LocalId, Dwords)> {
    match (&inst.op, inst.args.as_slice()) {
        (Op::LocalLoad { local, .. }, &[at]) => Some((*local, dwords(shader, at, inst.result?))),
        _ => None,
    }
}

/// The dwords of a value at an offset; all dwords if the offset is unknown.
fn dwords(shader: &Shader, offset: Value, value: Value) -> Dwords {
    let Some(offset) = shader.as_const(offset) else { return Dwords::MAX };
    let last = offset.saturating_add(u64::from(shader.ty(value).bytes()).saturating_sub(1));
    let bit = |byte: u64| (byte / 4).min(u64::from(Dwords::BITS - 1));
    Dwords::MAX << bit(offset) & Dwords::MAX >> (u64::from(Dwords::BITS - 1) - bit(last))
}

/// By value, whether it is needed.
fn live_values(shader: &Shader, locals: &mut Locals) -> List<bool> {
    let mut todo = List::<Value>::default();
    let mut passed = Passed { first: List::default(), entries: List::default() };
    for block in &shader.blocks {
        let is_effect = |i: &&Inst| i.op.has_side_effects() && !matches!(i.op, Op::LocalStore { .. });
        let effects = block.insts.iter().map(|&i| shader.inst(i)).filter(is_effect);
        todo.extend(effects.flat_map(|i| &i.args).copied());
        todo.extend_from_slice(block.end.own_values());
        for call in block.calls() {
            let params = &shader.block(call.block).params;
            params.iter().zip(call.args).for_each(|(p, a)| passed.note(*p, *a, shader.values.len()));
        }
    }
    let mut live = filled(shader.values.len(), false);
    while let Some(v) = todo.pop() {
        if !std::mem::replace(&mut live[v.index()], true) {
            match shader.def(v) {
                Some(inst) => {
                    todo.extend_from_slice(&inst.args);
                    if let Some((local, dwords)) = loaded(shader, inst) {
                        todo.extend(locals.load(local, dwords));
                    }
                }
                None => todo.extend(passed.to(v)),
            }
        }
    }
    live
}

/// For each block parameter, the values that jumps pass to it: linked lists in one vector.
struct Passed {
    /// By value: index of its first entry plus one, 0 if there is none.
    first: List<u32>,
    /// A value, and the index of the next entry plus one.
    entries: List<(Value, u32)>,
}

impl Passed {
    /// Records that a value is passed to a parameter; `values` is the number of all values.
    fn note(&mut self, param: Value, arg: Value, values: usize) {
        self.first.resize(values, 0);
        let next = std::mem::replace(&mut self.first[param.index()], self.entries.len() as u32 + 1);
        self.entries.push((arg, next));
    }

    fn to(&self, param: Value) -> impl Iterator<Item = Value> {
        let entry = |at: u32| at.checked_sub(1).and_then(|n| self.entries.get(n as usize)).copied();
        let first = self.first.get(param.index()).map_or(0, |n| *n);
        std::iter::successors(entry(first), move |(_, next)| entry(*next)).map(|(v, _)| v)
    }
}

/// Removes unneeded parameters from blocks and jumps; those of the entry are hardware registers and stay.
fn remove_params(shader: &mut Shader, live: &[bool]) {
    let needed = |block: BlockId, p: &Value| block == Shader::ENTRY || live[p.index()];
    let changed = |id: &BlockId| !shader.block(*id).params.iter().all(|p| needed(*id, p));
    let changed: List<BlockId> = shader.block_ids().filter(changed).collect();
    if changed.is_empty() {
        return;
    }
    for id in shader.block_ids() {
        if !shader.block(id).calls().any(|call| changed.binary_search(&call.block).is_ok()) {
            continue;
        }
        let mut end = std::mem::take(&mut shader.block_mut(id).end);
        end.retain_args(|to, n| shader.block(to).params.get(n).is_none_or(|p| needed(to, p)));
        shader.block_mut(id).end = end;
    }
    for &id in &changed {
        shader.block_mut(id).params.retain(|p| needed(id, p));
        shader.place_params(id);
    }
}
