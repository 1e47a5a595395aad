//! Compute and graphics pipelines, with the state that `VkGraphicsPipelineCreateInfo` points to.

use super::hash::Hash;
use super::next::Next;
use serde::{Deserialize, Serialize};

/// `VkComputePipelineCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct ComputePipeline {
    pub flags: u32,
    pub layout: Hash,
    pub base_pipeline_handle: Hash,
    pub base_pipeline_index: i32,
    pub stage: ShaderStage,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkPipelineShaderStageCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct ShaderStage {
    pub flags: u32,
    pub name: String,
    pub module: Hash,
    pub stage: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialization_info: Option<Specialization>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkSpecializationInfo`; `data` is base64.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Specialization {
    pub data_size: u64,
    pub data: String,
    pub map_entries: Vec<MapEntry>,
}

/// `VkSpecializationMapEntry`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct MapEntry {
    pub offset: u32,
    pub size: u64,
    #[serde(rename = "constantID")]
    pub constant_id: u32,
}

/// `VkGraphicsPipelineCreateInfo`. A missing state is either unused or was not passed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct GraphicsPipeline {
    pub flags: u32,
    pub base_pipeline_handle: Hash,
    pub base_pipeline_index: i32,
    pub layout: Hash,
    pub render_pass: Hash,
    pub subpass: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tessellation_state: Option<TessellationState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_state: Option<DynamicState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multisample_state: Option<MultisampleState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertex_input_state: Option<VertexInputState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rasterization_state: Option<RasterizationState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_assembly_state: Option<InputAssemblyState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color_blend_state: Option<ColorBlendState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewport_state: Option<ViewportState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_stencil_state: Option<DepthStencilState>,
    pub stages: Vec<ShaderStage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkPipelineTessellationStateCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct TessellationState {
    pub flags: u32,
    pub patch_control_points: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkPipelineDynamicStateCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct DynamicState {
    pub flags: u32,
    pub dynamic_state: Vec<u32>,
}

/// `VkPipelineMultisampleStateCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct MultisampleState {
    pub flags: u32,
    pub rasterization_samples: u32,
    pub sample_shading_enable: u32,
    pub min_sample_shading: f32,
    pub alpha_to_one_enable: u32,
    pub alpha_to_coverage_enable: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sample_mask: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkPipelineVertexInputStateCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct VertexInputState {
    pub flags: u32,
    pub attributes: Vec<VertexAttribute>,
    pub bindings: Vec<VertexBinding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkVertexInputAttributeDescription`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct VertexAttribute {
    pub location: u32,
    pub binding: u32,
    pub offset: u32,
    pub format: u32,
}

/// `VkVertexInputBindingDescription`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct VertexBinding {
    pub binding: u32,
    pub stride: u32,
    pub input_rate: u32,
}

/// `VkPipelineRasterizationStateCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct RasterizationState {
    pub flags: u32,
    pub depth_bias_constant_factor: f32,
    pub depth_bias_slope_factor: f32,
    pub depth_bias_clamp: f32,
    pub depth_bias_enable: u32,
    pub depth_clamp_enable: u32,
    pub polygon_mode: u32,
    pub rasterizer_discard_enable: u32,
    pub front_face: u32,
    pub line_width: f32,
    pub cull_mode: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkPipelineInputAssemblyStateCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct InputAssemblyState {
    pub flags: u32,
    pub topology: u32,
    pub primitive_restart_enable: u32,
}

/// `VkPipelineColorBlendStateCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct ColorBlendState {
    pub flags: u32,
    pub logic_op: u32,
    pub logic_op_enable: u32,
    pub blend_constants: [f32; 4],
    pub attachments: Vec<BlendAttachment>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkPipelineColorBlendAttachmentState`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct BlendAttachment {
    pub dst_alpha_blend_factor: u32,
    pub src_alpha_blend_factor: u32,
    pub dst_color_blend_factor: u32,
    pub src_color_blend_factor: u32,
    pub color_write_mask: u32,
    pub alpha_blend_op: u32,
    pub color_blend_op: u32,
    pub blend_enable: u32,
}

/// `VkPipelineViewportStateCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct ViewportState {
    pub flags: u32,
    pub viewport_count: u32,
    pub scissor_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewports: Option<Vec<Viewport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scissors: Option<Vec<Rect>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkViewport`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Viewport {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
    pub min_depth: f32,
    pub max_depth: f32,
}

/// `VkRect2D`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Rect {
    pub x: i32,
    pub y: i32,
    pub width: u32,
    pub height: u32,
}

/// `VkPipelineDepthStencilStateCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct DepthStencilState {
    pub flags: u32,
    pub stencil_test_enable: u32,
    pub max_depth_bounds: f32,
    pub min_depth_bounds: f32,
    pub depth_bounds_test_enable: u32,
    pub depth_write_enable: u32,
    pub depth_test_enable: u32,
    pub depth_compare_op: u32,
    pub front: StencilOps,
    pub back: StencilOps,
}

/// `VkStencilOpState`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct StencilOps {
    pub compare_op: u32,
    pub write_mask: u32,
    pub reference: u32,
    pub compare_mask: u32,
    pub pass_op: u32,
    pub fail_op: u32,
    pub depth_fail_op: u32,
}
