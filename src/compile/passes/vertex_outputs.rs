//! Outputs of a vertex shader: positions are exported here always, parameters only if the fragment shader is known.
//!
//! | fragment inputs | a parameter component becomes |
//! |---|---|
//! | unknown, not a constant | a returned VGPR |
//! | unknown, the same constant at every end | bits in the interface, no register |
//! | known and read | an export to the slot that is the input's place in the list |
//! | known and not read | nothing |
//!
//! Position vectors, in order: position; if used, point size, layer and viewport; clip and then cull distances, four a
//! vector. The last carries `done`. A shader without a position exports (0, 0, 0, 1), since the hardware waits for one.
//! Clip and cull distances, layer and viewport are parameters too, in case the fragment shader reads them.
//! Half floats cross as floats and small integers zero-extended, 64 bits as two channels: a channel is 32 bits.

use super::entry::{System, component_type};
use super::lower_outputs::{self, Outputs, stored};
use super::pipeline::Lowering;
use crate::error::{Error, Result};
use crate::ir::{AluOp, Bits, Builder, ExportTarget, NumericKind, Op, OutputSlot, Shader, Type, Value};
use crate::metadata::interface::{
    ComponentType, FragmentInput, ParamSource, PositionExports, Semantic, StageKind, VertexInterface, VertexParam,
};
use std::collections::BTreeMap;

/// Clip and cull distances that the hardware takes together.
const MAX_DISTANCES: usize = 8;

/// A 32-bit channel of a parameter, and where in the shader it comes from.
#[derive(Clone, Copy, Debug)]
struct Channel {
    semantic: Semantic,
    component: u8,
    ty: ComponentType,
    from: Source,
}

/// Where a channel's value comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// This dword of an output.
    Slot(OutputSlot, u32),
    /// The hardware's primitive id.
    PrimitiveId,
}

/// Lowers the outputs of a vertex shader.
pub(super) fn run(shader: &mut Shader, cx: &mut Lowering<'_>, outputs: &Outputs) -> Result<()> {
    let primitive_id = cx.entry.system(System::PrimitiveId)?;
    let plan = positions(outputs)?;
    let mut channels = channels(outputs)?;
    let StageKind::Vertex(interface) = &mut cx.interface.kind else {
        return Err(Error::bug("vertex outputs of another stage"));
    };
    interface.positions = plan.summary;
    for (block, stores) in &outputs.ends {
        let mut b = Builder::new(shader, *block);
        plan.export(&mut b, outputs, stores);
    }
    match cx.request.known.params.get() {
        Some(inputs) => {
            if inputs.iter().any(|i| i.semantic == Semantic::PrimitiveId) {
                interface.uses_primitive_id = true;
                interface.vgpr_comp_cnt = interface.vgpr_comp_cnt.max(2);
                let ty = ComponentType { kind: NumericKind::Uint, bits: 32 };
                let semantic = Semantic::PrimitiveId;
                channels.insert((semantic, 0), Channel { semantic, component: 0, ty, from: Source::PrimitiveId });
            }
            let channels: Vec<Channel> = channels.into_values().collect();
            export(shader, interface, outputs, &channels, inputs, primitive_id)
        }
        None if channels.is_empty() => Ok(()),
        None => {
            let channels: Vec<Channel> = channels.into_values().collect();
            cx.interface.epilog = true;
            give_back(shader, interface, outputs, &channels, primitive_id)
        }
    }
}

/// Returns what is not constant.
fn give_back(
    shader: &mut Shader,
    interface: &mut VertexInterface,
    outputs: &Outputs,
    channels: &[Channel],
    primitive_id: Value,
) -> Result<()> {
    let mut returned = Vec::new();
    for &c in channels {
        let source = match constant(shader, outputs, c) {
            Some(bits) => ParamSource::Constant(bits),
            None => {
                returned.push(c);
                ParamSource::Vgpr(returned.len() as u32 - 1)
            }
        };
        interface.params.push(c.param(source));
    }
    let mut ends = Vec::new();
    for (block, stores) in &outputs.ends {
        let mut b = Builder::new(shader, *block);
        let values = returned.iter().map(|c| c.value(&mut b, outputs, stores, primitive_id)).collect();
        ends.push((*block, values));
    }
    lower_outputs::fall_through(shader, ends, "vertex parameters")
}

