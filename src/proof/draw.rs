//! Checks a pair of vertex and fragment shader: compiles it by every route, draws scenes by emulator and reference, and
//! compares.
//!
//! ```text
//! vertex, fragment ─> state, pipelines ─┐
//! scenes, by rank ──────────────────────┴─> drawn by the interpreter (bounds), reference, each pipeline ─> Report
//! ```
//!
//! A scene is drawn with two seeds on float attachments, and with the second seed again on 8-bit attachments. If a
//! scene proves nothing, or interpreter and reference disagree on it, the next scene is tried. If they agree on no
//! scene with stable edges, that is reported. If random numbers prove nothing, scenes are drawn whose inputs are
//! changed so that comparisons give the other result ([`super::comparisons`]).

use super::comparisons::{self, Compare};
use super::compute::{Divergence, FLOOR, SEEDS, Tools};
use super::constant::{Constant, constant_fragments};
use super::declared::Declared;
use super::drawn::{Drawn, compared_in_draw, interpreted_draw};
use super::driver::{Outputs, Spirv};
use super::indices::Limited;
use super::judge::{bytes_of, certain, judge, proves_nothing, too_vague};
use super::patience::CpuStart;
use super::pipelines::Pipelines;
use super::plain::Alike;
use super::report::{Fate, Report, unfinished};
use super::scene::{Candidate, Manner, Scene, SceneShader, target_format};
use super::world::KnownContents;
use crate::template;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_compile::request::{Module, default_wave};
use dovetail_emu::inputs::Inputs;
use dovetail_emu::{RunLimits, RunOutcome};
use dovetail_interp::{MemoryVerdict, Options};
use dovetail_pipeline::ShaderRef;
use dovetail_spirv as spirv;
use dovetail_state::{PipelineState, SpecializationEntry, VkFormat};
use std::time::Duration;

/// Number of scenes tried until one proves something.
const TRIES: usize = 6;
/// Share of uncertain values below which a scene is accepted at once.
const CERTAIN: f64 = 0.05;
/// CPU time after which no scene with changed comparisons is drawn, and none with several samples.
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_WITH_SAMPLES: Duration = Duration::from_secs(8);
/// Minimum number of pixels drawn.
const PIXELS: usize = 50;

/// Checks a vertex shader and a fragment shader that belong together.
pub fn pair(vertex: &Spirv<'_>, fragment: &Spirv<'_>, tools: &Tools<'_>) -> Report {
    match Pair::new(vertex, fragment) {
        Ok(pair) => pair.report(tools),
        Err(why) => Report::new(Fate::NotCompiled, why.to_string()),
    }
}

pub(super) struct Pair<'a> {
    pub(super) sources: [&'a Spirv<'a>; 2],
    pub(super) modules: [(Module, spirv::ModuleInfo); 2],
    pub(super) parts: [SceneShader; 2],
    state: PipelineState,
    constant: Option<Constant>,
}

/// Result of drawing one scene.
pub(super) struct Shown {
    pub verdict: MemoryVerdict,
    /// Output of the pipeline compiled as a whole, to tell seeds apart.
    left: Vec<Vec<u8>>,
    /// Pixels drawn.
    pixels: usize,
    pub alike: Alike,
    /// Why the driver was not used, if it was not.
    pub without_driver: Option<String>,
}

/// A scene that proves nothing.
pub(super) struct Failed {
    pub fate: Fate,
    pub why: String,
    /// The disagreement of interpreter and reference, if that is the reason.
    pub dispute: Option<Box<Dispute>>,
}

impl From<(Fate, String)> for Failed {
    fn from((fate, why): (Fate, String)) -> Self {
        Self { fate, why, dispute: None }
    }
}

/// The differing output of a scene, and the expected output.
pub(super) struct Dispute {
    pub inputs: Inputs,
    precise: bool,
    seed: u64,
    pub route: &'static str,
    pub expected: Vec<Vec<u8>>,
    pub what: String,
}

const STAGES: [Stage; 2] = [Stage::Vertex, Stage::Fragment];

