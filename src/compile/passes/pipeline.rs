//! Lowering: upper-level IR of one entry point to lower-level IR and the stage's pre-link metadata.
//!
//! [`PASSES`] is the table of contents. What is known of the pipeline becomes a constant, what is unknown a relocation,
//! an entry argument or a returned value; each pass opens with its table of which. To add a pass: a file, a line here.

use super::{
    dce, entry, fold, legalize_memory, lower_builtins, lower_derivatives, lower_descriptors, lower_images,
    lower_inputs, lower_outputs, lower_push_constants, lower_subgroup, multiview, sample_shading, summarize,
};
use crate::abi::layout::{DescriptorPlace, PushPlace, ResolvedLayout};
use crate::error::{Context, Error, Result};
use crate::ir::verify::{verify, verify_between};
use crate::ir::{Level, Resource, ResourceId, Shader};
use crate::metadata::interface::{
    ComputeInterface, FragmentInterface, StageInterface, StageKind, UserData, VertexInterface,
};
use crate::target::{Stage, WaveSize};

use crate::compile::request::StageRequest;
use crate::compile::watch::{Made, Unwatched, Watch};

/// A shader that a code generator can take, and what the linker must know of it. [`lower`] alone makes it, and only of a
/// shader that keeps every rule of the lower level.
#[derive(Clone, Debug)]
pub struct Lowered {
    shader: Shader,
    interface: StageInterface,
}

impl Lowered {
    /// Lower-level IR.
    pub fn shader(&self) -> &Shader {
        &self.shader
    }

    /// Pre-link metadata.
    pub fn interface(&self) -> &StageInterface {
        &self.interface
    }
}

/// A pass.
#[derive(Clone, Copy)]
pub enum Pass {
    /// Looks at the shader alone.
    Plain(fn(&mut Shader, WaveSize) -> Result<()>),
    /// Asks what is known, and notes what the linker must know.
    Known(fn(&mut Shader, &mut Lowering<'_>) -> Result<()>),
}

impl Pass {
    /// Runs it, after those that stand before it in [`PASSES`] as far as it needs them.
    ///
    /// # Errors
    /// See [`lower`].
    pub fn run(self, shader: &mut Shader, cx: &mut Lowering<'_>) -> Result<()> {
        match self {
            Self::Plain(run) => run(shader, cx.request.wave),
            Self::Known(run) => run(shader, cx),
        }
    }
}

/// Every pass, in order.
pub const PASSES: &[(&str, Pass)] = &[
    ("fold", Pass::Plain(fold::run)),
    ("dce", Pass::Plain(dce::run)),
    ("lower_images", Pass::Plain(lower_images::run)),
    ("lower_subgroup", Pass::Plain(lower_subgroup::run)),
    ("multiview", Pass::Known(multiview::run)),
    ("sample_shading", Pass::Known(sample_shading::run)),
    ("entry", Pass::Known(entry::run)),
    ("lower_descriptors", Pass::Known(lower_descriptors::run)),
    ("lower_push_constants", Pass::Known(lower_push_constants::run)),
    ("lower_builtins", Pass::Known(lower_builtins::run)),
    ("lower_inputs", Pass::Known(lower_inputs::run)),
    ("lower_derivatives", Pass::Plain(lower_derivatives::run)),
    ("lower_outputs", Pass::Known(lower_outputs::run)),
    ("legalize_memory", Pass::Plain(legalize_memory::run)),
    ("fold_lower", Pass::Plain(fold::run)),
    ("dce_lower", Pass::Plain(dce::run)),
    ("summarize", Pass::Known(summarize::run)),
];

/// What the passes hand on to each other.
pub struct Lowering<'r> {
    pub(super) request: &'r StageRequest,
    /// The resource layout, if known.
    pub(super) layout: Option<ResolvedLayout>,
    /// The entry registers, from the entry pass on.
    pub(super) entry: entry::Entry,
    /// Grows with every pass.
    pub(super) interface: StageInterface,
}

/// Lowers one entry point.
///
/// # Errors
/// Unsupported built-ins and interfaces by name, `NeedsFullCompile` where a joint cannot carry the values, malformed
/// known state, bugs that the verifier finds.
pub fn lower(shader: Shader, request: &StageRequest) -> Result<Lowered> {
    lower_watched(shader, request, &mut Unwatched)
}

/// As [`lower`], with someone who looks at the shader after each pass.
///
/// # Errors
/// See [`lower`]; the watcher's own.
pub fn lower_watched(mut shader: Shader, request: &StageRequest, watch: &mut dyn Watch) -> Result<Lowered> {
    if shader.level != Level::Upper || shader.stage != request.stage {
        return Err(Error::bug(format!("{} is not an upper-level {} shader", shader.name, request.stage)));
    }
    let mut cx = Lowering::new(request).at(|| "known resource layout")?;
    // The link asks this of all that is declared, read or not, and could only ask for the same compile again.
    if let Some(layout) = &cx.layout {
        shader.resources.iter().try_for_each(|r| place_of(layout, r).map(|_| ()))?;
    }
    if cfg!(debug_assertions) {
        verify(&shader).at(|| "before lowering")?;
    }
    for (name, pass) in PASSES {
        pass.run(&mut shader, &mut cx).at(|| *name)?;
        watch.done(name, Made::Shader(&shader))?;
        if cfg!(debug_assertions) {
            verify_between(&shader).at(|| format!("after {name}"))?;
        }
    }
    verify(&shader).at(|| "after lowering")?;
    watch.done("lower", Made::Shader(&shader))?;
    Ok(Lowered { shader, interface: cx.interface })
}

impl<'r> Lowering<'r> {
    /// Nothing done yet.
    ///
    /// # Errors
    /// Malformed known state.
    pub fn new(request: &'r StageRequest) -> Result<Self> {
        let kind = match request.stage {
            Stage::Vertex => StageKind::Vertex(VertexInterface::default()),
            Stage::Fragment => StageKind::Fragment(FragmentInterface::default()),
            Stage::Compute => StageKind::Compute(ComputeInterface::default()),
        };
        Ok(Self {
            request,
            layout: request.known.layout.get().map(ResolvedLayout::new).transpose()?,
            entry: entry::Entry::default(),
            interface: StageInterface {
                target: request.target,
                stage: request.stage,
                wave: request.wave,
                entry_point: request.entry_point.clone(),
                prolog: false,
                epilog: false,
                user_data: Vec::new(),
                entry_sgprs: 0,
                resources: Vec::new(),
                push_constant_bytes: 0,
                spill_threshold: None,
                specialization: Vec::new(),
                writes_memory: false,
                kind,
            },
        })
    }

