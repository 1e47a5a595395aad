//! Pairs of shaders as pipeline libraries, and the fast links of these.

use crate::device::Device;
use crate::layout::{Layout, Specialization, module};
use crate::protocol::PairRequest;
use ash::vk;
use std::ffi::CString;
use std::ops::Range;
use std::time::Instant;
use vk::GraphicsPipelineLibraryFlagsEXT as Part;

const PARTS: [Part; 4] = [
    Part::VERTEX_INPUT_INTERFACE,
    Part::PRE_RASTERIZATION_SHADERS,
    Part::FRAGMENT_SHADER,
    Part::FRAGMENT_OUTPUT_INTERFACE,
];

/// A pair that is kept, with its libraries.
struct Pair<'a> {
    request: PairRequest,
    layout: Layout<'a>,
    modules: [vk::ShaderModule; 2],
    libraries: Vec<vk::Pipeline>,
}

/// All kept pairs.
pub struct Pairs<'a> {
    device: &'a Device,
    pairs: Vec<Pair<'a>>,
    /// The pipeline cache, once libraries have been made with it.
    cache: Option<vk::PipelineCache>,
}

impl Drop for Pairs<'_> {
    fn drop(&mut self) {
        if let Some(cache) = self.cache {
            // SAFETY: no call uses it any more.
            unsafe { self.device.vk.destroy_pipeline_cache(cache, None) };
        }
    }
}

impl<'a> Pairs<'a> {
    /// None yet.
    pub fn new(device: &'a Device) -> Self {
        Self { device, pairs: Vec::new(), cache: None }
    }

    /// Creates the libraries of a pair; they live as long as the process.
    pub fn keep(&mut self, request: PairRequest) -> Result<(), String> {
        let layout = Layout::new(self.device, &request.layout)?;
        let mut modules = [vk::ShaderModule::null(); 2];
        for (module, code) in modules.iter_mut().zip([&request.vertex, &request.fragment]) {
            *module = module::make(self.device, &module::words(&code.spirv)?)?;
        }
        let mut pair = Pair { request, layout, modules, libraries: Vec::new() };
        pair.libraries = pair.make(self.device, vk::PipelineCache::null())?;
        // Checks that the pair can be linked; not timed.
        let linked = pair.link(self.device, vk::PipelineCache::null(), &pair.libraries)?;
        // SAFETY: nothing uses it.
        unsafe { self.device.vk.destroy_pipeline(linked, None) };
        // The first link of libraries does work that later ones reuse, so the libraries are made again.
        let again = pair.make(self.device, vk::PipelineCache::null())?;
        for library in std::mem::replace(&mut pair.libraries, again) {
            // SAFETY: the pipeline of them is gone.
            unsafe { self.device.vk.destroy_pipeline(library, None) };
        }
        self.pairs.push(pair);
        Ok(())
    }

    fn some(&self, range: Range<usize>) -> Result<&[Pair<'a>], String> {
        self.pairs.get(range).ok_or_else(|| format!("there are {} pairs", self.pairs.len()))
    }

    /// Links these pairs.
    pub fn links(&self, range: Range<usize>) -> Result<Vec<u64>, String> {
        let one = |pair: &Pair<'_>| {
            let start = Instant::now();
            let linked = pair.link(self.device, vk::PipelineCache::null(), &pair.libraries)?;
            let took = start.elapsed().as_nanos() as u64;
            // SAFETY: nothing uses it.
            unsafe { self.device.vk.destroy_pipeline(linked, None) };
            Ok(took)
        };
        self.some(range)?.iter().map(one).collect()
    }

    /// Creates the libraries of these pairs, with a pipeline cache that already contains those of all, and links them.
    pub fn cached_links(&mut self, range: Range<usize>) -> Result<Vec<u64>, String> {
        let cache = match self.cache {
            Some(cache) => cache,
            None => self.filled_cache()?,
        };
        self.links_from(cache, range)
    }

    fn filled_cache(&mut self) -> Result<vk::PipelineCache, String> {
        // SAFETY: the structure outlives the call.
        let cache = unsafe { self.device.vk.create_pipeline_cache(&vk::PipelineCacheCreateInfo::default(), None) };
        let cache = cache.map_err(|e| format!("pipeline cache: {e}"))?;
        self.cache = Some(cache);
        self.links_from(cache, 0..self.pairs.len())?;
        Ok(cache)
    }

    fn links_from(&self, cache: vk::PipelineCache, range: Range<usize>) -> Result<Vec<u64>, String> {
        let vk = &self.device.vk;
        let one = |pair: &Pair<'_>| {
            let start = Instant::now();
            let libraries = pair.make(self.device, cache)?;
            let linked = pair.link(self.device, cache, &libraries)?;
            let took = start.elapsed().as_nanos() as u64;
            for pipeline in libraries.into_iter().chain([linked]) {
                // SAFETY: nothing uses it.
                unsafe { vk.destroy_pipeline(pipeline, None) };
            }
            Ok(took)
        };
        self.some(range)?.iter().map(one).collect()
    }
}

