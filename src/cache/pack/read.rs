//! Reads a pack by `pread`, so that a file that is truncated, overwritten or deleted while it is open is an error and nothing else.
//!
//! Opening reads head, directory and meta, and checks the root. A page of the index is read and checked at its first use and then
//! kept; a payload is read and checked at each use. What does not have its digest is never returned.

use crate::format::{HEAD, Head, LINE, PAGE, PackMeta, RECORDS, Record, Root, prefix};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::fallible::{room, zeros};
use dovetail_base::files;
use dovetail_cache::{Key, Payload};
use rustix::buffer::spare_capacity;
use rustix::io::pread;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Index pages kept in memory: 8 MiB, all pages of a pack of 108,000 keys.
const KEPT_PAGES: usize = 2048;

/// Where a payload is, by the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadPlace {
    /// BLAKE3 of the payload.
    pub digest: [u8; 32],
    /// Offset in the data, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u32,
}

/// A page by its number.
type KeptPage = Mutex<Option<(usize, Box<[u8]>)>>;

/// An open pack. Shared by reference between threads.
pub struct Pack {
    file: File,
    path: PathBuf,
    head: Head,
    root: Root,
    meta: PackMeta,
    /// Of each page: the beginning of its first key.
    prefixes: Vec<u64>,
    /// Of each page: its BLAKE3.
    digests: Vec<[u8; 32]>,
    /// A page is kept at its number modulo their count, so one page takes the place of another, and threads rarely meet.
    kept: Vec<KeptPage>,
    damaged: AtomicU64,
}

/// What a complete check of a pack found.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PackChecks {
    /// Keys of the index pages that are intact.
    pub keys: u64,
    /// Payloads whose digest is right.
    pub payloads: u64,
    /// What is wrong, one line each.
    pub damage: Vec<String>,
}

