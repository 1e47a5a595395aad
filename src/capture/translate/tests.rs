//! One table of small changes to a pipeline, and what becomes of them.

mod late;

use super::*;
use crate::model::*;
use dovetail_base::error::ErrorKind;
use dovetail_base::kinds::ResourceKind;
use dovetail_state::{
    BindingKind, ChromaFilter, ChromaLocation, SamplerWords, Swizzle, VertexRate, VkFormat, YcbcrModel, YcbcrRange,
};
use std::sync::Arc;

#[derive(Default)]
struct Given {
    samplers: BTreeMap<Hash, Sampler>,
    set_layouts: BTreeMap<Hash, SetLayout>,
    pipeline_layouts: BTreeMap<Hash, PipelineLayout>,
    render_passes: BTreeMap<Hash, RenderPass>,
    libraries: BTreeMap<Hash, GraphicsPipeline>,
}

fn find<T: Clone>(table: &BTreeMap<Hash, T>, name: Hash) -> Result<Arc<T>> {
    table.get(&name).cloned().map(Arc::new).ok_or_else(|| Error::malformed(format!("no {name}")))
}

impl DefinitionSource for Given {
    fn sampler(&self, name: Hash) -> Result<Arc<Sampler>> {
        find(&self.samplers, name)
    }
    fn set_layout(&self, name: Hash) -> Result<Arc<SetLayout>> {
        find(&self.set_layouts, name)
    }
    fn pipeline_layout(&self, name: Hash) -> Result<Arc<PipelineLayout>> {
        find(&self.pipeline_layouts, name)
    }
    fn render_pass(&self, name: Hash) -> Result<Arc<RenderPass>> {
        find(&self.render_passes, name)
    }
    fn graphics(&self, name: Hash) -> Result<Arc<GraphicsPipeline>> {
        find(&self.libraries, name)
    }
}

const LAYOUT: Hash = Hash(1);
const SET: Hash = Hash(2);
const PASS: Hash = Hash(3);
const SAMPLER: Hash = Hash(4);

fn binding(number: u32, descriptor_type: u32, count: u32) -> Binding {
    Binding { binding: number, descriptor_type, descriptor_count: count, ..Binding::default() }
}

/// A set, push constants, and a render pass with two colours and an unused attachment.
fn given() -> Given {
    let mut given = Given::default();
    let bindings = vec![binding(0, 8, 1), binding(1, 1, 4), binding(5, 7, 0)];
    given.set_layouts.insert(SET, SetLayout { bindings, ..SetLayout::default() });
    let range = |offset, size| PushConstantRange { stage_flags: 1, offset, size };
    let layout = PipelineLayout {
        set_layouts: vec![Hash(0), SET],
        push_constant_ranges: vec![range(16, 8), range(0, 16)],
        ..PipelineLayout::default()
    };
    given.pipeline_layouts.insert(LAYOUT, layout);
    let reference = |attachment| Reference { attachment, ..Reference::default() };
    let subpass =
        Subpass { color_attachments: vec![reference(1), reference(u32::MAX), reference(0)], ..Subpass::default() };
    let attachment = |format| Attachment { format, samples: 1, ..Attachment::default() };
    let pass = RenderPass {
        attachments: vec![attachment(97), attachment(37)],
        subpasses: vec![Subpass::default(), subpass],
        ..RenderPass::default()
    };
    given.render_passes.insert(PASS, pass);
    given.samplers.insert(SAMPLER, Sampler::default());
    given
}

fn shader(stage: u32, module: u64) -> ShaderStage {
    ShaderStage { stage, module: Hash(module), name: "main".into(), ..ShaderStage::default() }
}

