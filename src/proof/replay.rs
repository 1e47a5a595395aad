//! Runs a bundle again: every pipeline on the emulator, and the interpreter, each compared with the expected output.
//! Which of them agree tells where the bug probably is.
//!
//! The interpreter's bounds give the allowed difference. If the interpreter has no result, as for draws with early tests
//! or with too many fragments, a plain bound applies to pixels that are not at edges; the interpreter then runs
//! only the pixels that exceed it.

use super::answer::{Cause, ComparedOutput, Finding, Pixels, Replay, ResultPlace};
use super::bundle::{Bundle, Manifest, written_bytes};
use super::drawn::{self, interpreted_pixels};
use super::driver::Outputs;
use super::judge::interpreted;
use super::pipelines::Pipelines;
use super::plain::{texels_apart, words_apart};
use super::world::{KnownContents, world};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_compile::Compiler;
use dovetail_compile::request::CompilerId;
use dovetail_emu as emu;
use dovetail_emu::draw::Targets;
use dovetail_emu::inputs::{BindingElement, Bound, Inputs};
use dovetail_emu::{NamedFormat, RunLimits};
use dovetail_interp::{Difference, Options, Race, Races, WatchedByte, WriterInvocation, dispatch};
use dovetail_ir::{Op, OutputSlot, Shader};
use dovetail_pipeline::ShaderRef;
use dovetail_spirv::{reflect, translate_judged};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// Instruction limits of the emulator and of the interpreter: smaller inputs may run longer.
const EMULATED: u64 = 200_000_000;
const INTERPRETED: u64 = 20_000_000;

/// The pipelines of a bundle, and its shaders for the interpreter.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The pipelines.
    pub pipelines: Pipelines,
    /// Their compiler.
    pub compiler: CompilerId,
    manifest: Manifest,
    shaders: Vec<Shader>,
}

impl Runner {
    /// Compiles and links.
    ///
    /// # Errors
    /// Errors of the compiler or the linker.
    pub fn new(bundle: &Bundle, compiler: &dyn Compiler) -> Result<Self> {
        let (mut sources, mut shaders) = (Vec::new(), Vec::new());
        for (entry, module) in bundle.manifest.stages.iter().zip(&bundle.modules) {
            let spec_ids: Vec<u32> = reflect(module)?.spec_constants.iter().map(|c| c.id).collect();
            let value = |id: &u32| Some((*id, bundle.state.specialized(entry.stage, *id)?));
            let spec: Vec<_> = spec_ids.iter().filter_map(value).collect();
            shaders.push(translate_judged(module, &entry.entry_point, entry.stage, &spec)?);
            let source = ShaderRef::new(module, &entry.entry_point, entry.stage, entry.wave);
            sources.push(source.with_spec_ids(spec_ids));
        }
        let options = bundle.manifest.options.clone();
        let pipelines = Pipelines::tuned(sources, bundle.state.clone(), bundle.manifest.target, options, compiler)?;
        Ok(Self { pipelines, compiler: compiler.id().clone(), manifest: bundle.manifest.clone(), shaders })
    }

