//! Moves instructions to blocks before theirs.

use dovetail_base::workspace::{List, filled};
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{BlockId, InstId, Shader};

/// Moves each instruction to the end of the block that `place` returns: its own, or one that comes before it in
/// `cfg.order`, where its operands are known. `place` gets the instruction, its block and, by value, the block that the
/// value is defined in now.
pub(super) fn move_up(
    shader: &mut Shader,
    cfg: &Cfg,
    mut place: impl FnMut(&Shader, InstId, BlockId, &[BlockId]) -> BlockId,
) {
    let mut home = filled(shader.values.len(), BlockId::ENTRY);
    let (mut list, mut kept) = (List::<InstId>::default(), List::<InstId>::default());
    for &block in cfg.order.iter() {
        shader.block(block).params.iter().for_each(|p| home[p.index()] = block);
        list.clear();
        kept.clear();
        list.append(&mut shader.block_mut(block).insts);
        for &id in &list {
            let to = place(shader, id, block, &home);
            if let Some(v) = shader.inst(id).result {
                home[v.index()] = to;
            }
            if to == block { kept.push(id) } else { shader.block_mut(to).insts.push(id) }
        }
        // Instructions move only to blocks that were walked before, so nothing needs merging.
        shader.block_mut(block).insts.append(&mut kept);
    }
}
