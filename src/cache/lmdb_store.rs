//! The default store: an LMDB file in its own folder, for several processes at once.
//!
//! Reading uses neither a map nor a lock, so it also works on read-only media. Concurrent puts of several threads go
//! into one transaction. The next put sets a damaged file aside.

use super::aside::{PATIENCE, WriteLock, held, set_aside};
use super::entry::LARGEST_ENTRY;
use super::key::Key;
use super::lmdb::{self, Failure};
use super::page::Damage;
use super::reader::Reader;
use super::store::Store;
use dovetail_base::error::{Error, Result};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// Default size limit of a store: 64 GiB. The file grows as it is filled.
pub const DEFAULT_MAP_BYTES: usize = 64 << 30;
/// Entries that are stored together.
type Entries = Vec<(Key, Vec<u8>)>;
/// Pauses before a page is read again that the system did not read: a disk or a network may fail for a moment.
const PAUSES: [Duration; 3] = [Duration::from_millis(5), Duration::from_millis(50), Duration::from_millis(500)];
/// Errors of the system that mean a broken device or file system. The store is intact after others, such as too many open
/// files.
const BROKEN: [i32; 3] = [libc::EIO, libc::EBADMSG, libc::EUCLEAN];
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

    /// The reader, opened if it was not and there is a file.
    fn opened(&self) -> Result<Option<Arc<Reader>>, Damage> {
        let reader = self.reader.read().unwrap_or_else(PoisonError::into_inner).clone();
        reader.map_or_else(|| self.open_reader(), |reader| Ok(Some(reader)))
    }

    fn error(&self, damage: Damage) -> Error {
        let error = match damage.unread {
            Some(libc::ENOMEM) => Error::memory(damage.to_string()),
            _ => Error::environment(damage.to_string()),
        };
        error.at(self.file().display().to_string())
    }

    fn find(&self, key: &Key) -> Result<Option<Vec<u8>>, Damage> {
        let Some(reader) = self.opened()? else { return Ok(None) };
        match reader.get(&key.0) {
            Ok(Some(value)) => Ok(Some(value)),
            // The store was set aside or deleted; later puts are in another file.
            _ if reader.is_replaced(&self.file()) => self.open_reader()?.map_or(Ok(None), |reader| reader.get(&key.0)),
            other => other,
        }
    }

    /// A batch of waiting puts, by ticket.
    fn batch(&self) -> Vec<(u64, Entries)> {
        let waiting = &mut lock(&self.queue).waiting;
        let (mut puts, mut bytes) = (Vec::new(), 0);
        while bytes < LARGEST_BATCH {
            let Some(put) = waiting.pop_first() else { break };
            bytes += put.1.iter().map(|(_, value)| value.len()).sum::<usize>();
            puts.push(put);
        }
        puts
    }

    /// Writes puts together. If that fails, each by itself: one that does not fit must not cost the others.
    fn write_batch(&self, puts: &[(u64, Entries)]) -> Vec<(u64, Result<()>)> {
        let together = self.write(puts);
        match puts {
            [_, _, ..] if together.is_err() => {
                puts.iter().map(|put| (put.0, self.write(std::slice::from_ref(put)))).collect()
            }
            _ => puts.iter().map(|(ticket, _)| (*ticket, together.clone())).collect(),
        }
    }

    fn write_lock(&self) -> Result<WriteLock> {
        let patience = if self.gave_up.load(Ordering::Relaxed) { Duration::ZERO } else { PATIENCE };
        let lock = WriteLock::take(&self.dir, patience)?;
        self.gave_up.store(lock.is_none(), Ordering::Relaxed);
        lock.ok_or_else(|| held().at(self.dir.display().to_string()))
    }

    /// Writes puts in one transaction. If a key is put twice, the later value wins.
    fn write(&self, puts: &[(u64, Entries)]) -> Result<()> {
        let entries = puts.iter().flat_map(|(_, put)| put).map(|(key, bytes)| (*key, &bytes[..])).collect();
        let _lock = self.write_lock()?;
        let place = || self.dir.display().to_string();
        let (mut pauses, mut is_fresh) = (PAUSES.into_iter(), false);
        loop {
            let written = match std::fs::create_dir(&self.dir) {
                Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(Error::from(e).at(place())),
                Err(_) if !self.dir.is_dir() => {
                    Err(Failure::Damage(Damage::new(0, "cannot be in a path that is not a folder")))
                }
                _ => lmdb::write(&self.dir, self.limit, &entries),
            };
            let damage = match written {
                Ok(()) => return Ok(()),
                Err(Failure::Damage(damage)) => damage,
                Err(Failure::Other(e)) => return Err(e.at(place())),
            };
            if let Some(error) = damage.unread {
                if let Some(pause) = pauses.next() {
                    std::thread::sleep(pause);
                    continue;
                }
                if !BROKEN.contains(&error) {
                    return Err(Error::environment(damage.to_string()).at(place()));
                }
            }
            // A fresh store is not damaged; if it is, another program is at work.
            if std::mem::replace(&mut is_fresh, true) {
                let again = "the new store is damaged too: another program writes to it";
                return Err(Error::environment(again).at(place()));
            }
            let notice = set_aside(&self.dir, &damage)?;
            lock(&self.notices).push(notice);
            // The old reader would still find intact entries in the old file, which other processes no longer see.
            self.reopen();
        }
    }
}