    /// Runs every pipeline and the interpreter, and compares them with the expected output.
    ///
    /// # Errors
    /// Invalid inputs; expected contents of another size.
    pub fn run(&self, inputs: &Inputs, expected: &Outputs) -> Result<Replay> {
        let places = places(inputs);
        let known = self.known(inputs);
        let edges = self.edges(inputs);
        let own =
            known.as_ref().map_err(Error::clone).and_then(|known| known.iter().map(KnownContents::bytes).collect());
        let own: Result<Vec<Vec<u8>>> = own;
        let expected = contents(inputs, expected);
        let compare = |ours: &[&[u8]], theirs: &[&[u8]]| -> Result<ComparedOutput> {
            for (n, ((place, format), (ours, theirs))) in places.iter().zip(ours.iter().zip(theirs)).enumerate() {
                let known = known.as_ref().ok().and_then(|known| known.get(n));
                let of = Compared { n, place: *place, format: format.as_deref(), known, edges: &edges };
                if let Some(found) = self.compare(inputs, of, [ours, theirs])? {
                    return Ok(ComparedOutput::Differs(found));
                }
            }
            Ok(ComparedOutput::Agrees)
        };
        let race = OnceCell::new();
        let interpreter = match &own {
            Ok(own) => self.traced(inputs, &race, compare(&slices(own), &expected)?),
            Err(why) => ComparedOutput::Fails(why.to_string()),
        };
        let undefined = self.undefined(inputs);
        let mut pixels = pixels(inputs, (&places, &undefined), &expected, &edges)?;
        let (mut routes, mut with_interpreter) = (Vec::new(), true);
        for (name, elf) in self.pipelines.elfs_for(inputs) {
            let answer =
                match self.pipelines.run(elf, inputs, RunLimits { instructions: EMULATED, ..RunLimits::default() }) {
                    Ok(left) => {
                        let left = outputs(left);
                        let ours = contents(inputs, &left);
                        let answer = compare(&ours, &expected)?;
                        if let Some(pixels) = &mut pixels {
                            pixels.apart =
                                pixels.apart.max(apart_at_edges(inputs, &places, [&ours, &expected], &edges)?);
                        }
                        if let (Ok(own), true) = (&own, answer != ComparedOutput::Agrees) {
                            with_interpreter &= compare(&ours, &slices(own))? == ComparedOutput::Agrees;
                        }
                        self.traced(inputs, &race, answer)
                    }
                    Err(e) => {
                        with_interpreter = false;
                        ComparedOutput::Fails(e.to_string())
                    }
                };
            routes.push((*name, answer));
        }
        let by_order = || known.as_ref().is_ok_and(|known| self.depends_on_order(inputs, known));
        let cause = Cause::of(&routes, &interpreter, with_interpreter, by_order);
        Ok(Replay { routes, interpreter, cause, pixels, undefined })
    }

    /// The colour attachments that the fragment shader does not write.
    fn undefined(&self, inputs: &Inputs) -> Vec<ResultPlace> {
        let Some(draw) = &inputs.draw else { return Vec::new() };
        let writes = |at: u32| {
            let stores = |op: &Op| matches!(op, Op::StoreOutput { slot: OutputSlot::Location { location, .. }, .. } if *location == at);
            self.shader(Stage::Fragment).is_some_and(|fragment| fragment.has(stores))
        };
        let unwritten = draw.targets.iter().filter(|target| target.write_mask != 0 && !writes(target.location));
        unwritten.map(|target| ResultPlace::Target(target.location)).collect()
    }

    /// The pixels at edges of a draw's primitives; none if the interpreter cannot tell.
    fn edges(&self, inputs: &Inputs) -> BTreeSet<[u32; 2]> {
        let drawn = self.shader(Stage::Vertex).filter(|_| inputs.draw.is_some());
        let edges = drawn.map(|vertex| drawn::edges(vertex, &self.pipelines.state.vertex, inputs, self.options()));
        edges.and_then(Result::ok).unwrap_or_default()
    }

    /// The interpreter's values, in the order of [`places`].
    pub(super) fn known(&self, inputs: &Inputs) -> Result<Vec<KnownContents>> {
        let options = Options { shadow: true, ..self.options() };
        if let Some(compute) = self.shader(Stage::Compute) {
            return Ok(interpreted(compute, inputs, options)?.into_iter().flatten().collect());
        }
        self.pixels(inputs, None)
    }

