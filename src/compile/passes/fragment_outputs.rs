//! Outputs of a fragment shader.
//!
//! | colour state | colours, depth, stencil, sample mask |
//! |---|---|
//! | unknown | returned, one VGPR per component: colours by location and index, then depth, stencil, mask |
//! | known | exported as planned; see `fragment_exports`; returned if only an epilog can make the exports |
//!
//! With an unknown colour state the body always falls through, because only the epilog knows whether an export is
//! needed despite missing outputs. Small values are zero-extended in their registers; the epilog knows their types.

use super::context::PassContext;
use super::entry_values::component_type;
use super::fragment_exports;
use super::outputs::{self, Outputs, stored};
use dovetail_abi::exports::needs_epilog;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::List;
use dovetail_ir::{AluOp, Bits, Op, OutputSlot, Shader, Type};
use dovetail_metadata::interface::{ColorOutput, FragmentInterface, MAX_JOINT_VGPRS, ResultSource};
use std::collections::BTreeMap;

/// Lowers the outputs of a fragment shader.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>, outputs: &Outputs) -> Result<()> {
    let interface = cx.interface.kind.fragment_mut();
    let interface = interface.ok_or_else(|| Error::bug("fragment outputs of another stage"))?;
    interface.writes_depth = outputs.has(OutputSlot::FragDepth);
    interface.writes_stencil = outputs.has(OutputSlot::FragStencilRef);
    interface.writes_sample_mask = outputs.has(OutputSlot::SampleMask);
    interface.colors = colors(outputs)?;
    interface.kills = shader.has(|op| *op == Op::DemoteIf);
    let known = cx.request.known.colors.get();
    if let Some(state) = known.filter(|state| !needs_epilog(cx.request.target, interface, state)) {
        return fragment_exports::run(shader, interface, outputs, cx.request.target, state);
    }
    cx.interface.epilog = true;
    if let Some(info) = &mut shader.lower {
        // An early exit must export whatever the epilog may export.
        info.color_export = true;
        info.depth_export = true;
    }
    give_back(shader, interface, outputs)
}

/// Returns all outputs, and records their numbers, which the code generator replaces by their sources.
fn give_back(shader: &mut Shader, interface: &mut FragmentInterface, outputs: &Outputs) -> Result<()> {
    let mut slots = List::default();
    let mut place = |slot| {
        slots.push(slot);
        ResultSource::Vgpr(slots.len() as u32 - 1)
    };
    for color in &mut interface.colors {
        for component in (0..4).filter(|c| color.channels >> c & 1 != 0) {
            let slot = OutputSlot::Location { location: color.location, component, index: color.index };
            color.values[usize::from(component)] = Some(place(slot));
        }
    }
    interface.depth = interface.writes_depth.then(|| place(OutputSlot::FragDepth));
    interface.stencil = interface.writes_stencil.then(|| place(OutputSlot::FragStencilRef));
    interface.sample_mask = interface.writes_sample_mask.then(|| place(OutputSlot::SampleMask));

    outputs::fall_through(shader, outputs, ("fragment colours", MAX_JOINT_VGPRS), |b, stores, values| {
        for &slot in &slots {
            let ty = outputs.slots.get(slot).map_or(Type::B32, |(_, ty)| ty);
            let v = stored(b, stores, slot, ty);
            values.push(b.convert(AluOp::ZExt, v, Type::B32));
        }
    })
}

/// The colour outputs by location and index.
fn colors(outputs: &Outputs) -> Result<Vec<ColorOutput>> {
    let mut out: BTreeMap<(u32, u8), ColorOutput> = BTreeMap::new();
    for (slot, (kind, ty)) in outputs.slots.iter() {
        let (location, component, index) = match slot {
            OutputSlot::Location { location, component, index } => (location, component, index),
            OutputSlot::FragDepth | OutputSlot::FragStencilRef | OutputSlot::SampleMask => continue,
            other => return Err(Error::malformed(format!("a fragment shader stores {other:?}"))),
        };
        let ty = component_type(kind, ty)?;
        if u32::from(ty.bits) == Bits::B64.count() || component > 3 {
            return Err(Error::malformed(format!("colour {location} has a component {component} of {} bits", ty.bits)));
        }
        let new = ColorOutput { location, index, channels: 0, ty, values: [None; 4] };
        let color = out.entry((location, index)).or_insert(new);
        if color.ty != ty {
            return Err(Error::malformed(format!("colour {location} has components of two types")));
        }
        color.channels |= 1 << component;
    }
    Ok(out.into_values().collect())
}
