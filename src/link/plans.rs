//! Plans that links share: planned glue and its pieces, found by the inputs that determine them.
//!
//! | kept | determined by |
//! |---|---|
//! | fetch prolog | vertex part, vertex input state |
//! | colour epilog and the register words of its formats | fragment part, colour state |
//! | parameter epilog | the exports that it makes |
//! | stage that replaces a missing fragment shader | GPU, wave size |
//! | every piece, so that parts share it | its key |
//!
//! With plans, a link asks its [`GlueSource`] only for pieces that no earlier link needed. Each table holds some ten
//! thousand entries; once it is full, a link that finds no entry makes its own glue. An [`Object`] keeps what it was first
//! linked with itself ([`super::first`]), and is bound to its layouts.

use super::bound::Bound;
use super::first::{ColorEpilog, First, PlansId};
use super::glue_source::GlueSource;
use super::held::{Held, held};
use super::identity::PartId;
use super::input::Object;
use super::null_fragment::null_fragment;
use crate::abi::layout::ResolvedLayout;
use crate::abi::params::{ParamExport, ParamPlan};
use crate::error::{Error, Result};
use crate::glue::{self, GlueKey, GluePiece, PieceKey};
use crate::state::{ColorState, VertexInputState};
use crate::table::{SharedTable, hash};
use crate::target::{GfxIp, WaveSize};
use std::hash::Hash;
use std::sync::Arc;

/// Plans and pieces, kept between links. All threads share one; it only grows.
#[derive(Default)]
pub struct Plans {
    id: PlansId,
    prologs: SharedTable<OfPart<VertexInputState>, Arc<GluePiece>>,
    colors: SharedTable<OfPart<ColorState>, Arc<ColorEpilog>>,
    params: SharedTable<(GfxIp, Vec<ParamExport>), Arc<GluePiece>>,
    null_fragments: SharedTable<(GfxIp, WaveSize), Arc<Object>>,
    pieces: SharedTable<GlueKey, Arc<GluePiece>>,
}

/// Key: a part, and a state.
#[derive(PartialEq, Eq)]
struct OfPart<S> {
    part: PartId,
    state: S,
}

/// Source of a link's glue.
#[derive(Clone, Copy)]
pub(super) struct Joints<'a> {
    pub source: &'a dyn GlueSource,
    pub plans: Option<&'a Plans>,
}

impl<'a> Joints<'a> {
    /// A part with the values of the layout. The caller's objects keep it, if links share plans.
    pub(super) fn bound(self, object: &Held<'a, Object>, layout: &ResolvedLayout) -> Result<Held<'a, Bound>> {
        match object {
            Held::Kept(object) if self.plans.is_some() => object.bounds.get(object, layout),
            _ => Bound::new(object, layout).map(|bound| Held::Made(Arc::new(bound))),
        }
    }

    /// The prolog that fetches a vertex part's attributes, if it needs one.
    pub(super) fn prolog(self, vertex: &'a Object, state: &VertexInputState) -> Result<Option<Held<'a, GluePiece>>> {
        if !vertex.interface.prolog {
            return Ok(None);
        }
        let make = || self.piece(&glue::fetch_key(&vertex.interface, state)?);
        self.of_part(vertex.id, state, &vertex.first.prolog, |plans| &plans.prologs, make).map(Some)
    }

    /// The piece that exports a vertex part's parameters, if it needs one.
    pub(super) fn params(self, vertex: &'a Object, plan: &ParamPlan) -> Result<Option<Held<'a, GluePiece>>> {
        if !vertex.interface.epilog {
            return Ok(None);
        }
        let target = vertex.interface.target;
        let make = || self.piece(&glue::param_export_key(target, plan));
        let Some(plans) = self.plans else { return make().map(|made| Some(Held::Made(made))) };
        let first = &vertex.first.params;
        if let Some(kept) = first.get(plans.id, |exports| exports.iter().eq(plan.epilog_exports())) {
            return Ok(Some(Held::Kept(kept)));
        }
        let exports = || plan.epilog_exports().cloned().collect();
        let shared = held(
            &plans.params,
            plan.epilog_exports().fold(0, |all, export| hash((all, export))),
            |(of, exports)| *of == target && exports.iter().eq(plan.epilog_exports()),
            || (target, exports()),
            make,
        )?;
        first.keep(plans.id, exports, shared.arc());
        Ok(Some(shared.into()))
    }

    /// The piece that exports a fragment part's colours, with the formats.
    pub(super) fn colors(self, fragment: &'a Object, state: &ColorState) -> Result<Held<'a, ColorEpilog>> {
        let make = || {
            let (formats, key) = glue::color_export_key(&fragment.interface, state)?;
            let piece = key.map(|key| self.piece(&key)).transpose()?;
            Ok(Arc::new(ColorEpilog { formats, piece }))
        };
        self.of_part(fragment.id, state, &fragment.first.colors, |plans| &plans.colors, make)
    }

    /// What a part and a state determine: kept by the part, by a table of the plans, or made now.
    #[inline]
    fn of_part<S: Clone + Hash + PartialEq, V>(
        self,
        part: PartId,
        state: &S,
        first: &'a First<S, V>,
        table: impl FnOnce(&'a Plans) -> &'a SharedTable<OfPart<S>, Arc<V>>,
        make: impl FnOnce() -> Result<Arc<V>>,
    ) -> Result<Held<'a, V>> {
        let Some(plans) = self.plans else { return make().map(Held::Made) };
        if let Some(kept) = first.get(plans.id, |key| key == state) {
            return Ok(Held::Kept(kept));
        }
        let shared = held(
            table(plans),
            hash((part, state)),
            |key| key.part == part && key.state == *state,
            || OfPart { part, state: state.clone() },
            make,
        )?;
        first.keep(plans.id, || state.clone(), shared.arc());
        Ok(shared.into())
    }

    /// The fragment part of a pipeline without a fragment shader.
    pub(super) fn null_fragment(self, target: GfxIp, wave: WaveSize) -> Result<Held<'a, Object>> {
        let make = || {
            let piece = self.piece(&GlueKey { target, piece: PieceKey::NullFragment })?;
            null_fragment(target, wave, &piece).map(Arc::new)
        };
        let Some(plans) = self.plans else { return make().map(Held::Made) };
        let of = (target, wave);
        held(&plans.null_fragments, hash(of), |key| *key == of, || of, make).map(Held::from)
    }

    /// A piece of glue: that of another part with the same needs, or of the source.
    fn piece(self, key: &GlueKey) -> Result<Arc<GluePiece>> {
        let Some(plans) = self.plans else { return self.sourced(key) };
        let shared = held(&plans.pieces, hash(key), |kept| kept == key, || key.clone(), || self.sourced(key))?;
        Ok(Arc::clone(shared.arc()))
    }

    /// Gets a piece of glue from the source and checks it, since a store may be damaged.
    fn sourced(self, key: &GlueKey) -> Result<Arc<GluePiece>> {
        let piece = self.source.piece(key)?;
        let whole = piece.code.len().is_multiple_of(4) && piece.code.len() < 1 << 20;
        let fits = piece.sgprs <= 128 && piece.vgprs <= 256;
        let ends = piece.code.len() >= 4 || !matches!(key.piece, PieceKey::NullFragment);
        if whole && fits && ends { Ok(piece) } else { Err(Error::malformed(format!("glue piece {}", piece.symbol))) }
    }
}
