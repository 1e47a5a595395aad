//! Collects objects and glue into a [`Unit`]: for each stage, its parts in the order in which they run.
//!
//! After this step the parts and their order are final. Pieces of glue come from a [`GlueSource`](super::GlueSource),
//! or from the plans of earlier links ([`super::plans`]).

use super::bound::Bound;
use super::held::Held;
use super::input::{DWORD, DataSection, LoadReloc, Object, Patch};
use super::plans::Joints;
use super::resolve::StateValues;
use crate::abi::layout::ResolvedLayout;
use crate::abi::params::{Controls, ParamPlan};
use crate::error::{Context, Error, FullCompile, Result};
use crate::glue::GluePiece;
use crate::metadata::interface::{ExportedFormats, FragmentInput, ParamConstant, StageInterface, StageKind};
use crate::state::PipelineState;
use crate::target::Stage;

/// All parts of a pipeline.
pub(super) struct Unit<'a> {
    stages: [Option<UnitStage<'a>>; 2],
    /// `SPI_PS_INPUT_CNTL` from 0 on; at least one.
    pub controls: Controls,
    /// Attributes of the fragment shader.
    pub attributes: u32,
    /// Number of parameter slots exported.
    pub slots: u32,
    /// Export formats of colours, for the register words.
    pub formats: ExportedFormats,
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

/// The results that a [`super::VertexHalf`] has already computed.
pub(super) struct Begun<'a> {
    pub prolog: Option<Held<'a, GluePiece>>,
    pub bound: Held<'a, Bound>,
}

/// The parts of one stage.
pub(super) struct UnitStage<'a> {
    pub object: Held<'a, Object>,
    /// The object with the pipeline's layout.
    pub bound: Held<'a, Bound>,
    pub prolog: Option<Held<'a, GluePiece>>,
    pub epilog: Option<Held<'a, GluePiece>>,
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

impl UnitStage<'_> {
    /// The parts in the order in which they run.
    pub(super) fn parts(&self) -> impl Iterator<Item = CodeRun<'_>> {
        let body = CodeRun {
            symbol: self.object.interface.body_symbol(),
            code: &self.bound.code,
            align: self.object.code_align,
            patches: &self.bound.late,
        };
        let before = self.prolog.as_deref().map(glue_part);
        let after = self.epilog.as_deref().map(glue_part);
        before.into_iter().chain([body]).chain(after)
    }

    /// The number of parts.
    pub(super) fn part_count(&self) -> usize {
        self.body_index() + 1 + usize::from(self.epilog.is_some())
    }

    /// The pieces of glue.
    pub(super) fn glue(&self) -> impl Iterator<Item = &GluePiece> {
        self.prolog.as_deref().into_iter().chain(self.epilog.as_deref())
    }

    /// The stage.
    pub(super) fn stage(&self) -> Stage {
        self.object.interface.stage
    }

    pub(super) fn data(&self) -> &[DataSection] {
        &self.object.data
    }

    pub(super) fn loads(&self) -> &[LoadReloc] {
        &self.bound.loads
    }

    /// Index of the body among the parts.
    pub(super) fn body_index(&self) -> usize {
        usize::from(self.prolog.is_some())
    }
}

fn glue_part(piece: &GluePiece) -> CodeRun<'_> {
    CodeRun { symbol: &piece.symbol, code: &piece.code, align: DWORD, patches: &[] }
}

