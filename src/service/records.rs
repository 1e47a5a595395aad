//! Records in files: a directory with one file per record, named by its key, checked by digest, and replaced as a
//! whole.
//!
//! What the service stores besides results (poison, modules, pipelines) must be listed, changed and deleted one record
//! at a time, which the cache's stores do not support. Files support it, and need no repair. A rename publishes a
//! record, so a kill leaves either the old record or the new one. A record damaged by a crash of the machine or by a
//! bad disk fails its digest and is deleted. Other processes may read the directory while the service writes. Nothing
//! is synced: records lost in a power failure are made again.

use dovetail_base::error::{Context as _, Error, Result};
use dovetail_base::files;
use dovetail_cache::{Key, Payload, entry};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// A directory of records.
pub struct Records {
    files: Files,
    known: BTreeMap<Key, Known>,
    bytes: u64,
}

/// The files of a directory of records. They can be read while another thread changes the records.
#[derive(Clone, Debug)]
pub struct Files {
    dir: PathBuf,
    cap: u64,
    /// Whether this process may clean up the directory.
    owned: bool,
}

struct Known {
    bytes: u64,
    used: SystemTime,
}

impl Records {
    /// The records of a directory, which need not exist. Above `cap` bytes the least recently used are deleted.
    pub fn open(dir: &Path, cap: u64) -> Self {
        Self::list(dir, cap, true)
    }

    /// The records of a directory that another process may be writing; nothing in it is changed.
    pub fn read(dir: &Path) -> Self {
        Self::list(dir, u64::MAX, false)
    }

    fn list(dir: &Path, cap: u64, owned: bool) -> Self {
        let files = Files { dir: dir.to_owned(), cap, owned };
        let mut records = Self { files, known: BTreeMap::new(), bytes: 0 };
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let Ok(data) = entry.metadata() else { continue };
            if !data.is_file() {
                continue;
            }
            match entry.file_name().to_str().and_then(parse_key) {
                Some(key) => records.note(key, data.len(), data.modified().unwrap_or(SystemTime::UNIX_EPOCH)),
                // A write that was interrupted by a kill left this.
                None if owned && entry.file_name().as_encoded_bytes().starts_with(b".") => {
                    drop(fs::remove_file(entry.path()));
                }
                None => {}
            }
        }
        records
    }

    /// The files, for reading them on other threads.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// A record; `None` if it does not exist or is damaged.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        self.files.get(key)
    }

    /// All undamaged records.
    pub fn all(&self) -> impl Iterator<Item = (Key, Vec<u8>)> {
        self.known.keys().filter_map(|key| Some((*key, self.get(key)?)))
    }

    /// Writes a record, and deletes old ones if there are too many bytes.
    ///
    /// # Errors
    /// Environment: the record cannot be written.
    pub fn put(&mut self, key: Key, payload: &[u8]) -> Result<()> {
        let encoded = entry::encode(&key, payload)?;
        let most = self.files.largest();
        if encoded.len() as u64 > most {
            return Err(Error::environment(format!("a record of {} bytes: at most {most}", encoded.len())));
        }
        let dir = &self.files.dir;
        // Others may read the cache, but not what the service keeps for itself.
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(Error::from).at(|| dir.display().to_string())?;
        let path = self.files.path(&key);
        if fs::symlink_metadata(&path).is_ok_and(|there| !there.is_file()) {
            // Opening a pipe would block until it has a reader. If removing fails, the write reports it.
            let _ = fs::remove_file(&path);
        }
        files::write_unsynced(&path, &encoded)?;
        self.note(key, encoded.len() as u64, SystemTime::now());
        while self.bytes > self.files.cap {
            let Some(oldest) = self.known.iter().min_by_key(|(_, known)| known.used).map(|(key, _)| *key) else {
                break;
            };
            self.remove(&oldest);
        }
        Ok(())
    }

    /// Marks a record as recently used.
    pub fn touch(&mut self, key: &Key) {
        let now = SystemTime::now();
        if let Some(known) = self.known.get_mut(key) {
            known.used = now;
        }
        // The order is only a hint: without it, a record may be deleted too early.
        let _ = fs::File::open(self.files.path(key)).and_then(|file| file.set_modified(now));
    }

    /// Deletes a record. Returns whether it existed.
    pub fn remove(&mut self, key: &Key) -> bool {
        if let Some(known) = self.known.remove(key) {
            self.bytes -= known.bytes;
        }
        fs::remove_file(self.files.path(key)).is_ok()
    }

    /// Deletes all records. Returns whether there were any.
    pub fn clear(&mut self) -> bool {
        let keys: Vec<Key> = self.known.keys().copied().collect();
        for key in &keys {
            self.remove(key);
        }
        !keys.is_empty()
    }

    fn note(&mut self, key: Key, bytes: u64, used: SystemTime) {
        self.bytes += bytes;
        if let Some(old) = self.known.insert(key, Known { bytes, used }) {
            self.bytes -= old.bytes;
        }
    }
}

