//! The context, which all handles share: the tables, the cache on disk, the events, the counters.

use super::events::{Event, Events};
use super::held::Open;
use super::parts::Parts;
use super::service::desk::{self, Desk, Reach};
use crate::cache::{Cache, Key, StoreKind};
use crate::compile::request::{CompilerId, ModuleDigest};
use crate::error::{Context as _, Error, Result};
use crate::keys;
use crate::link::{Object, Plans};
use crate::target::GfxIp;
use crate::toolchain::{noted_operands, recorded_compiler};
use crate::wire;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Forks that this process and its parents have been through since the library was loaded.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// For the child of a fork, where locks may be held by threads that are not there: contexts from before answer by an
/// environment error from now on. It is safe to be called in a fork handler.
pub fn note_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Parameters of a context.
#[derive(Clone, Copy, Debug)]
pub struct ContextInfo<'a> {
    /// Folder of a cache, read only; it need not be there yet. None: memory alone.
    pub cache_dir: Option<&'a Path>,
    /// GPU.
    pub target: GfxIp,
    /// Bytes of part ELFs in memory past which parts that no shader holds are dropped. Where shaders hold more than that, it
    /// is done each time the total has doubled.
    pub max_memory: usize,
    /// Parts can be exported: their ELFs are kept for it, which takes as much memory again as they do.
    pub exports: bool,
    /// Socket of a service that compiles what is missing; it need not be there yet. None: nothing is asked of anybody, and there
    /// is no thread.
    pub socket: Option<&'a Path>,
    /// A connection to the service, made by somebody who may: a sandbox's launcher, for a process that cannot see the socket. It is
    /// duplicated, and used first; when it breaks, the next one is made by `socket`, or there is none.
    pub connection: Option<BorrowedFd<'a>>,
    /// A name for people, such as the game's; the service shows it.
    pub app: &'a str,
}

impl ContextInfo<'_> {
    /// A context in memory alone, which keeps what shaders hold and asks nobody.
    pub const fn new(target: GfxIp) -> Self {
        Self { cache_dir: None, target, max_memory: 0, exports: false, socket: None, connection: None, app: "" }
    }
}

/// Counters since a context was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Pipelines linked.
    pub links: u64,
    /// Pipelines taken whole.
    pub wholes: u64,
    /// Times that a link answered that it needs a whole compile which the cache has not.
    pub needs_whole: u64,
    /// Parts found in memory.
    pub memory_hits: u64,
    /// Parts found on the disk.
    pub disk_hits: u64,
    /// Parts found nowhere, each time they were looked for.
    pub misses: u64,
    /// Entries that were there and damaged.
    pub bad: u64,
    /// Bytes of ELFs whose parts are in memory.
    pub memory_bytes: u64,
    /// Parts and pipelines that the service was asked for.
    pub asked: u64,
    /// Requests that the service answered.
    pub answered: u64,
    /// Requests that the service will not answer.
    pub failed: u64,
    /// Pipelines that were replaced by better ones.
    pub optimized: u64,
    /// Parts taken from imports.
    pub imported: u64,
    /// Parts of imports for which there was no room.
    pub left_out: u64,
    /// Imports that were refused.
    pub imports_refused: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) links: AtomicU64,
    pub(super) wholes: AtomicU64,
    pub(super) needs_whole: AtomicU64,
    memory_hits: AtomicU64,
    disk_hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) imported: AtomicU64,
    pub(super) left_out: AtomicU64,
    pub(super) imports_refused: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A context. Clones are the same one; it lives as long as the last clone, shader or pipeline.
#[derive(Clone)]
pub struct Context(pub(super) Arc<Open>);

pub(super) struct Shared {
    pub(super) target: GfxIp,
    cache: Option<Cache>,
    /// Its folder.
    pub(super) cache_dir: Option<PathBuf>,
    /// Parts may be read from it: not where a service has another one.
    reads: AtomicBool,
    pub(super) service: Option<Arc<Desk>>,
    /// As the cache's manifest has it, read as soon as there is one.
    compiler: OnceLock<CompilerId>,
    pub(super) parts: Parts,
    pub(super) plans: Plans,
    pub(super) events: Events,
    pub(super) counters: Counters,
    /// [`FORKS`] when it was made.
    forks: u32,
}

impl Context {
    /// Opens the cache, if there is one, for reading. Nothing is written, locked or mapped, and the service is not asked yet.
    ///
    /// # Errors
    /// Environment: the folder cannot be opened. Malformed: its manifest.
    pub fn new(info: &ContextInfo<'_>) -> Result<Self> {
        let cache = info.cache_dir.map(|dir| Cache::open(dir, StoreKind::Lmdb)).transpose()?;
        Self::open(info, cache)
    }

    /// As [`Context::new`], with a cache in a store of the caller's; the folder is not opened.
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn with_cache(info: &ContextInfo<'_>, cache: Cache) -> Result<Self> {
        Self::open(info, Some(cache))
    }

    fn open(info: &ContextInfo<'_>, cache: Option<Cache>) -> Result<Self> {
        let connection =
            info.connection.map(|fd| fd.try_clone_to_owned()).transpose().at(|| "connection to a service")?;
        let service = match (info.socket, connection) {
            (None, None) => None,
            (socket, given) => {
                Some(Arc::new(Desk::new(socket.map(Path::to_owned), given.map(UnixStream::from), info.app.to_owned())))
            }
        };
        let shared = Shared {
            target: info.target,
            cache,
            cache_dir: info.cache_dir.map(Path::to_owned),
            reads: AtomicBool::new(true),
            service,
            compiler: OnceLock::new(),
            parts: Parts::new(info.max_memory, info.exports),
            plans: Plans::default(),
            events: Events::default(),
            counters: Counters::default(),
            forks: FORKS.load(Ordering::Relaxed),
        };
        shared.compiler(true)?;
        Ok(Self(Arc::new(Open(Arc::new(shared)))))
    }

