//! The definitions that this process has passed to Vulkan, by name; each is passed on to the parts of the layer that
//! need it.

use crate::complain::complain;
use crate::config::Config;
use crate::guard::lock;
use crate::recorder::{Item, Recorder};
use crate::report;
use crate::shadow::Shadow;
use crate::times::Times;
use dovetail_base::error::{Error, Result};
use dovetail_capture::{
    ComputePipeline, DefinitionSource, GraphicsPipeline, Hash, LateState, PipelineLayout, RenderPass, Sampler,
    SetLayout, Translated, complete, compute, fixed, graphics, waits,
};
use serde::Serialize;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

type Table<T> = BTreeMap<Hash, Arc<T>>;

#[derive(Default)]
struct Tables {
    samplers: Table<Sampler>,
    set_layouts: Table<SetLayout>,
    pipeline_layouts: Table<PipelineLayout>,
    render_passes: Table<RenderPass>,
    /// Only pipeline libraries: no other pipeline is referred to by name.
    libraries: Table<GraphicsPipeline>,
    pipelines: BTreeSet<Hash>,
    /// Pipelines whose code depends on state that commands set.
    waiting: Table<GraphicsPipeline>,
    /// What became of them, by their name and the state's.
    completed: BTreeMap<(Hash, Hash), Hash>,
    /// Modules, with their code if pipelines are made here.
    modules: BTreeMap<Hash, Option<Arc<[u8]>>>,
    /// Features because of which pipelines could not be translated, each with the number of pipelines.
    untranslated: BTreeMap<String, usize>,
}

/// The process's session.
pub struct Session {
    pub config: Config,
    pub recorder: Option<Recorder>,
    pub times: Option<Times>,
    pub shadow: Option<Shadow>,
    tables: Mutex<Tables>,
    /// Whether there are waiting pipelines.
    any_waiting: AtomicBool,
    process: u32,
}

static SESSION: OnceLock<Session> = OnceLock::new();

/// The session of this process; `None` in the child of a fork, which does not have the session's thread.
pub fn get() -> Option<&'static Session> {
    let mut new = false;
    let session = SESSION.get_or_init(|| {
        new = true;
        Session::start()
    });
    if new {
        report::keep_json(session);
    }
    (session.process == std::process::id()).then_some(session)
}

/// Waits until everything so far is on the disk.
pub fn flush() {
    if let Some(session) = SESSION.get().filter(|session| session.process == std::process::id()) {
        session.recorder.iter().for_each(|recorder| recorder.flush());
        session.shadow.iter().for_each(Shadow::flush);
        report::write_json(session);
    }
}

/// Finishes the session when the process exits.
pub fn finish() {
    if let Some(session) = SESSION.get().filter(|session| session.process == std::process::id()) {
        session.times.iter().for_each(|times| times.wait(session.config.wait));
        flush();
        report::print(session);
    }
}

/// The name of a definition: the hash of its members, which are always serialized in the same way.
fn name_of(definition: &impl Serialize) -> Hash {
    serde_json::to_vec(definition).map_or_else(|_| Hash::default(), |text| Hash::of(&text))
}

impl Session {
    fn start() -> Self {
        let mut problems = Vec::new();
        let config = Config::from_environment(&mut problems);
        let mut noted = |result: Result<_>| result.map_err(|e: Error| problems.push(e.to_string())).ok();
        let recorder = config.dir.as_ref().and_then(|dir| noted(Recorder::start(dir)));
        let times =
            if config.makes() { Times::start(&config).map_err(|e| problems.push(e.to_string())).ok() } else { None };
        let shadow = config.shadow.as_ref();
        let shadow = shadow.and_then(|config| Shadow::start(config).map_err(|e| problems.push(e.to_string())).ok());
        if !config.makes() && config.dir.is_none() && config.shadow.is_none() {
            let names = "DOVETAIL_LAYER_DIR, DOVETAIL_LAYER_TIMES or DOVETAIL_LAYER_SHADOW";
            problems.push(format!("nothing to do: {names} is to be set"));
        }
        problems.iter().for_each(|problem| complain(problem));
        Self {
            config,
            recorder,
            times,
            shadow,
            tables: Mutex::default(),
            any_waiting: AtomicBool::new(false),
            process: std::process::id(),
        }
    }

    /// Adds a definition to its table, and passes it to the recorder if it is new.
    fn define<T: Serialize>(
        &self,
        definition: T,
        table: impl FnOnce(&mut Tables) -> &mut Table<T>,
        item: fn(Hash, Arc<T>) -> Item,
    ) -> Hash {
        let name = name_of(&definition);
        let mut tables = lock(&self.tables);
        let table = table(&mut tables);
        if let Entry::Vacant(place) = table.entry(name) {
            let definition = place.insert(Arc::new(definition)).clone();
            drop(tables);
            self.record(item(name, definition));
        }
        name
    }

    fn record(&self, item: Item) {
        self.recorder.iter().for_each(|recorder| recorder.put(item.clone()));
    }

    pub fn sampler(&self, sampler: Sampler) -> Hash {
        self.define(sampler, |tables| &mut tables.samplers, Item::Sampler)
    }

    pub fn set_layout(&self, layout: SetLayout) -> Hash {
        self.define(layout, |tables| &mut tables.set_layouts, Item::SetLayout)
    }

    pub fn pipeline_layout(&self, layout: PipelineLayout) -> Hash {
        self.define(layout, |tables| &mut tables.pipeline_layouts, Item::PipelineLayout)
    }

    pub fn render_pass(&self, pass: RenderPass) -> Hash {
        self.define(pass, |tables| &mut tables.render_passes, Item::RenderPass)
    }

