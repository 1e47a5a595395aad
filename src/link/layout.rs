//! Places the parts of a unit: computes the offset of every part and of all constant data.
//!
//! | | adjacent | chained |
//! |---|---|---|
//! | a stage's first part | at a multiple of 256 | at a multiple of 256 |
//! | its other parts | in the order in which they run | in reverse order |
//! | a joint | none: execution falls through | an `s_branch` after the part |
//!
//! A part is aligned as its code needs: LLVM's to a cache line of 64 bytes, glue and native code to an instruction.
//! Padding is executed.
//!
//! In both placements the parts of a stage are contiguous, so that the stage's symbol covers all its code:
//! `GetShaderCode` gives that range to tools. An `s_branch` reaches 128 KiB; if a joint is longer, or has a distance
//! with which the hardware goes astray, the parts are placed adjacent.
//!
//! After this step no offset changes; the writer uses exactly these. To add a layout, add a variant of [`Placement`]
//! and its order of parts.

use super::attach::Unit;
use super::places::DWORD;
use super::ready::CodeRun;
use dovetail_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Placement of a stage's parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Parts follow one another in the order in which they run.
    #[default]
    Adjacent,
    /// Each part ends with a branch to the next, wherever that is.
    Chained,
}

/// Alignment of a stage's entry in bytes.
pub(super) const ENTRY_ALIGN: u32 = 256;
/// Lines of `s_code_end` after the last instruction, which the prefetcher reads.
const TAIL_LINES: u32 = 3;

/// A part of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartId {
    pub stage: usize,
    pub part: usize,
}

/// A part with its offset.
pub(super) struct PlacedPart<'u> {
    pub id: PartId,
    pub part: CodeRun<'u>,
    pub offset: u32,
    /// Bytes of code, including the branch if there is one.
    pub size: u32,
    /// Target of the branch after it.
    pub joint: Option<u32>,
}

impl PlacedPart<'_> {
    /// Whether its branch reaches the next part: the distance is a signed 16-bit count of dwords from the following
    /// instruction, and none with which it would go astray.
    fn branch_reaches(&self, bad_distance: Option<u16>) -> bool {
        let end = i64::from(self.offset) + i64::from(self.size);
        let distance = |next: u32| (i64::from(next) - end) / i64::from(DWORD);
        let good = |distance: i64| i16::try_from(distance).is_ok() && bad_distance.map(i64::from) != Some(distance);
        self.joint.is_none_or(|next| good(distance(next)))
    }

    /// Whether it has a symbol of its own. The first part of a stage has the stage's symbol instead.
    pub(super) fn is_inner(&self) -> bool {
        self.id.part > 0
    }

    /// End of the part, including its branch.
    pub(super) fn end(&self) -> u32 {
        // `place` has already computed this sum without overflow.
        self.offset.saturating_add(self.size)
    }
}

/// An output section of constant data.
pub(super) struct PlacedData<'u> {
    pub name: &'u str,
    pub align: u32,
    pub flags: u64,
    pub size: u32,
    /// Contributions: stage, index of the stage's section, offset in this one.
    pub pieces: SmallVec<[(usize, usize, u32); 2]>,
}

/// Offsets of all parts and data.
#[derive(Default)]
pub(super) struct Layout<'u> {
    /// Placement of the parts: the one asked for, or adjacent if a branch would not reach.
    pub placement: Placement,
    /// In order of their offsets.
    pub parts: Parts<'u>,
    /// End of the last part.
    pub code_end: u32,
    /// Size of `.text`, including the tail.
    pub text_size: u32,
    pub data: Data<'u>,
}

/// A vertex stage has at most three parts, a fragment stage two.
type Parts<'u> = SmallVec<[PlacedPart<'u>; 5]>;
type Data<'u> = SmallVec<[PlacedData<'u>; 2]>;

impl<'u> Layout<'u> {
    /// Computes all offsets of an empty layout, which is expensive to copy.
    ///
    /// # Errors
    /// Malformed: parts too large for 32-bit offsets.
    pub(super) fn fill(&mut self, unit: &'u Unit<'_>, placement: Placement) -> Result<()> {
        self.placement = placement;
        place_data(&mut self.data, unit)?;
        self.place(unit)?;
        let bad = unit.stage(0).and_then(|stage| stage.object.isa().words.bad_distance);
        if placement == Placement::Chained && !self.parts.iter().all(|part| part.branch_reaches(bad)) {
            self.placement = Placement::Adjacent;
            self.place(unit)?;
        }
        Ok(())
    }

