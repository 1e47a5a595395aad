//! The vertex and the compute stage, and state that is not about colours.

use super::Case;
use dovetail::metadata::interface::*;
use dovetail::metadata::registers::*;
use dovetail::target::WaveSize;

/// The vertex stage: positions, system values, counts (6.1, 6.2; `PA_CL_VS_OUT_CNTL`: 6.3).
pub const VERTEX: &[Case] = &[
    (
        "point size",
        |p| p.positions(2, |e| e.point_size = true),
        &[(SPI_SHADER_POS_FORMAT, 0x44), (PA_CL_VS_OUT_CNTL, 0x0121_0000)],
    ),
    (
        "layer",
        |p| p.positions(2, |e| e.layer = true),
        &[(SPI_SHADER_POS_FORMAT, 0x44), (PA_CL_VS_OUT_CNTL, 0x0124_0000)],
    ),
    (
        "viewport index",
        |p| p.positions(2, |e| e.viewport_index = true),
        &[
            (SPI_SHADER_POS_FORMAT, 0x44),
            (PA_CL_VS_OUT_CNTL, 0x0128_0000),
            (PA_CL_CLIP_CNTL, 0x0300_0000),
            (VGT_REUSE_OFF, 1),
        ],
    ),
    (
        "shading rate",
        |p| p.positions(2, |e| e.shading_rate = true),
        &[(SPI_SHADER_POS_FORMAT, 0x44), (PA_CL_VS_OUT_CNTL, 0x1120_0000)],
    ),
    (
        "point size and layer",
        |p| p.positions(2, |e| (e.point_size, e.layer) = (true, true)),
        &[(SPI_SHADER_POS_FORMAT, 0x44), (PA_CL_VS_OUT_CNTL, 0x0125_0000)],
    ),
    (
        "everything in the second vector",
        |p| {
            p.positions(2, |e| {
                (e.point_size, e.layer, e.viewport_index, e.shading_rate) = (true, true, true, true);
            });
        },
        &[
            (SPI_SHADER_POS_FORMAT, 0x44),
            (PA_CL_VS_OUT_CNTL, 0x112d_0000),
            (PA_CL_CLIP_CNTL, 0x0300_0000),
            (VGT_REUSE_OFF, 1),
        ],
    ),
    (
        "1 clip distance",
        |p| p.positions(2, |e| e.clip_distances = 1),
        &[(SPI_SHADER_POS_FORMAT, 0x44), (PA_CL_VS_OUT_CNTL, 0x0140_0101)],
    ),
    (
        "4 clip distances",
        |p| p.positions(2, |e| e.clip_distances = 4),
        &[(SPI_SHADER_POS_FORMAT, 0x44), (PA_CL_VS_OUT_CNTL, 0x0140_0f0f)],
    ),
    (
        "5 clip distances",
        |p| p.positions(3, |e| e.clip_distances = 5),
        &[(SPI_SHADER_POS_FORMAT, 0x444), (PA_CL_VS_OUT_CNTL, 0x01c0_1f1f)],
    ),
    (
        "8 clip distances",
        |p| p.positions(3, |e| e.clip_distances = 8),
        &[(SPI_SHADER_POS_FORMAT, 0x444), (PA_CL_VS_OUT_CNTL, 0x01c0_ffff)],
    ),
    (
        "1 cull distance",
        |p| p.positions(2, |e| e.cull_distances = 1),
        &[(SPI_SHADER_POS_FORMAT, 0x44), (PA_CL_VS_OUT_CNTL, 0x0140_0100)],
    ),
    (
        "8 cull distances",
        |p| p.positions(3, |e| e.cull_distances = 8),
        &[(SPI_SHADER_POS_FORMAT, 0x444), (PA_CL_VS_OUT_CNTL, 0x01c0_ff00)],
    ),
    (
        "2 clip and 2 cull distances",
        |p| p.positions(2, |e| (e.clip_distances, e.cull_distances) = (2, 2)),
        &[(SPI_SHADER_POS_FORMAT, 0x44), (PA_CL_VS_OUT_CNTL, 0x0140_0f03)],
    ),
    (
        "2 clip and 3 cull distances",
        |p| p.positions(3, |e| (e.clip_distances, e.cull_distances) = (2, 3)),
        &[(SPI_SHADER_POS_FORMAT, 0x444), (PA_CL_VS_OUT_CNTL, 0x01c0_1f03)],
    ),
    (
        "point size, 6 clip and 2 cull distances",
        |p| p.positions(4, |e| (e.point_size, e.clip_distances, e.cull_distances) = (true, 6, 2)),
        &[(SPI_SHADER_POS_FORMAT, 0x4444), (PA_CL_VS_OUT_CNTL, 0x01e1_ff3f)],
    ),
    ("primitive id", |p| p.v().uses_primitive_id = true, &[(VGT_PRIMITIVEID_EN, 1)]),
    ("no prolog, vertex id only", |p| p.no_prolog(0), &[(SPI_SHADER_PGM_RSRC1_VS, 0x082c_0041)]),
    ("no prolog, primitive id", |p| p.no_prolog(2), &[(SPI_SHADER_PGM_RSRC1_VS, 0x0a2c_0041)]),
    ("no prolog, instance id", |p| p.no_prolog(3), &[]),
    (
        "waves of 64",
        |p| p.vs().interface.wave = WaveSize::W64,
        &[(VGT_SHADER_STAGES_EN, 0x0001_0000), (SPI_SHADER_PGM_RSRC1_VS, 0x0b2c_0042)],
    ),
    ("256 VGPRs, 104 SGPRs", |p| (p.vs().vgprs, p.vs().sgprs) = (256, 104), &[(SPI_SHADER_PGM_RSRC1_VS, 0x0b2c_031f)]),
    ("16 VGPRs, 16 SGPRs", |p| (p.vs().vgprs, p.vs().sgprs) = (16, 16), &[(SPI_SHADER_PGM_RSRC1_VS, 0x0b2c_0041)]),
    ("17 VGPRs, 17 SGPRs", |p| (p.vs().vgprs, p.vs().sgprs) = (17, 17), &[(SPI_SHADER_PGM_RSRC1_VS, 0x0b2c_0082)]),
    ("32-bit denormals", |p| p.vs().registers[0].1 = 0x082f_0000, &[(SPI_SHADER_PGM_RSRC1_VS, 0x0b2f_0041)]),
    (
        "scratch memory",
        |p| {
            p.vs().scratch = 16;
            p.vs().registers[1].1 = 1;
        },
        &[(SPI_SHADER_PGM_RSRC2_VS, 0x0f)],
    ),
    (
        "view, draw",
        |p| {
            p.vs().interface.user_data.extend([UserData::ViewId, UserData::DrawIndex]);
            p.vs().interface.entry_sgprs = 9;
        },
        &[
            (SPI_SHADER_PGM_RSRC2_VS, 0x12),
            (SPI_SHADER_USER_DATA_VS.nth(7), 0x1000_000b),
            (SPI_SHADER_USER_DATA_VS.nth(8), 0x1000_0005),
        ],
    ),
    (
        "3 user SGPRs in the fragment stage",
        |p| (p.fs().interface.user_data.truncate(3), p.fs().interface.entry_sgprs = 4).1,
        &[(SPI_SHADER_PGM_RSRC2_PS, 6)],
    ),
    (
        "provoking vertices after the primitive mask",
        |p| p.fs().interface.entry_sgprs += 1,
        &[(SPI_SHADER_PGM_RSRC1_PS, 0x0a2c_0042)],
    ),
];

