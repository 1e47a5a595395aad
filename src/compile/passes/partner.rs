//! Uses what is known about the other stage of a graphics pipeline. Runs first.
//!
//! | stage | known | effect |
//! |---|---|---|
//! | fragment | constants that the vertex shader writes | replace inputs, if interpolation would give the same bits |
//! | vertex | the fragment stage's reads | stores to other locations are removed |
//!
//! An input that causes sample shading ([`SampleEffect::Asks`]) stays: it decides how often the shader runs.

use super::context::{PassContext, dword_places};
use super::interpolate::{Attribute, Read, channels, read, value_of};
use dovetail_base::error::Result;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::sample_shading::{FragmentRead, SampleEffect};
use dovetail_ir::{Bits, Inst, Interp, Op, OutputSlot, Shader, Type, Value};
use dovetail_metadata::interface::{FragmentReads, ParamConstant, Semantic, StageKind};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Applies the table.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    let known = &cx.request.known;
    match &mut cx.interface.kind {
        StageKind::Vertex(_) => known.reads.get().map_or(Ok(()), |reads| drop_unread(shader, reads)),
        StageKind::Fragment(interface) => {
            let Some(constants) = known.constants.get() else { return Ok(()) };
            interface.constants = take_constants(shader, constants)?;
            Ok(())
        }
        StageKind::Compute(_) => Ok(()),
    }
}

/// Replaces reads by constants; returns the constants used.
fn take_constants(shader: &mut Shader, constants: &[ParamConstant]) -> Result<Vec<ParamConstant>> {
    let mut taken = BTreeSet::new();
    rewrite(shader, |b, inst| {
        let Some(read) = read(b.shader, inst) else { return Ok(Rewrite::Keep) };
        let Some(found) = constants_of(b.shader, inst, read, constants) else { return Ok(Rewrite::Keep) };
        taken.extend(found.iter().copied());
        let channels: SmallVec<[Value; 2]> = found.iter().map(|c| b.iconst(Type::B32, u64::from(c.bits))).collect();
        let ty = inst.result.map_or(Type::B32, |v| b.ty(v));
        Ok(Rewrite::Value(value_of(b, &channels, read.attribute.ty.kind, ty)))
    })?;
    Ok(taken.into_iter().collect())
}

/// The constant of each channel of a read; `None` unless all channels are constants that interpolation preserves.
fn constants_of(
    shader: &Shader,
    inst: &Inst,
    read: Read,
    constants: &[ParamConstant],
) -> Option<SmallVec<[ParamConstant; 2]>> {
    if FragmentRead::of(&inst.op).is_none_or(|read| read.effect() == SampleEffect::Asks) {
        return None;
    }
    let constant = |(attribute, channel): &(Attribute, u8)| {
        constants.iter().find(|c| (c.semantic, c.component) == (attribute.semantic, *channel)).copied()
    };
    let found: Option<SmallVec<[ParamConstant; 2]>> = channels(shader, inst, read).iter().map(constant).collect();
    let interpolated = matches!(read.interp, Interp::At { .. });
    found.filter(|all| !interpolated || all.iter().all(|c| survives_interpolation(c.bits)))
}

/// Whether interpolating a value that all vertices share gives the same bits: negative zero loses its sign, infinity becomes NaN, and
/// denormals may be flushed.
fn survives_interpolation(bits: u32) -> bool {
    bits == 0 || f32::from_bits(bits).is_normal()
}

/// Removes stores to locations that the fragment stage does not read.
fn drop_unread(shader: &mut Shader, reads: &FragmentReads) -> Result<()> {
    let takes = |semantic: Semantic, channel: u8| {
        let of_inputs = reads.inputs.iter().any(|i| i.semantic == semantic && i.channels >> channel & 1 == 1);
        of_inputs || reads.constants.iter().any(|c| (c.semantic, c.component) == (semantic, channel))
    };
    rewrite(shader, |b, inst| {
        let (Op::StoreOutput { slot: OutputSlot::Location { location, component, .. }, .. }, [value]) =
            (&inst.op, inst.args.as_slice())
        else {
            return Ok(Rewrite::Keep);
        };
        let wide = b.ty(*value).bits() == Bits::B64;
        let read = dword_places(*location, *component, wide).any(|(l, c)| takes(Semantic::Location(l), c & 3));
        Ok(if read { Rewrite::Keep } else { Rewrite::Remove })
    })
}