/// Exports what the fragment shader reads.
fn export(
    shader: &mut Shader,
    interface: &mut VertexInterface,
    outputs: &Outputs,
    channels: &[Channel],
    inputs: &[FragmentInput],
    primitive_id: Value,
) -> Result<()> {
    for (slot, input) in inputs.iter().enumerate() {
        let slot = u8::try_from(slot).ok().filter(|&s| s < 32);
        let slot = slot.ok_or_else(|| Error::malformed("more than 32 known fragment inputs"))?;
        let read = |c: &&Channel| c.semantic == input.semantic && input.channels >> c.component & 1 != 0;
        let written: Vec<&Channel> = channels.iter().filter(read).collect();
        if written.is_empty() {
            continue;
        }
        let enable = written.iter().fold(0, |mask, c| mask | 1 << c.component);
        for (block, stores) in &outputs.ends {
            let mut b = Builder::new(shader, *block);
            let undef = b.undef(Type::B32);
            let mut values = [undef; 4];
            for c in &written {
                values[usize::from(c.component & 3)] = c.value(&mut b, outputs, stores, primitive_id);
            }
            push_export(&mut b, ExportTarget::Param(slot), enable, values, false);
        }
        interface.exported_params = u32::from(slot) + 1;
        interface.params.extend(written.iter().map(|c| c.param(ParamSource::Exported)));
    }
    Ok(())
}

fn push_export(b: &mut Builder<'_>, target: ExportTarget, enable: u8, values: [Value; 4], done: bool) {
    b.effect(Op::Export { target, enable, compressed: false, done, valid_mask: false }, &values);
}

/// The bits of a channel that is the same constant at every end.
fn constant(shader: &Shader, outputs: &Outputs, c: Channel) -> Option<u32> {
    let Source::Slot(slot, dword) = c.from else { return None };
    let &(kind, ty) = outputs.slots.get(&slot)?;
    // A half is converted on its way; that is the folder's work, not ours.
    if kind == NumericKind::Float && ty.bits() == Bits::B16 {
        return None;
    }
    Some((outputs.constant(shader, slot)? >> (32 * dword)) as u32)
}

impl Channel {
    fn param(&self, source: ParamSource) -> VertexParam {
        VertexParam { semantic: self.semantic, component: self.component, ty: self.ty, source }
    }

    /// The 32 bits of this channel at the end of a block.
    fn value(
        &self,
        b: &mut Builder<'_>,
        outputs: &Outputs,
        stores: &BTreeMap<OutputSlot, Value>,
        primitive_id: Value,
    ) -> Value {
        let (slot, dword) = match self.from {
            Source::Slot(slot, dword) => (slot, dword),
            Source::PrimitiveId => return primitive_id,
        };
        let (kind, ty) = outputs.slots.get(&slot).copied().unwrap_or((NumericKind::Uint, Type::B32));
        if !stores.contains_key(&slot) {
            return b.undef(Type::B32);
        }
        let v = stored(b, stores, slot, ty);
        match (kind, ty.bits()) {
            (_, Bits::B64) => {
                let pair = b.bitcast(v, super::address::PAIR);
                b.extract(pair, dword)
            }
            (NumericKind::Float, Bits::B16) => b.convert(AluOp::FConv, v, Type::B32),
            _ => b.convert(AluOp::ZExt, v, Type::B32),
        }
    }
}

/// Every channel that a fragment shader may read, by semantic and component.
fn channels(outputs: &Outputs) -> Result<BTreeMap<(Semantic, u8), Channel>> {
    let mut out = BTreeMap::new();
    let mut add = |semantic, component, ty, from| {
        out.insert((semantic, component), Channel { semantic, component, ty, from });
    };
    for (&slot, &(kind, ty)) in &outputs.slots {
        let uint = ComponentType { kind: NumericKind::Uint, bits: 32 };
        match slot {
            OutputSlot::Location { location, component, .. } => {
                component_type(kind, ty)?;
                let wide = ty.bits() == Bits::B64;
                let kind = if wide { NumericKind::Uint } else { kind };
                for (dword, (location, channel)) in (0..).zip(super::pipeline::dword_places(location, component, wide))
                {
                    let ty = ComponentType { kind, bits: 32 };
                    add(Semantic::Location(location), channel, ty, Source::Slot(slot, dword));
                }
            }
            OutputSlot::ClipDistance(n) => {
                add(Semantic::ClipDistance(n / 4), n % 4, ComponentType::F32, Source::Slot(slot, 0));
            }
            OutputSlot::CullDistance(n) => {
                add(Semantic::CullDistance(n / 4), n % 4, ComponentType::F32, Source::Slot(slot, 0));
            }
            OutputSlot::Layer => add(Semantic::Layer, 0, uint, Source::Slot(slot, 0)),
            OutputSlot::ViewportIndex => add(Semantic::ViewportIndex, 0, uint, Source::Slot(slot, 0)),
            OutputSlot::Position(_) | OutputSlot::PointSize => {}
            OutputSlot::FragDepth | OutputSlot::FragStencilRef | OutputSlot::SampleMask => {
                return Err(Error::malformed(format!("a vertex shader stores {slot:?}")));
            }
        }
    }
    Ok(out)
}

