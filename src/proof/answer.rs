//! The verdict of a replay: which implementations give the expected output, how the others differ, and the likely
//! cause.

use dovetail_interp::{Race, WriterInvocation};
use serde::Serialize;
use std::fmt;

/// Output of an implementation, compared with the expected one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedOutput {
    /// Equal within the bounds.
    Agrees,
    /// Different.
    Differs(Finding),
    /// No output: the reason why it did not finish.
    Fails(String),
}

/// A result that a run can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultPlace {
    /// A buffer or an image.
    Binding {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Array element.
        element: u32,
    },
    /// The colour attachment of a location.
    Target(u32),
    /// The depth attachment.
    Depth,
    /// The stencil attachment.
    Stencil,
}

/// A difference: its location and size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The first result that differs.
    pub place: ResultPlace,
    /// Number of values that differ in this result.
    pub count: usize,
    /// Position of the first value that differs: byte offset, or x and y in an attachment.
    pub at: Vec<usize>,
    /// Our values.
    pub ours: Vec<f64>,
    /// Expected values.
    pub expected: Vec<f64>,
    /// Allowed difference; `None`: the interpreter does not know it.
    pub limit: Option<f64>,
    /// The invocation that wrote the value; `None`: the interpreter does not know it.
    pub writer: Option<WriterInvocation>,
    /// A data race of the shader: then the value may be its result in another order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<Race>,
}

/// Likely location of the bug.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Nothing fails any more.
    None,
    /// Routes only differ, and the shader has a data race.
    Race,
    /// Routes only differ, and the dispatch leaves something else if its invocations run in the opposite order, for
    /// example because an atomic operation gives each its place.
    Order,
    /// The interpreter is right, the pipeline compiled as a whole is wrong: lowering, code generation, or the emulator.
    CodeGeneration,
    /// The interpreter is right, a linked pipeline is wrong, and there is no result of the whole-pipeline compile.
    BelowFrontEnd,
    /// The pipeline compiled as a whole is right, a linked one is wrong: glue, linker, or a separate compile.
    Linking,
    /// Interpreter and wrong routes agree with each other, but not with the reference: the front end, or the reference.
    FrontEndOrJudge,
    /// The interpreter is wrong, and a wrong route differs from it.
    Several,
    /// The interpreter gives no result, and the pipeline compiled as a whole is wrong or has no result.
    Unknown,
}

/// Result of running a bundle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replay {
    /// By route: the output of its pipeline on the emulator, compared with the expected one.
    pub routes: Vec<(&'static str, ComparedOutput)>,
    /// The interpreter, compared with the same expected output.
    pub interpreter: ComparedOutput,
    /// Likely location of the bug.
    pub cause: Cause,
    /// Pixel counts of a draw with one sample and one layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pixels: Option<Pixels>,
    /// Attachments that are undefined where the draw covers them, because the fragment shader has no such output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<ResultPlace>,
}

/// Pixels of a draw, counted in the expected output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pixels {
    /// Pixels that the draw changed, in any attachment.
    pub changed: usize,
    /// Of these, pixels so near to an edge of a primitive that they may be covered or not: they are not compared.
    pub edges: usize,
    /// Number of differing pixels at edges, whether the draw changed them or not, in the route with the most of them.
    pub apart: usize,
}

