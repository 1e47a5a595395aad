//! Ends fragment waves that have no live pixel left, where this saves work.
//!
//! | after a demotion follows | result |
//! | --- | --- |
//! | in its block, a memory access | [`Op::EndIfDead`] after the demotion |
//! | in its block, another demotion before any access | unchanged: the other demotion checks |
//! | neither, but the wave may still reach an access or a loop | [`Op::EndIfDead`] after the demotion |
//! | none of these | unchanged: the wave ends soon |
//!
//! The code that the demoted lane itself can reach does not decide: it may be on its way to the end while only helper lanes
//! execute another path. The wave may also still execute the other path of an earlier branch, until the paths of that branch
//! have met.

use dovetail_base::error::Result;
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{List, filled};
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{BlockId, Inst, InstArgs, InstId, Op, Shader};

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
    // By block: whether an earlier branch has another path that has not met this one and takes time.
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

/// By block: whether it or a block after it contains an access or a loop.
fn taking_time(shader: &Shader, cfg: &Cfg) -> List<bool> {
    let loops = cfg.loops();
    let mut takes = filled(shader.blocks.len(), false);
    // A block that is only reachable along a back edge is in a loop with this one.
    for &block in cfg.order.iter().rev() {
        takes[block.index()] = !loops.around(block).is_empty()
            || shader.block(block).insts.iter().any(|id| is_access(shader.inst(*id)))
            || cfg.succs(block).iter().any(|next| takes[next.index()]);
    }
    takes
}

/// Adds the early ends of a block; `more`: the wave may still reach other blocks that take time.
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
                kept.push(shader.add_inst(Op::EndIfDead, InstArgs::new(), None));
            }
        }
    }
    shader.block_mut(block).insts.append(&mut kept);
}

/// Whether an instruction is a vector memory access.
fn is_access(inst: &Inst) -> bool {
    let by_address = matches!(inst.op, Op::GlobalLoad { .. } | Op::GlobalStore { .. } | Op::GlobalAtomic { .. });
    by_address || inst.op.descriptors() > 0
}
