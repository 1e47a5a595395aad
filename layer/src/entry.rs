//! The functions that Vulkan's loader calls: those that look up other functions, and a hook for each intercepted one.
//!
//! Every hook does the same: it finds the next layer's or driver's function, calls it with the application's arguments,
//! and only then looks at the call, where nothing can change the result any more.

use crate::chain::{self, INTERFACE, Negotiate};
use crate::dispatch::{self, Device, Instance, key};
use crate::exit;
use crate::functions::Functions;
use crate::guard::aside;
use crate::handles::{self, Handles};
use crate::hook::{Row, hook, hooks};
use crate::late;
use crate::read::{self, Reader};
use crate::session::{self, Session};
use crate::shadow;
use crate::shadow::hooks::{render_passes, repeats, secondary};
use ash::vk;
use ash::vk::Handle;
use dovetail_capture::{DefinitionSource, Hash, foz::payload};
use std::ffi::{CStr, c_char};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first function that the loader calls.
///
/// # Safety
/// The loader calls it with a structure of the stated type.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vkNegotiateLoaderLayerInterfaceVersion(negotiate: *mut Negotiate) -> vk::Result {
    // SAFETY: null, or the loader's structure.
    let Some(negotiate) = (unsafe { negotiate.as_mut() }) else { return vk::Result::ERROR_INITIALIZATION_FAILED };
    if negotiate.version < INTERFACE {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    }
    negotiate.version = INTERFACE;
    negotiate.get_instance_proc = Some(get_instance_proc);
    negotiate.get_device_proc = Some(get_device_proc);
    negotiate.get_physical_device_proc = std::ptr::null();
    vk::Result::SUCCESS
}

/// Functions that create or look up instances and devices.
static CHAIN: &[Row] = &[
    (&[c"vkGetInstanceProcAddr"], hook!(get_instance_proc: vk::PFN_vkGetInstanceProcAddr)),
    (&[c"vkGetDeviceProcAddr"], hook!(get_device_proc: vk::PFN_vkGetDeviceProcAddr)),
    (&[c"vkCreateInstance"], hook!(create_instance: vk::PFN_vkCreateInstance)),
    (&[c"vkDestroyInstance"], hook!(destroy_instance: vk::PFN_vkDestroyInstance)),
    (&[c"vkCreateDevice"], hook!(create_device: vk::PFN_vkCreateDevice)),
];

static HOOKS: &[Row] = hooks! {
    self:
        destroy_device,
        create_sampler,
        destroy_sampler,
        create_conversion,
        destroy_conversion,
        create_set_layout,
        destroy_set_layout,
        create_pipeline_layout,
        destroy_pipeline_layout,
        create_render_pass,
        create_render_pass2,
        destroy_render_pass,
        create_shader_module,
        destroy_shader_module,
        create_graphics_pipelines,
        create_compute_pipelines,
        destroy_pipeline;
};

fn find_hook(name: &CStr) -> vk::PFN_vkVoidFunction {
    let found = CHAIN.iter().chain(HOOKS).find(|(names, _)| names.contains(&name));
    found.map_or_else(|| shadow::hooks::find(name).or_else(|| late::find(name)), |(_, hook)| hook())
}

unsafe extern "system" fn get_instance_proc(instance: vk::Instance, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: Vulkan's callers pass a name that ends with a zero.
    let text = unsafe { CStr::from_ptr(name) };
    // The loader looks up the first function with an instance that is not created yet.
    if instance.is_null() || text == c"vkCreateInstance" {
        return find_hook(text);
    }
    // SAFETY: the caller's instance.
    let below = dispatch::instance(unsafe { key(instance) })?;
    // SAFETY: passes the same arguments to the next layer or driver.
    let theirs = unsafe { (below.get_proc)(instance, name) };
    // A function that is missing below is missing here too.
    theirs.and_then(|theirs| find_hook(text).or(Some(theirs)))
}

