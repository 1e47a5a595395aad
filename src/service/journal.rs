//! The journal of linked pipelines: their parts, their use counts, and whether compiling them as a whole is worthwhile.
//! It outlives the service.
//!
//! A row's name depends on the pipeline, not on the compiler, so the service finds the verdicts of an older compiler
//! and recomputes them in order of use. A verdict is written at once, use counts every few seconds. If the service is
//! killed, counts are lost, and at worst the last verdict, which is then recomputed.

use super::records::Records;
use dovetail_base::error::{Error, Result};
use dovetail_cache::{Key, KeyBuilder};
use dovetail_compile::request::{CompilerId, StageRequest};
use dovetail_link::Placement;
use dovetail_pipeline::keys;
use dovetail_state::PipelineState;
use dovetail_wire::{PipelineAsk, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Largest size of all rows in bytes.
const CAP: u64 = 64 << 20;
/// Largest number of rows in memory; beyond it the least recently used are dropped from memory, but their files remain.
const MAX_ROWS: usize = 16_384;
/// Largest size of a pipeline's description in bytes; real ones have a few thousand.
const MAX_ROW: usize = 64 << 10;

/// Opens the rows' records for the service; other processes use [`Records::read`].
pub fn records(dir: &Path) -> Records {
    Records::open(dir, CAP)
}

/// A pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Requests for its stages, without knowledge of the pipeline.
    pub stages: Vec<StageRequest>,
    /// State.
    pub state: PipelineState,
    /// Placement of parts.
    pub placement: Placement,
    /// Draws that clients reported.
    pub uses: u64,
    /// Time of the last offer or use, in seconds since 1970.
    pub last_use: u64,
    /// The verdict on compiling it as a whole, and its compiler.
    pub decided: Option<Decided>,
}

/// The verdict on compiling a pipeline as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The compiler.
    pub compiler: CompilerId,
    /// The verdict, or why there is none.
    pub verdict: std::result::Result<Verdict, Error>,
}

impl Row {
    /// The name of a pipeline's row.
    ///
    /// # Errors
    /// Bug: the pipeline cannot be serialized.
    pub fn name(ask: &PipelineAsk) -> Result<Key> {
        let builder = KeyBuilder::new("dovetail journal 1").field("stages", &ask.stages)?;
        Ok(builder.field("state", &ask.state)?.field("placement", &ask.placement)?.finish())
    }

    /// The key by which a program knows the pipeline under this compiler (`dvt_pipeline_key`).
    ///
    /// # Errors
    /// Bug: the pipeline cannot be serialized.
    pub fn pipeline_key(&self, compiler: &CompilerId) -> Result<Key> {
        let stages = self.stages.iter().map(|stage| keys::stage(stage, compiler)).collect::<Result<Vec<Key>>>()?;
        keys::pipeline(&stages, &self.state, self.placement)
    }

    /// The verdict, if this compiler made it.
    pub fn verdict(&self, compiler: &CompilerId) -> Option<&std::result::Result<Verdict, Error>> {
        self.decided.as_ref().filter(|decided| decided.compiler == *compiler).map(|decided| &decided.verdict)
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        rmp_serde::to_vec_named(self).map_err(|e| Error::bug(format!("journal: {e}")))
    }

    /// Parses a record.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        rmp_serde::from_slice(bytes).ok()
    }
}

/// All rows.
#[derive(Default)]
pub struct Journal {
    rows: BTreeMap<Key, Row>,
    /// Rows that differ from their files.
    changed: BTreeSet<Key>,
}

impl Journal {
    /// Loads the journal from records.
    pub fn new(records: impl Iterator<Item = (Key, Vec<u8>)>) -> Self {
        let rows = records.filter_map(|(name, bytes)| Some((name, Row::parse(&bytes)?))).collect();
        let mut journal = Self { rows, changed: BTreeSet::new() };
        journal.trim();
        journal
    }

    /// Adds an offered pipeline.
    ///
    /// # Errors
    /// Bug: the pipeline cannot be named. Unsupported: its description is too long.
    pub fn offer(&mut self, ask: &PipelineAsk) -> Result<Key> {
        let name = Row::name(ask)?;
        let PipelineAsk { stages, state, placement, .. } = ask;
        if let Entry::Vacant(place) = self.rows.entry(name) {
            let (stages, state, placement) = (stages.clone(), state.clone(), *placement);
            let row = Row { stages, state, placement, uses: 0, last_use: 0, decided: None };
            if row.bytes()?.len() > MAX_ROW {
                return Err(Error::unsupported(format!("pipeline of {MAX_ROW} bytes"), "its description is too long"));
            }
            place.insert(row);
        }
        self.used(&name, ask.uses);
        self.trim();
        Ok(name)
    }

    /// Adds draws with a pipeline.
    pub fn used(&mut self, name: &Key, draws: u64) {
        if let Some(row) = self.rows.get_mut(name) {
            row.uses = row.uses.saturating_add(draws);
            row.last_use = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            self.changed.insert(*name);
        }
    }

    /// Records the verdict on a pipeline, or a permanent failure to compile it.
    pub fn decide(&mut self, name: &Key, decided: Decided) {
        if let Some(row) = self.rows.get_mut(name) {
            row.decided = Some(decided);
            self.changed.insert(*name);
        }
    }

    /// A row.
    pub fn get(&self, name: &Key) -> Option<&Row> {
        self.rows.get(name)
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = (&Key, &Row)> {
        self.rows.iter()
    }

    /// The rows that have changed since the last call, for writing.
    pub fn take_changed(&mut self) -> Vec<(Key, Vec<u8>)> {
        let changed = std::mem::take(&mut self.changed);
        let bytes = |name: Key| Some((name, self.rows.get(&name)?.bytes().ok()?));
        changed.into_iter().filter_map(bytes).collect()
    }

    fn trim(&mut self) {
        while self.rows.len() > MAX_ROWS {
            let oldest = self.rows.iter().min_by_key(|(_, row)| row.last_use).map(|(name, _)| *name);
            let Some(oldest) = oldest else { break };
            self.rows.remove(&oldest);
            self.changed.remove(&oldest);
        }
    }
}
