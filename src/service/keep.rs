//! Stores results in the cache without delaying the clients that wait for them.
//!
//! A put waits for the disk, and simultaneous puts become one transaction (`cache::LmdbStore`), so each put runs on a
//! thread of its own; the runtime limits their number. After a failed put there are no puts for half a minute: retrying
//! for each shader would not empty a full disk, and results are sent inline in any case.

use super::wake::Message;
use crate::cache::{Cache, Key};
use crate::compile::StageElf;
use crate::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Pause after a failed put.
const PAUSE: Duration = Duration::from_secs(30);
/// Largest number of bytes that may wait to be stored.
const MAX_WAITING: usize = 64 << 20;

/// Stores results.
pub struct Keeper {
    cache: Arc<Cache>,
    to: mpsc::Sender<Message>,
    failed: Option<(Instant, Error)>,
    waiting: usize,
}

impl Keeper {
    /// Stores results in this cache; the outcome of each put arrives as [`Message::Kept`].
    pub fn new(cache: Arc<Cache>, to: mpsc::Sender<Message>) -> Self {
        Self { cache, to, failed: None, waiting: 0 }
    }

    /// Starts to store a result. Returns false if it does not.
    pub fn keep(&mut self, key: Key, elf: Arc<StageElf>) -> bool {
        if self.pause().is_some() || self.waiting + elf.0.len() > MAX_WAITING {
            return false;
        }
        self.waiting += elf.0.len();
        let (cache, to) = (self.cache.clone(), self.to.clone());
        tokio::task::spawn_blocking(move || {
            let kept = cache.put(&key, &elf.0);
            // Sending fails only if the service has ended.
            let _ = to.blocking_send(Message::Kept(key, elf.0.len(), kept));
        });
        true
    }

    /// Takes the outcome of a put. Returns a line for the log, if there is news.
    pub fn done(&mut self, bytes: usize, result: crate::error::Result<()>) -> Option<String> {
        self.waiting = self.waiting.saturating_sub(bytes);
        let error = result.err()?;
        let said = format!("nothing is kept for {} s: {error}", PAUSE.as_secs());
        self.failed = Some((Instant::now(), error));
        Some(said)
    }

    /// Why nothing is stored at present.
    pub fn pause(&self) -> Option<String> {
        let (since, error) = self.failed.as_ref()?;
        let left = PAUSE.checked_sub(since.elapsed())?;
        Some(format!("{error} (tried again in {} s)", left.as_secs() + 1))
    }
}
