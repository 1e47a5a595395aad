//! Puts results into the cache, beside the way of whoever waits for them.
//!
//! A put waits for the disk, and several at once become one transaction (`cache::LmdbStore`), so each has a thread of its own for
//! as long as it takes; the runtime bounds how many. A put that fails stops all of them for half a minute: a full disk does not
//! get emptier by being asked for each shader, and results are sent inline either way.

use super::wake::Message;
use crate::cache::{Cache, Key};
use crate::compile::StageElf;
use crate::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Pause of puts after one has failed.
const PAUSE: Duration = Duration::from_secs(30);
/// Bytes that may wait to be put.
const MAX_WAITING: usize = 64 << 20;

/// Puts results.
pub struct Keeper {
    cache: Arc<Cache>,
    to: mpsc::Sender<Message>,
    failed: Option<(Instant, Error)>,
    waiting: usize,
}

impl Keeper {
    /// Into this cache; what became of each put comes as [`Message::Kept`].
    pub fn new(cache: Arc<Cache>, to: mpsc::Sender<Message>) -> Self {
        Self { cache, to, failed: None, waiting: 0 }
    }

    /// Begins to put a result. False if it is not even tried.
    pub fn keep(&mut self, key: Key, elf: Arc<StageElf>) -> bool {
        if self.pause().is_some() || self.waiting + elf.0.len() > MAX_WAITING {
            return false;
        }
        self.waiting += elf.0.len();
        let (cache, to) = (self.cache.clone(), self.to.clone());
        tokio::task::spawn_blocking(move || {
            let kept = cache.put(&key, &elf.0);
            // The service itself has ended if nobody takes it.
            let _ = to.blocking_send(Message::Kept(key, elf.0.len(), kept));
        });
        true
    }

    /// Takes the result of a put. Gives what people should know of it.
    pub fn done(&mut self, bytes: usize, result: crate::error::Result<()>) -> Option<String> {
        self.waiting = self.waiting.saturating_sub(bytes);
        let error = result.err()?;
        let said = format!("nothing is kept for {} s: {error}", PAUSE.as_secs());
        self.failed = Some((Instant::now(), error));
        Some(said)
    }

    /// Why nothing is put at the moment.
    pub fn pause(&self) -> Option<String> {
        let (since, error) = self.failed.as_ref()?;
        let left = PAUSE.checked_sub(since.elapsed())?;
        Some(format!("{error} (tried again in {} s)", left.as_secs() + 1))
    }
}