fn plain() -> GraphicsPipeline {
    let blend = BlendAttachment { color_write_mask: 15, ..BlendAttachment::default() };
    GraphicsPipeline {
        layout: LAYOUT,
        render_pass: PASS,
        subpass: 1,
        stages: vec![shader(16, 11), shader(1, 10)],
        vertex_input_state: Some(VertexInputState {
            attributes: vec![VertexAttribute { location: 2, binding: 3, offset: 4, format: 106 }],
            bindings: vec![VertexBinding { binding: 3, stride: 20, input_rate: 1 }],
            ..VertexInputState::default()
        }),
        rasterization_state: Some(RasterizationState::default()),
        multisample_state: Some(MultisampleState { rasterization_samples: 4, ..MultisampleState::default() }),
        color_blend_state: Some(ColorBlendState { attachments: vec![blend; 3], ..ColorBlendState::default() }),
        ..GraphicsPipeline::default()
    }
}

#[test]
fn a_plain_pipeline_is_what_vulkan_says() {
    let Translated { state, stages } = graphics(&plain(), &given()).unwrap();
    assert_eq!(
        stages.iter().map(|s| (s.stage, s.module.0)).collect::<Vec<_>>(),
        [(Stage::Vertex, 10), (Stage::Fragment, 11)]
    );
    let [set] = &state.layout.sets[..] else { panic!("{:?}", state.layout) };
    assert_eq!((set.set, state.layout.push_constant_bytes), (1, 24));
    let bindings: Vec<_> = set.bindings.iter().map(|b| (b.binding, b.kind, b.count, b.dynamic)).collect();
    let one = BindingKind::One;
    // The binding without descriptors is left out.
    let wanted =
        [(0, one(ResourceKind::UniformBuffer), 1, true), (1, one(ResourceKind::CombinedImageSampler), 4, false)];
    assert_eq!(bindings, wanted);
    let [buffer] = &state.vertex.bindings[..] else { panic!("{:?}", state.vertex) };
    assert_eq!((buffer.binding, buffer.stride, buffer.rate, buffer.divisor), (3, 20, VertexRate::Instance, 1));
    let colors: Vec<_> = state.color.attachments.iter().map(|a| (a.location, a.format, a.blend)).collect();
    assert_eq!(colors, [(0, VkFormat(37), false), (2, VkFormat(97), false)]);
    assert_eq!((state.color.samples, state.color.sample_shading), (4, false));
}

type Change = fn(&mut GraphicsPipeline, &mut Given);
type Holds = fn(&PipelineState) -> bool;

