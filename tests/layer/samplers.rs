//! Draws whose samplers have the flags and structures with which real programs make theirs.

use crate::easel::{App, COLOR, SIZE, case};
use crate::shadow::{number, read, replay};
use crate::{APPLICATION, Scenery};
use ash::vk;
use dovetail::emu::inputs::{Border, Bound, Sampler};
use dovetail::proof::Bundle;
use std::collections::BTreeMap;

/// The application of these samplers.
pub const SAMPLERS: &str = "samplers";

/// The number of the first case.
const FIRST: u32 = 300;
/// The border of the third case, and its words.
const BORDER: [f32; 4] = [0.25, 1.0, 0.5, 0.75];

/// # Safety
/// The device is alive, handles are this application's, and structures outlive their calls.
impl App {
    /// # Safety
    /// As above.
    pub unsafe fn samplers(&mut self) {
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
            let texture = self.image(COLOR, SIZE, vk::SampleCountFlags::TYPE_1, usage | vk::ImageUsageFlags::SAMPLED);
            let drawn = self.pipeline(&case(FIRST - 1));
            self.render(FIRST - 1, texture, None, |app, commands| {
                app.bind(commands, drawn);
                app.device.cmd_draw(commands, 9, 2, 4, 0);
            });
            let plain = || {
                let linear = vk::SamplerCreateInfo::default();
                let linear = linear.mag_filter(vk::Filter::LINEAR).min_filter(vk::Filter::LINEAR);
                linear.address_mode_u(vk::SamplerAddressMode::CLAMP_TO_BORDER)
            };
            let color = vk::ClearColorValue { float32: BORDER };
            let mut border = vk::SamplerCustomBorderColorCreateInfoEXT::default().custom_border_color(color);
            let reduced = |mode| vk::SamplerReductionModeCreateInfo::default().reduction_mode(mode);
            let mut mean = reduced(vk::SamplerReductionMode::WEIGHTED_AVERAGE);
            let mut least = reduced(vk::SamplerReductionMode::MIN);
            let infos = [
                plain().flags(vk::SamplerCreateFlags::NON_SEAMLESS_CUBE_MAP_EXT),
                plain().anisotropy_enable(true).max_anisotropy(1.0),
                plain().border_color(vk::BorderColor::FLOAT_CUSTOM_EXT).push_next(&mut border),
                plain().push_next(&mut mean),
                plain().anisotropy_enable(true).max_anisotropy(8.0),
                plain().push_next(&mut least),
            ];
            let usual = self.set;
            for (number, info) in (FIRST..).zip(&infos) {
                let sampler = device.create_sampler(info, None).expect("vkCreateSampler");
                // Only many texels have a footprint that is not square, and only few a wide border.
                let many = info.anisotropy_enable == vk::TRUE;
                self.set = self.set_of(if many { texture.view } else { self.picture }, sampler);
                let (pipeline, color) = (self.pipeline(&case(number)), self.color());
                self.render(number, color, None, |app, commands| {
                    app.bind(commands, pipeline);
                    app.device.cmd_draw(commands, 6, 1, 4, 0);
                });
            }
            self.set = usual;
        }
    }
}

fn sampler(bundle: &mut Bundle) -> &mut Sampler {
    match &mut bundle.inputs.bindings[1].bound {
        Bound::CombinedImageSampler(_, sampler) => sampler,
        other => panic!("{other:?}"),
    }
}

#[test]
fn samplers_of_real_programs_are_saved_and_agree() {
    const NAME: &str = "samplers_of_real_programs_are_saved_and_agree";
    let Some(stage) = Scenery::set(NAME) else { return };
    let plain = stage.run(&[(APPLICATION, SAMPLERS)]);
    assert!(plain.1);
    assert_eq!(stage.layered(&[(APPLICATION, SAMPLERS), ("DOVETAIL_LAYER_SHADOW", "shadow")]), plain);
    let (summary, paths) = read(&stage.path("shadow"));
    // Only the least of texels is left.
    assert_eq!(summary["draws"]["reasons"], serde_json::json!({ "unsupported sampler": 1 }), "{summary}");
    let mut seen = BTreeMap::new();
    for path in &paths {
        let mut bundle = Bundle::load(path).expect("a bundle");
        let case = number(&bundle);
        let (code, says) = replay(path);
        assert!(code == Some(0) && !says.contains("proves nothing"), "{case}: {code:?} {says}");
        if case < u64::from(FIRST) {
            continue;
        }
        let given = *sampler(&mut bundle);
        seen.insert(case - u64::from(FIRST), (given.non_seamless, given.anisotropy > 1.0, given.border));
        if given.border == Border::Custom(BORDER) {
            // Another border is seen.
            sampler(&mut bundle).border = Border::OpaqueBlack;
            let wrong = bundle.save(&stage.path("wrong")).expect("a bundle");
            let (code, says) = replay(&wrong);
            assert!(code == Some(6) && says.contains("differs"), "{case}: {code:?} {says}");
        }
    }
    let none = Border::TransparentBlack;
    let expected = [
        (true, false, none),
        (false, false, none),
        (false, false, Border::Custom(BORDER)),
        (false, false, none),
        (false, true, none),
    ];
    assert_eq!(seen.into_values().collect::<Vec<_>>(), expected);
}
