//! sled: a log-structured tree, one process at a time.

use super::{Key, Store};
use crate::error::{Error, Result};
use std::path::Path;

/// A sled database. Every put is flushed before it returns: sled loses unflushed puts when the process is killed.
pub struct SledStore(sled::Db);

impl SledStore {
    /// Opens or makes the database in a directory.
    ///
    /// # Errors
    /// Environment: another process holds it, or it cannot be made or read.
    pub fn open(dir: &Path) -> Result<Self> {
        sled::Config::new().path(dir).open().map(Self).map_err(failed).map_err(|e| e.at(dir.display().to_string()))
    }
}

fn failed(e: sled::Error) -> Error {
    Error::environment(format!("sled store: {e}"))
}

impl Store for SledStore {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(key.0).map_err(failed)?.map(|v| v.to_vec()))
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.0.insert(key.0, bytes).map_err(failed)?;
        self.0.flush().map_err(failed)?;
        Ok(())
    }
}