#[test]
fn each_part_of_the_state_reaches_its_place() {
    let rows: &[(&str, Change, Holds)] = &[
        ("blending", |p, _| blend(p).blend_enable = 1, |s| s.color.attachments[0].blend),
        (
            "source alpha",
            |p, _| *blend(p) = BlendAttachment { blend_enable: 1, dst_color_blend_factor: 7, ..blend(p).clone() },
            |s| s.color.attachments[0].blend_source_alpha && !s.color.dual_source,
        ),
        (
            "a factor where nothing is blended",
            |p, _| blend(p).dst_color_blend_factor = 16,
            |s| !s.color.attachments[0].blend_source_alpha && !s.color.dual_source,
        ),
        (
            "two sources",
            |p, _| *blend(p) = BlendAttachment { blend_enable: 1, src_alpha_blend_factor: 17, ..blend(p).clone() },
            |s| s.color.dual_source,
        ),
        ("write mask", |p, _| blend(p).color_write_mask = 5, |s| s.color.attachments[0].write_mask == 5),
        (
            "writes switched off",
            |p, _| {
                let state = p.color_blend_state.as_mut().unwrap();
                state.p_next = vec![Next { color_write_enables: vec![0, 1, 1], ..Next::new(s_type::COLOR_WRITE) }];
            },
            |s| s.color.attachments[0].write_mask == 0 && s.color.attachments[1].write_mask == 15,
        ),
        (
            "dynamic write mask",
            |p, _| (blend(p).color_write_mask = 0, dynamic(p, dynamic::WRITE_MASK)).1,
            |s| s.color.attachments[0].write_mask == 15,
        ),
        ("dynamic blending", |p, _| dynamic(p, dynamic::BLEND_ENABLE), |s| s.color.attachments[0].blend),
        ("dynamic stride", |p, _| dynamic(p, dynamic::VERTEX_STRIDE), |s| s.vertex.bindings[0].stride == 0),
        ("dynamic viewport", |p, _| dynamic(p, 0), |s| s.vertex.bindings[0].stride == 20),
        (
            "divisor",
            |p, _| {
                let divisors = vec![Divisor { binding: 3, divisor: 0 }];
                let next = Next { vertex_binding_divisors: divisors, ..Next::new(s_type::VERTEX_DIVISORS) };
                p.vertex_input_state.as_mut().unwrap().p_next = vec![next];
            },
            |s| s.vertex.bindings[0].divisor == 0,
        ),
        ("sample shading", |p, _| shade(p, 1.0), |s| s.color.sample_shading),
        ("sample shading of one in four", |p, _| shade(p, 0.25), |s| !s.color.sample_shading),
        ("sample shading of a bit more", |p, _| shade(p, 0.26), |s| s.color.sample_shading),
        (
            "alpha",
            |p, _| {
                let state = p.multisample_state.as_mut().unwrap();
                (state.alpha_to_coverage_enable, state.alpha_to_one_enable) = (1, 1);
            },
            |s| s.color.alpha_to_coverage && s.color.alpha_to_one,
        ),
        (
            "discard",
            |p, _| p.rasterization_state.as_mut().unwrap().rasterizer_discard_enable = 1,
            |s| s.raster.discard && s.color.attachments.is_empty(),
        ),
        (
            "views of the second form",
            |_, g| g.render_passes.get_mut(&PASS).unwrap().subpasses[1].view_mask = Some(6),
            |s| s.view_mask == 6,
        ),
        (
            "views of the first form",
            |_, g| {
                let next = Next { view_masks: vec![1, 3], ..Next::new(s_type::MULTIVIEW) };
                g.render_passes.get_mut(&PASS).unwrap().p_next = vec![next];
            },
            |s| s.view_mask == 3,
        ),
        (
            "dynamic rendering",
            |p, _| rendering(p),
            |s| {
                let formats: Vec<_> = s.color.attachments.iter().map(|a| (a.location, a.format.0)).collect();
                s.view_mask == 2 && formats == [(1, 44), (2, 37)]
            },
        ),
        (
            "inner coverage",
            |p, _| {
                let next =
                    Next { conservative_rasterization_mode: Some(2), ..Next::new(s_type::CONSERVATIVE_RASTERIZATION) };
                p.rasterization_state.as_mut().unwrap().p_next = vec![next];
            },
            |s| s.raster.inner_coverage,
        ),
        (
            "mutable descriptors",
            |_, g| {
                let set = g.set_layouts.get_mut(&SET).unwrap();
                set.bindings[0].descriptor_type = 1_000_351_000;
                let lists = vec![vec![6, 2]];
                set.p_next = vec![Next { mutable_descriptor_type_lists: lists, ..Next::new(s_type::MUTABLE_TYPES) }];
            },
            |s| {
                let kinds = [ResourceKind::UniformBuffer, ResourceKind::SampledImage].into_iter().collect();
                s.layout.sets[0].bindings[0].kind == BindingKind::Mutable(kinds)
            },
        ),
        (
            "Y'CBCR conversion",
            |_, g| {
                // As Fossilize writes it.
                let text = r#"{
                    "minFilter": 1, "magFilter": 1, "addressModeU": 2, "addressModeV": 2, "addressModeW": 2,
                    "pNext": [{
                        "sType": 1000156000, "format": 1000156003, "ycbcrModel": 3, "ycbcrRange": 1, "components": [0, 0, 5, 2],
                        "xChromaOffset": 1, "yChromaOffset": 0, "chromaFilter": 1, "forceExplicitReconstruction": 1
                    }]
                }"#;
                let binding = &mut g.set_layouts.get_mut(&SET).unwrap().bindings[1];
                (binding.descriptor_count, binding.immutable_samplers) = (2, vec![SAMPLER, Hash(0)]);
                g.samplers.insert(SAMPLER, serde_json::from_str(text).unwrap());
            },
            |s| {
                let [converting, plain] = &s.layout.sets[0].bindings[1].samplers[..] else { return false };
                let c = converting.conversion.unwrap();
                (converting.words, plain.conversion) == (SamplerWords([0o222, 0, 5 << 20 | 1 << 26, 0]), None)
                    && (c.format, c.model, c.range)
                        == (VkFormat(1_000_156_003), YcbcrModel::Ycbcr601, YcbcrRange::Narrow)
                    && c.components == [Swizzle::Identity, Swizzle::Identity, Swizzle::B, Swizzle::One]
                    && (c.x_chroma_offset, c.y_chroma_offset) == (ChromaLocation::Midpoint, ChromaLocation::CositedEven)
                    && (c.chroma_filter, c.explicit_reconstruction) == (ChromaFilter::Linear, true)
            },
        ),
        (
            "specialization",
            |p, _| {
                let entry = |constant_id, offset, size| MapEntry { constant_id, offset, size };
                p.stages[0].specialization_info = Some(Specialization {
                    data_size: 12,
                    data: base64_text(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
                    map_entries: vec![entry(9, 4, 8), entry(7, 0, 4)],
                });
            },
            |s| {
                let values: Vec<_> = s.specialization.iter().map(|e| (e.stage, e.id, e.value)).collect();
                let stage = Some(Stage::Fragment);
                values == [(stage, 7, 0x0403_0201), (stage, 9, 0x0c0b_0a09_0807_0605)]
            },
        ),
    ];
    for (what, change, holds) in rows {
        let (mut pipeline, mut given) = (plain(), given());
        change(&mut pipeline, &mut given);
        let state = graphics(&pipeline, &given).unwrap_or_else(|e| panic!("{what}: {e}")).state;
        assert!(holds(&state), "{what}: {state:?}");
    }
}

