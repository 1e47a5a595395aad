//! Entry: the parameters of the entry block become the registers that the hardware (and a fetch prolog) fill.
//!
//! | stage | SGPRs after user data | VGPRs |
//! |---|---|---|
//! | vertex | none | vertex id, relative vertex id, primitive id, instance id; then, if the vertex state is unknown, the fetched dwords |
//! | fragment | primitive mask | the sixteen inputs of pal-abi 2.4, each a parameter of its own |
//! | compute | workgroup id x y z, group size | local id x y z |
//!
//! The code generator drops fragment inputs that nothing uses; every SGPR is declared, used or not, because the
//! scratch offset follows the last.

use super::pipeline::Lowering;
use crate::abi::user_data::{self, UserDataNeeds};
use crate::error::{Error, FullCompile, Result};
use crate::ir::{
    ArgRole, Bits, BuiltIn, DescriptorPart, EntryArg, LowerInfo, NumericKind, Op, RegClass, Shader, Type, Value,
};
use crate::metadata::interface::{ComponentType, StageKind, UserData, VertexInput};
use crate::state::Known;
use crate::target::Stage;
use std::collections::BTreeMap;

/// VGPRs that can be passed or returned (lowering-llvm 1.3).
pub(super) const MAX_VGPRS: u32 = 136;

/// The entry registers, by meaning.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    user: Vec<(UserData, Value)>,
    /// System values in the order of the module's table, SGPRs first.
    pub(super) system: BTreeMap<System, Value>,
    /// Fetched vertex dwords: by location, component and component type.
    pub(super) fetched: BTreeMap<(u32, u8, ComponentType), Vec<Value>>,
}

impl Entry {
    /// The SGPR with this user data, if there is one.
    pub(super) fn find_user(&self, which: UserData) -> Option<Value> {
        self.user.iter().find(|(u, _)| *u == which).map(|&(_, v)| v)
    }

    /// A system value, of the stage that has it.
    pub(super) fn system(&self, which: System) -> Result<Value> {
        let found = self.system.get(&which).copied();
        found.ok_or_else(|| Error::bug(format!("{} is not an entry register of this stage", which.name())))
    }
}

macro_rules! systems {
    ($( $variant:ident $name:literal $class:ident $lanes:literal; )*) => {
        /// A register that the hardware fills, in hardware order within its stage.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum System { $( $variant, )* }
        impl System {
            /// Name for people.
            pub(super) const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }
            const fn class(self) -> RegClass {
                match self { $( Self::$variant => RegClass::$class, )* }
            }
            fn ty(self) -> Type {
                let lanes = match self { $( Self::$variant => $lanes, )* };
                Type::vector(Bits::B32, lanes).unwrap_or(Type::B32)
            }
        }
    };
}

systems! {
    VertexId "vertex_id" Vgpr 1;
    RelativeVertexId "relative_vertex_id" Vgpr 1;
    PrimitiveId "primitive_id" Vgpr 1;
    InstanceId "instance_id" Vgpr 1;
    PrimMask "prim_mask" Sgpr 1;
    PerspSample "persp_sample" Vgpr 2;
    PerspCenter "persp_center" Vgpr 2;
    PerspCentroid "persp_centroid" Vgpr 2;
    PerspPull "persp_pull_model" Vgpr 3;
    LinearSample "linear_sample" Vgpr 2;
    LinearCenter "linear_center" Vgpr 2;
    LinearCentroid "linear_centroid" Vgpr 2;
    LineStipple "line_stipple" Vgpr 1;
    PosX "pos_x" Vgpr 1;
    PosY "pos_y" Vgpr 1;
    PosZ "pos_z" Vgpr 1;
    PosW "pos_w" Vgpr 1;
    FrontFace "front_face" Vgpr 1;
    Ancillary "ancillary" Vgpr 1;
    SampleCoverage "sample_coverage" Vgpr 1;
    FixedXy "fixed_xy" Vgpr 1;
    WorkgroupX "workgroup_x" Sgpr 1;
    WorkgroupY "workgroup_y" Sgpr 1;
    WorkgroupZ "workgroup_z" Sgpr 1;
    GroupSize "group_size" Sgpr 1;
    LocalX "local_x" Vgpr 1;
    LocalY "local_y" Vgpr 1;
    LocalZ "local_z" Vgpr 1;
}

const fn systems_of(stage: Stage) -> &'static [System] {
    use System as S;
    match stage {
        Stage::Vertex => &[S::VertexId, S::RelativeVertexId, S::PrimitiveId, S::InstanceId],
        Stage::Fragment => &[
            S::PrimMask,
            S::PerspSample,
            S::PerspCenter,
            S::PerspCentroid,
            S::PerspPull,
            S::LinearSample,
            S::LinearCenter,
            S::LinearCentroid,
            S::LineStipple,
            S::PosX,
            S::PosY,
            S::PosZ,
            S::PosW,
            S::FrontFace,
            S::Ancillary,
            S::SampleCoverage,
            S::FixedXy,
        ],
        Stage::Compute => &[S::WorkgroupX, S::WorkgroupY, S::WorkgroupZ, S::GroupSize, S::LocalX, S::LocalY, S::LocalZ],
    }
}

