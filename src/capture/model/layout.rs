//! Samplers, and layouts of descriptors and push constants.

use super::hash::Hash;
use super::next::Next;
use serde::{Deserialize, Serialize};

/// `VkSamplerCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Sampler {
    pub flags: u32,
    pub min_filter: u32,
    pub mag_filter: u32,
    pub max_anisotropy: f32,
    pub compare_op: u32,
    pub anisotropy_enable: u32,
    pub mipmap_mode: u32,
    pub address_mode_u: u32,
    pub address_mode_v: u32,
    pub address_mode_w: u32,
    pub border_color: u32,
    pub unnormalized_coordinates: u32,
    pub compare_enable: u32,
    pub mip_lod_bias: f32,
    pub min_lod: f32,
    pub max_lod: f32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkDescriptorSetLayoutCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct SetLayout {
    pub flags: u32,
    pub bindings: Vec<Binding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkDescriptorSetLayoutBinding`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Binding {
    pub descriptor_type: u32,
    pub descriptor_count: u32,
    #[serde(default)]
    pub stage_flags: u32,
    pub binding: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub immutable_samplers: Vec<Hash>,
}

/// `VkPipelineLayoutCreateInfo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct PipelineLayout {
    pub flags: u32,
    pub push_constant_ranges: Vec<PushConstantRange>,
    pub set_layouts: Vec<Hash>,
}

/// `VkPushConstantRange`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct PushConstantRange {
    pub stage_flags: u32,
    pub size: u32,
    pub offset: u32,
}
