//! Archives of recorded Vulkan calls: compiles the stages of their pipelines with the actual specialization, and then
//! links each pipeline, or compiles it as a whole if linking is impossible, so that a driver finds it in the cache
//! either way.

use super::modules::{Described, Modules};
use super::{Args, Event, InputError, Item, Maker, Work, compile};
use crate::common::guarded;
use crate::progress::Progress;
use dovetail::capture::foz::{EntryKind, MAGIC};
use dovetail::capture::{self, Hash, Recording, ShaderStage, StageUse, Translated, requested_wave};
use dovetail::compile::request::{StageRequest, default_wave};
use dovetail::compile::spirv::EntryPointInfo;
use dovetail::error::{Context, Error, ErrorKind, Result};
use dovetail::link::{Placement, verify};
use dovetail::pipeline::{self, Built, PipelineRequest, Route, ShaderRef};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::Toolchain;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Results of the pipelines of all archives.
#[derive(Default, Serialize)]
pub struct Pipelines {
    pub linked: usize,
    /// Compiled as a whole, by the reason.
    pub whole: BTreeMap<String, usize>,
    /// Their code depends on state that commands set: recorded again, completed, for each state that is drawn with.
    pub waiting: usize,
    /// Unsupported, by the feature.
    pub unsupported: BTreeMap<String, usize>,
    /// Only translated: a service compiles, and does not link for others.
    pub translated: usize,
    /// Failed otherwise, by name.
    pub failed: Vec<(String, String)>,
    /// Number of skipped ones, by reason.
    pub skipped: BTreeMap<&'static str, usize>,
}

impl Pipelines {
    pub fn count(&self) -> usize {
        let all = [&self.whole, &self.unsupported].into_iter().flat_map(|counts| counts.values()).sum::<usize>();
        self.linked + self.translated + self.waiting + self.failed.len() + all
    }

    /// Whether every pipeline yielded an ELF, except those that wait for commands.
    pub fn is_good(&self) -> bool {
        self.unsupported.is_empty() && self.failed.is_empty()
    }

    pub fn print(&self) {
        println!("{} pipelines", self.count());
        let line = |n: usize, what: &str| println!("  {n:>6}  {what}");
        line(self.linked, "linked");
        self.whole.iter().for_each(|(why, n)| line(*n, &format!("compiled whole: {why}")));
        if self.waiting > 0 {
            line(self.waiting, "with state that commands set; what they drew with it is among the others");
        }
        if self.translated > 0 {
            line(self.translated, "with a state, not linked here: the service's cache is its own");
        }
        self.unsupported.iter().for_each(|(feature, n)| line(*n, &format!("unsupported: {feature}")));
        self.failed.iter().for_each(|(name, why)| println!("{name}: {why}"));
        self.skipped.iter().for_each(|(what, n)| line(*n, &format!("passed over: {what}")));
    }

    fn add(&mut self, name: String, came: Result<Came>) {
        match came {
            Ok(Came::Linked) => self.linked += 1,
            Ok(Came::Whole(why)) => *self.whole.entry(why).or_default() += 1,
            Ok(Came::Translated) => self.translated += 1,
            Ok(Came::Waiting) => self.waiting += 1,
            Err(e) => match e.kind() {
                ErrorKind::Unsupported { feature, .. } => *self.unsupported.entry(feature.clone()).or_default() += 1,
                _ => self.failed.push((name, e.to_string())),
            },
        }
    }
}

enum Came {
    Linked,
    Whole(String),
    Translated,
    Waiting,
}

/// Separates the archives among these paths from the other paths.
pub fn split(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    paths.iter().cloned().partition(|path| {
        let mut begin = [0; MAGIC.len()];
        // A pipe is not opened, because that would wait for its writer.
        path.is_file() && File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == MAGIC
    })
}

