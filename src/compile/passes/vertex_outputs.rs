//! Outputs of a vertex shader. Where parameters are exported, positions are exported here, and parameters if the fragment shader
//! is known:
//!
//! | fragment inputs | a parameter component becomes |
//! |---|---|
//! | unknown, not a constant | a returned VGPR |
//! | unknown, the same constant at every return | bits in the interface, no register |
//! | known and read | an export to its slot in the parameter plan, unless it is a vector of built-in constants |
//! | known and not read | nothing |
//!
//! Where parameters are stored to memory, the epilog does that and then exports the positions: both are returned, but for
//! parameters that a known fragment shader does not read.
//!
//! Clip and cull distances, layer and viewport are parameters too, in case the fragment shader reads them. A channel
//! has 32 bits: f16 is passed as f32, small integers are zero-extended, 64-bit values are two channels.

use super::context::{PassContext, dword_places};
use super::entry_values::{System, component_type};
use super::outputs::{self, BySlot, Outputs, push_export, stored};
use super::vertex_positions::{self, PositionComponent, Positions};
use dovetail_abi::params::{ParamPlan, ParamVectors, Supply};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::ParameterPath;
use dovetail_base::workspace::List;
use dovetail_ir::{AluOp, Bits, Builder, ExportTarget, NumericKind, OutputSlot, Shader, Type, Value};
use dovetail_metadata::interface::{
    ComponentType, FragmentInput, FragmentReads, MAX_JOINT_VGPRS, ParamConstant, ParamSource,
    PreRasterizationInterface, Semantic, VertexParam,
};
use std::collections::BTreeMap;

/// A 32-bit channel of a parameter, with its source in the shader.
#[derive(Clone, Copy, Debug)]
struct Channel {
    semantic: Semantic,
    component: u8,
    ty: ComponentType,
    from: Source,
}

/// Source of a channel's value.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// This dword of an output.
    Slot(OutputSlot, u32),
    /// The hardware's primitive id.
    PrimitiveId,
}

/// Lowers the outputs of a vertex shader.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>, outputs: &Outputs) -> Result<()> {
    let primitive_id = cx.entry.system(System::PrimitiveId)?;
    let plan = vertex_positions::plan(outputs, cx.request.target)?;
    let reads = cx.request.known.reads.get();
    // Where primitives have parameters, no vertex has their id.
    let by_vertex = cx.request.target.facts().parameters == ParameterPath::Exports;
    let reads_primitive_id =
        by_vertex && reads.is_some_and(|r| r.inputs.iter().any(|i| i.semantic == Semantic::PrimitiveId));
    let channels = channels(outputs, reads_primitive_id)?;
    let vertex = cx.interface.kind.vertex_mut().ok_or_else(|| Error::bug("vertex outputs of another stage"))?;
    let interface = &mut vertex.pre_rasterization;
    interface.positions = plan.summary;
    match cx.request.target.facts().parameters {
        ParameterPath::Exports => {
            for (block, stores) in outputs.ends.iter() {
                let mut b = Builder::new(shader, *block);
                plan.export(&mut b, outputs, stores);
            }
        }
        ParameterPath::Ring => {
            let read: List<Channel> = match reads {
                Some(reads) => {
                    reads.constants.iter().try_for_each(|taken| check_constant(outputs, &channels, *taken))?;
                    interface.made_for = Some(reads.clone());
                    channels.iter().filter(|c| c.is_read(&reads.inputs)).copied().collect()
                }
                None => channels,
            };
            cx.interface.epilog = true;
            return give_back(shader, interface, outputs, Some(&plan), &read, primitive_id);
        }
    }
    match reads {
        Some(reads) => {
            if reads_primitive_id {
                vertex.uses_primitive_id = true;
                vertex.vgpr_comp_cnt = vertex.vgpr_comp_cnt.max(2);
            }
            interface.made_for = Some(reads.clone());
            export(shader, interface, outputs, &channels, reads, primitive_id)
        }
        None if channels.is_empty() => Ok(()),
        None => {
            cx.interface.epilog = true;
            give_back(shader, interface, outputs, None, &channels, primitive_id)
        }
    }
}

