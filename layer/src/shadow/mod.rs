//! Shadow: saves sampled dispatches and draws with their real inputs and the driver's results, as bundles for
//! `dovetail replay`.
//!
//! ```text
//! objects  ── handles to buffers, images, views, descriptor sets ──┐
//! commands ── what a command buffer has bound ─────────────────────┼─ plan ── copies ── dispatch ── copies
//! program  ── what the shaders use, from their SPIR-V ─────────────┘  │         │
//! fixed, dynamic, passes ── the same of draws ── drawing ─────────────┘         │
//!                              scene ── Bundle ── DIR/NAME <── after the fence ──┘
//! ```
//!
//! The application's commands keep their order and arguments. The layer adds transfer usage to buffers and images, copies
//! and barriers before and after a sampled dispatch or draw, and an empty submission with a fence after the
//! application's own. The render pass of a sampled draw is interrupted (`passes`); commands of secondary command buffers
//! are recorded into the primary (`log`). Unsupported dispatches and draws are counted by [`Reason`] and not changed.
//!
//! To support a kind of descriptor, add an arm in `plan` and one in `scene`; a command that changes bindings, a hook in
//! `hooks`; a fixed function, see `fixed`.

mod bound;
mod commands;
mod copies;
mod descriptors;
mod draw_plan;
mod drawing;
mod dynamic;
mod fixed;
pub mod hooks;
mod log;
mod objects;
mod passes;
mod picture;
mod plan;
mod program;
mod reason;
mod region;
mod scene;
mod state;
mod tracker;
mod unroll;
mod views;

pub use tracker::Tracker;

use crate::complain::complain;
use crate::config::ShadowConfig;
use crate::guard::lock;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::files::write_unsynced;
use dovetail_capture::{FixedState, Hash, Translated};
use plan::Kind;
use program::Known;
use reason::Reason;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The process's shadow.
pub struct Shadow {
    /// The folder for bundles.
    folder: PathBuf,
    /// The prefix of the bundles' names.
    program: String,
    limits: ShadowConfig,
    pipelines: Mutex<BTreeMap<Hash, Arc<Known>>>,
    tally: Mutex<Summary>,
    /// Time of the last write of the summary, and the number of dispatches and draws that it counted.
    kept: Mutex<(Instant, u64)>,
}

/// Counts of all dispatches and draws.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    dispatches: Tally,
    draws: Tally,
}

impl Summary {
    fn of(&mut self, kind: Kind) -> &mut Tally {
        match kind {
            Kind::Dispatch => &mut self.dispatches,
            Kind::Draw => &mut self.draws,
        }
    }

    /// The sum over dispatches and draws.
    fn sum(&self, part: impl Fn(&Tally) -> u64) -> u64 {
        part(&self.dispatches).saturating_add(part(&self.draws))
    }
}

/// Counts of all dispatches or of all draws: `all` is the sum of the others.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    all: u64,
    /// Not sampled.
    passed_over: u64,
    /// Copied but not read yet.
    pending: u64,
    /// With a bundle.
    written: u64,
    /// Bytes of their copies.
    bytes: u64,
    /// Without a bundle, by reason.
    reasons: BTreeMap<String, u64>,
}

impl Shadow {
    /// Creates the folder.
    ///
    /// # Errors
    /// Environment: it cannot be created.
    pub fn start(config: &ShadowConfig) -> Result<Self> {
        let place = || config.folder.display().to_string();
        fs::create_dir_all(&config.folder).at(place)?;
        // The application may change its working directory before a file is written.
        let folder = config.folder.canonicalize().at(place)?;
        let program = std::env::current_exe().ok();
        let program = program.as_deref().and_then(|path| path.file_name());
        Ok(Self {
            folder,
            program: program.map_or_else(|| "program".into(), |name| name.to_string_lossy().into_owned()),
            limits: config.clone(),
            pipelines: Mutex::default(),
            tally: Mutex::default(),
            kept: Mutex::new((Instant::now(), 0)),
        })
    }

