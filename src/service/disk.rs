//! Threads for work that waits for a disk, so that neither the loop nor a client waits for it.
//!
//! Reads and writes have threads of their own: while writes wait for a slow disk, reads from the page cache are
//! answered. The bytes that wait to be written are limited. While a read takes too long, the service does not use the
//! disk: compiling costs less than waiting.

use super::events::BrokerEvent;
use super::wake::Message;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Threads of each direction.
const LANE: usize = 4;
/// Threads for other work that takes longer than the loop may: hashing, comparing.
const OTHER: usize = 2;
/// Number of threads that the runtime needs for all of it.
pub const THREADS: usize = 2 * LANE + OTHER;
/// Time after which work counts as held up by the disk.
const PATIENCE: Duration = Duration::from_secs(1);
/// Largest number of bytes that may wait to be written.
const MAX_WAITING: usize = 64 << 20;

/// The disk of the cache and of the service's records.
pub struct Disk {
    reads: Lane,
    writes: Lane,
    waiting: Arc<AtomicUsize>,
    to: mpsc::Sender<Message>,
}

impl Disk {
    /// A disk whose work reports to the loop.
    pub fn new(to: mpsc::Sender<Message>) -> Self {
        Self { reads: Lane::default(), writes: Lane::default(), waiting: Arc::default(), to }
    }

    /// Reads. If the disk is held up, nothing is read and `without` is the result.
    pub fn read(
        &self,
        without: impl FnOnce() -> BrokerEvent,
        work: impl FnOnce() -> Message + Send + 'static,
    ) -> Option<BrokerEvent> {
        if self.look(work) { None } else { Some(without()) }
    }

    /// Reads on the service's own account. Returns false if the disk is held up, and nothing is read.
    pub fn look(&self, work: impl FnOnce() -> Message + Send + 'static) -> bool {
        let looks = self.reads.held_up().is_none();
        if looks {
            self.reads.run(&self.to, || Some(work()));
        }
        looks
    }

    /// Whether so many bytes can be written; otherwise too much is waiting.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.waiting.load(Ordering::Relaxed).saturating_add(bytes) <= MAX_WAITING
    }

    /// Writes something of this size; `work` returns a message for the loop. Returns false if too much is waiting.
    pub fn write(&self, bytes: usize, work: impl FnOnce() -> Option<Message> + Send + 'static) -> bool {
        if !self.has_room(bytes) {
            return false;
        }
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let waiting = self.waiting.clone();
        self.writes.run(&self.to, move || {
            let said = work();
            waiting.fetch_sub(bytes, Ordering::Relaxed);
            said
        });
        true
    }

    /// Why the cache is not read at present.
    pub fn unread_because(&self) -> Option<String> {
        let time = self.reads.held_up()?;
        Some(format!("a read has not returned for {} s: shaders are compiled without a lookup", time.as_secs()))
    }

    /// What writes wait for at present.
    pub fn unwritten_because(&self) -> Option<String> {
        let time = self.writes.held_up()?;
        let waiting = self.waiting.load(Ordering::Relaxed) >> 10;
        Some(format!("a write has not returned for {} s, {waiting} KiB wait", time.as_secs()))
    }
}

/// Work of one direction, on a limited number of the runtime's threads.
struct Lane {
    permits: Arc<Semaphore>,
    under_way: Arc<Mutex<UnderWay>>,
}

/// Start of each unfinished piece of work.
#[derive(Default)]
struct UnderWay {
    last: u64,
    since: BTreeMap<u64, Instant>,
}

impl Default for Lane {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(LANE)), under_way: Arc::default() }
    }
}

impl Lane {
    /// Runs work that returns a message for the loop.
    fn run(&self, to: &mpsc::Sender<Message>, work: impl FnOnce() -> Option<Message> + Send + 'static) {
        let (under_way, to) = (self.under_way.clone(), to.clone());
        // A panic concerns only this piece of work.
        let timed = move |permit: Option<OwnedSemaphorePermit>| {
            let timer = Timer::start(under_way);
            let message = work();
            drop(timer);
            if let Some(message) = message {
                // Sending fails only if the service has ended.
                let _ = to.blocking_send(message);
            }
            drop(permit);
        };
        match self.permits.clone().try_acquire_owned() {
            Ok(permit) => drop(tokio::task::spawn_blocking(move || timed(Some(permit)))),
            Err(_) => {
                let permits = self.permits.clone();
                tokio::spawn(async move {
                    // The semaphore is never closed.
                    let permit = permits.acquire_owned().await.ok();
                    tokio::task::spawn_blocking(move || timed(permit));
                });
            }
        }
    }

    /// How long the oldest unfinished work has taken, if that is too long.
    fn held_up(&self) -> Option<Duration> {
        let since = lock(&self.under_way).since.first_key_value().map(|(_, since)| since.elapsed())?;
        (since >= PATIENCE).then_some(since)
    }
}

/// Marks work as under way until it is dropped.
struct Timer {
    under_way: Arc<Mutex<UnderWay>>,
    number: u64,
}

impl Timer {
    fn start(under_way: Arc<Mutex<UnderWay>>) -> Self {
        let mut all = lock(&under_way);
        all.last += 1;
        let number = all.last;
        all.since.insert(number, Instant::now());
        drop(all);
        Self { under_way, number }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        lock(&self.under_way).since.remove(&self.number);
    }
}

/// The map is consistent after a panic at any point.
fn lock(under_way: &Mutex<UnderWay>) -> std::sync::MutexGuard<'_, UnderWay> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}
