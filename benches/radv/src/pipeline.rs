//! One stage as a pipeline: compute shaders as a whole pipeline, others as the library of their stage, which
//! corresponds to a part.

use crate::device::Device;
use crate::layout::{Layout, Specialization, module};
use crate::listing;
use crate::protocol::{Answer, StageRequest};
use ash::vk;
use std::ffi::{CString, c_void};

/// Handles of one request.
struct Made<'a> {
    device: &'a Device,
    layout: Layout<'a>,
    module: vk::ShaderModule,
    pipeline: vk::Pipeline,
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        // SAFETY: its own handles or null, which are no longer used.
        unsafe {
            self.device.vk.destroy_pipeline(self.pipeline, None);
            self.device.vk.destroy_shader_module(self.module, None);
        }
    }
}

/// Compiles once; the layout is created before timing starts.
pub fn compile(device: &Device, request: &StageRequest) -> Result<Answer, String> {
    let layout = Layout::new(device, &request.layout)?;
    let words = module::words(&request.code.spirv)?;
    let mut made = Made { device, layout, module: vk::ShaderModule::null(), pipeline: vk::Pipeline::null() };
    let start = cpu();
    made.module = module::make(device, &words)?;
    made.pipeline(request)?;
    let took = cpu() - start;
    if request.listing { made.code().map(Answer::Code) } else { Ok(Answer::Nanoseconds(took)) }
}

fn cpu() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs()
}

impl Made<'_> {
    fn pipeline(&mut self, request: &StageRequest) -> Result<(), String> {
        let entry = CString::new(request.code.entry.clone()).map_err(|e| e.to_string())?;
        let values = Specialization::new(&request.code);
        let values = values.info();
        let mut wave =
            vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default().required_subgroup_size(request.wave);
        let mut stage =
            vk::PipelineShaderStageCreateInfo::default().module(self.module).name(&entry).specialization_info(&values);
        let flags = match request.listing {
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
                let info =
                    [vk::ComputePipelineCreateInfo::default().flags(flags).layout(self.layout.handle).stage(stage)];
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
    request: &StageRequest,
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
        .layout(made.layout.handle)
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
