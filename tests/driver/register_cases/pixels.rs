//! Parameters, the fragment stage and colours.

use super::{CNTL_0, Case};
use dovetail::kinds::{DepthMode, NumericKind};
use dovetail::metadata::interface::*;
use dovetail::metadata::registers::*;
use dovetail::target::WaveSize;

const ONE: u32 = 0x3f80_0000;
const CNTL_1: HardwareRegister = SPI_PS_INPUT_CNTL.nth(1);
const HALF: ComponentType = ComponentType { kind: NumericKind::Float, bits: 16 };

/// Parameters (9.2).
pub const PARAMETERS: &[Case] = &[
    ("nothing read", |p| p.f().inputs.clear(), &[(SPI_PS_IN_CONTROL, 0), (SPI_VS_OUT_CONFIG, 0x80)]),
    ("flat", |p| p.f().inputs[0].flat = true, &[(CNTL_0, 0x400)]),
    ("per vertex: slot, pass-through", |p| p.f().inputs[0].per_vertex = true, &[(CNTL_0, 0xc20)]),
    ("16 bits", |p| p.f().inputs[0].ty = HALF, &[(CNTL_0, 0x0108_0000)]),
    ("16 bits, flat", |p| (p.f().inputs[0].ty, p.f().inputs[0].flat) = (HALF, true), &[(CNTL_0, 0x400)]),
    (
        "the same smooth and flat: one slot, two attributes",
        |p| {
            let flat = FragmentInput { flat: true, ..p.f().inputs[0].clone() };
            p.f().inputs.push(flat);
        },
        &[(SPI_PS_IN_CONTROL, 2), (CNTL_1, 0x400)],
    ),
    ("two locations", |p| p.locations(2), &[(SPI_PS_IN_CONTROL, 2), (CNTL_1, 1), (SPI_VS_OUT_CONFIG, 2)]),
    (
        "three locations, the second not read",
        |p| {
            p.locations(3);
            p.f().inputs.remove(1);
        },
        &[(SPI_PS_IN_CONTROL, 2), (CNTL_1, 1), (SPI_VS_OUT_CONFIG, 2)],
    ),
    (
        "three locations in another order",
        |p| {
            p.locations(3);
            p.f().inputs.reverse();
        },
        &[(SPI_PS_IN_CONTROL, 3), (CNTL_1, 1), (SPI_PS_INPUT_CNTL.nth(2), 2), (SPI_VS_OUT_CONFIG, 4)],
    ),
    (
        "read but never written",
        |p| p.f().inputs[0].semantic = Semantic::Location(9),
        &[(CNTL_0, 0x20), (SPI_VS_OUT_CONFIG, 0x80)],
    ),
    (
        "written, then read but never written",
        |p| {
            let other = FragmentInput { semantic: Semantic::Location(9), ..p.f().inputs[0].clone() };
            p.f().inputs.push(other);
        },
        &[(SPI_PS_IN_CONTROL, 2), (CNTL_1, 0x20)],
    ),
    ("constant (0, 0, 0, 0)", |p| p.constant([0; 4]), &[(CNTL_0, 0x020), (SPI_VS_OUT_CONFIG, 0x80)]),
    ("constant (0, 0, 0, 1)", |p| p.constant([0, 0, 0, ONE]), &[(CNTL_0, 0x120), (SPI_VS_OUT_CONFIG, 0x80)]),
    ("constant (1, 1, 1, 0)", |p| p.constant([ONE, ONE, ONE, 0]), &[(CNTL_0, 0x220), (SPI_VS_OUT_CONFIG, 0x80)]),
    ("constant (1, 1, 1, 1)", |p| p.constant([ONE; 4]), &[(CNTL_0, 0x320), (SPI_VS_OUT_CONFIG, 0x80)]),
    (
        "constant (0, 0, 0, 1), flat",
        |p| (p.constant([0, 0, 0, ONE]), p.f().inputs[0].flat = true).1,
        &[(CNTL_0, 0x120), (SPI_VS_OUT_CONFIG, 0x80)],
    ),
    ("another constant is exported", |p| p.constant([0, 0, ONE, ONE]), &[]),
    (
        "the fourth channel of it is not read",
        |p| (p.constant([ONE, ONE, ONE, 5]), p.f().inputs[0].channels = 7).1,
        &[(CNTL_0, 0x220), (SPI_VS_OUT_CONFIG, 0x80)],
    ),
    (
        "per vertex: default vectors are bypassed",
        |p| (p.constant([0; 4]), p.f().inputs[0].per_vertex = true).1,
        &[(CNTL_0, 0xc20)],
    ),
    (
        "point coordinate",
        |p| p.f().inputs[0].semantic = Semantic::PointCoord,
        &[
            (CNTL_0, 0x2_0020),
            (SPI_VS_OUT_CONFIG, 0x80),
            // PNT_SPRITE_ENA, X = S (2), Y = T (3), Z = 0, W = 1.
            (SPI_INTERP_CONTROL_0, 0x086a),
        ],
    ),
    (
        "primitive id, written",
        |p| (p.semantic(Semantic::PrimitiveId), p.f().inputs[0].flat = true).1,
        &[(CNTL_0, 0x400)],
    ),
    ("layer, written", |p| (p.semantic(Semantic::Layer), p.f().inputs[0].flat = true).1, &[(CNTL_0, 0x400)]),
    (
        "viewport index, never written: OFFSET 0x20, not flat",
        |p| (p.f().inputs[0].semantic, p.f().inputs[0].flat) = (Semantic::ViewportIndex, true),
        &[(CNTL_0, 0x20), (SPI_VS_OUT_CONFIG, 0x80)],
    ),
    ("clip distances as inputs", |p| p.semantic(Semantic::ClipDistance(1)), &[]),
    ("cull distances as inputs", |p| p.semantic(Semantic::CullDistance(0)), &[]),
    (
        "parameters that the body exports itself",
        |p| {
            p.v().pre_rasterization.params.iter_mut().for_each(|param| param.source = ParamSource::Exported);
            p.v().pre_rasterization.exported_params = 1;
        },
        &[],
    ),
    (
        "the body exports more than is read",
        |p| {
            p.v().pre_rasterization.params.iter_mut().for_each(|param| param.source = ParamSource::Exported);
            p.v().pre_rasterization.exported_params = 5;
        },
        &[(SPI_VS_OUT_CONFIG, 8)],
    ),
];

