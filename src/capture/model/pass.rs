//! Render passes, in their first and second form.

use super::next::{Next, Reference};
use serde::{Deserialize, Serialize};

/// `VkRenderPassCreateInfo`, or `VkRenderPassCreateInfo2`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct RenderPass {
    pub flags: u32,
    pub attachments: Vec<Attachment>,
    pub subpasses: Vec<Subpass>,
    pub dependencies: Vec<Dependency>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub correlated_view_masks: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
    /// It has the second form, which the JSON tells by its key.
    #[serde(skip)]
    pub second: bool,
}

/// `VkAttachmentDescription`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Attachment {
    #[serde(default)]
    pub flags: u32,
    pub format: u32,
    pub final_layout: u32,
    pub initial_layout: u32,
    pub load_op: u32,
    pub store_op: u32,
    pub samples: u32,
    pub stencil_load_op: u32,
    pub stencil_store_op: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkSubpassDescription`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Subpass {
    #[serde(default)]
    pub flags: u32,
    pub pipeline_bind_point: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view_mask: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preserve_attachments: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_attachments: Vec<Reference>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub color_attachments: Vec<Reference>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolve_attachments: Vec<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth_stencil_attachment: Option<Reference>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}

/// `VkSubpassDependency`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Dependency {
    #[serde(default)]
    pub dependency_flags: u32,
    pub dst_access_mask: u32,
    pub src_access_mask: u32,
    pub dst_stage_mask: u32,
    pub src_stage_mask: u32,
    pub dst_subpass: u32,
    pub src_subpass: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view_offset: Option<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub p_next: Vec<Next>,
}