impl<'a> Pair<'a> {
    fn new(vertex: &'a Spirv<'a>, fragment: &'a Spirv<'a>) -> Result<Self> {
        let load = |source: &Spirv<'_>, stage: Stage| -> Result<_> {
            let module = Module::new(source.module.to_vec())?;
            let info = spirv::reflect(&module)?;
            let spec: Vec<(u32, u64)> = source.spec.iter().map(|s| (s.0, s.1)).collect();
            let ir = spirv::translate_judged(&module, source.entry, stage, &info.specialization(&spec))?;
            let declared = Declared::new(source.module)?;
            Ok(((module, info), SceneShader::new(ir, declared)))
        };
        let (vertex_module, vertex_part) = load(vertex, Stage::Vertex).at(|| "vertex")?;
        let (fragment_module, fragment_part) = load(fragment, Stage::Fragment).at(|| "fragment")?;
        let parts = [vertex_part, fragment_part];
        let mut state = template::state(&[parts[0].ir.clone(), parts[1].ir.clone()])?;
        for (source, stage) in [vertex, fragment].into_iter().zip(STAGES) {
            let entry = |s: &(u32, u64, usize)| SpecializationEntry { stage: Some(stage), id: s.0, value: s.1 };
            state.specialization.extend(source.spec.iter().map(entry));
        }
        for attachment in &mut state.color.attachments {
            attachment.write_mask &= parts[1].written_channels(attachment.location);
        }
        let constant = constant_fragments(&parts[0].ir, &parts[1].ir);
        Ok(Self { sources: [vertex, fragment], modules: [vertex_module, fragment_module], parts, state, constant })
    }

    fn report(&self, tools: &Tools<'_>) -> Report {
        let began = CpuStart::now();
        let [vertex, fragment] = &self.parts;
        let scene = Scene { vertex, fragment, state: &self.state };
        let made = |precise| self.pipelines(self.state_of(precise)?, tools);
        let (precise, coarse) = match (made(true), made(false)) {
            (Ok(precise), Ok(coarse)) => (precise, coarse),
            (Err(why), _) | (_, Err(why)) => return Report::new(Fate::NotCompiled, why.to_string()),
        };
        let mut report = Report::new(Fate::ProvesNothing, "no inputs");
        let mut disputes: Vec<Dispute> = Vec::new();
        let noted = |disputes: &[Dispute]| match disputes {
            [] => String::new(),
            [first, ..] => format!("the judges do not agree on {} scenes, the first: {}", disputes.len(), first.what),
        };
        for manner in [Manner::Plain, Manner::Calm] {
            let mut ranked = Vec::new();
            for seed in SEEDS {
                match scene.candidates(seed, manner, tools.budget.interpreted) {
                    Ok(all) => ranked.push(self.promising(self.arranged(all, seed), tools)),
                    Err(why) => return Report::new(Fate::ProvesNothing, why.to_string()),
                }
            }
            let [firsts, seconds] = &ranked[..] else { break };
            let pairs = || firsts.iter().zip(seconds).take(TRIES);
            let met = pairs().flat_map(|(first, second)| {
                let met = [Compare::All, Compare::Equality].into_iter();
                met.filter_map(move |what| Some((self.met(first, what)?, second)))
            });
            // Changed scenes are made only of the plain ones, and only when needed.
            let met = met.take_while(|_| manner == Manner::Plain && began.elapsed() < PATIENCE);
            let plain = pairs().map(|(first, second)| (first.clone(), second));
            for (first, second) in plain.chain(met) {
                let again = rounded(&second.inputs);
                let scenes = [
                    (&precise, &first.inputs, SEEDS[0]),
                    (&precise, &second.inputs, SEEDS[1]),
                    (&coarse, &again, SEEDS[1]),
                ];
                let (fate, why) = match self.draw_all(&scenes, tools, &mut report) {
                    Ok(outcome) => outcome,
                    Err(Failed { fate, why, dispute }) => {
                        let steady = first.steady && second.steady;
                        disputes.extend(dispute.filter(|_| steady || fate == Fate::Differs).map(|dispute| *dispute));
                        (fate, why)
                    }
                };
                // A pair that reached the limit in one scene but ran in another counts as run.
                if !report.ran || fate != Fate::Cut {
                    (report.fate, report.reason) = (fate, why);
                }
                match fate {
                    Fate::ProvesNothing | Fate::Cut => {}
                    Fate::Differs => {
                        disputes.pop().iter().for_each(|dispute| self.tell(dispute, [&precise, &coarse], tools));
                        return report;
                    }
                    _ => {
                        let notes = [std::mem::take(&mut report.reason), noted(&disputes)];
                        report.reason = notes.into_iter().filter(|n| !n.is_empty()).collect::<Vec<_>>().join("; ");
                        if began.elapsed() < PATIENCE_WITH_SAMPLES {
                            let scenes = [(&second.inputs, SEEDS[1]), (&first.inputs, SEEDS[0])];
                            self.multisample(scenes, tools, &mut report);
                        }
                        return report;
                    }
                }
            }
        }
        if let Some(first) = disputes.first() {
            self.tell(first, [&precise, &coarse], tools);
            (report.fate, report.reason) = (Fate::Differs, noted(&disputes));
        }
        report
    }

    fn tell(&self, dispute: &Dispute, [precise, coarse]: [&Pipelines; 2], tools: &Tools<'_>) {
        (tools.on_difference)(&Divergence {
            inputs: &dispute.inputs,
            state: if dispute.precise { &precise.state } else { &coarse.state },
            wave: self.fragment_wave(tools),
            seed: dispute.seed,
            route: dispute.route,
            expected: &dispute.expected,
            what: &dispute.what,
        });
    }

    /// Scenes in the order in which they are tried. If the colours are constant, seeds differ only in the pixels
    /// covered, so the second seed starts with scenes that cover less.
    fn arranged(&self, mut all: Vec<Candidate>, seed: u64) -> Vec<Candidate> {
        if self.constant.is_some() && seed != SEEDS[0] {
            all.sort_by(|a, b| b.steady.cmp(&a.steady).then(a.covered.total_cmp(&b.covered)));
        }
        all
    }

    /// The scene with inputs changed so that comparisons give the other result, if possible.
    fn met(&self, scene: &Candidate, what: Compare) -> Option<Candidate> {
        let mut inputs = scene.inputs.clone();
        let shaders = [&self.parts[0].ir, &self.parts[1].ir];
        let options = Options { limit: comparisons::WATCHED, ..Options::default() };
        let mut any = false;
        for round in 0..comparisons::ROUNDS {
            let Ok(seen) = compared_in_draw(shaders, &self.state.vertex, &inputs, options) else { break };
            let mut changed = false;
            for (ir, seen) in shaders.into_iter().zip(&seen) {
                changed |= comparisons::meet(ir, seen, &mut inputs, what, round);
            }
            if !changed {
                break;
            }
            any = true;
            // A changed number may also be a descriptor index.
            self.parts.iter().for_each(|part| part.declared.limit_indices(&part.ir, Limited::All, &mut inputs));
        }
        any.then_some(Candidate { inputs, ..*scene })
    }

    /// The scenes with the most certain values, those with stable edges first.
    fn promising(&self, all: Vec<Candidate>, tools: &Tools<'_>) -> Vec<Candidate> {
        let (mut good, mut others) = (Vec::new(), Vec::new());
        for candidate in all {
            if good.len() == TRIES {
                break;
            }
            let doubts = || -> Option<f64> {
                let drawn = self.interpret(&candidate.inputs, tools).ok()?;
                let own = own(&drawn).ok()?;
                let verdict = compare(&drawn, &candidate.inputs, &own, &own).ok()?;
                let MemoryVerdict { loose, uncertain, not_finite, written, .. } = verdict;
                Some((loose + uncertain + not_finite) as f64 / written.max(1) as f64)
            };
            match doubts().unwrap_or(f64::INFINITY) {
                doubts if doubts < CERTAIN => good.push(candidate),
                doubts => others.push((!candidate.steady, doubts, candidate)),
            }
        }
        others.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        good.sort_by_key(|candidate| !candidate.steady);
        good.into_iter().chain(others.into_iter().map(|(.., candidate)| candidate)).take(TRIES).collect()
    }

    fn interpret(&self, inputs: &Inputs, tools: &Tools<'_>) -> Result<Drawn> {
        self.interpret_with(self.options(tools), inputs, tools)
    }

    /// Lanes of a wave of fragments.
    pub(super) fn fragment_wave(&self, tools: &Tools<'_>) -> WaveSize {
        default_wave(tools.target, Stage::Fragment, self.modules[1].1.uses_subgroups)
    }

    /// The interpreter's options: waves of the size that the pipelines have.
    fn options(&self, tools: &Tools<'_>) -> Options {
        let wave = self.fragment_wave(tools);
        Options { subgroup_size: wave.lanes(), ..Options::default() }
    }

    /// The interpreter's result, with its bounds.
    fn interpret_with(&self, options: Options, inputs: &Inputs, tools: &Tools<'_>) -> Result<Drawn> {
        let options = Options { shadow: true, limit: tools.budget.interpreted, ..options };
        let [vertex, fragment] = &self.parts;
        interpreted_draw(&vertex.ir, Some(&fragment.ir), &self.state.vertex, inputs, options)
    }

    /// The pipeline state with the precise (float) attachments or the others.
    pub(super) fn state_of(&self, precise: bool) -> Result<PipelineState> {
        let mut state = self.state.clone();
        let plain = VkFormat::named(target_format(precise))?;
        let integer = |format: VkFormat| format.name().is_some_and(|name| name.ends_with("INT"));
        for attachment in state.color.attachments.iter_mut().filter(|a| !integer(a.format)) {
            attachment.format = plain;
            attachment.blend = state.color.dual_source;
        }
        Ok(state)
    }

    pub(super) fn pipelines(&self, state: PipelineState, tools: &Tools<'_>) -> Result<Pipelines> {
        let shaders = self.sources.iter().zip(&self.modules).zip(STAGES).map(|((source, (module, info)), stage)| {
            let shader =
                ShaderRef::new(module, source.entry, stage, default_wave(tools.target, stage, info.uses_subgroups));
            shader.with_spec_ids(info.spec_constants.iter().map(|c| c.id))
        });
        Pipelines::tuned(shaders.collect(), state, tools.target, tools.options.clone(), tools.compiler)
    }

    /// Draws the scenes by every route.
    fn draw_all(
        &self,
        scenes: &[(&Pipelines, &Inputs, u64)],
        tools: &Tools<'_>,
        report: &mut Report,
    ) -> Result<(Fate, String), Failed> {
        let mut sum = MemoryVerdict::default();
        let (mut left, mut pixels, mut without_driver) = (Vec::new(), usize::MAX, None);
        let mut alike = Alike::default();
        for (pipelines, inputs, seed) in scenes {
            let shown = self.draw(pipelines, inputs, *seed, tools, report)?;
            sum.add(&shown.verdict);
            left.push(shown.left);
            pixels = pixels.min(shown.pixels);
            alike = alike + shown.alike;
            without_driver = without_driver.or(shown.without_driver);
        }
        (report.exact, report.floats) = (sum.exact, sum.floats);
        left.truncate(SEEDS.len());
        let too_few = (pixels < PIXELS).then(|| format!("draws {pixels} pixels"));
        let nothing = match proves_nothing(&sum, &left).or(too_few.clone()) {
            // If those bounds are too wide, the driver's values may still agree by a plain bound.
            Some(why) if without_driver.is_none() && too_few.or(proves_nothing(&certain(&sum), &left)).is_none() => {
                match alike.agreement(&why) {
                    Some(why) => return Ok((Fate::Agreed, why)),
                    None => Some(why),
                }
            }
            nothing => nothing,
        };
        let same = left.windows(2).all(|pair| pair[0] == pair[1]);
        let drawn = |constant: &Constant| constant.still || pixels >= PIXELS && sum.written > 0;
        let constant = self.constant.filter(|c| same && drawn(c) && too_vague(&sum).is_none());
        Ok(match (nothing, without_driver) {
            (Some(_), _) if let Some(constant) = constant => (Fate::Constant, constant.why.to_owned()),
            (Some(why), _) => (Fate::ProvesNothing, why),
            (None, Some(why)) => (Fate::AgreedWithInterpreter, why),
            (None, None) => {
                let whole_only = |why: &String| format!("whole only: {why}");
                (Fate::Agreed, scenes.iter().find_map(|s| s.0.not_linked.as_ref()).map_or(String::new(), whole_only))
            }
        })
    }

    pub(super) fn draw(
        &self,
        pipelines: &Pipelines,
        inputs: &Inputs,
        seed: u64,
        tools: &Tools<'_>,
        report: &mut Report,
    ) -> Result<Shown, Failed> {
        let nothing = |why: Error| Failed::from((Fate::ProvesNothing, why.to_string()));
        let limits = RunLimits { instructions: tools.budget.emulated, ..RunLimits::default() };
        let (mut runs, mut executed) = (Vec::new(), Vec::new());
        for (route, elf) in pipelines.elfs_for(inputs) {
            let ran = pipelines.run(elf, inputs, limits);
            let strict = Options { strict: true, ..self.options(tools) };
            let ran = ran.map_err(|why| unfinished(route, &why, || self.interpret_with(strict, inputs, tools)))?;
            executed.push((*route, ran.stats.total()));
            runs.push((*route, outputs(ran)));
        }
        report.instructions = executed.iter().fold(report.instructions, |most, (_, count)| most.max(*count));
        report.add_executed(&executed);
        report.ran = true;
        let Some((_, whole)) = runs.last().cloned() else { return Err((Fate::NotRun, "no pipeline".into()).into()) };
        let drawn = self.interpret(inputs, tools).map_err(nothing)?;
        if runs.len() > 1 {
            let bytes = runs.iter().all(|(_, linked)| *linked == whole);
            let same = bytes || runs.iter().all(|(_, linked)| compare(&drawn, inputs, linked, &whole).is_ok());
            report.same_bytes = Some(bytes && report.same_bytes != Some(false));
            report.same_as_whole = Some(same && report.same_as_whole != Some(false));
        }
        let own = own(&drawn).map_err(nothing)?;
        let theirs = tools.judge.draw(self.sources[0], Some(self.sources[1]), &pipelines.state.vertex, inputs);
        let differs = |theirs: &Outputs| runs.iter().any(|(_, ours)| compare(&drawn, inputs, ours, theirs).is_err());
        let lacks = || self.sources.iter().find_map(|source| tools.judge.lacks(source));
        let (theirs, without_driver) = match theirs {
            Ok(theirs) => match lacks().filter(|_| differs(&theirs)) {
                None => (theirs, None),
                lacking => (own.clone(), lacking),
            },
            Err(why) => (own.clone(), Some(why)),
        };
        if differs(&theirs) {
            let by_itself = Options { subgroup_size: 4, ..self.options(tools) };
            let backwards = Options { backwards: true, ..self.options(tools) };
            for (options, on) in
                [(backwards, "the order of invocations"), (by_itself, "which invocations run together")]
            {
                let other = self.interpret_with(options, inputs, tools).map_err(nothing)?;
                if compare(&drawn, inputs, &self::own(&other).map_err(nothing)?, &own).is_err() {
                    return Err((Fate::ProvesNothing, format!("depends on {on}")).into());
                }
            }
        }
        let mut verdict = MemoryVerdict::default();
        for (route, ours) in &runs {
            verdict = compare(&drawn, inputs, ours, &theirs).map_err(|why| {
                let what = format!("seed {seed}, {route}: {why}");
                let judges = compare(&drawn, inputs, &own, &theirs);
                let (fate, who) = match (&judges, compare(&drawn, inputs, ours, &own)) {
                    (Ok(_), _) => (Fate::Differs, "the interpreter gives the expected output".to_owned()),
                    (_, Ok(_)) => (Fate::ProvesNothing, "the interpreter agrees with the emulator".to_owned()),
                    (Err(why), _) => (Fate::ProvesNothing, format!("the interpreter agrees with neither: {why}")),
                };
                let why = format!("{what}; {who}");
                let dispute = Dispute {
                    inputs: inputs.clone(),
                    precise: is_precise(inputs),
                    seed,
                    route,
                    expected: [theirs.bindings.clone(), theirs.targets.clone()].concat(),
                    what: why.clone(),
                };
                Failed { fate, why, dispute: Some(Box::new(dispute)) }
            })?;
        }
        let targets = drawn.targets.iter().zip(whole.targets.iter().zip(&theirs.targets));
        let alike = targets.map(|(known, (ours, theirs))| known.alike(ours, theirs)).sum();
        let written = drawn.bindings.iter().zip(whole.bindings).filter(|(known, _)| known.is_some());
        let mut left: Vec<Vec<u8>> = whole.targets.into_iter().chain(written.map(|(_, bytes)| bytes)).collect();
        if left.is_empty() {
            left.push(whole.depth);
        }
        Ok(Shown { verdict, left, pixels: drawn.pixels, alike, without_driver })
    }
}

