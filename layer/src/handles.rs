//! The application's handles, and what each was made from. A handle is forgotten before it is destroyed: the driver may give it
//! to something else at once.

use ash::vk;
use ash::vk::Handle;
use dovetail_capture::{Hash, Next};
use std::collections::BTreeMap;

/// Where a handle leads that nobody has seen being made. No definition has this name, so that whoever looks for it says so.
const UNSEEN: Hash = Hash(u64::MAX);

/// Handles of one kind.
#[derive(Debug, Default)]
pub struct Named(BTreeMap<u64, Hash>);

impl Named {
    /// Adds a handle.
    pub fn insert(&mut self, handle: impl Handle, name: Hash) {
        self.0.insert(handle.as_raw(), name);
    }

    /// Removes a handle.
    pub fn remove(&mut self, handle: impl Handle) {
        self.0.remove(&handle.as_raw());
    }

    /// The name of a handle's definition; a null handle has the name of nothing.
    pub fn of(&self, handle: impl Handle) -> Hash {
        match handle.as_raw() {
            0 => Hash::default(),
            raw => self.0.get(&raw).copied().unwrap_or(UNSEEN),
        }
    }
}

/// All handles of a device.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub struct Handles {
    pub samplers: Named,
    pub set_layouts: Named,
    pub pipeline_layouts: Named,
    pub render_passes: Named,
    pub modules: Named,
    pub pipelines: Named,
    /// Y'CBCR conversions, as an archive has them in a sampler's `pNext` chain.
    pub conversions: BTreeMap<vk::SamplerYcbcrConversion, Next>,
}

/// A kind of handle, for the functions that destroy one.
pub type Kind = fn(&mut Handles) -> &mut Named;

/// Forgets a handle.
pub fn forget<H: vk::Handle>(handles: &mut Handles, kind: Kind, handle: H) {
    kind(handles).remove(handle);
}
