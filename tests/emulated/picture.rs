//! A small version of the picture in the README: the same shaders, states and generator, with linked and whole
//! pipelines on the emulator, and on lavapipe.

#[path = "../../testdata/picture/geometry.rs"]
mod geometry;
#[path = "../../testdata/picture/scene.rs"]
mod shown;

use crate::scene::Scene;
use crate::support;
use crate::support::{glsl, root};
use crate::vulkan::Lavapipe;
use dovetail::emu::inputs::Inputs;
use dovetail::state::PipelineState;

const SIZE: u32 = 64;

fn scene(test: &str, name: &str, inputs: Inputs) -> Option<Scene> {
    let path = root().join("testdata/picture").join(name);
    let stage = |extension| glsl(test, &path.with_extension(extension), "vulkan1.1");
    let text = std::fs::read_to_string(path.with_extension("toml")).expect("a state");
    let state: PipelineState = toml::from_str(&text).expect("a state");
    Some(Scene { vertex: stage("vert")?, fragment: stage("frag")?, state, inputs })
}

#[test]
fn the_picture_is_lavapipes() {
    let test = "picture::the_picture_is_lavapipes";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let Some(mut knot) = scene(test, "knot", shown::knot(SIZE, 1)) else { return };
    // At the outline a pixel may belong to the knot or to the floor; this is a small share of the edges.
    knot.judge(vulkan, "knot", 40, Some(4.0 / 255.0));
    let noise = (0..SIZE * SIZE * 4).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let Some(mut half) = scene(test, "half", shown::half(SIZE, noise)) else { return };
    half.judge(vulkan, "half", 0, Some(4.0 / 255.0));
}
