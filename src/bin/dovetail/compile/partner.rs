//! What is known of the shader on the other side of the rasterizer.

use super::{Args, choose};
use crate::common::read_module;
use dovetail::compile::backend::Generator;
use dovetail::compile::compiler::StageCompiler;
use dovetail::compile::request::{KnownState, Module, StageRequest, default_wave};
use dovetail::compile::{Compiler, for_fragment, for_vertex, spirv};
use dovetail::error::{Context, Error, Result};
use dovetail::link::Object;
use dovetail::target::Stage;
use std::path::Path;

/// Compiles both shaders early, and gives what the first knows of the other.
pub fn known<G: Generator>(
    args: &Args,
    partner: &Path,
    compiler: &StageCompiler<G>,
    module: &Module,
    request: &StageRequest,
) -> Result<KnownState> {
    let place = || partner.display().to_string();
    let other_module = read_module(partner)?;
    let info = spirv::reflect(&other_module).at(place)?;
    let partners_stage = match request.stage {
        Stage::Vertex => Some(Stage::Fragment),
        Stage::Fragment => Some(Stage::Vertex),
        Stage::Compute => None,
    };
    let (entry_point, stage) = choose(&info.entry_points, args.for_entry.as_deref(), partners_stage).at(place)?;
    let other = StageRequest {
        stage,
        module: other_module.digest(),
        specialization: info.specialization(&[]),
        wave: default_wave(request.target, stage, info.uses_subgroups),
        entry_point,
        ..request.clone()
    };
    let early = |module: &Module, request: &StageRequest| Object::parse(&compiler.compile(module, request)?.0);
    let other = early(&other_module, &other).at(place)?;
    match (request.stage, stage) {
        (Stage::Vertex, Stage::Fragment) => Ok(for_fragment(other.interface()).unwrap_or_default()),
        (Stage::Fragment, Stage::Vertex) => {
            let own = early(module, request)?;
            Ok(for_vertex(other.interface(), own.interface()).unwrap_or_default())
        }
        (own, other) => {
            Err(Error::malformed(format!("a {own} shader for a {other} shader: vertex and fragment go together")))
        }
    }
}
