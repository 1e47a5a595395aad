//! Removes instructions and block parameters that nothing needs, and empties blocks that nothing reaches.
//!
//! What is needed: effects ([`Op::has_side_effects`](crate::ir::Op::has_side_effects)), conditions, returned values, and whatever those are made from. One walk
//! over the uses, so linear.

use crate::error::Result;
use crate::ir::cfg::Cfg;
use crate::ir::{BasicBlock, Shader, Terminator, Value, ValueDef};
use crate::target::WaveSize;

/// Removes what nothing needs.
///
/// # Errors
/// None.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    let cfg = Cfg::new(shader);
    for id in shader.block_ids().filter(|&b| !cfg.reachable(b)) {
        *shader.block_mut(id) = BasicBlock { term: Some(Terminator::Unreachable), ..BasicBlock::default() };
    }
    let live = live_values(shader);
    let is_live = |v: &Value| live.get(v.index()).copied().unwrap_or(false);
    for id in shader.block_ids() {
        let mut insts = std::mem::take(&mut shader.block_mut(id).insts);
        insts.retain(|&i| {
            let inst = shader.inst(i);
            inst.op.has_side_effects() || inst.result.as_ref().is_some_and(is_live)
        });
        let block = shader.block_mut(id);
        block.insts = insts;
    }
    remove_params(shader, &live);
    Ok(())
}

/// By value, whether it is needed.
fn live_values(shader: &Shader) -> Vec<bool> {
    // What each block parameter gets from its predecessors.
    let mut passed: Vec<Vec<Value>> = vec![Vec::new(); shader.values.len()];
    let mut todo: Vec<Value> = Vec::new();
    for id in shader.block_ids() {
        let block = shader.block(id);
        todo.extend(
            block.insts.iter().map(|&i| shader.inst(i)).filter(|i| i.op.has_side_effects()).flat_map(|i| &i.args),
        );
        let Some(term) = &block.term else { continue };
        match term {
            Terminator::Branch { cond, .. } => todo.push(*cond),
            Terminator::Switch { value, .. } => todo.push(*value),
            Terminator::Return(values) => todo.extend(values),
            Terminator::Jump(_) | Terminator::Unreachable => {}
        }
        for call in term.calls() {
            for (p, a) in shader.block(call.block).params.iter().zip(&call.args) {
                passed[p.index()].push(*a);
            }
        }
    }
    let mut live = vec![false; shader.values.len()];
    while let Some(v) = todo.pop() {
        if !std::mem::replace(&mut live[v.index()], true) {
            match shader.def(v) {
                Some(inst) => todo.extend(&inst.args),
                None => todo.append(&mut passed[v.index()]),
            }
        }
    }
    live
}

/// Takes parameters that are not needed out of blocks and jumps; those of the entry are the hardware's and stay.
fn remove_params(shader: &mut Shader, live: &[bool]) {
    let keep: Vec<Vec<bool>> = shader
        .block_ids()
        .map(|id| {
            let params = &shader.block(id).params;
            params.iter().map(|p| id == Shader::ENTRY || live[p.index()]).collect()
        })
        .collect();
    let filter = |values: &mut Vec<Value>, keep: &[bool]| {
        let mut flags = keep.iter();
        values.retain(|_| flags.next().copied().unwrap_or(true));
    };
    for id in shader.block_ids() {
        let block = shader.block_mut(id);
        filter(&mut block.params, &keep[id.index()]);
        if let Some(term) = &mut block.term {
            for call in term.calls_mut() {
                filter(&mut call.args, &keep[call.block.index()]);
            }
        }
        for (n, p) in shader.blocks[id.index()].params.iter().enumerate() {
            shader.values[p.index()].def = ValueDef::Param(id, n as u32);
        }
    }
}
