//! State shared by the passes: the request, the known layout, the entry registers, the growing interface.

use super::entry_values::Entry;
use dovetail_abi::layout::{DescriptorPlace, PushPlace, ResolvedLayout};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_compile::request::StageRequest;
use dovetail_ir::{Bits, Inst, Resource, ResourceId, Shader};
use dovetail_metadata::interface::{
    ComputeInterface, FragmentInterface, StageInterface, StageKind, UserData, VertexInterface,
};

/// State that the passes share.
pub struct PassContext<'r> {
    pub(super) request: &'r StageRequest,
    /// The resource layout, if known.
    pub(super) layout: Option<ResolvedLayout>,
    /// The entry registers; set by the entry pass.
    pub(super) entry: Entry,
    /// The interface, to which every pass may add.
    pub(super) interface: StageInterface,
}

impl<'r> PassContext<'r> {
    /// The state before the first pass.
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
            entry: Entry::default(),
            interface: StageInterface::new(
                request.target,
                request.stage,
                request.wave,
                request.entry_point.clone(),
                kind,
            ),
        })
    }

    /// The interface so far.
    pub fn interface(&self) -> &StageInterface {
        &self.interface
    }

    /// User data as the linker has to map them; with a known layout, by offset in the root table.
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

    /// Records that the code reads the root table through the spill table from this dword on. Used only with a known
    /// layout; otherwise the relocations tell the linker.
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

/// Place of a binding in a known layout, which must have this kind of descriptor there.
pub(super) fn place_of<'l>(layout: &'l ResolvedLayout, r: &Resource) -> Result<&'l DescriptorPlace> {
    let at = || format!("set {} binding {}", r.set, r.binding);
    let place = layout.binding(r.set, r.binding).ok_or_else(|| Error::malformed("not in the known layout").at(at()))?;
    if place.kind.serves(r.kind) {
        Ok(place)
    } else {
        Err(Error::malformed(format!("the shader has a {:?}, the layout a {}", r.kind, place.kind)).at(at()))
    }
}

/// The 32-bit channels of an interface component, as location and channel: a 64-bit component takes two, and may
/// continue in the next location.
pub(super) fn dword_places(location: u32, component: u8, wide: bool) -> impl Iterator<Item = (u32, u8)> {
    let count = if wide { 2 } else { 1 };
    (component..component.saturating_add(count)).map(move |c| (location.saturating_add(u32::from(c / 4)), c % 4))
}

/// The dwords that a load at a constant, naturally aligned offset reads: first and count.
pub(super) fn push_dwords(shader: &Shader, inst: &Inst) -> Option<(u32, u32)> {
    let offset = u32::try_from(shader.as_const(*inst.args.first()?)?).ok()?;
    let ty = shader.ty(inst.result?);
    let unit = ty.bits().bytes().min(4);
    let end = offset.checked_add(ty.bytes())?;
    (ty.bits() != Bits::B1 && offset.is_multiple_of(unit)).then(|| (offset / 4, end.div_ceil(4) - offset / 4))
}
