//! Variants of render passes with which a pass can be ended before a draw and begun again.
//!
//! Each pass of the application has two compatible variants: the first keeps contents that the application's pass would
//! discard at its end, the second loads the existing contents. Both leave attachments in the layouts of the
//! application's pass, so the application does not notice that its pass has ended. A dynamic rendering is changed in
//! the same way when it begins.

use super::copies::Gpu;
use super::reason::Reason;
use crate::functions::Functions;
use ash::vk;

/// The variants of a render pass.
pub struct Variants {
    pub first: vk::RenderPass,
    pub rest: vk::RenderPass,
    /// Attachments by location.
    pub colors: Vec<Option<u32>>,
    pub depth: Option<u32>,
    /// The layout of each attachment after the pass.
    pub layouts: Vec<vk::ImageLayout>,
}

/// A render pass that was begun.
pub struct Pass {
    pub area: vk::Rect2D,
    /// The parameters to begin it again, or the reason why that is impossible.
    pub resume: Result<Resume, Reason>,
    /// A secondary command buffer is being unrolled into the pass.
    pub unrolled: bool,
    pub colors: Vec<Option<Attachment>>,
    pub depth: Option<Attachment>,
    pub stencil: Option<Attachment>,
}

/// An attachment, and its layout while the pass is interrupted.
#[derive(Clone, Copy)]
pub struct Attachment {
    pub view: vk::ImageView,
    pub layout: vk::ImageLayout,
}

/// Parameters with which a pass is begun again.
#[derive(Clone, Copy)]
pub enum Resume {
    /// A render pass, and the contents of its subpass: inline or secondary.
    Pass(vk::RenderPass, vk::Framebuffer, vk::SubpassContents),
    /// Dynamic rendering; its flags say whether its contents are inline or secondary.
    Rendering(vk::RenderingFlags),
}

/// The members of an attachment description that are needed here, in both of Vulkan's forms.
trait Description: Copy {
    fn ops(&mut self) -> [(&mut vk::AttachmentLoadOp, &mut vk::AttachmentStoreOp); 2];
    fn layouts(&mut self) -> (&mut vk::ImageLayout, &mut vk::ImageLayout);
    fn samples(&self) -> vk::SampleCountFlags;
    fn is_extended(&self) -> bool;
}

macro_rules! description {
    ($ty:ty, |$one:ident| $extended:expr) => {
        impl Description for $ty {
            fn ops(&mut self) -> [(&mut vk::AttachmentLoadOp, &mut vk::AttachmentStoreOp); 2] {
                [(&mut self.load_op, &mut self.store_op), (&mut self.stencil_load_op, &mut self.stencil_store_op)]
            }

            fn layouts(&mut self) -> (&mut vk::ImageLayout, &mut vk::ImageLayout) {
                (&mut self.initial_layout, &mut self.final_layout)
            }

            fn samples(&self) -> vk::SampleCountFlags {
                self.samples
            }

            fn is_extended(&self) -> bool {
                let $one = self;
                $extended
            }
        }
    };
}

