//! Lavapipe, Mesa's Vulkan on the CPU, as the reference: runs SPIR-V on [`Inputs`] and returns all result bytes.
//!
//! One device per process, found by its driver id, headless. A run creates its objects, waits, reads back, and destroys
//! them ([`resources::Owned`]). A Vulkan error fails the test with the name of the call. Layouts are derived from the
//! bindings; specialization constants and vertex attributes come from the caller.

#![allow(dead_code, reason = "each test program uses its own part of this")]

#[path = "vulkan/draw.rs"]
mod draw;
#[path = "vulkan/lacks.rs"]
mod lacks;
#[path = "vulkan/picture.rs"]
mod picture;

use ash::vk;
use dovetail::emu::inputs::{BindingElement, Bound, Inputs};
use dovetail::emu::pointers::StoredAddresses;
use dovetail::proof::{Judge, Outputs};
use dovetail::state::VertexInputState;
use picture::{Picture, format};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock};

pub use dovetail::proof::Spirv as Shader;

/// Lavapipe's device.
pub struct Lavapipe {
    // Kept alive because it holds the device's functions.
    _entry: ash::Entry,
    instance: ash::Instance,
    physical: vk::PhysicalDevice,
    device: ash::Device,
    queue: Mutex<vk::Queue>,
    /// Subgroup size.
    pub subgroup_size: u32,
    /// Capabilities whose features it lacks.
    lacks: Vec<lacks::Lack>,
}

/// Names of formats.
pub fn formats() -> impl Iterator<Item = String> {
    picture::formats()
}

/// Supported uses of a format.
#[derive(Clone, Copy, Debug)]
pub struct Supports {
    /// Vertex attributes.
    pub vertices: bool,
    /// Colour attachments.
    pub colors: bool,
    /// Blended colour attachments.
    pub blending: bool,
}

