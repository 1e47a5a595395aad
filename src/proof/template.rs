//! Derives a pipeline state that fits the given shaders: bindings, push constants, attributes and attachments from
//! their declarations.
//!
//! What shaders do not declare gets the simplest value: 32-bit attributes, one buffer per attribute, RGBA8 colours.
//! [`BindingKind::of_uses`] covers variables that share a binding, in one shader or in several.

use dovetail_base::error::Result;
use dovetail_base::error::printable;
use dovetail_base::target::Stage;
use dovetail_ir::{BuiltIn, InstId, NumericKind, Op, OutputSlot, Shader};
use dovetail_state::{
    BindingKind, BindingLayout, ColorAttachment, PipelineState, PrimitiveKind, SetLayout, VertexAttribute,
    VertexBinding, VertexRate, VkFormat,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Array length assumed for a run-time array of descriptors.
pub const RUNTIME_ARRAY: u32 = 64;

/// Derives a state for a pipeline of these upper-level shaders.
///
/// # Errors
/// None for any shader.
pub fn state(shaders: &[Shader]) -> Result<PipelineState> {
    let mut state = PipelineState::default();
    let mut bindings = BTreeMap::new();
    for shader in shaders {
        add_resources(&mut bindings, shader);
        // Shaders with 16-bit or 8-bit members may end within a dword; ranges do not.
        let bytes = shader.push_constant_bytes.saturating_add(3) & !3;
        state.layout.push_constant_bytes = state.layout.push_constant_bytes.max(bytes);
        match shader.stage {
            Stage::Vertex => add_attributes(&mut state, shader)?,
            Stage::Fragment => add_attachments(&mut state, shader)?,
            Stage::Compute => {}
        }
    }
    for ((set, _), binding) in bindings {
        let sets = &mut state.layout.sets;
        match sets.last_mut().filter(|last| last.set == set) {
            Some(last) => last.bindings.push(binding),
            None => sets.push(SetLayout { set, bindings: vec![binding], ..Default::default() }),
        }
    }
    Ok(state)
}

/// A specialization constant in the text of a state file.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Stage that declares it.
    pub stage: Stage,
    /// `SpecId`.
    pub id: u32,
    /// Debug name, empty if none.
    pub name: String,
    /// Width in bits; 1 is a boolean.
    pub bits: u32,
    /// Value of its declaration.
    pub default: u64,
    /// Whether it is only an operand, which the link fills in.
    pub is_operand: bool,
}

/// The text of the state file. Specialization constants are listed in comments: the parts compiled in advance have the
/// values of their declarations.
///
/// # Errors
/// Bug: the state cannot be serialized.
pub fn toml(state: &PipelineState, constants: &[Constant]) -> Result<String> {
    let mut text =
        toml::to_string_pretty(state).map_err(|e| dovetail_base::error::Error::bug(format!("state as TOML: {e}")))?;
    if !text.contains("\nprimitive = ") {
        // The default, which is not serialized; for people it is a choice to make.
        text = text.replacen("[raster]\n", "[raster]\nprimitive = \"triangles\"\n", 1);
    }
    if !constants.is_empty() {
        // Or an entry would define it twice.
        text = text.replacen("specialization = []\n", "", 1);
        text += "\n# Specialization constants, with the values of their declarations. To give another, remove the #.\n";
    }
    for Constant { stage, id, name, bits, default, is_operand } in constants {
        let name = if name.is_empty() { String::new() } else { format!("`{}`, ", printable(name)) };
        let effect =
            if *is_operand { "filled in by the link" } else { "shapes the code: each value needs its own part" };
        text += &format!(
            "# [[specialization]]        # {name}{bits} bits, {effect}\n# stage = \"{stage}\"\n# id = {id}\n# value = {default}\n"
        );
    }
    Ok(text)
}

/// Bindings by set and binding.
type Bindings = BTreeMap<(u32, u32), BindingLayout>;

fn add_resources(bindings: &mut Bindings, shader: &Shader) {
    for r in &shader.resources {
        let count = r.count.unwrap_or(RUNTIME_ARRAY);
        match bindings.entry((r.set, r.binding)) {
            // Vulkan requires at least as many descriptors as the longest array has elements.
            Entry::Occupied(mut there) => {
                let b = there.get_mut();
                b.kind = BindingKind::of_uses(b.kind.kinds().chain([r.kind]));
                b.count = b.count.max(count);
            }
            Entry::Vacant(free) => {
                free.insert(BindingLayout {
                    binding: r.binding,
                    kind: r.kind.into(),
                    count,
                    dynamic: false,
                    offset: None,
                    samplers: Vec::new(),
                });
            }
        }
    }
}

/// Instructions that are in a block.
fn placed(shader: &Shader) -> impl Iterator<Item = InstId> + '_ {
    shader.blocks.iter().flat_map(|b| b.insts.iter().copied())
}

fn add_attributes(state: &mut PipelineState, shader: &Shader) -> Result<()> {
    // Location to (components, bits, kind); a location is one attribute, whatever components are read.
    let mut locations: BTreeMap<u32, (u8, u32, NumericKind)> = BTreeMap::new();
    for id in placed(shader) {
        let inst = shader.inst(id);
        if let (&Op::LoadInput { location, component, kind, .. }, Some(v)) = (&inst.op, inst.result) {
            let bits = shader.ty(v).bits().count().max(32);
            let entry = locations.entry(location).or_insert((0, bits, kind));
            entry.0 = entry.0.max(component + 1);
        }
    }
    for (location, (components, bits, kind)) in locations {
        let suffix = match kind {
            NumericKind::Float => "SFLOAT",
            NumericKind::Sint => "SINT",
            NumericKind::Uint => "UINT",
        };
        let format: String = "RGBA"
            .chars()
            .take(components.min(4).into())
            .map(|c| format!("{c}{bits}"))
            .chain([format!("_{suffix}")])
            .collect();
        let format = VkFormat::named(&format)?;
        let binding = state.vertex.bindings.len() as u32;
        let stride = u32::from(components) * bits / 8;
        state.vertex.bindings.push(VertexBinding { binding, stride, rate: VertexRate::Vertex, divisor: 1 });
        state.vertex.attributes.push(VertexAttribute { location, binding, format, offset: 0 });
    }
    Ok(())
}

fn add_attachments(state: &mut PipelineState, shader: &Shader) -> Result<()> {
    let mut locations: BTreeMap<u32, NumericKind> = BTreeMap::new();
    for id in placed(shader) {
        match shader.inst(id).op {
            Op::StoreOutput { slot: OutputSlot::Location { location, index, .. }, kind } => {
                locations.insert(location, kind);
                state.color.dual_source |= index == 1;
            }
            Op::LoadBuiltIn { builtin: BuiltIn::PointCoord, .. } => state.raster.primitive = PrimitiveKind::Points,
            _ => {}
        }
    }
    for (location, kind) in locations {
        let format = match kind {
            NumericKind::Float => "R8G8B8A8_UNORM",
            NumericKind::Sint => "R32G32B32A32_SINT",
            NumericKind::Uint => "R32G32B32A32_UINT",
        };
        let format = VkFormat::named(format)?;
        state.color.attachments.push(ColorAttachment {
            location,
            format,
            write_mask: 15,
            blend: false,
            blend_source_alpha: false,
        });
    }
    Ok(())
}
