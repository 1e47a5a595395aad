//! What each item of a pipeline's state and of its parts' interfaces writes into registers. Each expectation was derived by
//! hand from AMD's register reference for gfx10.3 and from what LLPC and PAL do (pal-abi 4, 6.1 to 6.3, 7.1, 9.2), not from
//! the linker's output.
//!
//! A case is a change of [`Pipeline::graphics`] or [`Pipeline::compute`], and every register that differs from then on, as a
//! whole word; other registers must not change. Only RSRC1's counts are compared just where a case has the word, because glue
//! uses registers too.

mod geometry;
mod pixels;

pub use geometry::{KERNELS, STATE, VERTEX};
pub use pixels::{COLORS, FRAGMENT, PARAMETERS};

use crate::link_support::*;
use dovetail::metadata::interface::*;
use dovetail::metadata::registers::*;
use dovetail::state::{ColorAttachment, PipelineState};
use dovetail::target::HardwareStage;

/// Parts and state.
pub struct Pipeline {
    /// One vertex and one fragment part, or one compute part.
    pub parts: Vec<Unlinked>,
    pub state: PipelineState,
}

impl Pipeline {
    pub fn graphics() -> Self {
        Self { parts: vec![vertex(), fragment()], state: state() }
    }

    pub fn compute() -> Self {
        Self { parts: vec![compute()], state: state() }
    }

    /// User-data SGPRs up to this number, filled with the root dwords of the same numbers.
    pub fn user_sgprs(&mut self, count: u32) {
        let own = self.vs().interface.user_data.len() as u32;
        self.vs().interface.user_data.extend((own..count).map(UserData::Root));
        (self.vs().interface.entry_sgprs, self.vs().sgprs) = (count, 64);
    }

    fn vs(&mut self) -> &mut Unlinked {
        &mut self.parts[0]
    }

    fn fs(&mut self) -> &mut Unlinked {
        &mut self.parts[1]
    }

    fn v(&mut self) -> &mut VertexInterface {
        let StageKind::Vertex(vertex) = &mut self.vs().interface.kind else { unreachable!() };
        vertex
    }

    fn f(&mut self) -> &mut FragmentInterface {
        let StageKind::Fragment(fragment) = &mut self.fs().interface.kind else { unreachable!() };
        fragment
    }

    fn c(&mut self) -> &mut ComputeInterface {
        let StageKind::Compute(compute) = &mut self.parts[0].interface.kind else { unreachable!() };
        compute
    }

    /// A number of position vectors, the rest of [`PositionExports`] by `change`.
    fn positions(&mut self, count: u32, change: fn(&mut PositionExports)) {
        self.v().pre_rasterization.positions.count = count;
        change(&mut self.v().pre_rasterization.positions);
    }

    /// The body starts the wave itself, so that no prolog needs the instance id.
    fn no_prolog(&mut self, vgpr_comp_cnt: u32) {
        self.v().vgpr_comp_cnt = vgpr_comp_cnt;
        self.vs().interface.prolog = false;
        self.vs().symbol = HardwareStage::Vs.entry_symbol().into();
    }

    /// The four components of a vertex parameter that are always these bits.
    fn constant(&mut self, bits: [u32; 4]) {
        for (param, bits) in self.v().pre_rasterization.params.iter_mut().zip(bits) {
            param.source = ParamSource::Constant(bits);
        }
    }

    /// As many locations, written by one stage and read by the other.
    fn locations(&mut self, count: u32) {
        let (params, input) = (self.v().pre_rasterization.params.clone(), self.f().inputs[0].clone());
        for location in 1..count {
            let semantic = Semantic::Location(location);
            let at = |param: &VertexParam| VertexParam {
                semantic,
                source: ParamSource::Vgpr(4 * location + u32::from(param.component)),
                ..param.clone()
            };
            self.v().pre_rasterization.params.extend(params.iter().map(at));
            self.f().inputs.push(FragmentInput { semantic, ..input.clone() });
        }
        self.vs().vgprs = 4 * count.max(3);
    }

    /// Both sides have this meaning instead of a location.
    fn semantic(&mut self, semantic: Semantic) {
        self.v().pre_rasterization.params.iter_mut().for_each(|param| param.semantic = semantic);
        self.f().inputs[0].semantic = semantic;
    }

    /// Colours at these locations, in registers from v0 on, without attachments.
    fn outputs(&mut self, locations: &[(u32, u8)]) {
        let first = self.f().colors[0].clone();
        self.f().colors =
            locations.iter().map(|&(location, index)| ColorOutput { location, index, ..first.clone() }).collect();
        self.state.color.attachments.clear();
    }

    fn attach(&mut self, location: u32, format: &str) -> &mut ColorAttachment {
        let format = format.parse().expect("a format");
        let attachments = &mut self.state.color.attachments;
        attachments.push(ColorAttachment { location, format, write_mask: 15, blend: false, blend_source_alpha: false });
        attachments.last_mut().expect("it was added")
    }

    /// Dual-source blending of the only attachment, which has this format; the second colour has these channels.
    fn dual(&mut self, format: &str, channels: u8) -> &mut ColorAttachment {
        self.outputs(&[(0, 0), (0, 1)]);
        self.f().colors[1].channels = channels;
        self.state.color.dual_source = true;
        let attachment = self.attach(0, format);
        attachment.blend = true;
        attachment
    }

