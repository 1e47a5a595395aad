//! The format table against Vulkan's registry, from which `ash` is generated.

use dovetail::state::VkFormat;

#[test]
fn numbers_are_vulkans() {
    for (format, name) in VkFormat::all() {
        let theirs = format!("{:?}", ash::vk::Format::from_raw(format.0 as i32));
        // `ash` keeps the suffix that a name had in an extension.
        assert_eq!(theirs.trim_end_matches("_KHR"), name, "{}", format.0);
    }
    assert_eq!(VkFormat::all().count(), 185 + 38 + 4, "core, planes and Y'CBCR, later");
}
