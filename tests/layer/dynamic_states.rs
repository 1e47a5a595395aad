//! Draws with each dynamic state that lavapipe has besides those of `draw_application.rs`. The pipeline's own value is another one
//! wherever that makes a difference, so that a draw whose dynamic value is not followed does not agree.

use crate::easel::{App, CLEAR, Case, SIZE, Shaders, blending, case};
use crate::shadow::{number, read, replay};
use crate::{APPLICATION, Scenery, states};
use ash::vk;
use ash::vk::DynamicState as D;
use dovetail::capture::Recording;
use dovetail::emu::inputs::{Draw, LogicOp, PolygonMode};
use dovetail::proof::Bundle;
use std::collections::{BTreeMap, BTreeSet};

/// The application of these rows.
pub const STATES: &str = "states";

/// A draw.
struct Row {
    number: u32,
    dynamic: &'static [D],
    /// Changes the pipeline.
    own: fn(&mut Case<'_>),
    /// Sets dynamic state, before and after the pipeline is bound.
    before: fn(&App, vk::CommandBuffer),
    set: fn(&App, vk::CommandBuffer),
    /// Number of vertices, and the first one.
    vertices: [u32; 2],
    /// Why it is not saved.
    refused: Option<&'static str>,
    /// What a saved draw must have.
    check: fn(&Draw),
}

const ROW: Row = Row {
    number: 0,
    dynamic: &[],
    own: |_| {},
    before: |_, _| {},
    set: |_, _| {},
    vertices: [6, 4],
    refused: None,
    check: |_| {},
};

/// A side of the triangle behind.
const SIDE: [u32; 2] = [2, 7];
/// The triangle that begins in front of the near plane and ends behind the far one.
const DEEP: [u32; 2] = [3, 10];

const LINES: vk::PrimitiveTopology = vk::PrimitiveTopology::LINE_STRIP;
const OVER: [vk::BlendFactor; 2] = [vk::BlendFactor::SRC_ALPHA, vk::BlendFactor::ONE_MINUS_SRC_ALPHA];

fn kept<T>(value: T) -> &'static mut T {
    Box::leak(Box::new(value))
}

fn lines(case: &mut Case<'_>, stippled: bool) {
    case.topology = LINES;
    let mode = vk::LineRasterizationModeEXT::RECTANGULAR;
    let lines = vk::PipelineRasterizationLineStateCreateInfoEXT::default().line_rasterization_mode(mode);
    let lines = lines.stippled_line_enable(stippled).line_stipple_factor(1).line_stipple_pattern(0x3333);
    case.raster = case.raster.push_next(kept(lines));
}

fn over() -> vk::ColorBlendEquationEXT {
    vk::ColorBlendEquationEXT::default()
        .src_color_blend_factor(OVER[0])
        .dst_color_blend_factor(OVER[1])
        .src_alpha_blend_factor(vk::BlendFactor::ONE)
}

const BLENDS: [D; 3] = [D::COLOR_BLEND_ENABLE_EXT, D::COLOR_BLEND_EQUATION_EXT, D::COLOR_WRITE_MASK_EXT];

/// Calls commands.
macro_rules! set {
    (|$app:ident, $to:ident| $calls:expr) => {
        // SAFETY: the command buffer is being recorded, and everything that is passed outlives the call.
        |$app, $to| unsafe { $calls }
    };
}

/// Rows of logic operations, for which the pipeline has another one.
macro_rules! logic {
    ($first:literal: $($vulkan:ident $own:ident),*) => {
        [$(Row {
            number: $first + LogicOp::$own as u32,
            dynamic: &[D::LOGIC_OP_EXT],
            own: |case| case.logic_op = Some(vk::LogicOp::COPY_INVERTED),
            set: set!(|app, to| app.second.cmd_set_logic_op(to, vk::LogicOp::$vulkan)),
            check: |draw| assert_eq!(draw.fixed.logic_op, Some(LogicOp::$own)),
            ..ROW
        }),*]
    };
}

const LOGIC: [Row; 16] = logic!(80:
    CLEAR Clear, AND And, AND_REVERSE AndReverse, COPY Copy, AND_INVERTED AndInverted, NO_OP NoOp, XOR Xor, OR Or, NOR Nor,
    EQUIVALENT Equivalent, INVERT Invert, OR_REVERSE OrReverse, COPY_INVERTED CopyInverted, OR_INVERTED OrInverted,
    NAND Nand, SET Set
);

fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().chain(&LOGIC)
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { number: 30, dynamic: &[D::DEPTH_CLAMP_ENABLE_EXT], vertices: DEEP,
        set: set!(|app, to| app.third.cmd_set_depth_clamp_enable(to, true)),
        check: |draw| assert!(draw.fixed.depth_clamp), ..ROW },
    Row { number: 31, dynamic: &[D::DEPTH_CLIP_ENABLE_EXT], vertices: DEEP,
        own: |case| case.raster.depth_clamp_enable = 1,
        set: set!(|app, to| app.third.cmd_set_depth_clip_enable(to, true)),
        check: |draw| assert!(!draw.fixed.depth_clamp), ..ROW },
    Row { number: 32, dynamic: &[D::DEPTH_CLIP_ENABLE_EXT], vertices: DEEP,
        set: set!(|app, to| app.third.cmd_set_depth_clip_enable(to, false)),
        refused: Some("depth clipping"), ..ROW },
    Row { number: 33, dynamic: &[D::DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT], vertices: DEEP,
        set: set!(|app, to| app.third.cmd_set_depth_clip_negative_one_to_one(to, false)), ..ROW },
    Row { number: 34, dynamic: &[D::DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT], vertices: DEEP,
        set: set!(|app, to| app.third.cmd_set_depth_clip_negative_one_to_one(to, true)),
        check: |draw| assert!(draw.fixed.negative_one_to_one), ..ROW },
    Row { number: 35, dynamic: &[D::POLYGON_MODE_EXT],
        own: |case| case.raster.polygon_mode = vk::PolygonMode::LINE,
        set: set!(|app, to| app.third.cmd_set_polygon_mode(to, vk::PolygonMode::FILL)), ..ROW },
    Row { number: 36, dynamic: &[D::POLYGON_MODE_EXT],
        set: set!(|app, to| app.third.cmd_set_polygon_mode(to, vk::PolygonMode::LINE)),
        check: |draw| assert_eq!(draw.fixed.polygon_mode, PolygonMode::Line), ..ROW },
    Row { number: 37, dynamic: &[D::POLYGON_MODE_EXT], vertices: SIDE,
        own: |case| case.topology = LINES,
        set: set!(|app, to| app.third.cmd_set_polygon_mode(to, vk::PolygonMode::LINE)), ..ROW },
    Row { number: 38, dynamic: &[D::SAMPLE_MASK_EXT],
        own: |case| case.sample_mask = &[0],
        set: set!(|app, to| app.third.cmd_set_sample_mask(to, vk::SampleCountFlags::TYPE_1, &[1])), ..ROW },
    Row { number: 39, dynamic: &[D::SAMPLE_MASK_EXT],
        set: set!(|app, to| app.third.cmd_set_sample_mask(to, vk::SampleCountFlags::TYPE_1, &[2])),
        refused: Some("sample mask"), ..ROW },
    Row { number: 40, dynamic: &[D::LOGIC_OP_ENABLE_EXT],
        own: |case| case.logic_op = Some(vk::LogicOp::XOR),
        set: set!(|app, to| app.third.cmd_set_logic_op_enable(to, false)), ..ROW },
    Row { number: 41, dynamic: &[D::LOGIC_OP_ENABLE_EXT, D::LOGIC_OP_EXT],
        own: |case| case.blend = blending(OVER[0], OVER[1]).color_write_mask(vk::ColorComponentFlags::RGBA),
        set: set!(|app, to| {
            app.third.cmd_set_logic_op_enable(to, true);
            app.second.cmd_set_logic_op(to, vk::LogicOp::COPY);
        }),
        check: |draw| assert_eq!((draw.targets[0].blend, draw.fixed.logic_op), (None, Some(LogicOp::Copy))), ..ROW },
    Row { number: 42, dynamic: &[D::LOGIC_OP_EXT],
        own: |case| case.logic_op = Some(vk::LogicOp::COPY),
        set: set!(|app, to| app.second.cmd_set_logic_op(to, vk::LogicOp::XOR)),
        check: |draw| assert_eq!(draw.fixed.logic_op, Some(LogicOp::Xor)), ..ROW },
    Row { number: 43, dynamic: &[D::COLOR_BLEND_ENABLE_EXT],
        own: |case| (case.blend, case.blend.blend_enable) = (blending(OVER[0], OVER[1]), 0),
        set: set!(|app, to| app.third.cmd_set_color_blend_enable(to, 0, &[1])),
        check: |draw| assert!(draw.targets[0].blend.is_some()), ..ROW },
    Row { number: 44, dynamic: &[D::COLOR_WRITE_MASK_EXT],
        set: set!(|app, to| {
            app.third.cmd_set_color_write_mask(to, 0, &[vk::ColorComponentFlags::R | vk::ColorComponentFlags::A]);
        }),
        check: |draw| assert_eq!(draw.targets[0].write_mask, 9), ..ROW },
    Row { number: 45, dynamic: &[D::COLOR_BLEND_EQUATION_EXT],
        own: |case| case.blend = blending(vk::BlendFactor::ZERO, vk::BlendFactor::DST_COLOR),
        set: set!(|app, to| app.third.cmd_set_color_blend_equation(to, 0, &[over()])),
        check: |draw| assert!(draw.targets[0].blend.is_some()), ..ROW },
    Row { number: 46, dynamic: &BLENDS,
        own: |case| case.blend = vk::PipelineColorBlendAttachmentState::default(),
        set: set!(|app, to| {
            app.third.cmd_set_color_blend_equation(to, 0, &[over()]);
            app.third.cmd_set_color_blend_enable(to, 0, &[1]);
            app.third.cmd_set_color_write_mask(to, 0, &[vk::ColorComponentFlags::G | vk::ColorComponentFlags::A]);
        }),
        check: |draw| assert!(draw.targets[0].blend.is_some() && draw.targets[0].write_mask == 10), ..ROW },
    Row { number: 47, dynamic: &[D::COLOR_WRITE_ENABLE_EXT],
        own: |case| case.color_write = Some(false),
        set: set!(|app, to| (app.write.fp().cmd_set_color_write_enable_ext)(to, 1, [1].as_ptr())),
        check: |draw| assert_eq!(draw.targets[0].write_mask, 15), ..ROW },
    Row { number: 48, dynamic: &[D::COLOR_WRITE_ENABLE_EXT],
        own: |case| case.color_write = Some(true),
        set: set!(|app, to| (app.write.fp().cmd_set_color_write_enable_ext)(to, 1, [0].as_ptr())),
        check: |draw| assert_eq!(draw.targets[0].write_mask, 0), ..ROW },
    Row { number: 49, dynamic: &[D::PROVOKING_VERTEX_MODE_EXT],
        own: |case| case.shaders = Shaders::Flat,
        set: set!(|app, to| app.third.cmd_set_provoking_vertex_mode(to, vk::ProvokingVertexModeEXT::LAST_VERTEX)),
        check: |draw| assert!(draw.fixed.last_provoking), ..ROW },
    Row { number: 50, dynamic: &[D::PROVOKING_VERTEX_MODE_EXT],
        set: set!(|app, to| app.third.cmd_set_provoking_vertex_mode(to, vk::ProvokingVertexModeEXT::LAST_VERTEX)),
        ..ROW },
    Row { number: 51, dynamic: &[D::PROVOKING_VERTEX_MODE_EXT],
        own: |case| {
            let last = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default()
                .provoking_vertex_mode(vk::ProvokingVertexModeEXT::LAST_VERTEX);
            (case.shaders, case.raster) = (Shaders::Flat, case.raster.push_next(kept(last)));
        },
        set: set!(|app, to| app.third.cmd_set_provoking_vertex_mode(to, vk::ProvokingVertexModeEXT::FIRST_VERTEX)),
        ..ROW },
    Row { number: 52, dynamic: &[D::LINE_STIPPLE_ENABLE_EXT], vertices: SIDE,
        own: |case| lines(case, false),
        set: set!(|app, to| app.third.cmd_set_line_stipple_enable(to, true)),
        refused: Some("stippled lines"), ..ROW },
    Row { number: 53, dynamic: &[D::LINE_STIPPLE_ENABLE_EXT],
        set: set!(|app, to| app.third.cmd_set_line_stipple_enable(to, true)), ..ROW },
    Row { number: 54, dynamic: &[D::LINE_STIPPLE_ENABLE_EXT, D::LINE_STIPPLE_EXT], vertices: SIDE,
        own: |case| lines(case, true),
        set: set!(|app, to| {
            app.third.cmd_set_line_stipple_enable(to, false);
            (app.lines.fp().cmd_set_line_stipple_ext)(to, 1, 0x5555);
        }), ..ROW },
    Row { number: 55, dynamic: &[D::LINE_RASTERIZATION_MODE_EXT], vertices: SIDE,
        own: |case| lines(case, false),
        set: set!(|app, to| {
            app.third.cmd_set_line_rasterization_mode(to, vk::LineRasterizationModeEXT::BRESENHAM);
        }),
        check: |draw| assert!(draw.fixed.bresenham), ..ROW },
    Row { number: 56, dynamic: &[D::LINE_RASTERIZATION_MODE_EXT], vertices: SIDE,
        own: |case| case.topology = LINES,
        set: set!(|app, to| {
            app.third.cmd_set_line_rasterization_mode(to, vk::LineRasterizationModeEXT::RECTANGULAR);
        }), ..ROW },
    Row { number: 57, dynamic: &[D::TESSELLATION_DOMAIN_ORIGIN_EXT, D::PATCH_CONTROL_POINTS_EXT],
        set: set!(|app, to| {
            app.third.cmd_set_tessellation_domain_origin(to, vk::TessellationDomainOrigin::LOWER_LEFT);
            app.second.cmd_set_patch_control_points(to, 3);
        }), ..ROW },
    Row { number: 58, dynamic: &[D::ALPHA_TO_COVERAGE_ENABLE_EXT],
        set: set!(|app, to| app.third.cmd_set_alpha_to_coverage_enable(to, true)),
        refused: Some("alpha to coverage"), ..ROW },
    // With one sample and alpha to one by a command, lavapipe 22.3 moves the image by half a pixel.
    Row { number: 59, dynamic: &[D::ALPHA_TO_ONE_ENABLE_EXT],
        own: |case| case.alpha_to_one = true,
        set: set!(|app, to| app.third.cmd_set_alpha_to_one_enable(to, false)),
        check: |draw| assert!(!draw.alpha_to_one), ..ROW },
    Row { number: 60, dynamic: &[D::RASTERIZATION_SAMPLES_EXT],
        own: |case| case.samples = vk::SampleCountFlags::TYPE_4,
        set: set!(|app, to| app.third.cmd_set_rasterization_samples(to, vk::SampleCountFlags::TYPE_1)), ..ROW },
    // The pipeline has strides, so these are ignored. Lavapipe 22.3 would not ignore them after the pipeline was bound.
    Row { number: 61,
        before: set!(|app, to| {
            app.device.cmd_bind_vertex_buffers2(to, 0, &app.vertices, &[0, 0], None, Some(&[32, 4]));
        }), ..ROW },
    // The second command keeps the strides.
    Row { number: 62, dynamic: &[D::VERTEX_INPUT_BINDING_STRIDE],
        set: set!(|app, to| {
            app.device.cmd_bind_vertex_buffers2(to, 0, &app.vertices, &[8, 8], None, Some(&[16, 8]));
            app.device.cmd_bind_vertex_buffers(to, 0, &app.vertices, &[0, 0]);
        }), ..ROW },
    Row { number: 65, dynamic: &[D::DEPTH_BIAS],
        own: |case| (case.raster.depth_bias_enable, case.raster.depth_bias_constant_factor) = (1, 4.0),
        set: set!(|app, to| app.device.cmd_set_depth_bias(to, 0.0, 0.0, 0.0)),
        check: |draw| assert_eq!(draw.fixed.depth_bias, None), ..ROW },
    Row { number: 66, dynamic: &[D::DEPTH_BIAS],
        own: |case| case.raster.depth_bias_enable = 1,
        set: set!(|app, to| app.device.cmd_set_depth_bias(to, 4.0, 0.5, 2.0)),
        check: |draw| assert_eq!(draw.fixed.depth_bias.map(|bias| [bias.constant, bias.clamp, bias.slope]), Some([4.0, 0.5, 2.0])),
        ..ROW },
    Row { number: 67, dynamic: &[D::POLYGON_MODE_EXT],
        set: set!(|app, to| app.third.cmd_set_polygon_mode(to, vk::PolygonMode::POINT)),
        check: |draw| assert_eq!(draw.fixed.polygon_mode, PolygonMode::Point), ..ROW },
    Row { number: 68, dynamic: &[D::LINE_WIDTH], vertices: SIDE,
        own: |case| case.topology = LINES,
        set: set!(|app, to| app.device.cmd_set_line_width(to, 5.25)),
        check: |draw| assert_eq!(draw.fixed.line_width, Some(5.25)), ..ROW },
    Row { number: 69, dynamic: &[D::LINE_WIDTH],
        own: |case| {
            (case.raster.polygon_mode, case.raster.cull_mode) = (vk::PolygonMode::LINE, vk::CullModeFlags::BACK);
        },
        set: set!(|app, to| app.device.cmd_set_line_width(to, 2.5)),
        check: |draw| assert_eq!(draw.fixed.line_width, Some(2.5)), ..ROW },
    // Not needed, and therefore not set.
    Row { number: 64, dynamic: &[D::LINE_WIDTH, D::LOGIC_OP_EXT, D::STENCIL_OP, D::LINE_STIPPLE_EXT], ..ROW },
];

