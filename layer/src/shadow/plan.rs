//! Plans the copies for one dispatch or draw: all contents of every resource that its shaders use.
//!
//! `draw_plan` adds the other contents of a draw.

use super::bound::BindPoint;
use super::drawing::Drawing;
use super::objects::{Descriptor, Objects, Resource, Set};
use super::program::Program;
use super::reason::Reason;
use super::region::{Region, Source};
use super::views;
use ash::vk;
use ash::vk::Handle;
use dovetail_capture::{Hash, Sampler};
use dovetail_emu::NamedFormat;
use dovetail_emu::inputs::{Bound, InputBytes, Slot, Texels};
use dovetail_state::VkFormat;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Largest number of descriptors of one binding that are followed.
const MOST_DESCRIPTORS: u32 = 64;
/// Regions begin at multiples of this, which is a multiple of every texel size up to 16 bytes.
const ALIGN: u64 = 48;

/// The copies for a dispatch or draw, and their use.
pub struct Plan {
    pub bindings: Vec<Planned>,
    pub regions: Vec<Region>,
    /// Size of all copies in bytes.
    pub bytes: u64,
    pub push_constants: Vec<u8>,
    pub work: Work,
}

/// Dispatches and draws are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Dispatch,
    Draw,
}

/// The command that is sampled.
pub enum Work {
    Dispatch(Grid),
    Draw(Box<Drawing>),
}

impl Work {
    /// The kind under which it is counted.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Dispatch(_) => Kind::Dispatch,
            Self::Draw(_) => Kind::Draw,
        }
    }
}

/// The number of workgroups.
#[derive(Clone, Copy)]
pub enum Grid {
    Given([u32; 3]),
    /// The first region holds the number.
    Indirect(vk::Buffer, u64),
}

/// One descriptor.
pub struct Planned {
    pub slot: Slot,
    /// The resource without contents.
    pub bound: Bound,
    /// The regions that hold its contents.
    pub regions: Range<usize>,
}

/// The state in which a plan finds its resources.
pub struct Sight<'a> {
    pub objects: &'a Objects,
    pub bound: &'a BindPoint,
    pub samplers: &'a Samplers<'a>,
    /// The driver's lines are rectangles.
    pub strict_lines: bool,
}

/// Finds samplers.
pub struct Samplers<'a> {
    /// The name of a sampler's definition.
    pub name: &'a dyn Fn(vk::Sampler) -> Hash,
    pub definition: &'a dyn Fn(Hash) -> Option<Arc<Sampler>>,
}

impl Plan {
    /// Plans a dispatch of this shader.
    ///
    /// # Errors
    /// Why it cannot be followed.
    pub fn dispatch(program: &Program, grid: Grid, sight: &Sight<'_>) -> Result<Self, Reason> {
        let mut plan = Self::new(Work::Dispatch(grid));
        if let Grid::Indirect(buffer, offset) = grid {
            plan.buffer(sight.objects, vk::DescriptorBufferInfo { buffer, offset, range: 12 }, false)?;
        }
        plan.add_bound(program, sight)?;
        Ok(plan)
    }

    /// A plan without copies.
    pub fn new(work: Work) -> Self {
        Self { bindings: Vec::new(), regions: Vec::new(), bytes: 0, push_constants: Vec::new(), work }
    }

    /// Adds the bound resources, after everything else.
    ///
    /// # Errors
    /// Why it cannot be followed.
    pub fn add_bound(&mut self, program: &Program, sight: &Sight<'_>) -> Result<(), Reason> {
        let bytes = program.state.layout.push_constant_bytes as usize;
        self.push_constants.clone_from(&sight.bound.push_constants);
        self.push_constants.resize(bytes, 0);
        for used in &program.resources {
            let set = sight.bound.set(sight.objects, used.set).ok_or(Reason::Set)?;
            let offsets = sight.bound.offsets(used.set);
            if vk::DescriptorSetLayoutCreateFlags::from_raw(set.layout.flags)
                .contains(vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL)
            {
                return Err(Reason::UpdateAfterBind);
            }
            let count = used.count.or(set.declared(used.binding).map(|one| one.descriptor_count)).unwrap_or(0);
            if count > MOST_DESCRIPTORS {
                return Err(Reason::Array);
            }
            for element in 0..count {
                let slot = Slot { set: used.set, binding: used.binding, element };
                match descriptor(set, slot) {
                    Some(found) => {
                        self.descriptor(slot, found, dynamic_offset(set, offsets, slot), used.written, sight)?
                    }
                    // An array may have unwritten descriptors that no shader reads.
                    None if count > 1 => {}
                    None => return Err(Reason::Descriptor),
                }
            }
        }
        // A view may include levels in the other layout that no shader reads through it.
        if self.has_two_layouts() {
            return Err(Reason::Layouts);
        }
        Ok(())
    }

    /// Whether an image is bound in two layouts.
    fn has_two_layouts(&self) -> bool {
        let images = self.regions.iter().filter_map(|region| match region.source {
            Source::Image { image, layout, .. } => Some((image, layout)),
            Source::Buffer { .. } => None,
        });
        let mut layouts = BTreeMap::new();
        images.into_iter().any(|(image, layout)| *layouts.entry(image).or_insert(layout) != layout)
    }

