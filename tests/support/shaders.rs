//! Shaders of `testdata/shaders`, compiled to SPIR-V for a test.

use crate::support::{root, tool};
use std::path::{Path, PathBuf};

/// SPIR-V of one GLSL file of `testdata/shaders`; none where glslangValidator is missing, and the skip is noted.
pub fn spirv(test: &str, dir: &Path, name: &str) -> Option<PathBuf> {
    let glslang = tool(test, "glslangValidator")?;
    let out = dir.join(format!("{name}.spv"));
    let source = root().join("testdata/shaders").join(name);
    let (source, target) = (source.to_string_lossy(), out.to_string_lossy());
    glslang.run(&["-V", "--target-env", "vulkan1.1", "--quiet", &source, "-o", &target], b"");
    Some(out)
}
