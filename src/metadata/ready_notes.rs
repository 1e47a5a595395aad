//! The notes of a part whose layout and own glue are known: everything that neither the other stage nor the rest of the
//! state decides. They are one run of bytes, the part's text and its registers, so that a link that has not used them
//! for a while waits for memory once.

use super::final_registers::{ReadyRegisters, RegisterIndexes};
use super::graphics;
use super::interface::{ExportedFormats, StageInterface};
use super::part_notes::PartNotes;
use super::registers::{Field, StageRegisters};
use super::schema::MetadataKey;
use super::stage_text::Counts;
use super::user_data::MAX_ROOT_DWORDS;
use dovetail_base::error::{Error, Result};
use dovetail_base::fixed::FixedWriter;
use dovetail_base::target::HardwareStage;
use dovetail_state::ColorState;

/// Facts of a part that its layout and its own glue decide.
#[derive(Clone, Copy, Debug)]
pub struct OwnFacts<'a> {
    /// The part's interface.
    pub interface: &'a StageInterface,
    /// PAL's number for each of its user-data SGPRs; `None`: PAL writes nothing to it.
    pub user_data: &'a [Option<u32>],
    /// Registers that the glue uses.
    pub glue: Counts,
    /// The state of a fragment stage's colours, and their export formats.
    pub color: Option<(&'a ColorState, ExportedFormats)>,
}

/// Sizes and counts of a part's ready notes.
#[derive(Clone, Copy, Debug)]
pub struct ReadyNotes {
    /// Size of the notes in bytes.
    pub size: usize,
    /// Register counts of the body and its own glue.
    pub counts: Counts,
    /// Highest root dword that is in a user-data SGPR, plus 1; 0 if there is none.
    pub mapped_end: u32,
}

/// The notes of one stage of a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct StageNotes<'a> {
    part: &'a PartNotes,
    text: &'a [u8],
    registers: &'a [u8],
    /// Register counts of the stage.
    pub(super) counts: Counts,
    /// Highest root dword that is in a user-data SGPR of the stage, plus 1; 0 if there is none.
    pub(super) mapped_end: u32,
}

impl PartNotes {
    /// Size of its ready notes in bytes.
    pub fn ready_size(&self) -> usize {
        self.text.bytes().len() + self.registers.bytes().len()
    }

    /// Appends the ready notes.
    ///
    /// # Errors
    /// Malformed: impossible counts. Needs a full compile: state that changes code.
    pub fn add_ready(&self, facts: &OwnFacts<'_>, to: &mut Vec<u8>) -> Result<ReadyNotes> {
        to.extend_from_slice(self.text.bytes());
        let start = to.len();
        to.extend_from_slice(self.registers.bytes());
        let bytes = to.get_mut(start..).unwrap_or_default();
        let words = &mut ReadyRegisters::new(&self.registers, bytes);

        let (first, mut mapped_end) = (StageRegisters::of(self.stage)?.user_data, 0);
        for (n, number) in (0u32..).zip(facts.user_data).filter_map(|(n, number)| Some((n, (*number)?))) {
            words.set(first.nth(n), number);
            if number < MAX_ROOT_DWORDS {
                mapped_end = mapped_end.max(number + 1);
            }
        }
        let counts = self.counts.max(facts.glue);
        for (field, value) in granules(self.stage, facts.interface, counts)? {
            words.set_field(field, value)?;
        }
        if let (Some(fragment), Some((state, formats))) = (facts.interface.kind.fragment(), facts.color) {
            graphics::fragment_colors(words, fragment, state, formats)?;
        }
        Ok(ReadyNotes { size: self.ready_size(), counts, mapped_end })
    }

    /// The ready notes, read from the bytes that they were appended to.
    pub fn of_stage<'a>(&'a self, bytes: &'a [u8], ready: &ReadyNotes) -> StageNotes<'a> {
        let (text, registers) = bytes.split_at_checked(self.text.bytes().len()).unwrap_or_default();
        StageNotes { part: self, text, registers, counts: ready.counts, mapped_end: ready.mapped_end }
    }
}

impl<'a> StageNotes<'a> {
    /// The hardware stage.
    pub fn hardware(&self) -> HardwareStage {
        self.part.stage
    }

    /// Fields of the pipeline.
    pub(super) fn pipeline(&self) -> &'a [(MetadataKey, u32)] {
        &self.part.pipeline
    }

    pub(super) fn registers(&self) -> (&'a RegisterIndexes, &'a [u8]) {
        (self.part.registers.indexes(), self.registers)
    }

    /// Size of the text in bytes.
    pub(super) fn text_size(&self) -> usize {
        self.text.len()
    }

    /// Writes key and value in `.shaders`.
    pub(super) fn write_shader(&self, out: &mut FixedWriter<'_>) {
        self.part.text.write_shader(self.text, out);
    }

    /// Writes key and value in `.hardware_stages`.
    pub(super) fn write_hardware(&self, out: &mut FixedWriter<'_>) {
        self.part.text.write_hardware(self.text, self.counts, out);
    }
}

/// The fields of RSRC1 for these counts.
///
/// # Errors
/// Malformed: more registers than the hardware has.
pub(super) fn granules(
    hardware: HardwareStage,
    interface: &StageInterface,
    counts: Counts,
) -> Result<[(Field, u32); 2]> {
    let (registers, facts) = (StageRegisters::of(hardware)?, interface.target.facts());
    let Counts { sgprs, vgprs } = counts;
    if vgprs > facts.vgprs {
        return Err(Error::malformed(format!("{vgprs} VGPRs")));
    }
    // A value that does not fit means damaged counts, not an internal error.
    let (of_vgprs, of_sgprs) = ((vgprs - 1) / facts.vgpr_unit(interface.wave), (sgprs - 1) / facts.sgpr_unit);
    if of_sgprs > registers.sgprs.max(interface.target.family()) {
        return Err(Error::malformed(format!("{sgprs} SGPRs")));
    }
    Ok([(registers.vgprs, of_vgprs), (registers.sgprs, of_sgprs)])
}
