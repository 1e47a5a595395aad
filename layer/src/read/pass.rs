//! Reads render passes, of Vulkan 1.0 and of `VkRenderPassCreateInfo2`, into one model.

use super::next::chain;
use super::reader::{Reader, list, number};
use ash::vk;
use dovetail_capture::{Attachment, Dependency, Reference, RenderPass, Subpass};

/// Reads the first form.
///
/// # Safety
/// The info is valid.
pub unsafe fn render_pass(reader: &Reader<'_>, given: &vk::RenderPassCreateInfo<'_>) -> RenderPass {
    let attachment = |given: &vk::AttachmentDescription| Attachment {
        flags: given.flags.as_raw(),
        format: number!(given.format),
        final_layout: number!(given.final_layout),
        initial_layout: number!(given.initial_layout),
        load_op: number!(given.load_op),
        store_op: number!(given.store_op),
        samples: given.samples.as_raw(),
        stencil_load_op: number!(given.stencil_load_op),
        stencil_store_op: number!(given.stencil_store_op),
        p_next: Vec::new(),
    };
    let reference = |given: &vk::AttachmentReference| Reference {
        attachment: given.attachment,
        layout: number!(given.layout),
        ..Reference::default()
    };
    // SAFETY: a valid info has valid lists and chains.
    unsafe {
        let references = |first, count| list(first, count).iter().map(reference).collect();
        let subpass = |given: &vk::SubpassDescription<'_>| Subpass {
            flags: given.flags.as_raw(),
            pipeline_bind_point: number!(given.pipeline_bind_point),
            view_mask: None,
            preserve_attachments: list(given.p_preserve_attachments, given.preserve_attachment_count).to_vec(),
            input_attachments: references(given.p_input_attachments, given.input_attachment_count),
            color_attachments: references(given.p_color_attachments, given.color_attachment_count),
            resolve_attachments: references(given.p_resolve_attachments, given.color_attachment_count),
            depth_stencil_attachment: given.p_depth_stencil_attachment.as_ref().map(reference),
            p_next: Vec::new(),
        };
        let dependency = |given: &vk::SubpassDependency| Dependency {
            dependency_flags: given.dependency_flags.as_raw(),
            dst_access_mask: given.dst_access_mask.as_raw(),
            src_access_mask: given.src_access_mask.as_raw(),
            dst_stage_mask: given.dst_stage_mask.as_raw(),
            src_stage_mask: given.src_stage_mask.as_raw(),
            dst_subpass: given.dst_subpass,
            src_subpass: given.src_subpass,
            view_offset: None,
            p_next: Vec::new(),
        };
        RenderPass {
            flags: given.flags.as_raw(),
            attachments: list(given.p_attachments, given.attachment_count).iter().map(attachment).collect(),
            subpasses: list(given.p_subpasses, given.subpass_count).iter().map(subpass).collect(),
            dependencies: list(given.p_dependencies, given.dependency_count).iter().map(dependency).collect(),
            correlated_view_masks: Vec::new(),
            p_next: chain(reader, given.p_next),
            second: false,
        }
    }
}

/// A reference, without the structures that extend it.
pub(super) fn plain_reference2(given: &vk::AttachmentReference2<'_>) -> Reference {
    Reference {
        attachment: given.attachment,
        layout: number!(given.layout),
        aspect_mask: Some(given.aspect_mask.as_raw()),
        p_next: Vec::new(),
    }
}

/// Reads the second form.
///
/// # Safety
/// The info is valid.
pub unsafe fn render_pass2(reader: &Reader<'_>, given: &vk::RenderPassCreateInfo2<'_>) -> RenderPass {
    // SAFETY: a valid info has valid lists and chains.
    unsafe {
        let attachment = |given: &vk::AttachmentDescription2<'_>| Attachment {
            flags: given.flags.as_raw(),
            format: number!(given.format),
            final_layout: number!(given.final_layout),
            initial_layout: number!(given.initial_layout),
            load_op: number!(given.load_op),
            store_op: number!(given.store_op),
            samples: given.samples.as_raw(),
            stencil_load_op: number!(given.stencil_load_op),
            stencil_store_op: number!(given.stencil_store_op),
            p_next: chain(reader, given.p_next),
        };
        let reference = |given: &vk::AttachmentReference2<'_>| Reference {
            p_next: chain(reader, given.p_next),
            ..plain_reference2(given)
        };
        let references = |given: &[vk::AttachmentReference2<'_>]| given.iter().map(reference).collect();
        let subpass = |given: &vk::SubpassDescription2<'_>| Subpass {
            flags: given.flags.as_raw(),
            pipeline_bind_point: number!(given.pipeline_bind_point),
            view_mask: Some(given.view_mask),
            preserve_attachments: list(given.p_preserve_attachments, given.preserve_attachment_count).to_vec(),
            input_attachments: references(list(given.p_input_attachments, given.input_attachment_count)),
            color_attachments: references(list(given.p_color_attachments, given.color_attachment_count)),
            resolve_attachments: references(list(given.p_resolve_attachments, given.color_attachment_count)),
            depth_stencil_attachment: given.p_depth_stencil_attachment.as_ref().map(reference),
            p_next: chain(reader, given.p_next),
        };
        let dependency = |given: &vk::SubpassDependency2<'_>| Dependency {
            dependency_flags: given.dependency_flags.as_raw(),
            dst_access_mask: given.dst_access_mask.as_raw(),
            src_access_mask: given.src_access_mask.as_raw(),
            dst_stage_mask: given.dst_stage_mask.as_raw(),
            src_stage_mask: given.src_stage_mask.as_raw(),
            dst_subpass: given.dst_subpass,
            src_subpass: given.src_subpass,
            view_offset: Some(given.view_offset),
            p_next: chain(reader, given.p_next),
        };
        RenderPass {
            flags: given.flags.as_raw(),
            attachments: list(given.p_attachments, given.attachment_count).iter().map(attachment).collect(),
            subpasses: list(given.p_subpasses, given.subpass_count).iter().map(subpass).collect(),
            dependencies: list(given.p_dependencies, given.dependency_count).iter().map(dependency).collect(),
            correlated_view_masks: list(given.p_correlated_view_masks, given.correlated_view_mask_count).to_vec(),
            p_next: chain(reader, given.p_next),
            second: true,
        }
    }
}
