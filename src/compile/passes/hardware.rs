//! What a shader asks of a GPU that it lacks: the fields of its registers say it.

use super::interpolate;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Gpu;
use dovetail_ir::{BuiltIn, Op, OutputSlot, Shader};
use dovetail_metadata::registers::{Field, pa_cl_vs_out_cntl, rsrc1_ps};

/// # Errors
/// Unsupported: the GPU lacks something that the shader uses.
pub(super) fn check(shader: &Shader, gpu: Gpu) -> Result<()> {
    let has = |field: Field| field.exists(gpu.family());
    let lacks = |feature: &str, what: &str| Err(Error::unsupported(feature, format!("{gpu} has no {what}")));
    if !has(rsrc1_ps::LOAD_PROVOKING_VTX) && interpolate::reads_weights(shader) {
        return lacks("per-vertex inputs and barycentric coordinates", "provoking vertices in its fragment waves");
    }
    let rate = |op: &Op| {
        matches!(
            *op,
            Op::LoadBuiltIn { builtin: BuiltIn::ShadingRate, .. }
                | Op::StoreOutput { slot: OutputSlot::ShadingRate, .. }
        )
    };
    if !has(pa_cl_vs_out_cntl::USE_VTX_VRS_RATE) && shader.has(rate) {
        return lacks("fragment shading rates", "variable rate shading");
    }
    Ok(())
}
