//! Turns the copies of a draw into the inputs and results of a bundle: counts, indices, vertices, attachments.

use super::drawing::{Call, Counts, Drawing, Indices, index_bytes};
use super::reason::Reason;
use super::scene::Contents;
use super::views::depth_form;
use ash::vk;
use dovetail_emu::inputs::{Draw, InputBytes};
use dovetail_proof::Outputs;
use dovetail_state::VertexInputState;

/// More vertices or indices than any bundle has.
const MOST: u32 = 1 << 24;

/// The draw with its contents, and the results in its attachments.
///
/// # Errors
/// Why a bundle cannot express it.
pub fn picture(
    drawing: &Drawing,
    contents: &Contents<'_>,
    vertex: &VertexInputState,
    outputs: &mut Outputs,
) -> Result<Draw, Reason> {
    let region = |n: usize| contents.plan.regions.get(n);
    let before = |n: usize| region(n).map(|region| contents.before(region)).unwrap_or_default();
    let after = |n: usize| region(n).map(|region| contents.after(region)).unwrap_or_default();
    let counts = match drawing.call {
        Call::Given(counts) => Counts { index: counts.index.map(|_| 0), ..counts },
        Call::Indirect { indexed, .. } => indirect(indexed, before(0)),
    };
    if counts.count > MOST || counts.instances > MOST {
        return Err(Reason::Bytes);
    }
    let mut draw = drawing.draw.clone();
    (draw.vertices, draw.instances) = (counts.count, counts.instances);
    (draw.first_vertex, draw.first_instance) = (counts.vertex, counts.instance);
    let mut last = counts.vertex.wrapping_add(counts.count.saturating_sub(1));
    if let (Some(first), Some(there)) = (counts.index, &drawing.indices) {
        draw.indices = indices(there, before(there.region), first, counts.count)?;
        last = draw.indices.iter().map(|index| counts.vertex.wrapping_add(*index)).max().unwrap_or(0);
    }
    for (buffer, region) in draw.vertex_buffers.iter_mut().zip(&drawing.vertices) {
        let needed = counts.reach(Some(last), vertex, buffer.binding, buffer.stride).unwrap_or(u64::MAX);
        let all = before(*region);
        let needed = usize::try_from(needed).unwrap_or(usize::MAX).min(all.len());
        buffer.data = InputBytes(all[..needed].to_vec());
    }
    for region in &drawing.targets {
        draw.fixed.before.targets.push(InputBytes(before(*region).to_vec()));
        outputs.targets.push(after(*region).to_vec());
    }
    if let Some((region, format)) = drawing.depth {
        draw.fixed.before.depth = InputBytes(depths(format, before(region)));
        outputs.depth = depths(format, after(region));
    }
    if let Some(region) = drawing.stencil {
        draw.fixed.before.stencil = InputBytes(before(region).to_vec());
        outputs.stencil = after(region).to_vec();
    }
    Ok(draw)
}

/// `VkDrawIndirectCommand` or `VkDrawIndexedIndirectCommand`.
fn indirect(indexed: bool, bytes: &[u8]) -> Counts {
    let (words, _) = bytes.as_chunks::<4>();
    let word = |n: usize| words.get(n).map_or(0, |word| u32::from_le_bytes(*word));
    let (count, instances) = (word(0), word(1));
    if indexed {
        Counts { index: Some(word(2)), count, instances, vertex: word(3), instance: word(4) }
    } else {
        Counts { index: None, count, instances, vertex: word(2), instance: word(3) }
    }
}

/// # Errors
/// Some indices are not in the buffer, or end a primitive.
fn indices(there: &Indices, bytes: &[u8], first: u32, count: u32) -> Result<Vec<u32>, Reason> {
    let size = index_bytes(there.kind).ok_or(Reason::Format)? as usize;
    let all = bytes.chunks_exact(size).skip(first as usize).take(count as usize);
    let all: Vec<u32> =
        all.map(|index| index.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))).collect();
    let largest = u32::MAX >> (32 - 8 * size);
    match () {
        () if all.len() < count as usize => Err(Reason::Indices),
        () if there.restart && all.contains(&largest) => Err(Reason::Restart),
        () => Ok(all),
    }
}

/// Depths in a bundle's form: 32-bit floats.
fn depths(format: vk::Format, bytes: &[u8]) -> Vec<u8> {
    let number = |texel: &[u8]| texel.iter().rev().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
    let depth = |(size, bits): (u64, Option<u8>)| {
        let one = move |texel: &[u8]| match bits {
            // A depth of 24 bits leaves the highest byte unused.
            Some(bits) => {
                let most = u32::MAX >> (32 - u32::from(bits));
                (f64::from(number(texel) & most) / f64::from(most)) as f32
            }
            None => f32::from_bits(number(texel)),
        };
        bytes.chunks_exact(size as usize).flat_map(|texel| one(texel).to_le_bytes()).collect()
    };
    depth_form(format).map(depth).unwrap_or_default()
}
