//! Reads the shader stages of pipelines: module, entry point, specialization.

use super::next::{chain, find};
use super::reader::{Reader, list, text};
use ash::vk;
use ash::vk::Handle;
use dovetail_capture::{MapEntry, ShaderStage, Specialization, base64_text};

/// # Safety
/// The info is valid.
pub(super) unsafe fn stage(reader: &Reader<'_>, given: &vk::PipelineShaderStageCreateInfo<'_>) -> ShaderStage {
    // SAFETY: a valid info has valid members and chains; without a module handle, the chain may have one.
    unsafe {
        let inline =
            || find::<vk::ShaderModuleCreateInfo<'_>>(given.p_next, vk::StructureType::SHADER_MODULE_CREATE_INFO);
        let module = if given.module.is_null() {
            inline().map(|info| (reader.module)(words(info))).unwrap_or_default()
        } else {
            reader.handles.modules.of(given.module)
        };
        ShaderStage {
            flags: given.flags.as_raw(),
            name: text(given.p_name),
            module,
            stage: given.stage.as_raw(),
            specialization_info: given.p_specialization_info.as_ref().map(|info| specialization(info)),
            p_next: chain(reader, given.p_next),
        }
    }
}

/// The bytes of a module.
///
/// # Safety
/// The info is valid.
pub unsafe fn words<'a>(given: &vk::ShaderModuleCreateInfo<'a>) -> &'a [u8] {
    if given.p_code.is_null() {
        return &[];
    }
    // SAFETY: a valid info has that many bytes of code.
    unsafe { std::slice::from_raw_parts(given.p_code.cast(), given.code_size) }
}

/// # Safety
/// The info is valid.
unsafe fn specialization(given: &vk::SpecializationInfo<'_>) -> Specialization {
    let data = match given.data_size {
        0 => &[],
        // SAFETY: a valid info has that many bytes of data.
        size => unsafe { std::slice::from_raw_parts(given.p_data.cast::<u8>(), size) },
    };
    let entry = |given: &vk::SpecializationMapEntry| MapEntry {
        offset: given.offset,
        size: given.size as u64,
        constant_id: given.constant_id,
    };
    Specialization {
        data_size: given.data_size as u64,
        data: base64_text(data),
        // SAFETY: a valid info has that many entries.
        map_entries: unsafe { list(given.p_map_entries, given.map_entry_count) }.iter().map(entry).collect(),
    }
}
