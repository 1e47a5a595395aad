//! The functions of the next layer or driver, for each instance and device, found by the key at the start of their
//! handles.
//!
//! An instance and its physical devices share a key, and so do a device and its queues and command buffers: the first
//! word of each such handle points to the loader's dispatch table.

use crate::functions::Functions;
use crate::guard::lock;
use crate::handles::Handles;
use crate::shadow::Tracker;
use ash::vk;
use ash::vk::Handle;
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
    /// Follows its dispatches and draws, if the shadow is on.
    pub shadow: Option<Tracker>,
    handles: Mutex<Handles>,
}

impl Device {
    /// A device without objects.
    pub fn new(get_proc: vk::PFN_vkGetDeviceProcAddr, functions: Functions, shadow: Option<Tracker>) -> Self {
        Self { get_proc, functions, shadow, handles: Mutex::default() }
    }

    /// Calls `work` with the device's handles.
    pub fn with<T>(&self, work: impl FnOnce(&mut Handles) -> T) -> T {
        work(&mut lock(&self.handles))
    }
}

/// The first word of a dispatchable handle.
pub type Key = usize;

type Table<T> = RwLock<BTreeMap<Key, Arc<T>>>;

static INSTANCES: Table<Instance> = RwLock::new(BTreeMap::new());
static DEVICES: Table<Device> = RwLock::new(BTreeMap::new());

fn find<T>(table: &Table<T>, key: Key) -> Option<Arc<T>> {
    table.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
}

/// The key of a handle by which the loader dispatches.
///
/// # Safety
/// It is null or such a handle.
pub unsafe fn key(handle: impl Handle) -> Key {
    let object = handle.as_raw() as usize as *const Key;
    // SAFETY: as the caller says, it points to an object whose first word belongs to the loader.
    unsafe { object.as_ref() }.copied().unwrap_or(0)
}

/// The instance with a key.
pub fn instance(key: Key) -> Option<Arc<Instance>> {
    find(&INSTANCES, key)
}

/// The device with a key.
pub fn device(key: Key) -> Option<Arc<Device>> {
    find(&DEVICES, key)
}

/// The device with a key, and one of its functions.
pub fn below<F>(key: Key, function: impl FnOnce(&Functions) -> Option<F>) -> Option<(Arc<Device>, F)> {
    let device = device(key)?;
    let function = function(&device.functions)?;
    Some((device, function))
}

/// Adds an instance.
pub fn add_instance(key: Key, instance: Instance) {
    INSTANCES.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(instance));
}

/// Adds a device.
pub fn add_device(key: Key, device: Device) {
    DEVICES.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(device));
}

/// Removes an instance.
pub fn remove_instance(key: Key) -> Option<Arc<Instance>> {
    INSTANCES.write().unwrap_or_else(PoisonError::into_inner).remove(&key)
}

/// Removes a device.
pub fn remove_device(key: Key) -> Option<Arc<Device>> {
    DEVICES.write().unwrap_or_else(PoisonError::into_inner).remove(&key)
}