impl Lavapipe {
    /// The device, or why there is none.
    pub fn get() -> Result<&'static Self, String> {
        static DEVICE: OnceLock<Result<Lavapipe, String>> = OnceLock::new();
        DEVICE.get_or_init(Self::open).as_ref().map_err(Clone::clone)
    }

    fn open() -> Result<Self, String> {
        // SAFETY: the loader's library is trusted to be one; every structure that is passed outlives its call, and the
        // chains point to locals that are not moved. Instance and device are never destroyed, so functions stay valid.
        unsafe {
            let entry = ash::Entry::load().map_err(|e| format!("no Vulkan loader: {e}"))?;
            let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let info = vk::InstanceCreateInfo::default().application_info(&app);
            let instance = entry.create_instance(&info, None).map_err(|e| format!("no Vulkan instance: {e}"))?;
            let devices = instance.enumerate_physical_devices().map_err(|e| format!("no Vulkan device: {e}"))?;
            let found = devices.into_iter().find_map(|device| {
                let mut driver = vk::PhysicalDeviceDriverProperties::default();
                let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
                let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut driver).push_next(&mut subgroup);
                instance.get_physical_device_properties2(device, &mut all);
                let of_subgroups = (subgroup.subgroup_size, subgroup.supported_operations);
                (driver.driver_id == vk::DriverId::MESA_LLVMPIPE).then_some((device, of_subgroups))
            });
            let (physical, (subgroup_size, operations)) = found.ok_or("lavapipe is not among the Vulkan devices")?;
            // Enable every feature it has.
            let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
            let mut v12 = vk::PhysicalDeviceVulkan12Features::default();
            let mut v13 = vk::PhysicalDeviceVulkan13Features::default();
            let mut features = vk::PhysicalDeviceFeatures2::default();
            features = features.push_next(&mut v11).push_next(&mut v12).push_next(&mut v13);
            instance.get_physical_device_features2(physical, &mut features);
            let queue = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
            let mut divisors = vk::PhysicalDeviceVertexAttributeDivisorFeaturesKHR::default()
                .vertex_attribute_instance_rate_divisor(true)
                .vertex_attribute_instance_rate_zero_divisor(true);
            let mut borders = vk::PhysicalDeviceCustomBorderColorFeaturesEXT::default()
                .custom_border_colors(true)
                .custom_border_color_without_format(true);
            let mut cubes = vk::PhysicalDeviceNonSeamlessCubeMapFeaturesEXT::default().non_seamless_cube_map(true);
            let extensions = [
                ash::ext::vertex_attribute_divisor::NAME,
                ash::ext::shader_stencil_export::NAME,
                ash::ext::custom_border_color::NAME,
                ash::ext::non_seamless_cube_map::NAME,
            ]
            .map(std::ffi::CStr::as_ptr);
            let info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queue)
                .enabled_extension_names(&extensions)
                .push_next(&mut features)
                .push_next(&mut divisors)
                .push_next(&mut borders)
                .push_next(&mut cubes);
            let device = instance.create_device(physical, &info, None).map_err(|e| format!("lavapipe: {e}"))?;
            let queue = Mutex::new(device.get_device_queue(0, 0));
            let lacks = lacks::lacking(&v12, operations);
            Ok(Self { _entry: entry, instance, physical, device, queue, subgroup_size, lacks })
        }
    }

    /// The supported uses of a format.
    pub fn supports(&self, name: &str) -> Supports {
        // SAFETY: the instance and its device are alive.
        let has = unsafe { self.instance.get_physical_device_format_properties(self.physical, format(name)) };
        Supports {
            vertices: has.buffer_features.contains(vk::FormatFeatureFlags::VERTEX_BUFFER),
            colors: has.optimal_tiling_features.contains(vk::FormatFeatureFlags::COLOR_ATTACHMENT),
            blending: has.optimal_tiling_features.contains(vk::FormatFeatureFlags::COLOR_ATTACHMENT_BLEND),
        }
    }

    /// Dispatches a compute shader.
    pub fn compute(&self, shader: Shader<'_>, inputs: &Inputs) -> Outputs {
        let mut run = Run::new(self, inputs);
        let stage = run.stage(shader, vk::ShaderStageFlags::COMPUTE);
        let stage = stage.info();
        let info = [vk::ComputePipelineCreateInfo::default().layout(run.layout).stage(stage)];
        // SAFETY: all handles are this run's own; the infos outlive the calls; the command buffer is being recorded.
        unsafe {
            let made = self.device.create_compute_pipelines(vk::PipelineCache::null(), &info, None);
            let pipeline = made.expect("vkCreateComputePipelines")[0];
            run.owned.pipelines.push(pipeline);
            run.bind(vk::PipelineBindPoint::COMPUTE, pipeline);
            let [x, y, z] = inputs.grid;
            self.device.cmd_dispatch(run.commands, x, y, z);
        }
        run.finish(&[])
    }

    /// Draws offscreen.
    pub fn draw(
        &self,
        vertex: Shader<'_>,
        fragment: Option<Shader<'_>>,
        attributes: &VertexInputState,
        inputs: &Inputs,
    ) -> Outputs {
        let draw = inputs.draw.as_ref().expect("a draw");
        let mut run = Run::new(self, inputs);
        let mut stages = vec![run.stage(vertex, vk::ShaderStageFlags::VERTEX)];
        stages.extend(fragment.map(|f| run.stage(f, vk::ShaderStageFlags::FRAGMENT)));
        let infos: Vec<_> = stages.iter().map(Stage::info).collect();
        let pipeline = run.graphics_pipeline(&infos, attributes, draw);
        let attachments = run.attachments(draw);
        let sampled = if draw.samples > 1 { run.sampled(draw) } else { attachments.clone() };
        run.record_draw(pipeline, draw, [&sampled, &attachments]);
        run.finish(&attachments)
    }
}

