//! A store above packs: what is put goes into the store, what is looked up comes from the store or else from a pack.

use crate::format::Root;
use crate::list::{PackList, packs_dir};
use crate::read::Pack;
use crate::system::{system_folder, system_packs};
use dovetail_base::error::{Error, Result};
use dovetail_cache::entry::{self, BadEntry};
use dovetail_cache::{Cache, Key, Payload, Store, StoreKind};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

/// Time in milliseconds after which a miss looks whether packs were added or removed.
const LOOK_AGAIN: u64 = 1000;

/// Opens the cache in a directory with the packs that it lists and those of the system. The directory need not exist. A pack that
/// cannot be read, or has another root than it should, is left out: [`Cache::notices`] names it, and misses count as bad.
///
/// # Errors
/// As [`Cache::open`].
pub fn open(dir: &Path, kind: StoreKind) -> Result<Cache> {
    let store = kind.open(dir)?;
    Ok(match kind {
        StoreKind::Memory => Cache::new(store),
        StoreKind::Lmdb | StoreKind::Sled => Cache::new(Box::new(Layers::new(dir, store, Some(system_folder())))),
    })
}

/// A store, and the packs below it.
pub struct Layers {
    dir: PathBuf,
    /// The folder of the system's packs.
    system: Option<PathBuf>,
    store: Box<dyn Store>,
    packs: RwLock<Arc<Packs>>,
    started: Instant,
    /// When the list was last looked at, in milliseconds since the start.
    looked: AtomicU64,
    notices: Mutex<Vec<String>>,
    /// Packs whose damage was told.
    told: Mutex<BTreeSet<Root>>,
}

/// What tells a changed file or folder: number, time of change in ns, length.
type Stamp = Option<(u64, i64, i64, u64)>;

/// The packs that are read, in this order.
#[derive(Default)]
struct Packs {
    stamps: [Stamp; 3],
    packs: Vec<Arc<Pack>>,
    /// Why packs are left out.
    refused: Vec<Error>,
}

fn stamp(path: &Path) -> Stamp {
    let about = std::fs::metadata(path).ok()?;
    Some((about.ino(), about.mtime(), about.mtime_nsec(), about.len()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Layers {
    /// A store in a cache's directory above the packs that the directory lists, and above those of the system.
    pub fn new(dir: &Path, store: Box<dyn Store>, system: Option<PathBuf>) -> Self {
        let layers = Self {
            dir: dir.to_owned(),
            system,
            store,
            packs: RwLock::default(),
            started: Instant::now(),
            looked: AtomicU64::new(0),
            notices: Mutex::default(),
            told: Mutex::default(),
        };
        layers.load();
        layers
    }

    fn packs(&self) -> Arc<Packs> {
        self.packs.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn stamps(&self) -> [Stamp; 3] {
        // The folder's changes if a pack in it is replaced.
        [stamp(&PackList::path(&self.dir)), stamp(&packs_dir(&self.dir)), self.system.as_deref().and_then(stamp)]
    }

    /// Reads the list again. Packs that stay are not opened again.
    fn load(&self) {
        let before = self.packs();
        let mut now = Packs { stamps: self.stamps(), ..Packs::default() };
        let list = PackList::read(&self.dir).unwrap_or_else(|e| {
            now.refused.push(e);
            PackList::default()
        });
        let system = self.system.as_deref().map_or(Ok(Vec::new()), system_packs).unwrap_or_else(|e| {
            now.refused.push(e);
            Vec::new()
        });
        let own = list.accepted().map(|line| (packs_dir(&self.dir).join(&line.path), Some(line.root)));
        for (path, root) in own.chain(system.into_iter().map(|path| (path, None))) {
            let is_open = |pack: &&Arc<Pack>| root == Some(pack.root()) && pack.path() == path && pack.is_in_place();
            let opened = before.packs.iter().find(is_open).cloned().map_or_else(|| accepted(&path, root), Ok);
            let listed = |pack: &Pack| list.0.iter().find(|line| line.root == pack.root()).map(|line| line.standing);
            match opened {
                // Of the system, but not for this cache, or listed already.
                Ok(pack) if root.is_none() && listed(&pack).is_some() => {}
                Ok(pack) => now.packs.push(pack),
                Err(e) => now.refused.push(e),
            }
        }
        lock(&self.notices).extend(now.refused.iter().map(|e| format!("{e}: this pack is not read")));
        *self.packs.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(now);
    }

    /// Reads the list again if it has changed, at most once a second. Says whether it has.
    fn has_changed(&self) -> bool {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let looked = self.looked.load(Ordering::Relaxed);
        if now < looked.saturating_add(LOOK_AGAIN)
            || self.looked.compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return false;
        }
        let changed = self.stamps() != self.packs().stamps;
        if changed {
            self.load();
        }
        changed
    }

    /// What the packs have under a key. A damaged pack hides none below it.
    fn in_packs(&self, key: &Key) -> Result<Option<Payload>> {
        let packs = self.packs();
        let mut damage = None;
        for pack in &packs.packs {
            match pack.get(key) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(e) => {
                    if lock(&self.told).insert(pack.root()) {
                        lock(&self.notices).push(format!("{e}: what cannot be read is treated as missing"));
                    }
                    damage = Some(e);
                }
            }
        }
        damage.or_else(|| packs.refused.first().cloned()).map_or(Ok(None), Err)
    }
}

/// Opens a pack that must have a root.
fn accepted(path: &Path, root: Option<Root>) -> Result<Arc<Pack>> {
    let pack = Pack::open(path)?;
    match root {
        Some(root) if root != pack.root() => {
            let why = format!("it is not the pack that was added (`dovetail pack add`): its root is {}", pack.root());
            Err(Error::malformed(why).at(path.display().to_string()))
        }
        _ => Ok(Arc::new(pack)),
    }
}

impl Store for Layers {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let own = self.store.get(key)?;
        if own.is_some() {
            return Ok(own);
        }
        self.in_packs(key)?.map(|found| entry::encode(key, &found)).transpose()
    }

    fn get_checked(&self, key: &Key) -> Result<Option<Result<Payload, BadEntry>>> {
        let own = self.store.get_checked(key);
        if let Ok(Some(Ok(_))) = own {
            return own;
        }
        let found = match self.in_packs(key) {
            Ok(None) | Err(_) if self.has_changed() => self.in_packs(key),
            found => found,
        };
        match (own, found) {
            (_, Ok(Some(found))) => Ok(Some(Ok(found))),
            (Ok(None), Err(e)) => Err(e),
            (own, _) => own,
        }
    }

    fn get_each(&self, key: &Key) -> Vec<Payload> {
        let packs = self.packs();
        let below = packs.packs.iter().filter_map(|pack| pack.get(key).ok().flatten());
        self.store.get_each(key).into_iter().chain(below).collect()
    }

    fn keys_after(&self, last: Option<&Key>) -> Result<Vec<Key>> {
        self.store.keys_after(last)
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.store.put(key, bytes)
    }

    fn put_all(&self, entries: Vec<(Key, Vec<u8>)>) -> Result<()> {
        self.store.put_all(entries)
    }

    fn identity(&self) -> u64 {
        self.store.identity()
    }

    fn check_writable(&self) -> Result<()> {
        self.store.check_writable()
    }

    fn reopen(&self) {
        self.store.reopen();
        self.load();
    }

    fn notices(&self) -> Vec<String> {
        let mut notices = self.store.notices();
        notices.append(&mut lock(&self.notices));
        notices
    }
}

#[cfg(test)]
mod tests;
