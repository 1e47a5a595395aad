//! What a link knows of a pipeline besides the notes of its stages.

use super::final_registers::AttributeControls;
use super::interface::StageInterface;
use super::stage_text::Counts;
use dovetail_state::PipelineState;

/// What the link knows about one stage.
#[derive(Clone, Copy, Debug)]
pub struct StageFacts<'a> {
    /// Its interface.
    pub interface: &'a StageInterface,
    /// Registers that the glue between the stages uses.
    pub glue: Counts,
}

/// What the link knows about the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct PipelineFacts<'a> {
    /// State.
    pub state: &'a PipelineState,
    /// Dwords of its root table.
    pub root_dwords: u32,
    /// Stages in order.
    pub stages: &'a [StageFacts<'a>],
    /// `SPI_PS_INPUT_CNTL` from 0 on, of a graphics pipeline.
    pub controls: Option<&'a AttributeControls>,
    /// Highest parameter slot that the vertex shader exports, plus 1.
    pub slots: u32,
    /// Number of parameter slots of primitives, after those of vertices.
    pub primitive_slots: u32,
    /// Lowest root dword that relocations make a shader read through the spill table.
    pub spill_threshold: Option<u32>,
}