impl Judge for Lavapipe {
    fn compute(&self, shader: &Shader<'_>, inputs: &Inputs) -> Result<Outputs, String> {
        refused(|| Lavapipe::compute(self, *shader, inputs))
    }

    fn draw(
        &self,
        vertex: &Shader<'_>,
        fragment: Option<&Shader<'_>>,
        attributes: &VertexInputState,
        inputs: &Inputs,
    ) -> Result<Outputs, String> {
        refused(|| {
            fragment.iter().for_each(|f| refuse_unknown(f));
            Lavapipe::draw(self, *vertex, fragment.copied(), attributes, inputs)
        })
    }

    fn subgroup_size(&self) -> u32 {
        self.subgroup_size
    }

    fn lacks(&self, shader: &Shader<'_>) -> Option<String> {
        let declared = lacks::capabilities(shader.module);
        let lack = self.lacks.iter().find(|(capability, _)| declared.contains(&(*capability as u32)));
        lack.map(|(_, feature)| format!("lavapipe does not have {feature}"))
    }
}

/// Panics for a run that cannot work here although the driver does not report a missing feature.
fn refuse_unknown(shader: &Shader<'_>) {
    const UNKNOWN: [(u32, &str); 2] = [
        (40, "input attachments: draws here have no render pass with subpasses"),
        (5284, "lavapipe does not know FragmentBarycentricKHR"),
    ];
    for capability in lacks::capabilities(shader.module) {
        if let Some((_, why)) = UNKNOWN.iter().find(|(number, _)| *number == capability) {
            panic!("{why}");
        }
    }
}

/// The outputs of a run, or its panic message if Vulkan fails.
fn refused(run: impl FnOnce() -> Outputs) -> Result<Outputs, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default()
    })
}

/// A shader stage with the data that its create info points to.
struct Stage {
    flags: vk::ShaderStageFlags,
    module: vk::ShaderModule,
    entry: CString,
    data: Vec<u8>,
    entries: Vec<vk::SpecializationMapEntry>,
    info: vk::SpecializationInfo<'static>,
}

impl Stage {
    fn info(&self) -> vk::PipelineShaderStageCreateInfo<'_> {
        vk::PipelineShaderStageCreateInfo::default()
            .stage(self.flags)
            .module(self.module)
            .name(&self.entry)
            .specialization_info(&self.info)
    }
}

/// A buffer and its mapped memory.
#[derive(Clone, Copy)]
struct Buffer {
    buffer: vk::Buffer,
    mapped: *mut u8,
    bytes: usize,
}

/// Objects that a run creates and destroys.
#[derive(Default)]
struct Owned {
    buffers: Vec<Buffer>,
    memories: Vec<vk::DeviceMemory>,
    images: Vec<vk::Image>,
    views: Vec<vk::ImageView>,
    buffer_views: Vec<vk::BufferView>,
    samplers: Vec<vk::Sampler>,
    modules: Vec<vk::ShaderModule>,
    pipelines: Vec<vk::Pipeline>,
    set_layouts: Vec<vk::DescriptorSetLayout>,
}

/// A run while it is being recorded.
struct Run<'a> {
    vulkan: &'a Lavapipe,
    inputs: &'a Inputs,
    owned: Owned,
    /// For each binding, the buffer to read back.
    buffers: Vec<Option<usize>>,
    addresses: StoredAddresses,
    push_constants: Vec<u8>,
    pictures: Vec<Picture>,
    layout: vk::PipelineLayout,
    descriptors: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
}

/// The target of a binding's descriptor.
struct Pointee {
    /// `None`: no descriptor.
    kind: Option<vk::DescriptorType>,
    buffer: vk::DescriptorBufferInfo,
    image: vk::DescriptorImageInfo,
    view: vk::BufferView,
}

