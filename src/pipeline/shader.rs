//! A shader as pipelines use it. The keys of its part and of its variants are computed once and shared by all pipelines.

use super::{PipelineRequest, only_for};
use crate::cache::Key;
use crate::compile::request::{CompilerId, KnownState, Module, SpecValues, StageRequest, TuningOptions};
use crate::error::Result;
use crate::keys;
use crate::state::{Known, PipelineState};
use crate::table::{SharedTable, hash};
use crate::target::{GfxIp, Stage, WaveSize};
use std::sync::{Arc, OnceLock};

/// One stage of a pipeline. Clones share the keys computed for any of them.
#[derive(Clone)]
pub struct ShaderRef<'a> {
    module: &'a Module,
    entry_point: Arc<str>,
    stage: Stage,
    wave: WaveSize,
    spec_ids: Arc<[u32]>,
    keys: Arc<Keys>,
}

/// The keys of a shader.
#[derive(Default)]
struct Keys {
    /// The first one asked for, which most pipelines use: found without a hash, and next to what it is compared with.
    first: OnceLock<(Asked, Key)>,
    others: SharedTable<Asked, Key>,
}

/// Inputs of a stage's key besides the shader.
#[derive(PartialEq)]
struct Asked {
    target: GfxIp,
    options: TuningOptions,
    compiler: Arc<CompilerId>,
    shaping: Vec<(u32, u64)>,
    /// `None` if the request knows nothing of a pipeline.
    known: Option<Box<AskedState>>,
}

/// What a request knows of a pipeline.
#[derive(PartialEq)]
struct AskedState {
    state: KnownState,
    /// Values of constants that are only operands.
    operands: Vec<(u32, u64)>,
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

    /// The key of the request that knows this state, or nothing of a pipeline, for a compiler; computed once.
    ///
    /// # Errors
    /// As [`keys::stage`].
    pub(super) fn key(
        &self,
        pipeline: &PipelineRequest<'_>,
        known: Option<&KnownState>,
        compiler: &Arc<CompilerId>,
    ) -> Result<Key> {
        let values = self.values(pipeline.state);
        // Constants that become relocations are not part of the key.
        let operands = known.filter(|known| known.operands != Known::Unknown).map_or(&[][..], |_| &values.operands);
        let is = |kept: &Asked| {
            let same_state = match (known, kept.known.as_deref()) {
                (None, None) => true,
                (Some(known), Some(kept)) => kept.state == *known && kept.operands == operands,
                _ => false,
            };
            same_state
                && kept.shaping == values.shaping
                && kept.target == pipeline.target
                && kept.options == pipeline.options
                && kept.compiler == *compiler
        };
        if let Some((_, key)) = self.keys.first.get().filter(|(kept, _)| is(kept)) {
            return Ok(*key);
        }
        let hash = hash((&values.shaping, known));
        if let Some(key) = self.keys.others.find(hash, is) {
            return Ok(*key);
        }
        let key = keys::stage(&self.request(pipeline, known.cloned().unwrap_or_default()), compiler)?;
        let known = known.map(|known| Box::new(AskedState { state: known.clone(), operands: operands.to_vec() }));
        let (target, options, compiler) = (pipeline.target, pipeline.options.clone(), compiler.clone());
        let asked = Asked { target, options, compiler, shaping: values.shaping, known };
        if let Err((asked, key)) = self.keys.first.set((asked, key)) {
            self.keys.others.keep(hash, asked, key);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Placement;
    use crate::state::SpecializationEntry;

    #[test]
    fn kept_keys_are_those_of_their_requests() {
        let module = Module::new([0x0723_0203_u32, 1].into_iter().flat_map(u32::to_le_bytes).collect()).unwrap();
        let shader = ShaderRef::new(&module, "main", Stage::Fragment, WaveSize::W64).with_spec_ids([7]);
        let state = PipelineState::default();
        let mut special = state.clone();
        special.specialization.push(SpecializationEntry { stage: None, id: 7, value: 1 });
        let known = [
            None,
            Some(KnownState::default()),
            Some(KnownState { sample_shading: Known::Known(true), ..KnownState::default() }),
            Some(KnownState { operands: Known::Known(Vec::new()), ..KnownState::default() }),
        ];
        let options = [TuningOptions::default(), TuningOptions { unroll: false, ..TuningOptions::default() }];
        let compilers = ["a", "b"].map(|name| Arc::new(CompilerId { sources: name.into(), backend: String::new() }));
        let mut found = Vec::new();
        for _ in 0..2 {
            for (state, known, options, compiler) in [&state, &special].into_iter().flat_map(|state| {
                let all = known.iter().flat_map(|known| options.iter().map(move |options| (known.as_ref(), options)));
                all.flat_map(|(k, o)| compilers.iter().map(move |c| (k, o, c))).map(move |(k, o, c)| (state, k, o, c))
            }) {
                let (target, placement, options) = (GfxIp::Gfx1030, Placement::Adjacent, options.clone());
                let pipeline = PipelineRequest { shaders: vec![shader.clone()], state, target, options, placement };
                let request = shader.request(&pipeline, known.cloned().unwrap_or_default());
                let key = shader.key(&pipeline, known, compiler).unwrap();
                assert_eq!(key, keys::stage(&request, compiler).unwrap(), "{request:?}");
                found.push(key);
            }
        }
        found.sort();
        found.dedup();
        // Knowing nothing is the same request as an empty known state.
        assert_eq!(found.len(), 2 * 3 * 2 * 2);
    }
}