/// The position vectors of a shader: four slots each.
struct Positions {
    summary: PositionExports,
    misc: bool,
    distances: Vec<OutputSlot>,
}

fn positions(outputs: &Outputs) -> Result<Positions> {
    let count = |slot: fn(u8) -> OutputSlot| (0..8).rev().find(|&n| outputs.has(slot(n))).map_or(0, |n| n + 1);
    let (clip, cull) = (count(OutputSlot::ClipDistance), count(OutputSlot::CullDistance));
    let clips = (0..clip).map(OutputSlot::ClipDistance);
    let distances: Vec<OutputSlot> = clips.chain((0..cull).map(OutputSlot::CullDistance)).collect();
    if distances.len() > MAX_DISTANCES {
        let detail = format!("{clip} clip and {cull} cull distances, the hardware has {MAX_DISTANCES}");
        return Err(Error::unsupported("clip and cull distances", detail));
    }
    let mut summary = PositionExports {
        count: 0,
        point_size: outputs.has(OutputSlot::PointSize),
        layer: outputs.has(OutputSlot::Layer),
        viewport_index: outputs.has(OutputSlot::ViewportIndex),
        clip_distances: clip,
        cull_distances: cull,
    };
    let misc = summary.point_size || summary.layer || summary.viewport_index;
    summary.count = 1 + u32::from(misc) + distances.len().div_ceil(4) as u32;
    Ok(Positions { summary, misc, distances })
}

impl Positions {
    fn export(&self, b: &mut Builder<'_>, outputs: &Outputs, stores: &BTreeMap<OutputSlot, Value>) {
        let mut vectors = vec![(0xf, self.position(b, outputs, stores))];
        if self.misc {
            vectors.push(self.misc(b, stores));
        }
        for four in self.distances.chunks(4) {
            let undef = b.undef(Type::B32);
            let mut values = [undef; 4];
            for (v, &slot) in values.iter_mut().zip(four) {
                *v = stored(b, stores, slot, Type::B32);
            }
            // An unused lane may hold anything: only enabled distances count. A vector is exported whole or not.
            vectors.push((0xf, values));
        }
        let last = vectors.len() - 1;
        for (n, (enable, values)) in vectors.into_iter().enumerate() {
            push_export(b, ExportTarget::Pos(n as u8), enable, values, n == last);
        }
    }

    fn position(&self, b: &mut Builder<'_>, outputs: &Outputs, stores: &BTreeMap<OutputSlot, Value>) -> [Value; 4] {
        if !(0..4).any(|n| outputs.has(OutputSlot::Position(n))) {
            let (zero, one) = (b.c32(0), b.fconst(Type::B32, 1.0));
            return [zero, zero, zero, one];
        }
        [0, 1, 2, 3].map(|n| stored(b, stores, OutputSlot::Position(n), Type::B32))
    }

    /// x point size, z layer in the low and viewport in the high half.
    fn misc(&self, b: &mut Builder<'_>, stores: &BTreeMap<OutputSlot, Value>) -> (u8, [Value; 4]) {
        let undef = b.undef(Type::B32);
        let mut values = [undef; 4];
        let mut enable = 0;
        if self.summary.point_size {
            values[0] = stored(b, stores, OutputSlot::PointSize, Type::B32);
            enable |= 1;
        }
        if self.summary.layer {
            values[2] = stored(b, stores, OutputSlot::Layer, Type::B32);
            enable |= 4;
        }
        if self.summary.viewport_index {
            let viewport = stored(b, stores, OutputSlot::ViewportIndex, Type::B32);
            let sixteen = b.c32(16);
            let high = b.alu(AluOp::Shl, &[viewport, sixteen]);
            values[2] = if self.summary.layer { b.alu(AluOp::IOr, &[values[2], high]) } else { high };
            enable |= 4;
        }
        (enable, values)
    }
}
