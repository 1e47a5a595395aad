//! A ready part: bound to a resource layout, and with its own glue, the fetch prolog or the colour epilog. It holds
//! everything of its stage that neither the other stage nor the rest of the state decides. The object keeps it for later
//! links ([`ReadyParts`]), because a program links a shader often, but with few layouts and states, mostly one.
//!
//! Notes and code are one run of bytes: if a program has thousands of pipelines, those of one are not in the processor's
//! caches, and each place in memory costs a wait.

use super::bound::Bound;
use super::functions::Call;
use super::held::{Held, PlansId};
use super::input::Object;
use super::places::{DWORD, LoadReloc, Patch};
use super::touch::Touched;
use dovetail_abi::layout::{LayoutId, ResolvedLayout};
use dovetail_base::error::{Context, Result};
use dovetail_base::fallible;
use dovetail_base::near_table::{NearTable, Tag};
use dovetail_base::table::hash;
use dovetail_base::target::{HardwareStage, Stage};
use dovetail_glue as glue;
use dovetail_glue::{GlueKey, GluePiece};
use dovetail_metadata::interface::StageInterface;
use dovetail_metadata::ready_notes::{OwnFacts, ReadyNotes, StageNotes};
use dovetail_metadata::stage_text::Counts;
use dovetail_state::{ColorState, PipelineState, VertexInputState};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Number of ready parts that an object keeps in its table; further ones are made at each link.
const MOST_READY: usize = 248;

/// The state that decides a part's own glue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum OwnState<'a> {
    /// None: the part has no such glue.
    None,
    /// Of a fetch prolog.
    Vertex(Cow<'a, VertexInputState>),
    /// Of a colour epilog, and of the registers about colours.
    Color(Cow<'a, ColorState>),
}

impl<'a> OwnState<'a> {
    /// That of a part in this state.
    pub(super) fn of(interface: &StageInterface, state: &'a PipelineState) -> Self {
        match interface.stage {
            Stage::Vertex if interface.prolog => Self::Vertex(Cow::Borrowed(&state.vertex)),
            Stage::Fragment => Self::Color(Cow::Borrowed(&state.color)),
            Stage::Vertex | Stage::Compute => Self::None,
        }
    }

    /// A value that depends on all of its lists.
    #[inline(always)]
    pub(super) fn touched(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Vertex(state) => {
                let binding = state.bindings.first().map_or(0, |binding| binding.stride);
                (binding ^ state.attributes.first().map_or(0, |attribute| attribute.offset)) as usize
            }
            Self::Color(state) => state.attachments.first().map_or(0, |attachment| attachment.location as usize),
        }
    }

    fn kept(&self) -> OwnState<'static> {
        match self {
            Self::None => OwnState::None,
            Self::Vertex(state) => OwnState::Vertex(Cow::Owned(state.clone().into_owned())),
            Self::Color(state) => OwnState::Color(Cow::Owned(state.clone().into_owned())),
        }
    }
}

/// A part's code, entered only at its first instruction.
#[derive(Clone, Copy)]
pub(super) struct CodeRun<'u> {
    pub symbol: &'u str,
    pub code: &'u [u8],
    /// Alignment in bytes.
    pub align: u32,
    /// Places that need a value of the state.
    pub patches: &'u [Patch],
}

impl<'u> CodeRun<'u> {
    /// A piece of glue.
    pub(super) fn glue(symbol: &'u str, code: &'u [u8]) -> Self {
        Self { symbol, code, align: DWORD, patches: &[] }
    }
}

/// A ready part.
pub(super) struct Ready {
    /// The hardware stage that runs it.
    pub hardware: HardwareStage,
    /// Notes, NGG prologue and prolog, body, epilog.
    bytes: Box<[u8]>,
    notes: ReadyNotes,
    body: Range<usize>,
    /// Symbol of the prolog or epilog, if there is one.
    glue: Option<Cow<'static, str>>,
    /// Places in the body that need a value of the state, in order of their offsets.
    pub late: Vec<Patch>,
    /// The part's relocations for the loader, with offsets in this body.
    pub loads: Vec<LoadReloc>,
    /// The part's calls, with offsets in this body.
    pub calls: Vec<Call>,
    /// Lowest root dword that the body reads through the spill table.
    pub spilled: Option<u32>,
    /// Hash of notes and code.
    pub hash: u64,
}