unsafe extern "system" fn get_device_proc(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: a device of the caller's.
    let below = dispatch::device(unsafe { key(device) })?;
    // SAFETY: the same arguments, to what is below; the name ends with a zero.
    unsafe {
        let theirs = (below.get_proc)(device, name)?;
        let name = CStr::from_ptr(name);
        find_hook(name).or_else(|| {
            repeats::unseen(&below, name);
            Some(theirs)
        })
    }
}

unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    made: *mut vk::Instance,
) -> vk::Result {
    const FAILED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;
    // SAFETY: the loader's info, whose chain has our link; functions with Vulkan's names have their types.
    unsafe {
        let Some(link) = info.as_ref().and_then(|info| chain::instance_link(info)) else { return FAILED };
        let Some(get_proc) = link.get_instance_proc else { return FAILED };
        let Some(create) = get_proc(vk::Instance::null(), c"vkCreateInstance".as_ptr()) else { return FAILED };
        let create = std::mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkCreateInstance>(create);
        let result = create(info, allocator, made);
        if result != vk::Result::SUCCESS {
            return result;
        }
        let handle = *made;
        let destroy = get_proc(handle, c"vkDestroyInstance".as_ptr());
        let destroy = destroy.map(|f| std::mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkDestroyInstance>(f));
        dispatch::add_instance(key(handle), Instance { get_proc, handle, destroy });
        aside(|| {
            exit::at_exit();
            application((*info).p_application_info);
        });
        result
    }
}

/// Records the application's own name and versions.
///
/// # Safety
/// The info is null or valid.
unsafe fn application(info: *const vk::ApplicationInfo<'_>) {
    // SAFETY: as the caller says.
    let Some(info) = (unsafe { info.as_ref() }) else { return };
    let text = |name: *const c_char| match name.is_null() {
        true => String::new(),
        // SAFETY: names in a valid info end with a zero.
        false => unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned(),
    };
    let versions = [info.application_version, info.engine_version, info.api_version];
    let named = payload::application(&text(info.p_application_name), &text(info.p_engine_name), versions);
    if let (Some(recorder), Ok(payload)) = (session::get().and_then(|session| session.recorder.as_ref()), named) {
        recorder.put(crate::recorder::Item::Application(Hash::of(&payload), payload));
    }
}

unsafe extern "system" fn destroy_instance(instance: vk::Instance, allocator: *const vk::AllocationCallbacks<'_>) {
    if instance.is_null() {
        return;
    }
    // SAFETY: the caller's instance, which is destroyed here.
    unsafe {
        let below = dispatch::remove_instance(key(instance));
        aside(session::flush);
        if let Some(destroy) = below.and_then(|below| below.destroy) {
            destroy(instance, allocator);
        }
    }
}

unsafe extern "system" fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    made: *mut vk::Device,
) -> vk::Result {
    const FAILED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;
    // SAFETY: the loader's info, whose chain has our link; functions with Vulkan's names have their types.
    unsafe {
        let Some(instance) = dispatch::instance(key(physical)) else { return FAILED };
        let Some(link) = info.as_ref().and_then(|info| chain::device_link(info)) else { return FAILED };
        let (Some(get_proc), Some(get_device_proc)) = (link.get_instance_proc, link.get_device_proc) else {
            return FAILED;
        };
        let Some(create) = get_proc(instance.handle, c"vkCreateDevice".as_ptr()) else { return FAILED };
        let create = std::mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkCreateDevice>(create);
        let result = create(physical, info, allocator, made);
        if result == vk::Result::SUCCESS {
            let device = *made;
            let functions = Functions::load(&|name| get_device_proc(device, name.as_ptr()));
            let shadow = shadow::hooks::tracker(&instance, physical, device, functions);
            dispatch::add_device(key(device), Device::new(get_device_proc, functions, shadow));
        }
        result
    }
}