/// The draw whose number of vertices is in memory, with a pipeline that waits for its vertex input.
const COUNTED: u32 = 63;

/// # Safety
/// The device is alive, handles are this application's, and structures outlive their calls.
impl App {
    /// # Safety
    /// As above.
    pub unsafe fn dynamic_states(&mut self) {
        // SAFETY: as above.
        unsafe {
            for row in rows() {
                let mut given = Case { dynamic: row.dynamic, ..case(row.number) };
                (row.own)(&mut given);
                let (pipeline, color) = (self.pipeline(&given), self.color());
                self.render(row.number, color, None, |app, commands| {
                    (row.before)(app, commands);
                    app.bind(commands, pipeline);
                    (row.set)(app, commands);
                    let [count, first] = row.vertices;
                    app.device.cmd_draw(commands, count, 1, first, 0);
                });
            }
            let counted = self.pipeline(&Case { dynamic: &[D::VERTEX_INPUT_EXT], ..case(COUNTED) });
            let bytes = (16 * 3u32).to_le_bytes();
            let (counter, _) = self.buffer(&bytes, vk::BufferUsageFlags::INDIRECT_BUFFER);
            let color = self.color();
            self.render(COUNTED, color, None, |app, commands| {
                app.bind(commands, counted);
                app.usual_input(commands);
                (app.feedback.fp().cmd_draw_indirect_byte_count_ext)(commands, 1, 0, counter, 0, 0, 16);
            });
        }
    }
}

