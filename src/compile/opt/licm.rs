//! Moves loop-invariant code before the loop.
//!
//! It moves only operations that depend on their operands alone and may run even if the loop's body does not:
//! arithmetic, loads with bounds checks, and loads from tables at offsets that only the linker and the driver
//! determine. Each moves before the outermost loop in which its operands do not change, if that loop has a single
//! entering block.

use super::move_up::move_up;
use dovetail_base::error::Result;
use dovetail_base::workspace::{List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{AmdOp, BlockId, Inst, Op, Shader, Terminator, Value};

/// Largest number of instructions moved to one block: twice as many live values as there are registers would be in
/// memory anyway.
const MOST: u32 = 512;

/// Moves invariants out of loops.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, options: &TuningOptions) -> Result<()> {
    let cfg = shader.cfg();
    if !options.licm || cfg.loops().is_empty() || !cfg.loops().are_all() {
        return Ok(());
    }
    let cfg = if add_entries(shader, &cfg) { shader.cfg() } else { cfg };
    let loops = cfg.loops();
    let before: List<Option<BlockId>> = (0..loops.len() as u32).map(|l| block_before(shader, &cfg, l)).collect();
    let mut moved = filled(shader.blocks.len(), 0);
    // By value, whether it depends only on constants, entry registers and symbols.
    let mut fixed = filled(shader.values.len(), false);
    shader.block(Shader::ENTRY).params.iter().for_each(|p| fixed[p.index()] = true);
    // No instruction moves to a block of a loop that is still to be walked.
    move_up(shader, &cfg, |shader, id, block, home| {
        let inst = shader.inst(id);
        let (place, known) = place(inst, loops.around(block), &cfg, &before, home, &fixed);
        let place = place.filter(|to| moved[to.index()] < MOST);
        place.iter().for_each(|to| moved[to.index()] += 1);
        inst.result.iter().for_each(|v| fixed[v.index()] = known);
        place.unwrap_or(block)
    });
    Ok(())
}

/// Gives each loop that is entered by one branch an empty block before it. Returns whether there were any. Those that stay
/// empty are removed with other jumps to jumps.
fn add_entries(shader: &mut Shader, cfg: &Cfg) -> bool {
    let (loops, blocks) = (cfg.loops(), shader.blocks.len());
    for l in 0..loops.len() as u32 {
        let header = loops.header(l);
        let mut entries = cfg.preds(header).iter().filter(|b| !loops.around(**b).contains(&l));
        let (Some(&entry), None) = (entries.next(), entries.next()) else { continue };
        let place = shader.block(entry).calls().position(|call| call.block == header);
        if let (Some(Terminator::Branch { .. }), Some(n)) = (shader.block(entry).term(), place) {
            let before = shader.add_block();
            shader.blocks.split_call(entry, n, before);
        }
    }
    shader.blocks.len() > blocks
}

/// The only block that enters a loop, if it has no other successor.
fn block_before(shader: &Shader, cfg: &Cfg, l: u32) -> Option<BlockId> {
    let loops = cfg.loops();
    let header = loops.header(l);
    let mut entries = cfg.preds(header).iter().filter(|b| !loops.around(**b).contains(&l));
    let entry = *entries.next()?;
    let goes_on = matches!(shader.block(entry).term(), Some(Terminator::Jump(_)));
    (entries.next().is_none() && goes_on).then_some(entry)
}

/// The block to which an instruction moves, and whether its result depends only on fixed values.
fn place(
    inst: &Inst,
    around: &[u32],
    cfg: &Cfg,
    before: &[Option<BlockId>],
    home: &[BlockId],
    fixed: &[bool],
) -> (Option<BlockId>, bool) {
    let all_fixed = || inst.args.iter().all(|v| fixed[v.index()]);
    let (moves, known) = match inst.op {
        // Constants and undefined values are operands already.
        Op::Const(_) | Op::Undef => (false, true),
        Op::Reloc(_) | Op::Target(AmdOp::AddressHigh | AmdOp::WorkgroupIds(_)) => (true, true),
        Op::Alu(..) | Op::Compose | Op::Extract(_) | Op::Bitcast => (true, all_fixed()),
        Op::Target(AmdOp::TableLoad { .. }) => (all_fixed(), false),
        Op::Descriptor { .. } | Op::PushConstant { .. } => (all_fixed(), false),
        Op::BufferLoad { kind, access, .. } => (access.is_unwritten(kind) && !access.volatile, false),
        _ => (false, false),
    };
    if !moves {
        return (None, known);
    }
    let changes = |v: &Value, l: u32| cfg.loops().around(home[v.index()]).contains(&l);
    let outermost = around.iter().copied().find_map(|l| {
        let place = before[l as usize]?;
        (!inst.args.iter().any(|v| changes(v, l))).then_some(place)
    });
    (outermost, known)
}