/// Gives the entry block its parameters.
pub(super) fn run(shader: &mut Shader, cx: &mut Lowering<'_>) -> Result<()> {
    if !shader.block(Shader::ENTRY).params.is_empty() {
        return Err(Error::bug("the entry block has parameters before the entry is lowered"));
    }
    let inputs = if shader.stage == Stage::Vertex { vertex_inputs(shader)? } else { Vec::new() };
    let fetch_in_prolog = cx.request.known.vertex == Known::Unknown && !inputs.is_empty();
    let mut needs = needs(shader, cx)?;
    if !inputs.is_empty() {
        needs.vertex_buffers = true;
        needs.base = true;
    }
    let mut args = Vec::new();
    let mut entry = Entry::default();
    let mut add = |shader: &mut Shader, class, ty, role| {
        args.push(EntryArg { class, ty, role });
        shader.add_param(Shader::ENTRY, ty)
    };

    for which in user_data::plan(shader.stage, &needs) {
        let role = ArgRole::UserData(format!("{which:?}"));
        entry.user.push((which, add(shader, RegClass::Sgpr, Type::B32, role)));
    }
    for &s in systems_of(shader.stage) {
        let v = add(shader, s.class(), s.ty(), ArgRole::System(s.name()));
        entry.system.insert(s, v);
    }
    if fetch_in_prolog {
        for input in &inputs {
            for component in input.component..input.component + input.count {
                let dwords = (0..input.ty.dwords())
                    .map(|_| {
                        let role = ArgRole::VertexInput { location: input.location, component };
                        add(shader, RegClass::Vgpr, Type::B32, role)
                    })
                    .collect();
                entry.fetched.insert((input.location, component, input.ty), dwords);
            }
        }
    }

    let vgprs: u32 = args.iter().filter(|a| a.class == RegClass::Vgpr).map(|a| a.ty.lanes()).sum();
    if vgprs > MAX_VGPRS {
        return Err(Error::needs_full(FullCompile::TooManyValues { what: "vertex inputs".into(), count: vgprs }));
    }
    let symbol = if fetch_in_prolog { shader.stage.unlinked_symbol() } else { shader.stage.entry_symbol() };
    let sgprs = args.iter().filter(|a| a.class == RegClass::Sgpr).count() as u32;

    cx.interface.user_data = entry.user.iter().map(|&(u, _)| cx.placed(u)).collect::<Result<_>>()?;
    cx.interface.entry_sgprs = sgprs;
    cx.interface.prolog = fetch_in_prolog;
    if let StageKind::Vertex(v) = &mut cx.interface.kind {
        v.inputs = if fetch_in_prolog { inputs } else { Vec::new() };
    }
    cx.entry = entry;
    shader.lower = Some(LowerInfo {
        wave: cx.request.wave,
        args,
        returns: Vec::new(),
        symbol: symbol.to_owned(),
        color_export: false,
        depth_export: false,
    });
    Ok(())
}

/// What the shader reads of its user data.
fn needs(shader: &Shader, cx: &Lowering<'_>) -> Result<UserDataNeeds> {
    let mut n = UserDataNeeds::default();
    for inst in live_insts(shader) {
        match inst.op {
            Op::Descriptor { resource, part, .. } => {
                let r = super::pipeline::resource(shader, resource)?;
                match &cx.layout {
                    // A buffer may turn out to stand in the root table, and then is read through the spill table.
                    None => {
                        n.sets.insert(r.set);
                        n.spill |= part == DescriptorPart::Buffer;
                    }
                    Some(layout) => {
                        if super::pipeline::place_of(layout, r)?.in_root {
                            n.spill = true;
                        } else {
                            n.sets.insert(r.set);
                        }
                    }
                }
            }
            Op::PushConstant { .. } => match super::lower_push_constants::dwords(shader, inst) {
                Some(load) => {
                    n.push_constants.insert(load);
                }
                None => n.spill = true,
            },
            Op::LoadBuiltIn { builtin, .. } => match builtin {
                BuiltIn::VertexIndex | BuiltIn::InstanceIndex | BuiltIn::BaseVertex | BuiltIn::BaseInstance => {
                    n.base = true;
                }
                BuiltIn::DrawIndex => n.draw = true,
                BuiltIn::ViewIndex => n.view = true,
                BuiltIn::NumWorkgroups => n.workgroup_count = true,
                _ => {}
            },
            _ => {}
        }
    }
    Ok(n)
}

/// Instructions that stand in a block.
pub(super) fn live_insts(shader: &Shader) -> impl Iterator<Item = &crate::ir::Inst> {
    shader.blocks.iter().flat_map(|b| &b.insts).map(|&id| shader.inst(id))
}

/// The fetches: runs of components of one location and type.
pub(super) fn vertex_inputs(shader: &Shader) -> Result<Vec<VertexInput>> {
    let mut runs: BTreeMap<(u32, ComponentType), (u8, u8)> = BTreeMap::new();
    for inst in live_insts(shader) {
        let Op::LoadInput { location, component, kind, .. } = inst.op else { continue };
        let ty = inst.result.map_or(Type::B32, |v| shader.ty(v));
        let run = runs.entry((location, component_type(kind, ty)?)).or_insert((component, component));
        *run = (run.0.min(component), run.1.max(component));
    }
    let one = |((location, ty), (first, last)): ((u32, ComponentType), (u8, u8))| VertexInput {
        location,
        component: first,
        count: last - first + 1,
        ty,
    };
    Ok(runs.into_iter().map(one).collect())
}

/// The interface's name of a scalar type.
pub(super) fn component_type(kind: NumericKind, ty: Type) -> Result<ComponentType> {
    match ty.bits() {
        Bits::B8 | Bits::B16 | Bits::B32 | Bits::B64 if ty.is_scalar() => {
            Ok(ComponentType { kind, bits: ty.bits().count() as u8 })
        }
        _ => Err(Error::bug(format!("an interface component of type {ty}"))),
    }
}
