//! Stores results and modules, many in one transaction, without delaying the clients that wait for them.
//!
//! A transaction waits for the disk, and costs as much processor time as a small compile. So the results of a short
//! time are gathered and stored together; until then the broker answers from memory. If a transaction fails, the stored
//! modules are deleted and it is tried again, because they may fill the disk. If it still fails, nothing is stored for
//! half a minute: a retry for each shader would not empty a full disk, and results are sent inline in any case.

use super::disk::Disk;
use super::locked::{StoredRecords, lock};
use super::wake::Message;
use dovetail_base::error::{Error, Result};
use dovetail_cache::{Cache, Key};
use dovetail_compile::StageElf;
use dovetail_compile::request::{Module, ModuleDigest};
use dovetail_pipeline::toolchain::operands_note;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Time in which results and modules are gathered.
const GATHERED: Duration = Duration::from_millis(50);
/// Number of bytes that are not gathered any longer.
const MANY: usize = 8 << 20;
/// Pause after a failed transaction.
const PAUSE: Duration = Duration::from_secs(30);
/// Bytes that the note about a module takes at most, roughly.
const NOTE: usize = 1 << 10;
/// Number of modules whose notes are known to be stored.
const MAX_NOTED: usize = 1 << 16;

/// Stores results and modules.
pub(super) struct Keeper {
    cache: Arc<Cache>,
    modules: StoredRecords,
    gathered: Gathered,
    /// A [`Message::Flush`] will come.
    scheduled: bool,
    /// Nothing is gathered any longer.
    closing: bool,
    noted: BTreeSet<ModuleDigest>,
    failed: Option<(Instant, Error)>,
    to: mpsc::Sender<Message>,
}

/// What is to be stored.
#[derive(Default)]
struct Gathered {
    parts: Vec<(Key, Arc<StageElf>)>,
    modules: Vec<Arc<Module>>,
    /// Modules whose constants that are only operands are noted in the cache.
    notes: Vec<Arc<Module>>,
    /// Modules that were loaded.
    used: Vec<ModuleDigest>,
    bytes: usize,
}

impl Keeper {
    /// Stores results in this cache, and modules in these records.
    pub(super) fn new(cache: Arc<Cache>, modules: StoredRecords, to: mpsc::Sender<Message>) -> Self {
        let (gathered, noted) = (Gathered::default(), BTreeSet::new());
        Self { cache, modules, gathered, scheduled: false, closing: false, noted, failed: None, to }
    }

    /// The stored modules.
    pub(super) fn modules(&self) -> &super::records::Files {
        &self.modules.files
    }

    /// Stores a result; the outcome arrives as [`Message::Kept`]. Returns false if it is not stored.
    pub(super) fn keep(&mut self, disk: &Disk, key: Key, elf: Arc<StageElf>) -> bool {
        self.failure().is_none() && self.gather(disk, elf.0.len(), |gathered| gathered.parts.push((key, elf)))
    }

    /// Stores a module. If it is not stored, it is sent again next time.
    pub(super) fn save(&mut self, disk: &Disk, module: Arc<Module>) {
        self.gather(disk, module.bytes().len(), |gathered| gathered.modules.push(module));
    }

    /// Notes a module's constants. If the note is not stored, clients that have only the module's digest miss parts with
    /// values, and have them compiled.
    pub(super) fn note(&mut self, disk: &Disk, module: &Arc<Module>) {
        if self.noted.len() >= MAX_NOTED {
            self.noted.clear();
        }
        if self.noted.insert(module.digest()) {
            self.gather(disk, NOTE, |gathered| gathered.notes.push(module.clone()));
        }
    }

    /// Forgets what was stored in a cache that is gone.
    pub(super) fn forget_notes(&mut self) {
        self.noted.clear();
    }

    /// Marks a module as used.
    pub(super) fn used(&mut self, disk: &Disk, module: ModuleDigest) {
        self.gather(disk, NOTE, |gathered| gathered.used.push(module));
    }

    fn gather(&mut self, disk: &Disk, bytes: usize, add: impl FnOnce(&mut Gathered)) -> bool {
        let all = self.gathered.bytes + bytes;
        if !disk.has_room(all) {
            return false;
        }
        add(&mut self.gathered);
        self.gathered.bytes = all;
        if self.closing || all >= MANY {
            self.flush(disk);
        } else if !std::mem::replace(&mut self.scheduled, true) {
            let to = self.to.clone();
            tokio::spawn(async move {
                tokio::time::sleep(GATHERED).await;
                // Sending fails only if the service has ended.
                let _ = to.send(Message::Flush).await;
            });
        }
        true
    }

    /// Stores what was gathered because its time is over.
    pub(super) fn time_is_over(&mut self, disk: &Disk) {
        self.scheduled = false;
        self.flush(disk);
    }

    /// Stores what was gathered, and from now on everything at once.
    pub(super) fn close(&mut self, disk: &Disk) {
        self.closing = true;
        self.flush(disk);
    }

    fn flush(&mut self, disk: &Disk) {
        let gathered = std::mem::take(&mut self.gathered);
        if gathered.bytes == 0 {
            return;
        }
        let (cache, modules) = (self.cache.clone(), self.modules.all.clone());
        // There is room, or it would not have been gathered.
        disk.write(gathered.bytes, move || gathered.store(&cache, &modules));
    }

    /// Takes the outcome of storing results. Returns a line for the log, if there is news.
    pub(super) fn done(&mut self, result: Result<()>) -> Option<String> {
        let error = result.err()?;
        let said = format!("nothing is kept for {} s: {error}", PAUSE.as_secs());
        self.failed = Some((Instant::now(), error));
        self.noted.clear();
        Some(said)
    }

    /// Why nothing is stored at present.
    pub(super) fn pause(&self, disk: &Disk) -> Option<String> {
        self.failure().or_else(|| disk.unwritten_because())
    }

    fn failure(&self) -> Option<String> {
        let (since, error) = self.failed.as_ref()?;
        let left = PAUSE.checked_sub(since.elapsed())?;
        Some(format!("{error} (tried again in {} s)", left.as_secs() + 1))
    }
}

impl Gathered {
    fn store(self, cache: &Cache, modules: &std::sync::Mutex<super::records::Records>) -> Option<Message> {
        let Self { parts, modules: sent, notes, used, bytes: _ } = self;
        let notes: Vec<(Key, Vec<u8>)> = notes.iter().filter_map(|module| operands_note(module).ok()?).collect();
        let entries = parts.iter().map(|(key, elf)| (*key, &elf.0[..]));
        let entries: Vec<_> = entries.chain(notes.iter().map(|(key, bytes)| (*key, &bytes[..]))).collect();
        let store = || if entries.is_empty() { Ok(()) } else { cache.put_all(&entries) };
        let first = store();
        let mut modules = lock(modules);
        // On a full disk results come first: clients can send their modules again.
        let stored = if first.is_err() && modules.clear() { store() } else { first };
        if stored.is_ok() {
            for module in sent {
                // If it is not stored, it is sent again next time.
                let _ = modules.put(Key(module.digest().0), module.bytes());
            }
        }
        used.iter().for_each(|module| modules.touch(&Key(module.0)));
        Some(Message::Kept(parts.into_iter().map(|(key, _)| key).collect(), stored))
    }
}
