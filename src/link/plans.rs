//! Plans that links share: pieces of glue, found by the inputs that determine them.
//!
//! | kept | determined by |
//! |---|---|
//! | every piece, so that parts share it | its key |
//! | stage that replaces a missing fragment shader | GPU, wave size |
//!
//! With plans, a link asks its [`GlueSource`] only for pieces that no earlier link needed. Each table holds some ten
//! thousand entries; once it is full, a link that finds no entry makes its own glue. An [`Object`] itself keeps what it was
//! linked with: its layouts and states with its own glue ([`super::ready`]), and what fragment parts read of it
//! ([`super::matched`]).

use super::glue_source::GlueSource;
use super::held::{Held, PlansId, held};
use super::input::Object;
use super::matched::{Match, ReadsId};
use super::null_fragment::null_fragment;
use super::ready::{OwnState, Ready};
use super::touch::Touched;
use dovetail_abi::layout::ResolvedLayout;
use dovetail_abi::params::ParamPlan;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::table::{SharedTable, hash};
use dovetail_base::target::{Gpu, HardwareStage, WaveSize};
use dovetail_glue as glue;
use dovetail_glue::{GlueKey, GluePiece, PieceKey};
use dovetail_metadata::interface::StageInterface;
use dovetail_state::PipelineState;
use std::sync::Arc;

/// Plans and pieces, kept between links. All threads share one; it only grows. What an object keeps of its links is for
/// their plans only, and stays when the plans are gone: links of the same objects should have the same plans.
#[derive(Default)]
pub struct Plans {
    id: PlansId,
    null_fragments: SharedTable<(Gpu, WaveSize), Arc<Object>>,
    pieces: SharedTable<GlueKey, Arc<GluePiece>>,
}

/// Source of a link's glue.
#[derive(Clone, Copy)]
pub(super) struct Joints<'a> {
    pub source: &'a dyn GlueSource,
    pub plans: Option<&'a Plans>,
}

impl<'a> Joints<'a> {
    /// Reads ahead what a link of these objects with this state and layout needs, as far as earlier links left it.
    pub(super) fn touch(self, objects: &[&Object], state: &PipelineState, layout: &ResolvedLayout) {
        if self.plans.is_none() {
            return;
        }
        let layout = layout.id();
        let mut read = Touched::default();
        read.value(state.vertex.bindings.len() ^ state.color.attachments.len() ^ state.specialization.len());
        objects.iter().for_each(|object| object.touch(&mut read));
        let fragment = objects.iter().find(|object| object.stage().reads_parameters());
        for object in objects {
            object.ready.touch(layout, &mut read);
            object.touch_sections(&mut read);
            read.value(OwnState::of(&object.interface, state).touched());
            if let Some(fragment) = fragment {
                object.matches.touch(fragment.reads(), &mut read);
            }
        }
        for object in objects {
            object.ready.touch_runs(layout, &mut read);
            object.touch_data(&mut read);
        }
        read.done();
    }

    /// A part with its layout and its own glue. The caller's objects keep it, if links share plans.
    pub(super) fn ready(
        self,
        object: &Held<'a, Object>,
        hardware: HardwareStage,
        layout: &ResolvedLayout,
        state: &PipelineState,
    ) -> Result<Held<'a, Ready>> {
        let own = OwnState::of(&object.interface, state);
        let make = |object| Ready::new(object, hardware, layout, &own, |key| self.piece(key));
        match (object, self.plans) {
            (Held::Kept(object), Some(plans)) => {
                object.ready.get(plans.id, hardware, layout.id(), &own, || make(object))
            }
            _ => make(object).map(|ready| Held::Made(Arc::new(ready))),
        }
    }

    /// The match of a vertex part with a fragment part, or with none.
    pub(super) fn matched(self, vertex: &'a Object, fragment: Option<&Object>) -> Result<Held<'a, Match>> {
        let StageInterface { target, epilog, kind, .. } = &vertex.interface;
        let key = |plan: &ParamPlan| glue::param_export_key(&vertex.interface, &vertex.params, plan);
        let last = kind.pre_rasterization().ok_or_else(|| Error::bug("a match of no vertex part"))?;
        let piece = |plan: &ParamPlan| {
            let piece = epilog.then(|| self.piece(&key(plan)).at(|| "vertex stage"));
            piece.transpose().map(|piece| piece.map(Arc::unwrap_or_clone))
        };
        let make = || Match::new(*target, last, &vertex.params, fragment.map(|f| &f.interface), piece);
        match self.plans {
            Some(plans) => {
                let reads = fragment.map_or_else(ReadsId::none, Object::reads);
                vertex.matches.get(plans.id, reads, make)
            }
            None => make().map(|made| Held::Made(Arc::new(made))),
        }
    }

    /// The fragment part of a pipeline without a fragment shader.
    pub(super) fn null_fragment(self, target: Gpu, wave: WaveSize) -> Result<Held<'a, Object>> {
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
