//! The file format of packs: sizes, the head, records of the index, what a pack says about itself.
//!
//! ```text
//! head 64 | data | index pages, 4096 each | directory, 40 for each page | meta
//! ```
//!
//! All numbers are little-endian. `docs/cache-format.md` has every field.

use dovetail_base::error::{Error, Result};
use dovetail_cache::Key;
use dovetail_cache::entry::LARGEST_ENTRY;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Bytes of the head, and the offset of the data.
pub const HEAD: u64 = 64;
/// Bytes of the head that the root covers; the root itself follows.
const COVERED: usize = 32;
/// Bytes of an index page.
pub const PAGE: usize = 4096;
/// Bytes of a record: key, digest of its payload, offset in the data, size.
const RECORD: usize = 32 + 32 + 8 + 4;
/// Records in a page.
pub const RECORDS: usize = PAGE / RECORD;
/// Bytes of a page's line in the directory: the first eight bytes of its first key, and its digest.
pub const LINE: usize = 40;
/// Largest meta, in bytes: a name, and lists of a few GPUs and compilers.
pub const MAX_META: u32 = 1 << 20;
/// Most keys: an index of 5 GiB.
pub const MAX_KEYS: u64 = 1 << 26;

const MAGIC: [u8; 4] = *b"DVP\x01";

/// The digest of a pack, from which everything in it follows: the BLAKE3 of its head, directory and meta. The directory has the
/// digests of the index pages, and these have those of the payloads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Root(pub [u8; 32]);

impl Root {
    /// Computes it.
    pub(crate) fn of(head: &Head, directory: &[u8], meta: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("dovetail pack 1");
        hasher.update(&head.covered()).update(directory).update(meta);
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Key(self.0).fmt(f)
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({self})")
    }
}

impl FromStr for Root {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::malformed(format!("`{text}` is not a pack's root: 64 hexadecimal digits"));
        let digits = text.as_bytes().chunks_exact(2).map(|two| {
            let two = std::str::from_utf8(two).ok().filter(|two| two.bytes().all(|c| c.is_ascii_hexdigit()))?;
            u8::from_str_radix(two, 16).ok()
        });
        let bytes: Option<Vec<u8>> = digits.collect();
        let bytes = bytes.filter(|_| text.len() == 64).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(wrong)
    }
}

/// What a pack says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackMeta {
    /// Its name; packs of one name replace each other.
    pub name: String,
    /// Of two packs of one name, the larger number is the newer one.
    pub version: u64,
    /// The GPUs for which it has code, in order.
    pub targets: Vec<String>,
    /// The compilers of the code, in order.
    pub compilers: Vec<String>,
}

impl PackMeta {
    /// Its bytes in a pack.
    ///
    /// # Errors
    /// Malformed: the name. Unsupported: it is too long.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.check()?;
        let bytes = rmp_serde::to_vec_named(self).map_err(|e| Error::bug(format!("a pack's description: {e}")))?;
        let fits = bytes.len() <= MAX_META as usize;
        let what = || Error::unsupported("pack description of this size", format!("at most {MAX_META} bytes"));
        fits.then_some(bytes).ok_or_else(what)
    }

    /// Reads it.
    ///
    /// # Errors
    /// Malformed: it is no description of a pack.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let meta: Self =
            rmp_serde::from_slice(bytes).map_err(|e| Error::malformed(format!("the pack's description: {e}")))?;
        meta.check()?;
        Ok(meta)
    }

    /// Checks the name, which becomes part of file names.
    ///
    /// # Errors
    /// Malformed: the name.
    pub fn check(&self) -> Result<()> {
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b".-+_".contains(&c);
        let fits = (1..=64).contains(&self.name.len()) && self.name.bytes().all(plain);
        if fits && !self.name.starts_with(['.', '-', '+', '_']) {
            return Ok(());
        }
        let rule = "at most 64 of a-z, 0-9 and .-+_, the first a letter or a digit";
        Err(Error::malformed(format!("pack name {:?}: {rule}", self.name)))
    }
}

/// The numbers in a pack's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Bytes of the meta.
    pub meta: u32,
    /// Number of keys.
    pub keys: u64,
    /// Bytes of the data.
    pub data: u64,
    /// Number of payloads; several keys may have the same.
    pub payloads: u64,
}

