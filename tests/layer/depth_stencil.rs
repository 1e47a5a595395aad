//! Draws to depth and stencil attachments of each format, and draws that sample them.

use crate::easel::{App, Case, SIZE, Shaders, case, tested};
use crate::shadow::{number, read, replay, spoil};
use crate::{APPLICATION, Scenery};
use ash::vk;
use dovetail::emu::inputs::{Bound, Image};
use dovetail::proof::Bundle;
use std::collections::{BTreeMap, BTreeSet};

/// The application of these formats.
pub const DEPTHS: &str = "depths";

/// Format, and the formats in which bundles have its depth and its stencil.
const FORMATS: [(vk::Format, Option<&str>, bool); 5] = [
    (vk::Format::D24_UNORM_S8_UINT, Some("X8_D24_UNORM_PACK32"), true),
    (vk::Format::D32_SFLOAT_S8_UINT, Some("D32_SFLOAT"), true),
    (vk::Format::X8_D24_UNORM_PACK32, Some("X8_D24_UNORM_PACK32"), false),
    (vk::Format::D16_UNORM, Some("D16_UNORM"), false),
    (vk::Format::S8_UINT, None, true),
];

/// The number of a format's first case: the draw to its attachment. The next ones read its depth, compare it, and read
/// its stencil.
fn first(n: usize) -> u32 {
    100 + 10 * n as u32
}

/// # Safety
/// The device is alive, handles are this application's, and structures outlive their calls.
impl App {
    /// # Safety
    /// As above.
    pub unsafe fn depth_stencil(&mut self) {
        use vk::ImageAspectFlags as A;
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            let sampler = |compare| {
                let info = vk::SamplerCreateInfo::default().compare_enable(compare);
                device.create_sampler(&info.compare_op(vk::CompareOp::LESS_OR_EQUAL), None).expect("vkCreateSampler")
            };
            let [plain, compared] = [false, true].map(sampler);
            let usual = self.set;
            for (n, (format, depth, stencil)) in FORMATS.into_iter().enumerate() {
                let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT | vk::ImageUsageFlags::SAMPLED;
                let target = self.image(format, SIZE, vk::SampleCountFlags::TYPE_1, usage);
                let color = self.color();
                let pipeline = self.pipeline(&Case { depth: Some(both()), depth_format: format, ..case(first(n)) });
                self.set = usual;
                self.render_and(vk::AttachmentStoreOp::STORE, first(n), color, Some(target), |app, commands| {
                    app.bind(commands, pipeline);
                    app.device.cmd_draw(commands, 9, 2, 4, 0);
                });
                for (k, aspect, sampler, shaders, there) in [
                    (1, A::DEPTH, plain, Shaders::Usual, depth.is_some()),
                    (2, A::DEPTH, compared, Shaders::Compared, depth.is_some()),
                    (3, A::STENCIL, plain, Shaders::Integers, stencil),
                ] {
                    if there {
                        self.set = self.set_of(self.view(target, aspect), sampler);
                        let (number, color) = (first(n) + k, self.color());
                        let pipeline = self.pipeline(&Case { shaders, ..case(number) });
                        self.render(number, color, None, |app, commands| {
                            app.bind(commands, pipeline);
                            app.device.cmd_draw(commands, 6, 1, 4, 0);
                        });
                    }
                }
            }
        }
    }
}

/// Tests of depth and stencil, with other operations for each face and each result.
fn both() -> vk::PipelineDepthStencilStateCreateInfo<'static> {
    let face = |reference, compare, pass| {
        vk::StencilOpState::default()
            .compare_op(compare)
            .compare_mask(0x5f)
            .write_mask(0xf7)
            .reference(reference)
            .fail_op(vk::StencilOp::DECREMENT_AND_CLAMP)
            .depth_fail_op(vk::StencilOp::INVERT)
            .pass_op(pass)
    };
    tested(vk::CompareOp::LESS)
        .stencil_test_enable(true)
        .front(face(0xc1, vk::CompareOp::EQUAL, vk::StencilOp::INCREMENT_AND_CLAMP))
        .back(face(0x12, vk::CompareOp::NOT_EQUAL, vk::StencilOp::REPLACE))
}

fn picture(bundle: &Bundle) -> &Image {
    match &bundle.inputs.bindings[1].bound {
        Bound::CombinedImageSampler(image, _) => image,
        other => panic!("{other:?}"),
    }
}

#[test]
fn depth_and_stencil_are_attached_and_sampled() {
    const NAME: &str = "depth_and_stencil_are_attached_and_sampled";
    let Some(stage) = Scenery::set(NAME) else { return };
    let plain = stage.run(&[(APPLICATION, DEPTHS)]);
    assert!(plain.1);
    assert_eq!(stage.layered(&[(APPLICATION, DEPTHS), ("DOVETAIL_LAYER_SHADOW", "shadow")]), plain);
    let pictures: BTreeMap<u64, Vec<u8>> = serde_json::from_str(&plain.0).expect("pictures");
    let (summary, paths) = read(&stage.path("shadow"));
    assert_eq!(summary["draws"]["reasons"], serde_json::json!({}), "{summary}");
    let of = |path: &std::path::PathBuf| {
        let bundle = Bundle::load(path).expect("a bundle");
        (number(&bundle), (path.clone(), bundle))
    };
    let bundles: BTreeMap<u64, _> = paths.iter().map(of).collect();
    assert!(bundles.keys().eq(pictures.keys()), "{:?}", bundles.keys());
    let mut differing = Vec::new();
    for (case, (path, bundle)) in &bundles {
        assert_eq!(bundle.expected.targets[0], pictures[case], "{case}");
        let (code, says) = replay(path);
        if code != Some(0) || says.contains("proves nothing") {
            differing.push(format!("{case}: {says}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    for (n, (_, depth, stencil)) in FORMATS.into_iter().enumerate() {
        let base = u64::from(first(n));
        let drawn = &bundles[&base].1;
        for (k, format, there) in
            [(1, depth, depth.is_some()), (2, depth, depth.is_some()), (3, Some("S8_UINT"), stencil)]
        {
            if there {
                let read = picture(&bundles[&(base + k)].1);
                assert_eq!(Some(read.format.as_str()), format, "{base}");
                // What was drawn is what is sampled.
                assert!(k != 3 || read.data.0 == drawn.expected.stencil, "{base}");
            }
        }
        let values: BTreeSet<u8> = drawn.expected.stencil.iter().copied().collect();
        // Both faces pass somewhere, and with a depth test some fragments fail it.
        let found = [0x12, 0x42, 0xb6].map(|value| values.contains(&value));
        assert_eq!(found, [stencil, stencil, stencil && depth.is_some()], "{base}: {values:x?}");
    }
    // A wrong picture is seen.
    for (case, file) in [(first(0) + 1, "depth"), (first(0) + 2, "comparison"), (first(0) + 3, "stencil")] {
        let (path, _) = &bundles[&u64::from(case)];
        spoil(&path.join("expected/target0.bin"));
        let (code, says) = replay(path);
        assert!(code == Some(6) && says.contains("differs"), "{file}: {code:?} {says}");
    }
}
