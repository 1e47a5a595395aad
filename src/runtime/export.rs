//! The parts of a context as one block of bytes that a driver stores and gives to another context, for
//! `vkGetPipelineCacheData`, `pInitialData` and `vkMergePipelineCaches`.
//!
//! ```text
//! 0   4  "DVX\x01"        format version: another version is refused before anything else is read
//! 4   4  identity length  all numbers are little-endian
//! 8   8  length of all
//! 16  n  identity         MessagePack: target, schema of requests, compiler
//! ..     parts            by key, each key once: key 32, ELF length 4, ELF
//! ..  32 BLAKE3           over all bytes before
//! ```
//!
//! The digest detects damage, not malice: whoever can write the bytes can write code. So imported parts stay in the
//! memory of the importing process, and never reach a cache on disk. An import takes all parts or none.

use super::context::{Context, Shared, count};
use dovetail_base::error::{Context as _, Error, Result};
use dovetail_base::fixed::FixedWriter;
use dovetail_base::frame;
use dovetail_base::target::Gpu;
use dovetail_cache::Key;
use dovetail_compile::request::CompilerId;
use dovetail_link::{Object, Size};
use dovetail_wire::REQUEST_SCHEMA;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const VERSION: [u8; 4] = *b"DVX\x01";
const HEAD: usize = 16;
/// Bytes before each ELF.
const PART: usize = 36;
const DIGEST: usize = 32;
/// Longest identity in bytes: compiler names are a line of text.
const MAX_IDENTITY: u32 = 64 << 10;

/// Properties of a context that must be equal for keys to be comparable.
#[derive(Serialize, Deserialize)]
struct Identity {
    target: Gpu,
    schema: String,
    /// `None`: not known yet.
    compiler: Option<CompilerId>,
}

/// Result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Parts that were added to memory.
    pub parts: u64,
    /// Parts that did not fit the context's memory limit.
    pub left_out: u64,
}

impl Context {
    /// Writes the parts in memory, for [`Self::import`]: equal parts give equal bytes. Memory that is too small is not
    /// written to.
    ///
    /// # Errors
    /// Unsupported: the context was created without [`super::ContextInfo::exports`]. Environment: after a fork.
    /// Malformed: the cache's manifest.
    pub fn export(&self, out: &mut [u8]) -> Result<Size> {
        let shared = self.shared()?;
        let none = || Error::unsupported("export", "the context was made to keep nothing for it");
        let parts = shared.parts.elfs().ok_or_else(none)?;
        let compiler = shared.compiler(true)?.cloned();
        let identity = Identity { target: shared.target, schema: REQUEST_SCHEMA.to_owned(), compiler };
        write(&frame::frame(&identity, MAX_IDENTITY)?[frame::HEAD..], &parts, out)
    }

    /// Imports parts written by [`Self::export`] of any context in any process. Parts that are already in memory stay.
    /// A context without a service and without a known compiler adopts that of the imported parts.
    ///
    /// # Errors
    /// Malformed: damaged, or not an export. Unsupported: of another version, GPU or compiler. Environment: after a
    /// fork. On an error nothing is imported.
    pub fn import(&self, bytes: &[u8]) -> Result<Imported> {
        let shared = self.shared()?;
        let imported = shared.import(bytes).at(|| "import");
        match &imported {
            Ok(Imported { parts, left_out }) => {
                shared.counters.imported.fetch_add(*parts, Ordering::Relaxed);
                shared.counters.left_out.fetch_add(*left_out, Ordering::Relaxed);
            }
            Err(_) => count(&shared.counters.imports_refused),
        }
        imported
    }
}

