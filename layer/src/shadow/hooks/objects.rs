//! Hooks that follow buffers, images and views, and add the usage that copies need.

use super::{Watch, answers, passes, watch};
use crate::dispatch::{self, Device, key};
use crate::read::list;
use crate::shadow::objects::{Buffer, BufferView, Image, ImageView};
use crate::shadow::reason::Reason;
use ash::vk;
use dovetail_state::Swizzle;
use std::sync::Arc;

const OK: vk::Result = vk::Result::SUCCESS;
const FAILED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;

/// A buffer's info, with transfer usage if a dispatch or draw may use the buffer; or why it cannot be copied.
fn buffer_info<'a>(given: &vk::BufferCreateInfo<'a>) -> (vk::BufferCreateInfo<'a>, Result<(), Reason>) {
    use vk::BufferCreateFlags as F;
    use vk::BufferUsageFlags as U;
    let texels = U::UNIFORM_TEXEL_BUFFER | U::STORAGE_TEXEL_BUFFER;
    let drawn = U::VERTEX_BUFFER | U::INDEX_BUFFER | U::INDIRECT_BUFFER;
    let bound = U::UNIFORM_BUFFER | U::STORAGE_BUFFER | texels | drawn;
    let sparse = F::SPARSE_BINDING | F::SPARSE_RESIDENCY | F::SPARSE_ALIASED;
    match () {
        () if given.flags.intersects(F::PROTECTED) => (*given, Err(Reason::Protected)),
        () if given.flags.intersects(sparse) => (*given, Err(Reason::Sparse)),
        () if given.usage.contains(U::TRANSFER_SRC) => (*given, Ok(())),
        // A structure in the chain may state the usage, or share the buffer with users that must state the same usage.
        () if !given.usage.intersects(bound) || !given.p_next.is_null() => (*given, Err(Reason::Usage)),
        () => (vk::BufferCreateInfo { usage: given.usage | U::TRANSFER_SRC, ..*given }, Ok(())),
    }
}

/// An image's info, with transfer usage as for buffers.
fn image_info<'a>(device: &Device, given: &vk::ImageCreateInfo<'a>) -> (vk::ImageCreateInfo<'a>, Result<(), Reason>) {
    use vk::ImageCreateFlags as F;
    use vk::ImageUsageFlags as U;
    let sparse = F::SPARSE_BINDING | F::SPARSE_RESIDENCY | F::SPARSE_ALIASED;
    let usage = given.usage | U::TRANSFER_SRC;
    let allowed = || {
        let tracker = device.shadow.as_ref()?;
        let mut limits = vk::ImageFormatProperties::default();
        let (flags, most) = (given.flags, &mut limits);
        // SAFETY: the device's own physical device, and the application's numbers.
        let answer = unsafe {
            (tracker.image_formats?)(tracker.physical, given.format, given.image_type, given.tiling, usage, flags, most)
        };
        (answer == OK).then_some(limits)
    };
    let fits = |limits: vk::ImageFormatProperties| {
        limits.sample_counts.contains(given.samples)
            && given.mip_levels <= limits.max_mip_levels
            && given.array_layers <= limits.max_array_layers
    };
    match () {
        () if given.flags.intersects(F::PROTECTED) => (*given, Err(Reason::Protected)),
        () if given.flags.intersects(sparse) => (*given, Err(Reason::Sparse)),
        () if given.sharing_mode == vk::SharingMode::CONCURRENT => (*given, Err(Reason::Shared)),
        () if given.usage.contains(U::TRANSFER_SRC) => (*given, Ok(())),
        () if !given.usage.intersects(U::SAMPLED | U::STORAGE | U::COLOR_ATTACHMENT | U::DEPTH_STENCIL_ATTACHMENT)
            || given.usage.intersects(U::TRANSIENT_ATTACHMENT)
            || !given.p_next.is_null()
            || !allowed().is_some_and(fits) =>
        {
            (*given, Err(Reason::Usage))
        }
        () => (vk::ImageCreateInfo { usage, ..*given }, Ok(())),
    }
}

/// A hook of a function that creates an object which may be copied.
macro_rules! creates {
    ($hook:ident, $info:ident, $handle:ident, $ours:expr, $look:expr) => {
        pub(super) unsafe extern "system" fn $hook(
            device: vk::Device,
            info: *const vk::$info<'_>,
            allocator: *const vk::AllocationCallbacks<'_>,
            made: *mut vk::$handle,
        ) -> vk::Result {
            // SAFETY: the caller's device; the call passes on the arguments, with the application's info or a copy of
            // it.
            unsafe {
                let Some((below, create)) = dispatch::below(key(device), |functions| functions.$hook) else {
                    return FAILED;
                };
                let (ours, mut usable) = $ours(&below, &*info);
                let mut result = create(device, &ours, allocator, made);
                if result != OK && ours.usage != (*info).usage {
                    usable = Err(Reason::Usage);
                    result = create(device, info, allocator, made);
                }
                if result == OK {
                    watch(&below, |watch| $look(watch, *made, &*info, usable));
                }
                result
            }
        }
    };
}

