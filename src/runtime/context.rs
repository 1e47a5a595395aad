//! The context that all handles share: tables, the cache on disk, events, counters.

use super::constants::KnownConstants;
use super::events::{Event, Events};
use super::held::Open;
use super::parts::Parts;
use super::service::desk::{self, Desk, Reach};
use dovetail_base::error::{Context as _, Error, Result};
use dovetail_base::frame::Bytes;
use dovetail_base::table::{SharedTable, hash};
use dovetail_base::target::Gpu;
use dovetail_cache::{Cache, Key, StoreKind};
use dovetail_compile::request::{CompilerId, ModuleDigest};
use dovetail_link::{Object, Plans};
use dovetail_pipeline::keys;
use dovetail_pipeline::toolchain::{CacheManifest, PairNote, noted_operands, noted_pair};
use dovetail_wire as wire;
use rustix::net::SocketAddrUnix;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Number of forks of this process and its ancestors since the library was loaded.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Marks a child after a fork, where locks may be held by threads that do not exist: contexts from before return an
/// environment error from now on. Safe to call in a fork handler.
pub fn note_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Parameters of a context.
#[derive(Clone, Copy, Debug)]
pub struct ContextInfo<'a> {
    /// Cache directory, only read, with the packs that it lists and those of the system; it need not exist yet. `None`: no cache
    /// on disk.
    pub cache_dir: Option<&'a Path>,
    /// GPU.
    pub target: Gpu,
    /// Limit in bytes of part ELFs in memory; above it, parts that no shader holds are dropped. If shaders hold more
    /// than that, this is repeated each time the total has doubled.
    pub max_memory: usize,
    /// Whether parts can be exported: their ELFs are kept for this, which doubles the memory for parts.
    pub exports: bool,
    /// Socket of a service that compiles missing parts; it need not exist yet. `None`: no requests are sent, and there
    /// is no thread.
    pub socket: Option<&'a Path>,
    /// An existing connection to the service, for a process that cannot open the socket, for example from a sandbox's
    /// launcher. It is duplicated and used first; when it breaks, the context connects to `socket`, if there is one.
    pub connection: Option<BorrowedFd<'a>>,
    /// Display name, such as the game's, shown by the service.
    pub app: &'a str,
}

impl ContextInfo<'_> {
    /// A context without a cache on disk and without a service; it keeps what shaders hold.
    pub const fn new(target: Gpu) -> Self {
        Self { cache_dir: None, target, max_memory: 0, exports: false, socket: None, connection: None, app: "" }
    }
}

/// Counters since the context was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Pipelines linked.
    pub links: u64,
    /// Pipelines taken from the cache, compiled as a whole.
    pub wholes: u64,
    /// Links that needed a whole-pipeline compile that was not in the cache.
    pub needs_whole: u64,
    /// Parts found in memory.
    pub memory_hits: u64,
    /// Parts found on the disk.
    pub disk_hits: u64,
    /// Failed lookups of parts.
    pub misses: u64,
    /// Damaged entries found, and lookups that could not read the cache at all.
    pub bad: u64,
    /// Bytes of ELFs whose parts are in memory.
    pub memory_bytes: u64,
    /// Parts and pipelines requested from the service.
    pub asked: u64,
    /// Requests that the service answered.
    pub answered: u64,
    /// Requests that failed for good.
    pub failed: u64,
    /// Pipelines replaced by better code.
    pub optimized: u64,
    /// Parts imported.
    pub imported: u64,
    /// Parts left out of imports because of the memory limit.
    pub left_out: u64,
    /// Rejected imports.
    pub imports_refused: u64,
    /// Events that were dropped because too many were not taken.
    pub events_dropped: u64,
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

