//! Early parts of another kind: where no relocation and no glue can do what a state asks for, and knowing that one item of it can.
//!
//! | the state | the stage | its variant |
//! |---|---|---|
//! | shades every sample | a fragment body that reads inputs in the pixel | reads them at the sample (`ir`'s table of per-sample shading) |
//! | has a view mask | a vertex body that draws to the layer it writes, or to the first | exports its view as the layer |
//!
//! Selecting in code by a relocation would cost every pipeline: two more pairs of barycentric coordinates and a select for each,
//! a position vector that every primitive exports. A variant costs a compile, and only where a pipeline asks for it. It is an early
//! part all the same: nothing else is known, so all pipelines with that item share it.
//!
//! Two stages can also be compiled for each other, with every state item unknown: [`for_vertex`] gives a fragment part that
//! contains the vertex shader's constants, and [`for_fragment`] a vertex part that computes and exports only what that
//! fragment part reads. They are optional; the link refuses each with another partner.

use super::request::KnownState;
use dovetail_base::target::Stage;
use dovetail_metadata::interface::{ParamConstant, StageInterface, StageKind};
use dovetail_state::{Known, PipelineState};

/// The state that has to be known to compile a variant of this stage that can be linked with `state`; `None` if the part at
/// hand can.
pub fn variant(state: &PipelineState, interface: &StageInterface) -> Option<KnownState> {
    if needs_variant(state, interface) { variant_of(interface.stage) } else { None }
}

/// Whether a link with `state` needs a variant of this stage.
pub fn needs_variant(state: &PipelineState, interface: &StageInterface) -> bool {
    match &interface.kind {
        StageKind::Vertex(vertex) => state.view_mask != 0 && !vertex.pre_rasterization.multiview,
        StageKind::Fragment(fragment) => state.color.shades_samples() && fragment.per_pixel,
        StageKind::Compute(_) => false,
    }
}

/// The state that is known in the one variant of a stage.
pub fn variant_of(stage: Stage) -> Option<KnownState> {
    let nothing = KnownState::default();
    match stage {
        Stage::Vertex => Some(KnownState { multiview: Known::Known(true), ..nothing }),
        Stage::Fragment => Some(KnownState { sample_shading: Known::Known(true), ..nothing }),
        Stage::Compute => None,
    }
}

/// The known state for a fragment part that is compiled for a vertex stage; `None` if the fragment stage reads no constants.
pub fn for_vertex(vertex: &StageInterface, fragment: &StageInterface) -> Option<KnownState> {
    let constants = constants_read(vertex, fragment);
    (!constants.is_empty()).then(|| KnownState { constants: Known::Known(constants), ..KnownState::default() })
}

/// The constants of a vertex part that a fragment part reads, sorted.
pub fn constants_read(vertex: &StageInterface, fragment: &StageInterface) -> Vec<ParamConstant> {
    let (Some(last), Some(fragment)) = (vertex.kind.pre_rasterization(), fragment.kind.fragment()) else {
        return Vec::new();
    };
    let reads = |c: &ParamConstant| {
        fragment
            .inputs
            .iter()
            .any(|i| i.semantic == c.semantic && i.channels & 1_u8.wrapping_shl(c.component.into()) != 0)
    };
    let mut constants: Vec<ParamConstant> = last.constants().filter(reads).collect();
    constants.sort_unstable();
    constants
}

/// The known state for a vertex part that is compiled for a fragment stage; `None` if it is another stage.
pub fn for_fragment(fragment: &StageInterface) -> Option<KnownState> {
    let reads = fragment.kind.fragment()?.reads();
    Some(KnownState { reads: Known::Known(reads), ..KnownState::default() })
}
