//! Records on a thread of its own: an archive, and a folder that `dovetail populate` and `link` accept.
//!
//! | in the folder | |
//! | --- | --- |
//! | `NAME.foz`, `NAME.1.foz`, … | archives named after the program: each run continues one that no process writes |
//! | `modules/HASH.spv` | SPIR-V, once |
//! | `pipelines/HASH.toml` | the state of a pipeline, with its shaders in comments; missing if it is not supported |
//!
//! Each entry is written as it arrives, so a process that is killed loses only the last ones. Callers wait only if the
//! disk is thousands of entries behind.

use crate::guard::{aside, lock};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::files::write_unsynced;
use dovetail_capture::foz::{ArchiveWriter, EntryKind, payload};
use dovetail_capture::{
    ComputePipeline, Definition, GraphicsPipeline, Hash, PipelineLayout, RenderPass, Sampler, SetLayout, Translated,
};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Entries that may wait for the disk.
const QUEUE: usize = 4096;
/// How long the end of the process waits for the disk.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest number of processes of one program that record into one folder at the same time.
const MOST_ARCHIVES: usize = 4096;

/// Something to write.
#[derive(Clone)]
pub enum Item {
    Sampler(Hash, Arc<Sampler>),
    SetLayout(Hash, Arc<SetLayout>),
    PipelineLayout(Hash, Arc<PipelineLayout>),
    RenderPass(Hash, Arc<RenderPass>),
    Module(Hash, Arc<[u8]>),
    /// The pipeline, and its translation if it has one.
    Graphics(Hash, Arc<GraphicsPipeline>, Option<Arc<Translated>>),
    Compute(Hash, Arc<ComputePipeline>, Option<Arc<Translated>>),
    /// The payload that names the application.
    Application(Hash, Vec<u8>),
    /// Reports that everything before it is written.
    Flush(SyncSender<()>),
}

/// The sender to the recorder's thread.
pub struct Recorder {
    queue: SyncSender<Item>,
    /// The first failure; later items are dropped.
    failed: Arc<Mutex<Option<Error>>>,
    path: PathBuf,
}

impl Recorder {
    /// Creates the folder and an archive in it, and starts the thread.
    ///
    /// # Errors
    /// Environment: they cannot be created.
    pub fn start(dir: &Path) -> Result<Self> {
        let place = || dir.display().to_string();
        ["modules", "pipelines"].iter().try_for_each(|name| fs::create_dir_all(dir.join(name)).at(place))?;
        // The application may change its working directory before a file is written.
        let dir = dir.canonicalize().at(place)?;
        let (path, archive) = archive(&dir)?;
        let failed = Arc::new(Mutex::new(None));
        let (queue, items) = mpsc::sync_channel(QUEUE);
        let told = failed.clone();
        let thread = std::thread::Builder::new().name("dvt-record".to_owned());
        thread.spawn(move || aside(|| write_all(&dir, archive, &items, &told)))?;
        Ok(Self { queue, failed, path })
    }

    /// Queues an item.
    pub fn put(&self, item: Item) {
        // If the thread has ended, the failure says why.
        let _ = self.queue.send(item);
    }

    /// Waits until everything queued so far is written.
    pub fn flush(&self) {
        let (done, written) = mpsc::sync_channel(1);
        if self.queue.send(Item::Flush(done)).is_ok() {
            let _ = written.recv_timeout(PATIENCE);
        }
    }

    /// The archive's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first failure, if there was one.
    pub fn failure(&self) -> Option<Error> {
        lock(&self.failed).clone()
    }
}

/// An archive named after this program, new or of an earlier run. It is locked as long as it is open, so that no other
/// process writes to it.
fn archive(dir: &Path) -> Result<(PathBuf, ArchiveWriter<File>)> {
    let program = std::env::current_exe().ok();
    let name =
        program.as_deref().and_then(Path::file_name).map_or_else(|| "program".into(), |name| name.to_string_lossy());
    for number in 0..MOST_ARCHIVES {
        let path = dir.join(if number == 0 { format!("{name}.foz") } else { format!("{name}.{number}.foz") });
        let there = path.exists();
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = match opened {
            Ok(file) => file,
            // Another user's, perhaps.
            Err(_) if there => continue,
            Err(e) => return Err(Error::from(e).at(dir.display().to_string())),
        };
        // A file system without locks can still tell a new file.
        let is_ours = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => !there,
        };
        if is_ours && let Ok(writer) = ArchiveWriter::resume(file) {
            return Ok((path, writer));
        }
    }
    Err(Error::environment("as many archives as one folder holds").at(dir.display().to_string()))
}

fn write_all(dir: &Path, mut archive: ArchiveWriter<File>, items: &Receiver<Item>, failed: &Mutex<Option<Error>>) {
    for item in items {
        match item {
            Item::Flush(done) => drop(done.send(())),
            _ if lock(failed).is_some() => {}
            item => {
                if let Err(e) = write(dir, &mut archive, &item) {
                    lock(failed).get_or_insert(e);
                }
            }
        }
    }
}

fn write(dir: &Path, archive: &mut ArchiveWriter<File>, item: &Item) -> Result<()> {
    let mut put = |kind, name, definition| archive.put(kind, name, &payload::of(name, &definition)?);
    match item {
        Item::Sampler(name, it) => put(EntryKind::Sampler, *name, Definition::Sampler(it)),
        Item::SetLayout(name, it) => put(EntryKind::SetLayout, *name, Definition::SetLayout(it)),
        Item::PipelineLayout(name, it) => put(EntryKind::PipelineLayout, *name, Definition::PipelineLayout(it)),
        Item::RenderPass(name, it) => put(EntryKind::RenderPass, *name, Definition::RenderPass(it)),
        Item::Module(name, code) => {
            put(EntryKind::ShaderModule, *name, Definition::Module(code))?;
            appear(&dir.join(format!("modules/{name}.spv")), code)
        }
        Item::Graphics(name, it, state) => {
            put(EntryKind::GraphicsPipeline, *name, Definition::Graphics(it))?;
            write_state(dir, *name, state.as_deref())
        }
        Item::Compute(name, it, state) => {
            put(EntryKind::ComputePipeline, *name, Definition::Compute(it))?;
            write_state(dir, *name, state.as_deref())
        }
        Item::Application(name, payload) => archive.put(EntryKind::Application, *name, payload),
        Item::Flush(_) => Ok(()),
    }
}

fn write_state(dir: &Path, name: Hash, translated: Option<&Translated>) -> Result<()> {
    let Some(Translated { state, stages }) = translated else { return Ok(()) };
    let shader = |stage: &dovetail_capture::StageUse| {
        let entry = dovetail_base::error::printable(&stage.entry_point).into_owned();
        format!("# {}: ../modules/{}.spv, entry point {entry}\n", stage.stage, stage.module)
    };
    let shaders: String = stages.iter().map(shader).collect();
    // TOML cannot hold a specialization value of more than 63 bits; the archive has it.
    let Ok(text) = toml::to_string(state) else { return Ok(()) };
    appear(&dir.join(format!("pipelines/{name}.toml")), format!("{shaders}\n{text}").as_bytes())
}

/// Writes a file unless it exists; other processes see it complete or not at all.
fn appear(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.exists() { Ok(()) } else { write_unsynced(path, bytes) }
}