/// Returns the values that are not constant: those of the positions, if they are given, and the parameters.
fn give_back(
    shader: &mut Shader,
    interface: &mut PreRasterizationInterface,
    outputs: &Outputs,
    positions: Option<&Positions>,
    channels: &[Channel],
    primitive_id: Value,
) -> Result<()> {
    let mut count = 0;
    let mut source = |constant: Option<u32>| {
        constant.map_or_else(
            || {
                count += 1;
                ParamSource::Vgpr(count - 1)
            },
            ParamSource::Constant,
        )
    };
    let components = positions.map_or_else(Vec::new, |positions| positions.components(outputs));
    interface.params.extend(components.iter().map(|c| VertexParam {
        semantic: Semantic::Position(c.vector),
        component: c.component,
        ty: ComponentType::F32,
        source: source(c.constant),
    }));
    let mut returned = List::<Channel>::default();
    for &c in channels {
        let constant = constant(outputs, c);
        if constant.is_none() {
            returned.push(c);
        }
        interface.params.push(c.param(source(constant)));
    }
    let most = MAX_JOINT_VGPRS + components.len() as u32;
    outputs::fall_through(shader, outputs, ("vertex parameters", most), |b, stores, values| {
        if let Some(positions) = positions {
            let vectors = positions.vectors(b, outputs, stores);
            let value = |c: &PositionComponent| vectors[usize::from(c.vector)].1[usize::from(c.component)];
            values.extend(components.iter().filter(|c| c.constant.is_none()).map(value));
        }
        values.extend(returned.iter().map(|c| c.value(b, outputs, stores, primitive_id)));
    })
}

/// Exports the parameters that the fragment shader reads.
fn export(
    shader: &mut Shader,
    interface: &mut PreRasterizationInterface,
    outputs: &Outputs,
    channels: &[Channel],
    reads: &FragmentReads,
    primitive_id: Value,
) -> Result<()> {
    let inputs = &reads.inputs;
    // Constants built into the rasterizer need no export, so plan first to find the semantics that do.
    reads.constants.iter().try_for_each(|taken| check_constant(outputs, channels, *taken))?;
    let channels: Vec<&Channel> = channels.iter().filter(|c| c.is_read(inputs)).collect();
    let source = |c: &Channel| constant(outputs, *c).map_or(ParamSource::Exported, ParamSource::Constant);
    let mut params: Vec<VertexParam> = channels.iter().map(|c| c.param(source(c))).collect();
    let plan = ParamPlan::new(ParameterPath::Exports, inputs, &ParamVectors::new(&params)?)?;
    for (input, attribute) in inputs.iter().zip(&plan.attributes) {
        if matches!(attribute.supply, Supply::Slot(_)) {
            params.iter_mut().filter(|p| p.semantic == input.semantic).for_each(|p| p.source = ParamSource::Exported);
        }
    }
    let plan = ParamPlan::new(ParameterPath::Exports, inputs, &ParamVectors::new(&params)?)?;
    // Inputs with the same semantic share a slot.
    let by_slot: BTreeMap<u8, Semantic> = (inputs.iter().zip(&plan.attributes))
        .filter_map(|(input, attribute)| match attribute.supply {
            Supply::Slot(slot) => Some((slot, input.semantic)),
            _ => None,
        })
        .collect();
    for (slot, meaning) in by_slot {
        let own: Vec<&Channel> = channels.iter().copied().filter(|c| c.semantic == meaning).collect();
        let enable = own.iter().fold(0, |mask, c| mask | 1 << c.component);
        for (block, stores) in outputs.ends.iter() {
            let mut b = Builder::new(shader, *block);
            let undef = b.undef(Type::B32);
            let mut values = [undef; 4];
            for c in &own {
                values[usize::from(c.component & 3)] = c.value(&mut b, outputs, stores, primitive_id);
            }
            push_export(&mut b, ExportTarget::Param(slot), enable, values, (false, false));
        }
    }
    interface.exported_params = plan.slots;
    interface.params = params;
    Ok(())
}