impl Pack {
    /// Opens a pack. Its contents are those of its root ([`Self::root`]): whoever trusts the root trusts the pack.
    ///
    /// # Errors
    /// Environment: it cannot be read. Malformed: it is damaged, truncated or no pack. Unsupported: another format's.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_here(path).at(|| path.display().to_string())
    }

    fn open_here(path: &Path) -> Result<Self> {
        let (file, length) = files::open(path)?;
        let mut head = [0; HEAD as usize];
        file.read_exact_at(&mut head, 0).map_err(|e| unread(&e, "head"))?;
        let (head, root) = Head::decode(&head)?;
        if head.file_bytes() != length {
            let should = head.file_bytes();
            return Err(Error::malformed(format!(
                "the pack has {length} bytes and should have {should}: copy it again"
            )));
        }
        let directory = usize::try_from(head.directory_bytes()).map_err(|_| Error::memory("a pack's directory"))?;
        let mut bytes = zeros(directory + head.meta as usize)?;
        file.read_exact_at(&mut bytes, head.directory_at()).map_err(|e| unread(&e, "directory"))?;
        let (directory, meta) = bytes.split_at(directory);
        if Root::of(&head, directory, meta) != root {
            return Err(Error::malformed("the pack is damaged: its directory does not have its digest"));
        }
        let meta = PackMeta::decode(meta)?;
        let mut lines = directory.chunks_exact(LINE);
        let line =
            |line: &[u8]| Some((line.first_chunk().map(|eight| u64::from_be_bytes(*eight))?, *line.last_chunk()?));
        let (prefixes, digests): (Vec<u64>, Vec<[u8; 32]>) = lines.by_ref().filter_map(line).unzip();
        if !prefixes.is_sorted() {
            return Err(Error::malformed("the pack's index is not in order"));
        }
        let kept = (0..prefixes.len().min(KEPT_PAGES)).map(|_| Mutex::default()).collect();
        Ok(Self { file, path: path.to_owned(), head, root, meta, prefixes, digests, kept, damaged: AtomicU64::new(0) })
    }

    /// Its root.
    pub fn root(&self) -> Root {
        self.root
    }

    /// What it says about itself.
    pub fn meta(&self) -> &PackMeta {
        &self.meta
    }

    /// The numbers in its head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its path still names the file that is open.
    pub fn is_in_place(&self) -> bool {
        let identity = |about: std::fs::Metadata| (about.dev(), about.ino());
        let there = std::fs::metadata(&self.path).ok().map(identity);
        there.is_some() && there == self.file.metadata().ok().map(identity)
    }

    /// Pages and payloads found damaged so far.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }

    /// The payload under a key.
    ///
    /// # Errors
    /// Malformed: the payload or its page of the index is damaged. Environment, memory: it cannot be read.
    pub fn get(&self, key: &Key) -> Result<Option<Payload>> {
        let found = self.locate(key).and_then(|place| place.map(|place| self.payload(&place)).transpose());
        if found.is_err() {
            self.damaged.fetch_add(1, Ordering::Relaxed);
        }
        found.at(|| self.path.display().to_string())
    }

    /// Where the payload of a key is.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn locate(&self, key: &Key) -> Result<Option<PayloadPlace>> {
        let wanted = prefix(&key.0);
        // The page that begins last at or before the key. If several begin as the key does, it may be in an earlier one.
        let mut page = self.prefixes.partition_point(|first| *first <= wanted);
        while let Some(number) = page.checked_sub(1) {
            // Keys are hashes, so a key is about as far between the first keys of two pages as it is within its page.
            let [first, next] = [number, page].map(|page| self.prefixes.get(page).copied().unwrap_or(u64::MAX));
            let share = wanted.saturating_sub(first) as f64 / (next.saturating_sub(first).max(1)) as f64;
            let found = self.with_page(number, |bytes| search(bytes, self.head.records_in(number), key, share))?;
            match found {
                Some(record) => {
                    return Ok(Some(PayloadPlace { digest: record.digest, offset: record.offset, size: record.size }));
                }
                None if self.prefixes.get(number) == Some(&wanted) => page = number,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The payload at a place.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn payload(&self, place: &PayloadPlace) -> Result<Payload> {
        let wrong = || Error::malformed(format!("the pack is damaged: the payload at byte {}", HEAD + place.offset));
        Payload::checked(self.unchecked(place)?, &place.digest).ok_or_else(wrong)
    }

    /// The bytes at a place, whose digest is not checked: for measurements.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn unchecked(&self, place: &PayloadPlace) -> Result<Vec<u8>> {
        let record = Record { key: Key([0; 32]), digest: place.digest, offset: place.offset, size: place.size };
        // Checked before memory is allocated for it.
        if record.end().is_none_or(|end| end > self.head.data) {
            return Err(Error::malformed("the pack's index leads beyond its data"));
        }
        // Zeroing it first would take a tenth of a hit.
        let mut bytes = room(place.size as usize)?;
        while bytes.len() < place.size as usize {
            let at = HEAD + place.offset + bytes.len() as u64;
            match pread(&self.file, spare_capacity(&mut bytes), at).map_err(io::Error::from) {
                Ok(0) => return Err(unread(&io::ErrorKind::UnexpectedEof.into(), "data")),
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(unread(&e, "data")),
            }
        }
        // The system may have given more room than was asked for.
        bytes.truncate(place.size as usize);
        Ok(bytes)
    }

    /// What is found in a page, which is read if it is not kept.
    fn with_page<T>(&self, number: usize, find: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let none = || Error::bug("an index page beyond a pack's directory");
        let slot = self.kept.get(number % self.kept.len().max(1)).ok_or_else(none)?;
        let mut kept = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = kept.as_ref().filter(|(kept, _)| *kept == number) {
            return Ok(find(bytes));
        }
        let bytes = self.read_page(number)?;
        let found = find(&bytes);
        *kept = Some((number, bytes.into_boxed_slice()));
        Ok(found)
    }

    fn read_page(&self, number: usize) -> Result<Vec<u8>> {
        let mut bytes = zeros(PAGE)?;
        let at = self.head.index_at() + (number * PAGE) as u64;
        self.file.read_exact_at(&mut bytes, at).map_err(|e| unread(&e, "index"))?;
        let right = self.digests.get(number).is_some_and(|digest| blake3::hash(&bytes) == *digest);
        let wrong = || Error::malformed(format!("the pack is damaged: the page of its index at byte {at}"));
        right.then_some(bytes).ok_or_else(wrong)
    }

    /// The records of an index page; none beyond the last page.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn records(&self, page: usize) -> Result<Vec<Record>> {
        if page >= self.prefixes.len() {
            return Ok(Vec::new());
        }
        let bytes = self.read_page(page).at(|| self.path.display().to_string())?;
        Ok((0..self.head.records_in(page)).filter_map(|number| Record::decode(&bytes, number)).collect())
    }

    /// The keys after one, in order: those of one page.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn keys_after(&self, last: Option<&Key>) -> Result<Vec<Key>> {
        let first = last.map_or(0, |key| self.prefixes.partition_point(|first| *first < prefix(&key.0)));
        for page in first.saturating_sub(1)..self.prefixes.len() {
            let after = |record: &Record| last.is_none_or(|last| record.key > *last);
            let keys: Vec<Key> = self.records(page)?.iter().filter(|one| after(one)).map(|one| one.key).collect();
            if !keys.is_empty() {
                return Ok(keys);
            }
        }
        Ok(Vec::new())
    }

    /// Number of index pages.
    pub fn pages(&self) -> usize {
        self.prefixes.len()
    }

    /// Reads everything, also what no key needs: every page is in order, every payload has its digest, and together they are the
    /// data, without gap or overlap. `done` is told of each page.
    pub fn check(&self, mut done: impl FnMut()) -> PackChecks {
        let mut checks = PackChecks::default();
        let mut last: Option<Key> = None;
        // Payloads by their offset: each is checked once.
        let mut places = std::collections::BTreeMap::new();
        for page in 0..self.pages() {
            done();
            let records = match self.records(page) {
                Ok(records) => records,
                Err(e) => {
                    checks.damage.push(e.to_string());
                    continue;
                }
            };
            for record in records {
                if last.is_some_and(|last| last >= record.key) {
                    checks.damage.push(format!("key {} is out of order", record.key));
                }
                last = Some(record.key);
                checks.keys += 1;
                let place = PayloadPlace { digest: record.digest, offset: record.offset, size: record.size };
                // An empty payload is nowhere, and may share its offset with another.
                match places.insert((record.offset, record.size), place) {
                    Some(other) if other.digest != place.digest => {
                        checks
                            .damage
                            .push(format!("key {} has another digest than its payload's other keys", record.key));
                    }
                    Some(_) => {}
                    None => match self.payload(&place) {
                        Ok(_) => checks.payloads += 1,
                        Err(e) => checks.damage.push(format!("key {}: {e}", record.key)),
                    },
                }
            }
        }
        let end = places.values().try_fold(0, |at, place| (place.offset == at).then(|| at + u64::from(place.size)));
        if checks.damage.is_empty() && (end != Some(self.head.data) || checks.payloads != self.head.payloads) {
            checks.damage.push("the payloads overlap or leave gaps".to_owned());
        }
        checks
    }
}

