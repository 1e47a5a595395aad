//! A Vulkan driver as the reference: runs SPIR-V on [`Inputs`] and returns the bytes of all outputs. The tests
//! implement it with lavapipe.

use dovetail_emu::inputs::Inputs;
use dovetail_state::VertexInputState;

/// A shader of a run, as passed to Vulkan.
#[derive(Clone, Copy, Debug)]
pub struct Spirv<'a> {
    /// SPIR-V.
    pub module: &'a [u8],
    /// Entry point.
    pub entry: &'a str,
    /// Specialization: id, value, and size of its type in bytes.
    pub spec: &'a [(u32, u64, usize)],
}

/// Outputs of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Bytes of each binding, in the order of the inputs; empty for samplers.
    pub bindings: Vec<Vec<u8>>,
    /// Texels of each colour attachment, in the order of the draw's targets.
    pub targets: Vec<Vec<u8>>,
    /// Texels of the depth attachment.
    pub depth: Vec<u8>,
    /// Texels of the stencil attachment.
    pub stencil: Vec<u8>,
}

/// A Vulkan implementation whose SPIR-V front end is not this compiler's.
pub trait Judge {
    /// Dispatches a compute shader.
    ///
    /// # Errors
    /// A capability that it lacks, or a call that it rejects.
    fn compute(&self, shader: &Spirv<'_>, inputs: &Inputs) -> Result<Outputs, String>;

    /// Draws offscreen.
    ///
    /// # Errors
    /// As [`Judge::compute`].
    fn draw(
        &self,
        vertex: &Spirv<'_>,
        fragment: Option<&Spirv<'_>>,
        attributes: &VertexInputState,
        inputs: &Inputs,
    ) -> Result<Outputs, String>;

    /// Subgroup size.
    fn subgroup_size(&self) -> u32;

    /// A feature that a module needs and that this implementation does not report, but runs anyway. A result may be
    /// correct, but a difference is no proof of an error.
    fn lacks(&self, _: &Spirv<'_>) -> Option<String> {
        None
    }
}

/// No driver: it rejects every run, so that only the interpreter is the reference.
#[derive(Clone, Debug)]
pub struct Absent {
    /// Why there is no driver.
    pub why: String,
    /// Subgroup size to assume.
    pub lanes: u32,
}

impl Judge for Absent {
    fn compute(&self, _: &Spirv<'_>, _: &Inputs) -> Result<Outputs, String> {
        Err(self.why.clone())
    }

    fn draw(&self, _: &Spirv<'_>, _: Option<&Spirv<'_>>, _: &VertexInputState, _: &Inputs) -> Result<Outputs, String> {
        Err(self.why.clone())
    }

    fn subgroup_size(&self) -> u32 {
        self.lanes
    }
}
