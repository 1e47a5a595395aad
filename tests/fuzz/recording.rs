//! Archives of recorded Vulkan calls. Payloads are compressed and have checksums, so most mutations of an archive are
//! detected as damage; therefore mutated payloads are inputs too, and are wrapped into a valid archive.

use dovetail::capture::foz::{ArchiveWriter, EntryKind, payload};
use dovetail::capture::{
    Binding, BlendAttachment, ColorBlendState, ComputePipeline, Definition, GraphicsPipeline, Hash, MapEntry, Next,
    PipelineLayout, Recording, Reference, RenderPass, Sampler, SetLayout, ShaderStage, Specialization, Subpass,
    VertexAttribute, VertexBinding, VertexInputState, base64_text, compute, graphics, s_type,
};
use dovetail::error::Result;
use std::io::Cursor;

/// Memory limit for a recording, in bytes.
const LIMIT: u64 = 1 << 20;
/// Name of every object, so that mutated references still resolve.
const NAME: Hash = Hash(1);

const KINDS: [EntryKind; 7] = [
    EntryKind::Sampler,
    EntryKind::SetLayout,
    EntryKind::PipelineLayout,
    EntryKind::ShaderModule,
    EntryKind::RenderPass,
    EntryKind::GraphicsPipeline,
    EntryKind::ComputePipeline,
];

fn wrap(payloads: &[(EntryKind, Vec<u8>)]) -> Vec<u8> {
    let mut out = ArchiveWriter::new(Cursor::new(Vec::new())).expect("to memory");
    for (kind, payload) in payloads {
        out.put(*kind, NAME, payload).expect("to memory");
    }
    out.into_inner().into_inner()
}

fn payloads() -> Vec<(EntryKind, Vec<u8>)> {
    let mut conversion = Next::new(s_type::YCBCR_CONVERSION_CREATE);
    let members = ["ycbcrModel", "ycbcrRange", "xChromaOffset", "yChromaOffset", "chromaFilter"];
    conversion.other = members.map(|name| (name.to_owned(), 1.into())).into();
    conversion.other.insert("format".to_owned(), 1_000_156_003.into());
    conversion.other.insert("components".to_owned(), vec![0, 6, 1, 2].into());
    conversion.other.insert("forceExplicitReconstruction".to_owned(), 0.into());
    let sampler = Sampler { mag_filter: 1, p_next: vec![conversion], ..Sampler::default() };
    let binding = Binding { descriptor_type: 1, descriptor_count: 3, binding: 2, ..Binding::default() };
    let binding = Binding { immutable_samplers: vec![NAME; 3], ..binding };
    let set = SetLayout { bindings: vec![binding], ..SetLayout::default() };
    let layout = PipelineLayout { set_layouts: vec![NAME, Hash(0)], ..PipelineLayout::default() };
    let subpass = Subpass { color_attachments: vec![Reference::default()], ..Subpass::default() };
    let pass = RenderPass { subpasses: vec![subpass], ..RenderPass::default() };
    let entry = MapEntry { offset: 0, size: 4, constant_id: 3 };
    let values = Specialization { data_size: 4, data: base64_text(&[1, 0, 0, 0]), map_entries: vec![entry] };
    let stage = |stage| ShaderStage {
        stage,
        module: NAME,
        name: "main".into(),
        specialization_info: Some(values.clone()),
        ..ShaderStage::default()
    };
    let vertex = VertexInputState {
        attributes: vec![VertexAttribute { format: 109, ..VertexAttribute::default() }],
        bindings: vec![VertexBinding { stride: 16, ..VertexBinding::default() }],
        ..VertexInputState::default()
    };
    let attachments = vec![BlendAttachment { color_write_mask: 15, ..BlendAttachment::default() }];
    let chain = vec![Next { color_attachment_formats: vec![37], view_mask: Some(3), ..Next::new(s_type::RENDERING) }];
    let drawn = GraphicsPipeline {
        layout: NAME,
        stages: vec![stage(1), stage(16)],
        vertex_input_state: Some(vertex),
        color_blend_state: Some(ColorBlendState { attachments, ..ColorBlendState::default() }),
        p_next: chain,
        ..GraphicsPipeline::default()
    };
    let computed = ComputePipeline { layout: NAME, stage: stage(32), ..ComputePipeline::default() };
    let code = super::shapes::ifs(1);
    let definitions = [
        Definition::Sampler(&sampler),
        Definition::SetLayout(&set),
        Definition::PipelineLayout(&layout),
        Definition::Module(&code),
        Definition::RenderPass(&pass),
        Definition::Graphics(&drawn),
        Definition::Compute(&computed),
    ];
    KINDS.into_iter().zip(definitions).map(|(kind, it)| (kind, payload::of(NAME, &it).expect("JSON"))).collect()
}

/// An archive, and each of its payloads.
pub fn seeds() -> Vec<Vec<u8>> {
    let payloads = payloads();
    let archive = wrap(&payloads);
    payloads.into_iter().map(|(_, payload)| payload).chain([archive]).collect()
}

/// Reads everything in an archive and translates every pipeline. An input that is not an archive becomes each payload
/// of a valid one.
pub fn read(bytes: &[u8]) -> Result<()> {
    match Recording::new(Cursor::new(bytes), LIMIT) {
        Ok(recording) => look(&recording),
        Err(_) => KINDS.into_iter().try_for_each(|kind| {
            let changed = payloads().into_iter().map(|(of, good)| (of, if of == kind { bytes.to_vec() } else { good }));
            look(&Recording::new(Cursor::new(wrap(&changed.collect::<Vec<_>>())), LIMIT)?)
        }),
    }
}

/// A failure belongs to its object; none may be a panic.
fn look(recording: &Recording<Cursor<impl AsRef<[u8]>>>) -> Result<()> {
    for name in recording.hashes(EntryKind::ShaderModule) {
        let _ = recording.module(name);
    }
    let mut last = Ok(());
    for name in recording.hashes(EntryKind::GraphicsPipeline) {
        last = recording.graphics(name).and_then(|pipeline| graphics(&pipeline, recording)).map(drop);
    }
    for name in recording.hashes(EntryKind::ComputePipeline) {
        last = last.and(recording.compute(name).and_then(|pipeline| compute(&pipeline, recording)).map(drop));
    }
    last
}