/// The same scene with attachments that round.
fn rounded(inputs: &Inputs) -> Inputs {
    let mut inputs = inputs.clone();
    for target in inputs.draw.iter_mut().flat_map(|draw| &mut draw.targets).filter(|t| !t.format.ends_with("INT")) {
        target.format = target_format(false).to_owned();
    }
    inputs
}

/// Whether floats are drawn to attachments that do not round them.
fn is_precise(inputs: &Inputs) -> bool {
    let targets = inputs.draw.iter().flat_map(|draw| &draw.targets);
    targets.filter(|t| !t.format.ends_with("INT")).all(|t| t.format == target_format(true))
}

fn outputs(ran: RunOutcome) -> Outputs {
    let (mut targets, mut depth, mut stencil) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(left) = ran.targets {
        targets = left.colors.into_iter().map(|color| color.data).collect();
        depth = left.depth.map_or(Vec::new(), |d| d.data.iter().flat_map(|z| z.to_le_bytes()).collect());
        stencil = left.stencil.map_or(Vec::new(), |stencil| stencil.data);
    }
    Outputs { bindings: ran.bindings, targets, depth, stencil }
}

/// The interpreter's own outputs.
fn own(drawn: &Drawn) -> Result<Outputs> {
    let targets = drawn.targets.iter().map(KnownContents::bytes).collect::<Result<_>>()?;
    let depth = drawn.depth.as_ref().map_or(Ok(Vec::new()), KnownContents::bytes)?;
    let stencil = drawn.stencil.as_ref().map_or(Ok(Vec::new()), KnownContents::bytes)?;
    Ok(Outputs { bindings: bytes_of(&drawn.bindings)?, targets, depth, stencil })
}

