//! Helpers for reading structs: look-ups, and Vulkan's lists, strings and numbers.

use crate::handles::Handles;
use dovetail_capture::{Hash, RenderPass};

/// The look-ups that reading needs, and the sink for modules.
pub struct Reader<'a> {
    /// The names of the definitions behind handles.
    pub handles: &'a Handles,
    /// Records a module that is part of a pipeline's info, and returns its name.
    pub module: &'a dyn Fn(&[u8]) -> Hash,
    /// Finds a render pass by its name.
    pub render_pass: &'a dyn Fn(Hash) -> Option<std::sync::Arc<RenderPass>>,
}

/// A Vulkan list; empty if the pointer is null.
///
/// # Safety
/// The pointer is null, or has `count` elements that live as long as the result.
pub unsafe fn list<'a, T>(first: *const T, count: u32) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(first, count as usize) }
}

/// A Vulkan string; invalid UTF-8 is replaced.
///
/// # Safety
/// The pointer is null, or to a string that ends with a zero.
pub(super) unsafe fn text(name: *const std::ffi::c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says.
    unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// The number of an enumerant.
macro_rules! number {
    ($value:expr) => {
        $value.as_raw() as u32
    };
}
pub(super) use number;
