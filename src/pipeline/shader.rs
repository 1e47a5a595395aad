//! A shader as pipelines use it. The keys of its part and of its variants are computed once. All pipelines share these
//! keys, and the parts that the first toolchain keeps in memory.

use super::PipelineRequest;
use super::known::only_for;
use crate::keys;
use crate::toolchain::{PartRef, ReadyPart, Toolchain, ToolchainId};
use dovetail_base::error::{Context, Result};
use dovetail_base::table::{SharedTable, hash};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_cache::Key;
use dovetail_compile::request::{CompilerId, KnownState, Module, SpecValues, StageRequest, TuningOptions};
use dovetail_state::{Known, PipelineState};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// One stage of a pipeline. Clones are the same shader, with the keys computed for any of them and the parts found under them.
#[derive(Clone)]
pub struct ShaderRef<'a>(Arc<Shader<'a>>);

/// Everything in one place, because a pipeline that is built for the first time finds none of it in the processor's caches.
struct Shader<'a> {
    stage: Stage,
    wave: WaveSize,
    spec_ids: Box<[u32]>,
    /// The first key asked for, which most pipelines use: found without a hash, and next to what it is compared with.
    first: OnceLock<(Asked, Kept)>,
    others: SharedTable<Asked, Kept>,
    module: &'a Module,
    entry_point: Box<str>,
}

/// A key, and the part under it.
struct Kept {
    key: Key,
    /// The part that the first toolchain keeps, so that later pipelines do not search for it. Its toolchain may be gone.
    part: OnceLock<(ToolchainId, ReadyPart)>,
}

impl From<Key> for Kept {
    fn from(key: Key) -> Self {
        Self { key, part: OnceLock::new() }
    }
}

/// A key that the shader keeps, or one that no longer had room.
enum KeptRef<'s> {
    Kept(&'s Kept),
    Own(Key),
}

impl KeptRef<'_> {
    fn key(&self) -> Key {
        match self {
            Self::Kept(kept) => kept.key,
            Self::Own(key) => *key,
        }
    }
}

/// Inputs of a stage's key besides the shader.
#[derive(PartialEq)]
struct Asked {
    target: Gpu,
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
        write!(f, "{} shader `{}`", self.0.stage, self.0.entry_point)
    }
}

impl<'a> ShaderRef<'a> {
    /// An entry point of a module, without specialization constants.
    pub fn new(module: &'a Module, entry_point: &str, stage: Stage, wave: WaveSize) -> Self {
        Self::with(module, entry_point, stage, wave, Box::default())
    }

    /// The same, with the `SpecId`s that the module declares; values for others are not part of its requests.
    #[must_use]
    pub fn with_spec_ids(self, ids: impl IntoIterator<Item = u32>) -> Self {
        let Shader { stage, wave, module, entry_point, .. } = &*self.0;
        Self::with(module, entry_point, *stage, *wave, ids.into_iter().collect())
    }

    fn with(module: &'a Module, entry_point: &str, stage: Stage, wave: WaveSize, spec_ids: Box<[u32]>) -> Self {
        let (first, others) = (OnceLock::new(), SharedTable::default());
        Self(Arc::new(Shader { stage, wave, spec_ids, first, others, module, entry_point: entry_point.into() }))
    }

