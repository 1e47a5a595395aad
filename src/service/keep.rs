//! Stores results in the cache without delaying the clients that wait for them.
//!
//! A put waits for the disk, and simultaneous puts become one transaction (`cache::LmdbStore`). After a failed put there
//! are no puts for half a minute: retrying for each shader would not empty a full disk, and results are sent inline in
//! any case.

use super::disk::Disk;
use super::wake::Message;
use crate::cache::{Cache, Key};
use crate::compile::StageElf;
use crate::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pause after a failed put.
const PAUSE: Duration = Duration::from_secs(30);

/// Stores results.
pub struct Keeper {
    cache: Arc<Cache>,
    failed: Option<(Instant, Error)>,
}

impl Keeper {
    /// Stores results in this cache; the outcome of each put arrives as [`Message::Kept`].
    pub fn new(cache: Arc<Cache>) -> Self {
        Self { cache, failed: None }
    }

    /// Starts to store a result. Returns false if it does not.
    pub fn keep(&self, disk: &Disk, key: Key, elf: Arc<StageElf>) -> bool {
        let (cache, bytes) = (self.cache.clone(), elf.0.len());
        let put = move || Some(Message::Kept(key, cache.put(&key, &elf.0)));
        self.failure().is_none() && disk.write(bytes, put)
    }

    /// Takes the outcome of a put. Returns a line for the log, if there is news.
    pub fn done(&mut self, result: crate::error::Result<()>) -> Option<String> {
        let error = result.err()?;
        let said = format!("nothing is kept for {} s: {error}", PAUSE.as_secs());
        self.failed = Some((Instant::now(), error));
        Some(said)
    }

    /// Why nothing is stored at present.
    pub fn pause(&self, disk: &Disk) -> Option<String> {
        self.failure().or_else(|| disk.unwritten_because())
    }

    fn failure(&self) -> Option<String> {
        let (since, error) = self.failed.as_ref()?;
        let left = PAUSE.checked_sub(since.elapsed())?;
        Some(format!("{error} (tried again in {} s)", left.as_secs() + 1))
    }
}
