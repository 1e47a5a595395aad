//! A small version of the picture in the README: the same shaders, states and generator, with linked and whole
//! pipelines on the emulator, and on lavapipe.

#[path = "../../testdata/picture/geometry.rs"]
mod geometry;
#[path = "../../testdata/picture/scene.rs"]
mod shown;

use crate::chosen::ChosenCompiler;
use crate::scene::{Arrangement, Scene};
use crate::support;
use crate::support::{glsl, root};
use crate::vulkan::Lavapipe;
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::request::GeneratorKind;
use dovetail::emu::inputs::Inputs;
use dovetail::emu::{self, RunLimits};
use dovetail::state::PipelineState;
use dovetail::target::Gpu;
use dovetail::toolchain::Toolchain;
use std::collections::BTreeSet;

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

/// GPUs whose code differs: one of each instruction set.
const DIFFERENT: [Gpu; 9] = [
    Gpu::Gfx1010,
    Gpu::Gfx1011,
    Gpu::Gfx1013,
    Gpu::Gfx1030,
    Gpu::Gfx1100,
    Gpu::Gfx1102,
    Gpu::Gfx1150,
    Gpu::Gfx1151,
    Gpu::Gfx1200,
];

#[test]
fn different_gpus_draw_the_same_picture() {
    if ChosenCompiler::new().generator() != GeneratorKind::Native {
        return;
    }
    let Some(mut knot) = scene("picture::different_gpus_draw_the_same_picture", "knot", shown::knot(SIZE, 1)) else {
        return;
    };
    knot.take_colors_from_draw();
    knot.state.raster.primitive = knot.inputs.draw.as_ref().expect("a draw").topology.kind();
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    let mut code = BTreeSet::new();
    let pictures: Vec<(Gpu, String, Vec<Vec<u8>>)> = DIFFERENT
        .into_iter()
        .flat_map(|gpu| knot.pipelines_for(gpu, &tools, &[Arrangement::SMALL]).into_iter().map(move |made| (gpu, made)))
        .map(|(gpu, (route, _, elf))| {
            let ran = emu::run(&elf, &knot.state.layout, &knot.inputs, RunLimits::default());
            let targets = ran.unwrap_or_else(|e| panic!("{gpu}, {route}: {e}")).targets.expect("targets");
            code.insert(elf);
            (gpu, route, targets.colors.into_iter().map(|color| color.data).collect())
        })
        .collect();
    assert_eq!(code.len(), 2 * DIFFERENT.len(), "two GPUs have the same files");
    let (_, _, first) = &pictures[0];
    assert!(first[0].chunks(4).collect::<BTreeSet<_>>().len() > 100, "nothing to see");
    for (gpu, route, picture) in &pictures {
        assert!(picture == first, "{gpu}, {route}: another picture than {}'s", pictures[0].0);
    }
}