/// Compiles the stages of an archive, and links its pipelines; returns the results of the stages.
pub fn populate(
    args: &Args,
    path: &Path,
    maker: &Maker<'_>,
    progress: &Progress,
    pipelines: &mut Pipelines,
) -> Result<Vec<Event>> {
    let threads = u64::try_from(rayon::current_num_threads()).unwrap_or(1);
    let recording = Recording::open(path, args.input.bytes() / threads).at(|| path.display().to_string())?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for skipped in recording.skipped() {
        *pipelines.skipped.entry(skipped.what).or_default() += skipped.count;
    }
    let names: Vec<(EntryKind, Hash)> = [EntryKind::GraphicsPipeline, EntryKind::ComputePipeline]
        .into_iter()
        .flat_map(|kind| recording.hashes(kind).into_iter().map(move |name| (kind, name)))
        .collect();
    let modules = Modules::new(&recording, args.input.bytes());
    let (stages, left_out) = stages(&recording, &names, args.input.bytes() / 4);
    if left_out > 0 {
        *pipelines.skipped.entry(LEFT_OUT).or_default() += left_out;
    }
    progress.found(stages.len() + names.len());
    let events = stages.into_par_iter().flat_map_iter(|(module, uses)| {
        let events = compile_module(args, maker, &modules, &file, module, uses);
        progress.tick();
        events
    });
    let mut events: Vec<Event> = events.collect();
    if let Some(end) = recording.torn_at() {
        let path = path.display().to_string();
        let why = format!("{path}: damaged or truncated after byte {end}; the rest is not read");
        events.push(Event::Input(InputError { path, why }));
    }
    let targets = args.target.all();
    let came: Vec<(Hash, Gpu, Option<Result<Came>>)> = names
        .into_par_iter()
        .flat_map_iter(|(kind, name)| {
            let (recording, modules) = (&recording, &modules);
            let one = |target: &Gpu| {
                let came = guarded(|| build(args, *target, maker, recording, modules, kind, name));
                (name, *target, came.transpose())
            };
            let came: Vec<_> = targets.iter().map(one).collect();
            progress.tick();
            came
        })
        .collect();
    for (name, target, came) in came {
        let name = args.target.name(&format!("{file}/{name}"), target);
        came.into_iter().for_each(|came| pipelines.add(name.clone(), came));
    }
    Ok(events)
}

type Uses = BTreeMap<Hash, BTreeSet<Use>>;

/// A stage, in a form that sets can order: with the subgroup size that the application requests.
type Use = (Stage, String, Vec<(u32, u64)>, Option<u32>);

/// Report text for stages that did not fit in the list.
const LEFT_OUT: &str = "stages beyond --input-memory: compiled with their pipelines only";
/// Memory for a use in a set, in bytes, besides its name and constants.
const USE: u64 = 128;

/// The stages of all pipelines by module, including modules that no pipeline uses, and how many did not fit into `room`
/// bytes. They include stages of unsupported pipelines, because a driver may know the state that is missing here.
fn stages(recording: &Recording, names: &[(EntryKind, Hash)], room: u64) -> (Vec<(Hash, BTreeSet<Use>)>, usize) {
    let given = |(kind, name): &(EntryKind, Hash)| -> Vec<ShaderStage> {
        let stages = guarded(|| match kind {
            EntryKind::GraphicsPipeline => recording.graphics(*name).map(|pipeline| pipeline.stages),
            _ => recording.compute(*name).map(|pipeline| vec![pipeline.stage]),
        });
        // Errors are reported for the pipeline.
        stages.unwrap_or_default()
    };
    let uses: Uses =
        recording.hashes(EntryKind::ShaderModule).into_iter().map(|name| (name, BTreeSet::new())).collect();
    let found = Mutex::new((uses, room, 0));
    names.par_iter().flat_map_iter(given).filter_map(|stage| capture::stage_use(&stage).ok()).for_each(|used| {
        let StageUse { stage, module, entry_point, specialization, lanes } = used;
        let bytes = USE + (entry_point.len() + specialization.len() * size_of::<(u32, u64)>()) as u64;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        let (uses, room, left_out) = &mut *found;
        let uses = uses.entry(module).or_default();
        let used = (stage, entry_point, specialization, lanes);
        match room.checked_sub(bytes) {
            _ if uses.contains(&used) => {}
            Some(left) => {
                *room = left;
                uses.insert(used);
            }
            None => *left_out += 1,
        }
    });
    let (uses, _, left_out) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    (uses.into_iter().collect(), left_out)
}