impl<'a> Run<'a> {
    fn new(vulkan: &'a Lavapipe, inputs: &'a Inputs) -> Self {
        // SAFETY: the device is alive, the infos are locals.
        let (pool, commands) = unsafe {
            let info = vk::CommandPoolCreateInfo::default();
            let pool = vulkan.device.create_command_pool(&info, None).expect("vkCreateCommandPool");
            let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let commands = vulkan.device.allocate_command_buffers(&info).expect("vkAllocateCommandBuffers")[0];
            vulkan.device.begin_command_buffer(commands, &Default::default()).expect("vkBeginCommandBuffer");
            (pool, commands)
        };
        let mut run = Self {
            vulkan,
            inputs,
            owned: Owned::default(),
            buffers: Vec::new(),
            addresses: StoredAddresses::default(),
            push_constants: inputs.push_constants.0.clone(),
            pictures: Vec::new(),
            layout: vk::PipelineLayout::null(),
            descriptors: vk::DescriptorPool::null(),
            sets: Vec::new(),
            pool,
            commands,
        };
        let pointees: Vec<Pointee> = inputs.bindings.iter().map(|b| run.bind_one(b)).collect();
        run.make_sets(&pointees);
        run.write_addresses();
        run
    }

    /// Creates a buffer with these contents.
    fn buffer(&mut self, contents: &[u8]) -> usize {
        let device = &self.vulkan.device;
        let usage = vk::BufferUsageFlags::from_raw(0x1ff) | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let bytes = contents.len().max(4);
        let info = vk::BufferCreateInfo::default().size(bytes as u64).usage(usage);
        // SAFETY: lavapipe's only memory type is number 0 and can be mapped; the copy stays inside of the allocation.
        unsafe {
            let buffer = device.create_buffer(&info, None).expect("vkCreateBuffer");
            let memory = self.memory(device.get_buffer_memory_requirements(buffer).size);
            device.bind_buffer_memory(buffer, memory, 0).expect("vkBindBufferMemory");
            let mapped = device.map_memory(memory, 0, vk::WHOLE_SIZE, Default::default()).expect("vkMapMemory");
            let mapped = mapped.cast::<u8>();
            mapped.copy_from_nonoverlapping(contents.as_ptr(), contents.len());
            self.owned.buffers.push(Buffer { buffer, mapped, bytes: contents.len() });
        }
        self.owned.buffers.len() - 1
    }

    /// Writes addresses where the inputs have pointers.
    fn write_addresses(&mut self) {
        if self.inputs.pointers.is_empty() {
            return;
        }
        let buffer = |n: usize| self.buffers[n].map(|n| self.owned.buffers[n]);
        let address = |n: usize| {
            let info = vk::BufferDeviceAddressInfo::default().buffer(buffer(n).expect("a buffer").buffer);
            // SAFETY: the buffer is alive and was created with device-address usage.
            unsafe { self.vulkan.device.get_buffer_device_address(&info) }
        };
        let addresses = StoredAddresses::new(self.inputs, address).expect("pointers");
        for (n, binding) in self.inputs.bindings.iter().enumerate() {
            if let (Some(b), Some(_)) = (buffer(n), binding.bound.buffer()) {
                // SAFETY: mapped memory of at least this size, which nothing else touches before the run is submitted.
                addresses.write(Some(n), unsafe { std::slice::from_raw_parts_mut(b.mapped, b.bytes) });
            }
        }
        addresses.write(None, &mut self.push_constants);
        self.addresses = addresses;
    }

    fn memory(&mut self, bytes: u64) -> vk::DeviceMemory {
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let info = vk::MemoryAllocateInfo::default().allocation_size(bytes).memory_type_index(0).push_next(&mut flags);
        // SAFETY: the device is alive, the info is a local.
        let memory = unsafe { self.vulkan.device.allocate_memory(&info, None) }.expect("vkAllocateMemory");
        self.owned.memories.push(memory);
        memory
    }

