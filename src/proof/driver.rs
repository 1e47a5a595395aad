//! A Vulkan driver as the judge: SPIR-V on [`Inputs`] to every byte that it left. The tests implement it with lavapipe.

use crate::emu::inputs::Inputs;
use crate::state::VertexInputState;

/// One shader of a run, as Vulkan takes it.
#[derive(Clone, Copy, Debug)]
pub struct Spirv<'a> {
    /// SPIR-V.
    pub module: &'a [u8],
    /// Entry point.
    pub entry: &'a str,
    /// Specialization: id, value, and bytes of its type.
    pub spec: &'a [(u32, u64, usize)],
}

/// What a run left behind.
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

/// An implementation of Vulkan that was not made from the same idea of SPIR-V as ours.
pub trait Judge {
    /// Dispatches a compute shader.
    ///
    /// # Errors
    /// Why it cannot: a capability that it lacks, or a call that it refuses.
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

    /// Lanes of a subgroup.
    fn subgroup_size(&self) -> u32;

    /// What a module asks for that this implementation says it does not have, and runs all the same. What it answers then may be
    /// right, but proves nobody wrong.
    fn lacks(&self, _: &Spirv<'_>) -> Option<String> {
        None
    }
}

/// Nobody: refuses whatever it is asked, so that the interpreter has the only say.
#[derive(Clone, Debug)]
pub struct Absent {
    /// Why there is no driver.
    pub why: String,
    /// Lanes of its subgroup, were it there.
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
