//! Appends to an archive so that a crash at any time loses only the entry that is being written.
//!
//! A torn entry at the end, from an earlier crash, is cut off first: otherwise the next entry would be read as its
//! payload.

use super::{Archive, EntryKind, HEADER_BYTES, Head, MAGIC, RAW, VERSION, ZLIB, crc};
use crate::model::Hash;
use dovetail_base::error::{Error, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Payloads smaller than this are not compressed.
const SMALL: usize = 128;

/// An archive open for writing.
#[derive(Debug)]
pub struct ArchiveWriter<W> {
    to: W,
    there: BTreeSet<(EntryKind, Hash)>,
}

impl ArchiveWriter<File> {
    /// Opens an archive for appending, or creates one.
    ///
    /// # Errors
    /// Malformed: the file is not an archive. Environment: it cannot be opened or written.
    pub fn append(path: &Path) -> Result<Self> {
        Self::resume(File::options().read(true).write(true).create(true).truncate(false).open(path)?)
    }

    /// Continues an archive, or begins one in an empty file.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn resume(mut file: File) -> Result<Self> {
        let end = Archive::open(&mut file)?.end();
        file.set_len(end)?;
        Self::new(file)
    }
}

impl<W: Read + Write + Seek> ArchiveWriter<W> {
    /// Appends to `to`, which must be empty or end with a complete entry.
    ///
    /// # Errors
    /// Malformed: not an archive. Environment: it cannot be read or written.
    pub fn new(mut to: W) -> Result<Self> {
        let archive = Archive::open(&mut to)?;
        let (end, there) = (archive.end(), archive.names());
        to.seek(SeekFrom::Start(end))?;
        if end == 0 {
            let mut header = [0; HEADER_BYTES];
            header[..MAGIC.len()].copy_from_slice(&MAGIC);
            header[MAGIC.len()] = VERSION;
            to.write_all(&header)?;
        }
        Ok(Self { to, there })
    }

    /// Adds an entry, unless one of this name exists. It is one write, so other processes see a complete entry or a
    /// torn one.
    ///
    /// # Errors
    /// Unsupported: 4 GiB or more. Environment: the file cannot be written.
    pub fn put(&mut self, kind: EntryKind, hash: Hash, payload: &[u8]) -> Result<()> {
        if self.there.contains(&(kind, hash)) {
            return Ok(());
        }
        let packed = match payload.len() {
            0..SMALL => None,
            _ => {
                let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
                packer.write_all(payload)?;
                Some(packer.finish()?).filter(|packed| packed.len() < payload.len())
            }
        };
        let (form, stored) = packed.as_deref().map_or((RAW, payload), |packed| (ZLIB, packed));
        let size = |bytes: &[u8]| {
            u32::try_from(bytes.len())
                .map_err(|_| Error::unsupported("entry of this size", format!("{} bytes", bytes.len())))
        };
        let mut entry = Head::to_bytes(kind, hash, [size(stored)?, form, crc(stored), size(payload)?]);
        entry.extend_from_slice(stored);
        self.to.write_all(&entry)?;
        self.there.insert((kind, hash));
        Ok(())
    }

    /// The underlying writer.
    pub fn into_inner(self) -> W {
        self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_crash_has_torn_is_cut_off_and_nothing_else_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("game.foz");
        let mut out = ArchiveWriter::append(&path).unwrap();
        out.put(EntryKind::Sampler, Hash(1), b"first").unwrap();
        out.put(EntryKind::Sampler, Hash(2), b"second").unwrap();
        drop(out);
        let whole = std::fs::read(&path).unwrap();
        // Cuts in the payload, directly after the header, and in the header of the second entry.
        for cut in [3, 6, 40] {
            std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            let mut out = ArchiveWriter::append(&path).unwrap();
            out.put(EntryKind::Sampler, Hash(3), b"third").unwrap();
            out.put(EntryKind::Sampler, Hash(1), b"again").unwrap();
            drop(out);
            let mut archive = Archive::open(File::open(&path).unwrap()).unwrap();
            assert_eq!(archive.hashes(EntryKind::Sampler).collect::<Vec<_>>(), [Hash(1), Hash(3)], "cut by {cut}");
            assert_eq!(archive.payload(EntryKind::Sampler, Hash(1), 1000).unwrap().unwrap(), b"first");
            assert_eq!(archive.payload(EntryKind::Sampler, Hash(3), 1000).unwrap().unwrap(), b"third");
            assert!(!archive.is_torn());
        }
    }

    #[test]
    fn something_else_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("letter.txt");
        std::fs::write(&path, b"Dear reader, this is no archive.").unwrap();
        assert_eq!(ArchiveWriter::append(&path).unwrap_err().exit_code(), 2);
        assert_eq!(std::fs::read(&path).unwrap(), b"Dear reader, this is no archive.");
    }
}
