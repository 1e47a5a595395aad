//! Files of a store: whatever stands in them, what comes out is what was put in, or nothing.

use super::targets::KEY;
use dovetail::cache::{Cache, Key, StoreKind};
use dovetail::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Entries: of every size class, small and over several pages.
fn entries() -> Vec<(Key, Vec<u8>)> {
    let sizes = [0usize, 1, 90, 1500, 5000, 20_000];
    let key = |n: usize| Key(KEY.0.map(|b| b ^ (37 * n) as u8));
    sizes.iter().enumerate().map(|(n, &size)| (key(n), (0..size).map(|i| (i * 31 + n) as u8).collect())).collect()
}

/// The database's file in a cache's folder.
fn database(dir: &Path) -> PathBuf {
    dir.join("lmdb").join("data.mdb")
}

/// One with few entries, and one with all.
pub fn seeds() -> Vec<Vec<u8>> {
    let all = entries();
    let made = [2, all.len()].map(|count| {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(dir.path(), StoreKind::Lmdb).expect("a cache");
        all.iter().take(count).for_each(|(key, payload)| cache.put(key, payload).expect("an entry"));
        drop(cache);
        fs::read(database(dir.path())).expect("the database")
    });
    made.to_vec()
}

/// Opens a cache whose database is these bytes.
///
/// # Errors
/// A bug: an entry other than it was put in.
pub fn read(bytes: &[u8]) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let file = database(dir.path());
    fs::create_dir(file.parent().unwrap_or(dir.path()))?;
    fs::write(file, bytes)?;
    let Ok(cache) = Cache::open(dir.path(), StoreKind::Lmdb) else { return Ok(()) };
    for (key, payload) in entries() {
        if cache.get(&key).is_some_and(|found| found != payload) {
            return Err(Error::bug("an entry is not what was put in"));
        }
    }
    Ok(())
}