#[test]
fn dynamic_values_count_like_a_pipelines_own() {
    const NAME: &str = "dynamic_values_count_like_a_pipelines_own";
    let Some(stage) = Scenery::set(NAME) else { return };
    let plain = stage.run(&[(APPLICATION, STATES)]);
    assert!(plain.1);
    let layered = [(APPLICATION, STATES), ("DOVETAIL_LAYER_SHADOW", "shadow"), ("DOVETAIL_LAYER_DIR", "out")];
    assert_eq!(stage.layered(&layered), plain);
    let pictures: BTreeMap<u64, Vec<u8>> = serde_json::from_str(&plain.0).expect("pictures");
    let (summary, bundles) = read(&stage.path("shadow"));
    let mut reasons = BTreeMap::from([("number of vertices in memory", 1)]);
    rows().filter_map(|row| row.refused).for_each(|why| *reasons.entry(why).or_default() += 1);
    assert_eq!(summary["draws"]["reasons"], serde_json::json!(reasons), "{summary}");
    let mut differing = Vec::new();
    let mut saved: BTreeSet<u64> = BTreeSet::new();
    let cleared = CLEAR.repeat((SIZE[0] * SIZE[1]) as usize);
    for path in &bundles {
        let bundle = Bundle::load(path).expect("a bundle");
        let case = number(&bundle);
        let row = rows().find(|row| u64::from(row.number) == case && row.refused.is_none());
        let draw = bundle.inputs.draw.clone().expect("a draw");
        assert!(saved.insert(case), "{case}");
        (row.unwrap_or_else(|| panic!("{case} is saved")).check)(&draw);
        let strides: Vec<u32> = draw.vertex_buffers.iter().map(|buffer| buffer.stride).collect();
        assert_eq!(strides, [16, 8], "{case}");
        assert_eq!(bundle.expected.targets[0], pictures[&case], "{case}");
        assert_eq!(pictures[&case] == cleared, [48, 85].contains(&case), "{case}");
        let (code, says) = replay(path);
        if code != Some(0) {
            differing.push(format!("{case}: {says}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert_eq!(saved.len(), rows().filter(|row| row.refused.is_none()).count(), "{saved:?}");
    // The draw whose vertices are counted in memory has completed its pipeline.
    let [archive] = &stage.archives("out")[..] else { panic!("{:?}", stage.archives("out")) };
    let recording = Recording::open(archive, 1 << 20).expect("an archive");
    let known = states(&recording).into_iter().flatten();
    let counted: Vec<_> = known.filter(|known| known.state.specialization[0].value == u64::from(COUNTED)).collect();
    assert_eq!(counted.iter().map(|known| known.state.vertex.attributes.len()).collect::<Vec<_>>(), [3]);
}
