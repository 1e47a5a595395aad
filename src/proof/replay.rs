//! A bundle, run again: every pipeline on the emulator, and the interpreter, against what was expected; and by who agrees
//! with whom, where to look for the bug.
//!
//! Draws are judged by a plain bound, and without the interpreter, which does not draw.

use super::bundle::{Bundle, Manifest, written_bytes};
use super::driver::Outputs;
use super::judge::{interpreted, judge, known};
use super::pipelines::Pipelines;
use super::plain::{Apart, texels_apart, words_apart};
use super::world::{Known, world};
use crate::compile::Compiler;
use crate::compile::request::CompilerId;
use crate::compile::spirv::{reflect, translate};
use crate::emu::inputs::{Bound, Draw, Inputs};
use crate::emu::{self, Limits};
use crate::error::{Error, Result};
use crate::ir::Shader;
use crate::ir::interp::{Options, Watch, Writer, dispatch};
use crate::pipeline::ShaderRef;
use crate::target::Stage;
use serde::Serialize;
use std::fmt;

/// Instructions after which a run is given up, so that smaller inputs never make a longer run.
const LIMIT: u64 = 200_000_000;

/// What an implementation left, against what was expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The same, within the bounds.
    Agrees,
    /// Something else.
    Differs(Difference),
    /// Nothing: why it did not run to its end.
    Fails(String),
}

/// Something that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
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
}

/// Where two differ, and how much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The first place that differs.
    pub place: Place,
    /// Values in it that differ.
    pub count: usize,
    /// The first of them: byte, or of attachments x and y.
    pub at: Vec<usize>,
    /// What is there.
    pub ours: Vec<f64>,
    /// What was expected there.
    pub expected: Vec<f64>,
    /// How far they may be apart, where the interpreter knows.
    pub limit: Option<f64>,
    /// Who wrote it, where the interpreter knows.
    pub writer: Option<Writer>,
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Nothing is wrong any more.
    None,
    /// The interpreter has what was expected; every pipeline, or the whole one, has not: lowering, code generation, or the
    /// emulator.
    CodeGeneration,
    /// The whole pipeline has what was expected, a linked one has not: glue, linker, or an early compile.
    Linking,
    /// Pipelines and interpreter agree with each other, and not with the judge: the front end, or the judge.
    FrontEndOrJudge,
    /// Nobody agrees with anybody.
    Several,
    /// The interpreter has no answer, and every route is wrong.
    Unknown,
}

/// What came of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replay {
    /// Each pipeline on the emulator.
    pub routes: Vec<(&'static str, Answer)>,
    /// The interpreter, against the same.
    pub interpreter: Answer,
    /// Where to look.
    pub cause: Cause,
}

/// A bundle's pipelines, made, and its shader for the interpreter.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The pipelines.
    pub pipelines: Pipelines,
    /// What compiled them.
    pub compiler: CompilerId,
    manifest: Manifest,
    compute: Option<Shader>,
}

impl Runner {
    /// Compiles and links.
    ///
    /// # Errors
    /// What the compiler or the linker says.
    pub fn new(bundle: &Bundle, compiler: &dyn Compiler) -> Result<Self> {
        let (mut shaders, mut compute) = (Vec::new(), None);
        for (entry, module) in bundle.manifest.stages.iter().zip(&bundle.modules) {
            let spec_ids: Vec<u32> = reflect(module)?.spec_constants.iter().map(|c| c.id).collect();
            if entry.stage == Stage::Compute {
                let value = |id: &u32| Some((*id, bundle.state.specialized(entry.stage, *id)?));
                let spec: Vec<_> = spec_ids.iter().filter_map(value).collect();
                compute = Some(translate(module, &entry.entry_point, entry.stage, &spec)?);
            }
            let entry_point = entry.entry_point.clone();
            shaders.push(ShaderRef { module, entry_point, stage: entry.stage, wave: entry.wave, spec_ids });
        }
        let options = bundle.manifest.options.clone();
        let pipelines = Pipelines::tuned(shaders, bundle.state.clone(), options, compiler)?;
        Ok(Self { pipelines, compiler: compiler.id().clone(), manifest: bundle.manifest.clone(), compute })
    }