/// Collects the parts of a pipeline.
///
/// # Errors
/// Malformed: stages that do not form a pipeline. Needs a full compile: state that no glue can implement.
pub(super) fn attach<'a>(
    objects: &[&'a Object],
    state: &PipelineState,
    layout: &ResolvedLayout,
    joints: Joints<'a>,
    begun: Option<&'a Begun<'_>>,
) -> Result<Unit<'a>> {
    let find = |stage: Stage| -> Result<Option<&'a Object>> {
        let mut of_stage = objects.iter().filter(|o| o.stage() == stage);
        match (of_stage.next(), of_stage.next()) {
            (Some(_), Some(_)) => Err(Error::malformed(format!("two parts are the {stage} stage"))),
            (found, _) => Ok(found.copied()),
        }
    };
    let (vertex, fragment, compute) = (find(Stage::Vertex)?, find(Stage::Fragment)?, find(Stage::Compute)?);
    for object in objects {
        StateValues(state).specialization(object).at(|| named(object))?;
    }
    match (vertex, fragment, compute) {
        (None, None, Some(object)) => {
            let object = Held::Kept(object);
            let bound = joints.bound(&object, layout).at(|| named(&object))?;
            let stage = UnitStage { object, bound, prolog: None, epilog: None };
            let (controls, formats) = (Controls::new(), ExportedFormats::default());
            Ok(Unit { stages: [Some(stage), None], controls, attributes: 0, slots: 0, formats })
        }
        (Some(vertex), fragment, None) => graphics(vertex, fragment, state, layout, joints, begun),
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
    layout: &ResolvedLayout,
    joints: Joints<'a>,
    begun: Option<&'a Begun<'_>>,
) -> Result<Unit<'a>> {
    let target = vertex.interface.target;
    if let Some(other) = fragment.map(|f| f.interface.target).filter(|t| *t != target) {
        let what = format!("the GPU: {target} and {other}");
        return Err(Error::needs_full(FullCompile::Mismatch { what }));
    }
    let (inputs, constants) = match fragment.map(|f| &f.interface.kind) {
        Some(StageKind::Fragment(fragment)) => (&fragment.inputs[..], &fragment.constants[..]),
        _ => (&[][..], &[][..]),
    };
    check_partners(&vertex.interface, inputs, constants)?;
    let mut params = ParamPlan::default();
    params.fill(inputs, &vertex.params)?;
    let at = || "vertex stage";
    let prolog = match begun {
        Some(begun) => begun.prolog.as_ref().map(Held::again),
        None => joints.prolog(vertex, &state.vertex).at(at)?,
    };
    let epilog = joints.params(vertex, &params).at(at)?;
    let (object, colors) = match fragment {
        Some(fragment) => {
            let colors = joints.colors(fragment, &state.color).at(|| "fragment stage")?;
            (Held::Kept(fragment), Some(colors))
        }
        None => (joints.null_fragment(target, vertex.interface.wave).at(|| "fragment stage")?, None),
    };
    let vertex = Held::Kept(vertex);
    let bound = match begun {
        Some(begun) => begun.bound.again(),
        None => joints.bound(&vertex, layout).at(|| named(&vertex))?,
    };
    let first = UnitStage { object: vertex, bound, prolog, epilog };
    let bound = joints.bound(&object, layout).at(|| named(&object))?;
    let formats = colors.as_ref().map_or(ExportedFormats::default(), |colors| colors.formats);
    let epilog = match &colors {
        Some(Held::Kept(kept)) => kept.piece.as_deref().map(Held::Kept),
        Some(Held::Made(made)) => made.piece.clone().map(Held::Made),
        None => None,
    };
    let second = UnitStage { object, bound, prolog: None, epilog };
    let attributes = u32::try_from(params.attributes.len()).unwrap_or(u32::MAX);
    let (controls, slots) = (params.control_words(), params.slots);
    Ok(Unit { stages: [Some(first), Some(second)], controls, attributes, slots, formats })
}

/// A part's name in errors.
pub(super) fn named(object: &Object) -> String {
    format!("{} stage `{}`", object.stage(), object.interface.entry_point)
}

/// Checks that a stage compiled for one partner has that partner.
///
/// # Errors
/// Needs a full compile: the vertex stage was compiled for other reads, or the fragment stage for other constants.
fn check_partners(vertex: &StageInterface, inputs: &[FragmentInput], constants: &[ParamConstant]) -> Result<()> {
    let StageKind::Vertex(vertex) = &vertex.kind else { return Ok(()) };
    let mismatch = |what: &str| Err(Error::needs_full(FullCompile::Mismatch { what: what.to_owned() }));
    match &vertex.made_for {
        Some(reads) if reads.inputs == inputs && reads.constants == constants => Ok(()),
        Some(_) => mismatch("the fragment shader: the vertex stage was compiled for another"),
        None if constants.iter().all(|constant| vertex.constants().any(|written| written == *constant)) => Ok(()),
        None => mismatch("the constants between them: the fragment stage was compiled for another vertex shader"),
    }
}
