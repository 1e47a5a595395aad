//! What is below this layer: the functions of each instance and device, by the key that their handles begin with.
//!
//! Instances and their physical devices share a key, devices and their queues and command buffers too: it is the loader's own
//! table, to which the first word of each such handle points.

use crate::guard::lock;
use crate::handles::Handles;
use ash::vk;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// An instance.
pub struct Instance {
    pub get_proc: vk::PFN_vkGetInstanceProcAddr,
    pub handle: vk::Instance,
    pub destroy: Option<vk::PFN_vkDestroyInstance>,
}

/// A device.
pub struct Device {
    pub get_proc: vk::PFN_vkGetDeviceProcAddr,
    pub functions: Functions,
    handles: Mutex<Handles>,
}

impl Device {
    /// A device with no objects yet.
    pub fn new(get_proc: vk::PFN_vkGetDeviceProcAddr, functions: Functions) -> Self {
        Self { get_proc, functions, handles: Mutex::default() }
    }

    /// Works with its handles.
    pub fn with<T>(&self, work: impl FnOnce(&mut Handles) -> T) -> T {
        work(&mut lock(&self.handles))
    }
}

/// Declares [`Functions`] from field, type and the names that a function has had.
macro_rules! functions {
    ($($field:ident: $ty:ident = $($name:literal)|+;)*) => {
        /// Functions of a device that are looked at. None: the driver has not got it.
        #[derive(Clone, Copy, Default)]
        #[allow(missing_docs, reason = "the names are Vulkan's own")]
        pub struct Functions {
            $(pub $field: Option<vk::$ty>,)*
        }

        impl Functions {
            /// What `find` gives for their names; the first name that it knows counts.
            ///
            /// # Safety
            /// What it gives for a name is a function of that name, or null.
            pub unsafe fn load(find: &dyn Fn(&std::ffi::CStr) -> vk::PFN_vkVoidFunction) -> Self {
                Self {
                    $($field: [$($name),+].into_iter().find_map(find).map(|function| {
                        // SAFETY: a function of this name has this type.
                        unsafe { std::mem::transmute::<unsafe extern "system" fn(), vk::$ty>(function) }
                    }),)*
                }
            }
        }
    };
}

functions! {
    destroy_device: PFN_vkDestroyDevice = c"vkDestroyDevice";
    create_sampler: PFN_vkCreateSampler = c"vkCreateSampler";
    destroy_sampler: PFN_vkDestroySampler = c"vkDestroySampler";
    create_set_layout: PFN_vkCreateDescriptorSetLayout = c"vkCreateDescriptorSetLayout";
    destroy_set_layout: PFN_vkDestroyDescriptorSetLayout = c"vkDestroyDescriptorSetLayout";
    create_pipeline_layout: PFN_vkCreatePipelineLayout = c"vkCreatePipelineLayout";
    destroy_pipeline_layout: PFN_vkDestroyPipelineLayout = c"vkDestroyPipelineLayout";
    create_render_pass: PFN_vkCreateRenderPass = c"vkCreateRenderPass";
    create_render_pass2: PFN_vkCreateRenderPass2 = c"vkCreateRenderPass2" | c"vkCreateRenderPass2KHR";
    destroy_render_pass: PFN_vkDestroyRenderPass = c"vkDestroyRenderPass";
    create_shader_module: PFN_vkCreateShaderModule = c"vkCreateShaderModule";
    destroy_shader_module: PFN_vkDestroyShaderModule = c"vkDestroyShaderModule";
    create_graphics_pipelines: PFN_vkCreateGraphicsPipelines = c"vkCreateGraphicsPipelines";
    create_compute_pipelines: PFN_vkCreateComputePipelines = c"vkCreateComputePipelines";
    destroy_pipeline: PFN_vkDestroyPipeline = c"vkDestroyPipeline";
}

/// What a handle begins with.
pub type Key = usize;

type Table<T> = RwLock<BTreeMap<Key, Arc<T>>>;

static INSTANCES: Table<Instance> = RwLock::new(BTreeMap::new());
static DEVICES: Table<Device> = RwLock::new(BTreeMap::new());

fn find<T>(table: &Table<T>, key: Key) -> Option<Arc<T>> {
    table.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
}

/// The instance with a key.
pub fn instance(key: Key) -> Option<Arc<Instance>> {
    find(&INSTANCES, key)
}

/// The device with a key.
pub fn device(key: Key) -> Option<Arc<Device>> {
    find(&DEVICES, key)
}

/// Adds an instance.
pub fn add_instance(key: Key, instance: Instance) {
    INSTANCES.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(instance));
}

/// Adds a device.
pub fn add_device(key: Key, device: Device) {
    DEVICES.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(device));
}

/// Takes an instance out.
pub fn remove_instance(key: Key) -> Option<Arc<Instance>> {
    INSTANCES.write().unwrap_or_else(PoisonError::into_inner).remove(&key)
}

/// Takes a device out.
pub fn remove_device(key: Key) -> Option<Arc<Device>> {
    DEVICES.write().unwrap_or_else(PoisonError::into_inner).remove(&key)
}