    /// The interpreter's values of a draw, or of only the given pixels.
    fn pixels(&self, inputs: &Inputs, only: Option<&BTreeSet<[u32; 2]>>) -> Result<Vec<KnownContents>> {
        let options = Options { shadow: true, ..self.options() };
        let shaders = [Stage::Vertex, Stage::Fragment].map(|stage| self.shader(stage));
        let drawn = interpreted_pixels(shaders, &self.pipelines.state.vertex, inputs, (options, only))?;
        Ok(drawn.bindings.into_iter().flatten().chain(drawn.targets).chain(drawn.depth).chain(drawn.stencil).collect())
    }

    fn shader(&self, stage: Stage) -> Option<&Shader> {
        self.shaders.iter().find(|shader| shader.stage == stage)
    }

    fn options(&self) -> Options {
        let lanes = self.manifest.stages.first().map_or(32, |entry| entry.wave.lanes());
        Options { subgroup_size: lanes, limit: INTERPRETED, ..Options::default() }
    }

    /// How two outputs differ in one result, by the interpreter's bounds or a plain bound.
    fn compare(
        &self,
        inputs: &Inputs,
        Compared { n, place, format, known, edges }: Compared<'_>,
        [ours, theirs]: [&[u8]; 2],
    ) -> Result<Option<Finding>> {
        if ours.len() != theirs.len() {
            let what = format!("expected are {} bytes, a run leaves {}", theirs.len(), ours.len());
            return Err(Error::malformed(what).at(place.to_string()));
        }
        let named = format.map(NamedFormat::new).transpose()?;
        let (bytes, held) = named.as_ref().map_or((4, 1), |n| (n.format.bytes(), n.channels().count().max(1)));
        let attachment = is_attachment(place);
        let width = inputs.draw.as_ref().map_or(1, |draw| draw.extent[0] as usize).max(1);
        let stands = |texel: usize| if attachment { vec![texel % width, texel / width] } else { vec![texel * bytes] };
        let beyond = |wrong: &[Difference]| {
            wrong.first().map(|first| Finding {
                place,
                count: wrong.len(),
                // Each channel of a texel is compared as a dword.
                at: if named.is_some() { stands(first.at / 4 / held) } else { vec![first.at] },
                ours: vec![first.ours],
                expected: vec![first.theirs],
                limit: Some(first.limit),
                writer: None,
                race: None,
            })
        };
        if let Some(known) = known {
            return Ok(beyond(&known.judge_between(ours, theirs, self.manifest.floor).wrong));
        }
        if self.undefined(inputs).contains(&place) {
            return Ok(None);
        }
        let mut apart =
            format.map_or_else(|| Ok(words_apart(ours, theirs)), |format| texels_apart(format, ours, theirs, None))?;
        if attachment {
            apart.retain(|one| !edges.contains(&pixel(inputs, one.at)));
            let disputed: BTreeSet<[u32; 2]> = apart.iter().map(|one| pixel(inputs, one.at)).collect();
            // These are few unless the whole draw is wrong.
            let known = if disputed.is_empty() { None } else { self.pixels(inputs, Some(&disputed)).ok() };
            if let Some(known) = known.as_ref().and_then(|known| known.get(n)) {
                let mut wrong = known.judge_between(ours, theirs, self.manifest.floor).wrong;
                wrong.retain(|one| disputed.contains(&pixel(inputs, one.at / 4 / held)));
                return Ok(if wrong.len() > self.manifest.edges { beyond(&wrong) } else { None });
            }
        }
        let edges = if attachment { self.manifest.edges } else { 0 };
        let channels = named.and_then(|named| named.channels().max()).unwrap_or(0) + 1;
        Ok(apart.first().filter(|_| apart.len() > edges).map(|first| Finding {
            place,
            count: apart.len(),
            at: stands(first.at),
            ours: first.ours.into_iter().take(channels).collect(),
            expected: first.theirs.into_iter().take(channels).collect(),
            limit: None,
            writer: None,
            race: None,
        }))
    }

