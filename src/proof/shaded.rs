//! What the interpreter knows of a sample of a draw, from the fragments that were drawn there.

use super::blended::{Attachment, Content};
use super::crossing::number;
use dovetail_base::error::Result;
use dovetail_interp::{Invocation, Shadow, ShadowedTexel};
use dovetail_ir::OutputSlot;
use std::collections::BTreeMap;

/// Known contents of a sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Shaded {
    /// Whether a fragment passed: it was not killed, and its sample mask includes this sample.
    pub passed: bool,
    /// By location: what is known of the colour attachment.
    pub colors: BTreeMap<u32, Content>,
    pub depth: Option<(u64, Shadow)>,
    pub stencil: Option<(u64, Shadow)>,
}

/// The depth of a fragment: from its shader unless the test came before it, or else interpolated from the primitive.
pub(super) fn depth(pixel: &Invocation, primitive: Option<(u64, Shadow)>, early: bool) -> Option<(u64, Shadow)> {
    pixel.outputs.get(&OutputSlot::FragDepth).copied().filter(|_| !early).or(primitive)
}

/// Merges the outputs of a fragment shader into a sample.
///
/// # Errors
/// A colour that its attachment cannot hold.
pub(super) fn shade(
    attachments: &[Attachment<'_>],
    at: [u32; 2],
    shaded: &mut Shaded,
    (pixel, depth): (&Invocation, Option<(u64, Shadow)>),
) -> Result<()> {
    shaded.passed = true;
    shaded.depth = depth;
    let (mut fresh, mut seconds): (BTreeMap<u32, ShadowedTexel>, BTreeMap<u32, ShadowedTexel>) = Default::default();
    for (slot, (bits, shadow)) in &pixel.outputs {
        match *slot {
            OutputSlot::Location { location, component, index } => {
                // Unwritten channels are undefined.
                let colors = if index == 0 { &mut fresh } else { &mut seconds };
                let texel = colors.entry(location).or_insert(([0; 4], [Shadow::UNCERTAIN; 4]));
                if let (Some(to), Some(behind)) =
                    (texel.0.get_mut(usize::from(component)), texel.1.get_mut(usize::from(component)))
                {
                    (*to, *behind) = (*bits as u32, *shadow);
                }
            }
            OutputSlot::FragStencilRef => shaded.stencil = Some((*bits, *shadow)),
            _ => {}
        }
    }
    for attachment in attachments {
        let location = attachment.state.location;
        // Vulkan leaves undefined what a fragment without this output writes.
        let unknown = ([0; 4], [Shadow::UNCERTAIN; 4]);
        let sources = [&fresh, &seconds].map(|colors| colors.get(&location).copied().unwrap_or(unknown));
        let after = attachment.after(at, shaded.colors.get(&location), sources)?;
        shaded.colors.insert(location, after);
    }
    Ok(())
}

/// Resolves several samples of a float attachment.
pub(super) fn average(samples: Vec<ShadowedTexel>) -> ShadowedTexel {
    let count = samples.len().max(1) as f64;
    let mut out = ([0; 4], [Shadow::NONE; 4]);
    for channel in 0..4 {
        let each = || samples.iter().map(|(bits, shadows)| number((bits[channel].into(), shadows[channel])));
        let own: f64 = samples.iter().map(|(bits, _)| f64::from(f32::from_bits(bits[channel]))).sum();
        let (sum, off) = each().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        let largest = each().map(|(value, _)| value.abs()).fold(0.0, f64::max);
        // The samples may be summed in any order, with rounding at each step.
        let bound = off / count + largest * 2f64.powi(-22);
        out.0[channel] = ((own / count) as f32).to_bits();
        out.1[channel] = if bound.is_finite() { Shadow { value: sum / count, bound } } else { Shadow::UNCERTAIN };
    }
    out
}