/// Adds an immutable sampler whose conversion has this member.
fn convert(given: &mut Given, member: &str, value: impl Into<serde_json::Value>) {
    let mut next = Next::new(s_type::YCBCR_CONVERSION_CREATE);
    for name in ["ycbcrModel", "ycbcrRange", "xChromaOffset", "yChromaOffset", "chromaFilter"] {
        next.other.insert(name.into(), 0.into());
    }
    next.other.insert("format".into(), 1_000_156_003.into());
    next.other.insert("components".into(), vec![0; 4].into());
    next.other.insert("forceExplicitReconstruction".into(), 0.into());
    next.other.insert(member.into(), value.into());
    given.samplers.get_mut(&SAMPLER).unwrap().p_next = vec![next];
    given.set_layouts.get_mut(&SET).unwrap().bindings[1].immutable_samplers = vec![SAMPLER; 4];
}

fn blend(pipeline: &mut GraphicsPipeline) -> &mut BlendAttachment {
    &mut pipeline.color_blend_state.as_mut().unwrap().attachments[0]
}

fn dynamic(pipeline: &mut GraphicsPipeline, state: u32) {
    pipeline.dynamic_state = Some(DynamicState { flags: 0, dynamic_state: vec![state] });
}

fn shade(pipeline: &mut GraphicsPipeline, part: f32) {
    let state = pipeline.multisample_state.as_mut().unwrap();
    (state.sample_shading_enable, state.min_sample_shading) = (1, part);
}

fn rendering(pipeline: &mut GraphicsPipeline) {
    pipeline.render_pass = Hash(0);
    let formats = vec![0, 44, 37];
    let next = Next { view_mask: Some(2), color_attachment_formats: formats, ..Next::new(s_type::RENDERING) };
    pipeline.p_next.push(next);
}

