//! Structures that extend others through `pNext`.

use super::hash::Hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Numbers of `VkStructureType` that are used here.
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub mod s_type {
    pub const SHADER_MODULE: u32 = 16;
    pub const RASTERIZATION_STREAM: u32 = 1_000_028_002;
    pub const RENDERING: u32 = 1_000_044_002;
    pub const MULTIVIEW: u32 = 1_000_053_000;
    pub const ROBUSTNESS: u32 = 1_000_068_000;
    pub const DISCARD_RECTANGLES: u32 = 1_000_099_001;
    pub const CONSERVATIVE_RASTERIZATION: u32 = 1_000_101_001;
    pub const DEPTH_CLIP: u32 = 1_000_102_001;
    pub const INPUT_ATTACHMENT_ASPECTS: u32 = 1_000_117_001;
    pub const TESSELLATION_DOMAIN_ORIGIN: u32 = 1_000_117_003;
    pub const SAMPLER_REDUCTION: u32 = 1_000_130_001;
    pub const SAMPLE_LOCATIONS: u32 = 1_000_143_002;
    pub const BLEND_ADVANCED: u32 = 1_000_148_002;
    pub const YCBCR_CONVERSION_CREATE: u32 = 1_000_156_000;
    pub const YCBCR_CONVERSION: u32 = 1_000_156_001;
    pub const BINDING_FLAGS: u32 = 1_000_161_000;
    pub const VERTEX_DIVISORS: u32 = 1_000_190_001;
    pub const CREATION_FEEDBACK: u32 = 1_000_192_000;
    pub const DEPTH_STENCIL_RESOLVE: u32 = 1_000_199_001;
    pub const SUBGROUP_SIZE: u32 = 1_000_225_001;
    pub const SHADING_RATE_ATTACHMENT: u32 = 1_000_226_000;
    pub const SHADING_RATE: u32 = 1_000_226_001;
    pub const ATTACHMENT_LOCATIONS: u32 = 1_000_232_001;
    pub const INPUT_ATTACHMENT_INDICES: u32 = 1_000_232_002;
    pub const STENCIL_LAYOUT_REFERENCE: u32 = 1_000_241_001;
    pub const STENCIL_LAYOUT_DESCRIPTION: u32 = 1_000_241_002;
    pub const PROVOKING_VERTEX: u32 = 1_000_254_001;
    pub const LINES: u32 = 1_000_259_001;
    pub const BORDER_COLOR: u32 = 1_000_287_000;
    pub const LIBRARIES: u32 = 1_000_290_000;
    pub const MEMORY_BARRIER_2: u32 = 1_000_314_000;
    pub const LIBRARY_PARTS: u32 = 1_000_320_002;
    pub const MUTABLE_TYPES: u32 = 1_000_351_002;
    pub const DEPTH_CLIP_CONTROL: u32 = 1_000_355_001;
    pub const COLOR_WRITE: u32 = 1_000_381_001;
    pub const MODULE_IDENTIFIER: u32 = 1_000_462_002;
    pub const FLAGS_2: u32 = 1_000_470_005;
}

/// A structure of a chain. It has the members that its type has; other members in a file are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Next {
    pub s_type: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertex_binding_divisor_count: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vertex_binding_divisors: Vec<Divisor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view_mask: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth_attachment_format: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stencil_attachment_format: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub color_attachment_formats: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub view_masks: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub view_offsets: Vec<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub correlation_masks: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conservative_rasterization_mode: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_primitive_overestimation_size: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rasterization_stream: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth_clip_enable: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative_one_to_one: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provoking_vertex_mode: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_rasterization_mode: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stippled_line_enable: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_locations_enable: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_subgroup_size: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduction_mode: Option<u32>,
    #[serde(default, rename = "customBorderColor", skip_serializing_if = "Option::is_none")]
    pub border_color: Option<[u32; 4]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub binding_flags: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutable_descriptor_type_lists: Vec<Vec<u32>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub color_write_enables: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub color_attachment_locations: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libraries: Option<Vec<Hash>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth_resolve_mode: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stencil_resolve_mode: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth_stencil_resolve_attachment: Option<Reference>,
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl Next {
    /// An empty structure of a type.
    pub fn new(s_type: u32) -> Self {
        Self { s_type, ..Self::default() }
    }

    /// The structure of a type in a chain, added if it is not there.
    pub fn find_or_add(chain: &mut Vec<Self>, s_type: u32) -> &mut Self {
        let there = chain.iter().position(|next| next.s_type == s_type).unwrap_or(chain.len());
        if there == chain.len() {
            chain.push(Self::new(s_type));
        }
        &mut chain[there]
    }

    /// The structure of a type in a chain.
    pub fn find(chain: &[Self], s_type: u32) -> Option<&Self> {
        chain.iter().find(|next| next.s_type == s_type)
    }

    /// The pipeline libraries in a pipeline's chain.
    pub fn libraries(chain: &[Self]) -> &[Hash] {
        Self::find(chain, s_type::LIBRARIES).and_then(|next| next.libraries.as_deref()).unwrap_or(&[])
    }
}

/// `VkVertexInputBindingDivisorDescription`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Divisor {
    pub binding: u32,
    pub divisor: u32,
}

/// `VkAttachmentReference`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Reference {
    pub attachment: u32,
    #[serde(default)]
    pub layout: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aspect_mask: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}
