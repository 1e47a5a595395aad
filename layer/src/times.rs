//! Makes the application's pipelines with Dovetail's run time too, and measures both.
//!
//! Work that a driver would do when it creates a shader (hash the module, find its part) is measured separately from
//! its work when it creates a pipeline (link). All of it runs on the application's thread, as it would in a driver.

use crate::config::Config;
use crate::guard::{aside, lock};
use dovetail_base::error::{Error, ErrorKind, Result};
use dovetail_base::target::{Gpu, Stage};
use dovetail_capture::{Hash, StageUse, Translated};
use dovetail_compile::request::Module;
use dovetail_link::Placement;
use dovetail_runtime::{
    Context, ContextInfo, Layout, ModuleRef, Phase, Pipeline, PipelineFlags, PipelineInfo, PipelineRoute, Shader,
    ShaderInfo, ShaderStatus, Stats,
};
use dovetail_spirv::reflect;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Bytes of parts that stay in memory without a pipeline that uses them.
const MAX_MEMORY: usize = 256 << 20;

/// Times of all pipelines.
pub struct Times {
    context: Context,
    made: Mutex<Made>,
    /// The cache's folder, until it was looked into.
    unread: Mutex<Option<PathBuf>>,
}

/// Module, stage, entry point, specialization, and size of subgroups; 0: any.
type ShaderKey = (Hash, Stage, String, Vec<(u32, u64)>, u32);

#[derive(Default)]
struct Made {
    rows: BTreeMap<Hash, Row>,
    shaders: BTreeMap<ShaderKey, Shader>,
    layouts: BTreeMap<Hash, Layout>,
}

/// One pipeline, however often it is created.
struct Row {
    kind: &'static str,
    stages: usize,
    created: u32,
    driver: Duration,
    shaders: Duration,
    link: Duration,
    /// Number of parts that were available when it was first created.
    hits: usize,
    ours: Result<Pipeline>,
    /// It waits for state that commands set.
    waiting: bool,
}

/// Times and result of one pipeline.
pub struct Summary {
    pub name: Hash,
    pub kind: &'static str,
    pub stages: usize,
    pub created: u32,
    /// The driver's time, averaged over all creations.
    pub driver: Duration,
    /// Our time for its shaders, at the first creation.
    pub shaders: Duration,
    /// Our time for the pipeline, averaged over all creations.
    pub link: Duration,
    pub hits: usize,
    pub bytes: usize,
    pub came: Came,
}

/// Our result for a pipeline: how it was made, or why it was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    Linked,
    /// Compiled as a whole; the reason, if linking was tried.
    Whole(String),
    /// Its code depends on state that commands set; the completed pipelines have rows of their own.
    Waiting,
    /// Unsupported: the feature's name, and the case.
    Unsupported(String, String),
    NotCached(String),
    NeedsWhole(String),
    Pending(String),
    Failed(String),
}

impl Times {
    /// Opens the cache.
    ///
    /// # Errors
    /// Malformed: the target or the cache's manifest. Environment: the cache cannot be opened.
    pub fn start(config: &Config) -> Result<Self> {
        let target: Gpu = config.target.as_deref().unwrap_or("gfx1030").parse()?;
        let program = std::env::current_exe().ok();
        let app = program.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
        let context = Context::new(&ContextInfo {
            cache_dir: config.cache.as_deref(),
            max_memory: MAX_MEMORY,
            socket: config.socket.as_deref(),
            app: app.as_deref().unwrap_or("a Vulkan application"),
            ..ContextInfo::new(target)
        })?;
        let unread = Mutex::new(config.cache.clone());
        Ok(Self { context, made: Mutex::default(), unread })
    }

    /// Makes a pipeline that the driver created in `driver` time.
    pub fn make(
        &self,
        (name, kind): (Hash, &'static str),
        driver: Duration,
        translated: Result<Translated>,
        waiting: bool,
        module: &dyn Fn(Hash) -> Option<Arc<[u8]>>,
    ) {
        let mut made = lock(&self.made);
        let stages = translated.as_ref().map_or(0, |translated| translated.stages.len());
        let (mut shaders, mut link, mut hits) = (Duration::ZERO, Duration::ZERO, 0);
        let ours = translated.and_then(|translated| {
            let started = Instant::now();
            let found = made.shaders(&self.context, &translated.stages, module)?;
            let layout = made.layout(&translated)?;
            shaders = started.elapsed();
            hits = found.iter().filter(|shader| shader.status() == Ok(ShaderStatus::Ready)).count();
            let started = Instant::now();
            let pipeline = Pipeline::new(
                &self.context,
                &PipelineInfo {
                    shaders: &found.iter().collect::<Vec<_>>(),
                    layout: &layout,
                    state: &translated.state,
                    placement: Placement::Adjacent,
                    flags: PipelineFlags::default(),
                    priority: 0,
                    user: name.0,
                },
            );
            link = started.elapsed();
            pipeline
        });
        match made.rows.get_mut(&name) {
            Some(row) => {
                row.created += 1;
                row.driver += driver;
                row.link += link;
            }
            None => {
                let row = Row { kind, stages, created: 1, driver, shaders, link, hits, ours, waiting };
                made.rows.insert(name, row);
            }
        }
    }

    /// Waits at most `patience` for answers that the service still owes.
    pub fn wait(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let made = lock(&self.made);
        for pipeline in made.rows.values().filter_map(|row| row.ours.as_ref().ok()) {
            let left = until.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                // Its status tells what is wrong.
                aside(|| pipeline.wait(1, left).map(drop));
            }
        }
    }