#[test]
fn what_has_no_place_is_named() {
    let rows: &[(&str, Change)] = &[
        ("VK_DYNAMIC_STATE_VERTEX_INPUT_EXT", |p, _| dynamic(p, 1_000_352_000)),
        ("VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT", |p, _| {
            blend(p).src_color_blend_factor = 15;
            dynamic(p, dynamic::BLEND_ENABLE);
        }),
        ("VkDynamicState 77", |p, _| dynamic(p, 77)),
        ("VkStructureType 4711", |p, _| p.p_next = vec![Next::new(4711)]),
        ("VkStructureType 4711", |p, _| p.stages[0].p_next = vec![Next::new(4711)]),
        ("VkStructureType 4711", |_, g| g.render_passes.get_mut(&PASS).unwrap().p_next = vec![Next::new(4711)]),
        ("VK_PIPELINE_CREATE_VIEW_INDEX_FROM_DEVICE_INDEX_BIT", |p, _| p.flags = 8),
        ("VkPipelineCreateFlags2 0x4000000000", |p, _| {
            p.p_next = vec![Next { flags: Some(0x40_0000_0000), ..Next::new(s_type::FLAGS_2) }];
        }),
        ("geometry shader", |p, _| p.stages.push(shader(8, 12))),
        ("mesh shader", |p, _| p.stages.push(shader(0x80, 12))),
        ("shader without a module", |p, _| p.stages[0].module = Hash(0)),
        ("advanced blend operation", |p, _| {
            *blend(p) = BlendAttachment { blend_enable: 1, color_blend_op: 1_000_148_003, ..blend(p).clone() };
        }),
        ("inline uniform block", |_, g| {
            g.set_layouts.get_mut(&SET).unwrap().bindings[0].descriptor_type = 1_000_138_000;
        }),
        ("VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO", |_, g| {
            g.set_layouts.get_mut(&SET).unwrap().bindings[1].immutable_samplers = vec![SAMPLER];
            g.samplers.get_mut(&SAMPLER).unwrap().p_next = vec![Next::new(s_type::YCBCR_CONVERSION)];
        }),
        ("Y'CBCR conversion", |_, g| convert(g, "ycbcrModel", 5)),
        ("sampler", |_, g| {
            convert(g, "ycbcrModel", 1);
            g.samplers.get_mut(&SAMPLER).unwrap().mag_filter = 1_000_015_000;
        }),
        ("transform feedback", |p, _| {
            let next = Next { rasterization_stream: Some(1), ..Next::new(s_type::RASTERIZATION_STREAM) };
            p.rasterization_state.as_mut().unwrap().p_next = vec![next];
        }),
        ("locations of colour attachments", |p, _| {
            rendering(p);
            let locations = vec![1, 0];
            p.p_next.push(Next { color_attachment_locations: locations, ..Next::new(s_type::ATTACHMENT_LOCATIONS) });
        }),
    ];
    for (feature, change) in rows {
        let (mut pipeline, mut given) = (plain(), given());
        change(&mut pipeline, &mut given);
        let error = graphics(&pipeline, &given).expect_err(feature);
        assert_eq!(error.exit_code(), 3, "{feature}: {error}");
        assert!(error.to_string().contains(&format!("unsupported: {feature}")), "{feature}: {error}");
    }
}

#[test]
fn what_leads_nowhere_is_malformed() {
    let rows: &[Change] = &[
        |p, _| p.subpass = 2,
        |p, _| p.layout = Hash(99),
        |p, _| p.render_pass = Hash(99),
        |_, g| g.render_passes.get_mut(&PASS).unwrap().subpasses[1].color_attachments[0].attachment = 7,
        |p, _| p.color_blend_state.as_mut().unwrap().attachments.truncate(1),
        |_, g| convert(g, "components", vec![0; 3]),
        |_, g| convert(g, "format", "NV12"),
        |p, _| {
            let map_entries = vec![MapEntry { constant_id: 1, offset: u32::MAX, size: u64::MAX }];
            p.stages[0].specialization_info = Some(Specialization { map_entries, ..Specialization::default() });
        },
    ];
    for (row, change) in rows.iter().enumerate() {
        let (mut pipeline, mut given) = (plain(), given());
        change(&mut pipeline, &mut given);
        assert_eq!(graphics(&pipeline, &given).unwrap_err().exit_code(), 2, "row {row}");
    }
}

