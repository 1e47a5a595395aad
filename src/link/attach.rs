//! Collects objects and glue into a [`Unit`]: for each stage its parts in the order in which they run.
//!
//! Fence: after this the parts and their order are fixed; nothing is added. The pieces come from a [`GlueSource`], so that
//! a caller may keep them; the linker itself remembers nothing.

use super::input::{DataSection, LoadReloc, Object, Patch, halves};
use crate::error::{Context, Error, FullCompile, Result};
use crate::glue::{self, GlueKey, GluePiece, GluePlan, PieceKey};
use crate::metadata::interface::{FragmentInterface, StageInterface, StageKind, UserData};
use crate::metadata::notes::{Fields, Notes};
use crate::metadata::part_notes::PartNotes;
use crate::metadata::registers::{SPI_PS_INPUT_ADDR, SPI_PS_INPUT_ENA, SPI_SHADER_PGM_RSRC2_PS, rsrc1_ps};
use crate::metadata::schema::Key;
use crate::state::PipelineState;
use crate::target::{GfxIp, Stage, WaveSize};
use std::borrow::Cow;
use std::sync::Arc;

/// Where pieces of glue come from: a cache, or [`EmitGlue`].
pub trait GlueSource {
    /// The piece of this key.
    ///
    /// # Errors
    /// Whatever keeps it from being written or fetched.
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>>;
}

/// Writes every piece anew.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmitGlue;

impl GlueSource for EmitGlue {
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>> {
        glue::emit(key).map(Arc::new)
    }
}

impl<F: Fn(&GlueKey) -> Result<Arc<GluePiece>>> GlueSource for F {
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>> {
        self(key)
    }
}

/// All parts of a pipeline.
pub(super) struct Unit<'a> {
    pub stages: Vec<UnitStage<'a>>,
    pub plan: GluePlan,
}

/// The parts of one stage.
pub(super) struct UnitStage<'a> {
    pub object: Cow<'a, Object>,
    pub prolog: Option<Arc<GluePiece>>,
    pub epilog: Option<Arc<GluePiece>>,
}

/// A run of code with one entrance, its first instruction.
#[derive(Clone, Copy)]
pub(super) struct Part<'u> {
    pub symbol: &'u str,
    pub code: &'u [u8],
    pub patches: &'u [Patch],
}

impl UnitStage<'_> {
    /// The parts in the order in which they run.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let body = Part {
            symbol: self.object.interface.body_symbol(),
            code: &self.object.code,
            patches: &self.object.patches,
        };
        let before = self.prolog.as_deref().map(glue_part);
        let after = self.epilog.as_deref().map(glue_part);
        before.into_iter().chain([body]).chain(after)
    }

    /// The stage.
    pub(super) fn stage(&self) -> Stage {
        self.object.interface.stage
    }

    pub(super) fn data(&self) -> &[DataSection] {
        &self.object.data
    }

    pub(super) fn loads(&self) -> &[LoadReloc] {
        &self.object.loads
    }

    /// Index of the body among the parts.
    pub(super) fn body_index(&self) -> usize {
        usize::from(self.prolog.is_some())
    }
}

fn glue_part(piece: &GluePiece) -> Part<'_> {
    Part { symbol: &piece.symbol, code: &piece.code, patches: &[] }
}

/// Puts the parts of a pipeline together.
///
/// # Errors
/// Malformed: stages that make no pipeline. Needs a full compile: what no glue can carry.
pub(super) fn attach<'a>(objects: &[&'a Object], state: &PipelineState, glue: &dyn GlueSource) -> Result<Unit<'a>> {
    let find = |stage: Stage| -> Result<Option<&'a Object>> {
        let mut of_stage = objects.iter().filter(|o| o.stage() == stage);
        match (of_stage.next(), of_stage.next()) {
            (Some(_), Some(_)) => Err(Error::malformed(format!("two parts are the {stage} stage"))),
            (found, _) => Ok(found.copied()),
        }
    };
    let (vertex, fragment, compute) = (find(Stage::Vertex)?, find(Stage::Fragment)?, find(Stage::Compute)?);
    match (vertex, fragment, compute) {
        (None, None, Some(object)) => {
            let stage = UnitStage { object: Cow::Borrowed(object), prolog: None, epilog: None };
            Ok(Unit { stages: vec![stage], plan: GluePlan::default() })
        }
        (Some(vertex), fragment, None) => graphics(vertex, fragment, state, glue),
        _ => {
            let names: Vec<_> = objects.iter().map(|o| o.stage().name()).collect();
            Err(Error::malformed(format!("stages [{}] make no pipeline", names.join(", "))))
        }
    }
}