    /// Key of everything that decides code besides requests. It changes once, when the cache is first found to be filled.
    ///
    /// # Errors
    /// Malformed: the cache's manifest. Environment: after a fork.
    pub fn key(&self) -> Result<Key> {
        let shared = self.shared()?;
        keys::global(shared.target, shared.compiler(true)?)
    }

    /// The next event, if there is one. Never blocks.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn next_event(&self) -> Result<Option<Event>> {
        Ok(self.shared()?.events.next())
    }

    /// A file descriptor that is readable while there are events. It stays the context's.
    ///
    /// # Errors
    /// Environment: the system gives none, or after a fork.
    pub fn event_fd(&self) -> Result<BorrowedFd<'_>> {
        self.shared()?.events.signal()
    }

    /// Counters so far.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn stats(&self) -> Result<Stats> {
        let shared = self.shared()?;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters {
            links,
            wholes,
            needs_whole,
            memory_hits,
            disk_hits,
            misses,
            imported,
            left_out,
            imports_refused,
        } = &shared.counters;
        let none = desk::Counters::default();
        let service = shared.service.as_ref().map_or(&none, |service| &service.counters);
        Ok(Stats {
            links: of(links),
            wholes: of(wholes),
            needs_whole: of(needs_whole),
            memory_hits: of(memory_hits),
            disk_hits: of(disk_hits),
            misses: of(misses),
            bad: shared.cache.as_ref().map_or(0, |cache| cache.stats().bad),
            memory_bytes: shared.parts.bytes() as u64,
            asked: of(&service.asked),
            answered: of(&service.answered),
            failed: of(&service.failed),
            optimized: of(&service.optimized),
            imported: of(imported),
            left_out: of(left_out),
            imports_refused: of(imports_refused),
        })
    }

    /// Whether there is a service, and if not, why.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn reach(&self) -> Result<Reach> {
        Ok(self.shared()?.service.as_ref().map_or(Reach::None, |desk| desk.reach()))
    }

    /// The shared state, unless the context is from before a fork.
    pub(super) fn shared(&self) -> Result<&Arc<Shared>> {
        self.0.0.alive()?;
        Ok(&self.0.0)
    }
}

impl Shared {
    /// # Errors
    /// Environment: this process is a fork of the one that made the context.
    pub(super) fn alive(&self) -> Result<()> {
        if FORKS.load(Ordering::Relaxed) == self.forks {
            return Ok(());
        }
        Err(Error::environment("this context is of the process before the fork: make another one in the child"))
    }

    /// The compiler of the cache's code; none while nothing says so, or while that is on the disk only and may not be
    /// looked for.
    pub(super) fn compiler(&self, disk: bool) -> Result<Option<&CompilerId>> {
        if let Some(known) = self.compiler.get() {
            return Ok(Some(known));
        }
        let Some(cache) = self.cache.as_ref().filter(|_| disk) else { return Ok(None) };
        Ok(recorded_compiler(cache).at(|| "cache")?.map(|id| self.compiler.get_or_init(|| id)))
    }

    /// The compiler of the cache's code, or this one from now on where nothing has said so yet.
    ///
    /// # Errors
    /// Malformed: the cache's manifest.
    pub(super) fn compiler_or(&self, id: &CompilerId) -> Result<&CompilerId> {
        Ok(match self.compiler(true)? {
            Some(known) => known,
            None => self.compiler.get_or_init(|| id.clone()),
        })
    }

    /// The ids of a module's specialization constants that are only operands, by the cache's note of it.
    ///
    /// # Errors
    /// Malformed: the note. Bug: the key cannot be made.
    pub(super) fn noted_operands(&self, module: ModuleDigest) -> Result<Vec<u32>> {
        self.cache.as_ref().map_or(Ok(Vec::new()), |cache| noted_operands(cache, module)).at(|| "cache")
    }

    /// Whether parts are read from the disk.
    pub(super) fn read_disk(&self, reads: bool) {
        self.reads.store(reads, Ordering::Relaxed);
    }

    fn cached(&self, key: &Key) -> Option<Vec<u8>> {
        self.cache.as_ref().filter(|_| self.reads.load(Ordering::Relaxed))?.get(key)
    }

    /// The part that a service answers with; none if it is neither sent nor to be read in the cache.
    ///
    /// # Errors
    /// What is wrong with the part.
    pub(super) fn answered(&self, part: wire::PartAnswer) -> Result<Option<Arc<Object>>> {
        if let Some(object) = self.parts.get(&part.key) {
            return Ok(Some(object));
        }
        let Some(elf) = part.elf.map(|elf| elf.0).or_else(|| self.cached(&part.key)) else { return Ok(None) };
        let object = Object::parse(&elf)?;
        Ok(Some(self.parts.insert(part.key, object, elf)))
    }

    /// The part under a key, from memory, or from the disk if that is allowed.
    ///
    /// # Errors
    /// What is wrong with a part that is on the disk with the right digest: another version's, or a bug.
    pub(super) fn part(&self, key: &Key, disk: bool) -> Result<Option<Arc<Object>>> {
        if let Some(object) = self.parts.get(key) {
            count(&self.counters.memory_hits);
            return Ok(Some(object));
        }
        if !disk {
            return Ok(None);
        }
        let Some(elf) = self.cached(key) else {
            count(&self.counters.misses);
            return Ok(None);
        };
        let object = Object::parse(&elf)?;
        count(&self.counters.disk_hits);
        Ok(Some(self.parts.insert(*key, object, elf)))
    }
}