fn compile_module(
    args: &Args,
    maker: &Maker<'_>,
    modules: &Modules<'_>,
    file: &str,
    module: Hash,
    uses: BTreeSet<Use>,
) -> Vec<Event> {
    let place = format!("{file}/{module}");
    let found = match guarded(|| modules.get(module)) {
        Ok(found) => found,
        Err(e) => return finish(args, maker, &Item { name: place, work: Err(e), cooperative_matrix: false }),
    };
    let Described { module, info } = &*found;
    let unused = uses.is_empty();
    let entries = info.entry_points.iter().filter(|_| unused);
    let uses = uses.into_iter().map(|(stage, entry, values, lanes)| (Ok(stage), entry, values, lanes));
    let own = |entry: &EntryPointInfo| (entry.stage.ok_or(entry.model.clone()), entry.name.clone(), Vec::new(), None);
    let all = entries.map(own).chain(uses);
    let item = |(stage, entry_point, values, lanes): (Result<Stage, String>, String, Vec<_>, _)| {
        // Another size is reported for the pipeline.
        let wave = requested_wave(lanes, info.uses_subgroups).unwrap_or_default();
        let specialization = info.specialization(&values);
        let values: String = specialization.iter().map(|(id, value)| format!(" {id}={value:#x}")).collect();
        let name = format!("{place}:{entry_point}{values}");
        let unsupported = |model| Error::unsupported(format!("execution model {model}"), entry_point.clone());
        let work = stage.map_err(unsupported).map(|stage| Work {
            module: module.clone(),
            usual_wave: (wave.is_none() && args.wave.is_none()).then_some(info.uses_subgroups),
            request: StageRequest {
                target: Gpu::default(),
                stage,
                module: module.digest(),
                entry_point: entry_point.clone(),
                specialization,
                wave: wave.or(args.wave).unwrap_or(WaveSize::W32),
                options: args.build.tuning.options(),
                known: Default::default(),
            },
        });
        finish(args, maker, &Item { name, work, cooperative_matrix: info.cooperative_matrix })
    };
    all.flat_map(item).collect()
}

fn finish(args: &Args, maker: &Maker<'_>, item: &Item) -> Vec<Event> {
    compile(args, maker, item).into_iter().map(Event::Shader).collect()
}

/// Links a pipeline; `None` for a library, which is part of other pipelines.
fn build(
    args: &Args,
    target: Gpu,
    maker: &Maker<'_>,
    recording: &Recording,
    modules: &Modules<'_>,
    kind: EntryKind,
    name: Hash,
) -> Result<Option<Came>> {
    let translated = match kind {
        EntryKind::GraphicsPipeline => {
            let pipeline = recording.graphics(name)?;
            if pipeline.is_library() {
                return Ok(None);
            }
            match capture::graphics(&pipeline, recording) {
                Err(e) if matches!(e.kind(), ErrorKind::Unsupported { .. }) && capture::waits(&pipeline, recording) => {
                    return Ok(Some(Came::Waiting));
                }
                translated => translated?,
            }
        }
        _ => capture::compute(&recording.compute(name)?, recording)?,
    };
    match maker {
        Maker::Own(tools) => link(args, target, tools, modules, &translated).map(Some),
        Maker::Service(_) => Ok(Some(Came::Translated)),
    }
}

fn link(
    args: &Args,
    target: Gpu,
    tools: &Toolchain<'_>,
    modules: &Modules<'_>,
    translated: &Translated,
) -> Result<Came> {
    let Translated { state, stages } = translated;
    let modules = stages.iter().map(|stage| modules.get(stage.module)).collect::<Result<Vec<_>>>()?;
    let shaders = stages.iter().zip(&modules).map(|(stage, found)| {
        let uses_subgroups = found.info.uses_subgroups;
        let wave = stage.wave(uses_subgroups)?.or(args.wave);
        let wave = wave.unwrap_or_else(|| default_wave(target, stage.stage, uses_subgroups));
        let shader = ShaderRef::new(&found.module, &stage.entry_point, stage.stage, wave);
        Ok(shader.with_spec_ids(found.info.spec_constants.iter().map(|constant| constant.id)))
    });
    let request = PipelineRequest {
        shaders: shaders.collect::<Result<_>>()?,
        state,
        layout: None,
        target,
        options: args.build.tuning.options(),
        placement: Placement::Adjacent,
    };
    let built = match pipeline::build(&request, tools)? {
        pipeline::PipelineOutcome::Built(built) => built,
        pipeline::PipelineOutcome::NotCached(stage) => {
            return Err(Error::environment(format!(
                "the {stage} shader is not in the cache, and there is no compiler"
            )));
        }
    };
    let Built { elf, route, .. } = built;
    if let Some(violation) = verify(&elf)?.violations.first() {
        return Err(Error::bug(format!("the linked ELF violates a loader rule: {violation}")));
    }
    Ok(match route {
        Route::Linked => Came::Linked,
        Route::Whole(why) => Came::Whole(why.unwrap_or_default()),
    })
}
