//! A shader as pipelines use it. The keys of its part and of its variants are computed once and shared by all pipelines.

use super::{PipelineRequest, only_for};
use crate::cache::Key;
use crate::compile::request::{CompilerId, KnownState, Module, SpecValues, StageRequest, TuningOptions};
use crate::error::Result;
use crate::keys;
use crate::state::{Known, PipelineState};
use crate::table::{SharedTable, hash};
use crate::target::{GfxIp, Stage, WaveSize};
use std::sync::Arc;

/// One stage of a pipeline. Clones share the keys computed for any of them.
#[derive(Clone)]
pub struct ShaderRef<'a> {
    module: &'a Module,
    entry_point: Arc<str>,
    stage: Stage,
    wave: WaveSize,
    spec_ids: Arc<[u32]>,
    keys: Arc<SharedTable<Asked, Key>>,
}

/// Inputs of a stage's key besides the shader.
#[derive(PartialEq)]
struct Asked {
    target: GfxIp,
    options: TuningOptions,
    compiler: CompilerId,
    values: SpecValues,
    known: KnownState,
}

impl std::fmt::Debug for ShaderRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} shader `{}`", self.stage, self.entry_point)
    }
}

impl<'a> ShaderRef<'a> {
    /// An entry point of a module, without specialization constants.
    pub fn new(module: &'a Module, entry_point: &str, stage: Stage, wave: WaveSize) -> Self {
        Self { module, entry_point: entry_point.into(), stage, wave, spec_ids: Arc::default(), keys: Arc::default() }
    }

    /// The same, with the `SpecId`s that the module declares; values for others are not part of its requests.
    #[must_use]
    pub fn with_spec_ids(self, ids: impl IntoIterator<Item = u32>) -> Self {
        Self { spec_ids: ids.into_iter().collect(), keys: Arc::default(), ..self }
    }

    /// Its SPIR-V.
    pub fn module(&self) -> &'a Module {
        self.module
    }

    /// Its stage.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The compile request for it, given this known state.
    pub(super) fn request(&self, pipeline: &PipelineRequest<'_>, known: KnownState) -> StageRequest {
        let values = self.values(pipeline.state);
        StageRequest {
            target: pipeline.target,
            stage: self.stage,
            module: self.module.digest(),
            entry_point: self.entry_point.to_string(),
            specialization: values.shaping,
            wave: self.wave,
            options: pipeline.options.clone(),
            known: only_for(self.stage, known, values.operands),
        }
    }

    /// The key of that request for a compiler; computed once.
    ///
    /// # Errors
    /// As [`keys::stage`].
    pub(super) fn key(&self, pipeline: &PipelineRequest<'_>, known: &KnownState, compiler: &CompilerId) -> Result<Key> {
        let values = self.values(pipeline.state);
        let hash = hash((&values.shaping, known));
        // Constants that become relocations are not part of the key.
        let open = known.operands == Known::Unknown;
        let is = |kept: &Asked| {
            kept.values.shaping == values.shaping
                && (open || kept.values.operands == values.operands)
                && kept.known == *known
                && kept.target == pipeline.target
                && kept.options == pipeline.options
                && kept.compiler == *compiler
        };
        if let Some(key) = self.keys.find(hash, is) {
            return Ok(*key);
        }
        let key = keys::stage(&self.request(pipeline, known.clone()), compiler)?;
        let (target, options, compiler) = (pipeline.target, pipeline.options.clone(), compiler.clone());
        self.keys.keep(hash, Asked { target, options, compiler, values, known: known.clone() }, key);
        Ok(key)
    }

    /// The state's values of its constants.
    fn values(&self, state: &PipelineState) -> SpecValues {
        if state.specialization.is_empty() || self.spec_ids.is_empty() {
            return SpecValues::default();
        }
        let values = self.spec_ids.iter().filter_map(|id| Some((*id, state.specialized(self.stage, *id)?)));
        SpecValues::new(values, self.module.operand_ids())
    }
}
