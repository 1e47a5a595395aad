//! Tables of hooks: which function of the application's each one replaces.

use ash::vk;
use std::ffi::CStr;

/// Returns a hook, with its type erased.
pub type Hook = fn() -> vk::PFN_vkVoidFunction;

/// A hook, and the names of the functions that it replaces.
pub type Row = (&'static [&'static CStr], Hook);

/// A [`Hook`] with its type erased, as Vulkan does.
macro_rules! hook {
    ($hook:path: $ty:ty) => {
        // SAFETY: the caller calls it as the function that its name denotes, which has this type.
        || Some(unsafe { std::mem::transmute::<$ty, unsafe extern "system" fn()>($hook) })
    };
}

/// The hooks of a module, named like the functions of [`Functions`](crate::functions::Functions) that they replace.
macro_rules! hooks {
    ($($module:tt: $($hook:ident),+;)+) => {
        &[$($((
            $crate::functions::function::$hook::NAMES,
            $crate::hook::hook!($module::$hook: $crate::functions::function::$hook::Type),
        ),)+)+]
    };
}

/// Hooks that look at a call and pass it on.
macro_rules! looks {
    ($($hook:ident($first:ident: $ty:ty $(, $arg:ident: $arg_ty:ty)*) |$device:ident| $look:expr;)*) => {$(
        pub(super) unsafe extern "system" fn $hook($first: $ty $(, $arg: $arg_ty)*) {
            // SAFETY: a handle of the caller's; the same arguments go below, and are valid.
            unsafe {
                let Some(device) = $crate::dispatch::device($crate::dispatch::key($first)) else { return };
                let $device = &device;
                $look;
                if let Some(below) = device.functions.$hook {
                    below($first $(, $arg)*);
                }
            }
        }
    )*};
}
pub(crate) use {hook, hooks, looks};
