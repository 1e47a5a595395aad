//! Puts the sources of the results into the interface: where the generator left each one.
//!
//! The passes number the results. A code generator chooses their registers, and finds more undefined values than the passes do:
//! an index out of bounds, a branch that cannot be taken. An epilog would export old contents of such a register, so the
//! interface must not list the component.

use dovetail_base::error::{Error, Result};
use dovetail_metadata::interface::{
    FragmentInterface, ParamSource, ResultSource, StageInterface, StageKind, VertexInterface, VertexParam,
};
use dovetail_passes::backend::Results;

/// Replaces result numbers by sources, and removes undefined results.
///
/// # Errors
/// Bug: a constant parameter of a vertex shader, which the passes would have listed.
pub(super) fn place(interface: &mut StageInterface, results: &Results) -> Result<()> {
    match &mut interface.kind {
        StageKind::Vertex(VertexInterface { pre_rasterization: last, .. }) => {
            let placed = std::mem::take(&mut last.params).into_iter().map(|param| place_param(param, results));
            last.params = placed.filter_map(Result::transpose).collect::<Result<_>>()?;
        }
        StageKind::Fragment(fragment) => place_outputs(fragment, results),
        StageKind::Compute(_) => {}
    }
    Ok(())
}

fn place_param(param: VertexParam, results: &Results) -> Result<Option<VertexParam>> {
    let ParamSource::Vgpr(number) = param.source else { return Ok(Some(param)) };
    match results.source(number) {
        None => Ok(None),
        Some(ResultSource::Vgpr(register)) => Ok(Some(VertexParam { source: ParamSource::Vgpr(register), ..param })),
        Some(ResultSource::Constant(_)) => Err(Error::bug(format!("result {number} is a constant parameter"))),
    }
}

fn place_outputs(fragment: &mut FragmentInterface, results: &Results) {
    let placed = |source: ResultSource| match source {
        ResultSource::Vgpr(number) => results.source(number),
        constant @ ResultSource::Constant(_) => Some(constant),
    };
    for color in &mut fragment.colors {
        for (component, value) in color.values.iter_mut().enumerate() {
            let returned = value.is_some();
            *value = value.and_then(placed);
            if returned && value.is_none() {
                color.channels &= !(1 << component);
            }
        }
    }
    fragment.colors.retain(|color| color.channels != 0);
    for (written, value) in [
        (&mut fragment.writes_depth, &mut fragment.depth),
        (&mut fragment.writes_stencil, &mut fragment.stencil),
        (&mut fragment.writes_sample_mask, &mut fragment.sample_mask),
    ] {
        *value = value.and_then(placed);
        *written &= value.is_some();
    }
}
