//! The structure that headers declare: the merge blocks of selections and loops, and the continue targets of loops.
//!
//! A declaration is true if the header dominates these blocks, and a loop's continue target dominates the source of
//! every edge back to the loop's header. Control flow is correct without declarations, but the verifier requires them
//! to be true.

use super::cfg::Cfg;
use super::{BlockId, Merge, Shader};

/// Checks that a header's declaration is true; if not, returns the reason.
pub(super) fn is_true(cfg: &Cfg, header: BlockId, merge: Merge) -> Result<(), String> {
    // Any statement holds for unreachable blocks.
    let ends = |from: BlockId, to: BlockId| !cfg.reachable(from) || !cfg.reachable(to) || cfg.dom.dominates(from, to);
    // A pass may split a header, and a selection then begins at its later half. Only a loop may continue at its own
    // header.
    let itself = match merge {
        Merge::None => false,
        Merge::Selection(end) | Merge::Loop { merge: end, .. } => end == header && cfg.reachable(header),
    };
    if itself {
        return Err("this block ends what it begins".into());
    }
    if let Some(end) = merge.blocks().find(|end| !ends(header, *end)) {
        return Err(format!("{end} ends what this block begins, and is reached past it"));
    }
    let Merge::Loop { continue_to, .. } = merge else { return Ok(()) };
    let mut back = cfg.preds(header).iter().filter(|from| cfg.dom.dominates(header, **from));
    match back.find(|from| !ends(continue_to, **from)) {
        Some(from) => Err(format!("{from} goes back to this block, and not by {continue_to}")),
        None => Ok(()),
    }
}

/// Removes declarations that are not true: those of an invalid module, or after a pass that changes jumps.
pub fn drop_untrue(shader: &mut Shader) {
    let cfg = shader.cfg();
    for (id, block) in (0..).map(BlockId).zip(&mut shader.blocks) {
        if is_true(&cfg, id, block.merge).is_err() {
            block.merge = Merge::None;
        }
    }
}