/// State of the rasterizer and the layout, and what must not reach a register (4, 6.1).
pub const STATE: &[Case] = &[
    ("discard", |p| p.state.raster.discard = true, &[(PA_CL_CLIP_CNTL, 0x0140_0000)]),
    ("clip plane 0", |p| p.state.raster.clip_plane_mask = 1, &[(PA_CL_CLIP_CNTL, 0x0100_0001)]),
    ("clip planes 1, 3, 5", |p| p.state.raster.clip_plane_mask = 0b10_1010, &[(PA_CL_CLIP_CNTL, 0x0100_002a)]),
    ("six clip planes", |p| p.state.raster.clip_plane_mask = 63, &[(PA_CL_CLIP_CNTL, 0x0100_003f)]),
    ("inner coverage", |p| p.state.raster.inner_coverage = true, &[(PA_SC_AA_CONFIG, 0x0400_0000)]),
    (
        "discard, a clip plane, inner coverage",
        |p| (p.state.raster.discard, p.state.raster.clip_plane_mask, p.state.raster.inner_coverage) = (true, 4, true),
        &[(PA_CL_CLIP_CNTL, 0x0140_0004), (PA_SC_AA_CONFIG, 0x0400_0000)],
    ),
    (
        "a set pointer in root dword 5",
        |p| p.state.layout.sets[0].root = Some(5),
        &[(SPI_SHADER_USER_DATA_VS.nth(2), 5), (SPI_SHADER_USER_DATA_PS.nth(2), 5)],
    ),
    // Set pointers take dwords 0 and 1, the two elements of the dynamic buffer 2 to 9, push constants 10 to 13.
    (
        "another set",
        |p| p.fs().interface.user_data[2] = UserData::DescriptorSet(1),
        &[(SPI_SHADER_USER_DATA_PS.nth(2), 1)],
    ),
    (
        "push constants",
        |p| p.fs().interface.user_data[2] = UserData::PushConstant(3),
        &[(SPI_SHADER_USER_DATA_PS.nth(2), 13)],
    ),
    (
        "push constants in root dword 20",
        |p| {
            p.fs().interface.user_data[2] = UserData::PushConstant(3);
            p.state.layout.push_constant_root = Some(20);
        },
        &[(SPI_SHADER_USER_DATA_PS.nth(2), 23)],
    ),
    ("a root dword", |p| p.fs().interface.user_data[2] = UserData::Root(7), &[(SPI_SHADER_USER_DATA_PS.nth(2), 7)]),
    (
        "the view in the fragment stage",
        |p| p.fs().interface.user_data[2] = UserData::ViewId,
        &[(SPI_SHADER_USER_DATA_PS.nth(2), 0x1000_000b)],
    ),
    (
        "multiview: the code exports the layer",
        |p| {
            p.positions(2, |e| e.layer = true);
            p.v().pre_rasterization.multiview = true;
            p.state.view_mask = 0b1011;
        },
        &[(SPI_SHADER_POS_FORMAT, 0x44), (PA_CL_VS_OUT_CNTL, 0x0124_0000)],
    ),
    ("device index: code", |p| p.state.device_index = 1, &[]),
    ("1 sample: the driver's PA_SC_AA_CONFIG", |p| p.state.color.samples = 1, &[]),
    ("no number of samples", |p| p.state.color.samples = 0, &[]),
    ("8 samples", |p| p.state.color.samples = 8, &[]),
    ("16 samples", |p| p.state.color.samples = 16, &[]),
    ("a stride: the driver's descriptor", |p| p.state.vertex.bindings[0].stride = 64, &[]),
    ("instance rate: the prolog has the instance id anyway", |p| p.state.vertex.bindings[0].rate = INSTANCE, &[]),
    ("an attribute's format: code", |p| p.state.vertex.attributes[0].format = "R8G8B8A8_UNORM".parse().unwrap(), &[]),
    ("an attribute without a source", |p| p.state.vertex.attributes.clear(), &[]),
];