/// Checks that the shader writes a constant that the fragment stage contains.
fn check_constant(outputs: &Outputs, channels: &[Channel], taken: ParamConstant) -> Result<()> {
    let ParamConstant { semantic, component, bits } = taken;
    let found = channels.iter().find(|c| (c.semantic, c.component) == (semantic, component));
    if found.and_then(|c| constant(outputs, *c)) == Some(bits) {
        return Ok(());
    }
    Err(Error::malformed(format!(
        "the fragment stage expects the constant {bits:#x} in {semantic:?}, component {component}, which the shader does not write"
    )))
}

/// The bits of a channel that has the same constant at every return.
fn constant(outputs: &Outputs, c: Channel) -> Option<u32> {
    let Source::Slot(slot, dword) = c.from else { return None };
    let (kind, ty) = outputs.slots.get(slot)?;
    // f16 is converted on its way; folding that is left to `fold`.
    if kind == NumericKind::Float && ty.bits() == Bits::B16 {
        return None;
    }
    Some((outputs.constant(slot)? >> (32 * dword)) as u32)
}

impl Channel {
    fn is_read(&self, inputs: &[FragmentInput]) -> bool {
        let has = |mask: u8| mask.checked_shr(u32::from(self.component)).unwrap_or(0) & 1 == 1;
        inputs.iter().any(|input| input.semantic == self.semantic && has(input.channels))
    }

    fn param(&self, source: ParamSource) -> VertexParam {
        VertexParam { semantic: self.semantic, component: self.component, ty: self.ty, source }
    }

    /// The 32 bits of a channel at the end of a block.
    fn value(&self, b: &mut Builder<'_>, outputs: &Outputs, stores: &BySlot<Value>, primitive_id: Value) -> Value {
        let (slot, dword) = match self.from {
            Source::Slot(slot, dword) => (slot, dword),
            Source::PrimitiveId => return primitive_id,
        };
        let (kind, ty) = outputs.slots.get(slot).unwrap_or((NumericKind::Uint, Type::B32));
        if stores.get(slot).is_none() {
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

/// Every channel that a fragment shader may read, in the order of semantics and components.
fn channels(outputs: &Outputs, primitive_id: bool) -> Result<List<Channel>> {
    let mut out = List::default();
    let mut add = |semantic, component, ty, from| out.push(Channel { semantic, component, ty, from });
    for (slot, (kind, ty)) in outputs.slots.iter() {
        let uint = ComponentType { kind: NumericKind::Uint, bits: 32 };
        match slot {
            OutputSlot::Location { location, component, .. } => {
                component_type(kind, ty)?;
                let wide = ty.bits() == Bits::B64;
                let kind = if wide { NumericKind::Uint } else { kind };
                for (dword, (location, channel)) in (0..).zip(dword_places(location, component, wide)) {
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
            OutputSlot::Position(_) | OutputSlot::PointSize | OutputSlot::ShadingRate => {}
            OutputSlot::FragDepth | OutputSlot::FragStencilRef | OutputSlot::SampleMask => {
                return Err(Error::malformed(format!("a vertex shader stores {slot:?}")));
            }
        }
    }
    if primitive_id {
        add(Semantic::PrimitiveId, 0, ComponentType { kind: NumericKind::Uint, bits: 32 }, Source::PrimitiveId);
    }
    out.sort_by_key(|channel| (channel.semantic, channel.component));
    // Of two outputs in one place the last one counts.
    out.dedup_by(|later, earlier| {
        let same = (later.semantic, later.component) == (earlier.semantic, earlier.component);
        if same {
            *earlier = *later;
        }
        same
    });
    Ok(out)
}
