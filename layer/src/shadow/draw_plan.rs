//! Plans a draw: the copies of its vertices, indices and attachments, and its fixed functions.

use super::bound::IndexBuffer;
use super::commands::Commands;
use super::drawing::{Call, Counts, Drawing, Indices, index_bytes};
use super::fixed::fixed;
use super::passes::Pass;
use super::plan::{Plan, Sight, Work};
use super::program::{Known, Program};
use super::reason::Reason;
use super::state;
use super::views::{self, Attached};
use ash::vk;
use dovetail_emu::inputs::{Draw, InputBytes, Scissor, Stencil, TargetAttachment, VertexBuffer};

impl Plan {
    /// Plans a draw of this pipeline in this pass.
    ///
    /// # Errors
    /// Why it cannot be followed.
    pub fn draw(
        (known, program): (&Known, &Program),
        call: Call,
        (commands, pass): (&Commands, &Pass),
        sight: &Sight<'_>,
    ) -> Result<Self, Reason> {
        let fixed =
            fixed(known.fixed.as_ref().ok_or(Reason::Pipeline)?, &commands.dynamic, program.reads, sight.strict_lines)?;
        let drawing = Drawing {
            call,
            draw: fixed.draw,
            indices: None,
            vertices: Vec::new(),
            targets: Vec::new(),
            depth: None,
            stencil: None,
        };
        let mut drawing = Box::new(drawing);
        // A placeholder until the plan is complete.
        let mut plan = Self::new(Work::Dispatch(super::plan::Grid::Given([0; 3])));
        if let Call::Indirect { indexed, buffer, offset } = call {
            let range = if indexed { 20 } else { 16 };
            plan.buffer(sight.objects, vk::DescriptorBufferInfo { buffer, offset, range }, false)?;
        }
        plan.add_vertices(&mut drawing, (known, program), commands, sight)?;
        if call.is_indexed() {
            let bound = commands.vertices.indices.ok_or(Reason::Object)?;
            drawing.indices = Some(plan.add_indices(call, bound, fixed.restart, sight)?);
        }
        for attachment in &program.state.color.attachments {
            let there = pass.colors.get(attachment.location as usize).copied().flatten();
            let Some(there) = there.filter(|there| there.view != vk::ImageView::null()) else { continue };
            let (mask, blend) = fixed.colors.get(attachment.location as usize).cloned().unwrap_or(Ok((0, None)))?;
            let found = views::attachment(sight.objects, there.view, there.layout, vk::ImageAspectFlags::COLOR)?;
            if found.format.as_raw() as u32 != attachment.format.0 {
                return Err(Reason::Format);
            }
            let write_mask = mask & attachment.write_mask;
            let target = TargetAttachment::new(attachment.location, attachment.format.to_string());
            drawing.draw.targets.push(TargetAttachment { write_mask, blend, ..target });
            drawing.targets.push(plan.regions.len());
            plan.attach(&mut drawing.draw, &found)?;
        }
        let there = |one: Option<super::passes::Attachment>| one.filter(|one| one.view != vk::ImageView::null());
        if let (Some(test), Some(there)) = (fixed.depth, there(pass.depth)) {
            let found = views::attachment(sight.objects, there.view, there.layout, vk::ImageAspectFlags::DEPTH)?;
            drawing.draw.depth = Some(test);
            drawing.draw.fixed.depth_bits = views::depth_form(found.format).ok_or(Reason::Format)?.1;
            drawing.depth = Some((plan.regions.len(), found.format));
            plan.attach(&mut drawing.draw, &found)?;
        }
        if let (Some(faces), Some(there)) = (fixed.stencil, there(pass.stencil)) {
            let found = views::attachment(sight.objects, there.view, there.layout, vk::ImageAspectFlags::STENCIL)?;
            drawing.draw.stencil = Some(Stencil { clear: 0, reference: 0 });
            drawing.draw.fixed.stencil = Some(faces);
            drawing.stencil = Some(plan.regions.len());
            plan.attach(&mut drawing.draw, &found)?;
        }
        if drawing.draw.extent == [0; 2] {
            return Err(Reason::NoAttachments);
        }
        let from = [pass.area.offset.x, pass.area.offset.y].map(|n| u32::try_from(n).unwrap_or(0));
        let area = Scissor { from, extent: [pass.area.extent.width, pass.area.extent.height] };
        drawing.draw.fixed.scissor = drawing.draw.fixed.scissor.map(|scissor| scissor.and(area));
        plan.add_bound(program, sight)?;
        plan.work = Work::Draw(drawing);
        Ok(plan)
    }

    fn add_vertices(
        &mut self,
        drawing: &mut Drawing,
        (known, program): (&Known, &Program),
        commands: &Commands,
        sight: &Sight<'_>,
    ) -> Result<(), Reason> {
        let used = &program.state.vertex;
        for binding in &used.bindings {
            if !used.attributes.iter().any(|attribute| attribute.binding == binding.binding) {
                continue;
            }
            let bound = commands.vertices.buffers.get(&binding.binding).ok_or(Reason::Object)?;
            let stride = match known.fixed.as_ref().is_some_and(|fixed| fixed.dynamic.contains(&state::VERTEX_STRIDE)) {
                true => {
                    let stride = commands.dynamic.strides.get(&binding.binding);
                    stride.and_then(|stride| (*stride).try_into().ok()).ok_or(Reason::Unset(state::VERTEX_STRIDE))?
                }
                false => binding.stride,
            };
            let rest = sight.objects.buffers.get(&bound.buffer).map_or(0, |buffer| buffer.size);
            let all = bound.size.filter(|size| *size != vk::WHOLE_SIZE);
            let all = all.unwrap_or_else(|| rest.saturating_sub(bound.offset));
            let needed = drawing.call.reach(used, binding.binding, stride).unwrap_or(u64::MAX);
            drawing.vertices.push(self.regions.len());
            let info = vk::DescriptorBufferInfo { buffer: bound.buffer, offset: bound.offset, range: all.min(needed) };
            self.buffer(sight.objects, info, false)?;
            let buffer = VertexBuffer { binding: binding.binding, stride, data: InputBytes::default() };
            drawing.draw.vertex_buffers.push(buffer);
        }
        Ok(())
    }

    fn add_indices(
        &mut self,
        call: Call,
        bound: IndexBuffer,
        restart: bool,
        sight: &Sight<'_>,
    ) -> Result<Indices, Reason> {
        let bytes = index_bytes(bound.kind).ok_or(Reason::Format)?;
        let (mut offset, mut range) = (bound.offset, bound.size);
        if let Call::Given(Counts { index: Some(first), count, .. }) = call {
            offset = offset.saturating_add(bytes * u64::from(first));
            range = bytes * u64::from(count.max(1));
        }
        let region = self.regions.len();
        self.buffer(sight.objects, vk::DescriptorBufferInfo { buffer: bound.buffer, offset, range }, false)?;
        Ok(Indices { region, kind: bound.kind, restart })
    }

    /// Adds an attachment; all attachments must have one size.
    fn attach(&mut self, draw: &mut Draw, found: &Attached) -> Result<(), Reason> {
        if draw.extent != [0; 2] && draw.extent != found.extent {
            return Err(Reason::Sizes);
        }
        draw.extent = found.extent;
        self.region(found.source, found.bytes, true)
    }
}
