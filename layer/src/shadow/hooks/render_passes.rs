//! Render passes and framebuffers, and queries in them.
//!
//! A pass that has variants is begun as the first one, so that a draw in it can be copied.

use super::{Watch, answers, of, passes, records, watch};
use crate::dispatch::{self, Device, key};
use crate::read::list;
use crate::shadow::passes::{Attachment, Pass, Resume, kept};
use crate::shadow::reason::Reason;
use ash::vk;

const OK: vk::Result = vk::Result::SUCCESS;

/// The info from which a render pass was created.
pub enum Given<'a> {
    First(&'a vk::RenderPassCreateInfo<'a>),
    Second(&'a vk::RenderPassCreateInfo2<'a>),
}

/// Creates the variants of a new render pass, if the shadow is on.
///
/// # Safety
/// The pass belongs to this device and was created from this info.
pub unsafe fn made(device: &Device, pass: vk::RenderPass, given: &Given<'_>) {
    watch(device, |watch| {
        // SAFETY: as the caller says.
        let variants = unsafe {
            match given {
                Given::First(info) => watch.tracker.gpu.variants(info),
                Given::Second(info) => watch.tracker.gpu.variants2(info),
            }
        };
        watch.state.objects.passes.insert(pass, variants);
    });
}

/// Destroys the variants of a render pass.
///
/// # Safety
/// Nothing uses it any more.
pub unsafe fn destroyed(device: &Device, pass: vk::RenderPass) {
    watch(device, |watch| {
        if let Some(Ok(variants)) = watch.state.objects.passes.remove(&pass) {
            for variant in [variants.first, variants.rest] {
                // SAFETY: what uses the variant was recorded in the application's pass, which is no longer used.
                unsafe { watch.tracker.gpu.destroy_pass(variant) };
            }
        }
    });
}

answers! {
    create_framebuffer(
        device: vk::Device,
        info: *const vk::FramebufferCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        made: *mut vk::Framebuffer
    )
    |watch: &mut Watch<'_>, result: vk::Result| {
        if result == OK {
            let given = &*info;
            let views = match () {
                () if given.flags.contains(vk::FramebufferCreateFlags::IMAGELESS) => Err(Reason::Imageless),
                () if given.layers != 1 => Err(Reason::Layered),
                () => Ok(list(given.p_attachments, given.attachment_count).to_vec()),
            };
            watch.state.objects.framebuffers.insert(*made, views);
        }
    };
}

/// Records that a pass begins; returns the variant to begin instead, if it has one.
///
/// # Safety
/// The info is valid.
unsafe fn begin(
    watch: &mut Watch<'_>,
    commands: vk::CommandBuffer,
    info: &vk::RenderPassBeginInfo<'_>,
    contents: vk::SubpassContents,
) -> Option<vk::RenderPass> {
    let objects = &watch.state.objects;
    let variants = objects.passes.get(&info.render_pass)?;
    let recorded = watch.state.commands.get_mut(&commands)?;
    recorded.queries = 0;
    let mut pass = Pass {
        area: info.render_area,
        resume: Err(Reason::Outside),
        unrolled: false,
        colors: Vec::new(),
        depth: None,
        stencil: None,
    };
    let first = match variants {
        Err(reason) => {
            pass.resume = Err(reason.clone());
            None
        }
        Ok(variants) => {
            let views = objects.framebuffers.get(&info.framebuffer).cloned().unwrap_or(Err(Reason::Object));
            pass.resume = match (&views, info.p_next.is_null()) {
                (Err(reason), _) => Err(reason.clone()),
                (Ok(_), true) => Ok(Resume::Pass(variants.rest, info.framebuffer, contents)),
                (Ok(_), false) => Err(Reason::Pass),
            };
            let views = views.unwrap_or_default();
            let attached = |number: Option<u32>| {
                let number = number? as usize;
                Some(Attachment { view: *views.get(number)?, layout: *variants.layouts.get(number)? })
            };
            pass.colors = variants.colors.iter().map(|number| attached(*number)).collect();
            pass.depth = attached(variants.depth);
            pass.stencil = pass.depth;
            Some(variants.first)
        }
    };
    recorded.pass = Some(pass);
    first
}

pub(super) unsafe extern "system" fn cmd_begin_render_pass(
    commands: vk::CommandBuffer,
    info: *const vk::RenderPassBeginInfo<'_>,
    contents: vk::SubpassContents,
) {
    // SAFETY: the caller's command buffer; the call passes on the arguments, with the pass or its variant.
    unsafe {
        let below = dispatch::below(key(commands), |functions| functions.cmd_begin_render_pass);
        let Some((device, below)) = below else { return };
        let first = watch(&device, |watch| begin(watch, commands, &*info, contents)).flatten();
        let info = vk::RenderPassBeginInfo { render_pass: first.unwrap_or((*info).render_pass), ..*info };
        below(commands, &info, contents);
    }
}

pub(super) unsafe extern "system" fn cmd_begin_render_pass2(
    commands: vk::CommandBuffer,
    info: *const vk::RenderPassBeginInfo<'_>,
    subpass: *const vk::SubpassBeginInfo<'_>,
) {
    // SAFETY: as above.
    unsafe {
        let below = dispatch::below(key(commands), |functions| functions.cmd_begin_render_pass2);
        let Some((device, below)) = below else { return };
        let first = watch(&device, |watch| begin(watch, commands, &*info, (*subpass).contents)).flatten();
        let info = vk::RenderPassBeginInfo { render_pass: first.unwrap_or((*info).render_pass), ..*info };
        below(commands, &info, subpass);
    }
}