    /// Adds the invocation that wrote the difference, and a race of the shader, if the interpreter knows them.
    fn traced(&self, inputs: &Inputs, race: &OnceCell<Option<Race>>, answer: ComparedOutput) -> ComparedOutput {
        let ComparedOutput::Differs(found) = answer else { return answer };
        let writer = match (found.place, found.at[..].first()) {
            (ResultPlace::Binding { set, binding, element }, Some(at)) => {
                self.writer(inputs, (set, binding, element), *at)
            }
            _ => None,
        };
        ComparedOutput::Differs(Finding { writer, race: *race.get_or_init(|| self.race(inputs)), ..found })
    }

    /// Whether a dispatch leaves something else if its invocations run in the opposite order.
    fn depends_on_order(&self, inputs: &Inputs, known: &[KnownContents]) -> bool {
        let Some(compute) = self.shader(Stage::Compute) else { return false };
        let options = Options { backwards: true, ..self.options() };
        let Ok(others) = interpreted(compute, inputs, options) else { return false };
        others.iter().flatten().zip(known).any(|(other, known)| match (other.bytes(), known.bytes()) {
            (Ok(other), Ok(own)) => !known.judge_between(&other, &own, self.manifest.floor).wrong.is_empty(),
            _ => false,
        })
    }

    /// A data race of a dispatch.
    fn race(&self, inputs: &Inputs) -> Option<Race> {
        let compute = self.shader(Stage::Compute)?;
        let mut world = world(inputs).ok()?;
        world.races = Some(Races::default());
        // What is found before a limit is reached counts too.
        _ = dispatch(compute, &mut world, inputs.grid, self.options());
        world.races?.found
    }

    fn writer(&self, inputs: &Inputs, place: (u32, u32, u32), byte: usize) -> Option<WriterInvocation> {
        let mut world = world(inputs).ok()?;
        world.watch = Some(WatchedByte { place, byte: byte as u64, writer: None });
        dispatch(self.shader(Stage::Compute)?, &mut world, inputs.grid, self.options()).ok()?;
        world.watch?.writer
    }
}

/// A result to compare: its number and place among all results, its format, the interpreter's values, and the pixels at
/// edges.
struct Compared<'a> {
    n: usize,
    place: ResultPlace,
    format: Option<&'a str>,
    known: Option<&'a KnownContents>,
    edges: &'a BTreeSet<[u32; 2]>,
}

fn is_attachment(place: ResultPlace) -> bool {
    matches!(place, ResultPlace::Target(_) | ResultPlace::Depth | ResultPlace::Stencil)
}

/// The pixel of an attachment's texel; layers are stacked vertically.
fn pixel(inputs: &Inputs, texel: usize) -> [u32; 2] {
    let [width, height] = inputs.draw.as_ref().map_or([1; 2], |draw| draw.extent).map(|n| (n as usize).max(1));
    [texel % width, texel / width % height].map(|n| n as u32)
}

/// Places of results, and their formats.
type Places = [(ResultPlace, Option<String>)];

/// Counts the pixels that a draw changed in attachments that it defines.
///
/// # Errors
/// Invalid inputs.
fn pixels(
    inputs: &Inputs,
    (places, undefined): (&Places, &[ResultPlace]),
    expected: &[&[u8]],
    edges: &BTreeSet<[u32; 2]>,
) -> Result<Option<Pixels>> {
    let Some(draw) = inputs.draw.as_ref().filter(|draw| draw.samples == 1 && draw.layers() == 1) else {
        return Ok(None);
    };
    let targets = Targets::new(draw)?;
    let depth = targets.depth.map(|depth| depth.data.iter().flat_map(|z| z.to_le_bytes()).collect());
    let stencil = targets.stencil.map(|stencil| stencil.data);
    let before = targets.colors.into_iter().map(|color| color.data).chain(depth).chain(stencil);
    let attachments = places.iter().zip(expected).filter(|((place, _), _)| is_attachment(*place));
    let mut changed = BTreeSet::new();
    for (((place, format), after), before) in attachments.zip(before) {
        if undefined.contains(place) {
            continue;
        }
        let bytes = format.as_deref().map(NamedFormat::new).transpose()?.map_or(1, |named| named.format.bytes()).max(1);
        let both = before.chunks(bytes).zip(after.chunks(bytes)).enumerate();
        changed.extend(both.filter(|(_, (before, after))| before != after).map(|(n, _)| pixel(inputs, n)));
    }
    let at_edges = changed.intersection(edges).count();
    Ok(Some(Pixels { changed: changed.len(), edges: at_edges, apart: 0 }))
}

