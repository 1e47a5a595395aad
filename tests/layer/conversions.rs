//! A pipeline whose sampler converts from Y'CBCR, on RADV, which has such samplers and needs no GPU to make pipelines.

use crate::{APPLICATION, Scenery, states};
use ash::vk;
use dovetail::capture::Recording;
use dovetail::state::{ChromaFilter, ChromaLocation, SamplerWords, Swizzle, VkFormat, YcbcrModel, YcbcrRange};
use std::io::Cursor;
use std::path::Path;

/// The test application and its shader.
pub const CONVERSIONS: &str = "conversions";
pub const PLANES: &str = "planes.comp";

/// Creates a compute pipeline.
pub fn run(shader: &[u8]) {
    // SAFETY: the loader's library is trusted to be one; structures outlive their calls, and handles are this function's own.
    unsafe {
        let entry = ash::Entry::load().expect("Vulkan's loader");
        let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let instance = entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&app), None);
        let instance = instance.expect("vkCreateInstance");
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
        let mut v11 = vk::PhysicalDeviceVulkan11Features::default().sampler_ycbcr_conversion(true);
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut v11);
        let device = instance.create_device(physical, &info, None).expect("vkCreateDevice");
        let words = ash::util::read_spv(&mut Cursor::new(shader)).expect("SPIR-V");
        let module = device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words), None);
        let info = vk::SamplerYcbcrConversionCreateInfo::default()
            .format(vk::Format::G8_B8R8_2PLANE_420_UNORM)
            .ycbcr_model(vk::SamplerYcbcrModelConversion::YCBCR_709)
            .ycbcr_range(vk::SamplerYcbcrRange::ITU_NARROW)
            .components(vk::ComponentMapping { a: vk::ComponentSwizzle::ONE, ..vk::ComponentMapping::default() })
            .y_chroma_offset(vk::ChromaLocation::MIDPOINT)
            .chroma_filter(vk::Filter::LINEAR);
        let conversion = device.create_sampler_ycbcr_conversion(&info, None).expect("a conversion");
        let mut conversion = vk::SamplerYcbcrConversionInfo::default().conversion(conversion);
        let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
        let info = vk::SamplerCreateInfo::default()
            .mag_filter(vk::Filter::LINEAR)
            .min_filter(vk::Filter::LINEAR)
            .address_mode_u(edge)
            .address_mode_v(edge)
            .address_mode_w(edge)
            .push_next(&mut conversion);
        let samplers = [device.create_sampler(&info, None).expect("vkCreateSampler")];
        let stages = vk::ShaderStageFlags::COMPUTE;
        let bindings = [
            vk::DescriptorSetLayoutBinding::default()
                .descriptor_type(vk::DescriptorType::COMBINED_IMAGE_SAMPLER)
                .stage_flags(stages)
                .descriptor_count(1)
                .immutable_samplers(&samplers),
            vk::DescriptorSetLayoutBinding::default()
                .binding(1)
                .descriptor_type(vk::DescriptorType::STORAGE_IMAGE)
                .descriptor_count(1)
                .stage_flags(stages),
        ];
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let sets = [device.create_descriptor_set_layout(&info, None).expect("a set layout")];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        let layout = device.create_pipeline_layout(&info, None).expect("vkCreatePipelineLayout");
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(stages)
            .module(module.expect("vkCreateShaderModule"))
            .name(c"main");
        let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
        device.create_compute_pipelines(vk::PipelineCache::null(), &info, None).expect("vkCreateComputePipelines");
        device.destroy_device(None);
        instance.destroy_instance(None);
    }
}

#[test]
fn samplers_that_convert_are_recorded_and_compiled() {
    const NAME: &str = "samplers_that_convert_are_recorded_and_compiled";
    let Some(stage) = Scenery::set(NAME) else { return };
    let radv = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";
    if !Path::new(radv).is_file() {
        return crate::skip(NAME, "no RADV");
    }
    let run = |more: &[(&str, &str)]| {
        let mut given = vec![(APPLICATION, CONVERSIONS), ("VK_ICD_FILENAMES", radv), ("RADV_FORCE_FAMILY", "navi21")];
        given.extend_from_slice(more);
        assert_eq!(stage.layered(&given), ("[]".to_owned(), true));
    };
    run(&[("DOVETAIL_LAYER_DIR", "out")]);
    let [archive] = &stage.archives("out")[..] else { panic!("{:?}", stage.archives("out")) };
    let recording = Recording::open(archive, 1 << 20).expect("an archive");
    let [translated] = &states(&recording)[..] else { panic!("one pipeline") };
    let state = &translated.as_ref().expect("a state").state;
    let [sampler] = &state.layout.sets[0].bindings[0].samplers[..] else { panic!("{:?}", state.layout) };
    // Clamp to edge; linear magnification and minification, nearest level.
    assert_eq!(sampler.words, SamplerWords([0o222, 0, 5 << 20 | 1 << 26, 0]));
    let conversion = sampler.conversion.expect("a conversion");
    assert_eq!(conversion.format, VkFormat::named("G8_B8R8_2PLANE_420_UNORM").expect("a name"));
    assert_eq!((conversion.model, conversion.range), (YcbcrModel::Ycbcr709, YcbcrRange::Narrow));
    assert_eq!(conversion.components, [Swizzle::Identity, Swizzle::Identity, Swizzle::Identity, Swizzle::One]);
    let offsets = (conversion.x_chroma_offset, conversion.y_chroma_offset);
    assert_eq!(offsets, (ChromaLocation::CositedEven, ChromaLocation::Midpoint));
    assert_eq!((conversion.chroma_filter, conversion.explicit_reconstruction), (ChromaFilter::Linear, false));
    // Parts compiled early have no conversion.
    let (summary, _) = stage.populate("out");
    let whole = summary["pipelines"]["whole"].as_object().expect("reasons");
    assert_eq!(whole.values().map(|n| n.as_u64().unwrap_or(0)).sum::<u64>(), 1, "{summary}");
    run(&[("DOVETAIL_LAYER_JSON", "times.json"), ("DOVETAIL_LAYER_CACHE", "cache")]);
    let times = std::fs::read(stage.path("times.json")).expect("a report");
    let times: serde_json::Value = serde_json::from_slice(&times).expect("JSON");
    let [row] = &times["made"].as_array().expect("pipelines")[..] else { panic!("{times}") };
    assert_eq!(row["result"], "whole", "{times}");
    assert!(row["why"].as_str().is_some_and(|why| why.contains("converts from Y'CBCR")), "{times}");
}
