//! LMDB read in its usual way, through its map and by its own code, as the baseline for a hit of the cache.

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions};
use std::path::Path;

/// The database of a folder, opened for reading.
pub struct RawLmdb {
    env: Env,
    database: Database<'static, Bytes, Bytes>,
}

impl RawLmdb {
    /// Opens a database that a store has written.
    pub fn open(dir: &Path) -> Self {
        // SAFETY: the file was just written by this program, and nothing changes it while it is mapped.
        let env = unsafe { EnvOpenOptions::new().map_size(1 << 30).open(dir) }.expect("an LMDB file");
        let opened = env.create_databases_and_commit(env.write_txn().expect("a transaction"), |open, transaction| {
            open.create_database::<Bytes, Bytes>(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
        });
        let CommitOrAbort::Commit(database) = opened.expect("the database") else { panic!("no database") };
        Self { env, database }
    }

    /// A copy of a value, because a cache must return one too.
    pub fn get(&self, key: &[u8]) -> Vec<u8> {
        let transaction = self.env.read_txn().expect("a transaction");
        self.database.get(&transaction, key).expect("a read").expect("a hit").to_vec()
    }
}
