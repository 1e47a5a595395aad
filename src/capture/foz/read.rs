//! Reads an archive: first an index of its entries, then payloads one by one.
//!
//! Invariant: in addition to the index, of at most [`MAX_ENTRIES`], memory holds at most the caller's limit for a
//! payload, stored and unpacked form together, whatever sizes the file claims.

use super::{EntryKind, HEAD_BYTES, HEADER_BYTES, Head, MAGIC, OLDEST_VERSION, RAW, VERSION, ZLIB, crc};
use crate::model::Hash;
use dovetail_base::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};

/// Entries of the largest archive that is read; their index takes about 200 MB.
const MAX_ENTRIES: usize = 1 << 22;
/// Largest expansion of a zlib stream, per byte, and an allowance for short streams (RFC 1951: a match of 258 bytes
/// takes at least two bits).
const MOST_INFLATED: u64 = 1032;
const INFLATED_SLACK: u64 = 64;

/// The place of a payload, and how it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FozEntry {
    at: u64,
    stored: u32,
    form: u32,
    crc: u32,
    raw: u32,
}

/// An archive open for reading.
#[derive(Debug)]
pub struct Archive<R> {
    from: R,
    entries: BTreeMap<(EntryKind, Hash), FozEntry>,
    unknown: usize,
    /// End of the last complete entry.
    end: u64,
    torn: bool,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the headers of all entries. An empty file is an empty archive.
    ///
    /// # Errors
    /// Malformed: not an archive, or of another version. Unsupported: too many entries. Environment: the file cannot be
    /// read.
    pub fn open(mut from: R) -> Result<Self> {
        let length = from.seek(SeekFrom::End(0))?;
        from.seek(SeekFrom::Start(0))?;
        let mut archive = Self { from, entries: BTreeMap::new(), unknown: 0, end: 0, torn: false };
        if length == 0 {
            return Ok(archive);
        }
        let mut header = [0; HEADER_BYTES];
        if length < HEADER_BYTES as u64 {
            return Err(Error::malformed("shorter than an archive's header"));
        }
        archive.from.read_exact(&mut header)?;
        let [magic @ .., version] = &header;
        if *magic != MAGIC {
            return Err(Error::malformed("no Fossilize archive"));
        }
        if !(OLDEST_VERSION..=VERSION).contains(version) {
            return Err(Error::malformed(format!("Fossilize archive of version {version}")));
        }
        archive.end = HEADER_BYTES as u64;
        archive.index(length)?;
        Ok(archive)
    }

    fn index(&mut self, length: u64) -> Result<()> {
        let mut head = [0; HEAD_BYTES];
        while self.end < length {
            let at = self.end + HEAD_BYTES as u64;
            if at > length {
                self.torn = true;
                break;
            }
            self.from.seek(SeekFrom::Start(self.end))?;
            self.from.read_exact(&mut head)?;
            // An invalid header has no size, so everything after it is lost too.
            let Some(head) = Head::parse(&head) else {
                self.torn = true;
                break;
            };
            let end = at + u64::from(head.stored);
            if end > length {
                self.torn = true;
                break;
            }
            match head.kind {
                Some(kind) => {
                    let Head { stored, form, crc, raw, .. } = head;
                    self.entries.entry((kind, head.hash)).or_insert(FozEntry { at, stored, form, crc, raw });
                }
                None => self.unknown += 1,
            }
            if self.entries.len() > MAX_ENTRIES {
                return Err(Error::unsupported("archive of this many entries", format!("more than {MAX_ENTRIES}")));
            }
            self.end = end;
        }
        Ok(())
    }

    /// The hashes of all entries of a kind, in file order.
    pub fn hashes(&self, kind: EntryKind) -> impl Iterator<Item = Hash> + '_ {
        let range = (kind, Hash(0))..=(kind, Hash(u64::MAX));
        self.entries.range(range).map(|((_, hash), _)| *hash)
    }

    /// The names of all entries.
    pub(super) fn names(&self) -> BTreeSet<(EntryKind, Hash)> {
        self.entries.keys().copied().collect()
    }

    /// Number of entries of unknown kinds.
    pub fn unknown(&self) -> usize {
        self.unknown
    }

    /// Whether the file ends within an entry, or with something that is not an entry. All entries before that were
    /// read.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// End of the last complete entry, where the next may begin; 0 in an empty file.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The unpacked payload of an entry; `None` if there is no such entry. `limit` bounds the memory that it takes, in
    /// bytes.
    ///
    /// # Errors
    /// Malformed: it is damaged. Unsupported: it takes more than the limit. Environment: it cannot be read.
    pub fn payload(&mut self, kind: EntryKind, hash: Hash, limit: u64) -> Result<Option<Vec<u8>>> {
        let Some(entry) = self.entries.get(&(kind, hash)).copied() else { return Ok(None) };
        let (stored, raw) = (u64::from(entry.stored), u64::from(entry.raw));
        if stored + raw > limit {
            return Err(Error::unsupported("entry of this size", format!("{stored} bytes, {raw} unpacked")));
        }
        self.from.seek(SeekFrom::Start(entry.at))?;
        // Grows with the bytes read; the index has checked that they exist.
        let mut bytes = Vec::new();
        if self.from.by_ref().take(stored).read_to_end(&mut bytes)? as u64 != stored {
            return Err(Error::environment("the file became shorter while it was read"));
        }
        if entry.crc != 0 && crc(&bytes) != entry.crc {
            return Err(Error::malformed("the payload does not match its CRC-32"));
        }
        match entry.form {
            RAW if raw == stored => Ok(Some(bytes)),
            RAW => Err(Error::malformed(format!("{stored} bytes stored as they are, and {raw} unpacked"))),
            ZLIB if raw <= stored * MOST_INFLATED + INFLATED_SLACK => inflate(&bytes, raw).map(Some),
            ZLIB => Err(Error::malformed(format!("{stored} bytes of zlib cannot unpack to {raw}"))),
            other => Err(Error::malformed(format!("payload in form {other}"))),
        }
    }
}

