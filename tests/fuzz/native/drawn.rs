//! Runs a draw both ways: the interpreter's known contents of bindings and attachments, and the machine code's results.

use dovetail::emu::RunOutcome;
use dovetail::emu::inputs::Inputs;
use dovetail::error::{Error, Result};
use dovetail::ir::Shader;
use dovetail::ir::interp::Options;
use dovetail::proof::{KnownContents, interpreted_draw};
use dovetail::state::VertexInputState;

/// Known contents of bindings, colours, depth and stencil.
pub fn known(
    [vertex, fragment]: [&Shader; 2],
    attributes: &VertexInputState,
    inputs: &Inputs,
    options: Options,
) -> Result<Vec<Option<KnownContents>>> {
    let drawn = interpreted_draw(vertex, Some(fragment), attributes, inputs, options)?;
    if drawn.edges > 0 {
        return Err(Error::malformed("pixels that may be covered or not"));
    }
    let attachments = drawn.targets.into_iter().chain(drawn.depth).chain(drawn.stencil);
    Ok(drawn.bindings.into_iter().chain(attachments.map(Some)).collect())
}

/// The bytes of the same, in the same order.
pub fn left(outcome: RunOutcome) -> Vec<Vec<u8>> {
    let mut out = outcome.bindings;
    if let Some(targets) = outcome.targets {
        out.extend(targets.colors.into_iter().map(|color| color.data));
        out.extend(targets.depth.map(|depth| depth.data.iter().flat_map(|z| z.to_le_bytes()).collect()));
        out.extend(targets.stencil.map(|stencil| stencil.data));
    }
    out
}
