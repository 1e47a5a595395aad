//! Colour attachments, blending, samples and views.

use super::merge::Merged;
use super::tables::{self, dynamic};
use crate::model::{BlendAttachment, Next, RenderPass, s_type};
use crate::source::DefinitionSource;
use dovetail_base::error::{Context, Error, Result};
use dovetail_state::{ColorAttachment, ColorState, VkFormat};
use std::sync::Arc;

/// `VK_ATTACHMENT_UNUSED`.
const UNUSED: u32 = u32::MAX;
/// `VK_FORMAT_UNDEFINED`.
const UNDEFINED: u32 = 0;

pub(super) fn translate(merged: &Merged, discard: bool, source: &dyn DefinitionSource) -> Result<ColorState> {
    if discard {
        return Ok(ColorState::default());
    }
    let mut color = samples(merged)?;
    let Some(blend) = &merged.blend else { return Ok(color) };
    tables::chain(&blend.p_next)?;
    let enables = Next::find(&blend.p_next, s_type::COLOR_WRITE).map_or(&[][..], |next| &next.color_write_enables);
    check_locations(merged)?;
    for (location, format) in (0u32..).zip(formats(merged, source)?) {
        let index = location as usize;
        let given = blend.attachments.get(index);
        let place = || format!("colour attachment {location}");
        let Some(format) = format else { continue };
        let Some(given) = given else {
            return Err(Error::malformed("there is a format, and no blend state").at(place()));
        };
        let blends = (given.blend_enable != 0 || merged.is_dynamic(dynamic::BLEND_ENABLE)).then_some(given);
        blends.map_or(Ok(()), operations).at(place)?;
        // If writes are enabled dynamically, the driver handles it, and Vulkan ignores the list.
        let written = merged.is_dynamic(dynamic::COLOR_WRITE) || enables.get(index) != Some(&0);
        let mask = if merged.is_dynamic(dynamic::WRITE_MASK) { 15 } else { given.color_write_mask & 15 };
        let dual = blends.is_some_and(|given| factors(given).iter().any(|factor| DUAL.contains(factor)));
        if dual && merged.is_dynamic(dynamic::BLEND_ENABLE) {
            // The number of exported sources would depend on the draw.
            return Err(Error::unsupported("VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT", "with two sources").at(place()));
        }
        color.dual_source |= dual;
        color.attachments.push(ColorAttachment {
            location,
            format: VkFormat(format),
            write_mask: if written { mask as u8 } else { 0 },
            blend: blends.is_some(),
            blend_source_alpha: blends.is_some_and(reads_source_alpha),
        });
    }
    Ok(color)
}

/// `VK_BLEND_FACTOR_SRC1_COLOR` to `VK_BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA`.
const DUAL: std::ops::RangeInclusive<u32> = 15..=18;

fn factors(given: &BlendAttachment) -> [u32; 4] {
    [
        given.src_color_blend_factor,
        given.dst_color_blend_factor,
        given.src_alpha_blend_factor,
        given.dst_alpha_blend_factor,
    ]
}

/// Whether a factor of the colour depends on a source alpha.
fn reads_source_alpha(given: &BlendAttachment) -> bool {
    // SRC_ALPHA, ONE_MINUS_SRC_ALPHA, SRC_ALPHA_SATURATE, and the two alpha factors of the second source.
    const ALPHA: [u32; 5] = [6, 7, 14, 17, 18];
    ALPHA.contains(&given.src_color_blend_factor) || ALPHA.contains(&given.dst_color_blend_factor)
}

fn operations(given: &BlendAttachment) -> Result<()> {
    /// `VK_BLEND_OP_MAX`, the last operation of Vulkan 1.0.
    const LAST: u32 = 4;
    match [given.color_blend_op, given.alpha_blend_op].into_iter().find(|operation| *operation > LAST) {
        Some(advanced) => Err(Error::unsupported("advanced blend operation", format!("VkBlendOp {advanced}"))),
        None => Ok(()),
    }
}

fn samples(merged: &Merged) -> Result<ColorState> {
    let Some(given) = &merged.multisample else { return Ok(ColorState::default()) };
    tables::chain(&given.p_next)?;
    // A fraction of the samples is rounded up; more than one means all samples.
    let asked = given.min_sample_shading.clamp(0.0, 1.0) * given.rasterization_samples as f32;
    Ok(ColorState {
        alpha_to_coverage: given.alpha_to_coverage_enable != 0,
        alpha_to_one: given.alpha_to_one_enable != 0,
        samples: given.rasterization_samples,
        sample_shading: given.sample_shading_enable != 0 && asked > 1.0,
        ..ColorState::default()
    })
}

/// Attachments must be at the locations of their numbers.
fn check_locations(merged: &Merged) -> Result<()> {
    let locations = merged.locations.as_ref().map_or(&[][..], |next| &next.color_attachment_locations);
    match (0u32..).zip(locations).all(|(index, location)| index == *location) {
        true => Ok(()),
        false => Err(Error::unsupported("locations of colour attachments", "other than their numbers")),
    }
}

/// The format of each location; `None`: nothing is written there.
fn formats(merged: &Merged, source: &dyn DefinitionSource) -> Result<Vec<Option<u32>>> {
    let some = |format: u32| Some(format).filter(|format| *format != UNDEFINED);
    if merged.render_pass.is_none() {
        let rendering = merged.rendering.as_ref().map_or(&[][..], |next| &next.color_attachment_formats);
        return Ok(rendering.iter().copied().map(some).collect());
    }
    let pass = render_pass(merged, source)?;
    let format = |reference: u32| match reference {
        UNUSED => Ok(None),
        index => match usize::try_from(index).ok().and_then(|index| pass.attachments.get(index)) {
            Some(attachment) => Ok(some(attachment.format)),
            None => Err(Error::malformed(format!("the render pass has no attachment {index}"))),
        },
    };
    subpass(merged, &pass)?.color_attachments.iter().map(|reference| format(reference.attachment)).collect()
}

fn render_pass(merged: &Merged, source: &dyn DefinitionSource) -> Result<Arc<RenderPass>> {
    let pass = source.render_pass(merged.render_pass).at(|| "render pass")?;
    tables::chain(&pass.p_next).at(|| "render pass")?;
    Ok(pass)
}

fn subpass<'a>(merged: &Merged, pass: &'a RenderPass) -> Result<&'a crate::model::Subpass> {
    let found = usize::try_from(merged.subpass).ok().and_then(|index| pass.subpasses.get(index));
    found.ok_or_else(|| Error::malformed(format!("the render pass has no subpass {}", merged.subpass)))
}

pub(super) fn view_mask(merged: &Merged, source: &dyn DefinitionSource) -> Result<u32> {
    if merged.render_pass.is_none() {
        return Ok(merged.rendering.as_ref().and_then(|next| next.view_mask).unwrap_or(0));
    }
    let pass = render_pass(merged, source)?;
    let first_form = Next::find(&pass.p_next, s_type::MULTIVIEW).map_or(&[][..], |next| &next.view_masks);
    let listed = usize::try_from(merged.subpass).ok().and_then(|index| first_form.get(index)).copied();
    Ok(subpass(merged, &pass)?.view_mask.or(listed).unwrap_or(0))
}
