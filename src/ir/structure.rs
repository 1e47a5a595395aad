//! The structure that headers declare: the blocks where selections and loops end, and where loops go on.
//!
//! It is true if no way leads past a header to these blocks, and every edge back to a loop's header comes by its continue target.
//! Control flow is right without it; the verifier wants that what is declared is true.

use super::cfg::Cfg;
use super::{BlockId, Merge, Shader};

/// Whether a header's declaration is true; if not, the reason.
pub(super) fn is_true(cfg: &Cfg, header: BlockId, merge: Merge) -> Result<(), String> {
    // Of unreachable blocks everything is true.
    let ends = |from: BlockId, to: BlockId| !cfg.reachable(from) || !cfg.reachable(to) || cfg.dom.dominates(from, to);
    // A pass may split a header, and a selection then begins at its later half: only a loop may go on at its own header.
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

/// Drops the declarations that are not true: of an invalid module, or after a pass that changes jumps.
pub fn drop_untrue(shader: &mut Shader) {
    let cfg = shader.cfg();
    for (id, block) in (0..).map(BlockId).zip(&mut shader.blocks) {
        if is_true(&cfg, id, block.merge).is_err() {
            block.merge = Merge::None;
        }
    }
}
