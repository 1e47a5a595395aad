//! The registers that a vertex body starts with, and those that it leaves as they are for its epilog, by the hardware stage
//! for which it is compiled.
//!
//! | stage | user data | vertex id | instance id | fetched | kept |
//! | --- | --- | --- | --- | --- | --- |
//! | hardware VS | s0 | v0 | v3 | v4 and up | nothing |
//! | hardware GS, as a primitive shader (NGG) | s8 | v5 | v8 | v9 and up | s3, s5, s8, v0, v2 |
//! | the same on gfx12 | s8 | v3 | v4 | v5 and up | s3, s5, s8, v0, v1 |
//!
//! A wave of primitive shaders works on vertices and on primitives, in the same lanes. The body runs for the vertices; what it
//! keeps says what the epilog exports for the primitives, and where the attributes go (LLPC, `NggPrimShader`; Mesa,
//! `ac_shader_args`).

use dovetail_base::target::{FamilyFacts, Gpu, HardwareStage, ParameterPath, PrimitiveEntry, Stage};

/// Registers of a vertex body at entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VertexEntry {
    /// SGPR of the first user data.
    pub user: u32,
    /// VGPR of the vertex id.
    pub vertex_id: u8,
    /// VGPR of the instance id.
    pub instance_id: u8,
    /// First VGPR that a prolog fetches into: those below have system values.
    pub fetched: u32,
}

impl VertexEntry {
    /// Of the hardware VS stage.
    pub const VERTICES: Self =
        Self { user: HardwareStage::Vs.first_user_sgpr(), vertex_id: 0, instance_id: 3, fetched: 4 };

    /// Of a primitive shader.
    pub const fn of_primitives(facts: &FamilyFacts) -> Self {
        let PrimitiveEntry { vertex_id, instance_id, .. } = facts.primitive_entry;
        let fetched = facts.primitive_entry.end();
        Self { user: HardwareStage::Gs.first_user_sgpr(), vertex_id, instance_id, fetched }
    }

    /// That of the vertex bodies that are compiled for a GPU.
    pub const fn of(gpu: Gpu) -> Self {
        match gpu.hardware_stage(Stage::Vertex) {
            HardwareStage::Gs => Self::of_primitives(gpu.facts()),
            HardwareStage::Hs | HardwareStage::Vs | HardwareStage::Ps | HardwareStage::Cs => Self::VERTICES,
        }
    }
}

/// Registers of a wave of a primitive shader.
pub mod primitive_wave {
    /// SGPR with numbers of lanes and of the wave: bits 0 to 7, lanes with a vertex; 8 to 15, with a primitive; 24 to 27, the
    /// number of the wave in its group.
    pub const WAVE_INFO: u32 = 3;
    /// SGPR with the place of the group in the attribute ring, in bits 0 to 14, in units of 512 bytes.
    pub const RING_BASE: u32 = 5;
    /// SGPR with the low half of the address of the global table.
    pub const GLOBAL_TABLE: u32 = 8;
    /// VGPR with what a lane exports of its primitive.
    pub const PRIMITIVE: u8 = 0;
}

/// Registers that a body must not write, because its epilog reads their entry values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptRegisters {
    /// Numbers of SGPRs.
    pub sgprs: &'static [u32],
    /// Numbers of VGPRs.
    pub vgprs: Option<[u8; 2]>,
}

impl KeptRegisters {
    const NONE: Self = Self { sgprs: &[], vgprs: None };

    /// Those of a body of this stage.
    pub const fn of(facts: &FamilyFacts, stage: Stage) -> Self {
        match facts.parameters {
            ParameterPath::Ring if stage.feeds_the_rasterizer() => Self {
                sgprs: &[primitive_wave::WAVE_INFO, primitive_wave::RING_BASE, primitive_wave::GLOBAL_TABLE],
                vgprs: Some([primitive_wave::PRIMITIVE, facts.primitive_entry.primitive_id]),
            },
            ParameterPath::Ring | ParameterPath::Exports => Self::NONE,
        }
    }
}
