//! Early parts of another kind: where no relocation and no glue can do what a state asks for, and knowing that one item of it can.
//!
//! | the state | the stage | its variant |
//! |---|---|---|
//! | shades every sample | a fragment body that reads inputs in the pixel | reads them at the sample ([`crate::ir`]'s table of per-sample shading) |
//! | has a view mask | a vertex body that draws to the layer it writes, or to the first | exports its view as the layer |
//!
//! Selecting in code by a relocation would cost every pipeline: two more pairs of barycentric coordinates and a select for each,
//! a position vector that every primitive exports. A variant costs a compile, and only where a pipeline asks for it. It is an early
//! part all the same: nothing else is known, so all pipelines with that item share it.

use super::request::KnownState;
use crate::metadata::interface::{StageInterface, StageKind};
use crate::state::{Known, PipelineState};
use crate::target::Stage;

/// The state that has to be known to compile a variant of this stage that can be linked with `state`; `None` if the part at
/// hand can.
pub fn variant(state: &PipelineState, interface: &StageInterface) -> Option<KnownState> {
    let asked = match &interface.kind {
        StageKind::Vertex(vertex) => state.view_mask != 0 && !vertex.multiview,
        StageKind::Fragment(fragment) => state.color.shades_samples() && fragment.per_pixel,
        StageKind::Compute(_) => false,
    };
    if asked { variant_of(interface.stage) } else { None }
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
