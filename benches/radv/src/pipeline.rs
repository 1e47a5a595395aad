//! One stage as a pipeline: compute shaders as a whole pipeline, others as the library of their stage, which
//! corresponds to a part.

use crate::device::Device;
use crate::listing;
use crate::protocol::{Answer, Request};
use ash::vk;
use std::collections::BTreeMap;
use std::ffi::{CString, c_void};

/// Handles of one request.
struct Made<'a> {
    device: &'a Device,
    sets: Vec<vk::DescriptorSetLayout>,
    layout: vk::PipelineLayout,
    module: vk::ShaderModule,
    pipeline: vk::Pipeline,
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        // SAFETY: its own handles or null, which are no longer used.
        unsafe {
            self.device.vk.destroy_pipeline(self.pipeline, None);
            self.device.vk.destroy_shader_module(self.module, None);
            self.device.vk.destroy_pipeline_layout(self.layout, None);
            self.sets.iter().for_each(|set| self.device.vk.destroy_descriptor_set_layout(*set, None));
        }
    }
}

/// Compiles once; the layout is created before timing starts.
pub fn compile(device: &Device, request: &Request) -> Result<Answer, String> {
    let bytes = std::fs::read(&request.spirv).map_err(|e| format!("{}: {e}", request.spirv))?;
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let none = vk::ShaderModule::null();
    let mut made = Made {
        device,
        sets: Vec::new(),
        layout: vk::PipelineLayout::null(),
        module: none,
        pipeline: vk::Pipeline::null(),
    };
    made.layout(request)?;
    let start = cpu();
    let info = vk::ShaderModuleCreateInfo::default().code(&words);
    // SAFETY: the words outlive the call.
    made.module = unsafe { device.vk.create_shader_module(&info, None) }.map_err(|e| format!("module: {e}"))?;
    made.pipeline(request)?;
    let took = cpu() - start;
    if request.code { made.code().map(Answer::Code) } else { Ok(Answer::Nanoseconds(took)) }
}

fn cpu() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs()
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

