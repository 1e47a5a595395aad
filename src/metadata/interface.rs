//! The pre-link metadata of one stage: the values that cross its joints, and the items that only the linker can
//! complete.
//!
//! It is written into the unlinked ELF's note, read by the linker, and absent from the final ELF. This struct is the
//! whole contract; `docs/unlinked-elf.md` describes each key.

pub use super::stage_kind::{FetchInterface, PreRasterizationInterface, StageKind, VertexInterface};
use dovetail_base::kinds::{DepthMode, NumericKind, ResourceKind, SpecOperand, SpecValue};
use dovetail_base::target::{Gpu, HardwareStage, Stage, WaveSize};
use serde::de;
use serde::ser;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// VGPRs in which values can pass a joint, into or out of a body: as many as LLVM's calling conventions have
/// (llvm/lib/Target/AMDGPU/AMDGPUCallingConv.td).
pub const MAX_JOINT_VGPRS: u32 = 136;

/// Everything the linker must know about a compiled stage besides its code, symbols, relocations and PAL registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageInterface {
    /// GPU.
    pub target: Gpu,
    /// Stage.
    pub stage: Stage,
    /// Lanes per wave.
    pub wave: WaveSize,
    /// SPIR-V entry point name.
    pub entry_point: String,
    /// Whether the body expects a fetch prolog before it.
    pub prolog: bool,
    /// Whether the body returns values and falls through into an epilog.
    pub epilog: bool,
    /// The content of each user-data SGPR, from the first of the hardware stage on.
    pub user_data: Vec<UserData>,
    /// SGPRs that the hardware always loads at entry, from that of the first user data on: user data, then system values.
    /// With RSRC2.SCRATCH_EN it loads one more, the scratch wave offset; a prolog may use those above.
    pub entry_sgprs: u32,
    /// Resource bindings used, sorted by set and binding.
    pub resources: Vec<ResourceUse>,
    /// Bytes of push constants the shader may read.
    pub push_constant_bytes: u32,
    /// Lowest root dword read through the spill table at a known offset; unknown offsets have relocations.
    pub spill_threshold: Option<u32>,
    /// Specialization constants that shaped the code, sorted by id.
    pub specialization: Vec<SpecValue>,
    /// Specialization constants that are relocations in the code, sorted by id.
    pub spec_operands: Vec<SpecOperand>,
    /// Whether buffers or images are written, or atomics used.
    pub writes_memory: bool,
    /// Fields of this kind of stage only.
    pub kind: StageKind,
}

impl StageInterface {
    /// The interface of a stage that uses nothing yet.
    pub fn new(target: Gpu, stage: Stage, wave: WaveSize, entry_point: String, kind: StageKind) -> Self {
        Self {
            target,
            stage,
            wave,
            entry_point,
            prolog: false,
            epilog: false,
            user_data: Vec::new(),
            entry_sgprs: 0,
            resources: Vec::new(),
            push_constant_bytes: 0,
            spill_threshold: None,
            specialization: Vec::new(),
            spec_operands: Vec::new(),
            writes_memory: false,
            kind,
        }
    }

    /// Whether the part can be linked with one other stage only.
    pub fn is_paired(&self) -> bool {
        match &self.kind {
            StageKind::Vertex(vertex) => vertex.pre_rasterization.made_for.is_some(),
            StageKind::Fragment(fragment) => !fragment.constants.is_empty(),
            StageKind::Compute(_) => false,
        }
    }

    /// The hardware stage that runs it.
    pub const fn hardware_stage(&self) -> HardwareStage {
        self.target.hardware_stage(self.stage)
    }

    /// The symbol of the stage's body: a body that needs a prolog has a different name.
    pub fn body_symbol(&self) -> &'static str {
        let stage = self.hardware_stage();
        if self.prolog { stage.unlinked_symbol() } else { stage.entry_symbol() }
    }
}

/// One vertex fetch: the dwords that one shader location needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VertexInput {
    /// Location.
    pub location: u32,
    /// First component read.
    pub component: u8,
    /// Number of components read.
    pub count: u8,
    /// Type of one component. Each takes one VGPR (64 bits: two); 8 and 16 bits are zero-extended in theirs.
    pub ty: ComponentType,
}

/// Type of one component. Where people read it `f`, `i` or `u` and the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ComponentType {
    /// Float or integer.
    pub kind: NumericKind,
    /// 8, 16, 32 or 64.
    pub bits: u8,
}

impl ComponentType {
    /// 32-bit float.
    pub const F32: Self = Self { kind: NumericKind::Float, bits: 32 };

    /// VGPRs that one component takes.
    pub const fn dwords(self) -> u32 {
        if self.bits == 64 { 2 } else { 1 }
    }

