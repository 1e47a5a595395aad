//! Values that the fixed functions of a draw read or pass on, as the interpreter knows them: from vertex buffers,
//! between stages, and to attachments.

use dovetail_base::error::Result;
use dovetail_emu::NamedFormat;
use dovetail_interp::{Invocation, Shadow, decode, encode};
use dovetail_ir::{Bits, NumericKind, Op, OutputSlot, Shader};
use std::collections::{BTreeMap, BTreeSet};

/// A value, and its error bound.
pub(super) fn number((bits, shadow): (u64, Shadow)) -> (f64, f64) {
    if shadow.is_float() { (shadow.value, shadow.bound) } else { (decode(bits, Bits::B32), 0.0) }
}

/// The components of an attribute, as bits.
pub(super) fn texel(format: &str, data: &[u8]) -> Result<[u64; 4]> {
    let channels = format.split('_').next().unwrap_or_default();
    let float = !format.ends_with("INT");
    let plain =
        |width: &str| Some(channels.matches(width).count()).filter(|_| channels.starts_with(&format!("R{width}")));
    let from = |one: u64, count: usize, values: &mut dyn Iterator<Item = u64>| {
        let mut out = [0, 0, 0, one];
        out.iter_mut().zip(values).take(count).for_each(|(to, from)| *to = from);
        out
    };
    if let Some(count) = plain("64") {
        let one = if float { 1f64.to_bits() } else { 1 };
        return Ok(from(one, count, &mut data.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b))));
    }
    if let Some(count) = plain("32") {
        let one = if float { u64::from(1f32.to_bits()) } else { 1 };
        return Ok(from(one, count, &mut data.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b).into())));
    }
    let format = NamedFormat::new(format)?;
    Ok(data.get(..format.format.bytes()).map_or([0; 4], |texel| format.decode(texel).map(u64::from)))
}

/// Widens 16-bit outputs to the 32 bits that are passed to the next stage.
pub(super) fn widen_outputs(shader: &Shader, invocations: &mut [Invocation]) {
    let mut narrow: BTreeMap<OutputSlot, NumericKind> = BTreeMap::new();
    for inst in shader.live_insts() {
        if let (Op::StoreOutput { slot, kind }, Some(&v)) = (&inst.op, inst.args.first())
            && shader.ty(v).bits() == Bits::B16
        {
            narrow.insert(*slot, *kind);
        }
    }
    for (slot, kind) in narrow {
        for (bits, _) in invocations.iter_mut().filter_map(|i| i.outputs.get_mut(&slot)) {
            *bits = match kind {
                NumericKind::Float => encode(decode(*bits, Bits::B16), Bits::B32),
                NumericKind::Sint => u64::from(*bits as u16 as i16 as u32),
                NumericKind::Uint => *bits,
            };
        }
    }
}

/// Narrows 16-bit inputs, which arrive as 32 bits: a float is rounded once more, in either direction.
pub(super) fn narrow_inputs(shader: &Shader, invocations: &mut [Invocation]) {
    let mut narrow: BTreeSet<(u32, u8)> = BTreeSet::new();
    for inst in shader.live_insts() {
        if let (Op::LoadInput { location, component, kind: NumericKind::Float, .. }, Some(v)) = (&inst.op, inst.result)
            && shader.ty(v).bits() == Bits::B16
        {
            narrow.insert((*location, *component));
        }
    }
    for at in narrow {
        let each = |i| -> Vec<&mut (u64, Shadow)> {
            let Invocation { inputs, placed, vertices, .. }: &mut Invocation = i;
            let placed = placed.iter_mut().filter(|((_, place), _)| *place == at).map(|(_, value)| value);
            inputs.get_mut(&at).into_iter().chain(placed).chain(vertices.get_mut(&at).into_iter().flatten()).collect()
        };
        for (bits, shadow) in invocations.iter_mut().flat_map(each) {
            let (value, bound) = number((*bits, *shadow));
            *bits = encode(decode(*bits, Bits::B32), Bits::B16);
            let exact = decode(*bits, Bits::B16) == value && bound == 0.0;
            let step = value.abs().max(2f64.powi(-14)) * 2f64.powi(-10);
            if !exact && !shadow.is_uncertain() {
                *shadow = Shadow { value, bound: bound + step };
            }
        }
    }
}
