//! A journal of pipelines that were linked: what they are made of, how much they are used, whether compiling them whole
//! is worth it. It outlives the service.
//!
//! A row is named by what the pipeline is, without a compiler, so that a verdict of an older compiler is found, and made again by
//! use. Rows are written when a verdict falls, and every few seconds for uses: a kill loses counts, and at worst the verdict that
//! was just reached, which is then reached again.

use super::records::Records;
use crate::cache::{Key, KeyBuilder};
use crate::compile::request::{CompilerId, StageRequest};
use crate::error::{Error, Result};
use crate::keys;
use crate::link::Placement;
use crate::state::PipelineState;
use crate::wire::{PipelineAsk, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of all rows.
const CAP: u64 = 64 << 20;
/// Rows in memory; beyond, those that were used longest ago are forgotten, though not their files.
const MAX_ROWS: usize = 16_384;
/// Bytes of a pipeline's description; a real one has some thousand.
const MAX_ROW: usize = 64 << 10;

/// The rows' records in a folder, for the service; others have [`Records::read`].
pub fn records(dir: &Path) -> Records {
    Records::open(dir, CAP)
}

/// A pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Early requests of its stages.
    pub stages: Vec<StageRequest>,
    /// State.
    pub state: PipelineState,
    /// Placement of parts.
    pub placement: Placement,
    /// Draws that clients told of.
    pub uses: u64,
    /// Time of the last offer or use, in seconds since 1970.
    pub last_use: u64,
    /// The result of compiling it whole, and the compiler.
    pub decided: Option<Decided>,
}

/// Result of compiling a pipeline whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// By which compiler.
    pub compiler: CompilerId,
    /// Whether it is better, or why there is none.
    pub verdict: std::result::Result<Verdict, Error>,
}

impl Row {
    /// The name of a pipeline's row.
    ///
    /// # Errors
    /// Bug: it cannot be serialized.
    pub fn name(ask: &PipelineAsk) -> Result<Key> {
        let builder = KeyBuilder::new("dovetail journal 1").field("stages", &ask.stages)?;
        Ok(builder.field("state", &ask.state)?.field("placement", &ask.placement)?.finish())
    }

    /// The key by which a program knows the pipeline (`dvt_pipeline_key`) with this compiler.
    ///
    /// # Errors
    /// Bug: it cannot be serialized.
    pub fn pipeline_key(&self, compiler: &CompilerId) -> Result<Key> {
        let stages = self.stages.iter().map(|stage| keys::stage(stage, compiler)).collect::<Result<Vec<Key>>>()?;
        keys::pipeline(&stages, &self.state, self.placement)
    }

    /// The verdict, if it was by this compiler.
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
    /// The journal of these records.
    pub fn new(records: impl Iterator<Item = (Key, Vec<u8>)>) -> Self {
        let rows = records.filter_map(|(name, bytes)| Some((name, Row::parse(&bytes)?))).collect();
        let mut journal = Self { rows, changed: BTreeSet::new() };
        journal.trim();
        journal
    }

    /// A pipeline was offered.
    ///
    /// # Errors
    /// Bug: it cannot be named. Unsupported: its description is too long.
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

    /// Counts draws with a pipeline.
    pub fn used(&mut self, name: &Key, draws: u64) {
        if let Some(row) = self.rows.get_mut(name) {
            row.uses = row.uses.saturating_add(draws);
            row.last_use = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            self.changed.insert(*name);
        }
    }

    /// Takes the verdict on a pipeline: it was compiled whole, or that failed for good.
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

    /// The rows to write, changed since the last call.
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