    /// Its SPIR-V.
    pub fn module(&self) -> &'a Module {
        self.0.module
    }

    /// Its stage.
    pub fn stage(&self) -> Stage {
        self.0.stage
    }

    /// The part of the request that knows nothing of a pipeline, if it is the first that was found, as for most pipelines.
    #[inline]
    pub(super) fn near_part(&self, pipeline: &PipelineRequest<'_>, tools: &Toolchain<'_>) -> Option<&ReadyPart> {
        let (asked, kept) = self.0.first.get()?;
        let (id, part) = kept.part.get()?;
        // A toolchain has one compiler.
        let same = *id == tools.id()
            && (self.0.spec_ids.is_empty() || pipeline.state.specialization.is_empty())
            && asked.shaping.is_empty()
            && asked.known.is_none()
            && asked.target == pipeline.target
            && asked.options == pipeline.options;
        same.then_some(part)
    }

    /// The compile request for it, given this known state.
    pub(super) fn request(&self, pipeline: &PipelineRequest<'_>, known: KnownState) -> StageRequest {
        let values = self.values(pipeline.state);
        StageRequest {
            target: pipeline.target,
            stage: self.0.stage,
            module: self.0.module.digest(),
            entry_point: self.0.entry_point.to_string(),
            specialization: values.shaping,
            wave: self.0.wave,
            options: pipeline.options.clone(),
            known: only_for(self.0.stage, known, values.operands),
        }
    }

    /// The part of the request that knows this state, or nothing of a pipeline; `None` if it is not available.
    ///
    /// # Errors
    /// As [`Toolchain::part`].
    pub(super) fn part<'t>(
        &'t self,
        pipeline: &PipelineRequest<'_>,
        known: Option<&KnownState>,
        tools: &'t Toolchain<'_>,
    ) -> Result<Option<PartRef<'t>>> {
        let kept = self.kept(pipeline, known, tools.compiler_id())?;
        let own = |(id, part): &'t (ToolchainId, ReadyPart)| (*id == tools.id()).then_some(PartRef::Kept(part));
        if let KeptRef::Kept(Kept { part, .. }) = kept
            && let Some(part) = part.get().and_then(own)
        {
            return Ok(Some(part));
        }
        let wanted = || Ok(Cow::Owned(self.request(pipeline, known.cloned().unwrap_or_default())));
        let found = tools.part_under(kept.key(), self.0.module, wanted).at(|| format!("{} shader", self.0.stage))?;
        match (kept, found) {
            // If another toolchain's part is there, it stays.
            (KeptRef::Kept(Kept { part, .. }), Some(PartRef::Kept(found))) => {
                let kept = own(part.get_or_init(|| (tools.id(), found.clone())));
                Ok(kept.or(Some(PartRef::Kept(found))))
            }
            (_, found) => Ok(found),
        }
    }

    /// The key of that request for a compiler; computed once.
    ///
    /// # Errors
    /// As [`keys::stage`].
    fn kept(
        &self,
        pipeline: &PipelineRequest<'_>,
        known: Option<&KnownState>,
        compiler: &Arc<CompilerId>,
    ) -> Result<KeptRef<'_>> {
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
        if let Some((_, kept)) = self.0.first.get().filter(|(asked, _)| is(asked)) {
            return Ok(KeptRef::Kept(kept));
        }
        let hash = hash((&values.shaping, known));
        if let Some(kept) = self.0.others.find(hash, is) {
            return Ok(KeptRef::Kept(kept));
        }
        let key = keys::stage(&self.request(pipeline, known.cloned().unwrap_or_default()), compiler)?;
        let known = known.map(|known| Box::new(AskedState { state: known.clone(), operands: operands.to_vec() }));
        let (target, options, compiler) = (pipeline.target, pipeline.options.clone(), compiler.clone());
        let asked = Asked { target, options, compiler, shaping: values.shaping, known };
        if let Err((asked, kept)) = self.0.first.set((asked, key.into())) {
            _ = self.0.others.keep(hash, asked, kept);
        }
        Ok(KeptRef::Own(key))
    }

    /// The state's values of its constants.
    fn values(&self, state: &PipelineState) -> SpecValues {
        if self.0.spec_ids.is_empty() || state.specialization.is_empty() {
            return SpecValues::default();
        }
        let values = self.0.spec_ids.iter().filter_map(|id| Some((*id, state.specialized(self.0.stage, *id)?)));
        SpecValues::new(values, self.0.module.operand_ids())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_link::Placement;
    use dovetail_state::SpecializationEntry;
    use smallvec::smallvec;

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
                let (target, placement, options) = (Gpu::Gfx1030, Placement::Adjacent, options.clone());
                let pipeline = PipelineRequest {
                    shaders: smallvec![shader.clone()],
                    state,
                    layout: None,
                    target,
                    options,
                    placement,
                };
                let request = shader.request(&pipeline, known.cloned().unwrap_or_default());
                let key = shader.kept(&pipeline, known, compiler).unwrap().key();
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