    fn descriptor(
        &mut self,
        slot: Slot,
        found: Descriptor,
        offset: u64,
        written: bool,
        sight: &Sight<'_>,
    ) -> Result<(), Reason> {
        use vk::DescriptorType as T;
        let first = self.regions.len();
        let sampler = |given: vk::Sampler| {
            let immutable = views::immutable(sight.bound, sight.objects, slot);
            let name = immutable.unwrap_or_else(|| (sight.samplers.name)(given));
            views::sampler(&*(sight.samplers.definition)(name).ok_or(Reason::Object)?)
        };
        let bound = match (found.kind, found.resource) {
            (T::UNIFORM_BUFFER | T::UNIFORM_BUFFER_DYNAMIC, Resource::Buffer(info)) => {
                self.buffer(sight.objects, shifted(info, offset), false)?;
                Bound::UniformBuffer(InputBytes::default())
            }
            (T::STORAGE_BUFFER | T::STORAGE_BUFFER_DYNAMIC, Resource::Buffer(info)) => {
                self.buffer(sight.objects, shifted(info, offset), written)?;
                Bound::StorageBuffer(InputBytes::default())
            }
            (T::UNIFORM_TEXEL_BUFFER, Resource::Texels(view)) => {
                Bound::UniformTexelBuffer(self.texels(sight.objects, view, false)?)
            }
            (T::STORAGE_TEXEL_BUFFER, Resource::Texels(view)) => {
                Bound::StorageTexelBuffer(self.texels(sight.objects, view, written)?)
            }
            (T::SAMPLED_IMAGE, Resource::Image(info)) => Bound::SampledImage(self.image(sight.objects, info, false)?),
            (T::STORAGE_IMAGE, Resource::Image(info)) => {
                Bound::StorageImage(self.image(sight.objects, info, written)?)
            }
            (T::COMBINED_IMAGE_SAMPLER, Resource::Image(info)) => {
                Bound::CombinedImageSampler(self.image(sight.objects, info, false)?, sampler(info.sampler)?)
            }
            (T::SAMPLER, Resource::Image(info)) => Bound::Sampler(sampler(info.sampler)?),
            _ => return Err(Reason::DescriptorType),
        };
        self.bindings.push(Planned { slot, bound, regions: first..self.regions.len() });
        Ok(())
    }

    /// Adds a range of a buffer.
    ///
    /// # Errors
    /// Why it cannot be followed.
    pub fn buffer(&mut self, objects: &Objects, info: vk::DescriptorBufferInfo, written: bool) -> Result<(), Reason> {
        if info.buffer.is_null() {
            return Err(Reason::Null);
        }
        let buffer = objects.buffers.get(&info.buffer).ok_or(Reason::Object)?;
        buffer.usable.clone()?;
        let rest = buffer.size.checked_sub(info.offset).ok_or(Reason::Object)?;
        let bytes = if info.range == vk::WHOLE_SIZE { rest } else { info.range };
        if bytes > rest || bytes == 0 {
            return Err(Reason::Object);
        }
        let source = Source::Buffer { buffer: info.buffer, offset: info.offset, memory: buffer.memory };
        self.region(source, bytes, written)
    }

    fn texels(&mut self, objects: &Objects, view: vk::BufferView, written: bool) -> Result<Texels, Reason> {
        if view.is_null() {
            return Err(Reason::Null);
        }
        let view = objects.buffer_views.get(&view).ok_or(Reason::Object)?;
        let format = VkFormat(view.format.as_raw() as u32).to_string();
        NamedFormat::new(&format).map_err(|_| Reason::Format)?;
        let info = vk::DescriptorBufferInfo { buffer: view.buffer, offset: view.offset, range: view.range };
        self.buffer(objects, info, written)?;
        Ok(Texels { format, data: InputBytes::default() })
    }

    fn image(
        &mut self,
        objects: &Objects,
        info: vk::DescriptorImageInfo,
        written: bool,
    ) -> Result<dovetail_emu::inputs::Image, Reason> {
        let (image, levels) = views::image(objects, info)?;
        for (source, bytes) in levels {
            self.region(source, bytes, written)?;
        }
        Ok(image)
    }

    /// Reserves a place for `bytes` bytes.
    fn reserve(&mut self, bytes: u64) -> Result<u64, Reason> {
        let at = self.bytes;
        let end = bytes.checked_next_multiple_of(ALIGN).and_then(|bytes| at.checked_add(bytes));
        self.bytes = end.filter(|end| *end < 1 << 40).ok_or(Reason::Bytes)?;
        Ok(at)
    }

    /// Adds a region to copy.
    ///
    /// # Errors
    /// The copies are too large.
    pub fn region(&mut self, source: Source, bytes: u64, written: bool) -> Result<(), Reason> {
        let at = self.reserve(bytes)?;
        let after = if written { Some(self.reserve(bytes)?) } else { None };
        self.regions.push(Region { source, at, after, bytes });
        Ok(())
    }
}

/// The descriptor of a slot; it need not have been written if the layout has immutable samplers.
fn descriptor(set: &Set, slot: Slot) -> Option<Descriptor> {
    let fixed = || {
        let declared = set.declared(slot.binding)?;
        let kind = vk::DescriptorType::from_raw(declared.descriptor_type as i32);
        let resource = Resource::Image(vk::DescriptorImageInfo::default());
        (kind == vk::DescriptorType::SAMPLER && !declared.immutable_samplers.is_empty())
            .then_some(Descriptor { kind, resource })
    };
    set.get(slot.binding, slot.element).or_else(fixed)
}

fn dynamic_offset(set: &Set, offsets: &[u32], slot: Slot) -> u64 {
    let mut first = 0;
    for (binding, count) in set.dynamic() {
        if binding == slot.binding {
            return offsets.get(first + slot.element as usize).copied().unwrap_or(0).into();
        }
        first += count as usize;
    }
    0
}

/// A range with its dynamic offset applied.
fn shifted(info: vk::DescriptorBufferInfo, offset: u64) -> vk::DescriptorBufferInfo {
    vk::DescriptorBufferInfo { offset: info.offset.saturating_add(offset), ..info }
}
