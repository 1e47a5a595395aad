//! Removes from the interface the results that the code never writes.
//!
//! A code generator finds more undefined values than the passes do: an index out of bounds, a branch that cannot be
//! taken. It then leaves the value's register as it was, and an epilog would export the old contents. So the interface
//! must not name such a component.

use crate::isa::{Register, RegisterSet};
use crate::metadata::interface::{FragmentInterface, ParamSource, StageInterface, StageKind};

/// Removes from the interface the results that are returned in VGPRs outside `written`.
pub(super) fn drop_unwritten(interface: &mut StageInterface, written: &RegisterSet) {
    let is_written = |n: u32| u8::try_from(n).is_ok_and(|n| written.contains(Register::vgpr(n)));
    match &mut interface.kind {
        StageKind::Vertex(vertex) => {
            vertex.params.retain(|param| !matches!(param.source, ParamSource::Vgpr(n) if !is_written(n)));
        }
        StageKind::Fragment(fragment) => drop_outputs(fragment, is_written),
        StageKind::Compute(_) => {}
    }
}

fn drop_outputs(fragment: &mut FragmentInterface, is_written: impl Fn(u32) -> bool) {
    for color in &mut fragment.colors {
        for (component, vgpr) in color.vgprs.iter_mut().enumerate() {
            if vgpr.take_if(|n| !is_written(*n)).is_some() {
                color.channels &= !(1 << component);
            }
        }
    }
    fragment.colors.retain(|color| color.channels != 0);
    for (written, vgpr) in [
        (&mut fragment.writes_depth, &mut fragment.depth),
        (&mut fragment.writes_stencil, &mut fragment.stencil),
        (&mut fragment.writes_sample_mask, &mut fragment.sample_mask),
    ] {
        *written &= vgpr.take_if(|n| !is_written(*n)).is_none();
    }
}
