//! Begins loads of read-only memory into scalar registers in the earliest block that runs whenever theirs does.
//!
//! After a branch whose paths have met, a load waits its whole latency if its result is needed at once. Begun before the
//! branch it is executed as often, its latency is hidden, and it meets loads of neighbouring addresses, with which it is
//! merged later. No load moves past a loop, where its result would occupy a register.

use super::move_up::move_up;
use dovetail_base::error::Result;
use dovetail_base::workspace::{List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::wave_wide::is_of_wave;
use dovetail_ir::{AmdOp, BlockId, Op, Shader};

/// Most dwords that begin earlier in one block: their results occupy registers from there on.
const MOST_DWORDS: u32 = 16;
/// Most blocks that a load moves past.
const MOST_STEPS: usize = 64;

/// Moves loads to earlier blocks.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, options: &TuningOptions) -> Result<()> {
    let cfg = shader.cfg();
    if !options.licm || cfg.order.len() < 3 || !cfg.loops().are_all() {
        return Ok(());
    }
    let before = before(&cfg);
    let mut dwords = filled(shader.blocks.len(), 0);
    // By value, whether it is in scalar registers because of its operands.
    let mut scalar = filled(shader.values.len(), false);
    shader.scalar_params().for_each(|param| scalar[param.index()] = true);
    move_up(shader, &cfg, |shader, id, block, home| {
        let inst = shader.inst(id);
        let Some(v) = inst.result else { return block };
        scalar[v.index()] = is_of_wave(&inst.op) && inst.args.iter().all(|arg| scalar[arg.index()]);
        let bits = shader.ty(v).total_bits();
        if !scalar[v.index()] || !is_load(&inst.op) || !bits.is_multiple_of(32) {
            return block;
        }
        let fits = |to: &BlockId| {
            let known = inst.args.iter().all(|arg| cfg.dom.dominates(home[arg.index()], *to));
            known && dwords[to.index()] + bits / 32 <= MOST_DWORDS
        };
        let earlier = std::iter::successors(Some(block), |to| before[to.index()].filter(fits));
        let to = earlier.take(MOST_STEPS).last().unwrap_or(block);
        dwords[to.index()] += if to == block { 0 } else { bits / 32 };
        to
    });
    Ok(())
}

/// Loads that become scalar ones if their operands are in scalar registers.
fn is_load(op: &Op) -> bool {
    matches!(op, Op::Target(AmdOp::TableLoad { .. }) | Op::BufferLoad { .. })
}

/// By block, the last block before it that runs exactly when it runs: the paths that begin there meet here, and no other
/// path and no loop is between them.
fn before(cfg: &Cfg) -> List<Option<BlockId>> {
    let (loops, meeting) = (cfg.loops(), cfg.meeting_points());
    let mut position = filled(meeting.len(), 0);
    // By position, the number of loops that begin before it.
    let mut begun = List::<u32>::default();
    let mut is_header = filled(meeting.len(), false);
    (0..loops.len() as u32).for_each(|l| is_header[loops.header(l).index()] = true);
    let mut count = 0;
    for (n, block) in cfg.order.iter().enumerate() {
        position[block.index()] = n;
        begun.push(count);
        count += u32::from(is_header[block.index()]);
    }
    let mut before = filled(meeting.len(), None);
    for &first in cfg.order.iter() {
        let Some(meets) = meeting[first.index()].filter(|meets| cfg.dom.dominates(first, *meets)) else { continue };
        let [from, to] = [first, meets].map(|block| position[block.index()]);
        // The header of a loop around both may be the first block itself.
        let loops_between = from >= to || begun[to] != begun[from] + u32::from(is_header[first.index()]);
        if !loops_between && loops.around(first) == loops.around(meets) {
            before[meets.index()] = Some(first);
        }
    }
    before
}