impl Files {
    /// A record; `None` if it does not exist or is damaged.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let payload = entry::decode(key, files::read(&path, self.largest()).ok()?);
        if payload.is_err() && self.owned {
            // A damaged record has no use.
            let _ = fs::remove_file(&path);
        }
        payload.ok().map(Payload::into_vec)
    }

    /// Size in bytes of the largest record that is read, whoever wrote it.
    fn largest(&self) -> u64 {
        self.cap.min(entry::LARGEST_ENTRY as u64)
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.dir.join(key.to_string())
    }
}

/// Records to write: keys and payloads.
pub type Batch = Vec<(Key, Vec<u8>)>;

/// Time that a dropped writer has for its last records.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Writes records on a thread of its own. A record that waits is replaced by a newer one of its key, so a disk that is
/// held up costs no more memory than all records do. Dropping it waits until all are written, for some seconds at most.
pub struct Writer(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<Key, Vec<u8>>,
    /// No more records will come.
    closed: bool,
    /// The thread has ended.
    ended: bool,
}

impl Shared {
    /// The state is consistent after a panic at any point.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next record; `None` if there will be none.
    fn next(&self) -> Option<(Key, Vec<u8>)> {
        let mut state = self.state();
        loop {
            let first = state.waiting.pop_first();
            if first.is_some() || state.closed {
                return first;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Writer {
    /// Starts writing to these records.
    ///
    /// # Errors
    /// Environment: no thread can be created.
    pub fn start(mut records: Records) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = shared.clone();
        let write = move || {
            while let Some((key, payload)) = of_thread.next() {
                // A record that is not written is lost when this process exits, and the next one makes it again.
                let _ = records.put(key, &payload);
            }
            of_thread.state().ended = true;
            of_thread.changed.notify_all();
        };
        std::thread::Builder::new().name("dovetail-records".into()).spawn(write)?;
        Ok(Self(shared))
    }

    /// Queues records for writing.
    pub fn write(&self, records: Batch) {
        self.0.state().waiting.extend(records);
        self.0.changed.notify_all();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.state().closed = true;
        self.0.changed.notify_all();
        // If the thread panicked or the disk is held up, the rest is lost.
        let writing = |state: &mut State| !state.ended;
        let _ = self.0.changed.wait_timeout_while(self.0.state(), LAST_WRITES, writing);
    }
}

/// Parses a key in its printed form.
pub fn parse_key(text: &str) -> Option<Key> {
    let digits = text.as_bytes();
    let mut key = [0; 32];
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(Key(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> Key {
        Key([n; 32])
    }

    #[test]
    fn what_is_put_is_there_after_a_restart_and_what_is_damaged_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let mut records = Records::open(dir.path(), 1 << 20);
        (1..=3).for_each(|n| records.put(key(n), &[n; 100]).unwrap());
        assert!(records.remove(&key(3)) && !records.remove(&key(3)));
        fs::write(dir.path().join(".left.part"), b"of a kill").unwrap();
        let path = dir.path().join(key(1).to_string());
        let mut bytes = fs::read(&path).unwrap();
        bytes[50] ^= 1;
        fs::write(&path, bytes).unwrap();
        // A reader deletes nothing: the service may be about to rename a file that it has begun.
        assert_eq!(Records::read(dir.path()).all().count(), 1);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
        let records = Records::open(dir.path(), 1 << 20);
        assert_eq!(records.all().collect::<Vec<_>>(), [(key(2), vec![2; 100])]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "damaged and left records are gone");
    }

    #[test]
    fn a_pipe_or_a_folder_in_the_place_of_a_record_holds_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let mut records = Records::open(dir.path(), 1 << 20);
        (1..=2).for_each(|n| records.put(key(n), &[n; 100]).unwrap());
        let path = |n| dir.path().join(key(n).to_string());
        (1..=2).for_each(|n| fs::remove_file(path(n)).unwrap());
        // Opening a pipe waits for its other end.
        assert!(std::process::Command::new("mkfifo").arg(path(1)).status().unwrap().success());
        fs::create_dir(path(2)).unwrap();
        assert_eq!((records.get(&key(1)), records.get(&key(2))), (None, None));
        assert_eq!(Records::open(dir.path(), 1 << 20).all().count(), 0);
        records.put(key(1), b"again").unwrap();
        assert_eq!(records.get(&key(1)).unwrap(), b"again");
    }

    #[test]
    fn the_ones_used_least_recently_go_first() {
        let dir = tempfile::tempdir().unwrap();
        let mut records = Records::open(dir.path(), 1000);
        for n in 1..=3 {
            records.put(key(n), &[n; 200]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        records.touch(&key(1));
        records.put(key(4), &[4; 400]).unwrap();
        let left: Vec<u8> = Records::open(dir.path(), 1000).all().map(|(key, _)| key.0[0]).collect();
        assert_eq!(left, [1, 3, 4]);
        assert!(records.put(key(5), &[0; 2000]).is_err(), "what can never fit is refused");
    }

    #[test]
    fn keys_are_read_as_they_are_printed() {
        assert_eq!(parse_key(&key(0xa7).to_string()), Some(key(0xa7)));
        assert!(["", "a7", &"g".repeat(64), &"é".repeat(32)].iter().all(|text| parse_key(text).is_none()));
    }
}