/// Records that a dynamic rendering begins; returns whether discarded contents must be kept.
///
/// # Safety
/// The info is valid.
unsafe fn begin_rendering(watch: &mut Watch<'_>, commands: vk::CommandBuffer, info: &vk::RenderingInfo<'_>) -> bool {
    use vk::RenderingFlags as F;
    let Some(recorded) = watch.state.commands.get_mut(&commands) else { return false };
    recorded.queries = 0;
    // SAFETY: as the caller says.
    let (colors, depth, stencil) = unsafe {
        let colors = list(info.p_color_attachments, info.color_attachment_count);
        (colors, info.p_depth_attachment.as_ref(), info.p_stencil_attachment.as_ref())
    };
    let mut all = colors.iter().chain(depth).chain(stencil).filter(|one| one.image_view != vk::ImageView::null());
    let resume = match () {
        () if info.flags.intersects(!F::CONTENTS_SECONDARY_COMMAND_BUFFERS) => Err(Reason::Pass),
        () if !info.p_next.is_null() => Err(Reason::Pass),
        () if info.view_mask != 0 => Err(Reason::Multiview),
        () if info.layer_count != 1 => Err(Reason::Layered),
        () if all.clone().any(|one| one.resolve_mode != vk::ResolveModeFlags::NONE) => Err(Reason::Samples),
        () if all.any(|one| !one.p_next.is_null()) => Err(Reason::Pass),
        () => Ok(Resume::Rendering(info.flags)),
    };
    let keep = resume.is_ok();
    let attached = |one: &vk::RenderingAttachmentInfo<'_>| {
        let (view, layout) = (one.image_view, one.image_layout);
        (view != vk::ImageView::null()).then_some(Attachment { view, layout })
    };
    recorded.pass = Some(Pass {
        area: info.render_area,
        resume,
        unrolled: false,
        colors: colors.iter().map(attached).collect(),
        depth: depth.and_then(attached),
        stencil: stencil.and_then(attached),
    });
    keep
}

fn stored<'a>(one: &vk::RenderingAttachmentInfo<'a>) -> vk::RenderingAttachmentInfo<'a> {
    vk::RenderingAttachmentInfo { store_op: kept(one.store_op), ..*one }
}

pub(super) unsafe extern "system" fn cmd_begin_rendering(
    commands: vk::CommandBuffer,
    info: *const vk::RenderingInfo<'_>,
) {
    // SAFETY: the caller's command buffer; the call passes on the arguments, but may keep attachments that the caller
    // discards.
    unsafe {
        let Some((device, below)) = dispatch::below(key(commands), |functions| functions.cmd_begin_rendering) else {
            return;
        };
        if watch(&device, |watch| begin_rendering(watch, commands, &*info)) != Some(true) {
            return below(commands, info);
        }
        let given = &*info;
        let colors: Vec<_> = list(given.p_color_attachments, given.color_attachment_count).iter().map(stored).collect();
        let [depth, stencil] =
            [given.p_depth_attachment, given.p_stencil_attachment].map(|one| one.as_ref().map(stored));
        let first = |one: &Option<vk::RenderingAttachmentInfo<'_>>| {
            one.as_ref().map_or(std::ptr::null(), std::ptr::from_ref).cast()
        };
        let ours = vk::RenderingInfo {
            p_color_attachments: colors.as_ptr(),
            p_depth_attachment: first(&depth),
            p_stencil_attachment: first(&stencil),
            ..*given
        };
        below(commands, &ours);
    }
}

fn begin_query(watch: &mut Watch<'_>, commands: vk::CommandBuffer) {
    of(watch, commands, |commands| commands.queries += u32::from(commands.pass.is_some()));
}

fn end_query(watch: &mut Watch<'_>, commands: vk::CommandBuffer) {
    of(watch, commands, |commands| commands.queries = commands.queries.saturating_sub(1));
}

passes! {
    destroy_framebuffer(
        device: vk::Device,
        framebuffer: vk::Framebuffer,
        allocator: *const vk::AllocationCallbacks<'_>
    )
    |watch| { watch.state.objects.framebuffers.remove(&framebuffer); };
    cmd_end_render_pass(commands: vk::CommandBuffer)
    |watch| of(watch, commands, |commands| commands.pass = None);
    cmd_end_render_pass2(commands: vk::CommandBuffer, info: *const vk::SubpassEndInfo<'_>)
    |watch| of(watch, commands, |commands| commands.pass = None);
    cmd_end_rendering(commands: vk::CommandBuffer)
    |watch| of(watch, commands, |commands| commands.pass = None);
}

records! {
    cmd_begin_query(
        commands: vk::CommandBuffer,
        pool: vk::QueryPool,
        query: u32,
        flags: vk::QueryControlFlags
    );
    |watch| begin_query(watch, commands);
    cmd_end_query(commands: vk::CommandBuffer, pool: vk::QueryPool, query: u32);
    |watch| end_query(watch, commands);
    cmd_begin_query_indexed(
        commands: vk::CommandBuffer,
        pool: vk::QueryPool,
        query: u32,
        flags: vk::QueryControlFlags,
        index: u32
    );
    |watch| begin_query(watch, commands);
    cmd_end_query_indexed(commands: vk::CommandBuffer, pool: vk::QueryPool, query: u32, index: u32);
    |watch| end_query(watch, commands);
    cmd_begin_transform_feedback(
        commands: vk::CommandBuffer,
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize
    ) keep buffers = list(buffers, count), offsets = list(offsets, count);
    |watch| of(watch, commands, |commands| commands.feedback = true);
    cmd_end_transform_feedback(
        commands: vk::CommandBuffer,
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize
    ) keep buffers = list(buffers, count), offsets = list(offsets, count);
    |watch| of(watch, commands, |commands| commands.feedback = false);
}
