//! LMDB through heed: a memory-mapped tree that several processes read and write at once.

use super::{Key, Store};
use crate::error::{Error, Result};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions};
use std::path::Path;

/// Address space reserved for the map, and so the largest size of a store: 64 GiB. The file grows as it is filled.
pub const DEFAULT_MAP_BYTES: usize = 64 << 30;

/// An LMDB environment with one database.
pub struct LmdbStore {
    env: Env,
    db: Database<'static, Bytes, Bytes>,
}

impl LmdbStore {
    /// Opens or makes the environment in a directory, with room for `map_bytes`.
    ///
    /// # Errors
    /// Environment: the directory cannot be made, or the files in it are not LMDB's.
    pub fn open(dir: &Path, map_bytes: usize) -> Result<Self> {
        let at = |e: Error| e.at(dir.display().to_string());
        std::fs::create_dir_all(dir).map_err(|e| at(e.into()))?;
        let mut options = EnvOpenOptions::new();
        options.map_size(map_bytes).max_readers(512);
        // SAFETY: NO_META_SYNC only gives up the last transactions of a machine (not process) crash, never the file's
        // consistency; NO_TLS ties read slots to transactions, not threads. The map is private to LMDB: nothing else in
        // this crate opens or truncates the file. As with any mapped file, another program must not cut it short.
        let env = unsafe {
            options.flags(EnvFlags::NO_META_SYNC);
            options.open(dir)
        }
        .map_err(failed)
        .map_err(at)?;
        let txn = env.write_txn().map_err(failed).map_err(at)?;
        let made = env
            .create_databases_and_commit(txn, |open, txn| {
                open.create_database::<Bytes, Bytes>(txn, None).map(CommitOrAbort::<_, ()>::Commit)
            })
            .map_err(failed)
            .map_err(at)?;
        let CommitOrAbort::Commit(db) = made else {
            return Err(at(Error::bug("LMDB's first transaction was not committed")));
        };
        Ok(Self { env, db })
    }
}

fn failed(e: heed::Error) -> Error {
    match e {
        heed::Error::Mdb(heed::MdbError::MapFull) => {
            Error::environment("LMDB store is full: its map is as large as it may get; use another cache directory")
        }
        e => Error::environment(format!("LMDB store: {e}")),
    }
}

impl Store for LmdbStore {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let txn = self.env.read_txn().map_err(failed)?;
        Ok(self.db.get(&txn, &key.0).map_err(failed)?.map(<[u8]>::to_vec))
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        let mut txn = self.env.write_txn().map_err(failed)?;
        self.db.put(&mut txn, &key.0, bytes).map_err(failed)?;
        txn.commit().map_err(failed)
    }
}