    /// Adds a pipeline; for a graphics pipeline with its fixed-function state.
    pub fn learn(
        &self,
        name: Hash,
        translated: &Result<Translated>,
        fixed: Option<FixedState>,
        module: impl Fn(Hash) -> Option<Arc<[u8]>>,
    ) {
        let mut pipelines = lock(&self.pipelines);
        pipelines.entry(name).or_insert_with(|| Arc::new(Known::new(name, translated, fixed, module)));
    }

    fn pipeline(&self, name: Hash) -> Option<Arc<Known>> {
        lock(&self.pipelines).get(&name).cloned()
    }

    /// Whether the next dispatch or draw of a pipeline is sampled: its first, second, fourth, eighth and so on, within
    /// the limits.
    fn samples(&self, kind: Kind, pipeline: Option<&Known>) -> bool {
        let mut summary = lock(&self.tally);
        let within = summary.sum(|tally| tally.pending + tally.written) < self.limits.most;
        let tally = summary.of(kind);
        tally.all += 1;
        let wanted = within && pipeline.is_none_or(|known| known.is_turn(self.limits.per_pipeline));
        tally.passed_over += u64::from(!wanted);
        wanted
    }

    /// Whether one of the next draws with these pipelines will be sampled.
    fn wants(&self, draws: &[Option<Arc<Known>>]) -> bool {
        let mut counts = BTreeMap::<Hash, (&Known, u64)>::new();
        for known in draws.iter().flatten() {
            counts.entry(known.name).or_insert((known, 0)).1 += 1;
        }
        let within = lock(&self.tally).sum(|tally| tally.pending + tally.written) < self.limits.most;
        within && counts.values().any(|(known, count)| known.has_turn(*count, self.limits.per_pipeline))
    }

    /// Whether so many bytes may be copied.
    fn allows(&self, bytes: u64) -> bool {
        let taken = lock(&self.tally).sum(|tally| tally.bytes);
        bytes <= self.limits.single_bytes && taken.saturating_add(bytes) <= self.limits.bytes
    }

    /// Adds copied bytes of a dispatch or draw.
    fn take(&self, kind: Kind, bytes: u64) {
        let mut summary = lock(&self.tally);
        let tally = summary.of(kind);
        tally.bytes += bytes;
        tally.pending += 1;
    }

    /// Counts one without a bundle, by reason.
    fn refuse(&self, kind: Kind, reason: &Reason) {
        *lock(&self.tally).of(kind).reasons.entry(reason.name().into_owned()).or_default() += 1;
    }

    /// Counts one whose copies were read: it has a bundle, or a reason why it has none.
    fn finish(&self, kind: Kind, result: std::result::Result<(), Reason>) {
        let mut summary = lock(&self.tally);
        let tally = summary.of(kind);
        tally.pending = tally.pending.saturating_sub(1);
        match result {
            Ok(()) => {
                tally.written += 1;
                drop(summary);
                // The summary of a killed application must count every bundle in the folder.
                self.flush();
            }
            Err(reason) => {
                drop(summary);
                self.refuse(kind, &reason);
            }
        }
    }

    /// Writes the summary at most once a second, if it has changed, because many applications are killed in the end.
    fn keep(&self) {
        let all = lock(&self.tally).sum(|tally| tally.all);
        let mut kept = lock(&self.kept);
        if kept.0.elapsed() > Duration::from_secs(1) && kept.1 != all {
            *kept = (Instant::now(), all);
            drop(kept);
            self.flush();
        }
    }

    /// Writes the summary.
    pub fn flush(&self) {
        let summary = lock(&self.tally).clone();
        if summary.sum(|tally| tally.all) == 0 {
            return;
        }
        let path = self.folder.join(format!("{}.json", self.program));
        let text = serde_json::to_string_pretty(&summary).map_err(|e| Error::bug(e.to_string()));
        let written = text.and_then(|text| write_unsynced(&path, (text + "\n").as_bytes()));
        written.unwrap_or_else(|e| complain(&e.to_string()));
    }
}
