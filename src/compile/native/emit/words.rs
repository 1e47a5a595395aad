//! Register words and counts of a stage, as the hardware wants them before the code runs (pal-abi 6.2): those of
//! [`EntryFacts`], with what the code needs.

use crate::mir::MachineFunction;
use dovetail_base::error::Result;
use dovetail_compile::request::TuningOptions;
use dovetail_metadata::notes::MetadataFields;
use dovetail_metadata::registers::{RegisterWords, StageRegisters};
use dovetail_metadata::schema::MetadataKey;
use dovetail_passes::entry_facts::EntryFacts;

/// Scratch memory of a lane is a multiple of this many bytes.
const SCRATCH_UNIT: u32 = 16;

/// Registers that the code uses, those that it starts with included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Highest SGPR + 1, with VCC if it is used.
    pub sgprs: u32,
    /// Highest VGPR + 1.
    pub vgprs: u32,
}

/// The counts by their metadata keys.
pub(super) fn counts(function: &MachineFunction, used: Used) -> MetadataFields {
    MetadataFields::from([
        (MetadataKey::SgprCount, used.sgprs.max(1)),
        (MetadataKey::VgprCount, used.vgprs.max(1)),
        (MetadataKey::ScratchMemorySize, function.scratch_bytes.next_multiple_of(SCRATCH_UNIT)),
    ])
}

/// The register words.
///
/// # Errors
/// A bug: a value that does not fit its field.
pub(super) fn registers(
    function: &MachineFunction,
    used: Used,
    entry: &EntryFacts,
    options: &TuningOptions,
) -> Result<RegisterWords> {
    let facts = function.isa.facts();
    let own = StageRegisters::of(function.isa.family().hardware_stage(function.stage))?;
    let mut out = entry.words(options)?;
    out.set_field(own.vgprs, used.vgprs.max(1).div_ceil(facts.vgpr_unit(function.wave)) - 1)?;
    out.set_field(own.sgprs, used.sgprs.max(1).div_ceil(facts.sgpr_unit) - 1)?;
    out.set_field(own.scratch_en, u32::from(function.scratch_bytes > 0))?;
    Ok(out)
}
