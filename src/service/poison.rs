//! Requests that kill workers: each is tried twice, then never again by this compiler, and everybody is told why.
//!
//! A record says how the worker died, how often, under which compiler, and what it said last. It ends with another compiler, or
//! with `dovetail service poison clear`, which deletes its file: the list in memory is held against the files whenever it is
//! about to refuse something.

use super::records::Records;
use crate::cache::Key;
use crate::compile::request::{CompilerId, StageRequest};
use crate::error::{Death, Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of all records: some ten thousand.
const CAP: u64 = 16 << 20;

/// A request that kills workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// The shader, for people: stage, entry point, module.
    pub shader: String,
    /// The last worker's cause of death.
    pub death: Death,
    /// Its last output.
    pub last_words: String,
    /// The compiler.
    pub compiler: CompilerId,
    /// Workers that were lost.
    pub tries: u32,
    /// Time at which it came on the list, in seconds since 1970.
    pub first: u64,
    /// Time at which it killed last.
    pub last: u64,
}

/// The list.
pub struct Poison {
    records: Records,
    compiler: CompilerId,
    /// The requests that have killed workers with this compiler.
    known: BTreeMap<Key, Sentence>,
}

impl Poison {
    /// The list in a folder, as far as it is about this compiler.
    pub fn open(dir: &Path, compiler: CompilerId) -> Self {
        let records = Records::open(dir, CAP);
        let known = list(&records).filter(|(_, sentence)| sentence.compiler == compiler).collect();
        Self { records, compiler, known }
    }

    /// Why this request is not tried; none if it may be.
    pub fn refuses(&mut self, key: &Key) -> Option<Error> {
        self.known.get(key)?;
        if self.records.get(key).is_none() {
            // Somebody has cleared it.
            self.known.remove(key);
            return None;
        }
        let Sentence { death, last_words, tries, .. } = self.known.get(key)?;
        let detail =
            format!("{last_words} (after {tries} tries it is not tried again; `dovetail service poison clear {key}`)");
        Some(Error::quarantined(*death, detail))
    }

    /// A request has killed workers, `tries` of them.
    ///
    /// # Errors
    /// Environment: it cannot be written, and will be tried again.
    pub fn add(&mut self, key: Key, request: &StageRequest, death: Death, last_words: &str, tries: u32) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let old = self.known.get(&key);
        let sentence = Sentence {
            shader: describe(request),
            death,
            last_words: last_words.to_owned(),
            compiler: self.compiler.clone(),
            tries: tries + old.map_or(0, |old| old.tries),
            first: old.map_or(now, |old| old.first),
            last: now,
        };
        let bytes = rmp_serde::to_vec_named(&sentence).map_err(|e| Error::bug(format!("poison: {e}")))?;
        self.known.insert(key, sentence);
        self.records.put(key, &bytes)
    }

    /// The number of refused requests.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

/// All sentences of a folder, whatever compiler they are about.
pub fn list(records: &Records) -> impl Iterator<Item = (Key, Sentence)> {
    records.all().filter_map(|(key, bytes)| Some((key, rmp_serde::from_slice(&bytes).ok()?)))
}

/// The records in a folder, for those who list and clear them while the service may be running.
pub fn records(dir: &Path) -> Records {
    Records::read(dir)
}

/// A request in words.
pub fn describe(request: &StageRequest) -> String {
    let StageRequest { stage, module, entry_point, .. } = request;
    let module: String = module.0.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{stage} shader `{entry_point}` of module {module}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::request::{KnownState, ModuleDigest, TuningOptions};
    use crate::target::{GfxIp, Stage, WaveSize};

    #[test]
    fn a_sentence_outlives_the_process_and_ends_with_the_compiler_or_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let compiler = |backend: &str| CompilerId { sources: "a".into(), backend: backend.into() };
        let request = StageRequest {
            target: GfxIp::Gfx1030,
            stage: Stage::Compute,
            module: ModuleDigest([1; 32]),
            entry_point: "main".into(),
            specialization: Vec::new(),
            wave: WaveSize::W32,
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        let key = Key([1; 32]);
        let mut poison = Poison::open(dir.path(), compiler("1"));
        assert!(poison.refuses(&key).is_none());
        poison.add(key, &request, Death::Crashed, "signal 6", 2).unwrap();
        let mut poison = Poison::open(dir.path(), compiler("1"));
        let why = poison.refuses(&key).unwrap().to_string();
        assert!(why.contains("crashed") && why.contains("signal 6") && why.contains("after 2 tries"), "{why}");
        assert!(Poison::open(dir.path(), compiler("2")).refuses(&key).is_none());
        // Cleared by somebody else, under this very process.
        assert!(records(dir.path()).remove(&key));
        assert!(poison.refuses(&key).is_none() && poison.is_empty());
    }
}
