//! Prologs and epilogs: a key in, machine code out, no compiler.
//!
//! [`plan`] names the pieces for the stages and the state; [`emit`] writes one from its key and nothing else.
//! Invariant: equal keys give equal bytes, and a key holds nothing that the bytes do not show. No piece contains the
//! branch to its body: the linker lets code fall through, or branches. To add a kind of piece: a file with its key and
//! `emit`, and a variant of [`GlueKey`].

mod color_export;
mod divide;
mod fetch;
mod null_fs;
mod param_export;
mod piece;
#[cfg(test)]
mod simulate;
#[cfg(test)]
mod simulate_exports;
#[cfg(test)]
mod tests;

pub use color_export::{ColorExportKey, ColorValue, DepthValues};
pub use fetch::FetchKey;
pub use param_export::ParamExportKey;
pub use piece::{Attach, GluePiece};

use crate::abi::exports::ColorExportPlan;
use crate::abi::fetch::FetchPlan;
use crate::abi::params::ParamPlan;
use crate::error::{Context, Error, Result};
use crate::metadata::interface::{StageInterface, StageKind};
use crate::state::PipelineState;
use crate::target::GfxIp;
use serde::{Deserialize, Serialize};

/// Inputs that decide the bytes of one piece.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GlueKey {
    /// GPU.
    pub target: GfxIp,
    /// The piece.
    pub piece: PieceKey,
}

/// The kinds of pieces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PieceKey {
    /// Before a vertex body: fetches its attributes.
    Fetch(FetchKey),
    /// After a vertex body: exports its parameters.
    ParamExport(ParamExportKey),
    /// After a fragment body: exports its colours and depth.
    ColorExport(ColorExportKey),
    /// Alone: the fragment shader of a pipeline without one.
    NullFragment,
}

/// Writes a piece.
///
/// # Errors
/// Malformed: a key with registers that do not exist, as a damaged store may hold.
pub fn emit(key: &GlueKey) -> Result<GluePiece> {
    let GlueKey { target, piece } = key;
    match piece {
        PieceKey::Fetch(key) => fetch::emit(*target, key).at(|| "fetch prolog"),
        PieceKey::ParamExport(key) => param_export::emit(*target, key).at(|| "parameter epilog"),
        PieceKey::ColorExport(key) => color_export::emit(*target, key).at(|| "colour epilog"),
        PieceKey::NullFragment => null_fs::emit(*target),
    }
}

/// Pieces of a graphics pipeline between and around its stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GluePlan {
    /// Before the vertex body.
    pub fetch: Option<GlueKey>,
    /// After the vertex body.
    pub param_export: Option<GlueKey>,
    /// After the fragment body, or in its place.
    pub fragment: Option<GlueKey>,
    /// Parameters between the stages, for the registers.
    pub params: ParamPlan,
    /// Colour exports, for the registers.
    pub colors: ColorExportPlan,
}

impl GluePlan {
    /// The keys present, in the order of the code.
    pub fn keys(&self) -> impl Iterator<Item = &GlueKey> {
        [&self.fetch, &self.param_export, &self.fragment].into_iter().flatten()
    }
}

/// Names the pieces for a vertex stage and, unless nothing is shaded, a fragment stage.
///
/// # Errors
/// Malformed: inconsistent state or interfaces. Needs a full compile: values that cannot be passed between parts.
pub fn plan(state: &PipelineState, vertex: &StageInterface, fragment: Option<&StageInterface>) -> Result<GluePlan> {
    let target = vertex.target;
    let StageKind::Vertex(vs) = &vertex.kind else { return Err(Error::bug("the first stage is not a vertex stage")) };
    let fs = match fragment.map(|stage| &stage.kind) {
        None => None,
        Some(StageKind::Fragment(fs)) => Some(fs),
        Some(_) => return Err(Error::bug("the second stage is not a fragment stage")),
    };
    let key = |piece| Some(GlueKey { target, piece });
    let fetch_key = || {
        let plan = FetchPlan::new(target, &vs.inputs, &state.vertex)?;
        FetchKey::new(plan, &vertex.user_data, vertex.entry_sgprs)
    };
    let params = ParamPlan::new(fs.map_or(&[], |fs| &fs.inputs), &vs.params)?;
    let colors = match fs {
        Some(fs) => ColorExportPlan::new(target, fs, &state.color).at(|| "colour state")?,
        None => ColorExportPlan::default(),
    };
    Ok(GluePlan {
        fetch: if vertex.prolog { key(PieceKey::Fetch(fetch_key()?)) } else { None },
        param_export: if vertex.epilog { key(PieceKey::ParamExport(ParamExportKey::new(&params))) } else { None },
        fragment: match (fs, fragment) {
            (Some(fs), Some(stage)) if stage.epilog => key(PieceKey::ColorExport(ColorExportKey::new(fs, &colors)?)),
            (None, _) => key(PieceKey::NullFragment),
            _ => None,
        },
        params,
        colors,
    })
}
