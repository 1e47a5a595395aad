//! Loops that LLVM's code would not keep apart: it lets lanes of several iterations run together what no way leads back from,
//! also where [`Op::StayInLoop`](dovetail_ir::Op::StayInLoop) says that it belongs to an iteration. A branch back that is never
//! taken does not help: LLVM 19 makes a loop of its own of it.

use dovetail_base::error::{Error, Result};
use dovetail_ir::{BlockId, Shader};

/// # Errors
/// Unsupported: a block belongs to the iterations of a loop, and no way leads from it back to the header.
pub(super) fn check(shader: &Shader) -> Result<()> {
    let cfg = shader.cfg();
    let loops = cfg.loops();
    for l in 0..loops.len() as u32 {
        let header = loops.header(l);
        let mut leads_back = vec![false; cfg.block_count()];
        let mut todo = vec![header];
        while let Some(block) = todo.pop() {
            for &before in cfg.preds(block).iter().filter(|before| loops.has(l, **before)) {
                if before != header && !std::mem::replace(&mut leads_back[before.index()], true) {
                    todo.push(before);
                }
            }
        }
        let leaves = |b: &BlockId| *b != header && loops.has(l, *b) && !leads_back[b.index()];
        if let Some(block) = shader.block_ids().find(leaves) {
            return Err(Error::unsupported(
                "LLVM: operations between lanes in a block that leaves a loop",
                format!("{block} of the loop at {header}; the native generator keeps it in its iteration"),
            ));
        }
    }
    Ok(())
}
