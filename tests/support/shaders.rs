//! Shaders of `testdata/shaders`, compiled to SPIR-V for a test.

use crate::support::{root, tool};
use std::path::{Path, PathBuf};

/// SPIR-V of one GLSL file of `testdata/shaders`. `None` if glslangValidator is missing; the skip is recorded.
pub fn spirv(test: &str, dir: &Path, name: &str) -> Option<PathBuf> {
    let glslang = tool(test, "glslangValidator")?;
    let out = dir.join(format!("{name}.spv"));
    let source = root().join("testdata/shaders").join(name);
    let (source, target) = (source.to_string_lossy(), out.to_string_lossy());
    glslang.run(&["-V", "--target-env", "vulkan1.1", "--quiet", &source, "-o", &target], b"");
    Some(out)
}

/// Inputs for the pipeline of `ui.vert` and `ui.frag`: a triangle that covers 4 by 4 pixels, in the colour of its
/// texture.
#[allow(dead_code, reason = "not every program of tests runs it")]
pub const UI_INPUTS: &str = r#"
    push_constants = { f32 = [1.0, 1.0, 0.0, 0.0] }
    bindings = [{ set = 0, binding = 0, bound = { combined_image_sampler = [
        { format = "R8G8B8A8_UNORM", extent = [1, 1, 1], data = { hex = "ff8000ff" } }, {} ] } }]
    [draw]
    vertices = 3
    extent = [4, 4]
    targets = [{ location = 0, format = "R8G8B8A8_UNORM" }]
    vertex_buffers = [
        { binding = 0, stride = 8, data = { f32 = [-1.0, -1.0, 3.0, -1.0, -1.0, 3.0] } },
        { binding = 1, stride = 8, data = { zeros = 24 } },
        { binding = 2, stride = 16, data = { f32 = [1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 0.5, 1.0] } },
    ]
"#;