    fn bind_one(&mut self, binding: &BindingElement) -> Pointee {
        let mut to = Pointee {
            kind: kind(&binding.bound),
            buffer: Default::default(),
            image: Default::default(),
            view: Default::default(),
        };
        let mut back = None;
        match &binding.bound {
            Bound::UniformBuffer(data) | Bound::StorageBuffer(data) => {
                let n = self.buffer(&data.0);
                back = Some(n);
                to.buffer =
                    vk::DescriptorBufferInfo::default().buffer(self.owned.buffers[n].buffer).range(data.0.len() as u64);
            }
            Bound::PhysicalStorageBuffer(data) => back = Some(self.buffer(&data.0)),
            Bound::UniformTexelBuffer(texels) | Bound::StorageTexelBuffer(texels) => {
                let n = self.buffer(&texels.data.0);
                back = Some(n);
                let info = vk::BufferViewCreateInfo::default()
                    .buffer(self.owned.buffers[n].buffer)
                    .format(format(&texels.format))
                    .range(vk::WHOLE_SIZE);
                // SAFETY: the buffer is alive.
                to.view = unsafe { self.vulkan.device.create_buffer_view(&info, None) }.expect("vkCreateBufferView");
                self.owned.buffer_views.push(to.view);
            }
            Bound::SampledImage(image) | Bound::InputAttachment(image) | Bound::StorageImage(image) => {
                let picture = self.picture(image);
                back = Some(picture.staging);
                to.image.image_view = picture.view;
                self.pictures.push(picture);
            }
            Bound::Sampler(sampler) => to.image.sampler = self.sampler(sampler),
            Bound::CombinedImageSampler(image, sampler) => {
                let picture = self.picture(image);
                back = Some(picture.staging);
                to.image.image_view = picture.view;
                to.image.sampler = self.sampler(sampler);
                self.pictures.push(picture);
            }
        }
        to.image.image_layout = vk::ImageLayout::GENERAL;
        self.buffers.push(back);
        to
    }