/// The path that this one names now, whatever the working directory will be.
fn absolute(path: &Path) -> PathBuf {
    // It fails if the working directory is gone. Then the path names nothing, which is found out when it is used.
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The same for a socket, whose address is short: one that only fits as it was given stays.
fn socket_path(path: &Path) -> PathBuf {
    Some(absolute(path)).filter(|path| SocketAddrUnix::new(path).is_ok()).unwrap_or_else(|| path.to_owned())
}

/// A context. Clones share it; it lives as long as the last clone, shader or pipeline.
#[derive(Clone)]
pub struct Context(pub(super) Arc<Open>);

pub(super) struct Shared {
    pub(super) target: Gpu,
    cache: Option<Cache>,
    /// Its directory.
    pub(super) cache_dir: Option<PathBuf>,
    /// Whether parts may be read from it: not if a service has a different one.
    reads: AtomicBool,
    pub(super) service: Option<Arc<Desk>>,
    /// The cache's manifest, read as soon as there is one.
    manifest: OnceLock<CacheManifest>,
    pub(super) parts: Parts,
    pub(super) plans: Plans,
    pub(super) constants: KnownConstants,
    /// Notes of pairs, by the parts that they replace.
    pairs: SharedTable<[[u8; 32]; 2], Option<PairNote>>,
    pub(super) events: Events,
    pub(super) counters: Counters,
    /// [`FORKS`] when the context was created.
    forks: u32,
}

impl Context {
    /// Opens the cache, if there is one, for reading. Nothing is written, locked or mapped, and the service is not
    /// contacted yet. A cache that cannot be read is no error: see [`Self::cache_error`].
    ///
    /// # Errors
    /// Malformed: the cache's manifest. Environment: the connection cannot be duplicated.
    pub fn new(info: &ContextInfo<'_>) -> Result<Self> {
        let dir = info.cache_dir.map(absolute);
        let cache = dir.as_deref().map(|dir| dovetail_pack::open(dir, StoreKind::Lmdb)).transpose()?;
        Self::open(info, dir, cache)
    }

    /// As [`Context::new`], with a cache in the caller's store; the directory is not opened.
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn with_cache(info: &ContextInfo<'_>, cache: Cache) -> Result<Self> {
        Self::open(info, info.cache_dir.map(absolute), Some(cache))
    }

    fn open(info: &ContextInfo<'_>, cache_dir: Option<PathBuf>, cache: Option<Cache>) -> Result<Self> {
        let connection =
            info.connection.map(|fd| fd.try_clone_to_owned()).transpose().at(|| "connection to a service")?;
        let service = match (info.socket, connection) {
            (None, None) => None,
            (socket, given) => {
                Some(Arc::new(Desk::new(socket.map(socket_path), given.map(UnixStream::from), info.app.to_owned())))
            }
        };
        let shared = Shared {
            target: info.target,
            cache,
            cache_dir,
            reads: AtomicBool::new(true),
            service,
            manifest: OnceLock::new(),
            parts: Parts::new(info.max_memory, info.exports),
            plans: Plans::default(),
            constants: KnownConstants::default(),
            pairs: SharedTable::default(),
            events: Events::default(),
            counters: Counters::default(),
            forks: FORKS.load(Ordering::Relaxed),
        };
        shared.compiler(true)?;
        Ok(Self(Arc::new(Open(Arc::new(shared)))))
    }

    /// Key of everything besides requests that affects code. It changes once, when the cache is first found to be
    /// filled.
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

    /// A file descriptor that is readable while there are events. It belongs to the context.
    ///
    /// # Errors
    /// Environment: the system provides none, or after a fork.
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
            events_dropped: shared.events.dropped(),
        })
    }

    /// State of the service, with the reason if it is unreachable.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn reach(&self) -> Result<Reach> {
        Ok(self.shared()?.service.as_ref().map_or(Reach::None, |desk| desk.reach()))
    }

    /// Why the cache on the disk could not be read at the last lookup; `None` if it could, or there is none. Until it can
    /// be read, its parts count as missing.
    ///
    /// # Errors
    /// Environment: after a fork.
    pub fn cache_error(&self) -> Result<Option<Error>> {
        Ok(self.shared()?.cache.as_ref().and_then(Cache::unread).map(|why| why.at("the cache cannot be read")))
    }

    /// The shared state, unless the context was created before a fork.
    pub(super) fn shared(&self) -> Result<&Arc<Shared>> {
        self.0.0.alive()?;
        Ok(&self.0.0)
    }
}

impl Shared {
    /// # Errors
    /// Environment: this process is a fork of the one that created the context.
    pub(super) fn alive(&self) -> Result<()> {
        if FORKS.load(Ordering::Relaxed) == self.forks {
            return Ok(());
        }
        Err(Error::environment("this context is of the process before the fork: make another one in the child"))
    }

    /// The compiler of the cache's code; `None` while it is unknown, or if only the disk has it and may not be read.
    pub(super) fn compiler(&self, disk: bool) -> Result<Option<&CompilerId>> {
        if let Some(known) = self.manifest.get() {
            return Ok(Some(&known.compiler));
        }
        let Some(cache) = self.cache.as_ref().filter(|_| disk) else { return Ok(None) };
        let found = CacheManifest::of(cache).at(|| "cache")?;
        Ok(found.map(|manifest| &self.manifest.get_or_init(|| manifest).compiler))
    }

