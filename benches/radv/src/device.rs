//! The first Vulkan device, with the extensions that the requests need.

use ash::vk;
use std::ffi::CStr;

/// A device with the functions used here.
pub struct Device {
    // Keeps the loader's library loaded.
    _entry: ash::Entry,
    _instance: ash::Instance,
    /// Functions of the device.
    pub vk: ash::Device,
    /// Extension functions that return code.
    pub executables: ash::khr::pipeline_executable_properties::Device,
    /// Name and version of the driver.
    pub driver: String,
}

fn text(chars: &[std::ffi::c_char]) -> String {
    // SAFETY: Vulkan ends its strings within their arrays.
    unsafe { CStr::from_ptr(chars.as_ptr()) }.to_string_lossy().into_owned()
}

impl Device {
    /// Opens it with all features except robust access, which changes code and which games do not enable.
    pub fn open() -> Result<Self, String> {
        // SAFETY: the loader's library is trusted to be one; every structure outlives its call, and the chains point to locals that
        // are not moved. Instance and device are never destroyed.
        unsafe {
            let entry = ash::Entry::load().map_err(|e| format!("no Vulkan loader: {e}"))?;
            let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let info = vk::InstanceCreateInfo::default().application_info(&app);
            let instance = entry.create_instance(&info, None).map_err(|e| format!("no Vulkan instance: {e}"))?;
            let devices = instance.enumerate_physical_devices().map_err(|e| format!("no Vulkan device: {e}"))?;
            let physical = *devices.first().ok_or("no Vulkan device")?;
            let mut driver = vk::PhysicalDeviceDriverProperties::default();
            let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
            instance.get_physical_device_properties2(physical, &mut all);
            let name = text(&all.properties.device_name);
            if driver.driver_id != vk::DriverId::MESA_RADV {
                return Err(format!("{name} is not RADV's"));
            }
            let (mut v11, mut v12, mut v13) = Default::default();
            let mut libraries = vk::PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT::default();
            let mut executables = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default();
            let mut features = vk::PhysicalDeviceFeatures2::default()
                .push_next::<vk::PhysicalDeviceVulkan11Features<'_>>(&mut v11)
                .push_next::<vk::PhysicalDeviceVulkan12Features<'_>>(&mut v12)
                .push_next::<vk::PhysicalDeviceVulkan13Features<'_>>(&mut v13)
                .push_next(&mut libraries)
                .push_next(&mut executables);
            instance.get_physical_device_features2(physical, &mut features);
            let mut core = features.features;
            core.robust_buffer_access = vk::FALSE;
            v13.robust_image_access = vk::FALSE;
            // Build the chain again, because the values are modified through structs that the first chain borrows.
            v11.p_next = std::ptr::null_mut();
            v12.p_next = std::ptr::null_mut();
            v13.p_next = std::ptr::null_mut();
            libraries.p_next = std::ptr::null_mut();
            executables.p_next = std::ptr::null_mut();
            let mut features = vk::PhysicalDeviceFeatures2::default()
                .features(core)
                .push_next(&mut v11)
                .push_next(&mut v12)
                .push_next(&mut v13)
                .push_next(&mut libraries)
                .push_next(&mut executables);
            let extensions = [
                ash::khr::pipeline_library::NAME.as_ptr(),
                ash::ext::graphics_pipeline_library::NAME.as_ptr(),
                ash::khr::pipeline_executable_properties::NAME.as_ptr(),
            ];
            let queue = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
            let info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queue)
                .enabled_extension_names(&extensions)
                .push_next(&mut features);
            let device = instance.create_device(physical, &info, None).map_err(|e| format!("{name}: {e}"))?;
            let executables = ash::khr::pipeline_executable_properties::Device::new(&instance, &device);
            let driver = format!("{} {}, {name}", text(&driver.driver_name), text(&driver.driver_info));
            Ok(Self { _entry: entry, _instance: instance, vk: device, executables, driver })
        }
    }
}
