//! What all handles share: the tables, the cache on disk, the events, the counters.

use super::events::{Event, Events};
use super::parts::Parts;
use crate::cache::{Cache, Key, StoreKind};
use crate::compile::request::CompilerId;
use crate::error::{Context as _, Error, Result};
use crate::keys;
use crate::link::{Object, Plans};
use crate::target::GfxIp;
use crate::toolchain::recorded_compiler;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Forks that this process and its parents have been through since the library was loaded.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// For the child of a fork, where locks may be held by threads that are not there: contexts from before answer by an
/// environment error from now on. It is safe to be called in a fork handler.
pub fn note_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// What a context is made of.
#[derive(Clone, Copy, Debug)]
pub struct ContextInfo<'a> {
    /// Folder of a cache, read only; it need not be there yet. None: memory alone.
    pub cache_dir: Option<&'a Path>,
    /// GPU.
    pub target: GfxIp,
    /// Bytes of part ELFs in memory past which parts that no shader holds are dropped. Where shaders hold more than that, it
    /// is done each time the total has doubled.
    pub max_memory: usize,
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
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) links: AtomicU64,
    pub(super) wholes: AtomicU64,
    pub(super) needs_whole: AtomicU64,
    memory_hits: AtomicU64,
    disk_hits: AtomicU64,
    pub(super) misses: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A context. Clones are the same one; it lives as long as the last clone, shader or pipeline.
#[derive(Clone)]
pub struct Context(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) target: GfxIp,
    cache: Option<Cache>,
    /// As the cache's manifest has it, read as soon as there is one.
    compiler: OnceLock<CompilerId>,
    parts: Parts,
    pub(super) plans: Plans,
    pub(super) events: Events,
    pub(super) counters: Counters,
    /// [`FORKS`] when it was made.
    forks: u32,
}

impl Context {
    /// Opens the cache, if there is one, for reading. Nothing is written, locked or mapped.
    ///
    /// # Errors
    /// Environment: the folder cannot be opened. Malformed: its manifest.
    pub fn new(info: &ContextInfo<'_>) -> Result<Self> {
        let cache = info.cache_dir.map(|dir| Cache::open(dir, StoreKind::Lmdb)).transpose()?;
        let shared = Shared {
            target: info.target,
            cache,
            compiler: OnceLock::new(),
            parts: Parts::new(info.max_memory),
            plans: Plans::default(),
            events: Events::default(),
            counters: Counters::default(),
            forks: FORKS.load(Ordering::Relaxed),
        };
        shared.compiler(true)?;
        Ok(Self(Arc::new(shared)))
    }

    /// Key of everything that decides code besides requests. It changes once, when the cache is first found to be filled.
    ///
    /// # Errors
    /// Malformed: the cache's manifest. Environment: after a fork.
    pub fn key(&self) -> Result<Key> {
        self.0.alive()?;
        keys::global(self.0.target, self.0.compiler(true)?)
    }

    /// The next event, if there is one. Never blocks.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn next_event(&self) -> Result<Option<Event>> {
        self.0.alive()?;
        Ok(self.0.events.next())
    }

    /// A file descriptor that is readable while there are events. It stays the context's.
    ///
    /// # Errors
    /// Environment: the system gives none, or after a fork.
    pub fn event_fd(&self) -> Result<BorrowedFd<'_>> {
        self.0.alive()?;
        self.0.events.signal()
    }

    /// Counters so far.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn stats(&self) -> Result<Stats> {
        self.0.alive()?;
        let shared = &self.0;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { links, wholes, needs_whole, memory_hits, disk_hits, misses } = &shared.counters;
        Ok(Stats {
            links: of(links),
            wholes: of(wholes),
            needs_whole: of(needs_whole),
            memory_hits: of(memory_hits),
            disk_hits: of(disk_hits),
            misses: of(misses),
            bad: shared.cache.as_ref().map_or(0, |cache| cache.stats().bad),
            memory_bytes: shared.parts.bytes() as u64,
        })
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

    /// Whose code the cache holds; none while nothing says so, or while that is on the disk only and may not be looked for.
    pub(super) fn compiler(&self, disk: bool) -> Result<Option<&CompilerId>> {
        if let Some(known) = self.compiler.get() {
            return Ok(Some(known));
        }
        let Some(cache) = self.cache.as_ref().filter(|_| disk) else { return Ok(None) };
        Ok(recorded_compiler(cache).at(|| "cache")?.map(|id| self.compiler.get_or_init(|| id)))
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
        let Some(elf) = self.cache.as_ref().and_then(|cache| cache.get(key)) else {
            count(&self.counters.misses);
            return Ok(None);
        };
        let object = Object::parse(&elf)?;
        count(&self.counters.disk_hits);
        Ok(Some(self.parts.insert(*key, object, elf.len())))
    }
}
