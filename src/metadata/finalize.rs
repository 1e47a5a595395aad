//! Builds the notes of the final ELF from those of its parts and the pipeline state: limits of user data, and every
//! register that PAL reads whether the shader needs it or not (pal-abi 2.8, 6).
//!
//! Invariant: RSRC1 agrees with the register counts, which cover bodies, glue and the registers that the hardware loads
//! at entry. [`super::part_notes`] computes what depends on a part alone, [`super::ready_notes`] what depends on its layout
//! and its own glue too, [`super::graphics`] what only graphics pipelines have.

use super::facts::PipelineFacts;
use super::fields::MetadataFields;
use super::final_registers::FinalRegisters;
use super::graphics;
use super::interface::{StageKind, VertexInterface};
use super::ready_notes::{StageNotes, granules};
use super::schema::MetadataKey;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::{Family, MOST_HARDWARE_STAGES, PipelineShape};
use smallvec::SmallVec;

/// `.spill_threshold` of a pipeline without spilled user data. PAL keeps 16 bits.
pub const NO_SPILL: u32 = 0xFFFF;

/// The notes of a final ELF.
#[derive(Clone, Debug)]
pub struct FinalNotes<'a> {
    /// The stages of the pipeline.
    pub shape: &'static PipelineShape,
    /// `.internal_pipeline_hash`.
    pub hash: [u64; 2],
    /// Fields at pipeline level.
    pub pipeline: MetadataFields,
    /// Register words.
    pub registers: FinalRegisters<'a>,
    /// The stages' own notes, in the order of the stages.
    pub stages: SmallVec<[StageNotes<'a>; MOST_HARDWARE_STAGES]>,
}

impl FinalNotes<'_> {
    /// Nothing of a pipeline of this shape, for this family.
    pub fn new(family: Family, shape: &'static PipelineShape) -> Self {
        Self {
            shape,
            hash: [0; 2],
            pipeline: MetadataFields::default(),
            registers: FinalRegisters::new(family),
            stages: SmallVec::new(),
        }
    }
}

/// Adds to the stages' own notes what the parts and the link determine together. The caller sets the hash, because it
/// covers the result.
///
/// # Errors
/// Malformed: impossible user data or counts, or parts that contradict each other. Needs a full compile: state that
/// changes code.
pub fn finalize(facts: &PipelineFacts<'_>, notes: &mut FinalNotes<'_>) -> Result<()> {
    for stage in &notes.stages {
        notes.pipeline.merge(stage.pipeline())?;
        let (indexes, bytes) = stage.registers();
        notes.registers.add(indexes, bytes)?;
    }
    let mut mapped_end = 0;
    for (stage, own) in facts.stages.iter().zip(&mut notes.stages) {
        let name = || stage.interface.stage.name();
        let counts = own.counts.max(stage.glue);
        if counts != own.counts {
            notes.registers.set_fields(granules(own.hardware(), stage.interface, counts).at(name)?)?;
            own.counts = counts;
        }
        mapped_end = own.mapped_end.max(mapped_end);
        match &stage.interface.kind {
            StageKind::Vertex(VertexInterface { pre_rasterization: last, .. }) => {
                let target = stage.interface.target;
                graphics::pre_rasterization(&mut notes.registers, target, own.hardware(), last, facts).at(name)?;
            }
            StageKind::Fragment(fragment) => graphics::fragment(&mut notes.registers, fragment, facts).at(name)?,
            StageKind::Compute(_) => {}
        }
    }
    user_data_limits(&mut notes.pipeline, facts, mapped_end)
}

/// Sets the size of the root table for PAL, and the offset from which on it must be written to memory.
fn user_data_limits(pipeline: &mut MetadataFields, facts: &PipelineFacts<'_>, mapped_end: u32) -> Result<()> {
    let known = facts.stages.iter().filter_map(|s| s.interface.spill_threshold);
    let spill = known.chain(facts.spill_threshold).chain(pipeline.get(MetadataKey::SpillThreshold)).min();
    let root_dwords = facts.root_dwords;
    let limit = match spill {
        Some(_) => root_dwords.max(mapped_end),
        // PAL does not accept 0 if there is a root table.
        None => mapped_end.max(u32::from(root_dwords > 0)),
    };
    let spill = spill.unwrap_or(NO_SPILL).min(NO_SPILL);
    let limit = limit.max(pipeline.get(MetadataKey::UserDataLimit).unwrap_or(0));
    if spill != NO_SPILL && spill >= limit {
        let reads = format!("a part reads the root table in memory from dword {spill} on");
        return Err(Error::malformed(format!("{reads}, and with this layout it has {limit} dwords")));
    }
    pipeline.insert(MetadataKey::SpillThreshold, spill);
    pipeline.insert(MetadataKey::UserDataLimit, limit);
    Ok(())
}