/// A read that failed. What the file lacks is damage; the rest is the system's.
fn unread(e: &io::Error, what: &str) -> Error {
    match e.kind() {
        io::ErrorKind::UnexpectedEof => Error::malformed(format!("the pack is truncated: its {what} is missing")),
        _ => Error::environment(format!("the pack's {what} cannot be read: {e}")),
    }
}

/// The record of a key in a page, which is expected at this share of it: nearly always within a few records, which lie side by
/// side in memory.
fn search(page: &[u8], count: usize, key: &Key, share: f64) -> Option<Record> {
    /// Records on each side among which it is expected.
    const NEAR: usize = 4;
    let count = count.min(RECORDS);
    let expected = (share * count as f64) as usize;
    let (mut low, mut high) = (expected.saturating_sub(NEAR).min(count), (expected + NEAR).min(count));
    // If it is not among these, it is on one side of them.
    if low > 0 && *Record::key_in(page, low)? > key.0 {
        (low, high) = (0, low);
    } else if high < count && *Record::key_in(page, high)? <= key.0 {
        (low, high) = (high, count);
    }
    while low < high {
        let middle = low.midpoint(high);
        match Record::key_in(page, middle)?.cmp(&key.0) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Record::decode(page, middle),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

#[cfg(test)]
mod tests;