impl Made<'_> {
    fn layout(&mut self, request: &Request) -> Result<(), String> {
        let mut sets: BTreeMap<u32, Vec<vk::DescriptorSetLayoutBinding<'_>>> = BTreeMap::new();
        for (set, binding, kind, count) in &request.bindings {
            let binding = vk::DescriptorSetLayoutBinding::default()
                .binding(*binding)
                .descriptor_type(descriptor(kind)?)
                .descriptor_count(*count)
                .stage_flags(vk::ShaderStageFlags::ALL);
            sets.entry(*set).or_default().push(binding);
        }
        for set in 0..sets.keys().max().map_or(0, |last| last + 1) {
            let bindings = sets.remove(&set).unwrap_or_default();
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            // SAFETY: the bindings outlive the call.
            let made = unsafe { self.device.vk.create_descriptor_set_layout(&info, None) };
            self.sets.push(made.map_err(|e| format!("descriptor set: {e}"))?);
        }
        let push = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::ALL).size(request.push)];
        let push = if request.push == 0 { &[] } else { &push[..] };
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&self.sets).push_constant_ranges(push);
        // SAFETY: the sets are alive.
        self.layout =
            unsafe { self.device.vk.create_pipeline_layout(&info, None) }.map_err(|e| format!("layout: {e}"))?;
        Ok(())
    }

    fn pipeline(&mut self, request: &Request) -> Result<(), String> {
        let entry = CString::new(request.entry.clone()).map_err(|e| e.to_string())?;
        let (mut data, mut entries) = (Vec::new(), Vec::new());
        for (id, value, size) in &request.specialization {
            let (offset, size) = (data.len() as u32, usize::from(*size));
            data.extend(value.to_le_bytes().iter().take(size));
            entries.push(vk::SpecializationMapEntry::default().constant_id(*id).offset(offset).size(size));
        }
        let values = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
        let mut wave =
            vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default().required_subgroup_size(request.wave);
        let mut stage =
            vk::PipelineShaderStageCreateInfo::default().module(self.module).name(&entry).specialization_info(&values);
        let flags = match request.code {
            true => {
                vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
                    | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR
            }
            false => vk::PipelineCreateFlags::empty(),
        };
        let cache = vk::PipelineCache::null();
        // SAFETY: module and layout are alive; the structures outlive the calls.
        let made = unsafe {
            if request.stage == "compute" {
                stage = stage.stage(vk::ShaderStageFlags::COMPUTE).push_next(&mut wave);
                let info = [vk::ComputePipelineCreateInfo::default().flags(flags).layout(self.layout).stage(stage)];
                self.device.vk.create_compute_pipelines(cache, &info, None)
            } else {
                library(self, request, stage, flags)
            }
        };
        let (pipelines, failed) = match made {
            Ok(pipelines) => (pipelines, None),
            Err((pipelines, e)) => (pipelines, Some(e)),
        };
        self.pipeline = pipelines.first().copied().unwrap_or_default();
        failed.map_or(Ok(()), |e| Err(format!("pipeline: {e}")))
    }

    /// The words of the stage's machine code.
    fn code(&self) -> Result<Vec<u32>, String> {
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(self.pipeline);
        let get = self.device.executables.fp().get_pipeline_executable_internal_representations_khr;
        let device = self.device.vk.handle();
        let mut count = 0;
        // SAFETY: as Vulkan prescribes: the first call returns the count, the second the sizes, the third fills buffers
        // of these sizes.
        let listing = unsafe {
            let _ = get(device, &info, &mut count, std::ptr::null_mut());
            let mut all = vec![vk::PipelineExecutableInternalRepresentationKHR::default(); count as usize];
            let _ = get(device, &info, &mut count, all.as_mut_ptr());
            let mut texts: Vec<Vec<u8>> = all.iter().map(|one| vec![0; one.data_size + 1]).collect();
            for (one, text) in all.iter_mut().zip(&mut texts) {
                one.p_data = text.as_mut_ptr().cast::<c_void>();
            }
            let _ = get(device, &info, &mut count, all.as_mut_ptr());
            let named = |one: &vk::PipelineExecutableInternalRepresentationKHR<'_>| {
                one.name_as_c_str().is_ok_and(|name| name.to_bytes() == b"Assembly")
            };
            all.iter().position(named).map(|at| std::mem::take(&mut texts[at]))
        };
        let listing = listing.ok_or("no disassembly")?;
        let words = listing::words(&String::from_utf8_lossy(&listing));
        if words.is_empty() { Err("a disassembly without words".to_owned()) } else { Ok(words) }
    }
}

/// Creates the library of a graphics stage.
///
/// # Safety
/// Module and layout are alive.
unsafe fn library(
    made: &Made<'_>,
    request: &Request,
    stage: vk::PipelineShaderStageCreateInfo<'_>,
    flags: vk::PipelineCreateFlags,
) -> Result<Vec<vk::Pipeline>, (Vec<vk::Pipeline>, vk::Result)> {
    use vk::GraphicsPipelineLibraryFlagsEXT as Part;
    let vertex = request.stage == "vertex";
    let stages = [stage.stage(if vertex { vk::ShaderStageFlags::VERTEX } else { vk::ShaderStageFlags::FRAGMENT })];
    let viewport = vk::PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
    let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
    let samples = vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(vk::SampleCountFlags::TYPE_1);
    let depth = vk::PipelineDepthStencilStateCreateInfo::default();
    let dynamic = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR];
    let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&dynamic);
    let mut rendering = vk::PipelineRenderingCreateInfo::default();
    let part = if vertex { Part::PRE_RASTERIZATION_SHADERS } else { Part::FRAGMENT_SHADER };
    let mut part = vk::GraphicsPipelineLibraryCreateInfoEXT::default().flags(part);
    let mut info = vk::GraphicsPipelineCreateInfo::default()
        .flags(flags | vk::PipelineCreateFlags::LIBRARY_KHR)
        .layout(made.layout)
        .stages(&stages)
        .dynamic_state(&dynamic)
        .push_next(&mut rendering)
        .push_next(&mut part);
    info = match vertex {
        true => info.viewport_state(&viewport).rasterization_state(&raster),
        false => info.depth_stencil_state(&depth).multisample_state(&samples),
    };
    // SAFETY: the caller's promise; the structures outlive the call.
    unsafe { made.device.vk.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None) }
}