impl Store for LmdbStore {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        self.find(key).map_err(|damage| self.error(damage))
    }

    fn keys_after(&self, last: Option<&Key>) -> Result<Vec<Key>> {
        let keys = match self.opened().map_err(|damage| self.error(damage))? {
            Some(reader) => reader.keys_after(last.map(|key| &key.0[..])).map_err(|damage| self.error(damage))?,
            None => Vec::new(),
        };
        // LMDB's own names have other lengths, and are not entries.
        Ok(keys.iter().filter_map(|key| <[u8; 32]>::try_from(&key[..]).ok()).map(Key).collect())
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
            let written = self.write_batch(&self.batch());
            lock(&self.queue).done.extend(written);
        }
    }

    fn identity(&self) -> u64 {
        // A store that was set aside still exists, so the new file has another number.
        std::fs::metadata(self.file()).map_or(0, |file| file.ino())
    }

    fn check_writable(&self) -> Result<()> {
        self.write_lock().map(drop)
    }

    fn reopen(&self) {
        *self.reader.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn notices(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.notices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn key(n: u8) -> Key {
        Key([n; 32])
    }

    #[test]
    fn a_full_store_says_so_keeps_what_it_has_and_takes_what_fits() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lmdb");
        let store = LmdbStore::open(&path, 1 << 20);
        let value = |n: u8| vec![n; 64 << 10];
        let taken: Vec<u8> = (0..64).take_while(|n| store.put(&key(*n), &value(*n)).is_ok()).collect();
        assert!((8..16).contains(&taken.len()), "{} entries of 64 KiB in 1 MiB", taken.len());
        let refused = store.put(&key(99), &value(99)).expect_err("a full store");
        assert!(refused.to_string().contains("size limit"), "{refused}");
        for store in [&store, &LmdbStore::open(&path, 1 << 20)] {
            for n in &taken {
                assert_eq!(store.get(&key(*n)).expect("a store"), Some(value(*n)));
            }
            assert_eq!(store.get(&key(99)).expect("a store"), None);
            assert_eq!(store.notices(), Vec::<String>::new(), "it is not damaged");
        }
        // Two puts in one batch, the first of which does not fit.
        let small = (101, vec![(key(101), vec![1; 16])]);
        let written = store.write_batch(&[(100, vec![(key(100), value(100))]), small]);
        let outcomes: Vec<(u64, bool)> = written.iter().map(|(ticket, result)| (*ticket, result.is_ok())).collect();
        assert_eq!(outcomes, [(100, false), (101, true)]);
        assert_eq!(store.get(&key(101)).expect("a store"), Some(vec![1; 16]));
        let larger = LmdbStore::open(&path, 2 << 20);
        larger.put(&key(99), &value(99)).expect("room again");
        assert_eq!(store.get(&key(99)).expect("a store"), Some(value(99)));
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
    }

    #[test]
    fn those_may_read_whom_the_mask_lets_and_only_writers_may_lock() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("probe"), b"").expect("a file");
        let path = dir.path().join("lmdb");
        // As an earlier version left it.
        std::fs::write(dir.path().join("lmdb.lock"), b"").expect("a file");
        LmdbStore::open(&path, 1 << 20).put(&key(1), b"value").expect("a store");
        assert_eq!(mode(&path.join("data.mdb")), mode(&dir.path().join("probe")));
        assert_eq!(mode(&dir.path().join("lmdb.lock")), 0o600);
    }

    #[test]
    fn a_folder_into_which_every_user_may_write_is_not_used() {
        let dir = tempfile::tempdir().expect("a folder");
        let (cache, path) = (dir.path().join("cache"), dir.path().join("cache/lmdb"));
        let allow =
            |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("its owner");
        std::fs::create_dir_all(&path).expect("a folder");
        let store = LmdbStore::open(&path, 1 << 20);
        for open in [&cache, &path] {
            allow(open, 0o777);
            for refused in [store.put(&key(1), b"value"), store.check_writable()] {
                assert!(refused.expect_err("anybody's").to_string().contains("every user may write"));
            }
            allow(open, 0o755);
        }
        store.put(&key(1), b"value").expect("a store");
    }

    #[test]
    fn links_in_the_places_of_its_files_are_not_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        let (path, other) = (dir.path().join("lmdb"), dir.path().join("other"));
        std::fs::create_dir(&path).expect("a folder");
        symlink(&other, path.join("data.mdb")).expect("a link");
        let store = LmdbStore::open(&path, 1 << 20);
        store.put(&key(1), b"value").expect("a new store");
        assert_eq!(store.get(&key(1)).expect("a store"), Some(b"value".to_vec()));
        assert!(store.notices().concat().contains("in a link") && !other.exists());
        std::fs::remove_file(dir.path().join("lmdb.lock")).expect("the lock");
        symlink(&other, dir.path().join("lmdb.lock")).expect("a link");
        assert!(store.put(&key(2), b"value").is_err() && !other.exists());
    }
}
