//! Parts that were compiled for each other, found by a note in the cache.
//!
//! The note is stored under the digests of the two parts that the pair replaces, and holds the keys of the pair's
//! parts. A note whose keys are not in the cache is ignored; the link refuses parts that were not compiled for each
//! other.

use crate::keys;
use crate::toolchain::{CacheManifest, PartNumber, PartRef, ReadyPart, Toolchain};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::near_table::Tag;
use dovetail_base::table::hash;
use dovetail_cache::{Cache, Key};
use dovetail_compile::request::{Module, StageRequest};
use dovetail_link::Object;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The keys of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairNote {
    /// The vertex part that was compiled for the fragment part.
    pub vertex: Key,
    /// The fragment part that contains the vertex shader's constants; `None` if it reads none: the replaced part serves.
    pub fragment: Option<Key>,
}

/// The note for a vertex and a fragment part; none if their digests are not known.
///
/// # Errors
/// Malformed: the note. Bug: the key cannot be made.
pub fn noted_pair(cache: &Cache, early: [&Object; 2]) -> Result<Option<PairNote>> {
    let [Some(vertex), Some(fragment)] = early.map(Object::digest) else { return Ok(None) };
    let note = cache.get(&keys::pair([vertex, fragment])?);
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

    /// The pair for a vertex and a fragment part, if it is in memory or in the cache. If both parts are kept, a pair that was not
    /// in the cache at the first search is not searched for again.
    ///
    /// # Errors
    /// What is wrong with the note or a part.
    pub fn pair<'p>(&self, vertex: &PartRef<'p>, fragment: &ReadyPart) -> Result<Option<Cow<'p, Pair>>> {
        if !self.noted_pairs {
            return Ok(None);
        }
        let PartRef::Kept(kept) = *vertex else { return Ok(self.cached_pair([vertex, fragment])?.map(Cow::Owned)) };
        if let Some(pair) = kept.pair(fragment) {
            return Ok(pair.map(Cow::Borrowed));
        }
        let found = self.cached_pair([kept, fragment])?;
        if found.is_some() || !self.makes_pairs {
            kept.keep_pair(fragment, found.clone());
        }
        Ok(found.map(Cow::Owned))
    }

    /// The pair of two kept parts, or that there is none; `None` if this is not known without a search in the cache.
    #[inline]
    pub(crate) fn near_pair<'p>(&self, vertex: &'p ReadyPart, fragment: &ReadyPart) -> Option<Option<&'p Pair>> {
        if self.noted_pairs { vertex.pair(fragment) } else { Some(None) }
    }

    fn cached_pair(&self, early: [&ReadyPart; 2]) -> Result<Option<Pair>> {
        let [vertex, fragment] = early;
        let Some(note) = noted_pair(self.cache, [&vertex.object, &fragment.object])? else { return Ok(None) };
        let part = |key: &Key| -> Result<Option<ReadyPart>> {
            self.cache.get_digested(key).map(|elf| ReadyPart::cached(&elf)).transpose()
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
        let key = keys::stage(request, &self.compiler_id)?;
        let part = self.part_under(key, module, || Ok(Cow::Borrowed(request))).at(|| "for its pair")?;
        Ok((part.ok_or_else(|| Error::environment("no compiler, and no part of a pair in the cache"))?, key))
    }

    /// Keeps a pair in memory, and its note in the cache, which has its parts.
    ///
    /// # Errors
    /// Bug: the note cannot be serialized.
    pub fn keep_pair(&self, early: [&ReadyPart; 2], pair: [&ReadyPart; 2], note: PairNote) -> Result<()> {
        let bytes = rmp_serde::to_vec(&note).map_err(|e| Error::bug(format!("a pair's note: {e}")))?;
        let [Some(vertex), Some(fragment)] = early.map(|part| part.object.digest()) else {
            return Err(Error::bug("a part that was read without its digest"));
        };
        self.cache.keep(&keys::pair([vertex, fragment])?, &bytes);
        // Without a manifest only toolchains with a compiler use the cache, and they always look for pairs.
        if let Some(manifest) = CacheManifest::of(self.cache)?.filter(|m| !m.pairs && m.compiler == *self.compiler_id) {
            // If this fails, the note was not written either.
            let _ = CacheManifest { pairs: true, ..manifest }.put(self.cache);
        }
        let [vertex, fragment] = early;
        vertex.keep_pair(fragment, Some(pair.map(Clone::clone)));
        Ok(())
    }
}

/// Found beside the part: a lookup among all pairs would read three more places in memory, one after the other.
impl ReadyPart {
    /// The pair with a fragment part, or that there is none; `None` if this is not known.
    fn pair(&self, fragment: &Self) -> Option<Option<&Pair>> {
        let number = fragment.number?;
        self.pairs.find(tag(number), || hash(number), |kept| *kept == number).map(Option::as_deref)
    }

    fn keep_pair(&self, fragment: &Self, pair: Option<Pair>) {
        if let Some(number) = fragment.number {
            _ = self.pairs.keep(tag(number), hash(number), number, pair.map(Box::new));
        }
    }
}

fn tag(number: PartNumber) -> Tag {
    Tag::new(u64::from(number.get()) << 32)
}