    /// Computes the offsets of the parts.
    fn place(&mut self, unit: &'u Unit<'_>) -> Result<()> {
        let (placement, parts) = (self.placement, &mut self.parts);
        parts.clear();
        for (stage, of_stage) in unit.stages().enumerate() {
            of_stage.each_part(|index, part| {
                let size = u32::try_from(part.code.len()).map_err(|_| too_large())?;
                parts.push(PlacedPart { id: PartId { stage, part: index }, part, offset: 0, size, joint: None });
                Ok(())
            })?;
        }
        if placement == Placement::Chained {
            let last = |id: PartId| unit.stage(id.stage).is_none_or(|s| s.part_count() <= id.part + 1);
            for placed in parts.iter_mut().filter(|p| !last(p.id)) {
                placed.size = placed.size.checked_add(DWORD).ok_or_else(too_large)?;
                placed.joint = Some(0);
            }
            // A stage begins with its first part; the others follow in reverse order.
            parts.sort_by_key(|p| (p.id.stage, if p.id.part == 0 { 0 } else { usize::MAX - p.id.part }));
        }
        let line = unit.stage(0).map_or(DWORD, |stage| stage.object.isa().facts().code_line);
        let code_end = place(parts)?;
        if placement == Placement::Chained {
            resolve_joints(parts)?;
        }
        let tail = code_end.checked_next_multiple_of(line).and_then(|n| n.checked_add(TAIL_LINES * line));
        (self.code_end, self.text_size) = (code_end, tail.ok_or_else(too_large)?);
        Ok(())
    }

    /// A part by its id.
    pub(super) fn part(&self, id: PartId) -> Option<&PlacedPart<'u>> {
        self.parts.iter().find(|p| p.id == id)
    }

    /// Place of a stage's section of constant data: output section, offset in it.
    pub(super) fn data_place(&self, stage: usize, index: usize) -> Option<(usize, u32)> {
        self.data.iter().enumerate().find_map(|(output, section)| {
            let piece = section.pieces.iter().find(|(s, i, _)| (*s, *i) == (stage, index))?;
            Some((output, piece.2))
        })
    }
}

fn place(parts: &mut [PlacedPart<'_>]) -> Result<u32> {
    let mut end = 0u32;
    for placed in parts {
        let align = if placed.id.part == 0 { ENTRY_ALIGN } else { placed.part.align };
        placed.offset = end.checked_next_multiple_of(align).ok_or_else(too_large)?;
        end = placed.offset.checked_add(placed.size).ok_or_else(too_large)?;
    }
    Ok(end)
}

fn resolve_joints(parts: &mut [PlacedPart<'_>]) -> Result<()> {
    let places: SmallVec<[(PartId, u32); 5]> = parts.iter().map(|p| (p.id, p.offset)).collect();
    for placed in parts.iter_mut().filter(|p| p.joint.is_some()) {
        let next = PartId { part: placed.id.part + 1, ..placed.id };
        let found = places.iter().find(|(id, _)| *id == next);
        placed.joint = Some(found.ok_or_else(|| Error::bug("a joint leads nowhere"))?.1);
    }
    Ok(())
}

/// Merges sections of equal names, in the order in which the names first occur.
fn place_data<'u>(out: &mut Data<'u>, unit: &'u Unit<'_>) -> Result<()> {
    for (stage, of_stage) in unit.stages().enumerate() {
        for (index, section) in of_stage.data().iter().enumerate() {
            let at = match out.iter().position(|d| d.name == section.name) {
                Some(at) => at,
                None => {
                    let (name, flags) = (section.name.as_str(), section.flags);
                    out.push(PlacedData { name, align: 1, flags, size: 0, pieces: SmallVec::new() });
                    out.len() - 1
                }
            };
            let Some(data) = out.get_mut(at) else { continue };
            let offset = data.size.checked_next_multiple_of(section.align).ok_or_else(too_large)?;
            let len = u32::try_from(section.bytes.len()).map_err(|_| too_large())?;
            data.size = offset.checked_add(len).ok_or_else(too_large)?;
            data.align = data.align.max(section.align);
            data.pieces.push((stage, index, offset));
        }
    }
    Ok(())
}

fn too_large() -> Error {
    Error::malformed("the parts together are too large")
}