impl Shared {
    fn import(&self, bytes: &[u8]) -> Result<Imported> {
        let (identity, parts) = read(bytes)?;
        let Identity { target, schema, compiler } = identity;
        if target != self.target {
            return Err(Error::unsupported(
                "parts of another GPU",
                format!("for {target}, here it is {}", self.target),
            ));
        }
        if schema != REQUEST_SCHEMA {
            return Err(Error::unsupported("parts of another version", "it names requests by other keys"));
        }
        let known = match &compiler {
            // A service has its own compiler, named in its welcome; parts with other keys are then just never found.
            Some(theirs) if self.service.is_none() => Some(self.compiler_or(theirs)?),
            _ => self.compiler(true)?,
        };
        if let (Some(theirs), Some(ours)) = (&compiler, known)
            && theirs != ours
        {
            let sources = format!("sources {}, here {} with sources {}", theirs.sources, ours.backend, ours.sources);
            return Err(Error::unsupported("parts of another compiler", format!("{}, {sources}", theirs.backend)));
        }
        let mut imported = Imported::default();
        for (key, object, elf) in parts {
            match self.parts.admit(key, object, elf) {
                Some(true) => imported.parts += 1,
                Some(false) => {}
                None => imported.left_out += 1,
            }
        }
        Ok(imported)
    }
}

fn write(identity: &[u8], parts: &[(Key, Arc<Vec<u8>>)], out: &mut [u8]) -> Result<Size> {
    let length = parts.iter().fold(HEAD + identity.len() + DIGEST, |sum, (_, elf)| sum + PART + elf.len());
    let Some(out) = out.get_mut(..length) else { return Ok(Size::Incomplete(length)) };
    let (body, digest) = out.split_at_mut(length - DIGEST);
    let mut to = FixedWriter::new(body);
    let number = |n: usize| u32::try_from(n).map_err(|_| Error::bug("a part over 4 GiB"));
    to.put(&VERSION);
    to.words([number(identity.len())?]);
    to.put(&(length as u64).to_le_bytes());
    to.put(identity);
    for (key, elf) in parts {
        to.put(&key.0);
        to.words([number(elf.len())?]);
        to.put(elf);
    }
    to.finish("export")?;
    digest.copy_from_slice(blake3::hash(body).as_bytes());
    Ok(Size::Written(length))
}

type ExportedPart<'a> = (Key, Object, &'a [u8]);

/// Parses and checks everything before use. Lengths are checked even though the digest was correct.
fn read(bytes: &[u8]) -> Result<(Identity, Vec<ExportedPart<'_>>)> {
    match bytes.first_chunk::<4>() {
        Some(&VERSION) => {}
        Some([b'D', b'V', b'X', version]) => {
            return Err(Error::unsupported(format!("export of version {version}"), "this library reads version 1"));
        }
        _ => return Err(Error::malformed("no export of a context")),
    }
    let short = || Error::malformed(format!("{} bytes: it is cut short", bytes.len()));
    let (body, digest) = bytes.split_last_chunk::<DIGEST>().ok_or_else(short)?;
    let (head, rest) = body.split_first_chunk::<HEAD>().ok_or_else(short)?;
    let [_, _, _, _, a, b, c, d, length @ ..] = *head;
    if u64::from_le_bytes(length) != bytes.len() as u64 {
        let says = u64::from_le_bytes(length);
        return Err(Error::malformed(format!("{} bytes, and its head says {says}", bytes.len())));
    }
    if blake3::hash(body) != *digest {
        return Err(Error::malformed("it is damaged: its digest is another one"));
    }
    let identity = u32::from_le_bytes([a, b, c, d]) as usize;
    let (identity, mut rest) =
        rest.split_at_checked(identity).ok_or_else(|| Error::malformed("its identity's length"))?;
    let identity = frame::parse(identity).at(|| "identity")?;
    let mut parts: Vec<ExportedPart<'_>> = Vec::new();
    while !rest.is_empty() {
        let at = || format!("part {}", parts.len());
        let (head, after) = rest.split_first_chunk::<PART>().ok_or_else(|| Error::malformed("a part's head")).at(at)?;
        let [key @ .., a, b, c, d] = *head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let (elf, after) = after.split_at_checked(length).ok_or_else(|| Error::malformed("a part's length")).at(at)?;
        if parts.last().is_some_and(|(last, ..)| last.0 >= key) {
            return Err(Error::malformed("keys out of order")).at(at);
        }
        let object = Object::parse_new(elf).at(at)?;
        parts.push((Key(key), object, elf));
        rest = after;
    }
    Ok((identity, parts))
}
