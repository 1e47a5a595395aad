//! Pipeline layouts, modules and specialization values, as the requests say them.

use crate::device::Device;
use crate::protocol::{Code, LayoutRequest};
use ash::vk;
use std::collections::BTreeMap;

/// A pipeline layout with its sets.
pub struct Layout<'a> {
    device: &'a Device,
    sets: Vec<vk::DescriptorSetLayout>,
    /// The layout.
    pub handle: vk::PipelineLayout,
}

impl Drop for Layout<'_> {
    fn drop(&mut self) {
        // SAFETY: its own handles or null, and nothing uses them any more.
        unsafe {
            self.device.vk.destroy_pipeline_layout(self.handle, None);
            self.sets.iter().for_each(|set| self.device.vk.destroy_descriptor_set_layout(*set, None));
        }
    }
}

fn descriptor(kind: &str) -> Result<vk::DescriptorType, String> {
    Ok(match kind {
        "uniform_buffer" => vk::DescriptorType::UNIFORM_BUFFER,
        "storage_buffer" => vk::DescriptorType::STORAGE_BUFFER,
        "sampled_image" => vk::DescriptorType::SAMPLED_IMAGE,
        "sampler" => vk::DescriptorType::SAMPLER,
        "combined_image_sampler" => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
        "storage_image" => vk::DescriptorType::STORAGE_IMAGE,
        "uniform_texel_buffer" => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
        "storage_texel_buffer" => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
        "input_attachment" => vk::DescriptorType::INPUT_ATTACHMENT,
        _ => return Err(format!("descriptors of kind {kind}")),
    })
}

impl<'a> Layout<'a> {
    /// Creates it.
    pub fn new(device: &'a Device, request: &LayoutRequest) -> Result<Self, String> {
        let mut sets: BTreeMap<u32, Vec<vk::DescriptorSetLayoutBinding<'_>>> = BTreeMap::new();
        for (set, binding, kind, count) in &request.bindings {
            let binding = vk::DescriptorSetLayoutBinding::default()
                .binding(*binding)
                .descriptor_type(descriptor(kind)?)
                .descriptor_count(*count)
                .stage_flags(vk::ShaderStageFlags::ALL);
            sets.entry(*set).or_default().push(binding);
        }
        let mut out = Self { device, sets: Vec::new(), handle: vk::PipelineLayout::null() };
        for set in 0..sets.keys().max().map_or(0, |last| last + 1) {
            let bindings = sets.remove(&set).unwrap_or_default();
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            // SAFETY: the bindings outlive the call.
            let made = unsafe { device.vk.create_descriptor_set_layout(&info, None) };
            out.sets.push(made.map_err(|e| format!("descriptor set: {e}"))?);
        }
        let push = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::ALL).size(request.push)];
        let push = if request.push == 0 { &[] } else { &push[..] };
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&out.sets).push_constant_ranges(push);
        // SAFETY: the sets are alive.
        out.handle = unsafe { device.vk.create_pipeline_layout(&info, None) }.map_err(|e| format!("layout: {e}"))?;
        Ok(out)
    }
}

/// Shader modules.
pub mod module {
    use super::Device;
    use ash::vk;

    /// The words of a file.
    pub fn words(file: &str) -> Result<Vec<u32>, String> {
        let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// A module, which the caller destroys.
    pub fn make(device: &Device, words: &[u32]) -> Result<vk::ShaderModule, String> {
        let info = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the words outlive the call.
        unsafe { device.vk.create_shader_module(&info, None) }.map_err(|e| format!("module: {e}"))
    }
}

/// Specialization values in memory.
pub struct Specialization {
    data: Vec<u8>,
    entries: Vec<vk::SpecializationMapEntry>,
}

impl Specialization {
    /// The values of a module.
    pub fn new(code: &Code) -> Self {
        let mut out = Self { data: Vec::new(), entries: Vec::new() };
        for (id, value, size) in &code.specialization {
            let (offset, size) = (out.data.len() as u32, usize::from(*size));
            out.data.extend(value.to_le_bytes().iter().take(size));
            out.entries.push(vk::SpecializationMapEntry::default().constant_id(*id).offset(offset).size(size));
        }
        out
    }

    /// As Vulkan's structure.
    pub fn info(&self) -> vk::SpecializationInfo<'_> {
        vk::SpecializationInfo::default().map_entries(&self.entries).data(&self.data)
    }
}
