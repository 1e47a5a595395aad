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
use crate::abi::layout::ResolvedLayout;
use crate::error::{Context, Error, FullCompile, Result};
use crate::glue::GluePiece;
use crate::state::PipelineState;
use crate::target::Stage;

/// All parts of a pipeline.
#[derive(Default)]
pub(super) struct Unit<'a> {
    stages: [Option<UnitStage<'a>>; 2],
}

impl<'a> Unit<'a> {
    /// The stages in order.
    pub(super) fn stages(&self) -> impl Iterator<Item = &UnitStage<'a>> {
        self.stages.iter().flatten()
    }

    /// A stage by its index in that order.
    pub(super) fn stage(&self, index: usize) -> Option<&UnitStage<'a>> {
        self.stages.get(index)?.as_ref()
    }
}

/// The parts of one stage.
pub(super) struct UnitStage<'a> {
    pub object: Held<'a, Object>,
    /// The object with the pipeline's layout, and with its own glue.
    pub ready: Held<'a, Ready>,
    /// Of a vertex stage: its match with the fragment stage.
    pub matched: Option<Held<'a, Match>>,
}

impl UnitStage<'_> {
    /// Gives the parts in the order in which they run, each with its index.
    pub(super) fn each_part<'u>(&'u self, mut to: impl FnMut(usize, CodeRun<'u>) -> Result<()>) -> Result<()> {
        let body = self.body_index();
        if let Some(prolog) = self.ready.prolog() {
            to(0, prolog)?;
        }
        to(body, self.ready.body(&self.object))?;
        if let Some(epilog) = self.ready.epilog() {
            to(body + 1, epilog)?;
        }
        match self.epilog() {
            Some(piece) => to(body + 1, CodeRun::glue(&piece.symbol, &piece.code)),
            None => Ok(()),
        }
    }

    /// The number of parts. Only a fragment stage has an epilog of its own, and only a vertex stage one between the stages.
    pub(super) fn part_count(&self) -> usize {
        self.body_index() + 1 + usize::from(self.ready.epilog().is_some() || self.epilog().is_some())
    }

    /// The glue between the stages: the parameter epilog.
    pub(super) fn epilog(&self) -> Option<&GluePiece> {
        self.matched.as_ref()?.epilog.as_ref()
    }

    /// The stage.
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
        let mut of_stage = [None; 3];
        for object in objects {
            let stage = object.stage();
            let [vertex, fragment, compute] = &mut of_stage;
            let place = match stage {
                Stage::Vertex => vertex,
                Stage::Fragment => fragment,
                Stage::Compute => compute,
            };
            if place.replace(*object).is_some() {
                return Err(Error::malformed(format!("two parts are the {stage} stage")));
            }
        }
        for object in objects {
            StateValues(state).specialization(object).at(|| object.named())?;
        }
        match of_stage {
            [None, None, Some(object)] => {
                let object = Held::Kept(object);
                let ready = joints.ready(&object, layout, state)?;
                self.stages = [Some(UnitStage { object, ready, matched: None }), None];
                Ok(())
            }
            [Some(vertex), fragment, None] => self.graphics(vertex, fragment, state, layout, joints, begun),
            _ => {
                let names: Vec<_> = objects.iter().map(|o| o.stage().name()).collect();
                Err(Error::malformed(format!("stages [{}] make no pipeline", names.join(", "))))
            }
        }
    }

    fn graphics(
        &mut self,
        vertex: &'a Object,
        fragment: Option<&'a Object>,
        state: &PipelineState,
        layout: &ResolvedLayout,
        joints: Joints<'a>,
        begun: Option<&'a Held<'_, Ready>>,
    ) -> Result<()> {
        let target = vertex.interface.target;
        if let Some(other) = fragment.map(|f| f.interface.target).filter(|t| *t != target) {
            let what = format!("the GPU: {target} and {other}");
            return Err(Error::needs_full(FullCompile::Mismatch { what }));
        }
        let matched = Some(joints.matched(vertex, fragment)?);
        let [first, second] = &mut self.stages;
        let object = Held::Kept(vertex);
        let ready = match begun {
            Some(begun) => begun.again(),
            None => joints.ready(&object, layout, state)?,
        };
        *first = Some(UnitStage { object, ready, matched });
        let object = match fragment {
            Some(fragment) => Held::Kept(fragment),
            None => joints.null_fragment(target, vertex.interface.wave).at(|| "fragment stage")?,
        };
        let ready = joints.ready(&object, layout, state)?;
        *second = Some(UnitStage { object, ready, matched: None });
        Ok(())
    }
}
