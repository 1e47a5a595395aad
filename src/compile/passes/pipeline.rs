//! Lowers one entry point: turns upper-level IR into lower-level IR and the stage's pre-link metadata.
//!
//! [`PASSES`] is the table of contents. Known pipeline state becomes a constant, unknown state a relocation, an entry
//! argument or a returned value; each pass starts with its table of them. To add a pass: a file, a line here.

use super::context::{PassContext, place_of};
use super::{
    early_exit, entry, keep_iterations, legalize_memory, limits, lower_arithmetic, lower_atomics, lower_barriers,
    lower_builtins, lower_derivatives, lower_descriptors, lower_dot, lower_helpers, lower_images, lower_inputs,
    lower_outputs, lower_push_constants, lower_subgroup, lower_waterfalls, lower_ycbcr, multiview, partner,
    sample_shading, share_locals, summarize,
};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::{FamilyFacts, WaveSize};
use dovetail_compile::request::StageRequest;
use dovetail_ir::verify::{verify, verify_between};
use dovetail_ir::watch::{Made, Unwatched, Watch};
use dovetail_ir::{Shader, ShaderLevel};
use dovetail_metadata::interface::StageInterface;
use dovetail_opt::{copies, dce, fold};
use std::ops::Deref;

/// A shader for a code generator. Only [`lower`] makes it, and only from a shader that satisfies every rule of the lower
/// level.
#[derive(Clone, Debug)]
pub struct LoweredShader(Shader);

impl LoweredShader {
    /// Lower-level IR, to change.
    pub fn into_inner(self) -> Shader {
        self.0
    }
}

impl Deref for LoweredShader {
    type Target = Shader;
    fn deref(&self) -> &Shader {
        &self.0
    }
}

/// A lowered shader with its pre-link metadata.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Lower-level IR.
    pub shader: LoweredShader,
    /// Pre-link metadata.
    pub interface: StageInterface,
}

/// A pass.
#[derive(Clone, Copy)]
pub enum Pass {
    /// It uses only the shader.
    Plain(fn(&mut Shader, WaveSize) -> Result<()>),
    /// It uses the numbers of the GPU.
    Gpu(fn(&mut Shader, &FamilyFacts) -> Result<()>),
    /// It uses the known state, and records information for the linker.
    Known(fn(&mut Shader, &mut PassContext<'_>) -> Result<()>),
}

impl Pass {
    /// Runs the pass. The passes before it in [`PASSES`] on which it depends must have run.
    ///
    /// # Errors
    /// See [`lower`].
    pub fn run(self, shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
        match self {
            Self::Plain(run) => run(shader, cx.request.wave),
            Self::Gpu(run) => run(shader, cx.request.target.facts()),
            Self::Known(run) => run(shader, cx),
        }
    }
}

/// Every pass, in order.
pub const PASSES: &[(&str, Pass)] = &[
    ("keep_iterations", Pass::Plain(keep_iterations::run)),
    ("partner", Pass::Known(partner::run)),
    ("fold", Pass::Plain(fold::run)),
    ("copies", Pass::Plain(copies::run)),
    ("dce", Pass::Plain(dce::run)),
    ("share_locals", Pass::Plain(share_locals::run)),
    ("lower_ycbcr", Pass::Known(lower_ycbcr::run)),
    ("lower_images", Pass::Plain(lower_images::run)),
    ("lower_subgroup", Pass::Plain(lower_subgroup::run)),
    ("multiview", Pass::Known(multiview::run)),
    ("sample_shading", Pass::Known(sample_shading::run)),
    ("entry", Pass::Known(entry::run)),
    ("lower_descriptors", Pass::Known(lower_descriptors::run)),
    ("lower_push_constants", Pass::Known(lower_push_constants::run)),
    ("lower_builtins", Pass::Known(lower_builtins::run)),
    ("lower_inputs", Pass::Known(lower_inputs::run)),
    ("lower_derivatives", Pass::Plain(lower_derivatives::run)),
    ("lower_outputs", Pass::Known(lower_outputs::run)),
    ("lower_barriers", Pass::Plain(lower_barriers::run)),
    ("lower_helpers", Pass::Gpu(lower_helpers::run)),
    ("early_exit", Pass::Plain(early_exit::run)),
    ("lower_waterfalls", Pass::Plain(lower_waterfalls::run)),
    ("lower_atomics", Pass::Gpu(lower_atomics::run)),
    ("legalize_memory", Pass::Plain(legalize_memory::run)),
    ("lower_dot", Pass::Known(lower_dot::run)),
    ("lower_arithmetic", Pass::Plain(lower_arithmetic::run)),
    ("fold_lower", Pass::Plain(fold::run)),
    ("dce_lower", Pass::Plain(dce::run)),
    ("limits", Pass::Plain(limits::run)),
    ("summarize", Pass::Known(summarize::run)),
];

/// Lowers one entry point.
///
/// # Errors
/// Unsupported built-ins and interfaces by name, `NeedsFullCompile` if registers cannot pass the values between parts,
/// malformed known state, bugs that the verifier finds.
pub fn lower(shader: Shader, request: &StageRequest) -> Result<Lowered> {
    lower_watched(shader, request, &mut Unwatched)
}

/// [`lower`] with an observer that sees the shader after each pass.
///
/// # Errors
/// See [`lower`]; the observer's own.
pub fn lower_watched(mut shader: Shader, request: &StageRequest, watch: &mut dyn Watch) -> Result<Lowered> {
    if shader.level != ShaderLevel::Upper || shader.stage != request.stage {
        return Err(Error::bug(format!("{} is not an upper-level {} shader", shader.name, request.stage)));
    }
    let mut cx = PassContext::new(request).at(|| "known resource layout")?;
    // The linker checks this for all declarations, read or not, and could only request the same compile again.
    if let Some(layout) = &cx.layout {
        shader.resources.iter().try_for_each(|r| place_of(layout, r).map(|_| ()))?;
    }
    if cfg!(debug_assertions) {
        verify(&shader).at(|| "before lowering")?;
    }
    for (name, pass) in PASSES {
        // The pass says where a bug is; of the input it says nothing.
        pass.run(&mut shader, &mut cx).map_err(|e| if e.is_bug() { e.at(*name) } else { e })?;
        watch.done(name, Made::Shader(&shader))?;
        if cfg!(debug_assertions) {
            verify_between(&shader).at(|| format!("after {name}"))?;
        }
    }
    verify(&shader).at(|| "after lowering")?;
    watch.done("lower", Made::Shader(&shader))?;
    Ok(Lowered { shader: LoweredShader(shader), interface: cx.interface })
}
