//! Removes unneeded instructions and block parameters, and empties unreachable blocks.
//!
//! Needed are effects ([`Op::has_side_effects`](crate::ir::Op::has_side_effects)), conditions, returned values, and
//! their operands. One walk over the uses, so linear.

use crate::error::Result;
use crate::ir::{BasicBlock, BlockId, Shader, Terminator, Value, ValueDef};
use crate::target::WaveSize;
use smallvec::SmallVec;

/// Removes everything that is not needed.
///
/// # Errors
/// None.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    let cfg = shader.cfg();
    for id in shader.block_ids().filter(|&b| !cfg.reachable(b)) {
        *shader.block_mut(id) = BasicBlock { term: Some(Terminator::Unreachable), ..BasicBlock::default() };
    }
    let live = live_values(shader);
    let insts = &shader.insts;
    for block in &mut shader.blocks {
        block.insts.retain(|&i| {
            let inst = &insts[i.index()];
            inst.op.has_side_effects() || inst.results().iter().any(|v| live[v.index()])
        });
    }
    remove_params(shader, &live);
    Ok(())
}

/// By value, whether it is needed.
fn live_values(shader: &Shader) -> Vec<bool> {
    let mut todo: SmallVec<[Value; 64]> = SmallVec::new();
    let mut passed = Passed { first: Vec::new(), entries: Vec::new() };
    for block in &shader.blocks {
        let effects = block.insts.iter().map(|&i| shader.inst(i)).filter(|i| i.op.has_side_effects());
        todo.extend(effects.flat_map(|i| &i.args).copied());
        let Some(term) = &block.term else { continue };
        match term {
            Terminator::Branch { cond, .. } => todo.push(*cond),
            Terminator::Switch { value, .. } => todo.push(*value),
            Terminator::Return(values) => todo.extend_from_slice(values),
            Terminator::Jump(_) | Terminator::Unreachable => {}
        }
        for call in term.calls() {
            let params = &shader.block(call.block).params;
            params.iter().zip(&call.args).for_each(|(p, a)| passed.note(*p, *a, shader.values.len()));
        }
    }
    let mut live = vec![false; shader.values.len()];
    while let Some(v) = todo.pop() {
        if !std::mem::replace(&mut live[v.index()], true) {
            match shader.def(v) {
                Some(inst) => todo.extend_from_slice(&inst.args),
                None => todo.extend(passed.to(v)),
            }
        }
    }
    live
}

/// For each block parameter, the values that jumps pass to it: linked lists in one vector.
struct Passed {
    /// By value: index of its first entry plus one, 0 if there is none.
    first: Vec<u32>,
    /// A value, and the index of the next entry plus one.
    entries: Vec<(Value, u32)>,
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
    let changed: Vec<BlockId> = shader.block_ids().filter(changed).collect();
    if changed.is_empty() {
        return;
    }
    for id in shader.block_ids() {
        let Some(mut term) = shader.block_mut(id).term.take() else { continue };
        for call in term.calls_mut().filter(|c| changed.binary_search(&c.block).is_ok()) {
            let mut params = shader.block(call.block).params.iter();
            call.args.retain(|_| params.next().is_none_or(|p| needed(call.block, p)));
        }
        shader.block_mut(id).term = Some(term);
    }
    for id in changed {
        shader.block_mut(id).params.retain(|p| needed(id, p));
        for (n, p) in shader.blocks[id.index()].params.iter().enumerate() {
            shader.values[p.index()].def = ValueDef::Param(id, n as u32);
        }
    }
}