creates!(
    create_buffer,
    BufferCreateInfo,
    Buffer,
    |_: &Arc<Device>, given| buffer_info(given),
    |watch: &mut Watch<'_>, made, given: &vk::BufferCreateInfo<'_>, usable| {
        watch.state.objects.buffers.insert(made, Buffer { size: given.size, usable, memory: None });
    }
);
creates!(
    create_image,
    ImageCreateInfo,
    Image,
    |device: &Arc<Device>, given| image_info(device, given),
    |watch: &mut Watch<'_>, made, given: &vk::ImageCreateInfo<'_>, usable| {
        let image = Image {
            kind: given.image_type,
            format: given.format,
            extent: given.extent,
            levels: given.mip_levels,
            layers: given.array_layers,
            samples: given.samples,
            usable,
        };
        watch.state.objects.images.insert(made, image);
    }
);

/// A hook of a function that returns memory requirements, which must hold for the objects created here.
macro_rules! requires {
    ($hook:ident, $info:ident, $create_info:ident, $ours:expr) => {
        pub(super) unsafe extern "system" fn $hook(
            device: vk::Device,
            info: *const vk::$info<'_>,
            requirements: *mut vk::MemoryRequirements2<'_>,
        ) {
            // SAFETY: the caller's device; the call passes on the arguments, with a copy of the application's info.
            unsafe {
                let below = dispatch::below(key(device), |functions| functions.$hook);
                let Some((below, requires)) = below else { return };
                match (*info).p_create_info.as_ref() {
                    Some(create) => {
                        let (ours, _) = $ours(&below, create);
                        let info = vk::$info { p_create_info: &ours, ..*info };
                        requires(device, &info, requirements);
                    }
                    None => requires(device, info, requirements),
                }
            }
        }
    };
}

requires!(
    get_device_buffer_memory_requirements,
    DeviceBufferMemoryRequirements,
    BufferCreateInfo,
    |_: &Arc<Device>, given| buffer_info(given)
);
requires!(
    get_device_image_memory_requirements,
    DeviceImageMemoryRequirements,
    ImageCreateInfo,
    |device: &Arc<Device>, given| image_info(device, given)
);

answers! {
    bind_buffer_memory(device: vk::Device, buffer: vk::Buffer, memory: vk::DeviceMemory, offset: vk::DeviceSize)
    |watch: &mut Watch<'_>, result: vk::Result| {
        if result == OK {
            watch.state.objects.buffers.entry(buffer).and_modify(|buffer| buffer.memory = Some((memory, offset)));
        }
    };
    bind_buffer_memory2(device: vk::Device, count: u32, infos: *const vk::BindBufferMemoryInfo<'_>)
    |watch: &mut Watch<'_>, result: vk::Result| {
        if result == OK {
            for info in list(infos, count) {
                let memory = Some((info.memory, info.memory_offset));
                watch.state.objects.buffers.entry(info.buffer).and_modify(|buffer| buffer.memory = memory);
            }
        }
    };
    create_buffer_view(
        device: vk::Device,
        info: *const vk::BufferViewCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        made: *mut vk::BufferView
    )
    |watch: &mut Watch<'_>, result: vk::Result| {
        if result == OK {
            let given = &*info;
            let (format, offset, range) = (given.format, given.offset, given.range);
            let view = BufferView { buffer: given.buffer, format, offset, range };
            watch.state.objects.buffer_views.insert(*made, view);
        }
    };
    create_image_view(
        device: vk::Device,
        info: *const vk::ImageViewCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        made: *mut vk::ImageView
    )
    |watch: &mut Watch<'_>, result: vk::Result| {
        if result == OK && let Some(view) = view(&*info) {
            watch.state.objects.image_views.insert(*made, view);
        }
    };
}

/// A view; `None` if Vulkan does not define its swizzle.
///
/// # Safety
/// The info is valid.
unsafe fn view(given: &vk::ImageViewCreateInfo<'_>) -> Option<ImageView> {
    let parts = given.components;
    let swizzle = [parts.r, parts.g, parts.b, parts.a].map(|part| Swizzle::of_number(part.as_raw() as u32));
    let [Some(r), Some(g), Some(b), Some(a)] = swizzle else { return None };
    let usage = vk::StructureType::IMAGE_VIEW_USAGE_CREATE_INFO;
    // SAFETY: null, or a structure, which begins with its type and next pointer.
    let next = unsafe { given.p_next.cast::<vk::BaseInStructure<'_>>().as_ref() };
    let extended = next.is_some_and(|next| next.s_type != usage || !next.p_next.is_null());
    Some(ImageView {
        image: given.image,
        kind: given.view_type,
        format: given.format,
        range: given.subresource_range,
        swizzle: [r, g, b, a],
        plain: !extended,
    })
}

passes! {
    destroy_buffer(device: vk::Device, buffer: vk::Buffer, allocator: *const vk::AllocationCallbacks<'_>)
    |watch| { watch.state.objects.buffers.remove(&buffer); };
    destroy_buffer_view(device: vk::Device, view: vk::BufferView, allocator: *const vk::AllocationCallbacks<'_>)
    |watch| { watch.state.objects.buffer_views.remove(&view); };
    destroy_image(device: vk::Device, image: vk::Image, allocator: *const vk::AllocationCallbacks<'_>)
    |watch| { watch.state.objects.images.remove(&image); };
    destroy_image_view(device: vk::Device, view: vk::ImageView, allocator: *const vk::AllocationCallbacks<'_>)
    |watch| { watch.state.objects.image_views.remove(&view); };
}
