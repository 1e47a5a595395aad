//! Writes a pack: payloads as they come, then the index, and the head last, so that an unfinished file is no pack.
//!
//! Keys come in order, so equal contents are equal bytes, whoever writes them and from whatever.

use crate::format::{HEAD, Head, MAX_KEYS, PAGE, PackMeta, RECORDS, Record, Root, prefix};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::files::unfinished;
use dovetail_cache::entry::LARGEST_ENTRY;
use dovetail_cache::{Key, Payload};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A pack being written, under a temporary name beside its own. It is deleted unless it is finished.
pub struct PackWriter {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    index: Vec<Record>,
    /// Payloads written, by digest: offset in the data, and size.
    payloads: BTreeMap<[u8; 32], (u64, u32)>,
    data: u64,
    finished: bool,
}

impl PackWriter {
    /// Begins a pack that is to have this path.
    ///
    /// # Errors
    /// Environment: a file cannot be created there.
    pub fn create(path: &Path) -> Result<Self> {
        let place = || path.display().to_string();
        let part = unfinished(path);
        let mut file = BufWriter::with_capacity(256 << 10, File::create_new(&part).at(place)?);
        file.write_all(&[0; HEAD as usize]).at(place)?;
        let (index, payloads) = Default::default();
        Ok(Self { path: path.to_owned(), part, file, index, payloads, data: 0, finished: false })
    }

    /// Adds a payload under a key greater than all before.
    ///
    /// # Errors
    /// Environment: it cannot be written. Malformed: the key is not greater. Unsupported: too many keys, or a payload larger than any
    /// entry.
    pub fn add(&mut self, key: &Key, payload: &Payload) -> Result<()> {
        let size = u32::try_from(payload.len()).ok().filter(|size| *size as usize <= LARGEST_ENTRY);
        let size =
            size.ok_or_else(|| Error::unsupported("payload of this size", format!("at most {LARGEST_ENTRY} bytes")))?;
        if !self.payloads.contains_key(payload.digest()) {
            self.file.write_all(payload).at(|| self.path.display().to_string())?;
            self.payloads.insert(*payload.digest(), (self.data, size));
            self.data += u64::from(size);
        }
        self.add_again(key, payload.digest())
    }

    /// Adds a payload that the pack has already, under a key greater than all before.
    ///
    /// # Errors
    /// As [`Self::add`]; bug: the pack does not have it.
    pub fn add_again(&mut self, key: &Key, digest: &[u8; 32]) -> Result<()> {
        if self.index.last().is_some_and(|last| last.key >= *key) {
            return Err(Error::malformed(format!("keys of a pack that are not in order, at {key}")));
        }
        if self.index.len() as u64 >= MAX_KEYS {
            return Err(Error::unsupported(
                "pack of this size",
                format!("a pack has at most {MAX_KEYS} keys: make several"),
            ));
        }
        let written = self.payloads.get(digest).copied();
        let (offset, size) = written.ok_or_else(|| Error::bug("a payload that a pack does not have"))?;
        self.index.push(Record { key: *key, digest: *digest, offset, size });
        Ok(())
    }

    /// Number of keys so far.
    pub fn keys(&self) -> usize {
        self.index.len()
    }

    /// Writes the index and the head, and gives the file its name.
    ///
    /// # Errors
    /// Environment: it cannot be written. Malformed: the name.
    pub fn finish(self, meta: &PackMeta) -> Result<Root> {
        self.finish_as(meta, None)
    }

    /// The same, for a pack that must have a root.
    ///
    /// # Errors
    /// As [`Self::finish`]; malformed: it has another root.
    pub fn finish_as(mut self, meta: &PackMeta, wanted: Option<Root>) -> Result<Root> {
        let root = self.write_index(&meta.encode()?, wanted).at(|| self.path.display().to_string())?;
        self.finished = true;
        Ok(root)
    }

    fn write_index(&mut self, meta: &[u8], wanted: Option<Root>) -> Result<Root> {
        let size = u32::try_from(meta.len()).map_err(|_| Error::bug("a pack's description that is too long"))?;
        let mut directory = Vec::new();
        for records in self.index.chunks(RECORDS) {
            let mut page = Vec::with_capacity(PAGE);
            records.iter().for_each(|record| record.encode(&mut page));
            page.resize(PAGE, 0);
            directory.extend(prefix(&records[0].key.0).to_be_bytes());
            directory.extend(blake3::hash(&page).as_bytes());
            self.file.write_all(&page)?;
        }
        let (keys, payloads) = (self.index.len() as u64, self.payloads.len() as u64);
        let head = Head { meta: size, keys, data: self.data, payloads };
        let root = Root::of(&head, &directory, meta);
        if let Some(wanted) = wanted.filter(|wanted| *wanted != root) {
            return Err(Error::malformed(format!(
                "the pack would have the root {root}, and should have {wanted}: damaged"
            )));
        }
        self.file.write_all(&directory)?;
        self.file.write_all(meta)?;
        self.file.flush()?;
        let file = self.file.get_ref();
        file.write_all_at(&head.encode(&root), 0)?;
        file.sync_data()?;
        std::fs::rename(&self.part, &self.path)?;
        Ok(root)
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        if !self.finished {
            // Nobody is told: the error that ended the writing was.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
