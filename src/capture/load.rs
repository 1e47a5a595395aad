//! An archive opened for looking up definitions.
//!
//! Invariant: only layouts, samplers and render passes stay in memory. Their JSON may have a [`RESIDENT`]th of the
//! limit in total, because as structs they may take that much more. Pipelines and modules are read each time. No JSON
//! is longer than [`payload::MAX_TEXT`], except that of modules in the older form, which contains their words.

use super::foz::payload;
use super::foz::{Archive, EntryKind};
use super::model::{ComputePipeline, GraphicsPipeline, Hash, Key, PipelineLayout, RenderPass, Sampler, SetLayout};
use super::source::DefinitionSource;
use dovetail_base::error::{Context, Error, Result};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest ratio between the size of a definition in memory and that of its JSON.
const RESIDENT: u64 = 64;
/// Entries of an archive that were skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Their number.
    pub count: usize,
    /// Their kind.
    pub what: &'static str,
}

type Kept<T> = BTreeMap<Hash, Arc<T>>;

#[derive(Default)]
struct Tables {
    samplers: Kept<Sampler>,
    set_layouts: Kept<SetLayout>,
    pipeline_layouts: Kept<PipelineLayout>,
    render_passes: Kept<RenderPass>,
    /// Size in bytes of the JSON that they were made from.
    bytes: u64,
}

/// A recording of an application.
pub struct Recording<R = File> {
    archive: Mutex<Archive<R>>,
    tables: Mutex<Tables>,
    limit: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data are consistent after a panic between any two operations.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recording<File> {
    /// Opens an archive. `limit` is the memory in bytes for an entry, and for all stored definitions together.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn open(path: &Path, limit: u64) -> Result<Self> {
        Self::new(File::open(path)?, limit)
    }
}

impl<R: Read + Seek> Recording<R> {
    /// [`Recording::open`] for any reader that can seek.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn new(from: R, limit: u64) -> Result<Self> {
        Ok(Self { archive: Mutex::new(Archive::open(from)?), tables: Mutex::default(), limit })
    }

    /// The hashes of all entries of a kind, in file order.
    pub fn hashes(&self, kind: EntryKind) -> Vec<Hash> {
        lock(&self.archive).hashes(kind).collect()
    }

    /// The entries that are not used.
    pub fn skipped(&self) -> Vec<Skipped> {
        let archive = lock(&self.archive);
        let all = [
            (archive.hashes(EntryKind::RayTracingPipeline).count(), "ray tracing pipelines"),
            (archive.unknown(), "entries of a kind that is not known"),
        ];
        all.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| Skipped { count, what }).collect()
    }

    /// End of the last complete entry in bytes, if the file continues with something that is not an entry.
    pub fn torn_at(&self) -> Option<u64> {
        let archive = lock(&self.archive);
        archive.is_torn().then(|| archive.end())
    }

    /// The SPIR-V of a module.
    ///
    /// # Errors
    /// Malformed: it does not exist or is damaged. Unsupported: it needs more memory than the limit.
    pub fn module(&self, name: Hash) -> Result<Vec<u8>> {
        // The payload, and the words that it unpacks to: at most four times as many bytes.
        let bytes = self.payload(EntryKind::ShaderModule, name, self.limit / 5)?;
        payload::read_module(&bytes, name)
    }

    /// A graphics pipeline.
    ///
    /// # Errors
    /// As [`Self::module`].
    pub fn graphics(&self, name: Hash) -> Result<GraphicsPipeline> {
        Ok(self.definition(EntryKind::GraphicsPipeline, &[Key::GraphicsPipelines], name)?.1)
    }

    /// A compute pipeline.
    ///
    /// # Errors
    /// As [`Self::module`].
    pub fn compute(&self, name: Hash) -> Result<ComputePipeline> {
        Ok(self.definition(EntryKind::ComputePipeline, &[Key::ComputePipelines], name)?.1)
    }

    fn payload(&self, kind: EntryKind, name: Hash, limit: u64) -> Result<Vec<u8>> {
        let found = lock(&self.archive).payload(kind, name, limit).at(|| name.to_string())?;
        found.ok_or_else(|| Error::malformed("is named, and not in the archive").at(name.to_string()))
    }

    fn definition<T: DeserializeOwned>(&self, kind: EntryKind, keys: &[Key], name: Hash) -> Result<(Key, T, u64)> {
        // The payload is in memory twice: stored and unpacked.
        let bytes = self.payload(kind, name, payload::MAX_TEXT * 2)?;
        let (key, found) = payload::read(&bytes, keys, name).at(|| name.to_string())?;
        Ok((key, found, bytes.len() as u64))
    }

    fn kept<T: DeserializeOwned>(
        &self,
        table: impl Fn(&mut Tables) -> &mut Kept<T>,
        kind: EntryKind,
        keys: &[Key],
        name: Hash,
        finish: impl FnOnce(Key, &mut T),
    ) -> Result<Arc<T>> {
        if let Some(found) = table(&mut lock(&self.tables)).get(&name) {
            return Ok(found.clone());
        }
        let (key, mut found, bytes) = self.definition(kind, keys, name)?;
        finish(key, &mut found);
        let found = Arc::new(found);
        let mut tables = lock(&self.tables);
        // A definition for which there is no room is read again next time.
        if tables.bytes + bytes <= self.limit / RESIDENT {
            tables.bytes += bytes;
            table(&mut tables).insert(name, found.clone());
        }
        Ok(found)
    }
}

impl<R: Read + Seek> DefinitionSource for Recording<R> {
    fn sampler(&self, name: Hash) -> Result<Arc<Sampler>> {
        self.kept(|t| &mut t.samplers, EntryKind::Sampler, &[Key::Samplers], name, |_, _| ())
    }

    fn set_layout(&self, name: Hash) -> Result<Arc<SetLayout>> {
        self.kept(|t| &mut t.set_layouts, EntryKind::SetLayout, &[Key::SetLayouts], name, |_, _| ())
    }

    fn pipeline_layout(&self, name: Hash) -> Result<Arc<PipelineLayout>> {
        self.kept(|t| &mut t.pipeline_layouts, EntryKind::PipelineLayout, &[Key::PipelineLayouts], name, |_, _| ())
    }

    fn render_pass(&self, name: Hash) -> Result<Arc<RenderPass>> {
        let keys = [Key::RenderPasses, Key::RenderPasses2];
        let finish = |key, pass: &mut RenderPass| pass.second = key == Key::RenderPasses2;
        self.kept(|t| &mut t.render_passes, EntryKind::RenderPass, &keys, name, finish)
    }

    fn graphics(&self, name: Hash) -> Result<Arc<GraphicsPipeline>> {
        Self::graphics(self, name).map(Arc::new)
    }
}
