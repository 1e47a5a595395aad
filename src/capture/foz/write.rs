//! Appends to an archive, so that a crash at any time costs the entry that is being written and no other.
//!
//! What an earlier crash has left at the end is cut off first: an entry appended after a torn one would be taken for its payload.

use super::{Archive, EntryKind, HEADER_BYTES, Head, MAGIC, RAW, VERSION, ZLIB, crc};
use crate::capture::model::Hash;
use crate::error::{Error, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Payloads below this are stored as they are: packing would not pay.
const SMALL: usize = 128;

/// An archive that is being written.
#[derive(Debug)]
pub struct ArchiveWriter<W> {
    to: W,
    there: BTreeSet<(EntryKind, Hash)>,
}

impl ArchiveWriter<File> {
    /// Opens an archive to append to, or makes one.
    ///
    /// # Errors
    /// Malformed: the file is something else. Environment: it cannot be opened or written.
    pub fn append(path: &Path) -> Result<Self> {
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        let end = Archive::open(&mut file)?.end();
        file.set_len(end)?;
        Self::new(file)
    }
}

impl<W: Read + Write + Seek> ArchiveWriter<W> {
    /// Appends to what there is, which must be nothing or whole entries.
    ///
    /// # Errors
    /// Malformed: something else than an archive. Environment: it cannot be read or written.
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

    /// Adds an entry, unless there is one of this name. One write: what other processes read is whole entries, or torn.
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
        // Cut in the payload, just after the head, and in the head of the second entry.
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