unsafe extern "system" fn destroy_device(device: vk::Device, allocator: *const vk::AllocationCallbacks<'_>) {
    if device.is_null() {
        return;
    }
    // SAFETY: the caller's device, which is destroyed here.
    unsafe {
        let below = dispatch::remove_device(key(device));
        below.iter().for_each(|below| shadow::hooks::close(below));
        aside(session::flush);
        if let Some(destroy) = below.and_then(|below| below.functions.destroy_device) {
            destroy(device, allocator);
        }
    }
}

/// Calls `work` with a reader that knows a device's handles.
fn reading<T>(device: &Device, session: &Session, work: impl FnOnce(&Reader<'_>) -> T) -> T {
    device.with(|handles| {
        work(&Reader {
            handles,
            module: &|code| session.module(code),
            render_pass: &|name| DefinitionSource::render_pass(session, name).ok(),
        })
    })
}

/// Reads the definition of a created object, and remembers the object's handle under the resulting name.
fn look<H: Handle, T>(
    device: &Arc<Device>,
    handle: H,
    kind: handles::Kind,
    read: impl FnOnce(&Reader<'_>) -> T,
    name: impl FnOnce(&Session, T) -> Hash,
) {
    aside(|| {
        let Some(session) = session::get() else { return };
        let definition = reading(device, session, read);
        let name = name(session, definition);
        device.with(|handles| kind(handles).insert(handle, name));
    });
}

/// A hook of a function that creates one object; the shadow may look at it too.
macro_rules! creates {
    ($hook:ident, $info:ident, $handle:ident, $read:path, $name:ident, $kind:ident $(, $given:path)?) => {
        unsafe extern "system" fn $hook(
            device: vk::Device,
            info: *const vk::$info<'_>,
            allocator: *const vk::AllocationCallbacks<'_>,
            made: *mut vk::$handle,
        ) -> vk::Result {
            // SAFETY: the caller's device; the call passes on the same arguments, which are valid, since it succeeded.
            unsafe {
                let Some((below, create)) = dispatch::below(key(device), |functions| functions.$hook) else {
                    return vk::Result::ERROR_INITIALIZATION_FAILED;
                };
                let result = create(device, info, allocator, made);
                if result == vk::Result::SUCCESS {
                    let read = |reader: &Reader<'_>| $read(reader, &*info);
                    look(&below, *made, |handles: &mut Handles| &mut handles.$kind, read, Session::$name);
                    $(render_passes::made(&below, *made, &$given(&*info));)?
                }
                result
            }
        }
    };
}

unsafe extern "system" fn create_conversion(
    device: vk::Device,
    info: *const vk::SamplerYcbcrConversionCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    made: *mut vk::SamplerYcbcrConversion,
) -> vk::Result {
    // SAFETY: the caller's device; the call passes on the same arguments, which are valid, since it succeeded.
    unsafe {
        let Some((below, create)) = dispatch::below(key(device), |functions| functions.create_conversion) else {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        };
        let result = create(device, info, allocator, made);
        // An extended conversion stays unknown, and so do pipelines that use it.
        if result == vk::Result::SUCCESS && (*info).p_next.is_null() {
            let conversion = read::conversion(&*info);
            aside(|| below.with(|handles| handles.conversions.insert(*made, conversion)));
        }
        result
    }
}

unsafe extern "system" fn destroy_conversion(
    device: vk::Device,
    conversion: vk::SamplerYcbcrConversion,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    // SAFETY: a device of the caller's; the same arguments go below.
    unsafe {
        let Some(below) = dispatch::device(key(device)) else { return };
        aside(|| below.with(|handles| handles.conversions.remove(&conversion)));
        if let Some(destroy) = below.functions.destroy_conversion {
            destroy(device, conversion, allocator);
        }
    }
}

creates!(create_sampler, SamplerCreateInfo, Sampler, read::sampler, sampler, samplers);
creates!(
    create_set_layout,
    DescriptorSetLayoutCreateInfo,
    DescriptorSetLayout,
    read::set_layout,
    set_layout,
    set_layouts
);
creates!(
    create_pipeline_layout,
    PipelineLayoutCreateInfo,
    PipelineLayout,
    read::pipeline_layout,
    pipeline_layout,
    pipeline_layouts
);
creates!(
    create_render_pass,
    RenderPassCreateInfo,
    RenderPass,
    read::render_pass,
    render_pass,
    render_passes,
    render_passes::Given::First
);
creates!(
    create_render_pass2,
    RenderPassCreateInfo2,
    RenderPass,
    read::render_pass2,
    render_pass,
    render_passes,
    render_passes::Given::Second
);
creates!(create_shader_module, ShaderModuleCreateInfo, ShaderModule, code, module, modules);

/// The code of a module, with the signature of the other readers.
///
/// # Safety
/// The info is valid.
unsafe fn code<'a>(_: &Reader<'_>, info: &vk::ShaderModuleCreateInfo<'a>) -> &'a [u8] {
    // SAFETY: as the caller says.
    unsafe { read::words(info) }
}

/// A hook of a function that destroys one object.
macro_rules! destroys {
    ($hook:ident, $handle:ident, $kind:ident $(, $look:path)?) => {
        unsafe extern "system" fn $hook(
            device: vk::Device,
            handle: vk::$handle,
            allocator: *const vk::AllocationCallbacks<'_>,
        ) {
            // SAFETY: the caller's device; the call passes on the same arguments.
            unsafe {
                let Some(below) = dispatch::device(key(device)) else { return };
                aside(|| below.with(|handles| handles::forget(handles, |handles| &mut handles.$kind, handle)));
                $($look(&below, handle);)?
                if let Some(destroy) = below.functions.$hook {
                    destroy(device, handle, allocator);
                }
            }
        }
    };
}

destroys!(destroy_sampler, Sampler, samplers);
destroys!(destroy_set_layout, DescriptorSetLayout, set_layouts);
destroys!(destroy_pipeline_layout, PipelineLayout, pipeline_layouts, secondary::layout_destroyed);
destroys!(destroy_render_pass, RenderPass, render_passes, render_passes::destroyed);
destroys!(destroy_shader_module, ShaderModule, modules);
destroys!(destroy_pipeline, Pipeline, pipelines);

/// A hook of a function that makes several pipelines. The time is shared out evenly: Vulkan tells it of all together.
macro_rules! creates_pipelines {
    ($hook:ident, $info:ident, $read:path, $name:ident) => {
        unsafe extern "system" fn $hook(
            device: vk::Device,
            cache: vk::PipelineCache,
            count: u32,
            infos: *const vk::$info<'_>,
            allocator: *const vk::AllocationCallbacks<'_>,
            made: *mut vk::Pipeline,
        ) -> vk::Result {
            // SAFETY: the caller's device; the call passes on the same arguments, with `count` infos and handles.
            unsafe {
                let Some((below, create)) = dispatch::below(key(device), |functions| functions.$hook) else {
                    return vk::Result::ERROR_INITIALIZATION_FAILED;
                };
                let started = Instant::now();
                let result = create(device, cache, count, infos, allocator, made);
                let each: Duration = started.elapsed() / count.max(1);
                // Some may have been created although others failed.
                for index in 0..count as usize {
                    let handle = *made.add(index);
                    if !handle.is_null() {
                        let read = |reader: &Reader<'_>| $read(reader, &*infos.add(index));
                        let name = |session: &Session, pipeline| session.$name(pipeline, each);
                        look(&below, handle, |handles: &mut Handles| &mut handles.pipelines, read, name);
                    }
                }
                result
            }
        }
    };
}

creates_pipelines!(create_graphics_pipelines, GraphicsPipelineCreateInfo, read::graphics, graphics);
creates_pipelines!(create_compute_pipelines, ComputePipelineCreateInfo, read::compute, compute);
