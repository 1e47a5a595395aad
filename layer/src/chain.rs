//! The structures by which Vulkan's loader and its layers find each other, version 2 of that interface.
//!
//! Source: `vk_layer.h` of Khronos' Vulkan-Headers, and "Loader and Layer Interface" of Vulkan-Loader.

use ash::vk;
use std::ffi::c_void;

/// `VkNegotiateLayerInterface`.
#[repr(C)]
pub struct Negotiate {
    s_type: u32,
    next: *mut c_void,
    pub version: u32,
    pub get_instance_proc: Option<vk::PFN_vkGetInstanceProcAddr>,
    pub get_device_proc: Option<vk::PFN_vkGetDeviceProcAddr>,
    pub get_physical_device_proc: *const c_void,
}

/// The newest version of the interface that this layer speaks.
pub const INTERFACE: u32 = 2;

/// `VkLayerInstanceLink`.
#[repr(C)]
pub struct InstanceLink {
    next: *mut InstanceLink,
    pub get_instance_proc: Option<vk::PFN_vkGetInstanceProcAddr>,
    get_physical_device_proc: *const c_void,
}

/// `VkLayerDeviceLink`.
#[repr(C)]
pub struct DeviceLink {
    next: *mut DeviceLink,
    pub get_instance_proc: Option<vk::PFN_vkGetInstanceProcAddr>,
    pub get_device_proc: Option<vk::PFN_vkGetDeviceProcAddr>,
}

/// The links of a layer to what is below it.
trait Link {
    fn next(&self) -> *mut Self;
}

impl Link for InstanceLink {
    fn next(&self) -> *mut Self {
        self.next
    }
}

impl Link for DeviceLink {
    fn next(&self) -> *mut Self {
        self.next
    }
}

/// `VkLayerInstanceCreateInfo` and `VkLayerDeviceCreateInfo`, whose unions begin alike.
#[repr(C)]
struct CreateInfo<L> {
    s_type: vk::StructureType,
    next: *const c_void,
    function: u32,
    link: *mut L,
}

/// `VK_LAYER_LINK_INFO`.
const LINK_INFO: u32 = 0;
/// Structures of a chain after which it is no chain.
pub const MAX_CHAIN: usize = 256;

/// Takes this layer's link out of the chain, so that what is below finds its own.
///
/// # Safety
/// `chain` leads to structures that Vulkan allows there, which nobody else touches.
unsafe fn take<'a, L: Link>(mut chain: *const c_void, s_type: vk::StructureType) -> Option<&'a L> {
    for _ in 0..MAX_CHAIN {
        // SAFETY: null, or a structure, which begins with its type and its next one.
        let base = unsafe { chain.cast::<vk::BaseInStructure<'_>>().as_ref() }?;
        if base.s_type == s_type {
            let info = chain.cast_mut().cast::<CreateInfo<L>>();
            // SAFETY: a structure of this type, of the loader's, has at least these members; the loader gives it to be changed.
            let info = unsafe { &mut *info };
            if info.function == LINK_INFO {
                // SAFETY: the loader's link, which lives as long as the call.
                let link = unsafe { info.link.as_ref() }?;
                info.link = link.next();
                return Some(link);
            }
        }
        chain = base.p_next.cast();
    }
    None
}

/// The link of an instance to what is below.
///
/// # Safety
/// The info is the loader's.
pub unsafe fn instance_link<'a>(info: &vk::InstanceCreateInfo<'_>) -> Option<&'a InstanceLink> {
    // SAFETY: as the caller says.
    unsafe { take(info.p_next, vk::StructureType::LOADER_INSTANCE_CREATE_INFO) }
}

/// The link of a device to what is below.
///
/// # Safety
/// The info is the loader's.
pub unsafe fn device_link<'a>(info: &vk::DeviceCreateInfo<'_>) -> Option<&'a DeviceLink> {
    // SAFETY: as the caller says.
    unsafe { take(info.p_next, vk::StructureType::LOADER_DEVICE_CREATE_INFO) }
}
