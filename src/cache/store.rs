//! What a backend must do: keep bytes under keys.

use super::{DEFAULT_MAP_BYTES, Key, LmdbStore, MemoryStore};
use crate::error::{Error, Result};
use std::path::Path;
use std::str::FromStr;

/// Keeps opaque bytes under keys. Safe to use from many threads; a `put` that returned survives the process.
pub trait Store: Send + Sync {
    /// The bytes under a key.
    ///
    /// # Errors
    /// Environment: what there is cannot be read, being damaged or out of reach.
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>>;

    /// Keeps bytes under a key, replacing what was there. Damage that is in the way is set aside.
    ///
    /// # Errors
    /// Environment: the backend is full or fails, or its place cannot be written.
    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()>;

    /// Whether something could be put, as far as can be told without doing it.
    ///
    /// # Errors
    /// Environment: why not.
    fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    /// What was done about damage since this was asked last: a line each, for people.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The backends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreKind {
    /// LMDB: several processes at once, nothing lost on a kill.
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
    /// Environment: it cannot be made or opened.
    pub fn open(self, dir: &Path) -> Result<Box<dyn Store>> {
        Ok(match self {
            Self::Lmdb => Box::new(LmdbStore::open(&dir.join("lmdb"), DEFAULT_MAP_BYTES)),
            #[cfg(feature = "sled")]
            Self::Sled => Box::new(super::SledStore::open(&dir.join("sled"))?),
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
