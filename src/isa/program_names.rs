//! Names of hardware registers and of messages, by the numbers that program control has for them (checked against llvm-mc).

/// The hardware register with the clock of a shader engine, of 20 bits (LLVM: `HW_REG_SHADER_CYCLES`).
pub const SHADER_CYCLES: u16 = 29;
/// The one with the high half, where the clock has 64 bits (LLVM: `HW_REG_SHADER_CYCLES_HI`).
pub const SHADER_CYCLES_HI: u16 = 30;
/// The message that asks for the time (LLVM: `MSG_RTN_GET_REALTIME`).
pub const ASKS_REAL_TIME: u16 = 131;

/// The names of an instruction set.
#[derive(Debug)]
pub(super) struct ProgramNames {
    /// Hardware registers of `s_getreg_b32` and `s_setreg_b32`.
    pub(super) registers: &'static [(u16, &'static str)],
    /// Messages of `s_sendmsg`.
    pub(super) messages: &'static [(u16, &'static str)],
    /// Messages of `s_sendmsg_rtn_b32`.
    pub(super) questions: &'static [(u16, &'static str)],
    /// Halves of registers are spelled `.l` and `.h`; else a register alone is its low half.
    pub(super) halves: bool,
    /// 1/(2π) as the sums of a matrix product is listed with the digits of a double.
    pub(super) wide_sums: bool,
}

/// gfx10.
pub(super) static GFX10: ProgramNames = ProgramNames {
    registers: &[
        (1, "HW_REG_MODE"),
        (2, "HW_REG_STATUS"),
        (3, "HW_REG_TRAPSTS"),
        (5, "HW_REG_GPR_ALLOC"),
        (6, "HW_REG_LDS_ALLOC"),
        (7, "HW_REG_IB_STS"),
        (15, "HW_REG_SH_MEM_BASES"),
        (20, "HW_REG_FLAT_SCR_LO"),
        (21, "HW_REG_FLAT_SCR_HI"),
        (23, "HW_REG_HW_ID1"),
        (24, "HW_REG_HW_ID2"),
        (SHADER_CYCLES, "HW_REG_SHADER_CYCLES"),
    ],
    messages: &[(1, "MSG_INTERRUPT"), (9, "MSG_GS_ALLOC_REQ")],
    questions: &[],
    halves: true,
    wide_sums: true,
};

/// gfx11.
pub(super) static GFX11: ProgramNames = ProgramNames {
    registers: &[
        (1, "HW_REG_MODE"),
        (2, "HW_REG_STATUS"),
        (3, "HW_REG_TRAPSTS"),
        (5, "HW_REG_GPR_ALLOC"),
        (6, "HW_REG_LDS_ALLOC"),
        (7, "HW_REG_IB_STS"),
        (15, "HW_REG_SH_MEM_BASES"),
        (18, "HW_REG_PERF_SNAPSHOT_PC_LO"),
        (19, "HW_REG_PERF_SNAPSHOT_PC_HI"),
        (20, "HW_REG_FLAT_SCR_LO"),
        (21, "HW_REG_FLAT_SCR_HI"),
        (23, "HW_REG_HW_ID1"),
        (24, "HW_REG_HW_ID2"),
        (27, "HW_REG_PERF_SNAPSHOT_DATA"),
        (SHADER_CYCLES, "HW_REG_SHADER_CYCLES"),
    ],
    messages: &[
        (1, "MSG_INTERRUPT"),
        (2, "MSG_HS_TESSFACTOR"),
        (3, "MSG_DEALLOC_VGPRS"),
        (5, "MSG_STALL_WAVE_GEN"),
        (6, "MSG_HALT_WAVES"),
        (9, "MSG_GS_ALLOC_REQ"),
    ],
    questions: &[
        (128, "MSG_RTN_GET_DOORBELL"),
        (129, "MSG_RTN_GET_DDID"),
        (130, "MSG_RTN_GET_TMA"),
        (ASKS_REAL_TIME, "MSG_RTN_GET_REALTIME"),
        (132, "MSG_RTN_SAVE_WAVE"),
        (133, "MSG_RTN_GET_TBA"),
        (134, "MSG_RTN_GET_TBA_TO_PC"),
    ],
    halves: true,
    wide_sums: true,
};

/// gfx12.
pub(super) static GFX12: ProgramNames = ProgramNames {
    registers: &[
        (1, "HW_REG_WAVE_MODE"),
        (2, "HW_REG_WAVE_STATUS"),
        (4, "HW_REG_WAVE_STATE_PRIV"),
        (5, "HW_REG_WAVE_GPR_ALLOC"),
        (6, "HW_REG_WAVE_LDS_ALLOC"),
        (7, "HW_REG_IB_STS"),
        (10, "HW_REG_PERF_SNAPSHOT_DATA"),
        (11, "HW_REG_PERF_SNAPSHOT_PC_LO"),
        (12, "HW_REG_PERF_SNAPSHOT_PC_HI"),
        (15, "HW_REG_PERF_SNAPSHOT_DATA1"),
        (16, "HW_REG_PERF_SNAPSHOT_DATA2"),
        (17, "HW_REG_WAVE_EXCP_FLAG_PRIV"),
        (18, "HW_REG_WAVE_EXCP_FLAG_USER"),
        (19, "HW_REG_WAVE_TRAP_CTRL"),
        (20, "HW_REG_WAVE_SCRATCH_BASE_LO"),
        (21, "HW_REG_WAVE_SCRATCH_BASE_HI"),
        (23, "HW_REG_WAVE_HW_ID1"),
        (24, "HW_REG_WAVE_HW_ID2"),
        (26, "HW_REG_WAVE_SCHED_MODE"),
        (SHADER_CYCLES, "HW_REG_SHADER_CYCLES_LO"),
        (SHADER_CYCLES_HI, "HW_REG_SHADER_CYCLES_HI"),
        (31, "HW_REG_WAVE_DVGPR_ALLOC_LO"),
        (32, "HW_REG_WAVE_DVGPR_ALLOC_HI"),
    ],
    messages: &[(1, "MSG_INTERRUPT"), (2, "MSG_HS_TESSFACTOR"), (3, "MSG_DEALLOC_VGPRS"), (9, "MSG_GS_ALLOC_REQ")],
    questions: &[
        (128, "MSG_RTN_GET_DOORBELL"),
        (129, "MSG_RTN_GET_DDID"),
        (130, "MSG_RTN_GET_TMA"),
        (ASKS_REAL_TIME, "MSG_RTN_GET_REALTIME"),
        (132, "MSG_RTN_SAVE_WAVE"),
        (133, "MSG_RTN_GET_TBA"),
        (134, "MSG_RTN_GET_TBA_TO_PC"),
        (135, "MSG_RTN_GET_SE_AID_ID"),
    ],
    halves: false,
    wide_sums: false,
};
