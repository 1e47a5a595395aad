//! Gives large scratch variables that are never in use at one time the same memory. Each call that takes a structure by value
//! has variables of its own for it, and a lane has little scratch memory (128 KiB in waves of 64).
//!
//! A variable is in use in a block that a store to it reaches and from which a load of it is reached. Variables that may
//! become registers are left alone.

use dovetail_base::error::Result;
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{List, filled};
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{Local, LocalId, Op, Shader};

/// Bytes up to which a variable may become registers.
const SMALL: u32 = 1024;
/// Limit of variables times blocks; above it nothing is shared.
const MAX_TABLE: usize = 1 << 22;

/// Shares the memory.
///
/// # Errors
/// None.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    let large: List<usize> = (0..shader.locals.len()).filter(|n| shader.locals[*n].bytes > SMALL).collect();
    if large.len() < 2 || large.len().saturating_mul(shader.blocks.len()) > MAX_TABLE {
        return Ok(());
    }
    let cfg = shader.cfg();
    let mut order: List<usize> = large.iter().copied().collect();
    order.sort_by_key(|n| std::cmp::Reverse(shader.locals[*n].bytes));
    // The variables whose memory is shared, each with the blocks in which one of its sharers is in use.
    let mut owners = List::<(usize, List<bool>)>::default();
    let mut moved = filled::<usize>(shader.locals.len(), usize::MAX);
    for &local in order.iter() {
        let used = in_use(shader, &cfg, LocalId(local as u32));
        let apart = |(_, taken): &&mut (usize, List<bool>)| taken.iter().zip(used.iter()).all(|(a, b)| !(*a && *b));
        match owners.iter_mut().find(apart) {
            Some((owner, taken)) => {
                taken.iter_mut().zip(used.iter()).for_each(|(a, b)| *a |= *b);
                moved[local] = *owner;
            }
            None => owners.push((local, used)),
        }
    }
    for n in large.iter().copied().filter(|n| moved[*n] != usize::MAX) {
        let align = shader.locals[n].align;
        let Local { align: of_owner, .. } = &mut shader.locals[moved[n]];
        *of_owner = (*of_owner).max(align);
        // No access is left.
        shader.locals[n].bytes = 0;
    }
    for at in 0..shader.insts.len() {
        if let Op::LocalLoad { local, .. } | Op::LocalStore { local, .. } = &mut shader.insts[at].op
            && let Some(owner) = moved.get(local.index()).filter(|owner| **owner != usize::MAX)
        {
            *local = LocalId(*owner as u32);
        }
    }
    Ok(())
}

/// By block, whether a variable is in use in it.
fn in_use(shader: &Shader, cfg: &Cfg, local: LocalId) -> List<bool> {
    let (mut stored, mut read) = (filled(shader.blocks.len(), false), filled(shader.blocks.len(), false));
    for &block in cfg.order.iter() {
        for inst in &shader.block(block).insts {
            match shader.inst(*inst).op {
                Op::LocalStore { local: at, .. } if at == local => stored[block.index()] = true,
                Op::LocalLoad { local: at, .. } if at == local => read[block.index()] = true,
                _ => {}
            }
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &block in cfg.order.iter() {
            if stored[block.index()] {
                for next in cfg.succs(block) {
                    changed |= !std::mem::replace(&mut stored[next.index()], true);
                }
            }
        }
        for &block in cfg.order.iter().rev() {
            if !read[block.index()] && cfg.succs(block).iter().any(|next| read[next.index()]) {
                read[block.index()] = true;
                changed = true;
            }
        }
    }
    stored.iter().zip(read.iter()).map(|(stored, read)| *stored && *read).collect()
}
