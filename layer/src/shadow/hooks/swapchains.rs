//! Hooks of swapchains: their images get transfer usage, and are tracked by handle.

use super::{answers, passes, watch};
use crate::dispatch::{self, key};
use crate::read::list;
use crate::shadow::objects::Image;
use crate::shadow::reason::Reason;
use ash::vk;

const OK: vk::Result = vk::Result::SUCCESS;

pub(super) unsafe extern "system" fn create_swapchain(
    device: vk::Device,
    info: *const vk::SwapchainCreateInfoKHR<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    made: *mut vk::SwapchainKHR,
) -> vk::Result {
    // SAFETY: the caller's device; the call passes on the arguments, with a copy of the application's info.
    unsafe {
        let Some((below, create)) = dispatch::below(key(device), |functions| functions.create_swapchain) else {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        };
        let given = &*info;
        let source = vk::ImageUsageFlags::TRANSFER_SRC;
        let allowed = below.shadow.as_ref().and_then(|tracker| {
            let mut about = vk::SurfaceCapabilitiesKHR::default();
            let answer = (tracker.surface?)(tracker.physical, given.surface, &mut about);
            (answer == OK).then_some(about.supported_usage_flags)
        });
        let has = allowed.is_some_and(|allowed| allowed.contains(source)) || given.image_usage.contains(source);
        let usage = if has { given.image_usage | source } else { given.image_usage };
        let ours = vk::SwapchainCreateInfoKHR { image_usage: usage, ..*given };
        let result = create(device, &ours, allocator, made);
        if result == OK {
            let usable = match () {
                () if given.flags.contains(vk::SwapchainCreateFlagsKHR::PROTECTED) => Err(Reason::Protected),
                () if given.image_sharing_mode == vk::SharingMode::CONCURRENT => Err(Reason::Shared),
                () if !has => Err(Reason::Usage),
                () => Ok(()),
            };
            let vk::Extent2D { width, height } = given.image_extent;
            let image = Image {
                kind: vk::ImageType::TYPE_2D,
                format: given.image_format,
                extent: vk::Extent3D { width, height, depth: 1 },
                levels: 1,
                layers: given.image_array_layers,
                samples: vk::SampleCountFlags::TYPE_1,
                usable,
            };
            watch(&below, |watch| watch.state.objects.swapchains.insert(*made, (image, Vec::new())));
        }
        result
    }
}

answers! {
    get_swapchain_images(
        device: vk::Device,
        swapchain: vk::SwapchainKHR,
        count: *mut u32,
        images: *mut vk::Image
    )
    |watch: &mut super::Watch<'_>, result: vk::Result| {
        let objects = &mut watch.state.objects;
        let known = objects.swapchains.get_mut(&swapchain);
        if let (OK | vk::Result::INCOMPLETE, Some((image, all))) = (result, known) {
            for handle in list(images, *count) {
                objects.images.insert(*handle, image.clone());
                all.push(*handle);
            }
        }
    };
}

passes! {
    destroy_swapchain(
        device: vk::Device,
        swapchain: vk::SwapchainKHR,
        allocator: *const vk::AllocationCallbacks<'_>
    )
    |watch| if let Some((_, images)) = watch.state.objects.swapchains.remove(&swapchain) {
        images.iter().for_each(|image| drop(watch.state.objects.images.remove(image)));
    };
}