impl Head {
    fn covered(&self) -> [u8; COVERED] {
        let mut bytes = [0; COVERED];
        let fields = [&MAGIC[..], &self.meta.to_le_bytes(), &self.keys.to_le_bytes(), &self.data.to_le_bytes()];
        let all = fields.into_iter().flatten().chain(&self.payloads.to_le_bytes()).copied().collect::<Vec<u8>>();
        bytes.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        bytes
    }

    /// Its bytes, with the root.
    pub fn encode(&self, root: &Root) -> [u8; HEAD as usize] {
        let mut bytes = [0; HEAD as usize];
        bytes[..COVERED].copy_from_slice(&self.covered());
        bytes[COVERED..].copy_from_slice(&root.0);
        bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// Malformed: it is not the head of a pack, or has numbers beyond the limits. Unsupported: another version's.
    pub fn decode(bytes: &[u8; HEAD as usize]) -> Result<(Self, Root)> {
        if bytes[..3] != MAGIC[..3] {
            return Err(Error::malformed("not a pack: it does not begin with `DVP`"));
        }
        if bytes[3] != MAGIC[3] {
            return Err(Error::unsupported(
                format!("pack format {}", bytes[3]),
                format!("this program reads format {}", MAGIC[3]),
            ));
        }
        let at = |at: usize| bytes[at..].first_chunk::<8>().map_or(0, |eight| u64::from_le_bytes(*eight));
        let meta = bytes[4..].first_chunk::<4>().map_or(0, |four| u32::from_le_bytes(*four));
        let head = Self { meta, keys: at(8), data: at(16), payloads: at(24) };
        if head.meta > MAX_META || head.keys > MAX_KEYS || head.payloads > head.keys || head.data > 1 << 48 {
            return Err(Error::malformed("the pack's head has numbers beyond the format's limits"));
        }
        let root = bytes[COVERED..].first_chunk::<32>().map_or([0; 32], |root| *root);
        Ok((head, Root(root)))
    }

    /// Number of index pages.
    pub fn pages(&self) -> u64 {
        self.keys.div_ceil(RECORDS as u64)
    }

    /// Offset of the index.
    pub fn index_at(&self) -> u64 {
        HEAD + self.data
    }

    /// Offset of the directory; the meta follows.
    pub fn directory_at(&self) -> u64 {
        self.index_at() + self.pages() * PAGE as u64
    }

    /// Bytes of the directory.
    pub fn directory_bytes(&self) -> u64 {
        self.pages() * LINE as u64
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.directory_at() + self.directory_bytes() + u64::from(self.meta)
    }

    /// Number of records in a page.
    pub fn records_in(&self, page: usize) -> usize {
        let before = page as u64 * RECORDS as u64;
        usize::try_from(self.keys.saturating_sub(before)).map_or(RECORDS, |left| left.min(RECORDS))
    }
}

/// A record of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The key.
    pub key: Key,
    /// BLAKE3 of the payload.
    pub digest: [u8; 32],
    /// Where the payload begins in the data, in bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u32,
}

impl Record {
    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key.0);
        out.extend_from_slice(&self.digest);
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.size.to_le_bytes());
    }

    /// The key of a page's record.
    pub fn key_in(page: &[u8], number: usize) -> Option<&[u8; 32]> {
        page.get(number.checked_mul(RECORD)?..)?.first_chunk()
    }

    /// A page's record.
    pub fn decode(page: &[u8], number: usize) -> Option<Self> {
        let bytes = page.get(number.checked_mul(RECORD)?..)?;
        Some(Self {
            key: Key(*bytes.first_chunk()?),
            digest: *bytes.get(32..)?.first_chunk()?,
            offset: u64::from_le_bytes(*bytes.get(64..)?.first_chunk()?),
            size: u32::from_le_bytes(*bytes.get(72..)?.first_chunk()?),
        })
    }

    /// The end of its payload in the data; `None` if it is larger than any entry.
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(u64::from(self.size)).filter(|_| self.size as usize <= LARGEST_ENTRY)
    }
}

/// The first eight bytes of a key, in the order of keys.
pub fn prefix(key: &[u8; 32]) -> u64 {
    key.first_chunk::<8>().map_or(0, |eight| u64::from_be_bytes(*eight))
}
