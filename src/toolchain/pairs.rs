//! Parts that were compiled for each other, found by a note in the cache.
//!
//! The note is stored under the digests of the two parts that the pair replaces, and holds the keys of the pair's parts. A note
//! that leads nowhere is ignored; the link refuses parts that were not compiled for each other.

use super::{CacheManifest, PartRef, ReadyPart, Toolchain};
use crate::cache::{Cache, Key};
use crate::compile::request::{Module, StageRequest};
use crate::error::{Context, Error, Result};
use crate::keys;
use crate::link::Object;
use crate::table::hash;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// The keys of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairNote {
    /// The vertex part that was compiled for the fragment part.
    pub vertex: Key,
    /// The fragment part that contains the vertex shader's constants; `None` if it reads none: the replaced part serves.
    pub fragment: Option<Key>,
}

/// The note for a vertex and a fragment part.
///
/// # Errors
/// Malformed: the note. Bug: the key cannot be made.
pub fn noted_pair(cache: &Cache, early: [&Object; 2]) -> Result<Option<PairNote>> {
    let note = cache.get(&keys::pair(early.map(Object::digest))?);
    note.map(|bytes| rmp_serde::from_slice(&bytes))
        .transpose()
        .map_err(|e| Error::malformed(format!("a pair's note: {e}")))
}

/// A vertex and a fragment part that were compiled for each other.
pub type Pair = [ReadyPart; 2];

impl Toolchain<'_> {
    /// The same, which compiles the pairs that the cache does not have.
    #[must_use]
    pub fn making_pairs(self) -> Self {
        Self { makes_pairs: true, ..self }
    }

    /// Whether it compiles pairs.
    pub fn makes_pairs(&self) -> bool {
        self.makes_pairs
    }

    /// The pair for a vertex and a fragment part, if it is in memory or in the cache. A pair that was not in the cache at the first
    /// search is not searched for again.
    ///
    /// # Errors
    /// What is wrong with the note or a part.
    pub fn pair(&self, early: [&ReadyPart; 2]) -> Result<Option<&Pair>> {
        if !self.noted_pairs {
            return Ok(None);
        }
        let (hash, digests) = name(early);
        if let Some(kept) = self.pairs.find(hash, |kept| *kept == digests) {
            return Ok(kept.as_ref());
        }
        match self.cached_pair(early)? {
            None if self.makes_pairs => Ok(None),
            found => Ok(self.pairs.keep(hash, digests, found).and_then(Option::as_ref)),
        }
    }

    fn cached_pair(&self, early: [&ReadyPart; 2]) -> Result<Option<Pair>> {
        let [vertex, fragment] = early;
        let Some(note) = noted_pair(self.cache, [&vertex.object, &fragment.object])? else { return Ok(None) };
        let part = |key: &Key| -> Result<Option<ReadyPart>> {
            let Some(elf) = self.cache.get(key) else { return Ok(None) };
            Ok(Some(ReadyPart { object: Arc::new(Object::parse(&elf)?), hit: true, bytes: elf.len() }))
        };
        let fragment = match &note.fragment {
            Some(key) => part(key)?,
            None => Some(fragment.clone()),
        };
        Ok(part(&note.vertex)?.zip(fragment).map(|(vertex, fragment)| [vertex, fragment]))
    }

    /// Compiles a stage for its pair; gives the part and its key.
    ///
    /// # Errors
    /// As [`Self::part`]; environment: there is no compiler.
    pub fn part_of_pair(&self, module: &Module, request: &StageRequest) -> Result<(PartRef<'_>, Key)> {
        let key = keys::stage(request, &self.id)?;
        let part = self.part_under(key, module, || Ok(Cow::Borrowed(request))).at(|| "for its pair")?;
        Ok((part.ok_or_else(|| Error::environment("no compiler, and no part of a pair in the cache"))?, key))
    }

    /// Keeps a pair in memory, and its note in the cache, which has its parts.
    ///
    /// # Errors
    /// Bug: the note cannot be serialized.
    pub fn keep_pair(&self, early: [&ReadyPart; 2], pair: [&ReadyPart; 2], note: PairNote) -> Result<()> {
        let bytes = rmp_serde::to_vec(&note).map_err(|e| Error::bug(format!("a pair's note: {e}")))?;
        self.cache.keep(&keys::pair(early.map(|part| part.object.digest()))?, &bytes);
        // Without a manifest only toolchains with a compiler use the cache, and they always look for pairs.
        if let Some(manifest) = CacheManifest::of(self.cache)?.filter(|m| !m.pairs && m.compiler == *self.id) {
            // If this fails, the note was not written either.
            let _ = CacheManifest { pairs: true, ..manifest }.put(self.cache);
        }
        let (hash, digests) = name(early);
        self.pairs.keep(hash, digests, Some(pair.map(Clone::clone)));
        Ok(())
    }
}

fn name(early: [&ReadyPart; 2]) -> (u64, [[u8; 32]; 2]) {
    (hash(early.map(|part| part.object.short_digest())), early.map(|part| *part.object.digest()))
}
