//! Ends waves of a fragment shader that have no live pixel left, where that saves work.
//!
//! | after a demotion | becomes |
//! | --- | --- |
//! | in its block, an access to memory | [`Op::EndIfDead`] after it |
//! | in its block, another demotion before that | stays: the other one looks |
//! | neither, but an access or a loop that the wave may still come to | [`Op::EndIfDead`] after it |
//! | none of these | stays: the end is near |
//!
//! What the demoted lane itself may come to is not enough: it may be on its way to the end, while helpers that were not demoted
//! go on as the only ones. A wave may also come to where a branch before the demotion leads, unless the branch's ways have met.

use crate::error::Result;
use crate::ir::cfg::Cfg;
use crate::ir::{BlockId, Inst, InstId, Op, Shader};
use crate::target::WaveSize;
use crate::workspace::{List, filled};
use smallvec::SmallVec;

/// Adds the early ends.
///
/// # Errors
/// None.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    if !shader.has(|op| *op == Op::DemoteIf) {
        return Ok(());
    }
    let cfg = shader.cfg();
    let takes_time = taking_time(shader, &cfg);
    let leads_on = |block: BlockId, but: Option<BlockId>| {
        cfg.succs(block).iter().any(|next| Some(*next) != but && takes_time[next.index()])
    };
    let meets = cfg.meeting_points();
    // By block, whether another way of a branch before it is open, and takes time.
    let mut open = filled(shader.blocks.len(), false);
    for &block in &cfg.order {
        let Some(over) = cfg.dom.parent(block) else { continue };
        let met = meets[over.index()] == Some(block);
        open[block.index()] = open[over.index()] || !met && leads_on(over, Some(block));
    }
    for &block in &cfg.order {
        add(shader, block, open[block.index()] || leads_on(block, None));
    }
    Ok(())
}

/// By block, whether an access or a loop is in it or after it.
fn taking_time(shader: &Shader, cfg: &Cfg) -> List<bool> {
    let loops = cfg.loops();
    let mut takes = filled(shader.blocks.len(), false);
    // What comes after a block only along an edge back is in a loop with it.
    for &block in cfg.order.iter().rev() {
        takes[block.index()] = !loops.around(block).is_empty()
            || shader.block(block).insts.iter().any(|id| is_access(shader.inst(*id)))
            || cfg.succs(block).iter().any(|next| takes[next.index()]);
    }
    takes
}

/// Adds the early ends of a block; `more`: the wave may come to other blocks that take time.
fn add(shader: &mut Shader, block: BlockId, more: bool) {
    let mut insts = List::<InstId>::default();
    let mut kept = List::<InstId>::default();
    insts.append(&mut shader.block_mut(block).insts);
    for (n, &id) in insts.iter().enumerate() {
        kept.push(id);
        if shader.inst(id).op == Op::DemoteIf {
            let mut rest = insts[n + 1..].iter().map(|id| shader.inst(*id));
            let first = rest.find(|inst| inst.op == Op::DemoteIf || is_access(inst));
            if first.map_or(more, is_access) {
                kept.push(shader.add_inst(Op::EndIfDead, SmallVec::new(), None));
            }
        }
    }
    shader.block_mut(block).insts.append(&mut kept);
}

/// Whether an instruction waits for memory that vector instructions read or write.
fn is_access(inst: &Inst) -> bool {
    let by_address = matches!(inst.op, Op::GlobalLoad { .. } | Op::GlobalStore { .. } | Op::GlobalAtomic { .. });
    by_address || inst.op.descriptors() > 0
}