    /// What the passes have noted so far.
    pub fn interface(&self) -> &StageInterface {
        &self.interface
    }

    /// User data as the linker has to map them: with a known layout by their place in the root table.
    pub(super) fn placed(&self, which: UserData) -> Result<UserData> {
        let Some(layout) = &self.layout else { return Ok(which) };
        Ok(match which {
            UserData::DescriptorSet(set) => UserData::Root(set_pointer(layout, set)?),
            UserData::PushConstant(dword) => {
                let place = push_place(layout)?;
                if dword >= place.dwords {
                    let has = format!("{} dwords of push constants", place.dwords);
                    return Err(Error::malformed(format!(
                        "the known layout has {has}, the shader reads dword {dword}"
                    )));
                }
                UserData::Root(place.root + dword)
            }
            other => other,
        })
    }

    /// Notes that the root table is read from this dword on through the spill table. Only with a known layout: else the
    /// relocations tell the linker.
    pub(super) fn spilled_from(&mut self, root_dword: u32) {
        let at = &mut self.interface.spill_threshold;
        *at = Some(at.map_or(root_dword, |t| t.min(root_dword)));
    }
}

pub(super) fn resource(shader: &Shader, id: ResourceId) -> Result<&Resource> {
    shader.resources.get(id.index()).ok_or_else(|| Error::bug(format!("{id} is not in the shader's list of resources")))
}

/// Root dword of a set's pointer in a known layout.
pub(super) fn set_pointer(layout: &ResolvedLayout, set: u32) -> Result<u32> {
    layout.set_pointer(set).ok_or_else(|| Error::malformed(format!("the known layout has no set {set}")))
}

/// Place of the push constants in a known layout.
pub(super) fn push_place(layout: &ResolvedLayout) -> Result<PushPlace> {
    let place = layout.push_constants();
    place.ok_or_else(|| Error::malformed("the known layout has no push constants, the shader reads some"))
}

/// Where a binding stands in a known layout that has such a descriptor there.
pub(super) fn place_of<'l>(layout: &'l ResolvedLayout, r: &Resource) -> Result<&'l DescriptorPlace> {
    let at = || format!("set {} binding {}", r.set, r.binding);
    let place = layout.binding(r.set, r.binding).ok_or_else(|| Error::malformed("not in the known layout").at(at()))?;
    if place.kind.serves(r.kind) {
        Ok(place)
    } else {
        Err(Error::malformed(format!("the shader has a {:?}, the layout a {}", r.kind, place.kind)).at(at()))
    }
}

/// The 32-bit channels that an interface component takes, as location and channel: 64 bits take two, and run on into
/// the next location.
pub(super) fn dword_places(location: u32, component: u8, wide: bool) -> Vec<(u32, u8)> {
    let count = if wide { 2 } else { 1 };
    (component..component.saturating_add(count)).map(|c| (location.saturating_add(u32::from(c / 4)), c % 4)).collect()
}