    /// Names a SPIR-V module, and records it.
    pub fn module(&self, code: &[u8]) -> Hash {
        let name = Hash::of(code);
        let mut tables = lock(&self.tables);
        if let Entry::Vacant(place) = tables.modules.entry(name) {
            let code: Arc<[u8]> = code.into();
            place.insert((self.times.is_some() || self.shadow.is_some()).then(|| code.clone()));
            drop(tables);
            self.record(Item::Module(name, code));
        }
        name
    }

    /// Records a graphics pipeline that the driver created in `driver` time.
    pub fn graphics(&self, pipeline: GraphicsPipeline, driver: Duration) -> Hash {
        if pipeline.is_library() {
            return self.define(
                pipeline,
                |tables| &mut tables.libraries,
                |name, pipeline| Item::Graphics(name, pipeline, None),
            );
        }
        let name = name_of(&pipeline);
        let pipeline = Arc::new(pipeline);
        let waiting = waits(&pipeline, self);
        if waiting {
            lock(&self.tables).waiting.insert(name, pipeline.clone());
            self.any_waiting.store(true, Ordering::Release);
        }
        let translated = graphics(&pipeline, self);
        let fixed = self.shadow.as_ref().and_then(|_| fixed(&pipeline, self).ok());
        if self.is_new(name, &translated, waiting) {
            let state = translated.as_ref().ok().cloned().map(Arc::new);
            self.record(Item::Graphics(name, pipeline, state));
        }
        if let Some(shadow) = &self.shadow {
            shadow.learn(name, &translated, fixed, |module| self.code(module));
        }
        self.time((name, "graphics"), driver, translated, waiting);
        name
    }

    /// Whether any pipeline waits for state that commands set.
    pub fn has_waiting(&self) -> bool {
        self.any_waiting.load(Ordering::Acquire)
    }

    /// Whether this pipeline waits for state that commands set.
    pub fn is_waiting(&self, name: Hash) -> bool {
        self.has_waiting() && lock(&self.tables).waiting.contains_key(&name)
    }

    /// The pipeline that a waiting one is with this state; it is recorded like one that the application creates.
    /// The driver's time counts for the waiting one.
    pub fn complete(&self, name: Hash, late: &LateState) -> Option<Hash> {
        let key = (name, name_of(late));
        let waiting = {
            let tables = lock(&self.tables);
            if let Some(done) = tables.completed.get(&key) {
                return Some(*done);
            }
            tables.waiting.get(&name)?.clone()
        };
        let pipeline = complete(&waiting, late, self, &mut |library| self.graphics(library, Duration::ZERO))?;
        let name = self.graphics(pipeline, Duration::ZERO);
        lock(&self.tables).completed.insert(key, name);
        Some(name)
    }

    /// Records a compute pipeline that the driver created in `driver` time.
    pub fn compute(&self, pipeline: ComputePipeline, driver: Duration) -> Hash {
        let name = name_of(&pipeline);
        let translated = compute(&pipeline, self);
        if self.is_new(name, &translated, false) {
            let state = translated.as_ref().ok().cloned().map(Arc::new);
            self.record(Item::Compute(name, Arc::new(pipeline), state));
        }
        if let Some(shadow) = &self.shadow {
            shadow.learn(name, &translated, None, |module| self.code(module));
        }
        self.time((name, "compute"), driver, translated, false);
        name
    }

    /// A module's code, if it is kept.
    fn code(&self, module: Hash) -> Option<Arc<[u8]>> {
        lock(&self.tables).modules.get(&module).and_then(Clone::clone)
    }

    fn is_new(&self, name: Hash, translated: &Result<Translated>, waiting: bool) -> bool {
        let mut tables = lock(&self.tables);
        let new = tables.pipelines.insert(name);
        if let (true, false, Err(e)) = (new, waiting, translated) {
            *tables.untranslated.entry(e.to_string()).or_default() += 1;
        }
        new
    }

    fn time(&self, which: (Hash, &'static str), driver: Duration, translated: Result<Translated>, waiting: bool) {
        let Some(times) = &self.times else { return };
        times.make(which, driver, translated, waiting, &|module| self.code(module));
        if let Some(why) = times.cache_error() {
            complain(&why);
        }
    }

    /// Numbers of modules and pipelines so far, and the features that could not be translated.
    pub fn counts(&self) -> (usize, usize, BTreeMap<String, usize>) {
        let tables = lock(&self.tables);
        (tables.modules.len(), tables.pipelines.len(), tables.untranslated.clone())
    }

    fn find<T>(&self, name: Hash, table: impl FnOnce(&Tables) -> &Table<T>) -> Result<Arc<T>> {
        let found = table(&lock(&self.tables)).get(&name).cloned();
        found.ok_or_else(|| Error::malformed(format!("{name} was made before this layer looked, or not at all")))
    }
}

impl DefinitionSource for Session {
    fn sampler(&self, name: Hash) -> Result<Arc<Sampler>> {
        self.find(name, |tables| &tables.samplers)
    }

    fn set_layout(&self, name: Hash) -> Result<Arc<SetLayout>> {
        self.find(name, |tables| &tables.set_layouts)
    }

    fn pipeline_layout(&self, name: Hash) -> Result<Arc<PipelineLayout>> {
        self.find(name, |tables| &tables.pipeline_layouts)
    }

    fn render_pass(&self, name: Hash) -> Result<Arc<RenderPass>> {
        self.find(name, |tables| &tables.render_passes)
    }

    fn graphics(&self, name: Hash) -> Result<Arc<GraphicsPipeline>> {
        self.find(name, |tables| &tables.libraries)
    }
}