const INSTANCE: dovetail::state::VertexRate = dovetail::state::VertexRate::Instance;

/// The compute stage (6.1, 6.2).
pub const KERNELS: &[Case] = &[
    (
        "waves of 64",
        |p| p.parts[0].interface.wave = WaveSize::W64,
        &[(COMPUTE_DISPATCH_INITIATOR, 0), (COMPUTE_PGM_RSRC1, 0x602c_0042)],
    ),
    ("local id x", |p| p.c().tidig_comp_cnt = 0, &[(COMPUTE_PGM_RSRC2, 0x078e)]),
    ("local ids x, y, z", |p| p.c().tidig_comp_cnt = 2, &[(COMPUTE_PGM_RSRC2, 0x178e)]),
    (
        "workgroups of 1024",
        |p| p.c().local_size = [1024, 1, 1],
        &[(COMPUTE_NUM_THREAD.nth(0), 1024), (COMPUTE_NUM_THREAD.nth(1), 1)],
    ),
    (
        "workgroups of 1 x 2 x 3",
        |p| p.c().local_size = [1, 2, 3],
        &[(COMPUTE_NUM_THREAD.nth(0), 1), (COMPUTE_NUM_THREAD.nth(1), 2), (COMPUTE_NUM_THREAD.nth(2), 3)],
    ),
    ("no group size", |p| p.parts[0].interface.entry_sgprs = 10, &[(COMPUTE_PGM_RSRC2, 0x0b8e)]),
    (
        "scratch memory",
        |p| {
            p.parts[0].scratch = 64;
            p.parts[0].registers[1].1 = 1;
        },
        &[(COMPUTE_PGM_RSRC2, 0x0f8f)],
    ),
    ("2 KiB of workgroup memory", |p| p.parts[0].registers[1].1 = 4 << 15, &[(COMPUTE_PGM_RSRC2, 0x0002_0f8e)]),
    ("waves of one compute unit", |p| p.parts[0].registers[0].1 = 0x402c_0000, &[(COMPUTE_PGM_RSRC1, 0x402c_0041)]),
    (
        "256 VGPRs, 104 SGPRs",
        |p| (p.parts[0].vgprs, p.parts[0].sgprs) = (256, 104),
        &[(COMPUTE_PGM_RSRC1, 0x602c_031f)],
    ),
    (
        "the first push constant",
        |p| {
            p.parts[0].interface.user_data = vec![
                UserData::GlobalTable,
                UserData::PerShaderTable,
                UserData::WorkgroupCountLow,
                UserData::WorkgroupCountHigh,
                UserData::DescriptorSet(0),
                UserData::PushConstant(0),
                UserData::SpillTable,
            ];
        },
        &[(COMPUTE_USER_DATA.nth(5), 10)],
    ),
    (
        "a set pointer in root dword 7",
        |p| p.state.layout.sets[0].root = Some(7),
        &[
            (COMPUTE_USER_DATA.nth(4), 7),
            // The other set's pointer in 8, the dynamic buffers from 9, push constants from 17 on.
            (COMPUTE_USER_DATA.nth(5), 18),
        ],
    ),
    (
        "push constants in root dword 30",
        |p| p.state.layout.push_constant_root = Some(30),
        &[(COMPUTE_USER_DATA.nth(5), 31)],
    ),
    ("state of graphics", |p| p.state.raster.discard = true, &[]),
];