fn graphics<'a>(
    vertex: &'a Object,
    fragment: Option<&'a Object>,
    state: &PipelineState,
    glue: &dyn GlueSource,
) -> Result<Unit<'a>> {
    let target = vertex.interface.target;
    if let Some(other) = fragment.map(|f| f.interface.target).filter(|t| *t != target) {
        let what = format!("the GPU: {target} and {other}");
        return Err(Error::needs_full(FullCompile::Mismatch { what }));
    }
    let plan = glue::plan(state, &vertex.interface, fragment.map(|f| &f.interface))?;
    let piece = |key: &Option<GlueKey>| -> Result<Option<Arc<GluePiece>>> {
        key.as_ref().map(|key| checked(glue.piece(key)?, key)).transpose()
    };
    let first = UnitStage {
        object: Cow::Borrowed(vertex),
        prolog: piece(&plan.fetch).at(|| "vertex stage")?,
        epilog: piece(&plan.param_export).at(|| "vertex stage")?,
    };
    let after = piece(&plan.fragment).at(|| "fragment stage")?;
    let second = match (fragment, after) {
        (Some(fragment), epilog) => UnitStage { object: Cow::Borrowed(fragment), prolog: None, epilog },
        (None, Some(alone)) => UnitStage {
            object: Cow::Owned(null_fragment(target, vertex.interface.wave, &alone)?),
            prolog: None,
            epilog: None,
        },
        (None, None) => return Err(Error::bug("no piece stands for the missing fragment shader")),
    };
    Ok(Unit { stages: vec![first, second], plan })
}

/// A piece may come from a store, where anything can have happened to it.
fn checked(piece: Arc<GluePiece>, key: &GlueKey) -> Result<Arc<GluePiece>> {
    let whole = piece.code.len().is_multiple_of(4) && piece.code.len() < 1 << 20;
    let fits = piece.sgprs <= 128 && piece.vgprs <= 256;
    let ends = piece.code.len() >= 4 || !matches!(key.piece, PieceKey::NullFragment);
    if whole && fits && ends { Ok(piece) } else { Err(Error::malformed(format!("glue piece {}", piece.symbol))) }
}

/// The object of a fragment shader that only ends.
fn null_fragment(target: GfxIp, wave: WaveSize, piece: &GluePiece) -> Result<Object> {
    let mut notes = Notes::default();
    let digest = *blake3::hash(&piece.code).as_bytes();
    let counts = Fields::from([(Key::SgprCount, piece.sgprs), (Key::VgprCount, piece.vgprs)]);
    notes.stages.insert(Stage::Fragment, counts);
    let words = &mut notes.registers;
    words.set_field(rsrc1_ps::DX10_CLAMP, 1)?;
    words.set_field(rsrc1_ps::MEM_ORDERED, 1)?;
    words.set(SPI_SHADER_PGM_RSRC2_PS, 0);
    // One pair of barycentrics, without which no pixel wave starts.
    words.set(SPI_PS_INPUT_ENA, 1);
    words.set(SPI_PS_INPUT_ADDR, 1);
    let interface = StageInterface {
        target,
        stage: Stage::Fragment,
        wave,
        entry_point: String::new(),
        prolog: false,
        epilog: false,
        user_data: vec![UserData::GlobalTable],
        // The user data and the primitive mask.
        entry_sgprs: 2,
        resources: Vec::new(),
        push_constant_bytes: 0,
        spill_threshold: None,
        specialization: Vec::new(),
        writes_memory: false,
        kind: StageKind::Fragment(FragmentInterface::default()),
    };
    Ok(Object {
        notes: PartNotes::new(&notes, &interface, halves(&digest))?,
        interface,
        digest,
        code: piece.code.clone(),
        patches: Vec::new(),
        data: Vec::new(),
        loads: Vec::new(),
    })
}