    /// Runs every pipeline and the interpreter, and holds them against what was expected.
    ///
    /// # Errors
    /// Inputs that are none.
    pub fn run(&self, inputs: &Inputs, expected: &Outputs) -> Result<Replay> {
        let against = Against { runner: self, inputs, expected, known: self.known(inputs) };
        let exact = known(inputs, &world(inputs)?)?;
        let interpreter = match &against.known {
            Ok(known) => {
                let bytes = known.iter().map(|k| k.as_ref().map_or(Ok(Vec::new()), Known::bytes));
                against.bindings(known, &bytes.collect::<Result<Vec<_>>>()?)
            }
            Err(why) => Answer::Fails(why.to_string()),
        };
        let (mut routes, mut with_interpreter) = (Vec::new(), true);
        for (name, elf) in &self.pipelines.elfs {
            let left = match self.pipelines.run(elf, inputs, Limits { instructions: LIMIT }) {
                Ok(left) => left,
                Err(e) => {
                    with_interpreter = false;
                    routes.push((*name, Answer::Fails(e.to_string())));
                    continue;
                }
            };
            let answer = match (&inputs.draw, &against.known) {
                (Some(draw), _) => against.draw(draw, &left)?,
                (None, Ok(known)) => {
                    let answer = against.bindings(known, &left.bindings);
                    if answer != Answer::Agrees {
                        let of = |k: &Option<Known>| k.as_ref().map_or(Ok(Vec::new()), Known::bytes);
                        let theirs = known.iter().map(of).collect::<Result<Vec<_>>>()?;
                        with_interpreter &= judge(self.manifest.floor, inputs, known, &left.bindings, &theirs).is_ok();
                    }
                    answer
                }
                (None, Err(_)) => against.bindings(&exact, &left.bindings),
            };
            routes.push((*name, answer));
        }
        let cause = cause(&routes, &interpreter, with_interpreter);
        Ok(Replay { routes, interpreter, cause })
    }

    /// What the interpreter knows of a compute shader's results.
    fn known(&self, inputs: &Inputs) -> Result<Vec<Option<Known>>> {
        let ir = self.compute.as_ref();
        let ir = ir.ok_or_else(|| Error::unsupported("drawing", "the interpreter runs compute shaders"))?;
        interpreted(ir, inputs, Options { shadow: true, ..self.options() })
    }

    fn options(&self) -> Options {
        let lanes = self.manifest.stages.first().map_or(32, |entry| entry.wave.lanes());
        Options { subgroup_size: lanes, limit: LIMIT, shadow: false }
    }

    /// Which invocation wrote a byte of a buffer, by the interpreter.
    fn writer(&self, inputs: &Inputs, place: (u32, u32, u32), byte: usize) -> Option<Writer> {
        let mut world = world(inputs).ok()?;
        world.watch = Some(Watch { place, byte: byte as u64, writer: None });
        dispatch(self.compute.as_ref()?, &mut world, inputs.grid, self.options()).ok()?;
        world.watch?.writer
    }
}

/// What results are held against.
struct Against<'a> {
    runner: &'a Runner,
    inputs: &'a Inputs,
    expected: &'a Outputs,
    known: Result<Vec<Option<Known>>>,
}

impl Against<'_> {
    fn bindings(&self, known: &[Option<Known>], ours: &[Vec<u8>]) -> Answer {
        match judge(self.runner.manifest.floor, self.inputs, known, ours, &self.expected.bindings) {
            Ok(_) => Answer::Agrees,
            Err(found) => {
                let (set, binding, element) = found.place;
                Answer::Differs(Difference {
                    place: Place::Binding { set, binding, element },
                    count: found.count,
                    at: vec![found.first.at],
                    ours: vec![found.first.ours],
                    expected: vec![found.first.theirs],
                    limit: Some(found.first.limit),
                    writer: self.runner.writer(self.inputs, found.place, found.first.at),
                })
            }
        }
    }

    fn draw(&self, draw: &Draw, left: &emu::Outcome) -> Result<Answer> {
        let Some(targets) = &left.targets else { return Err(Error::bug("a draw without attachments")) };
        let edges = self.runner.manifest.edges;
        let differs = |place, apart: Vec<Apart>, channels: usize, at: &dyn Fn(usize) -> Vec<usize>| {
            let first = apart.first()?;
            Some(Answer::Differs(Difference {
                place,
                count: apart.len(),
                at: at(first.at),
                ours: first.ours.iter().take(channels).copied().collect(),
                expected: first.theirs.iter().take(channels).copied().collect(),
                limit: None,
                writer: None,
            }))
        };
        let width = (draw.extent[0] as usize).max(1);
        let pixel = |n: usize| vec![n % width, n / width];
        let few = |apart: Vec<Apart>| if apart.len() <= edges { Vec::new() } else { apart };
        for (target, theirs) in targets.colors.iter().zip(&self.expected.targets) {
            let apart = few(whole(&target.data, theirs, |a, b| texels_apart(&target.state.format, a, b))?);
            if let Some(answer) = differs(Place::Target(target.state.location), apart, 4, &pixel) {
                return Ok(answer);
            }
        }
        if let Some(depth) = &targets.depth {
            let bytes: Vec<u8> = depth.data.iter().flat_map(|z| z.to_le_bytes()).collect();
            let apart = few(whole(&bytes, &self.expected.depth, |a, b| texels_apart("R32_SFLOAT", a, b))?);
            if let Some(answer) = differs(Place::Depth, apart, 1, &pixel) {
                return Ok(answer);
            }
        }
        for ((b, ours), theirs) in self.inputs.bindings.iter().zip(&left.bindings).zip(&self.expected.bindings) {
            let place = Place::Binding { set: b.set, binding: b.binding, element: b.element };
            let texels = |format: &str| whole(ours, theirs, |a, b| texels_apart(format, a, b));
            let apart = match &b.bound {
                _ if written_bytes(&b.bound).is_none() => continue,
                Bound::StorageImage(image) => texels(&image.format)?,
                Bound::StorageTexelBuffer(buffer) => texels(&buffer.format)?,
                _ => whole(ours, theirs, |a, b| Ok(words_apart(a, b)))?,
            };
            let each = ours.len() / texels_of(&b.bound, ours.len()).max(1);
            if let Some(answer) = differs(place, apart, 4, &|n| vec![n * each]) {
                return Ok(answer);
            }
        }
        Ok(Answer::Agrees)
    }
}