    /// Every type with its name. A change of the order changes the format of unlinked ELFs.
    const NAMES: [(&str, Self); 11] = {
        use NumericKind::{Float, Sint, Uint};
        const fn of(kind: NumericKind, bits: u8) -> ComponentType {
            ComponentType { kind, bits }
        }
        [
            ("f32", of(Float, 32)),
            ("i32", of(Sint, 32)),
            ("u32", of(Uint, 32)),
            ("f16", of(Float, 16)),
            ("i16", of(Sint, 16)),
            ("u16", of(Uint, 16)),
            ("i8", of(Sint, 8)),
            ("u8", of(Uint, 8)),
            ("f64", of(Float, 64)),
            ("i64", of(Sint, 64)),
            ("u64", of(Uint, 64)),
        ]
    };
}

/// Its name where people read it, else its place in [`ComponentType::NAMES`].
impl Serialize for ComponentType {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let place = Self::NAMES.iter().position(|(_, ty)| ty == self);
        let place = place.ok_or_else(|| ser::Error::custom(format!("a type of {} bits", self.bits)))?;
        if to.is_human_readable() { to.serialize_str(Self::NAMES[place].0) } else { to.serialize_u8(place as u8) }
    }
}

impl<'de> Deserialize<'de> for ComponentType {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = if from.is_human_readable() {
            let name = Cow::<'de, str>::deserialize(from)?;
            Self::NAMES.iter().find(|(known, _)| *known == name)
        } else {
            Self::NAMES.get(usize::from(u8::deserialize(from)?))
        };
        found.map(|(_, ty)| *ty).ok_or_else(|| de::Error::custom("not a type, as f32, i16 or u8"))
    }
}

/// The meaning of a parameter, on both sides of the rasterizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Semantic {
    /// A location of the shader interface.
    Location(u32),
    /// Clip distances 4n to 4n+3.
    ClipDistance(u8),
    /// Cull distances 4n to 4n+3.
    CullDistance(u8),
    /// Layer.
    Layer,
    /// Viewport index.
    ViewportIndex,
    /// Primitive id.
    PrimitiveId,
    /// Point sprite coordinate; made by the rasterizer.
    PointCoord,
    /// A position vector, which a body returns where the epilog exports it.
    Position(u8),
}

/// One component of a vertex parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VertexParam {
    /// Its semantic.
    pub semantic: Semantic,
    /// Component, 0 to 3.
    pub component: u8,
    /// Type.
    pub ty: ComponentType,
    /// Location of the value when the body returns.
    pub source: ParamSource,
}

/// Location of a returned value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamSource {
    /// In this VGPR.
    Vgpr(u32),
    /// Always these bits.
    Constant(u32),
    /// Exported by the body itself.
    Exported,
}

/// A parameter component that is the same for every vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ParamConstant {
    /// Its meaning.
    pub semantic: Semantic,
    /// Component, 0 to 3.
    pub component: u8,
    /// Its bits.
    pub bits: u32,
}

/// What a fragment stage takes from the vertex stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FragmentReads {
    /// Inputs; the index in the list is the attribute number.
    pub inputs: Vec<FragmentInput>,
    /// Components that its code contains as constants, sorted.
    pub constants: Vec<ParamConstant>,
}

/// Where a body leaves a result for its epilog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultSource {
    /// In this VGPR.
    Vgpr(u32),
    /// Always these bits, in no register.
    Constant(u32),
}

/// The position exports of a vertex body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionExports {
    /// Number of position vectors exported: pos0, then misc, then clip and cull distances.
    pub count: u32,
    /// Point size is written.
    pub point_size: bool,
    /// Layer is written.
    pub layer: bool,
    /// Viewport index is written.
    pub viewport_index: bool,
    /// Shading rate is written.
    pub shading_rate: bool,
    /// Number of clip distances.
    pub clip_distances: u8,
    /// Number of cull distances.
    pub cull_distances: u8,
}

impl PositionExports {
    /// Whether there is a vector with values other than position and distances.
    pub const fn has_misc(&self) -> bool {
        self.point_size || self.layer || self.viewport_index || self.shading_rate
    }
}