/// The fragment stage: depth, coverage, samples (6.1, 6.3; `SPI_SHADER_Z_FORMAT`: 7.2).
pub const FRAGMENT: &[Case] = &[
    ("kills", |p| p.f().kills = true, &[(DB_SHADER_CONTROL, 0x0850)]),
    ("early tests", |p| p.f().early_fragment_tests = true, &[(DB_SHADER_CONTROL, 0x1810)]),
    (
        "early tests, kills",
        |p| (p.f().early_fragment_tests, p.f().kills) = (true, true),
        &[(DB_SHADER_CONTROL, 0x1850)],
    ),
    ("writes memory: late tests", |p| p.fs().interface.writes_memory = true, &[(DB_SHADER_CONTROL, 0x0a00)]),
    (
        "writes memory, kills",
        |p| (p.fs().interface.writes_memory, p.f().kills) = (true, true),
        &[(DB_SHADER_CONTROL, 0x0a40)],
    ),
    (
        "early tests, writes memory",
        |p| (p.fs().interface.writes_memory, p.f().early_fragment_tests) = (true, true),
        &[(DB_SHADER_CONTROL, 0x1c10)],
    ),
    (
        "depth",
        |p| (p.f().writes_depth, p.f().depth) = (true, V8),
        &[(SPI_SHADER_Z_FORMAT, 1), (DB_SHADER_CONTROL, 0x0811)],
    ),
    (
        "stencil",
        |p| (p.f().writes_stencil, p.f().stencil) = (true, V8),
        &[(SPI_SHADER_Z_FORMAT, 2), (DB_SHADER_CONTROL, 0x0812)],
    ),
    (
        "sample mask",
        |p| (p.f().writes_sample_mask, p.f().sample_mask) = (true, V8),
        &[(SPI_SHADER_Z_FORMAT, 9), (DB_SHADER_CONTROL, 0x0910)],
    ),
    (
        "depth and stencil",
        |p| (p.f().writes_depth, p.f().depth, p.f().writes_stencil, p.f().stencil) = (true, V8, true, V8),
        &[(SPI_SHADER_Z_FORMAT, 2), (DB_SHADER_CONTROL, 0x0813)],
    ),
    (
        "depth and sample mask",
        |p| (p.f().writes_depth, p.f().depth, p.f().writes_sample_mask, p.f().sample_mask) = (true, V8, true, V8),
        &[(SPI_SHADER_Z_FORMAT, 9), (DB_SHADER_CONTROL, 0x0911)],
    ),
    (
        "depth, stencil and sample mask",
        |p| {
            (p.f().writes_depth, p.f().writes_stencil, p.f().writes_sample_mask) = (true, true, true);
            (p.f().depth, p.f().stencil, p.f().sample_mask) = (V8, V8, V8);
        },
        &[(SPI_SHADER_Z_FORMAT, 9), (DB_SHADER_CONTROL, 0x0913)],
    ),
    (
        "depth, less",
        |p| (p.f().writes_depth, p.f().depth, p.f().depth_mode) = (true, V8, DepthMode::Less),
        &[(SPI_SHADER_Z_FORMAT, 1), (DB_SHADER_CONTROL, 0x2811)],
    ),
    (
        "depth, greater",
        |p| (p.f().writes_depth, p.f().depth, p.f().depth_mode) = (true, V8, DepthMode::Greater),
        &[(SPI_SHADER_Z_FORMAT, 1), (DB_SHADER_CONTROL, 0x4811)],
    ),
    (
        "depth, unchanged",
        |p| (p.f().writes_depth, p.f().depth, p.f().depth_mode) = (true, V8, DepthMode::Unchanged),
        &[(SPI_SHADER_Z_FORMAT, 1), (DB_SHADER_CONTROL, 0x0811)],
    ),
    (
        "depth, writes memory",
        |p| (p.f().writes_depth, p.f().depth, p.fs().interface.writes_memory) = (true, V8, true),
        &[(SPI_SHADER_Z_FORMAT, 1), (DB_SHADER_CONTROL, 0x0a01)],
    ),
    (
        "early tests, coverage after them",
        |p| (p.f().early_fragment_tests, p.f().post_depth_coverage) = (true, true),
        &[(DB_SHADER_CONTROL, 0x0080_1810)],
    ),
    ("fully covered", |p| p.f().fully_covered = true, &[(PA_SC_AA_CONFIG, 0x0400_0000)]),
    ("pixel centres at integers", |p| p.f().pixel_center_integer = true, &[(SPI_BARYC_CNTL, 0x0110_0000)]),
    ("per sample", |p| p.f().per_sample = true, &[(SPI_BARYC_CNTL, 0x0102_0000), (PA_SC_MODE_CNTL_1, 0x0603_018c)]),
    (
        "per sample, pixel centres at integers",
        |p| (p.f().per_sample, p.f().pixel_center_integer) = (true, true),
        &[(SPI_BARYC_CNTL, 0x0110_0000), (PA_SC_MODE_CNTL_1, 0x0603_018c)],
    ),
    (
        "sample shading of 4 samples",
        |p| p.state.color.sample_shading = true,
        &[(SPI_BARYC_CNTL, 0x0102_0000), (PA_SC_MODE_CNTL_1, 0x0603_018c)],
    ),
    (
        "sample shading, pixel centres at integers",
        |p| (p.state.color.sample_shading, p.f().pixel_center_integer) = (true, true),
        &[(SPI_BARYC_CNTL, 0x0110_0000), (PA_SC_MODE_CNTL_1, 0x0603_018c)],
    ),
    ("sample shading of 1 sample", |p| (p.state.color.sample_shading, p.state.color.samples) = (true, 1), &[]),
    ("sample shading of 0 samples", |p| (p.state.color.sample_shading, p.state.color.samples) = (true, 0), &[]),
    (
        "waves of 32",
        |p| p.fs().interface.wave = WaveSize::W32,
        &[(SPI_PS_IN_CONTROL, 0x8001), (SPI_SHADER_PGM_RSRC1_PS, 0x022c_0041)],
    ),
    ("256 VGPRs, 104 SGPRs", |p| (p.fs().vgprs, p.fs().sgprs) = (256, 104), &[(SPI_SHADER_PGM_RSRC1_PS, 0x022c_033f)]),
    (
        "scratch memory",
        |p| {
            p.fs().scratch = 4;
            p.fs().registers[1].1 = 1;
        },
        &[(SPI_SHADER_PGM_RSRC2_PS, 9)],
    ),
    (
        "other inputs of the wave",
        |p| (p.fs().registers[2].1, p.fs().registers[3].1) = (0x0301, 0x0303),
        &[(SPI_PS_INPUT_ENA, 0x0301), (SPI_PS_INPUT_ADDR, 0x0303)],
    ),
];

