//! The default store: an LMDB file in its own folder, for several processes at once.
//!
//! It is read without a map and without a lock, so also from read-only media. Concurrent puts of several threads go
//! into one transaction. The next put sets a damaged file aside.

use super::aside::{PATIENCE, WriteLock, held, set_aside};
use super::entry::LARGEST_ENTRY;
use super::key::Key;
use super::lmdb::{self, Failure};
use super::page::Damage;
use super::reader::Reader;
use super::store::Store;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// Default size limit of a store: 64 GiB. The file grows as it is filled.
pub const DEFAULT_MAP_BYTES: usize = 64 << 30;
/// Entries that are stored together.
type Entries = Vec<(Key, Vec<u8>)>;
/// Size in bytes after which a transaction takes no further entries.
const LARGEST_BATCH: usize = 16 << 20;

/// An LMDB file.
pub struct LmdbStore {
    dir: PathBuf,
    limit: usize,
    reader: RwLock<Option<Arc<Reader>>>,
    queue: Mutex<Queue>,
    /// Held by the thread that writes for all waiting ones.
    writer: Mutex<()>,
    notices: Mutex<Vec<String>>,
    /// Another process has kept the lock for too long: do not wait again for every entry.
    gave_up: AtomicBool,
}

/// Entries to be written, and results of those that were, by the ticket of the call that put them.
#[derive(Default)]
struct Queue {
    tickets: u64,
    waiting: BTreeMap<u64, Entries>,
    done: BTreeMap<u64, Result<()>>,
}

/// The data is consistent after a panic at any point, so a poisoned lock can still be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LmdbStore {
    /// The store in a folder, which may grow to `limit` bytes. Nothing is created before the first put.
    pub fn open(dir: &Path, limit: usize) -> Self {
        Self {
            dir: dir.to_owned(),
            limit,
            reader: RwLock::default(),
            queue: Mutex::default(),
            writer: Mutex::default(),
            notices: Mutex::default(),
            gave_up: AtomicBool::default(),
        }
    }

    fn file(&self) -> PathBuf {
        self.dir.join("data.mdb")
    }

    fn open_reader(&self) -> Result<Option<Arc<Reader>>, Damage> {
        let reader = Reader::open(&self.file())?.map(Arc::new);
        self.reader.write().unwrap_or_else(PoisonError::into_inner).clone_from(&reader);
        Ok(reader)
    }

    fn find(&self, key: &Key) -> Result<Option<Vec<u8>>, Damage> {
        let reader = self.reader.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(reader) = reader.map_or_else(|| self.open_reader(), |reader| Ok(Some(reader)))? else {
            return Ok(None);
        };
        match reader.get(&key.0) {
            Ok(Some(value)) => Ok(Some(value)),
            // The store was set aside or deleted; later puts are in another file.
            _ if reader.is_replaced(&self.file()) => self.open_reader()?.map_or(Ok(None), |reader| reader.get(&key.0)),
            other => other,
        }
    }

    /// A batch of waiting entries, with their tickets. If a key is put twice, the later value wins.
    fn batch(&self) -> (Vec<u64>, BTreeMap<Key, Vec<u8>>) {
        let waiting = &mut lock(&self.queue).waiting;
        let (mut tickets, mut entries, mut bytes) = (Vec::new(), BTreeMap::new(), 0);
        while bytes < LARGEST_BATCH {
            let Some((ticket, put)) = waiting.pop_first() else { break };
            bytes += put.iter().map(|(_, value)| value.len()).sum::<usize>();
            tickets.push(ticket);
            entries.extend(put);
        }
        (tickets, entries)
    }

    fn write_lock(&self) -> Result<WriteLock> {
        let patience = if self.gave_up.load(Ordering::Relaxed) { Duration::ZERO } else { PATIENCE };
        let lock = WriteLock::take(&self.dir, patience)?;
        self.gave_up.store(lock.is_none(), Ordering::Relaxed);
        lock.ok_or_else(|| held().at(self.dir.display().to_string()))
    }

    fn write(&self, entries: &BTreeMap<Key, Vec<u8>>) -> Result<()> {
        let _lock = self.write_lock()?;
        let place = || self.dir.display().to_string();
        // A fresh store is not damaged; if it is, another program is at work.
        for _ in 0..2 {
            let written = match std::fs::create_dir(&self.dir) {
                Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(Error::from(e).at(place())),
                Err(_) if !self.dir.is_dir() => {
                    Err(Failure::Damage(Damage::new(0, "cannot be in a path that is not a folder")))
                }
                _ => lmdb::write(&self.dir, self.limit, entries),
            };
            match written {
                Ok(()) => return Ok(()),
                Err(Failure::Damage(damage)) => {
                    let notice = set_aside(&self.dir, &damage)?;
                    lock(&self.notices).push(notice);
                    // The old reader would still find intact entries in the old file, which other processes no longer
                    // see.
                    *self.reader.write().unwrap_or_else(PoisonError::into_inner) = None;
                }
                Err(Failure::Other(e)) => return Err(e.at(place())),
            }
        }
        Err(Error::environment("the new store is damaged too: another program writes to it").at(place()))
    }
}

impl Store for LmdbStore {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        self.find(key).map_err(|damage| Error::environment(damage.to_string()).at(self.file().display().to_string()))
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.put_all(vec![(*key, bytes.to_vec())])
    }

    fn put_all(&self, entries: Entries) -> Result<()> {
        if let Some((_, bytes)) = entries.iter().find(|(_, bytes)| bytes.len() > LARGEST_ENTRY) {
            return Err(Error::environment(format!("an entry of {} bytes: at most {LARGEST_ENTRY}", bytes.len())));
        }
        let ticket = {
            let mut queue = lock(&self.queue);
            queue.tickets += 1;
            let ticket = queue.tickets;
            queue.waiting.insert(ticket, entries);
            ticket
        };
        let _writer = lock(&self.writer);
        loop {
            if let Some(result) = lock(&self.queue).done.remove(&ticket) {
                return result;
            }
            let (tickets, entries) = self.batch();
            let result = self.write(&entries);
            lock(&self.queue).done.extend(tickets.into_iter().map(|ticket| (ticket, result.clone())));
        }
    }

    fn check_writable(&self) -> Result<()> {
        self.write_lock().map(drop)
    }

    fn notices(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.notices))
    }
}
