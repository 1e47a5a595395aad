//! What the interface of a stage has besides what all have, by the roles of the stage: it fetches attributes, it is the last
//! before the rasterizer, it shades pixels, it runs in workgroups. What takes an interface for one role takes that role's part,
//! whichever stage has it.

use super::interface::{
    ComputeInterface, FragmentInterface, FragmentReads, ParamConstant, ParamSource, PositionExports, VertexInput,
    VertexParam,
};
use dovetail_base::target::Stage;
use serde::{Deserialize, Serialize};

/// Fields of one kind of stage only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// Vertex.
    Vertex(VertexInterface),
    /// Fragment.
    Fragment(FragmentInterface),
    /// Compute.
    Compute(ComputeInterface),
}

impl StageKind {
    /// The stage that has these fields.
    pub const fn stage(&self) -> Stage {
        match self {
            Self::Vertex(_) => Stage::Vertex,
            Self::Fragment(_) => Stage::Fragment,
            Self::Compute(_) => Stage::Compute,
        }
    }

    /// Of a stage that fetches attributes.
    pub const fn fetch(&self) -> Option<&FetchInterface> {
        match self {
            Self::Vertex(vertex) => Some(&vertex.fetch),
            Self::Fragment(_) | Self::Compute(_) => None,
        }
    }

    /// Of a stage that fetches attributes.
    pub const fn fetch_mut(&mut self) -> Option<&mut FetchInterface> {
        match self {
            Self::Vertex(vertex) => Some(&mut vertex.fetch),
            Self::Fragment(_) | Self::Compute(_) => None,
        }
    }

    /// Of the last stage before the rasterizer.
    pub const fn pre_rasterization(&self) -> Option<&PreRasterizationInterface> {
        match self {
            Self::Vertex(vertex) => Some(&vertex.pre_rasterization),
            Self::Fragment(_) | Self::Compute(_) => None,
        }
    }

    /// Of the last stage before the rasterizer.
    pub const fn pre_rasterization_mut(&mut self) -> Option<&mut PreRasterizationInterface> {
        match self {
            Self::Vertex(vertex) => Some(&mut vertex.pre_rasterization),
            Self::Fragment(_) | Self::Compute(_) => None,
        }
    }

    /// Of a vertex stage.
    pub const fn vertex(&self) -> Option<&VertexInterface> {
        match self {
            Self::Vertex(vertex) => Some(vertex),
            Self::Fragment(_) | Self::Compute(_) => None,
        }
    }

    /// Of a vertex stage.
    pub const fn vertex_mut(&mut self) -> Option<&mut VertexInterface> {
        match self {
            Self::Vertex(vertex) => Some(vertex),
            Self::Fragment(_) | Self::Compute(_) => None,
        }
    }

    /// Of a fragment stage.
    pub const fn fragment(&self) -> Option<&FragmentInterface> {
        match self {
            Self::Fragment(fragment) => Some(fragment),
            Self::Vertex(_) | Self::Compute(_) => None,
        }
    }

    /// Of a fragment stage.
    pub const fn fragment_mut(&mut self) -> Option<&mut FragmentInterface> {
        match self {
            Self::Fragment(fragment) => Some(fragment),
            Self::Vertex(_) | Self::Compute(_) => None,
        }
    }
}

/// Vertex stage: it fetches attributes, and is the last before the rasterizer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredVertex", into = "StoredVertex")]
pub struct VertexInterface {
    /// What it fetches.
    pub fetch: FetchInterface,
    /// What it passes to the rasterizer.
    pub pre_rasterization: PreRasterizationInterface,
    /// Highest system VGPR read: 0 VertexId, 2 PrimitiveId, 3 InstanceId (VGPR_COMP_CNT of the hardware VS stage).
    pub vgpr_comp_cnt: u32,
    /// Whether PrimitiveId is used.
    pub uses_primitive_id: bool,
}

/// What a body expects of a fetch prolog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchInterface {
    /// Attributes that the prolog fetches into consecutive VGPRs from v4 on, in this order.
    pub inputs: Vec<VertexInput>,
    /// Whether the body waits for the attributes itself, so that the prolog may end while their loads are outstanding.
    pub awaits_inputs: bool,
    /// Whether the body takes the high half of the code's address from the prolog (`abi::fetch::table_address_sgpr`).
    pub takes_address_high: bool,
}

/// What the last stage before the rasterizer passes to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreRasterizationInterface {
    /// Parameters that the body returns (or exports itself, if the parameter plan is known), per component.
    pub params: Vec<VertexParam>,
    /// Highest parameter slot that the body exports itself, plus 1 (0 if an epilog exports).
    pub exported_params: u32,
    /// The position exports.
    pub positions: PositionExports,
    /// Whether the body exports its view as the layer.
    pub multiview: bool,
    /// Reads of the only fragment stage that the body can be linked with; `None` if it can be linked with any.
    pub made_for: Option<FragmentReads>,
}

impl PreRasterizationInterface {
    /// The parameter components that are the same constant for every vertex.
    pub fn constants(&self) -> impl Iterator<Item = ParamConstant> {
        self.params.iter().filter_map(|param| match param.source {
            ParamSource::Constant(bits) => {
                Some(ParamConstant { semantic: param.semantic, component: param.component, bits })
            }
            ParamSource::Vgpr(_) | ParamSource::Exported => None,
        })
    }
}

/// A vertex stage's fields in the order in which unlinked ELFs have them.
#[derive(Serialize, Deserialize)]
struct StoredVertex {
    inputs: Vec<VertexInput>,
    awaits_inputs: bool,
    takes_address_high: bool,
    params: Vec<VertexParam>,
    exported_params: u32,
    positions: PositionExports,
    vgpr_comp_cnt: u32,
    uses_primitive_id: bool,
    multiview: bool,
    made_for: Option<FragmentReads>,
}

impl From<VertexInterface> for StoredVertex {
    fn from(vertex: VertexInterface) -> Self {
        let VertexInterface { fetch, pre_rasterization, vgpr_comp_cnt, uses_primitive_id } = vertex;
        let FetchInterface { inputs, awaits_inputs, takes_address_high } = fetch;
        let PreRasterizationInterface { params, exported_params, positions, multiview, made_for } = pre_rasterization;
        Self {
            inputs,
            awaits_inputs,
            takes_address_high,
            params,
            exported_params,
            positions,
            vgpr_comp_cnt,
            uses_primitive_id,
            multiview,
            made_for,
        }
    }
}

impl From<StoredVertex> for VertexInterface {
    fn from(stored: StoredVertex) -> Self {
        let StoredVertex { inputs, awaits_inputs, takes_address_high, vgpr_comp_cnt, uses_primitive_id, .. } = stored;
        let StoredVertex { params, exported_params, positions, multiview, made_for, .. } = stored;
        Self {
            fetch: FetchInterface { inputs, awaits_inputs, takes_address_high },
            pre_rasterization: PreRasterizationInterface { params, exported_params, positions, multiview, made_for },
            vgpr_comp_cnt,
            uses_primitive_id,
        }
    }
}