/// A library with these parts of a pipeline.
fn library(parts: u64, of: &GraphicsPipeline) -> GraphicsPipeline {
    let mut library = of.clone();
    library.flags = 0x800;
    library.p_next.push(Next { flags: Some(parts), ..Next::new(s_type::LIBRARY_PARTS) });
    library
}

#[test]
fn libraries_make_the_same_pipeline() {
    let (mut whole, mut given) = (plain(), given());
    rendering(&mut whole);
    dynamic(&mut whole, dynamic::VERTEX_STRIDE);
    for parts in [vec![1, 2, 4, 8], vec![3, 12], vec![8, 7]] {
        let names: Vec<Hash> = (100..).map(Hash).take(parts.len()).collect();
        given.libraries = names.iter().copied().zip(parts.iter().map(|bits| library(*bits, &whole))).collect();
        let chain = vec![Next { libraries: Some(names), ..Next::new(s_type::LIBRARIES) }];
        let linked = GraphicsPipeline { layout: LAYOUT, p_next: chain, ..GraphicsPipeline::default() };
        assert!(!linked.is_library() && given.libraries.values().all(GraphicsPipeline::is_library));
        assert_eq!(graphics(&linked, &given).unwrap(), graphics(&whole, &given).unwrap(), "{parts:?}");
    }
}

#[test]
fn a_list_of_writes_that_vulkan_ignores_enables_all() {
    let mut pipeline = plain();
    let chain = &mut pipeline.color_blend_state.as_mut().unwrap().p_next;
    chain.push(Next { color_write_enables: vec![0; 8], ..Next::new(s_type::COLOR_WRITE) });
    let masks = |pipeline: &GraphicsPipeline| {
        let state = graphics(pipeline, &given()).unwrap().state;
        state.color.attachments.iter().map(|one| one.write_mask).collect::<Vec<_>>()
    };
    assert!(masks(&pipeline).iter().all(|mask| *mask == 0));
    dynamic(&mut pipeline, dynamic::COLOR_WRITE);
    assert_eq!(masks(&pipeline), masks(&plain()));
}

#[test]
fn libraries_that_name_themselves_end() {
    let mut given = given();
    let chain = vec![Next { libraries: Some(vec![Hash(100), Hash(100)]), ..Next::new(s_type::LIBRARIES) }];
    let itself = GraphicsPipeline { p_next: chain, ..GraphicsPipeline::default() };
    given.libraries.insert(Hash(100), itself.clone());
    assert_eq!(graphics(&itself, &given).unwrap_err().exit_code(), 3);
}

#[test]
fn definitions_read_back_from_their_json() {
    let mut pipeline = plain();
    rendering(&mut pipeline);
    let chain = vec![Next { libraries: Some(vec![Hash(7)]), ..Next::new(s_type::LIBRARIES) }];
    pipeline.stages[0].p_next = chain;
    let payload = crate::foz::payload::of(Hash(5), &Definition::Graphics(&pipeline)).unwrap();
    let read = crate::foz::payload::read::<GraphicsPipeline>(&payload, &[Key::GraphicsPipelines], Hash(5));
    assert_eq!(read.unwrap().1, pipeline);
}

/// A recording may come from a driver whose subgroups have a size that no wave has.
#[test]
fn another_subgroup_size_matters_only_to_a_module_with_subgroups() {
    let asking = |lanes| ShaderStage {
        p_next: vec![Next { required_subgroup_size: Some(lanes), ..Next::new(s_type::SUBGROUP_SIZE) }],
        ..shader(1, 12)
    };
    for (lanes, wave) in [(32, WaveSize::W32), (64, WaveSize::W64)] {
        let used = stage_use(&asking(lanes)).unwrap();
        assert_eq!([true, false].map(|uses| used.wave(uses).unwrap()), [Some(wave); 2]);
    }
    let used = stage_use(&asking(8)).unwrap();
    assert_eq!(used.wave(false).unwrap(), None);
    let refused = used.wave(true).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Unsupported { .. }), "{refused}");
    assert!(refused.to_string().contains("subgroups of 8"), "{refused}");
}
