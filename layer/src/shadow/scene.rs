//! Makes a bundle from the copies of a dispatch or draw.

use super::commands::Sample;
use super::picture::picture;
use super::plan::{Grid, Plan, Work};
use super::reason::Reason;
use super::region::{Region, Source};
use ash::vk;
use ash::vk::Handle;
use dovetail_emu::inputs::{BindingElement, Bound, InputBytes, Inputs};
use dovetail_proof::{Bundle, FLOOR, Outputs};

/// The bundle of a dispatch or draw. `copies` are those of its plan; `judge` is the driver.
///
/// # Errors
/// Why it cannot be made.
pub fn bundle(sample: &Sample, program: &str, judge: &str, lanes: u32, copies: &[u8]) -> Result<Bundle, Reason> {
    let plan = &sample.plan;
    let contents = Contents { plan, copies };
    if contents.is_aliased() {
        return Err(Reason::Aliased);
    }
    let shader = sample.known.program(lanes)?;
    let name = format!("{program}-{}", sample.known.name);
    let mut bundle = Bundle::new(&name, sample.number, judge, shader.stages.clone());
    bundle.manifest.floor = FLOOR;
    bundle.state = shader.state.clone();
    let mut outputs = Outputs::default();
    let mut bindings = Vec::new();
    for planned in &plan.bindings {
        let regions = plan.regions.get(planned.regions.clone()).unwrap_or_default();
        let mut bound = planned.bound.clone();
        if let Some(data) = data(&mut bound) {
            data.0 = regions.iter().flat_map(|region| contents.before(region)).copied().collect();
        }
        clear_undefined(&mut bound);
        outputs.bindings.push(match bound.writable() {
            Some(_) => regions.iter().flat_map(|region| contents.after(region)).copied().collect(),
            None => Vec::new(),
        });
        let slot = planned.slot;
        bindings.push(BindingElement { set: slot.set, binding: slot.binding, element: slot.element, bound });
    }
    let mut draw = None;
    let grid = match (&plan.work, plan.regions.first()) {
        (Work::Dispatch(Grid::Given(grid)), _) => *grid,
        (Work::Draw(drawing), _) => {
            draw = Some(picture(drawing, &contents, &shader.state.vertex, &mut outputs)?);
            [0; 3]
        }
        (Work::Dispatch(Grid::Indirect(..)), first) => {
            let (words, _) = first.map(|region| contents.before(region)).unwrap_or_default().as_chunks::<4>();
            let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
            [(); 3].map(|()| words.next().unwrap_or(0))
        }
    };
    let push_constants = InputBytes(plan.push_constants.clone());
    bundle.inputs = Inputs { bindings, push_constants, grid, draw, ..Inputs::default() };
    bundle.expected = outputs;
    Ok(bundle)
}

fn data(bound: &mut Bound) -> Option<&mut InputBytes> {
    match bound {
        Bound::UniformBuffer(data) | Bound::StorageBuffer(data) | Bound::PhysicalStorageBuffer(data) => Some(data),
        Bound::UniformTexelBuffer(texels) | Bound::StorageTexelBuffer(texels) => Some(&mut texels.data),
        Bound::SampledImage(image)
        | Bound::InputAttachment(image)
        | Bound::StorageImage(image)
        | Bound::CombinedImageSampler(image, _) => Some(&mut image.data),
        Bound::Sampler(_) => None,
    }
}

/// Clears the bytes that a copy of 24-bit depths leaves undefined: equal runs give equal bundles.
fn clear_undefined(bound: &mut Bound) {
    if let Bound::SampledImage(image) | Bound::CombinedImageSampler(image, _) = bound
        && image.format == "X8_D24_UNORM_PACK32"
    {
        image.data.0.iter_mut().skip(3).step_by(4).for_each(|byte| *byte = 0);
    }
}

/// The copies before and after.
pub struct Contents<'a> {
    pub plan: &'a Plan,
    copies: &'a [u8],
}

impl<'a> Contents<'a> {
    pub fn before(&self, region: &Region) -> &'a [u8] {
        self.part(region.at, region.bytes)
    }

    /// The bytes after the command; a region that the command does not write has its bytes from before.
    pub fn after(&self, region: &Region) -> &'a [u8] {
        self.part(region.after.unwrap_or(region.at), region.bytes)
    }

    fn part(&self, at: u64, bytes: u64) -> &'a [u8] {
        let end = at.saturating_add(bytes);
        self.copies.get(at as usize..end as usize).unwrap_or_default()
    }

    /// Whether a changed region overlaps another.
    fn is_aliased(&self) -> bool {
        let regions = &self.plan.regions;
        let changed = |region: &Region| self.before(region) != self.after(region);
        regions.iter().enumerate().any(|(n, one)| {
            regions.iter().skip(n + 1).any(|other| overlap(one, other) && (changed(one) || changed(other)))
        })
    }
}

/// Whether two regions share memory. For images, this only knows whether they are the same image.
fn overlap(one: &Region, other: &Region) -> bool {
    let place = |region: &Region| match region.source {
        Source::Buffer { memory: Some((memory, base)), offset, .. } => (memory.as_raw(), base.saturating_add(offset)),
        Source::Buffer { buffer, offset, memory: None } => (buffer.as_raw(), offset),
        Source::Image { image, .. } => (image.as_raw(), 0),
    };
    let ((a, from), (b, to)) = (place(one), place(other));
    let same_level = match (one.source, other.source) {
        (Source::Image { layers: a, .. }, Source::Image { layers: b, .. }) => Some(share(a, b)),
        (Source::Buffer { .. }, Source::Buffer { .. }) => None,
        _ => return false,
    };
    let bytes = || from < to.saturating_add(other.bytes) && to < from.saturating_add(one.bytes);
    a == b && same_level.unwrap_or_else(bytes)
}

fn share(a: vk::ImageSubresourceLayers, b: vk::ImageSubresourceLayers) -> bool {
    let end = |layers: vk::ImageSubresourceLayers| layers.base_array_layer.saturating_add(layers.layer_count);
    let aspects = a.aspect_mask.intersects(b.aspect_mask);
    aspects && a.mip_level == b.mip_level && a.base_array_layer < end(b) && b.base_array_layer < end(a)
}
