//! What a shader asks of the hardware that some GPUs lack.

use super::interpolate;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Gpu;
use dovetail_ir::{BuiltIn, Op, OutputSlot, Shader};

/// # Errors
/// Unsupported: the GPU lacks something that the shader uses.
pub(super) fn check(shader: &Shader, gpu: Gpu) -> Result<()> {
    let has = gpu.facts();
    let lacks = |feature: &str, what: &str| Err(Error::unsupported(feature, format!("{gpu} has no {what}")));
    if !has.provoking_vertices && interpolate::reads_weights(shader) {
        return lacks("per-vertex inputs and barycentric coordinates", "provoking vertices in its fragment waves");
    }
    let rate = |op: &Op| {
        matches!(
            *op,
            Op::LoadBuiltIn { builtin: BuiltIn::ShadingRate, .. }
                | Op::StoreOutput { slot: OutputSlot::ShadingRate, .. }
        )
    };
    if !has.shading_rates && shader.has(rate) {
        return lacks("fragment shading rates", "variable rate shading");
    }
    Ok(())
}