fn inflate(bytes: &[u8], raw: u64) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let unpacked = flate2::bufread::ZlibDecoder::new(bytes).take(raw + 1).read_to_end(&mut out);
    unpacked.map_err(|e| Error::malformed(format!("zlib stream: {e}")))?;
    if out.len() as u64 != raw {
        return Err(Error::malformed(format!("unpacks to another length than {raw} bytes")));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foz::ArchiveWriter;
    use std::io::Cursor;

    const LIMIT: u64 = 1 << 20;

    fn sample() -> Vec<u8> {
        let mut out = ArchiveWriter::new(Cursor::new(Vec::new())).unwrap();
        out.put(EntryKind::Sampler, Hash(0x1234), b"one, which is short").unwrap();
        out.put(EntryKind::ShaderModule, Hash(u64::MAX), &[7; 3000]).unwrap();
        out.put(EntryKind::Sampler, Hash(1), b"").unwrap();
        out.into_inner().into_inner()
    }

    fn open(bytes: &[u8]) -> Result<Archive<Cursor<&[u8]>>> {
        Archive::open(Cursor::new(bytes))
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = sample();
        let mut archive = open(&bytes).unwrap();
        assert_eq!(archive.hashes(EntryKind::Sampler).collect::<Vec<_>>(), [Hash(1), Hash(0x1234)]);
        let mut payload = |kind, hash| archive.payload(kind, Hash(hash), LIMIT).unwrap();
        assert_eq!(payload(EntryKind::Sampler, 0x1234).unwrap(), b"one, which is short");
        assert_eq!(payload(EntryKind::Sampler, 1).unwrap(), b"");
        assert_eq!(payload(EntryKind::ShaderModule, u64::MAX).unwrap(), [7; 3000]);
        assert_eq!(payload(EntryKind::ShaderModule, 1), None);
        assert!(!archive.is_torn());
        // 3,000 equal bytes are stored compressed.
        assert!(bytes.len() < 400, "{}", bytes.len());
        assert_eq!(bytes[..16], *b"\x81FOSSILIZEDB\0\0\0\x06");
        assert_eq!(bytes[16..56], *b"0000000000000000000000010000000000001234");
    }

    #[test]
    fn a_file_cut_anywhere_keeps_what_is_whole() {
        let bytes = sample();
        let ends: Vec<usize> = {
            let mut archive = open(&bytes).unwrap();
            let end = |a: &mut Archive<_>, kind, hash| {
                let e = a.entries[&(kind, Hash(hash))];
                e.at as usize + e.stored as usize
            };
            [(EntryKind::Sampler, 0x1234), (EntryKind::ShaderModule, u64::MAX), (EntryKind::Sampler, 1)]
                .map(|(kind, hash)| end(&mut archive, kind, hash))
                .to_vec()
        };
        for length in HEADER_BYTES..=bytes.len() {
            let archive = open(&bytes[..length]).unwrap();
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(archive.entries.len(), whole, "cut at {length}");
            assert_eq!(archive.is_torn(), length != HEADER_BYTES && !ends.contains(&length), "cut at {length}");
        }
        assert!((1..HEADER_BYTES).all(|length| open(&bytes[..length]).is_err()));
        assert_eq!(open(&[]).unwrap().entries.len(), 0);
    }

    #[test]
    fn lying_sizes_are_refused_before_anything_is_allocated() {
        let change = |at: usize, to: u32| {
            let mut bytes = sample();
            bytes[at..at + 4].copy_from_slice(&to.to_le_bytes());
            bytes
        };
        let first = |bytes: &[u8]| open(bytes).unwrap().payload(EntryKind::Sampler, Hash(0x1234), LIMIT).map(|_| ());
        let head = HEADER_BYTES;
        assert_eq!(first(&change(head + 52, u32::MAX)).unwrap_err().exit_code(), 3, "raw size");
        assert_eq!(first(&change(head + 52, 1000)).unwrap_err().exit_code(), 2, "raw size of bytes as they are");
        assert_eq!(first(&change(head + 48, 1)).unwrap_err().exit_code(), 2, "CRC");
        assert_eq!(first(&change(head + 44, 3)).unwrap_err().exit_code(), 2, "form");
        assert!(first(&change(head + 48, 0)).is_ok(), "a CRC of 0 is not checked");
        // The stored size exceeds the file: the entry and all after it are ignored.
        assert!(open(&change(head + 40, u32::MAX)).unwrap().is_torn());
        let bomb = {
            let mut out = ArchiveWriter::new(Cursor::new(Vec::new())).unwrap();
            out.put(EntryKind::Sampler, Hash(0x1234), &vec![0; 4 << 20]).unwrap();
            out.into_inner().into_inner()
        };
        assert_eq!(first(&bomb).unwrap_err().exit_code(), 3, "4 MiB in some 4 kB");
    }

    #[test]
    fn other_files_are_no_archives() {
        for bytes in
            [&b"\x7fELF and more than sixteen bytes"[..], b"\x81FOSSILIZEDB\0\0\0\x04", b"\x81FOSSILIZEDB\0\0\0\x07"]
        {
            assert_eq!(open(bytes).map(|_| ()).unwrap_err().exit_code(), 2);
        }
    }
}
