//! Resolves calls between functions of a part, when all parts have their offsets: the distance of two of them depends on what
//! lies between.

use super::attach::UnitStage;
use super::functions::FunctionId;
use super::layout::{Layout, PartId};
use dovetail_base::error::{Context, Error, Result};
use dovetail_isa::LinkWords;
use dovetail_reloc::apply::apply;

/// Writes the distances of a stage's calls into its code.
///
/// # Errors
/// Malformed: a function is too far for the relocation.
pub(super) fn resolve(
    words: &LinkWords,
    stage: &UnitStage<'_>,
    number: usize,
    layout: &Layout<'_>,
    text: &mut [u8],
) -> Result<()> {
    let part_of = |function: FunctionId| match function {
        FunctionId::BODY => stage.body_index(),
        FunctionId(further) => stage.part_count() + further - 1,
    };
    let offset_of = |function| {
        let placed = layout.part(PartId { stage: number, part: part_of(function) });
        placed.map(|placed| placed.offset).ok_or_else(|| Error::bug("a function without a place"))
    };
    for call in &stage.ready.calls {
        let (from, to) = (offset_of(call.from)?, offset_of(call.to)?);
        let at = from.checked_add(call.offset).ok_or_else(|| Error::malformed("the parts together are too large"))?;
        apply(words, text, at, call.kind, to.into(), at.into()).at(|| format!("call at {:#x}", call.offset))?;
    }
    Ok(())
}
