//! The structures that connect Vulkan's loader and its layers, version 2 of that interface.
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

/// The newest interface version that this layer supports.
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

/// A layer's link to the next layer or driver.
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

/// `VkLayerInstanceCreateInfo` and `VkLayerDeviceCreateInfo`: their unions begin in the same way.
#[repr(C)]
struct CreateInfo<L> {
    s_type: vk::StructureType,
    next: *const c_void,
    function: u32,
    link: *mut L,
}

/// `VK_LAYER_LINK_INFO`.
const LINK_INFO: u32 = 0;
/// Longest `pNext` chain that is followed.
pub const MAX_CHAIN: usize = 256;

/// Removes this layer's link from the chain, so that the next layer finds its own.
///
/// # Safety
/// `chain` leads to structures that Vulkan allows there, and nothing else accesses them.
unsafe fn take<'a, L: Link>(mut chain: *const c_void, s_type: vk::StructureType) -> Option<&'a L> {
    for _ in 0..MAX_CHAIN {
        // SAFETY: null, or a structure, which begins with its type and its next one.
        let base = unsafe { chain.cast::<vk::BaseInStructure<'_>>().as_ref() }?;
        if base.s_type == s_type {
            let info = chain.cast_mut().cast::<CreateInfo<L>>();
            // SAFETY: a structure of this type comes from the loader and has at least these members; the layer may
            // change it.
            let info = unsafe { &mut *info };
            if info.function == LINK_INFO {
                // SAFETY: the loader's link lives as long as the call.
                let link = unsafe { info.link.as_ref() }?;
                info.link = link.next();
                return Some(link);
            }
        }
        chain = base.p_next.cast();
    }
    None
}

/// An instance's link to the next layer or driver.
///
/// # Safety
/// The info comes from the loader.
pub unsafe fn instance_link<'a>(info: &vk::InstanceCreateInfo<'_>) -> Option<&'a InstanceLink> {
    // SAFETY: as the caller says.
    unsafe { take(info.p_next, vk::StructureType::LOADER_INSTANCE_CREATE_INFO) }
}

/// A device's link to the next layer or driver.
///
/// # Safety
/// The info comes from the loader.
pub unsafe fn device_link<'a>(info: &vk::DeviceCreateInfo<'_>) -> Option<&'a DeviceLink> {
    // SAFETY: as the caller says.
    unsafe { take(info.p_next, vk::StructureType::LOADER_DEVICE_CREATE_INFO) }
}