    /// One attachment of this format, written by an output with these channels; `true`.
    pub fn only(&mut self, format: &str, channels: u8) -> bool {
        self.outputs(&[(0, 0)]);
        self.attach(0, format);
        self.f().colors[0].channels = channels;
        true
    }
}

/// Name, change, differing words.
pub type Case = (&'static str, fn(&mut Pipeline), &'static [(HardwareRegister, u32)]);

const CNTL_0: HardwareRegister = SPI_PS_INPUT_CNTL;

/// [`Pipeline::graphics`] itself: every register that a link writes, except the parts' checksums.
pub const GRAPHICS: &[(HardwareRegister, u32)] = &[
    // 10 VGPRs in units of 8, 12 SGPRs in units of 8, FLOAT_MODE 0xc0, DX10_CLAMP, VGPR_COMP_CNT 3 for the prolog, MEM_ORDERED.
    (SPI_SHADER_PGM_RSRC1_VS, 0x0b2c_0041),
    // 7 user SGPRs.
    (SPI_SHADER_PGM_RSRC2_VS, 0x0000_000e),
    // s1, for a table per shader, is reserved and not mapped.
    (SPI_SHADER_USER_DATA_VS.nth(0), 0x1000_0000),
    (SPI_SHADER_USER_DATA_VS.nth(2), 0),
    (SPI_SHADER_USER_DATA_VS.nth(3), 0x1000_000f),
    (SPI_SHADER_USER_DATA_VS.nth(4), 0x1000_0003),
    (SPI_SHADER_USER_DATA_VS.nth(5), 0x1000_0004),
    (SPI_SHADER_USER_DATA_VS.nth(6), 0x1000_0002),
    // 10 VGPRs in units of 4: waves of 64.
    (SPI_SHADER_PGM_RSRC1_PS, 0x022c_0042),
    (SPI_SHADER_PGM_RSRC2_PS, 0x0000_0008),
    (SPI_SHADER_USER_DATA_PS.nth(0), 0x1000_0000),
    (SPI_SHADER_USER_DATA_PS.nth(2), 0),
    (SPI_SHADER_USER_DATA_PS.nth(3), 0x1000_0002),
    (SPI_PS_INPUT_ENA, 2),
    (SPI_PS_INPUT_ADDR, 2),
    // One attribute, from slot 0.
    (SPI_PS_IN_CONTROL, 1),
    (CNTL_0, 0),
    (SPI_BARYC_CNTL, 0x0100_0000),
    (SPI_VS_OUT_CONFIG, 0),
    (SPI_SHADER_POS_FORMAT, 4),
    (SPI_SHADER_COL_FORMAT, 4),
    (SPI_SHADER_Z_FORMAT, 0),
    (CB_SHADER_MASK, 0xf),
    // EARLY_Z_THEN_LATE_Z, ALPHA_TO_MASK_DISABLE.
    (DB_SHADER_CONTROL, 0x0810),
    (PA_CL_CLIP_CNTL, 0x0100_0000),
    (PA_CL_VTE_CNTL, 0x43f),
    (PA_CL_VS_OUT_CNTL, 0),
    (PA_SU_VTX_CNTL, 0x2d),
    (PA_SC_MODE_CNTL_1, 0x0602_018c),
    (PA_SC_SHADER_CONTROL, 0),
    (PA_SC_AA_CONFIG, 0),
    (PA_STEREO_CNTL, 2),
    // MAX_PRIMGRP_IN_WAVE 2, VS_W32_EN.
    (VGT_SHADER_STAGES_EN, 0x0081_0000),
    (VGT_PRIMITIVEID_EN, 0),
    (VGT_REUSE_OFF, 0),
    (VGT_GS_ONCHIP_CNTL, 0),
    (IA_MULTI_VGT_PARAM_PIPED, 127),
    (VGT_STRMOUT_CONFIG, 0),
    (VGT_STRMOUT_BUFFER_CONFIG, 0),
];

/// [`Pipeline::compute`] itself.
pub const COMPUTE: &[(HardwareRegister, u32)] = &[
    (COMPUTE_PGM_RSRC1, 0x602c_0041),
    // 7 user SGPRs, three workgroup ids, the group's size, local ids x and y.
    (COMPUTE_PGM_RSRC2, 0x0f8e),
    (COMPUTE_PGM_RSRC3, 0),
    (COMPUTE_NUM_THREAD.nth(0), 8),
    (COMPUTE_NUM_THREAD.nth(1), 4),
    (COMPUTE_NUM_THREAD.nth(2), 1),
    (COMPUTE_USER_DATA.nth(0), 0x1000_0000),
    // The pointer to the grid size; the loader fills s3 with its high half.
    (COMPUTE_USER_DATA.nth(2), 0x1000_0006),
    (COMPUTE_USER_DATA.nth(4), 0),
    // Two set pointers, eight dwords of dynamic buffers, then the second dword of push constants.
    (COMPUTE_USER_DATA.nth(5), 11),
    (COMPUTE_USER_DATA.nth(6), 0x1000_0002),
    (COMPUTE_DISPATCH_INITIATOR, 0x8000),
];
