//! The cache's backends by their command-line names, and how each is opened.

use super::lmdb_store::{DEFAULT_MAP_BYTES, LmdbStore};
use super::memory::MemoryStore;
use super::store::Store;
use dovetail_base::error::{Error, Result};
use std::path::Path;
use std::str::FromStr;

/// The backends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreKind {
    /// LMDB: several processes at once, no loss on a kill.
    #[default]
    Lmdb,
    /// sled: one process at a time.
    Sled,
    /// In this process's memory only.
    Memory,
}

impl StoreKind {
    /// Opens the backend in its own folder below `dir`, so that several kinds can share a cache directory.
    ///
    /// # Errors
    /// Environment: it cannot be created or opened.
    pub fn open(self, dir: &Path) -> Result<Box<dyn Store>> {
        Ok(match self {
            Self::Lmdb => Box::new(LmdbStore::open(&dir.join("lmdb"), DEFAULT_MAP_BYTES)),
            #[cfg(feature = "sled")]
            Self::Sled => Box::new(super::sled::SledStore::open(&dir.join("sled"))?),
            #[cfg(not(feature = "sled"))]
            Self::Sled => return Err(Error::environment("this dovetail was built without sled (feature `sled`)")),
            Self::Memory => Box::new(MemoryStore::default()),
        })
    }
}

impl FromStr for StoreKind {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        match s {
            "lmdb" => Ok(Self::Lmdb),
            "sled" => Ok(Self::Sled),
            "memory" => Ok(Self::Memory),
            _ => Err(Error::malformed(format!("store `{s}`: lmdb, sled or memory"))),
        }
    }
}
