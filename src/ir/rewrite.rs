//! Replaces instructions by other code: the frame that most passes share.
//!
//! A rule sees every instruction once, in block order, with a builder at its place. It may build anything there, new blocks
//! included; what follows goes on where the builder stands afterwards. Uses of a replaced value are renamed at the end.

use super::builder::Builder;
use super::shader::{Inst, InstId, Merge, Shader, Value};
use crate::error::{Error, Result};

/// What a rule makes of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// It stays.
    Keep,
    /// It goes; its result, if it had one, is this value from now on.
    Value(Value),
    /// It goes, and had no result (or none that is used).
    Remove,
}

/// Applies a rule to every instruction. The rule sees operands that are renamed already.
///
/// # Errors
/// Those of the rule; a bug if a replacement has another type.
pub fn rewrite(shader: &mut Shader, mut rule: impl FnMut(&mut Builder<'_>, &Inst) -> Result<Rewrite>) -> Result<()> {
    let mut renames: Vec<Option<Value>> = vec![None; shader.values.len()];
    for id in shader.block_ids() {
        let block = shader.block_mut(id);
        let (insts, term) = (std::mem::take(&mut block.insts), block.term.take());
        // A selection belongs to the branch, a loop to the block that is jumped back to.
        let selection = match block.merge {
            Merge::Selection(_) => std::mem::take(&mut block.merge),
            Merge::None | Merge::Loop { .. } => Merge::None,
        };
        let mut b = Builder::new(shader, id);
        for inst_id in insts {
            let mut inst = b.shader.inst(inst_id).clone();
            inst.args.iter_mut().for_each(|v| *v = renamed(&renames, *v));
            let text = |b: &Builder<'_>| b.shader.inst_text(&inst);
            let made = match rule(&mut b, &inst).map_err(|e| e.at(format!("`{}`", text(&b))))? {
                Rewrite::Value(new) => Rewrite::Value(renamed(&renames, new)),
                other => other,
            };
            match (made, inst.result) {
                (Rewrite::Keep, _) => keep(&mut b, inst_id),
                // Code that nothing reaches may come back to itself; a name must not.
                (Rewrite::Value(new), Some(old)) if new == old => keep(&mut b, inst_id),
                (Rewrite::Value(new), Some(old)) if b.ty(new) == b.ty(old) => renames[old.index()] = Some(new),
                (Rewrite::Value(_), None) => {}
                (Rewrite::Value(_), Some(_)) => {
                    return Err(Error::bug(format!("`{}`: replaced by another type", text(&b))));
                }
                (Rewrite::Remove, _) => {}
            }
        }
        let end = b.block();
        let end = shader.block_mut(end);
        end.term = term;
        if selection != Merge::None {
            end.merge = selection;
        }
    }
    rename(shader, &renames);
    Ok(())
}

fn keep(b: &mut Builder<'_>, inst: InstId) {
    let here = b.block();
    b.shader.block_mut(here).insts.push(inst);
}

/// Follows renamings to their end.
fn renamed(renames: &[Option<Value>], mut v: Value) -> Value {
    while let Some(Some(new)) = renames.get(v.index()) {
        v = *new;
    }
    v
}

/// Renames every use of every value that has another name now. Renamings may be chained, not circular.
pub fn rename(shader: &mut Shader, renames: &[Option<Value>]) {
    for block in &mut shader.blocks {
        for &id in &block.insts {
            shader.insts[id.index()].args.iter_mut().for_each(|v| *v = renamed(renames, *v));
        }
        if let Some(term) = &mut block.term {
            term.values_mut().into_iter().for_each(|v| *v = renamed(renames, *v));
        }
    }
}