    fn make_sets(&mut self, pointees: &[Pointee]) {
        let mut kinds: BTreeMap<u32, BTreeMap<u32, (vk::DescriptorType, u32)>> = BTreeMap::new();
        for (b, to) in self.inputs.bindings.iter().zip(pointees) {
            let Some(kind) = to.kind else { continue };
            let slot = kinds.entry(b.set).or_default().entry(b.binding).or_insert((kind, 0));
            let same = slot.0 == kind;
            assert!(same, "VK_EXT_mutable_descriptor_type: set {} binding {} is of several kinds", b.set, b.binding);
            slot.1 = slot.1.max(b.element + 1);
        }
        let count = kinds.keys().last().map_or(0, |last| last + 1);
        let device = &self.vulkan.device;
        // SAFETY: the infos point to locals that outlive their calls; sets are written with what this run made.
        unsafe {
            for set in 0..count {
                let bindings = kinds.get(&set).into_iter().flatten().map(|(&binding, &(kind, count))| {
                    vk::DescriptorSetLayoutBinding::default()
                        .binding(binding)
                        .descriptor_type(kind)
                        .descriptor_count(count)
                        .stage_flags(vk::ShaderStageFlags::ALL)
                });
                let bindings: Vec<_> = bindings.collect();
                let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
                let layout = device.create_descriptor_set_layout(&info, None).expect("vkCreateDescriptorSetLayout");
                self.owned.set_layouts.push(layout);
            }
            let push = [vk::PushConstantRange::default()
                .stage_flags(vk::ShaderStageFlags::ALL)
                .size(self.inputs.push_constants.0.len().next_multiple_of(4) as u32)];
            let push = if self.inputs.push_constants.0.is_empty() { &push[..0] } else { &push[..] };
            let layouts = &self.owned.set_layouts;
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(layouts).push_constant_ranges(push);
            self.layout = device.create_pipeline_layout(&info, None).expect("vkCreatePipelineLayout");
            if count == 0 {
                return;
            }
            let all: u32 = kinds.values().flat_map(|set| set.values()).map(|(_, count)| count).sum();
            let sizes: Vec<_> = (0..=7)
                .map(|n| vk::DescriptorPoolSize::default().ty(vk::DescriptorType::from_raw(n)).descriptor_count(all))
                .collect();
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(count).pool_sizes(&sizes);
            self.descriptors = device.create_descriptor_pool(&info, None).expect("vkCreateDescriptorPool");
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.descriptors).set_layouts(layouts);
            self.sets = device.allocate_descriptor_sets(&info).expect("vkAllocateDescriptorSets");
            for (b, to) in self.inputs.bindings.iter().zip(pointees) {
                let Some(kind) = to.kind else { continue };
                let write = vk::WriteDescriptorSet::default()
                    .dst_set(self.sets[b.set as usize])
                    .dst_binding(b.binding)
                    .dst_array_element(b.element)
                    .descriptor_type(kind)
                    .buffer_info(std::slice::from_ref(&to.buffer))
                    .image_info(std::slice::from_ref(&to.image))
                    .texel_buffer_view(std::slice::from_ref(&to.view))
                    .descriptor_count(1);
                device.update_descriptor_sets(&[write], &[]);
            }
        }
    }

    fn stage(&mut self, shader: Shader<'_>, flags: vk::ShaderStageFlags) -> Stage {
        let words = ash::util::read_spv(&mut std::io::Cursor::new(shader.module)).expect("whole words");
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        // SAFETY: the words are SPIR-V that the caller made; lavapipe trusts it as much as we do.
        let module = unsafe { self.vulkan.device.create_shader_module(&info, None) }.expect("vkCreateShaderModule");
        self.owned.modules.push(module);
        let mut data = Vec::new();
        let mut entries = Vec::new();
        for &(id, value, size) in shader.spec {
            let offset = data.len() as u32;
            entries.push(vk::SpecializationMapEntry { constant_id: id, offset, size });
            data.extend_from_slice(&value.to_le_bytes());
        }
        let info = vk::SpecializationInfo {
            map_entry_count: entries.len() as u32,
            p_map_entries: entries.as_ptr(),
            data_size: data.len(),
            p_data: data.as_ptr().cast(),
            ..Default::default()
        };
        // `info` points to heap data, which does not move.
        Stage { flags, module, entry: CString::new(shader.entry).expect("a name"), data, entries, info }
    }

    /// # Safety
    /// The pipeline must be alive and of this bind point.
    unsafe fn bind(&self, point: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
        let device = &self.vulkan.device;
        // SAFETY: layout and sets are this run's own.
        unsafe {
            device.cmd_bind_pipeline(self.commands, point, pipeline);
            if !self.sets.is_empty() {
                device.cmd_bind_descriptor_sets(self.commands, point, self.layout, 0, &self.sets, &[]);
            }
            let mut push = self.push_constants.clone();
            push.resize(push.len().next_multiple_of(4), 0);
            if !push.is_empty() {
                device.cmd_push_constants(self.commands, self.layout, vk::ShaderStageFlags::ALL, 0, &push);
            }
        }
    }

    /// Reads everything back and destroys the run's objects. The attachments are last in the list of pictures.
    fn finish(mut self, attachments: &[Picture]) -> Outputs {
        self.pictures.extend_from_slice(attachments);
        for picture in &self.pictures {
            self.barrier(picture, vk::ImageLayout::GENERAL);
        }
        let device = &self.vulkan.device;
        // SAFETY: every handle is this run's own and alive; nothing runs any more when memory is read and objects are
        // destroyed.
        unsafe {
            for p in &self.pictures {
                let (general, to) = (vk::ImageLayout::GENERAL, self.owned.buffers[p.staging].buffer);
                device.cmd_copy_image_to_buffer(self.commands, p.image, general, to, &p.regions);
            }
            device.end_command_buffer(self.commands).expect("vkEndCommandBuffer");
            let fence = device.create_fence(&Default::default(), None).expect("vkCreateFence");
            let commands = [self.commands];
            let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
            {
                let queue = self.vulkan.queue.lock().expect("the queue");
                device.queue_submit(*queue, &submit, fence).expect("vkQueueSubmit");
            }
            let waited = device.wait_for_fences(&[fence], true, 60_000_000_000);
            // A shader that hangs cannot be stopped, so its objects are leaked.
            waited.expect("vkWaitForFences");
            device.destroy_fence(fence, None);
        }
        let read = |n: usize| {
            let b = self.owned.buffers[n];
            // SAFETY: mapped memory of at least this size, which nothing writes any more.
            unsafe { std::slice::from_raw_parts(b.mapped, b.bytes) }.to_vec()
        };
        let mut bindings: Vec<_> = self.buffers.iter().map(|b| b.map(read).unwrap_or_default()).collect();
        bindings.iter_mut().enumerate().for_each(|(n, left)| self.addresses.restore(self.inputs, n, left));
        let mut targets: Vec<Vec<u8>> = attachments.iter().map(|p| read(p.staging)).collect();
        let (has_depth, has_stencil) =
            self.inputs.draw.as_ref().map_or((false, false), |d| (d.depth.is_some(), d.stencil.is_some()));
        let stencil = if has_stencil { targets.pop().unwrap_or_default() } else { Vec::new() };
        // The image of a stencil attachment also has depth, whether requested or not.
        let depth = if has_depth || has_stencil { targets.pop().unwrap_or_default() } else { Vec::new() };
        Outputs { bindings, targets, depth: if has_depth { depth } else { Vec::new() }, stencil }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let (d, o) = (&self.vulkan.device, &self.owned);
        // SAFETY: created by this run, destroyed once, and idle: a run ends by waiting, or fails its test.
        unsafe {
            if std::thread::panicking() {
                return;
            }
            o.pipelines.iter().for_each(|&x| d.destroy_pipeline(x, None));
            o.modules.iter().for_each(|&x| d.destroy_shader_module(x, None));
            o.samplers.iter().for_each(|&x| d.destroy_sampler(x, None));
            o.buffer_views.iter().for_each(|&x| d.destroy_buffer_view(x, None));
            o.views.iter().for_each(|&x| d.destroy_image_view(x, None));
            o.images.iter().for_each(|&x| d.destroy_image(x, None));
            o.buffers.iter().for_each(|x| d.destroy_buffer(x.buffer, None));
            o.memories.iter().for_each(|&x| d.free_memory(x, None));
            d.destroy_pipeline_layout(self.layout, None);
            o.set_layouts.iter().for_each(|&x| d.destroy_descriptor_set_layout(x, None));
            d.destroy_descriptor_pool(self.descriptors, None);
            d.destroy_command_pool(self.pool, None);
        }
    }
}

fn kind(bound: &Bound) -> Option<vk::DescriptorType> {
    use vk::DescriptorType as T;
    Some(match bound {
        Bound::PhysicalStorageBuffer(_) => return None,
        Bound::UniformBuffer(_) => T::UNIFORM_BUFFER,
        Bound::StorageBuffer(_) => T::STORAGE_BUFFER,
        Bound::UniformTexelBuffer(_) => T::UNIFORM_TEXEL_BUFFER,
        Bound::StorageTexelBuffer(_) => T::STORAGE_TEXEL_BUFFER,
        Bound::SampledImage(_) => T::SAMPLED_IMAGE,
        Bound::InputAttachment(_) => T::INPUT_ATTACHMENT,
        Bound::StorageImage(_) => T::STORAGE_IMAGE,
        Bound::Sampler(_) => T::SAMPLER,
        Bound::CombinedImageSampler(..) => T::COMBINED_IMAGE_SAMPLER,
    })
}