/// Compares two outputs of a draw.
fn compare(drawn: &Drawn, inputs: &Inputs, ours: &Outputs, theirs: &Outputs) -> Result<MemoryVerdict, String> {
    let width = inputs.draw.as_ref().map_or(1, |draw| draw.extent[0] as usize);
    let mut sum = judge(FLOOR, inputs, &drawn.bindings, &ours.bindings, &theirs.bindings).map_err(|d| d.to_string())?;
    let colors = drawn.targets.iter().zip(ours.targets.iter().zip(&theirs.targets)).enumerate();
    let colors = colors.map(|(n, (known, both))| (format!("target {n}"), known, both));
    let depth = drawn.depth.iter().map(|known| ("depth".to_owned(), known, (&ours.depth, &theirs.depth)));
    let stencil = drawn.stencil.iter().map(|known| ("stencil".to_owned(), known, (&ours.stencil, &theirs.stencil)));
    for (name, known, (ours, theirs)) in colors.chain(depth).chain(stencil) {
        let verdict = known.judge_between(ours, theirs, FLOOR);
        if let Some(first) = verdict.wrong.first() {
            let texel = known.channels() * 4;
            let pixel = first.at / texel;
            return Err(format!(
                "{} values of {name} differ, the first of pixel ({}, {}), channel {}: {}, expected {} ± {:e}",
                verdict.wrong.len(),
                pixel % width,
                pixel / width,
                first.at % texel / 4,
                first.ours,
                first.theirs,
                first.limit
            ));
        }
        // Depth depends only on the vertices, so it counts only if there is no other output.
        if name != "depth" || drawn.targets.is_empty() {
            sum.add(&verdict);
        }
    }
    Ok(sum)
}
