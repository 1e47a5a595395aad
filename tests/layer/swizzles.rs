//! Draws that sample an image through views with swizzles.

use crate::easel::{App, COLOR, Case, SIZE, Shaders, Target, case, tested};
use crate::shadow::{number, read, replay};
use crate::{APPLICATION, Scenery};
use ash::vk;
use dovetail::emu::inputs::{Bound, Image};
use dovetail::proof::Bundle;
use dovetail::state::Swizzle;
use std::collections::BTreeMap;

/// The application of these views.
pub const SWIZZLES: &str = "swizzles";

/// The number of the first case.
const FIRST: u32 = 200;

/// The swizzles of the cases. The last one but one is of depths, the last one too and is refused.
const CASES: [[Swizzle; 4]; 6] = {
    use Swizzle::{A, B, G, Identity, One, R, Zero};
    [
        [B, G, R, A],
        [R, R, R, One],
        [One, Zero, A, Identity],
        [G, Identity, Identity, Zero],
        [R, Zero, Zero, One],
        [Zero, R, Zero, One],
    ]
};
/// The cases that sample colours.
const COLORS: usize = 4;

/// # Safety
/// The device is alive, handles are this application's, and structures outlive their calls.
impl App {
    /// # Safety
    /// As above.
    pub unsafe fn swizzles(&mut self) {
        use vk::ImageAspectFlags as A;
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
            let usage = usage | vk::ImageUsageFlags::SAMPLED;
            let texture = self.image(COLOR, SIZE, vk::SampleCountFlags::TYPE_1, usage);
            let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
            let depths = self.image(vk::Format::D32_SFLOAT, SIZE, vk::SampleCountFlags::TYPE_1, usage);
            let number = FIRST + CASES.len() as u32;
            let test = Some(tested(vk::CompareOp::LESS));
            let drawn = Case { depth: test, depth_format: vk::Format::D32_SFLOAT, ..case(number) };
            let drawn = self.pipeline(&drawn);
            self.render_and(vk::AttachmentStoreOp::STORE, number, texture, Some(depths), |app, commands| {
                app.bind(commands, drawn);
                app.device.cmd_draw(commands, 9, 2, 4, 0);
            });
            let border = vk::SamplerCreateInfo::default()
                .mag_filter(vk::Filter::LINEAR)
                .address_mode_u(vk::SamplerAddressMode::CLAMP_TO_BORDER)
                .address_mode_v(vk::SamplerAddressMode::CLAMP_TO_BORDER)
                .border_color(vk::BorderColor::FLOAT_OPAQUE_BLACK);
            let compared =
                vk::SamplerCreateInfo::default().compare_enable(true).compare_op(vk::CompareOp::LESS_OR_EQUAL);
            let usual = self.set;
            for (number, (n, swizzle)) in (FIRST..).zip(CASES.into_iter().enumerate()) {
                let color = n < COLORS;
                let (target, aspect) = if color { (texture, A::COLOR) } else { (depths, A::DEPTH) };
                let sampler = device.create_sampler(if color { &border } else { &compared }, None);
                let view = self.swizzled(target, aspect, swizzle);
                self.set = self.set_of(view, sampler.expect("vkCreateSampler"));
                let shaders = if color { Shaders::Usual } else { Shaders::Compared };
                let (pipeline, color) = (self.pipeline(&Case { shaders, ..case(number) }), self.color());
                self.render(number, color, None, |app, commands| {
                    app.bind(commands, pipeline);
                    app.device.cmd_draw(commands, 6, 1, 4, 0);
                });
            }
            self.set = usual;
        }
    }

    /// # Safety
    /// As above.
    unsafe fn swizzled(&self, of: Target, aspect: vk::ImageAspectFlags, swizzle: [Swizzle; 4]) -> vk::ImageView {
        let [r, g, b, a] = swizzle.map(|one| vk::ComponentSwizzle::from_raw(one as i32));
        let info = vk::ImageViewCreateInfo::default()
            .image(of.image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(of.format)
            .components(vk::ComponentMapping { r, g, b, a })
            .subresource_range(vk::ImageSubresourceRange::default().aspect_mask(aspect).level_count(1).layer_count(1));
        // SAFETY: as above.
        unsafe { self.device.create_image_view(&info, None) }.expect("vkCreateImageView")
    }
}

fn picture(bundle: &mut Bundle) -> &mut Image {
    match &mut bundle.inputs.bindings[1].bound {
        Bound::CombinedImageSampler(image, _) => image,
        other => panic!("{other:?}"),
    }
}

#[test]
fn images_are_sampled_through_swizzles() {
    const NAME: &str = "images_are_sampled_through_swizzles";
    let Some(stage) = Scenery::set(NAME) else { return };
    let plain = stage.run(&[(APPLICATION, SWIZZLES)]);
    assert!(plain.1);
    assert_eq!(stage.layered(&[(APPLICATION, SWIZZLES), ("DOVETAIL_LAYER_SHADOW", "shadow")]), plain);
    let pictures: BTreeMap<u64, Vec<u8>> = serde_json::from_str(&plain.0).expect("pictures");
    let (summary, paths) = read(&stage.path("shadow"));
    // What a comparison would compare is not the view's red.
    assert_eq!(summary["draws"]["reasons"], serde_json::json!({ "unsupported image view": 1 }), "{summary}");
    let mut seen = Vec::new();
    for path in &paths {
        let mut bundle = Bundle::load(path).expect("a bundle");
        let case = number(&bundle);
        assert_eq!(bundle.expected.targets[0], pictures[&case], "{case}");
        let (code, says) = replay(path);
        assert!(code == Some(0) && !says.contains("proves nothing"), "{case}: {code:?} {says}");
        let Some(swizzle) = CASES.get((case - u64::from(FIRST)) as usize) else { continue };
        assert_eq!(picture(&mut bundle).swizzle, *swizzle, "{case}");
        seen.push(case);
        // Another swizzle is seen.
        picture(&mut bundle).swizzle = [Swizzle::Zero; 4];
        let wrong = bundle.save(&stage.path("wrong")).expect("a bundle");
        let (code, says) = replay(&wrong);
        assert!(code == Some(6) && says.contains("differs"), "{case}: {code:?} {says}");
    }
    seen.sort_unstable();
    assert_eq!(seen, (u64::from(FIRST)..).take(CASES.len() - 1).collect::<Vec<_>>());
}
