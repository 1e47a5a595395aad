//! Requests that kill workers: each is tried twice, then refused with the reason until the compiler changes.
//!
//! A record says how the worker died, how often, with which compiler, and what it printed last. It becomes invalid with
//! another compiler, or when `dovetail service poison clear` deletes its file: before a request is refused, the service
//! checks that the file still exists.

use super::records::Records;
use dovetail_base::error::{Death, Error, Result};
use dovetail_cache::Key;
use dovetail_compile::request::{CompilerId, StageRequest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Largest size of all records in bytes: about ten thousand records.
const CAP: u64 = 16 << 20;

/// A request that kills workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// The shader: stage, entry point, module; for people.
    pub shader: String,
    /// How the last worker died.
    pub death: Death,
    /// Its last output.
    pub last_words: String,
    /// The compiler.
    pub compiler: CompilerId,
    /// Number of workers that it killed.
    pub tries: u32,
    /// Time of its first record, in seconds since 1970.
    pub first: u64,
    /// Time of the last death, in seconds since 1970.
    pub last: u64,
}

/// Whether the record of a refused request can be expected on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is being written.
    BeingWritten,
    /// It was written. If it is missing, it was deleted.
    Written,
}

/// The list, in memory. Its caller writes and checks the records.
pub struct Poison {
    compiler: CompilerId,
    /// The requests that killed workers under this compiler.
    known: BTreeMap<Key, (Sentence, Standing)>,
}

impl Poison {
    /// The list of the records of this compiler.
    pub fn new(records: impl IntoIterator<Item = (Key, Sentence)>, compiler: CompilerId) -> Self {
        let own = records.into_iter().filter(|(_, sentence)| sentence.compiler == compiler);
        let known = own.map(|(key, sentence)| (key, (sentence, Standing::Written))).collect();
        Self { compiler, known }
    }

    /// The state of a refused request's record; `None` if the request may be tried.
    pub fn standing(&self, key: &Key) -> Option<Standing> {
        self.known.get(key).map(|(_, standing)| *standing)
    }

    /// Removes a request whose record was deleted.
    pub fn forget(&mut self, key: &Key) {
        self.known.remove(key);
    }

    /// Takes the outcome of writing a record. A request without one will be tried again.
    pub fn written(&mut self, key: &Key, written: bool) {
        match self.known.get_mut(key) {
            Some((_, standing)) if written => *standing = Standing::Written,
            _ => self.forget(key),
        }
    }

    /// Why this request is refused; `None` if it may be tried.
    pub fn refuses(&self, key: &Key) -> Option<Error> {
        let (Sentence { death, last_words, tries, .. }, _) = self.known.get(key)?;
        let detail =
            format!("{last_words} (after {tries} tries it is not tried again; `dovetail service poison clear {key}`)");
        Some(Error::quarantined(*death, detail))
    }

    /// Notes that a request has killed `tries` workers, and returns the record to write.
    ///
    /// # Errors
    /// Bug: the record cannot be serialized.
    pub fn add(
        &mut self,
        key: Key,
        request: &StageRequest,
        death: Death,
        last_words: &str,
        tries: u32,
    ) -> Result<Vec<u8>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let old = self.known.get(&key).map(|(sentence, _)| sentence);
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
        self.known.insert(key, (sentence, Standing::BeingWritten));
        Ok(bytes)
    }

    /// The number of refused requests.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether no request is refused.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

/// The records of a directory, for the service.
pub fn kept(dir: &Path) -> Records {
    Records::open(dir, CAP)
}

/// All records of a directory, of any compiler.
pub fn list(records: &Records) -> impl Iterator<Item = (Key, Sentence)> {
    records.all().filter_map(|(key, bytes)| Some((key, rmp_serde::from_slice(&bytes).ok()?)))
}

/// The records of a directory, for listing and deleting them while the service may be running.
pub fn records(dir: &Path) -> Records {
    Records::read(dir)
}

/// Describes a request in words.
pub fn describe(request: &StageRequest) -> String {
    let StageRequest { stage, module, entry_point, .. } = request;
    let module: String = module.0.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{stage} shader `{entry_point}` of module {module}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::target::{Gpu, Stage, WaveSize};
    use dovetail_compile::request::{KnownState, ModuleDigest, TuningOptions};

    #[test]
    fn a_sentence_outlives_the_process_and_ends_with_the_compiler_or_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let compiler = |backend: &str| CompilerId { sources: "a".into(), backend: backend.into() };
        let request = StageRequest {
            target: Gpu::Gfx1030,
            stage: Stage::Compute,
            module: ModuleDigest([1; 32]),
            entry_point: "main".into(),
            specialization: Vec::new(),
            wave: WaveSize::W32,
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        let key = Key([1; 32]);
        let open = |backend| Poison::new(list(&kept(dir.path())), compiler(backend));
        let mut poison = open("1");
        assert!(poison.refuses(&key).is_none());
        let record = poison.add(key, &request, Death::Crashed, "signal 6", 2).unwrap();
        assert_eq!(poison.standing(&key), Some(Standing::BeingWritten));
        kept(dir.path()).put(key, &record).unwrap();
        poison.written(&key, true);
        assert_eq!(poison.standing(&key), Some(Standing::Written));
        let mut poison = open("1");
        let why = poison.refuses(&key).unwrap().to_string();
        assert!(why.contains("crashed") && why.contains("signal 6") && why.contains("after 2 tries"), "{why}");
        assert!(open("2").refuses(&key).is_none());
        poison.forget(&key);
        assert!(poison.refuses(&key).is_none() && poison.is_empty());
        // What could not be written is tried again.
        poison.add(key, &request, Death::Crashed, "signal 6", 2).unwrap();
        poison.written(&key, false);
        assert_eq!(poison.standing(&key), None);
    }
}