const V8: Option<ResultSource> = Some(ResultSource::Vgpr(8));

/// Colours (7.1, 7.2); [`crate::registers`] has every format.
pub const COLORS: &[Case] = &[
    ("no outputs", |p| p.f().colors.clear(), &[(SPI_SHADER_COL_FORMAT, 0), (CB_SHADER_MASK, 0)]),
    (
        "no outputs, kills: an empty export",
        |p| (p.f().colors.clear(), p.f().kills = true).1,
        &[(SPI_SHADER_COL_FORMAT, 1), (CB_SHADER_MASK, 0), (DB_SHADER_CONTROL, 0x0850)],
    ),
    (
        "depth only, kills: depth is the export",
        |p| {
            p.f().colors.clear();
            (p.f().kills, p.f().writes_depth, p.f().depth) = (true, true, V8);
        },
        &[(SPI_SHADER_COL_FORMAT, 0), (CB_SHADER_MASK, 0), (SPI_SHADER_Z_FORMAT, 1), (DB_SHADER_CONTROL, 0x0851)],
    ),
    ("no attachments", |p| p.state.color.attachments.clear(), &[(SPI_SHADER_COL_FORMAT, 0), (CB_SHADER_MASK, 0)]),
    (
        "nothing written",
        |p| p.state.color.attachments[0].write_mask = 0,
        &[(SPI_SHADER_COL_FORMAT, 0), (CB_SHADER_MASK, 0)],
    ),
    ("one channel written: the driver's CB_TARGET_MASK", |p| p.state.color.attachments[0].write_mask = 2, &[]),
    ("blending of 8 bits", |p| p.state.color.attachments[0].blend = true, &[]),
    ("alpha to coverage", |p| p.state.color.alpha_to_coverage = true, &[(DB_SHADER_CONTROL, 0x0010)]),
    (
        "alpha to coverage and a sample mask",
        |p| {
            p.state.color.alpha_to_coverage = true;
            (p.f().writes_sample_mask, p.f().sample_mask) = (true, V8);
        },
        &[(SPI_SHADER_Z_FORMAT, 9), (DB_SHADER_CONTROL, 0x0110)],
    ),
    (
        "alpha to coverage, no attachment",
        |p| (p.outputs(&[(0, 0)]), p.state.color.alpha_to_coverage = true).1,
        &[(DB_SHADER_CONTROL, 0x0010), (SPI_SHADER_COL_FORMAT, 3), (CB_SHADER_MASK, 9)],
    ),
    (
        "alpha to coverage, nothing written",
        |p| (p.state.color.alpha_to_coverage, p.state.color.attachments[0].write_mask) = (true, 0),
        &[(DB_SHADER_CONTROL, 0x0010)],
    ),
    (
        "alpha to coverage, no alpha in the attachment",
        |p| {
            p.outputs(&[(0, 0)]);
            p.attach(0, "R32_SFLOAT");
            p.state.color.alpha_to_coverage = true;
        },
        &[(DB_SHADER_CONTROL, 0x0010), (SPI_SHADER_COL_FORMAT, 3)],
    ),
    (
        "alpha to coverage takes location 0 only",
        |p| {
            p.outputs(&[(0, 0), (1, 0)]);
            p.attach(0, "R8G8B8A8_UINT");
            p.attach(1, "R8G8B8A8_UINT");
            p.state.color.alpha_to_coverage = true;
        },
        &[(DB_SHADER_CONTROL, 0x0010), (SPI_SHADER_COL_FORMAT, 0x79), (CB_SHADER_MASK, 0xff)],
    ),
    ("alpha to one: code", |p| p.state.color.alpha_to_one = true, &[]),
    (
        "alpha to one, no alpha in the attachment",
        |p| p.state.color.alpha_to_one = p.only("R32G32_SFLOAT", 15),
        &[(SPI_SHADER_COL_FORMAT, 2)],
    ),
    (
        "alpha to one, blending with it, no alpha in the attachment or the shader",
        |p| {
            p.state.color.alpha_to_one = p.only("R32G32_SFLOAT", 3);
            let attachment = &mut p.state.color.attachments[0];
            (attachment.blend, attachment.blend_source_alpha) = (true, true);
        },
        &[(SPI_SHADER_COL_FORMAT, 9)],
    ),
    ("location 1", |p| (p.outputs(&[(1, 0)]), _ = p.attach(1, "R8G8B8A8_UNORM")).1, &[(CB_SHADER_MASK, 0xf0)]),
    (
        "locations 0 and 2",
        |p| {
            p.outputs(&[(0, 0), (2, 0)]);
            p.attach(0, "R8G8B8A8_UNORM");
            p.attach(2, "R8G8B8A8_UNORM");
        },
        &[(SPI_SHADER_COL_FORMAT, 0x44), (CB_SHADER_MASK, 0xf0f)],
    ),
    (
        "of three outputs the second has no attachment",
        |p| {
            p.outputs(&[(0, 0), (1, 0), (2, 0)]);
            p.attach(2, "R32_SFLOAT");
            p.attach(0, "R8G8B8A8_UINT");
        },
        &[(SPI_SHADER_COL_FORMAT, 0x17), (CB_SHADER_MASK, 0xf0f)],
    ),
    ("an attachment without an output", |p| _ = p.attach(5, "R8G8B8A8_UNORM"), &[]),
    (
        "four formats",
        |p| {
            p.outputs(&[(0, 0), (1, 0), (3, 0), (7, 0)]);
            p.attach(0, "R32G32B32A32_SFLOAT");
            p.attach(1, "R8G8B8A8_SINT");
            p.attach(3, "R32_SFLOAT");
            p.attach(7, "R16G16_UNORM");
        },
        &[(SPI_SHADER_COL_FORMAT, 0x5189), (CB_SHADER_MASK, 0xf000_f0ff)],
    ),
    (
        "eight outputs",
        |p| {
            p.outputs(&[(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0)]);
            for location in 0..8 {
                p.attach(location, "R8G8B8A8_UNORM");
            }
        },
        &[(SPI_SHADER_COL_FORMAT, 0x4444_4444), (CB_SHADER_MASK, 0xffff_ffff)],
    ),
    ("dual source", |p| _ = p.dual("R8G8B8A8_UNORM", 15), &[(SPI_SHADER_COL_FORMAT, 0x44), (CB_SHADER_MASK, 0xff)]),
    (
        "dual source, no second colour: undefined, but the hardware waits for it",
        |p| {
            p.dual("R8G8B8A8_UNORM", 15);
            p.f().colors.truncate(1);
        },
        &[(SPI_SHADER_COL_FORMAT, 0x44), (CB_SHADER_MASK, 0xff)],
    ),
    (
        "dual source, 16 bits",
        |p| _ = p.dual("R16G16B16A16_UNORM", 15),
        &[(SPI_SHADER_COL_FORMAT, 0x99), (CB_SHADER_MASK, 0xff)],
    ),
    (
        "dual source, two channels",
        |p| _ = p.dual("R32G32_SFLOAT", 15),
        &[(SPI_SHADER_COL_FORMAT, 0x22), (CB_SHADER_MASK, 0xff)],
    ),
    (
        "dual source, two channels, source alpha",
        |p| p.dual("R32G32_SFLOAT", 15).blend_source_alpha = true,
        &[(SPI_SHADER_COL_FORMAT, 0x99), (CB_SHADER_MASK, 0xff)],
    ),
    (
        "dual source, the second colour without alpha",
        |p| p.dual("R16G16_UNORM", 7).blend_source_alpha = true,
        &[(SPI_SHADER_COL_FORMAT, 0x29), (CB_SHADER_MASK, 0xff)],
    ),
    (
        "dual source and alpha to coverage",
        |p| {
            p.dual("R32G32_SFLOAT", 15);
            p.state.color.alpha_to_coverage = true;
        },
        &[(SPI_SHADER_COL_FORMAT, 0x99), (CB_SHADER_MASK, 0xff), (DB_SHADER_CONTROL, 0x0010)],
    ),
    (
        "the body exports itself",
        |p| {
            p.fs().interface.epilog = false;
            p.fs().joint = false;
            p.f().exported = Some(ExportedFormats { col_format: 0x94, cb_mask: 0xf0f, z_format: 2 });
        },
        &[(SPI_SHADER_COL_FORMAT, 0x94), (CB_SHADER_MASK, 0xf0f), (SPI_SHADER_Z_FORMAT, 2)],
    ),
];
