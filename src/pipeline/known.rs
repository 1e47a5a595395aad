//! What is known of a pipeline when a stage of it is compiled as part of the whole: every state item, reduced to those that
//! can change this stage's code. These items are part of the stage's key, so a process that only looks a stage up has to
//! know the same.

use dovetail_base::target::Stage;
use dovetail_compile::constants_read;
use dovetail_compile::request::{KnownState, StageRequest};
use dovetail_metadata::interface::{FragmentReads, ParamConstant, StageInterface};
use dovetail_state::{Known, PipelineState, ResourceLayout};

/// The constants that a fragment part reads of a vertex part, as known to a whole-pipeline compile.
pub(super) fn taken_constants(vertex: &StageInterface, fragment: &StageInterface) -> Known<Vec<ParamConstant>> {
    let constants = constants_read(vertex, fragment);
    if constants.is_empty() { Known::Unknown } else { Known::Known(constants) }
}

/// The known state for the whole-pipeline compile of a stage. `constants` are those that the fragment shader reads of the
/// vertex shader. `before` is the interface of the part compiled last: the fragment shader comes first, and the vertex shader
/// knows what it reads.
pub(super) fn everything_known(
    state: &PipelineState,
    layout: &ResourceLayout,
    constants: Known<Vec<ParamConstant>>,
    before: Option<&StageInterface>,
) -> KnownState {
    let fragment = before.and_then(|interface| interface.kind.fragment());
    let reads = fragment.map_or_else(FragmentReads::default, |fragment| fragment.reads());
    KnownState {
        operands: Known::Known(Vec::new()),
        layout: Known::Known(layout.clone()),
        vertex: Known::Known(state.vertex.clone()),
        reads: Known::Known(reads),
        constants,
        multiview: Known::Known(state.view_mask != 0),
        // Given by the attachments.
        sample_shading: Known::Unknown,
        colors: Known::Known(state.color.clone()),
    }
}

/// Reduces the known state to what can change a stage's code, so that pipelines can share it. `operands` are the
/// stage's values of constants that are only operands, if it is known which those are.
pub(super) fn only_for(stage: Stage, known: KnownState, operands: Vec<(u32, u64)>) -> KnownState {
    let KnownState { operands: any, layout, vertex, reads, constants, multiview, sample_shading, colors } = known;
    KnownState {
        operands: if any == Known::Unknown { any } else { Known::Known(operands) },
        layout,
        vertex: if stage.fetches_attributes() { vertex } else { Known::Unknown },
        reads: if stage.feeds_the_rasterizer() { reads } else { Known::Unknown },
        constants: if stage.reads_parameters() { constants } else { Known::Unknown },
        multiview: if stage.feeds_the_rasterizer() { multiview } else { Known::Unknown },
        sample_shading: if stage.shades_pixels() { sample_shading } else { Known::Unknown },
        colors: if stage.shades_pixels() { colors } else { Known::Unknown },
    }
}

/// The request for a stage of a whole-pipeline compile, from the request for its part compiled in advance. `operands` are its
/// values of specialization constants that are only operands.
pub fn whole_request(early: &StageRequest, known: KnownState, operands: Vec<(u32, u64)>) -> StageRequest {
    StageRequest { known: only_for(early.stage, known, operands), ..early.clone() }
}
