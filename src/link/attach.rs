//! Collects objects and glue into a [`Unit`]: for each stage, its parts in the order in which they run.
//!
//! After this step the parts and their order are final. Pieces of glue come from a [`GlueSource`](super::GlueSource),
//! or from the plans of earlier links ([`super::plans`]).

use super::held::Held;
use super::input::{DataSection, Object};
use super::matched::Match;
use super::places::{DataTarget, LoadReloc};
use super::plans::Joints;
use super::ready::{CodeRun, Ready};
use super::resolve::StateValues;
use dovetail_abi::layout::ResolvedLayout;
use dovetail_base::error::{Context, Error, FullCompile, Result};
use dovetail_base::target::{HardwareStage, MOST_HARDWARE_STAGES, PipelineShape, ShapeStage, Stage};
use dovetail_glue::GluePiece;
use dovetail_metadata::interface::StageInterface;
use dovetail_state::PipelineState;

/// All parts of a pipeline.
#[derive(Default)]
pub(super) struct Unit<'a> {
    /// The shape of the pipeline, once its stages are attached.
    shape: Option<&'static PipelineShape>,
    /// By index in the shape.
    stages: [Option<UnitStage<'a>>; MOST_HARDWARE_STAGES],
}

impl<'a> Unit<'a> {
    /// The stages in order.
    pub(super) fn stages(&self) -> impl Iterator<Item = &UnitStage<'a>> {
        self.stages.iter().flatten()
    }

    /// The shape of the pipeline.
    pub(super) fn shape(&self) -> Result<&'static PipelineShape> {
        self.shape.ok_or_else(|| Error::bug("a pipeline without stages"))
    }

    /// What passes the rasterizer.
    pub(super) fn matched(&self) -> Option<&Match> {
        self.stages().find_map(|stage| stage.matched.as_deref())
    }

    /// A stage by its index in that order.
    pub(super) fn stage(&self, index: usize) -> Option<&UnitStage<'a>> {
        self.stages.get(index)?.as_ref()
    }
}

/// The parts of one hardware stage.
pub(super) struct UnitStage<'a> {
    pub object: Held<'a, Object>,
    /// The object with the pipeline's layout, and with its own glue.
    pub ready: Held<'a, Ready>,
    /// Of the last stage before the rasterizer: its match with the fragment stage.
    pub matched: Option<Held<'a, Match>>,
}

impl UnitStage<'_> {
    /// Gives the parts in the order in which they run, each with its index, and then the functions that they call.
    pub(super) fn each_part<'u>(&'u self, mut to: impl FnMut(usize, CodeRun<'u>) -> Result<()>) -> Result<()> {
        let body = self.body_index();
        if let Some(prolog) = self.ready.prolog() {
            to(0, prolog)?;
        }
        to(body, self.ready.body(&self.object))?;
        if let Some(epilog) = self.ready.epilog() {
            to(body + 1, epilog)?;
        }
        if let Some(piece) = self.epilog() {
            to(body + 1, CodeRun::glue(&piece.symbol, &piece.code))?;
        }
        // They are called, and run after none of the others.
        for (index, function) in (self.part_count()..).zip(&self.object.functions) {
            to(index, CodeRun::glue(&function.symbol, &function.code))?;
        }
        Ok(())
    }

    /// The number of parts that run one after the other. Only a fragment stage has an epilog of its own, and only a vertex
    /// stage one between the stages.
    pub(super) fn part_count(&self) -> usize {
        self.body_index() + 1 + usize::from(self.ready.epilog().is_some() || self.epilog().is_some())
    }

    /// The glue between the stages: the parameter epilog.
    pub(super) fn epilog(&self) -> Option<&GluePiece> {
        self.matched.as_ref()?.epilog.as_ref()
    }

    /// Its entry symbol in the final ELF.
    pub(super) fn entry_symbol(&self) -> &'static str {
        self.ready.hardware.entry_symbol()
    }

    /// The API stage.
    pub(super) fn stage(&self) -> Stage {
        self.object.interface.stage
    }

    pub(super) fn data(&self) -> &[DataSection] {
        &self.object.data
    }

    pub(super) fn loads(&self) -> &[LoadReloc] {
        &self.ready.loads
    }

    /// The places that the loads refer to.
    pub(super) fn targets(&self) -> &[DataTarget] {
        &self.object.targets
    }

    /// Index of the body among the parts.
    pub(super) fn body_index(&self) -> usize {
        usize::from(self.ready.prolog().is_some())
    }
}

