//! Removes unreachable blocks.

use dovetail_base::error::Result;
use dovetail_base::workspace::{List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::{BlockId, Shader};

/// Empties unreachable blocks, so that none of them counts as a predecessor.
pub(super) fn empty_unreachable(shader: &mut Shader) {
    let cfg = shader.cfg();
    for block in shader.block_ids().filter(|b| !cfg.reachable(*b)) {
        shader.block_mut(block).make_unreachable();
    }
}

/// By block, whether a header names it as merge or continue block.
pub(super) fn named(shader: &Shader) -> List<bool> {
    let mut named = filled(shader.blocks.len(), false);
    shader.blocks.iter().flat_map(|block| block.merge.blocks()).for_each(|b| named[b.index()] = true);
    named
}

/// Removes the blocks that are unreachable and that no header names; the others keep their order.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    empty_unreachable(shader);
    let cfg = shader.cfg();
    let mut kept = named(shader);
    kept.iter_mut().zip(shader.block_ids()).for_each(|(kept, b)| *kept |= cfg.reachable(b));
    if kept.iter().all(|kept| *kept) {
        return Ok(());
    }
    let mut count = 0;
    let new: List<BlockId> = (kept.iter())
        .map(|kept| {
            count += u32::from(*kept);
            BlockId(count.saturating_sub(1))
        })
        .collect();
    let mut stays = kept.iter();
    shader.blocks.retain(|_| stays.next().copied().unwrap_or(true));
    for id in shader.block_ids() {
        shader.place_params(id);
        let block = shader.block_mut(id);
        block.end.targets_mut().for_each(|to| *to = new[to.index()]);
        block.merge = block.merge.renamed(|b| new[b.index()]);
    }
    Ok(())
}