/// Number of differing pixels at edges.
///
/// # Errors
/// An unknown format.
fn apart_at_edges(
    inputs: &Inputs,
    places: &Places,
    [ours, theirs]: [&[&[u8]]; 2],
    edges: &BTreeSet<[u32; 2]>,
) -> Result<usize> {
    let mut apart = BTreeSet::new();
    for ((place, format), (ours, theirs)) in places.iter().zip(ours.iter().zip(theirs)) {
        if let Some(format) = format.as_deref().filter(|_| is_attachment(*place)) {
            let found = texels_apart(format, ours, theirs, None)?;
            apart.extend(found.iter().map(|one| pixel(inputs, one.at)).filter(|at| edges.contains(at)));
        }
    }
    Ok(apart.len())
}

/// All results that a run can write, with their format; `None` for buffers without one.
fn places(inputs: &Inputs) -> Vec<(ResultPlace, Option<String>)> {
    let binding = |b: &BindingElement| {
        let format = match &b.bound {
            Bound::StorageBuffer(_) | Bound::PhysicalStorageBuffer(_) => None,
            Bound::StorageTexelBuffer(texels) => Some(texels.format.clone()),
            Bound::StorageImage(image) => Some(image.format.clone()),
            _ => return None,
        };
        Some((ResultPlace::Binding { set: b.set, binding: b.binding, element: b.element }, format))
    };
    let draw = inputs.draw.iter();
    let targets =
        draw.clone().flat_map(|d| &d.targets).map(|t| (ResultPlace::Target(t.location), Some(t.format.clone())));
    let depth = draw.clone().filter_map(|d| d.depth).map(|_| (ResultPlace::Depth, Some("R32_SFLOAT".to_owned())));
    let stencil = draw.filter_map(|d| d.stencil).map(|_| (ResultPlace::Stencil, Some("R8_UINT".to_owned())));
    inputs.bindings.iter().filter_map(binding).chain(targets).chain(depth).chain(stencil).collect()
}

/// Contents of each of [`places`].
fn contents<'a>(inputs: &Inputs, outputs: &'a Outputs) -> Vec<&'a [u8]> {
    let written = inputs.bindings.iter().zip(&outputs.bindings).filter(|(b, _)| written_bytes(&b.bound).is_some());
    let depth = inputs.draw.iter().filter_map(|d| d.depth).map(|_| &outputs.depth);
    let stencil = inputs.draw.iter().filter_map(|d| d.stencil).map(|_| &outputs.stencil);
    written.map(|(_, bytes)| bytes).chain(&outputs.targets).chain(depth).chain(stencil).map(Vec::as_slice).collect()
}

fn slices(bytes: &[Vec<u8>]) -> Vec<&[u8]> {
    bytes.iter().map(Vec::as_slice).collect()
}

fn outputs(left: emu::RunOutcome) -> Outputs {
    let Some(targets) = left.targets else { return Outputs { bindings: left.bindings, ..Default::default() } };
    Outputs {
        bindings: left.bindings,
        targets: targets.colors.into_iter().map(|target| target.data).collect(),
        depth: targets.depth.map(|z| z.data.iter().flat_map(|z| z.to_le_bytes()).collect()).unwrap_or_default(),
        stencil: targets.stencil.map(|stencil| stencil.data).unwrap_or_default(),
    }
}