impl<'a> Unit<'a> {
    /// Collects the parts of a pipeline in an empty unit, which is expensive to copy.
    ///
    /// # Errors
    /// Malformed: stages that do not form a pipeline. Needs a full compile: state that no glue can implement.
    pub(super) fn attach(
        &mut self,
        objects: &[&'a Object],
        state: &PipelineState,
        layout: &ResolvedLayout,
        joints: Joints<'a>,
        begun: Option<&'a Held<'_, Ready>>,
    ) -> Result<()> {
        let mut given = [None; Stage::COUNT];
        for object in objects {
            let stage = object.stage();
            if given[stage as usize].replace(*object).is_some() {
                return Err(Error::malformed(format!("two parts are the {stage} stage")));
            }
        }
        for object in objects {
            StateValues(state).specialization(object).at(|| object.named())?;
        }
        let Some((first, shape)) = shape(&given, state.ngg) else {
            let names: Vec<_> = objects.iter().map(|o| o.stage().name()).collect();
            return Err(Error::malformed(format!("stages [{}] make no pipeline", names.join(", "))));
        };
        same_gpu(first, &given)?;
        self.shape = Some(shape);
        let reader = given.iter().copied().flatten().find(|part| part.stage().reads_parameters());
        let mut begun = begun;
        for (place, stage) in self.stages.iter_mut().zip(shape.stages) {
            let (object, matched) = match part(stage, &given) {
                Some(own) => {
                    let matched = own.stage().feeds_the_rasterizer().then(|| joints.matched(own, reader));
                    (Held::Kept(own), matched.transpose()?)
                }
                None => {
                    let StageInterface { target, wave, .. } = first.interface;
                    (joints.null_fragment(target, wave).at(|| "fragment stage")?, None)
                }
            };
            let ready = match begun.take() {
                Some(begun) => begun.again(),
                None => joints.ready(&object, stage.hardware, layout, state)?,
            };
            *place = Some(UnitStage { object, ready, matched });
        }
        Ok(())
    }
}

/// The parts of a pipeline by API stage.
type Given<'a> = [Option<&'a Object>; Stage::COUNT];

/// The first part, and the shape of the pipeline that these parts make.
fn shape<'a>(given: &Given<'a>, ngg: bool) -> Option<(&'a Object, &'static PipelineShape)> {
    let first = given.iter().copied().flatten().next()?;
    let stages = given.iter().flatten().map(|part| part.stage()).collect();
    let ngg = ngg && given.iter().flatten().all(|part| !part.stage().feeds_the_rasterizer() || part.can_be_ngg());
    Some((first, PipelineShape::of(first.interface.target.family(), stages, ngg)?))
}

/// The hardware stage that runs a part in a pipeline of this state.
pub(super) fn hardware_stage(part: &Object, state: &PipelineState) -> HardwareStage {
    let mut given = [None; Stage::COUNT];
    given[part.stage() as usize] = Some(part);
    let shape = shape(&given, state.ngg).map(|(_, shape)| shape);
    let stage = shape.and_then(|shape| shape.stages.iter().find(|stage| stage.api.contains(&part.stage())));
    stage.map_or(part.interface.hardware_stage(), |stage| stage.hardware)
}

/// The part that runs on a hardware stage.
fn part<'a>(stage: &ShapeStage, given: &Given<'a>) -> Option<&'a Object> {
    stage.api.iter().find_map(|api| given[*api as usize])
}

/// Checks that all parts are for the GPU of the first.
fn same_gpu(first: &Object, given: &Given<'_>) -> Result<()> {
    let target = first.interface.target;
    let others = given.iter().flatten().map(|part| part.interface.target);
    match others.into_iter().find(|other| *other != target) {
        Some(other) => {
            let what = format!("the GPU: {target} and {other}");
            Err(Error::needs_full(FullCompile::Mismatch { what }))
        }
        None => Ok(()),
    }
}
