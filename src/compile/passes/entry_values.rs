//! The entry registers by meaning, and the fetched inputs of a vertex shader.

use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Gpu, Stage};
use dovetail_base::workspace::List;
use dovetail_ir::{Bits, NumericKind, Op, RegClass, Shader, Type, Value};
use dovetail_metadata::interface::{ComponentType, UserData, VertexInput};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The entry registers, by meaning.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) user: List<(UserData, Value)>,
    /// System values in the order of the module's table, SGPRs first.
    pub(super) system: List<(System, Value)>,
    /// Fetched vertex dwords: by location, component and component type.
    pub(super) fetched: BTreeMap<(u32, u8, ComponentType), SmallVec<[Value; 2]>>,
}

impl Entry {
    /// The SGPR with this user data; `None` if there is none.
    pub(super) fn find_user(&self, which: UserData) -> Option<Value> {
        self.user.iter().find(|(u, _)| *u == which).map(|&(_, v)| v)
    }

    /// The SGPR with this user data, which must be in the plan.
    pub(super) fn user(&self, which: UserData) -> Result<Value> {
        self.find_user(which).ok_or_else(|| Error::bug(format!("user data {which:?} are used but not planned")))
    }

    /// A system value, if the stage has it.
    pub(super) fn find_system(&self, which: System) -> Option<Value> {
        self.system.iter().find(|(s, _)| *s == which).map(|(_, v)| *v)
    }

    /// A system value, which the stage must have.
    pub(super) fn system(&self, which: System) -> Result<Value> {
        self.find_system(which)
            .ok_or_else(|| Error::bug(format!("{} is not an entry register of this stage", which.name())))
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
            pub(super) const fn class(self) -> RegClass {
                match self { $( Self::$variant => RegClass::$class, )* }
            }
            pub(super) fn ty(self) -> Type {
                let lanes = match self { $( Self::$variant => $lanes, )* };
                Type::vector(Bits::B32, lanes).unwrap_or(Type::B32)
            }
        }
    };
}

systems! {
    GroupAndWave "group_and_wave" Sgpr 8;
    Primitive "primitive" Vgpr 1;
    PrimitiveOffsets "primitive_offsets" Vgpr 1;
    PrimitiveOthers "primitive_others" Vgpr 2;
    VertexId "vertex_id" Vgpr 1;
    BetweenIds "between_ids" Vgpr 2;
    RelativeVertexId "relative_vertex_id" Vgpr 1;
    PrimitiveId "primitive_id" Vgpr 1;
    InstanceId "instance_id" Vgpr 1;
    PrimMask "prim_mask" Sgpr 1;
    ProvokingVertex "provoking_vertex" Sgpr 1;
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
    LocalIds "local_ids" Vgpr 1;
}

/// The system values of a stage, in the order of their registers. Those of user data come after [`System::GroupAndWave`], and
/// before other SGPRs.
pub(super) const fn systems_of(stage: Stage, gpu: Gpu) -> &'static [System] {
    use System as S;
    match stage {
        // Where a primitive's id comes first, there is no room for what tessellated vertices have.
        Stage::Vertex
            if gpu.hardware_stage(stage).runs_primitives() && gpu.facts().primitive_entry.primitive_id == 1 =>
        {
            &[S::GroupAndWave, S::Primitive, S::PrimitiveId, S::PrimitiveOffsets, S::VertexId, S::InstanceId]
        }
        // The two in the middle are of tessellated vertices.
        Stage::Vertex if gpu.hardware_stage(stage).runs_primitives() => &[
            S::GroupAndWave,
            S::Primitive,
            S::PrimitiveOffsets,
            S::PrimitiveId,
            S::PrimitiveOthers,
            S::VertexId,
            S::BetweenIds,
            S::InstanceId,
        ],
        Stage::Vertex => &[S::VertexId, S::RelativeVertexId, S::PrimitiveId, S::InstanceId],
        Stage::Fragment => &[
            S::PrimMask,
            S::ProvokingVertex,
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
        Stage::Compute if gpu.facts().workgroup_ids_apart => &[S::LocalIds],
        Stage::Compute if gpu.facts().packed_local_ids => {
            &[S::WorkgroupX, S::WorkgroupY, S::WorkgroupZ, S::GroupSize, S::LocalIds]
        }
        Stage::Compute => &[S::WorkgroupX, S::WorkgroupY, S::WorkgroupZ, S::GroupSize, S::LocalX, S::LocalY, S::LocalZ],
    }
}

/// The fetches: runs of components with one location and type.
pub(super) fn vertex_inputs(shader: &Shader) -> Result<Vec<VertexInput>> {
    let mut runs: BTreeMap<(u32, ComponentType), (u8, u8)> = BTreeMap::new();
    for inst in shader.live_insts() {
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