    /// Why the cache cannot be read, once, after the first part was looked up.
    pub fn cache_error(&self) -> Option<String> {
        let dir = lock(&self.unread).take_if(|_| self.stats().misses > 0)?;
        let why = self.context.cache_error().ok().flatten()?;
        Some(format!("DOVETAIL_LAYER_CACHE={}: {why}; everything counts as not cached", dir.display()))
    }

    /// Number of pipelines created so far.
    pub fn created(&self) -> u64 {
        lock(&self.made).rows.values().map(|row| u64::from(row.created)).sum()
    }

    /// Times and results of all pipelines.
    pub fn summaries(&self) -> Vec<Summary> {
        let made = lock(&self.made);
        made.rows.iter().map(|(name, row)| row.summary(*name)).collect()
    }

    /// The run time's counters.
    pub fn stats(&self) -> Stats {
        self.context.stats().unwrap_or_default()
    }
}

impl Made {
    fn shaders(
        &mut self,
        context: &Context,
        stages: &[StageUse],
        module: &dyn Fn(Hash) -> Option<Arc<[u8]>>,
    ) -> Result<Vec<Shader>> {
        let mut found = Vec::new();
        for stage in stages {
            let lanes = stage.lanes.unwrap_or(0);
            let key = (stage.module, stage.stage, stage.entry_point.clone(), stage.specialization.clone(), lanes);
            if let Some(shader) = self.shaders.get(&key) {
                found.push(shader.clone());
                continue;
            }
            let code = module(stage.module);
            let code = code.ok_or_else(|| Error::malformed(format!("module {} was not seen", stage.module)))?;
            // Only a size that no wave has makes it matter whether the module uses subgroups.
            let wave = match stage.wave(true) {
                Ok(wave) => wave,
                Err(_) => stage.wave(reflect(&Module::new(code.to_vec())?)?.uses_subgroups)?,
            };
            let shader = Shader::new(
                context,
                &ShaderInfo {
                    module: ModuleRef::Code(&code),
                    entry_point: &stage.entry_point,
                    stage: stage.stage,
                    wave,
                    specialization: &stage.specialization,
                    no_disk: false,
                    fail_on_compile: false,
                    priority: 0,
                    user: stage.module.0,
                },
            )?;
            self.shaders.insert(key, shader.clone());
            found.push(shader);
        }
        Ok(found)
    }

    fn layout(&mut self, translated: &Translated) -> Result<Layout> {
        let layout = &translated.state.layout;
        let text = serde_json::to_vec(layout).map_err(|e| Error::bug(format!("JSON of a layout: {e}")))?;
        let name = Hash::of(&text);
        if let Some(found) = self.layouts.get(&name) {
            return Ok(found.clone());
        }
        let made = Layout::new(layout)?;
        self.layouts.insert(name, made.clone());
        Ok(made)
    }
}

impl Row {
    fn summary(&self, name: Hash) -> Summary {
        let status = self.ours.as_ref().map_err(Error::clone).and_then(Pipeline::status);
        let (came, bytes) = match status {
            Ok(status) => (came(&status.phase), status.bytes),
            Err(_) if self.waiting => (Came::Waiting, 0),
            Err(e) => (failed(&e), 0),
        };
        Summary {
            name,
            kind: self.kind,
            stages: self.stages,
            created: self.created,
            driver: self.driver / self.created,
            shaders: self.shaders,
            link: self.link / self.created,
            hits: self.hits,
            bytes,
            came,
        }
    }
}

fn came(phase: &Phase) -> Came {
    match phase {
        Phase::Done(PipelineRoute::Linked | PipelineRoute::Optimized(_)) => Came::Linked,
        Phase::Done(PipelineRoute::Whole(reason)) => {
            Came::Whole(reason.as_ref().map(ToString::to_string).unwrap_or_default())
        }
        Phase::Pending(stage) => Came::Pending(format!("{stage} shader")),
        Phase::NotCached(stage) => Came::NotCached(format!("{stage} shader")),
        Phase::CompilingWhole(e) => Came::Pending(e.to_string()),
        Phase::NeedsWhole(e) => Came::NeedsWhole(e.to_string()),
        Phase::Failed(e) => failed(e),
    }
}

fn failed(e: &Error) -> Came {
    match e.kind() {
        ErrorKind::Unsupported { feature, .. } => Came::Unsupported(feature.clone(), e.to_string()),
        _ => Came::Failed(e.to_string()),
    }
}