description!(vk::AttachmentDescription, |_one| false);
description!(vk::AttachmentDescription2<'_>, |one| !one.p_next.is_null());

/// The attachments of both variants, and their layouts after the pass.
fn described<D: Description>(given: &[D]) -> Result<([Vec<D>; 2], Vec<vk::ImageLayout>), Reason> {
    if given.iter().any(|one| one.samples() != vk::SampleCountFlags::TYPE_1) {
        return Err(Reason::Samples);
    }
    if given.iter().any(Description::is_extended) {
        return Err(Reason::Pass);
    }
    let mut first = given.to_vec();
    first.iter_mut().flat_map(Description::ops).for_each(|(_, store)| *store = kept(*store));
    let mut rest = first.clone();
    let mut after = Vec::new();
    for one in &mut rest {
        let (from, to) = one.layouts();
        *from = *to;
        after.push(*to);
        one.ops().into_iter().for_each(|(load, _)| *load = loaded(*load));
    }
    Ok(([first, rest], after))
}

/// A store operation that keeps the contents. Attachments that are not accessed need not be kept.
pub fn kept(store: vk::AttachmentStoreOp) -> vk::AttachmentStoreOp {
    if store == vk::AttachmentStoreOp::DONT_CARE { vk::AttachmentStoreOp::STORE } else { store }
}

/// A load operation that loads the kept contents.
pub fn loaded(load: vk::AttachmentLoadOp) -> vk::AttachmentLoadOp {
    match load {
        vk::AttachmentLoadOp::CLEAR | vk::AttachmentLoadOp::DONT_CARE => vk::AttachmentLoadOp::LOAD,
        other => other,
    }
}

fn used(attachment: u32) -> Option<u32> {
    Some(attachment).filter(|attachment| *attachment != vk::ATTACHMENT_UNUSED)
}

impl Gpu {
    /// The variants of a pass of the first form.
    ///
    /// # Errors
    /// Why it has none.
    ///
    /// # Safety
    /// The device is alive, and has created a render pass from this info.
    pub unsafe fn variants(&self, given: &vk::RenderPassCreateInfo<'_>) -> Result<Variants, Reason> {
        let create = self.functions.create_render_pass.ok_or(Reason::Pass)?;
        // SAFETY: a valid info has valid lists.
        unsafe {
            let [subpass] = crate::read::list(given.p_subpasses, given.subpass_count) else {
                return Err(Reason::Subpasses);
            };
            if !given.p_next.is_null() {
                return Err(Reason::Pass);
            }
            let references = crate::read::list(subpass.p_color_attachments, subpass.color_attachment_count);
            let colors = references.iter().map(|one| used(one.attachment)).collect();
            let depth = subpass.p_depth_stencil_attachment.as_ref().and_then(|one| used(one.attachment));
            let (lists, layouts) = described(crate::read::list(given.p_attachments, given.attachment_count))?;
            let [first, rest] = lists.map(|list| {
                let info = vk::RenderPassCreateInfo { p_attachments: list.as_ptr(), ..*given };
                let mut made = vk::RenderPass::null();
                let result = create(self.device, &info, std::ptr::null(), &mut made);
                (result == vk::Result::SUCCESS).then_some(made)
            });
            self.both(first, rest, colors, depth, layouts)
        }
    }

    /// The variants of a pass of the second form.
    ///
    /// # Errors
    /// As [`Self::variants`].
    ///
    /// # Safety
    /// As [`Self::variants`].
    pub unsafe fn variants2(&self, given: &vk::RenderPassCreateInfo2<'_>) -> Result<Variants, Reason> {
        let create = self.functions.create_render_pass2.ok_or(Reason::Pass)?;
        // SAFETY: a valid info has valid lists.
        unsafe {
            let [subpass] = crate::read::list(given.p_subpasses, given.subpass_count) else {
                return Err(Reason::Subpasses);
            };
            if subpass.view_mask != 0 {
                return Err(Reason::Multiview);
            }
            let references = crate::read::list(subpass.p_color_attachments, subpass.color_attachment_count);
            let depth = subpass.p_depth_stencil_attachment.as_ref();
            let mut extended = references.iter().chain(depth).any(|one| !one.p_next.is_null());
            extended |= !given.p_next.is_null() || !subpass.p_next.is_null();
            if extended {
                return Err(Reason::Pass);
            }
            let colors = references.iter().map(|one| used(one.attachment)).collect();
            let depth = depth.and_then(|one| used(one.attachment));
            let (lists, layouts) = described(crate::read::list(given.p_attachments, given.attachment_count))?;
            let [first, rest] = lists.map(|list| {
                let info = vk::RenderPassCreateInfo2 { p_attachments: list.as_ptr(), ..*given };
                let mut made = vk::RenderPass::null();
                let result = create(self.device, &info, std::ptr::null(), &mut made);
                (result == vk::Result::SUCCESS).then_some(made)
            });
            self.both(first, rest, colors, depth, layouts)
        }
    }

    /// # Safety
    /// The passes belong to this device and are not used elsewhere.
    unsafe fn both(
        &self,
        first: Option<vk::RenderPass>,
        rest: Option<vk::RenderPass>,
        colors: Vec<Option<u32>>,
        depth: Option<u32>,
        layouts: Vec<vk::ImageLayout>,
    ) -> Result<Variants, Reason> {
        let Some((first, rest)) = first.zip(rest) else {
            // SAFETY: as the caller says.
            first.into_iter().chain(rest).for_each(|one| unsafe { self.destroy_pass(one) });
            return Err(Reason::Memory);
        };
        Ok(Variants { first, rest, colors, depth, layouts })
    }

    /// # Safety
    /// No command buffer that uses it is running, or will run.
    pub unsafe fn destroy_pass(&self, pass: vk::RenderPass) {
        if let Some(destroy) = self.functions.destroy_render_pass {
            // SAFETY: as the caller says.
            unsafe { destroy(self.device, pass, std::ptr::null()) };
        }
    }

    /// Whether passes can be ended and begun again.
    pub fn can_interrupt(&self, resume: Resume) -> bool {
        let f: &Functions = &self.functions;
        match resume {
            Resume::Pass(..) => f.cmd_begin_render_pass.is_some() && f.cmd_end_render_pass.is_some(),
            Resume::Rendering(_) => f.cmd_begin_rendering.is_some() && f.cmd_end_rendering.is_some(),
        }
    }

    /// Ends a pass; [`Self::resume`] begins it again.
    ///
    /// # Safety
    /// The command buffer is in this pass.
    pub unsafe fn interrupt(&self, commands: vk::CommandBuffer, resume: Resume) {
        let f = &self.functions;
        // SAFETY: as the caller says.
        unsafe {
            match resume {
                Resume::Pass(..) => f.cmd_end_render_pass.iter().for_each(|end| end(commands)),
                Resume::Rendering(_) => f.cmd_end_rendering.iter().for_each(|end| end(commands)),
            }
        }
    }

    /// Begins a pass again.
    ///
    /// # Safety
    /// [`Self::interrupt`] has ended it, and its attachments are in the layouts in which that left them.
    pub unsafe fn resume(&self, commands: vk::CommandBuffer, pass: &Pass, resume: Resume) {
        let f = &self.functions;
        match resume {
            Resume::Pass(variant, framebuffer, contents) => {
                let info = vk::RenderPassBeginInfo::default()
                    .render_pass(variant)
                    .framebuffer(framebuffer)
                    .render_area(pass.area);
                let contents = if pass.unrolled { vk::SubpassContents::INLINE } else { contents };
                // SAFETY: as the caller says; nothing is cleared.
                f.cmd_begin_render_pass.iter().for_each(|begin| unsafe { begin(commands, &info, contents) });
            }
            Resume::Rendering(mut flags) => {
                if pass.unrolled {
                    flags &= !vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS;
                }
                let info = |attachment: &Option<Attachment>| {
                    attachment.map_or_else(vk::RenderingAttachmentInfo::default, |attachment| {
                        vk::RenderingAttachmentInfo::default()
                            .image_view(attachment.view)
                            .image_layout(attachment.layout)
                            .load_op(vk::AttachmentLoadOp::LOAD)
                            .store_op(vk::AttachmentStoreOp::STORE)
                    })
                };
                let colors: Vec<_> = pass.colors.iter().map(info).collect();
                let (depth, stencil) = (info(&pass.depth), info(&pass.stencil));
                let info = vk::RenderingInfo::default()
                    .flags(flags)
                    .render_area(pass.area)
                    .layer_count(1)
                    .color_attachments(&colors)
                    .depth_attachment(&depth)
                    .stencil_attachment(&stencil);
                // SAFETY: as the caller says.
                f.cmd_begin_rendering.iter().for_each(|begin| unsafe { begin(commands, &info) });
            }
        }
    }
}