impl Cause {
    /// Derives the cause; `with_interpreter`: every wrong route agrees with the interpreter; `by_order`: whether the result
    /// depends on the order of invocations.
    pub(super) fn of(
        routes: &[(&str, ComparedOutput)],
        interpreter: &ComparedOutput,
        with_interpreter: bool,
        by_order: impl FnOnce() -> bool,
    ) -> Self {
        let agrees = |answer: &ComparedOutput| *answer == ComparedOutput::Agrees;
        let whole = routes.iter().find(|(name, _)| *name == "whole").map(|(_, answer)| answer);
        if routes.iter().all(|(_, answer)| agrees(answer)) {
            return Self::None;
        }
        let racy = |answer: &ComparedOutput| matches!(answer, ComparedOutput::Differs(found) if found.race.is_some());
        if routes.iter().all(|(_, answer)| agrees(answer) || racy(answer)) {
            return Self::Race;
        }
        let fails = |answer: &ComparedOutput| matches!(answer, ComparedOutput::Fails(_));
        if !routes.iter().any(|(_, answer)| fails(answer)) && by_order() {
            return Self::Order;
        }
        match interpreter {
            ComparedOutput::Agrees | ComparedOutput::Fails(_) if whole.is_some_and(agrees) => Self::Linking,
            ComparedOutput::Agrees if whole.is_none() => Self::BelowFrontEnd,
            ComparedOutput::Agrees => Self::CodeGeneration,
            ComparedOutput::Differs(_) if with_interpreter => Self::FrontEndOrJudge,
            ComparedOutput::Differs(_) => Self::Several,
            ComparedOutput::Fails(_) => Self::Unknown,
        }
    }
}

impl Replay {
    /// Whether every route gave the expected output.
    pub fn agrees(&self) -> bool {
        self.cause == Cause::None
    }

    /// Whether no changed pixel could be compared.
    pub fn proves_nothing(&self) -> bool {
        self.pixels.is_some_and(|pixels| pixels.changed == pixels.edges)
    }

    /// Whether two failures have the same cause, the same routes and the same differing result; the values may differ.
    pub fn same_failure(&self, other: &Self) -> bool {
        let differs = |answer: &ComparedOutput| match answer {
            ComparedOutput::Agrees => None,
            ComparedOutput::Differs(found) => Some(Some(found.place)),
            ComparedOutput::Fails(_) => Some(None),
        };
        let shape =
            |replay: &Self| replay.routes.iter().map(|(name, answer)| (*name, differs(answer))).collect::<Vec<_>>();
        !self.agrees() && self.cause == other.cause && shape(self) == shape(other)
    }
}

impl fmt::Display for ComparedOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agrees => f.write_str("agrees"),
            Self::Differs(found) => match found.race {
                Some(race) => write!(f, "racy: {race}; {found}"),
                None => write!(f, "differs: {found}"),
            },
            Self::Fails(why) => write!(f, "fails: {why}"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, count, at, ours, expected, limit, writer, race: _ } = self;
        let number = |x: &[f64]| match x {
            [one] => one.to_string(),
            // Texels have no more digits than an f32 holds.
            several => format!("{:?}", several.iter().map(|x| *x as f32).collect::<Vec<_>>()),
        };
        let plural = if *count == 1 { "value" } else { "values" };
        write!(f, "{count} {plural}, the first in {place} at ")?;
        match at[..] {
            [x, y] => write!(f, "pixel {x}, {y}")?,
            _ => write!(f, "byte {}", at.first().copied().unwrap_or(0))?,
        }
        write!(f, ": {}, expected {}", number(ours), number(expected))?;
        if let Some(limit) = limit.filter(|limit| *limit != 0.0) {
            write!(f, " ± {limit:e}")?;
        }
        if let Some(WriterInvocation { workgroup, local }) = writer {
            write!(f, "; written by invocation {local:?} of workgroup {workgroup:?}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Pixels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { changed, edges, apart } = self;
        write!(f, "{changed} changed, {edges} of them at edges and not judged; {apart} at edges differ")?;
        if changed == edges { f.write_str(": proves nothing") } else { Ok(()) }
    }
}