/// Fragment stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FragmentInterface {
    /// Inputs; the index in the list is the attribute number.
    pub inputs: Vec<FragmentInput>,
    /// Parameters of the vertex stage that the code contains as constants, sorted.
    pub constants: Vec<ParamConstant>,
    /// Colours the body returns (or exports itself), in order of location and index.
    pub colors: Vec<ColorOutput>,
    /// Source of the depth value, if returned.
    pub depth: Option<ResultSource>,
    /// Source of the stencil reference, if returned.
    pub stencil: Option<ResultSource>,
    /// Source of the sample mask, if returned.
    pub sample_mask: Option<ResultSource>,
    /// Whether depth, stencil or sample mask are written (even if the body exports them itself).
    pub writes_depth: bool,
    /// See `writes_depth`.
    pub writes_stencil: bool,
    /// See `writes_depth`.
    pub writes_sample_mask: bool,
    /// Whether the shader may kill or demote invocations.
    pub kills: bool,
    /// Whether depth and stencil tests run before the shader.
    pub early_fragment_tests: bool,
    /// Whether the sample mask input contains only samples that pass these tests.
    pub post_depth_coverage: bool,
    /// Whether the coverage input tells only whether the pixel is fully covered.
    pub fully_covered: bool,
    /// The shader's declaration about the depth that it writes.
    pub depth_mode: DepthMode,
    /// Whether pixel centres are at integer coordinates.
    pub pixel_center_integer: bool,
    /// Whether the shader needs per-sample shading: the body reads its inputs at the sample.
    pub per_sample: bool,
    /// Whether the body reads inputs at the pixel that it would have to read at the sample if the state shades every
    /// sample.
    pub per_pixel: bool,
    /// If the body exports itself: its SPI_SHADER_COL_FORMAT, CB_SHADER_MASK, SPI_SHADER_Z_FORMAT.
    pub exported: Option<ExportedFormats>,
}

impl FragmentInterface {
    /// What the stage takes from the vertex stage.
    pub fn reads(&self) -> FragmentReads {
        FragmentReads { inputs: self.inputs.clone(), constants: self.constants.clone() }
    }
}

/// Registers that follow from the exports of a body that exports itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedFormats {
    /// SPI_SHADER_COL_FORMAT.
    pub col_format: u32,
    /// CB_SHADER_MASK.
    pub cb_mask: u32,
    /// SPI_SHADER_Z_FORMAT.
    pub z_format: u32,
}

/// One fragment input: four channels that form one attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FragmentInput {
    /// Its semantic.
    pub semantic: Semantic,
    /// Channels read, bits 0 to 3.
    pub channels: u8,
    /// Whether the input is not interpolated.
    pub flat: bool,
    /// Whether the values of all three vertices are read (explicit vertex parameters).
    pub per_vertex: bool,
    /// Type of one channel; integers and other types that cannot be interpolated must be flat.
    pub ty: ComponentType,
}

/// One colour output.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ColorOutput {
    /// Location.
    pub location: u32,
    /// Dual-source index.
    pub index: u8,
    /// Components written, bits 0 to 3.
    pub channels: u8,
    /// Type of one component.
    pub ty: ComponentType,
    /// Source of each component (16-bit values in the low half); `None` if it is not written.
    pub values: [Option<ResultSource>; 4],
}

/// Compute stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComputeInterface {
    /// Workgroup size.
    pub local_size: [u32; 3],
    /// Highest component of the local id that is read: 0 x, 1 y, 2 z.
    pub tidig_comp_cnt: u32,
    /// Bytes of workgroup memory.
    pub lds_bytes: u32,
}

/// A resource binding that the stage uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ResourceUse {
    /// Set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Kind of the descriptor.
    pub kind: ResourceKind,
    /// Array length; `None` is a run-time array.
    pub count: Option<u32>,
}

impl StageInterface {
    /// Whether the stage accesses storage buffers or images: PAL's UAVs, whether it writes them or not.
    pub fn uses_storage(&self) -> bool {
        use ResourceKind as K;
        let storage = |kind| matches!(kind, K::StorageBuffer | K::StorageImage | K::StorageTexelBuffer);
        self.writes_memory || self.resources.iter().any(|resource| storage(resource.kind))
    }
}

/// Contents of a user-data SGPR (pal-abi 2.3, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserData {
    /// Low half of the global table's address; always s0.
    GlobalTable,
    /// Reserved; always s1.
    PerShaderTable,
    /// Low half of the address of this descriptor set's table.
    DescriptorSet(u32),
    /// This dword of the push constants.
    PushConstant(u32),
    /// This dword of the root table (only with a known layout).
    Root(u32),
    /// Low half of the spill table's address.
    SpillTable,
    /// Low half of the vertex-buffer table's address.
    VertexBufferTable,
    /// First vertex.
    BaseVertex,
    /// First instance; directly after [`UserData::BaseVertex`].
    BaseInstance,
    /// Index of the draw.
    DrawIndex,
    /// View of a multiview draw.
    ViewId,
    /// Low half of the pointer to the grid size.
    WorkgroupCountLow,
    /// High half of the pointer to the grid size; directly after the low half.
    WorkgroupCountHigh,
    /// Nothing: the stage has more SGPRs than it reads.
    Unused,
}

impl UserData {
    /// Whether PAL has a number for this content. PAL leaves the slot of the reserved table empty, and writes the high
    /// half of a pointer together with the low half.
    pub fn has_number(self) -> bool {
        !matches!(self, Self::PerShaderTable | Self::WorkgroupCountHigh | Self::Unused)
    }
}