/// What [`Apart`] counts in a binding.
fn texels_of(bound: &Bound, bytes: usize) -> usize {
    let format = match bound {
        Bound::StorageImage(image) => &image.format,
        Bound::StorageTexelBuffer(texels) => &texels.format,
        _ => return bytes / 4,
    };
    emu::NamedFormat::new(format).map_or(bytes, |format| bytes / format.format.bytes().max(1))
}

/// Compares if there is as much of both.
fn whole(ours: &[u8], theirs: &[u8], compare: impl FnOnce(&[u8], &[u8]) -> Result<Vec<Apart>>) -> Result<Vec<Apart>> {
    if ours.len() != theirs.len() {
        return Err(Error::malformed(format!("expected are {} bytes, a run leaves {}", theirs.len(), ours.len())));
    }
    compare(ours, theirs)
}

/// By who agrees with what is expected; `with_interpreter`: every route that does not agrees with the interpreter.
fn cause(routes: &[(&str, Answer)], interpreter: &Answer, with_interpreter: bool) -> Cause {
    let agrees = |answer: &Answer| *answer == Answer::Agrees;
    let whole = routes.iter().find(|(name, _)| *name == "whole").map(|(_, answer)| answer);
    if routes.iter().all(|(_, answer)| agrees(answer)) {
        return Cause::None;
    }
    match interpreter {
        Answer::Agrees | Answer::Fails(_) if whole.is_some_and(agrees) => Cause::Linking,
        Answer::Agrees => Cause::CodeGeneration,
        Answer::Differs(_) if with_interpreter => Cause::FrontEndOrJudge,
        Answer::Differs(_) => Cause::Several,
        Answer::Fails(_) => Cause::Unknown,
    }
}

impl Replay {
    /// Every route left what was expected.
    pub fn agrees(&self) -> bool {
        self.cause == Cause::None
    }

    /// What makes two failures the same one: the cause, the routes and the place that differs, whatever the values.
    pub fn same_failure(&self, other: &Self) -> bool {
        let differs = |answer: &Answer| match answer {
            Answer::Agrees => None,
            Answer::Differs(d) => Some(Some(d.place)),
            Answer::Fails(_) => Some(None),
        };
        let shape =
            |replay: &Self| replay.routes.iter().map(|(name, answer)| (*name, differs(answer))).collect::<Vec<_>>();
        !self.agrees() && self.cause == other.cause && shape(self) == shape(other)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agrees => f.write_str("agrees"),
            Self::Differs(difference) => write!(f, "differs: {difference}"),
            Self::Fails(why) => write!(f, "fails: {why}"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, count, at, ours, expected, limit, writer } = self;
        let number = |x: &[f64]| match x {
            [one] => one.to_string(),
            // Texels have no more digits than a float of 32 bits.
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
        if let Some(Writer { workgroup, local }) = writer {
            write!(f, "; written by invocation {local:?} of workgroup {workgroup:?}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binding { set, binding, element: 0 } => write!(f, "set {set}, binding {binding}"),
            Self::Binding { set, binding, element } => write!(f, "set {set}, binding {binding}, element {element}"),
            Self::Target(location) => write!(f, "target {location}"),
            Self::Depth => f.write_str("depth"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "nothing differs",
            Self::CodeGeneration => {
                "the interpreter has what was expected: the fault is in lowering, code generation or the emulator"
            }
            Self::Linking => {
                "the whole pipeline has what was expected: the fault is in an early compile, the glue or the linker"
            }
            Self::FrontEndOrJudge => {
                "the interpreter has what the pipelines have: the fault is in the front end, or with the judge"
            }
            Self::Several => "the interpreter agrees with neither: more than one fault, or results that are free",
            Self::Unknown => "the interpreter has no answer, and every route is wrong: the fault may be anywhere",
        })
    }
}