impl Pair<'_> {
    fn make(&self, device: &Device, cache: vk::PipelineCache) -> Result<Vec<vk::Pipeline>, String> {
        PARTS.iter().map(|part| self.library(device, cache, *part)).collect()
    }

    fn link(
        &self,
        device: &Device,
        cache: vk::PipelineCache,
        libraries: &[vk::Pipeline],
    ) -> Result<vk::Pipeline, String> {
        let mut list = vk::PipelineLibraryCreateInfoKHR::default().libraries(libraries);
        let info = vk::GraphicsPipelineCreateInfo::default().layout(self.layout.handle).push_next(&mut list);
        create(device, cache, info)
    }

    fn library(&self, device: &Device, cache: vk::PipelineCache, part: Part) -> Result<vk::Pipeline, String> {
        let request = &self.request;
        let binding = |&(binding, stride, instance): &(u32, u32, bool)| {
            let input_rate = if instance { vk::VertexInputRate::INSTANCE } else { vk::VertexInputRate::VERTEX };
            vk::VertexInputBindingDescription { binding, stride, input_rate }
        };
        let attribute = |&(location, binding, format, offset): &(u32, u32, i32, u32)| {
            vk::VertexInputAttributeDescription { location, binding, format: vk::Format::from_raw(format), offset }
        };
        let bindings: Vec<_> = request.bindings.iter().map(binding).collect();
        let attributes: Vec<_> = request.attributes.iter().map(attribute).collect();
        let input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let assembly =
            vk::PipelineInputAssemblyStateCreateInfo::default().topology(vk::PrimitiveTopology::TRIANGLE_LIST);
        let viewport = vk::PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
        let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let samples =
            vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let depth = vk::PipelineDepthStencilStateCreateInfo::default();
        let mask = vk::PipelineColorBlendAttachmentState::default().color_write_mask(vk::ColorComponentFlags::RGBA);
        let masks = vec![mask; request.colors.len()];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&masks);
        let formats: Vec<_> = request.colors.iter().map(|format| vk::Format::from_raw(*format)).collect();
        let mut rendering = vk::PipelineRenderingCreateInfo::default().color_attachment_formats(&formats);
        let dynamic = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR];
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&dynamic);
        let (code, which, flag) = match part {
            Part::PRE_RASTERIZATION_SHADERS => (&request.vertex, 0, vk::ShaderStageFlags::VERTEX),
            _ => (&request.fragment, 1, vk::ShaderStageFlags::FRAGMENT),
        };
        let entry = CString::new(code.entry.clone()).map_err(|e| e.to_string())?;
        let values = Specialization::new(code);
        let values = values.info();
        let stage = [vk::PipelineShaderStageCreateInfo::default()
            .stage(flag)
            .module(self.modules[which])
            .name(&entry)
            .specialization_info(&values)];
        let mut library = vk::GraphicsPipelineLibraryCreateInfoEXT::default().flags(part);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .flags(vk::PipelineCreateFlags::LIBRARY_KHR)
            .layout(self.layout.handle)
            .push_next(&mut rendering)
            .push_next(&mut library);
        let info = match part {
            Part::VERTEX_INPUT_INTERFACE => info.vertex_input_state(&input).input_assembly_state(&assembly),
            Part::PRE_RASTERIZATION_SHADERS => {
                info.stages(&stage).viewport_state(&viewport).rasterization_state(&raster).dynamic_state(&dynamic)
            }
            Part::FRAGMENT_SHADER => info.stages(&stage).depth_stencil_state(&depth).multisample_state(&samples),
            _ => info.color_blend_state(&blend).multisample_state(&samples),
        };
        create(device, cache, info)
    }
}

fn create(
    device: &Device,
    cache: vk::PipelineCache,
    info: vk::GraphicsPipelineCreateInfo<'_>,
) -> Result<vk::Pipeline, String> {
    // SAFETY: handles are alive, and what the structure borrows outlives the call.
    let made = unsafe { device.vk.create_graphics_pipelines(cache, &[info], None) };
    let made = made.map_err(|(_, e)| format!("pipeline: {e}"))?;
    made.first().copied().filter(|pipeline| *pipeline != vk::Pipeline::null()).ok_or_else(|| "no pipeline".to_owned())
}
