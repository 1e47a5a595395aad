//! Code in waves of 32 lanes, in place of 64, for what a wave of 64 has not enough scratch memory for: where the shader
//! cannot tell.

use crate::everywhere::{run, storage};
use crate::support::{glsl, without};
use dovetail::compile::request::Module;
use dovetail::emu::inputs::Inputs;

/// Words of an array that takes more than 1/64 and less than 1/32 of the scratch memory of a wave.
const WORDS: u32 = 40_000;

fn module(test: &str, extension: &str, value: &str) -> Option<Module> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("narrow.comp");
    let text = format!(
        "#version 460
        {extension}
        layout(local_size_x = 64) in;
        layout(binding = 0) buffer Words {{ uint w[64]; }};
        void main() {{
            uint i = gl_LocalInvocationID.x, a[{WORDS}];
            for (uint n = 0u; n < 8u; n++) a[w[i] + n * 4999u] = {value} * n;
            w[i] = a[w[i] + (i & 7u) * 4999u];
        }}\n"
    );
    std::fs::write(&file, text).expect("a file");
    Some(Module::new(glsl(test, &file, "vulkan1.3")?).expect("a module"))
}

#[test]
fn what_waves_of_64_have_no_memory_for_runs_in_waves_of_32() {
    let test = "what_waves_of_64_have_no_memory_for_runs_in_waves_of_32";
    let bytes = (0..64u32).flat_map(|lane| (3 * lane).to_le_bytes()).collect();
    let inputs = Inputs { grid: [1; 3], bindings: vec![storage(0, bytes)], ..Inputs::default() };
    let Some(plain) = module(test, "", "(i + 1u)") else { return without(test, "no compiler of GLSL") };
    for left in run(&plain, &inputs).expect("code") {
        let words: Vec<u32> = left.bindings[0].as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        let wanted: Vec<u32> = (0..64).map(|lane| (lane + 1) * (lane & 7)).collect();
        assert_eq!(words, wanted, "{}, {} lanes asked for", left.way, left.lanes);
    }
    let extension = "#extension GL_KHR_shader_subgroup_basic : require";
    let Some(telling) = module(test, extension, "gl_SubgroupSize") else { return };
    let why = run(&telling, &inputs).err().expect("no code in waves of 64");
    assert!(why.contains("scratch memory"), "{why}");
}
