//! What a vertex part passes to a fragment part: which parameters are exported to which slots, and by which epilog. The
//! vertex part keeps it for later links ([`KeptMatches`]), by what the fragment part reads: to find it takes two places in
//! memory, to work it out anew some hundred instructions for each parameter.

use super::held::{Held, PlansId};
use super::touch::Touched;
use dovetail_abi::content_id::ContentId;
use dovetail_abi::params::{ParamPlan, ParamVectors};
use dovetail_base::error::{Error, FullCompile, Result};
use dovetail_base::near_table::{NearTable, Tag};
use dovetail_base::target::Gpu;
use dovetail_glue::GluePiece;
use dovetail_metadata::final_registers::AttributeControls;
use dovetail_metadata::interface::{FragmentInput, ParamConstant, PreRasterizationInterface, StageInterface};
use std::sync::{Arc, LazyLock};

/// Number of matches that a part keeps in its table; further ones are made at each link.
const MOST_MATCHES: usize = 120;

/// Identifies what a fragment part reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadsId(ContentId);

impl ReadsId {
    /// That of a part.
    pub(super) fn of(part: &StageInterface) -> Self {
        Self(ContentId::of(reads(Some(part))))
    }

    /// That of a missing fragment part, computed once: each depth-only pipeline asks for it.
    pub(super) fn none() -> Self {
        static NONE: LazyLock<ReadsId> = LazyLock::new(|| ReadsId(ContentId::of(reads(None))));
        *NONE
    }

    fn tag(self) -> Tag {
        Tag::new(self.0.bits())
    }
}

/// What a part reads if it is a fragment part: its inputs, and the constants for which it was compiled.
fn reads(part: Option<&StageInterface>) -> (&[FragmentInput], &[ParamConstant]) {
    match part.and_then(|part| part.kind.fragment()) {
        Some(fragment) => (&fragment.inputs, &fragment.constants),
        None => (&[], &[]),
    }
}

/// The match of a vertex part with what a fragment part reads.
pub(super) struct Match {
    /// `SPI_PS_INPUT_CNTL` from 0 on.
    pub controls: AttributeControls,
    /// Number of parameter slots exported.
    pub slots: u32,
    /// Number of parameter slots of the primitive.
    pub primitive_slots: u32,
    /// The parameter epilog, if the vertex part needs one.
    pub epilog: Option<GluePiece>,
}

impl Match {
    /// Plans the exports of the last part before the rasterizer; `epilog` makes the epilog.
    ///
    /// # Errors
    /// Needs a full compile: a stage was compiled for another partner, or a vertex body compiled on its own cannot export
    /// what is read.
    pub(super) fn new(
        gpu: Gpu,
        last: &PreRasterizationInterface,
        params: &ParamVectors,
        fragment: Option<&StageInterface>,
        epilog: impl FnOnce(&ParamPlan) -> Result<Option<GluePiece>>,
    ) -> Result<Self> {
        let (inputs, constants) = reads(fragment);
        check_partners(last, inputs, constants)?;
        let plan = ParamPlan::new(gpu.facts().parameters, inputs, params)?;
        let controls = AttributeControls::new(gpu.family(), &plan.control_words())?;
        let primitive_slots = u32::from(plan.primitive_id.is_some());
        Ok(Self { controls, slots: plan.slots, primitive_slots, epilog: epilog(&plan)? })
    }
}

/// Checks that a stage compiled for one partner has that partner.
///
/// # Errors
/// Needs a full compile: the vertex stage was compiled for other reads, or the fragment stage for other constants.
fn check_partners(
    last: &PreRasterizationInterface,
    inputs: &[FragmentInput],
    constants: &[ParamConstant],
) -> Result<()> {
    let mismatch = |what: &str| Err(Error::needs_full(FullCompile::Mismatch { what: what.to_owned() }));
    match &last.made_for {
        Some(reads) if reads.inputs == inputs && reads.constants == constants => Ok(()),
        Some(_) => mismatch("the fragment shader: the vertex stage was compiled for another"),
        None if constants.iter().all(|constant| last.constants().any(|written| written == *constant)) => Ok(()),
        None => mismatch("the constants between them: the fragment stage was compiled for another vertex shader"),
    }
}

/// The matches of a vertex part.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptMatches(NearTable<MatchKey, Match, MOST_MATCHES>);

/// The epilog is of the source of these plans.
#[derive(PartialEq)]
struct MatchKey {
    plans: PlansId,
    reads: ReadsId,
}

impl KeptMatches {
    /// Reads the first one with these reads.
    #[inline(always)]
    pub(super) fn touch(&self, reads: ReadsId, read: &mut Touched) {
        let Some((_, kept)) = self.0.near(reads.tag()).next() else { return };
        read.run(kept.controls.bytes());
        read.value(kept.slots as usize);
        if let Some(epilog) = &kept.epilog {
            read.run(&epilog.code);
            read.value(epilog.sgprs as usize);
        }
    }

    /// The match with these reads, kept or made.
    pub(super) fn get(
        &self,
        plans: PlansId,
        reads: ReadsId,
        make: impl FnOnce() -> Result<Match>,
    ) -> Result<Held<'_, Match>> {
        let hash = reads.0.bits();
        let is = |key: &MatchKey| key.plans == plans && key.reads == reads;
        if let Some(kept) = self.0.find(reads.tag(), || hash, is) {
            return Ok(Held::Kept(kept));
        }
        let kept = self.0.keep(reads.tag(), hash, MatchKey { plans, reads }, make()?);
        Ok(kept.map_or_else(|made| Held::Made(Arc::new(made)), Held::Kept))
    }
}
