//! Store files: whatever they contain, a lookup returns what was stored, or nothing.

use super::targets::KEY;
use dovetail::cache::{Cache, Key, StoreKind};
use dovetail::error::{Error, Result};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// Entries of every size class, in leaves and in overflow pages.
fn entries() -> Vec<(Key, Vec<u8>)> {
    let sizes = [0usize, 1, 90, 1500, 5000, 9000];
    let key = |n: usize| Key(KEY.0.map(|b| b ^ (37 * n) as u8));
    sizes.iter().enumerate().map(|(n, &size)| (key(n), (0..size).map(|i| (i * 31 + n) as u8).collect())).collect()
}

static ENTRIES: LazyLock<Vec<(Key, Vec<u8>)>> = LazyLock::new(entries);

/// The database file in a cache folder.
fn database(dir: &Path) -> PathBuf {
    dir.join("lmdb").join("data.mdb")
}

/// A database with few entries, and one with all.
pub fn seeds() -> Vec<Vec<u8>> {
    let all = &*ENTRIES;
    let made = [2, all.len()].map(|count| {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(dir.path(), StoreKind::Lmdb).expect("a cache");
        all.iter().take(count).for_each(|(key, payload)| cache.put(key, payload).expect("an entry"));
        drop(cache);
        fs::read(database(dir.path())).expect("the database")
    });
    made.to_vec()
}

/// A cache folder with its database open for writing, in a memory file system if there is one: the target is the
/// reader, not the disk.
struct Folder {
    dir: TempDir,
    database: File,
}

impl Folder {
    fn new() -> Self {
        let shared = Path::new("/dev/shm");
        let made = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
        let dir = made.expect("a folder");
        fs::create_dir(dir.path().join("lmdb")).expect("a folder");
        let database = File::create(database(dir.path())).expect("a file");
        Self { dir, database }
    }

    /// Opens a cache with these bytes as its database, after looking up everything that should be in it.
    fn look(&self, bytes: &[u8]) -> Result<Cache> {
        // Only truncate to the new length: truncating to zero first takes longer than all the reads.
        self.database.write_all_at(bytes, 0)?;
        self.database.set_len(bytes.len() as u64)?;
        let cache = Cache::open(self.dir.path(), StoreKind::Lmdb)?;
        for (key, payload) in ENTRIES.iter() {
            if cache.get(key).is_some_and(|found| found != *payload) {
                return Err(Error::bug("an entry is not what was put in"));
            }
        }
        Ok(cache)
    }
}

/// One in this many inputs gets a put. A put opens LMDB, which takes as long as reading a hundred inputs.
const WRITTEN: u64 = 64;

/// Opens a cache with these bytes as its database, and stores something in one of [`WRITTEN`].
///
/// # Errors
/// A bug: an entry differs from what was stored, or is missing after a put; or a put fails.
pub fn read(bytes: &[u8]) -> Result<()> {
    thread_local! {
        /// Reading changes nothing, so all inputs that are only read share one folder.
        static READ: Folder = Folder::new();
    }
    READ.with(|folder| folder.look(bytes).map(drop))?;
    let sum = bytes.as_chunks::<8>().0.iter().fold(0, |sum, word| u64::from_le_bytes(*word).wrapping_add(sum));
    if !sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(8).is_multiple_of(WRITTEN) {
        return Ok(());
    }
    let folder = Folder::new();
    let cache = folder.look(bytes)?;
    let new = Key([1; 32]);
    cache.put(&new, b"more").map_err(|e| Error::bug(format!("not put: {e}")))?;
    if cache.get(&new).as_deref() == Some(b"more") { Ok(()) } else { Err(Error::bug("what was put is not there")) }
}