    /// The compiler of the cache's code, which becomes this one if it was unknown.
    ///
    /// # Errors
    /// Malformed: the cache's manifest.
    pub(super) fn compiler_or(&self, id: &CompilerId) -> Result<&CompilerId> {
        Ok(match self.compiler(true)? {
            Some(known) => known,
            None => &self.manifest.get_or_init(|| CacheManifest { compiler: id.clone(), pairs: false }).compiler,
        })
    }

    /// The ids of a module's specialization constants that are only operands, from the cache's record of it.
    ///
    /// # Errors
    /// Malformed: the record. Bug: the key cannot be computed.
    pub(super) fn noted_operands(&self, module: ModuleDigest) -> Result<Vec<u32>> {
        self.cache.as_ref().map_or(Ok(Vec::new()), |cache| noted_operands(cache, module)).at(|| "cache")
    }

    /// Sets whether parts are read from the disk.
    pub(super) fn read_disk(&self, reads: bool) {
        self.reads.store(reads, Ordering::Relaxed);
    }

    fn cached(&self, key: &Key) -> Result<Option<Arc<Object>>> {
        let cache = self.cache.as_ref().filter(|_| self.reads.load(Ordering::Relaxed));
        let Some(elf) = cache.and_then(|cache| cache.get_digested(key)) else { return Ok(None) };
        let object = Object::parse_digested(&elf, elf.digest())?;
        Ok(Some(self.parts.insert(*key, object, elf.into_vec())))
    }

    /// The part in a service's answer; `None` if it is neither attached nor readable from the cache.
    ///
    /// # Errors
    /// Those of the part.
    pub(super) fn answered(&self, part: wire::PartAnswer) -> Result<Option<Arc<Object>>> {
        if let Some(object) = self.parts.get(&part.key) {
            return Ok(Some(object));
        }
        let Some(Bytes(elf)) = part.elf else { return self.cached(&part.key) };
        let object = Object::parse_new(&elf)?;
        Ok(Some(self.parts.insert(part.key, object, elf)))
    }

    /// The part under a key, from memory, or from the disk if that is allowed.
    ///
    /// # Errors
    /// Those of a part on the disk with a correct digest: another version's, or a bug.
    pub(super) fn part(&self, key: &Key, disk: bool) -> Result<Option<Arc<Object>>> {
        if let Some(object) = self.parts.get(key) {
            count(&self.counters.memory_hits);
            return Ok(Some(object));
        }
        if !disk {
            return Ok(None);
        }
        let found = self.cached(key)?;
        count(if found.is_some() { &self.counters.disk_hits } else { &self.counters.misses });
        Ok(found)
    }

    /// Whether the cache has parts compiled for each other.
    pub(super) fn has_pairs(&self) -> bool {
        self.manifest.get().is_some_and(|manifest| manifest.pairs)
    }

    /// The pair that replaces a vertex and a fragment part. `None` if the cache has none, or had none when its manifest was
    /// read. A pair that was not on disk at the first search is not searched for again.
    ///
    /// # Errors
    /// The note or a part is damaged.
    pub(super) fn pair(&self, early: [&Object; 2], disk: bool) -> Result<Option<Pair>> {
        if !self.has_pairs() {
            return Ok(None);
        }
        let [Some(&vertex), Some(&fragment)] = early.map(Object::digest) else { return Ok(None) };
        let ids = [vertex, fragment];
        let note = match self.pairs.find(hash(ids), |kept| *kept == ids) {
            Some(note) => *note,
            None if disk && self.reads.load(Ordering::Relaxed) => {
                let found = self.cache.as_ref().map_or(Ok(None), |cache| noted_pair(cache, early)).at(|| "cache")?;
                _ = self.pairs.keep(hash(ids), ids, found);
                found
            }
            None => None,
        };
        let Some(PairNote { vertex, fragment }) = note else { return Ok(None) };
        let Some(vertex) = self.part(&vertex, disk)? else { return Ok(None) };
        let Some(key) = fragment else { return Ok(Some(Pair { vertex, fragment: None })) };
        Ok(self.part(&key, disk)?.map(|fragment| Pair { vertex, fragment: Some(fragment) }))
    }
}

/// Two parts compiled for each other.
pub(super) struct Pair {
    pub(super) vertex: Arc<Object>,
    /// `None`: the part compiled without its partner is used.
    pub(super) fragment: Option<Arc<Object>>,
}
