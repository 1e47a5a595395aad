//! Helpers for reading structs: look-ups, and Vulkan's lists, names and numbers.

use crate::handles::Handles;
use dovetail::capture::{Hash, RenderPass};

/// The look-ups that reading needs, and the sink for modules.
pub struct Reader<'a> {
    /// The names of the definitions that handles were made from.
    pub handles: &'a Handles,
    /// Records a module that is given with a pipeline, and names it.
    pub module: &'a dyn Fn(&[u8]) -> Hash,
    /// A render pass by its name.
    pub render_pass: &'a dyn Fn(Hash) -> Option<std::sync::Arc<RenderPass>>,
}

/// A list of Vulkan's; empty if it is null.
///
/// # Safety
/// It is null, or has so many elements that live as long as the result.
pub unsafe fn list<'a, T>(first: *const T, count: u32) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(first, count as usize) }
}

/// A name of Vulkan's; what is no UTF-8 in it is replaced.
///
/// # Safety
/// It is null, or ends with a zero.
pub(super) unsafe fn text(name: *const std::ffi::c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says.
    unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// An enumeration's number.
macro_rules! number {
    ($value:expr) => {
        $value.as_raw() as u32
    };
}
pub(super) use number;