impl fmt::Display for ResultPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binding { set, binding, element: 0 } => write!(f, "set {set}, binding {binding}"),
            Self::Binding { set, binding, element } => write!(f, "set {set}, binding {binding}, element {element}"),
            Self::Target(location) => write!(f, "target {location}"),
            Self::Depth => f.write_str("depth"),
            Self::Stencil => f.write_str("stencil"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "every pipeline gives the expected output",
            Self::Race => "the shader has a data race: what differs may be its result in another order",
            Self::Order => "the result depends on the order of invocations: what differs may be its result in another order",
            Self::CodeGeneration => {
                "the interpreter gives the expected output: the fault is in lowering, code generation or the emulator"
            }
            Self::BelowFrontEnd => {
                "the interpreter has the expected result: run the whole route too, to see where the fault is"
            }
            Self::Linking => {
                "the whole pipeline has the expected result: the fault is in the compile in advance, the glue or the linker"
            }
            Self::FrontEndOrJudge => {
                "the interpreter has what the pipelines have: the fault is in the front end, or with the judge"
            }
            Self::Several => "the interpreter agrees with neither: more than one fault, or results that are free",
            Self::Unknown => "the interpreter has no answer, and every route is wrong: the fault may be anywhere",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(byte: usize) -> ComparedOutput {
        let place = ResultPlace::Binding { set: 0, binding: 1, element: 0 };
        let (ours, expected) = (vec![1.0], vec![2.0]);
        let at = vec![byte];
        ComparedOutput::Differs(Finding { place, count: 1, at, ours, expected, limit: None, writer: None, race: None })
    }

    fn replay(
        linked: ComparedOutput,
        whole: ComparedOutput,
        interpreter: ComparedOutput,
        with_interpreter: bool,
    ) -> Replay {
        let routes = vec![("linked", linked), ("whole", whole)];
        let cause = Cause::of(&routes, &interpreter, with_interpreter, || false);
        Replay { routes, interpreter, cause, pixels: None, undefined: Vec::new() }
    }

    #[test]
    fn who_agrees_with_whom_says_where_to_look() {
        use ComparedOutput::Agrees;
        let fails = || ComparedOutput::Fails("limit".into());
        for (linked, whole, interpreter, with_interpreter, cause) in [
            (Agrees, Agrees, wrong(4), true, Cause::None),
            (wrong(4), Agrees, Agrees, false, Cause::Linking),
            (fails(), Agrees, fails(), false, Cause::Linking),
            (Agrees, wrong(4), Agrees, false, Cause::CodeGeneration),
            (wrong(4), fails(), Agrees, false, Cause::CodeGeneration),
            (wrong(4), wrong(4), wrong(4), true, Cause::FrontEndOrJudge),
            (wrong(4), wrong(8), wrong(4), false, Cause::Several),
            (wrong(4), wrong(4), fails(), true, Cause::Unknown),
        ] {
            let found = replay(linked, whole, interpreter, with_interpreter);
            assert_eq!(found.cause, cause, "{found:?}");
        }
    }

    #[test]
    fn the_order_of_invocations_is_a_cause_if_every_route_gives_a_result() {
        use ComparedOutput::Agrees;
        let fails = || ComparedOutput::Fails("limit".into());
        for (linked, whole, cause) in [
            (Agrees, Agrees, Cause::None),
            (wrong(4), Agrees, Cause::Order),
            (wrong(4), wrong(8), Cause::Order),
            (wrong(4), fails(), Cause::CodeGeneration),
        ] {
            let routes = [("linked", linked), ("whole", whole)];
            assert_eq!(Cause::of(&routes, &Agrees, false, || true), cause, "{routes:?}");
        }
    }

    #[test]
    fn a_failure_is_the_same_by_place_and_cause() {
        let first = replay(wrong(4), ComparedOutput::Agrees, ComparedOutput::Agrees, false);
        assert!(
            replay(wrong(8), ComparedOutput::Agrees, ComparedOutput::Agrees, false).same_failure(&first),
            "other values"
        );
        assert!(
            !replay(wrong(4), wrong(4), ComparedOutput::Agrees, false).same_failure(&first),
            "another route fails too"
        );
        assert!(
            !replay(ComparedOutput::Fails(String::new()), ComparedOutput::Agrees, ComparedOutput::Agrees, false)
                .same_failure(&first)
        );
        let right = replay(ComparedOutput::Agrees, ComparedOutput::Agrees, ComparedOutput::Agrees, true);
        assert!(!right.same_failure(&right), "nothing fails");
    }
}
