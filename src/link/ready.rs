//! A ready part: bound to a resource layout, and with its own glue, the fetch prolog or the colour epilog. It holds
//! everything of its stage that neither the other stage nor the rest of the state decides. The object keeps it for later
//! links ([`ReadyParts`]), because a program links a shader often, but with few layouts and states, mostly one.
//!
//! Notes and code are one run of bytes: if a program has thousands of pipelines, those of one are not in the processor's
//! caches, and each place in memory costs a wait.

use super::bound::Bound;
use super::held::{Held, PlansId, held};
use super::input::Object;
use super::places::{DWORD, LoadReloc, Patch};
use crate::abi::layout::{LayoutId, ResolvedLayout};
use crate::error::{Context, Result};
use crate::glue::{self, GlueKey, GluePiece};
use crate::metadata::ready_notes::{OwnFacts, ReadyNotes, StageNotes};
use crate::metadata::stage_text::Counts;
use crate::state::{ColorState, VertexInputState};
use crate::table::{SharedTable, hash};
use crate::target::Stage;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::xxh3_64;

/// Number of ready parts that an object keeps; further ones are made at each link.
const MOST_READY: usize = 256;

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

impl OwnState<'_> {
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
    /// Notes, prolog, body, epilog.
    bytes: Box<[u8]>,
    notes: ReadyNotes,
    body: Range<usize>,
    /// Symbol of the prolog or epilog, if there is one.
    glue: Option<Cow<'static, str>>,
    /// Places in the body that need a value of the state, in order of their offsets.
    pub late: Vec<Patch>,
    /// The part's relocations for the loader, with offsets in this body.
    pub loads: Vec<LoadReloc>,
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
        layout: &ResolvedLayout,
        state: &OwnState<'_>,
        glue: impl FnOnce(&GlueKey) -> Result<Arc<GluePiece>>,
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
        let piece = key.map(|key| glue(&key)).transpose().at(stage)?;
        let Bound { code, late, loads, numbers, spilled } = Bound::new(object, layout).at(|| object.named())?;

        let glue = piece.as_deref().map_or(&[][..], |piece| &piece.code);
        let (before, after) = if interface.stage == Stage::Vertex { (glue, &[][..]) } else { (&[][..], glue) };
        let mut bytes = Vec::with_capacity(object.notes.ready_size() + code.len() + glue.len());
        let facts = OwnFacts { interface, user_data: &numbers, glue: counts(piece.as_deref()), color };
        let notes = object.notes.add_ready(&facts, &mut bytes).at(|| interface.stage.name())?;
        bytes.extend_from_slice(before);
        let start = bytes.len();
        bytes.extend_from_slice(&code);
        let body = start..bytes.len();
        bytes.extend_from_slice(after);
        let hash = xxh3_64(&bytes);
        let glue = piece.map(|piece| piece.symbol.clone());
        Ok(Self { bytes: bytes.into(), notes, body, glue, late, loads, spilled, hash })
    }

    /// Its stage's notes.
    pub(super) fn notes<'a>(&'a self, object: &'a Object) -> StageNotes<'a> {
        object.notes.of_stage(self.run(0..self.notes.size), &self.notes)
    }

    /// The prolog.
    pub(super) fn prolog(&self) -> Option<CodeRun<'_>> {
        self.glue(self.notes.size..self.body.start)
    }

    /// The body.
    pub(super) fn body<'a>(&'a self, object: &'a Object) -> CodeRun<'a> {
        CodeRun {
            symbol: object.interface.body_symbol(),
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
#[derive(Default)]
pub(super) struct ReadyParts {
    /// The first, most often the only one. It is not in the table, because a lookup there costs several cache misses that
    /// wait for each other.
    first: OnceLock<(ReadyKey, Ready)>,
    others: SharedTable<ReadyKey, Arc<Ready>, { MOST_READY - 1 }>,
}

/// The pieces of glue are those of certain plans, which may have another source than others.
#[derive(PartialEq)]
struct ReadyKey {
    plans: PlansId,
    layout: LayoutId,
    state: OwnState<'static>,
}

impl ReadyKey {
    fn is(&self, plans: PlansId, layout: LayoutId, state: &OwnState<'_>) -> bool {
        self.plans == plans && self.layout == layout && self.state == *state
    }
}

impl ReadyParts {
    /// The part for this layout and state, kept or made.
    pub(super) fn get(
        &self,
        plans: PlansId,
        layout: LayoutId,
        state: &OwnState<'_>,
        make: impl Fn() -> Result<Ready>,
    ) -> Result<Held<'_, Ready>> {
        let new = || ReadyKey { plans, layout, state: state.kept() };
        let (key, first) = match self.first.get() {
            Some(first) => first,
            None => {
                let made = make()?;
                self.first.get_or_init(|| (new(), made))
            }
        };
        if key.is(plans, layout, state) {
            return Ok(Held::Kept(first));
        }
        let is = |key: &ReadyKey| key.is(plans, layout, state);
        held(&self.others, hash((layout, state)), is, new, || make().map(Arc::new)).map(Held::from)
    }
}

/// A copy of an object starts without any.
impl Clone for ReadyParts {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for ReadyParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadyParts")
    }
}
