//! Prologs and epilogs: makes machine code from a key, without a compiler.
//!
//! [`fetch_key`], [`param_export_key`] and [`color_export_key`] compute the key of a piece from a stage and the state;
//! [`emit`] writes the piece from its key alone.
//!
//! Invariant: equal keys give equal bytes, and a key holds only what the bytes depend on. A piece does not contain the
//! jump to or from its body: the linker places it so that execution falls through, or adds a branch. To add a kind of
//! piece, add a file with its key and `emit`, and a variant of [`GlueKey`].

mod color_export;
mod divide;
mod dual_source;
mod fetch;
mod ngg;
mod null_fs;
mod param_export;
mod piece;
mod primitive_lanes;
mod ring_export;
#[cfg(test)]
mod simulate;
#[cfg(test)]
mod simulate_exports;
#[cfg(test)]
mod tests;
mod vertices;

pub use color_export::COLOR_EXPORT_SYMBOL;
pub use color_export::{ColorExportKey, ColorValue, DepthValues};
pub use fetch::{BodyTakes, FetchKey};
pub use ngg::NggKey;
pub use param_export::PARAM_EXPORT_SYMBOL;
pub use param_export::ParamExportKey;
pub use piece::{Attach, GlueCode, GluePiece};
pub use ring_export::RingExportKey;

use dovetail_abi::exports::ColorExportPlan;
use dovetail_abi::fetch::FetchPlan;
use dovetail_abi::params::{ParamPlan, ParamVectors};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::{Gpu, ParameterPath, WaveSize};
use dovetail_isa::Isa;
use dovetail_metadata::interface::{ExportedFormats, StageInterface};
use dovetail_metadata::ngg::has_instance_id;
use dovetail_state::{ColorState, VertexInputState};
use serde::{Deserialize, Serialize};

/// The inputs that determine the bytes of one piece.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GlueKey {
    /// The GPU.
    pub target: Gpu,
    /// The piece.
    pub piece: PieceKey,
}

/// The kinds of pieces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PieceKey {
    /// Runs before a vertex body: fetches its attributes.
    Fetch(FetchKey),
    /// Runs before a vertex stage's prolog or body: makes a wave of a primitive shader look like one of the hardware VS stage.
    Ngg(NggKey),
    /// Runs before the prolog or body of a primitive shader that was compiled as one: turns its lanes on.
    Vertices(WaveSize),
    /// Runs after a vertex body: exports its parameters.
    ParamExport(ParamExportKey),
    /// Runs after the body of a primitive shader: stores its parameters to the attribute ring, and exports positions and
    /// primitives.
    RingExport(RingExportKey),
    /// Runs after a fragment body: exports its colours and depth.
    ColorExport(ColorExportKey),
    /// The whole fragment shader of a pipeline without one.
    NullFragment,
}

/// Writes the piece of a key.
///
/// # Errors
/// Malformed: a key with registers that do not exist, as in a damaged store.
pub fn emit(key: &GlueKey) -> Result<GluePiece> {
    let GlueKey { target, piece } = key;
    let isa = Isa::of(*target);
    match piece {
        PieceKey::Fetch(key) => fetch::emit(*target, key).at(|| "fetch prolog"),
        PieceKey::Ngg(key) => ngg::emit(isa, key).at(|| "NGG prologue"),
        PieceKey::Vertices(wave) => vertices::emit(isa, *wave),
        PieceKey::RingExport(key) => ring_export::emit(isa, key).at(|| "ring epilog"),
        PieceKey::ParamExport(key) => param_export::emit(isa, key).at(|| "parameter epilog"),
        PieceKey::ColorExport(key) => color_export::emit(isa, key).at(|| "colour epilog"),
        PieceKey::NullFragment => null_fs::emit(isa),
    }
}

/// Key of the prolog that fetches the attributes of a vertex stage.
///
/// # Errors
/// Malformed: a state that contradicts itself, or another stage. Needs a full compile: attributes that no prolog can
/// pass to the body.
pub fn fetch_key(vertex: &StageInterface, state: &VertexInputState) -> Result<GlueKey> {
    let target = vertex.target;
    let fetch = vertex.kind.fetch().ok_or_else(|| Error::bug("a prolog for no vertex stage"))?;
    let plan = FetchPlan::new(target, &fetch.inputs, state)?;
    let takes = BodyTakes { awaits_inputs: fetch.awaits_inputs, address_high: fetch.takes_address_high };
    let key = FetchKey::new(target, plan, &vertex.user_data, vertex.entry_sgprs, takes)?;
    Ok(GlueKey { target, piece: PieceKey::Fetch(key) })
}

/// Key of the prologue that runs a vertex part as a primitive shader, whether it was compiled as one or for the hardware VS
/// stage; `scratch`: it uses scratch memory.
///
/// # Errors
/// A bug: another stage.
pub fn ngg_key(vertex: &StageInterface, scratch: bool) -> Result<GlueKey> {
    let part = vertex.kind.vertex().ok_or_else(|| Error::bug("a prologue for no vertex stage"))?;
    if vertex.hardware_stage().runs_primitives() {
        return Ok(GlueKey { target: vertex.target, piece: PieceKey::Vertices(vertex.wave) });
    }
    let user_sgprs = u32::try_from(vertex.user_data.len()).map_err(|_| Error::malformed("user-data SGPRs"))?;
    let instance = has_instance_id(vertex, part);
    let key = NggKey { wave: vertex.wave, user_sgprs, instance, scratch };
    Ok(GlueKey { target: vertex.target, piece: PieceKey::Ngg(key) })
}

/// Key of the epilog that makes the exports which a plan leaves to it; `params` are those of the stage.
pub fn param_export_key(vertex: &StageInterface, params: &ParamVectors, plan: &ParamPlan) -> GlueKey {
    let target = vertex.target;
    let piece = match target.facts().parameters {
        ParameterPath::Exports => PieceKey::ParamExport(ParamExportKey::new(plan)),
        ParameterPath::Ring => {
            let count = vertex.kind.pre_rasterization().map_or(0, |last| last.positions.count);
            PieceKey::RingExport(RingExportKey {
                wave: vertex.wave,
                positions: (0..count).map(|n| params.position(n)).collect(),
                params: plan.exports.to_vec(),
                primitive_id: plan.primitive_id,
                writes_memory: vertex.writes_memory,
            })
        }
    };
    GlueKey { target, piece }
}

/// Register words for the export formats of a fragment stage's colours and depth, and the key of the epilog if one is
/// needed.
///
/// # Errors
/// Malformed: a state that contradicts itself, or another stage.
pub fn color_export_key(fragment: &StageInterface, state: &ColorState) -> Result<(ExportedFormats, Option<GlueKey>)> {
    let target = fragment.target;
    let fs = fragment.kind.fragment().ok_or_else(|| Error::bug("an epilog for no fragment stage"))?;
    let plan = ColorExportPlan::new(target, fs, state).at(|| "colour state")?;
    let key = fragment.epilog.then(|| ColorExportKey::new(fs, fragment.wave, &plan)).transpose()?;
    Ok((plan.formats, key.map(|key| GlueKey { target, piece: PieceKey::ColorExport(key) })))
}
