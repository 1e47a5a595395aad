//! Builds the notes of the final ELF from those of its parts and the pipeline state: limits of user data, and every
//! register that PAL reads whether the shader needs it or not (pal-abi 2.8, 6).
//!
//! Invariant: RSRC1 agrees with the register counts, which cover bodies, glue and the registers that the hardware loads
//! at entry. [`super::part_notes`] computes what depends on a part alone, [`super::graphics`] what only graphics
//! pipelines have.

use super::fields::MetadataFields;
use super::final_registers::{FinalRegisters, PartRegisters};
use super::graphics;
use super::interface::{ExportedFormats, StageInterface, StageKind};
use super::part_notes::PartNotes;
use super::registers::StageRegisters;
use super::schema::MetadataKey;
use super::stage_text::Counts;
use crate::error::{Context, Error, Result};
use crate::state::PipelineState;
use crate::target::Stage;
use smallvec::SmallVec;

/// `.spill_threshold` of a pipeline without spilled user data. PAL keeps 16 bits.
pub const NO_SPILL: u32 = 0xFFFF;
/// Highest VGPR count that RSRC1.VGPRS can encode.
const MAX_VGPRS: u32 = 256;

/// What the link knows about one stage.
#[derive(Clone, Copy, Debug)]
pub struct StageFacts<'a, 'p> {
    /// Its interface.
    pub interface: &'a StageInterface,
    /// The notes that depend on its part alone.
    pub part: &'p PartNotes,
    /// The part's registers, with its user data.
    pub registers: &'p PartRegisters,
    /// End of the root dwords in its user-data SGPRs.
    pub mapped_end: u32,
    /// Registers that its glue uses.
    pub glue: Counts,
}

/// What the link knows about the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct PipelineFacts<'a, 'p> {
    /// State.
    pub state: &'a PipelineState,
    /// Dwords of its root table.
    pub root_dwords: u32,
    /// Stages in order.
    pub stages: &'a [StageFacts<'a, 'p>],
    /// `SPI_PS_INPUT_CNTL` from 0 on; at least one.
    pub controls: &'a [u32],
    /// Number of attributes of the fragment shader.
    pub attributes: u32,
    /// Highest parameter slot that the vertex shader exports, plus 1.
    pub slots: u32,
    /// Export formats of colours and depth.
    pub formats: ExportedFormats,
    /// Lowest root dword that relocations make a shader read through the spill table.
    pub spill_threshold: Option<u32>,
}

/// The notes of a final ELF.
#[derive(Clone, Debug, Default)]
pub struct FinalNotes<'a> {
    /// `.type`.
    pub kind: &'static str,
    /// `.internal_pipeline_hash`.
    pub hash: [u64; 2],
    /// Fields at pipeline level.
    pub pipeline: MetadataFields,
    /// Register words.
    pub registers: FinalRegisters<'a>,
    /// The stages' own notes, and each stage's register counts including glue.
    pub parts: SmallVec<[(&'a PartNotes, Counts); 2]>,
}

/// Fills empty notes with what the parts and the link determine. The caller sets the hash, because it covers the
/// result.
///
/// # Errors
/// Malformed: impossible user data or counts, or parts that contradict each other. Needs a full compile: state that
/// changes code.
pub fn finalize<'p>(facts: &PipelineFacts<'_, 'p>, notes: &mut FinalNotes<'p>) -> Result<()> {
    let first = facts.stages.first().ok_or_else(|| Error::bug("a pipeline without stages"))?;
    let is_compute = first.part.stage == Stage::Compute;
    notes.kind = if is_compute { "Cs" } else { "VsPs" };
    for stage in facts.stages {
        notes.pipeline.merge(&stage.part.pipeline)?;
        notes.registers.add(stage.registers)?;
    }
    let mut mapped_end = 0;
    for stage in facts.stages {
        let name = || stage.part.stage.name();
        let counts = counts(&mut notes.registers, stage).at(name)?;
        notes.parts.push((stage.part, counts));
        mapped_end = stage.mapped_end.max(mapped_end);
        match &stage.interface.kind {
            StageKind::Vertex(vertex) => graphics::vertex(&mut notes.registers, vertex, facts).at(name)?,
            StageKind::Fragment(fragment) => graphics::fragment(&mut notes.registers, fragment, facts).at(name)?,
            StageKind::Compute(_) => {}
        }
    }
    user_data_limits(&mut notes.pipeline, facts, mapped_end)
}

/// The register counts of a stage with its glue.
fn counts(words: &mut FinalRegisters<'_>, facts: &StageFacts<'_, '_>) -> Result<Counts> {
    let registers = StageRegisters::of(facts.part.stage);
    let own = facts.part.counts;
    let (sgprs, vgprs) = (own.sgprs.max(facts.glue.sgprs), own.vgprs.max(facts.glue.vgprs));
    if vgprs > MAX_VGPRS {
        return Err(Error::malformed(format!("{vgprs} VGPRs")));
    }
    // A value that does not fit means damaged counts, not an internal error.
    let (vgpr_granules, sgpr_granules) = ((vgprs - 1) / facts.interface.wave.vgpr_granule(), (sgprs - 1) / 8);
    if sgpr_granules > registers.sgprs.max() {
        return Err(Error::malformed(format!("{sgprs} SGPRs")));
    }
    words.set_fields([(registers.vgprs, vgpr_granules), (registers.sgprs, sgpr_granules)])?;
    Ok(Counts { sgprs, vgprs })
}

/// Sets the size of the root table for PAL, and the offset from which on it must be written to memory.
fn user_data_limits(pipeline: &mut MetadataFields, facts: &PipelineFacts<'_, '_>, mapped_end: u32) -> Result<()> {
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
