//! Decides on per-sample shading, and moves the affected inputs, by the table of [`dovetail_ir::sample_shading`].
//!
//! | required by | the shader |
//! |---|---|
//! | the shader itself, or the known state | reads at the sample; `per_sample` |
//! | nothing, or possibly an unknown state | reads in the pixel; `per_pixel` if per-sample code would differ |

use super::context::PassContext;
use dovetail_base::error::Result;
use dovetail_ir::Shader;
use dovetail_ir::sample_shading::{FragmentRead, SampleEffect, move_to_sample};
use dovetail_state::ColorState;

/// Decides, and moves the inputs.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    let Some(interface) = cx.interface.kind.fragment_mut() else { return Ok(()) };
    let has = |effect| shader.live_insts().filter_map(|i| FragmentRead::of(&i.op)).any(|r| r.effect() == effect);
    let known = &cx.request.known;
    let asked = known.sample_shading.get() == Some(&true) || known.colors.get().is_some_and(ColorState::shades_samples);
    let per_sample = asked || shader.modes.per_sample || has(SampleEffect::Asks);
    interface.per_sample = per_sample;
    interface.per_pixel = !per_sample && has(SampleEffect::Code);
    shader.modes.per_sample = per_sample;
    if per_sample {
        shader.insts.iter_mut().for_each(|inst| move_to_sample(&mut inst.op));
    }
    Ok(())
}