impl Ready {
    /// Binds a part to a layout, and adds its own glue, which `glue` makes.
    ///
    /// # Errors
    /// Malformed: layout or state lack something. Needs a full compile: these parts cannot do what they ask for.
    pub(super) fn new(
        object: &Object,
        hardware: HardwareStage,
        layout: &ResolvedLayout,
        state: &OwnState<'_>,
        mut glue: impl FnMut(&GlueKey) -> Result<Arc<GluePiece>>,
    ) -> Result<Self> {
        let interface = &object.interface;
        let stage = || format!("{} stage", interface.stage);
        let (color, key) = match state {
            OwnState::None => (None, None),
            OwnState::Vertex(state) => (None, Some(glue::fetch_key(interface, state).at(stage)?)),
            OwnState::Color(state) => {
                let (formats, key) = glue::color_export_key(interface, state).at(stage)?;
                (Some((&**state, formats)), key)
            }
        };
        // A prologue in front of everything.
        let frame = hardware.runs_primitives().then(|| glue::ngg_key(interface, object.uses_scratch()));
        let frame = frame.transpose().at(stage)?.map(|key| glue(&key)).transpose().at(stage)?;
        let piece = key.map(|key| glue(&key)).transpose().at(stage)?;
        let Bound { code, late, loads, calls, numbers, spilled } = Bound::new(object, layout).at(|| object.named())?;

        let glue = piece.as_deref().map_or(&[][..], |piece| &piece.code);
        let (before, after) = match state {
            OwnState::Vertex(_) => (glue, &[][..]),
            OwnState::Color(_) | OwnState::None => (&[][..], glue),
        };
        let first = frame.as_deref().map_or(&[][..], |frame| &frame.code);
        let part = object.notes_on(hardware).at(|| interface.stage.name())?;
        let mut bytes = fallible::room(part.ready_size() + first.len() + code.len() + glue.len())?;
        let registers = counts(piece.as_deref()).max(counts(frame.as_deref()));
        let facts = OwnFacts { interface, user_data: &numbers, glue: registers, color };
        let notes = part.add_ready(&facts, &mut bytes).at(|| interface.stage.name())?;
        bytes.extend_from_slice(first);
        bytes.extend_from_slice(before);
        let start = bytes.len();
        bytes.extend_from_slice(&code);
        let body = start..bytes.len();
        bytes.extend_from_slice(after);
        let hash = xxh3_64(&bytes);
        let glue = frame.or(piece).map(|piece| piece.symbol.clone());
        Ok(Self { hardware, bytes: bytes.into(), notes, body, glue, late, loads, calls, spilled, hash })
    }

    /// Its stage's notes.
    ///
    /// # Errors
    /// None, after [`Self::new`].
    pub(super) fn notes<'a>(&'a self, object: &'a Object) -> Result<StageNotes<'a>> {
        Ok(object.notes_on(self.hardware)?.of_stage(self.run(0..self.notes.size), &self.notes))
    }

    /// The prolog.
    pub(super) fn prolog(&self) -> Option<CodeRun<'_>> {
        self.glue(self.notes.size..self.body.start)
    }

    /// The body.
    pub(super) fn body<'a>(&'a self, object: &'a Object) -> CodeRun<'a> {
        CodeRun {
            symbol: match self.prolog() {
                Some(_) => self.hardware.unlinked_symbol(),
                None => self.hardware.entry_symbol(),
            },
            code: self.code(),
            align: object.code_align,
            patches: &self.late,
        }
    }

    /// Code of the body.
    pub(super) fn code(&self) -> &[u8] {
        self.run(self.body.clone())
    }

    /// The colour epilog.
    pub(super) fn epilog(&self) -> Option<CodeRun<'_>> {
        self.glue(self.body.end..self.bytes.len())
    }

    fn glue(&self, range: Range<usize>) -> Option<CodeRun<'_>> {
        let symbol = self.glue.as_deref().filter(|_| !range.is_empty())?;
        Some(CodeRun::glue(symbol, self.run(range)))
    }

    fn run(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

/// Registers that a piece uses.
pub(super) fn counts(piece: Option<&GluePiece>) -> Counts {
    piece.map_or(Counts::default(), |piece| Counts { sgprs: piece.sgprs, vgprs: piece.vgprs })
}

/// The ready parts of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadyParts(NearTable<ReadyKey, Ready, MOST_READY>);

/// The pieces of glue are those of certain plans, which may have another source than others.
#[derive(PartialEq)]
struct ReadyKey {
    plans: PlansId,
    hardware: HardwareStage,
    layout: LayoutId,
    state: OwnState<'static>,
}

/// The layout alone selects what is compared: most parts have few, and a hash of the state takes longer than to compare it.
fn tag(layout: LayoutId) -> Tag {
    Tag::new(layout.bits())
}

impl ReadyParts {
    /// Reads the first one for this layout; [`Self::touch_runs`] reads its bytes.
    #[inline(always)]
    pub(super) fn touch(&self, layout: LayoutId, read: &mut Touched) {
        if let Some((key, ready)) = self.0.near(tag(layout)).next() {
            read.value(key.state.touched());
            read.value(ready.bytes.len() ^ ready.late.len() ^ ready.loads.len() ^ ready.hash as usize);
        }
    }

    #[inline(always)]
    pub(super) fn touch_runs(&self, layout: LayoutId, read: &mut Touched) {
        if let Some((_, ready)) = self.0.near(tag(layout)).next() {
            read.run(&ready.bytes);
        }
    }

    /// The part for this layout and state, kept or made.
    pub(super) fn get(
        &self,
        plans: PlansId,
        hardware: HardwareStage,
        layout: LayoutId,
        state: &OwnState<'_>,
        make: impl FnOnce() -> Result<Ready>,
    ) -> Result<Held<'_, Ready>> {
        let hash = || hash((hardware, layout, state));
        let is = |key: &ReadyKey| {
            key.plans == plans && key.hardware == hardware && key.layout == layout && key.state == *state
        };
        if let Some(kept) = self.0.find(tag(layout), hash, is) {
            return Ok(Held::Kept(kept));
        }
        let kept = self.0.keep(tag(layout), hash(), ReadyKey { plans, hardware, layout, state: state.kept() }, make()?);
        Ok(kept.map_or_else(|made| Held::Made(Arc::new(made)), Held::Kept))
    }
}
