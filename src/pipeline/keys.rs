//! Keys of each kind of result. Only this file knows both requests and the cache.
//!
//! A driver without a compiler computes the same keys, because a [`CompilerId`] is data. A module is hashed once.

use dovetail_base::error::Result;
use dovetail_base::target::Gpu;
use dovetail_cache::{Key, KeyBuilder};
use dovetail_compile::request::{CompilerId, ModuleDigest, SOURCES, StageRequest};
use dovetail_glue::GlueKey;
use dovetail_link::Placement;
use dovetail_state::PipelineState;

/// Key of a stage's ELF. The domain names the unlinked format, so a change of the format changes every key.
///
/// # Errors
/// Bug: the request cannot be serialized.
pub fn stage(request: &StageRequest, compiler: &CompilerId) -> Result<Key> {
    Ok(KeyBuilder::new("dovetail stage elf 1").field("compiler", compiler)?.field("request", request)?.finish())
}

/// The generator of glue is identified by its sources' digest (`build.rs`).
const GLUE_DOMAIN: &str = concat!("dovetail glue ", env!("DOVETAIL_GLUE_SOURCES"));

/// Key of the record of a module's specialization constants that are only operands. The compiler's sources decide which
/// those are, and the ids are only useful with parts of the same compiler; records of another compiler are just missed.
///
/// # Errors
/// Bug: the key cannot be made.
pub fn module(digest: ModuleDigest) -> Result<Key> {
    Ok(KeyBuilder::new("dovetail module 1").field("sources", SOURCES)?.field("module", &digest)?.finish())
}

/// Key of the note of a pair, from the digests of the vertex and the fragment part that it replaces.
///
/// # Errors
/// Bug: the key cannot be made.
pub fn pair([vertex, fragment]: [&[u8; 32]; 2]) -> Result<Key> {
    Ok(KeyBuilder::new("dovetail pair 1").field("vertex", vertex)?.field("fragment", fragment)?.finish())
}

/// Key of a piece of glue.
///
/// # Errors
/// Bug: the key cannot be serialized.
pub fn glue(key: &GlueKey) -> Result<Key> {
    Ok(KeyBuilder::new(GLUE_DOMAIN).field("glue", key)?.finish())
}

/// Key of a pipeline ELF: its stages' keys, its state, the placement of its parts.
///
/// # Errors
/// Bug: the state cannot be serialized.
pub fn pipeline(stages: &[Key], state: &PipelineState, placement: Placement) -> Result<Key> {
    let stages: Vec<[u8; 32]> = stages.iter().map(|key| key.0).collect();
    let builder = KeyBuilder::new("dovetail pipeline elf 1").field("stages", &stages)?;
    Ok(builder.field("state", state)?.field("placement", &placement)?.field("glue", GLUE_DOMAIN)?.finish())
}

/// Key of everything besides requests that affects code: results under another key are useless here.
///
/// # Errors
/// Bug: the key cannot be serialized.
pub fn global(target: Gpu, compiler: Option<&CompilerId>) -> Result<Key> {
    let builder = KeyBuilder::new("dovetail global 1").field("target", &target)?;
    Ok(builder.field("compiler", &compiler)?.field("glue", GLUE_DOMAIN)?.finish())
}

#[cfg(test)]
mod tests {
    use crate::keys::*;
    use dovetail_base::kinds::ResourceKind;
    use dovetail_base::target::{Gpu, Stage, WaveSize};
    use dovetail_compile::phases::{Phase, Phases};
    use dovetail_compile::request::{GeneratorKind, KnownState, LlvmOptions, NativeOptions, Scheduling, TuningOptions};
    use dovetail_metadata::interface::{FragmentReads, ParamConstant, Semantic};
    use dovetail_state::{
        BindingLayout, ChromaFilter, ChromaLocation, ImmutableSampler, Known, ResourceLayout, SamplerWords, SetLayout,
        Swizzle, VkFormat, YcbcrConversion, YcbcrModel, YcbcrRange,
    };

    /// Every field of the request and of the compiler's id must change the key.
    #[test]
    fn each_field_is_in_the_key() {
        let id = CompilerId { sources: "a".into(), backend: "llvm 19.1.7".into() };
        let base = StageRequest {
            target: Gpu::Gfx1030,
            stage: Stage::Vertex,
            module: ModuleDigest([1; 32]),
            entry_point: "main".into(),
            specialization: vec![(0, 64)],
            wave: WaveSize::W32,
            options: TuningOptions { generator: GeneratorKind::Llvm, ..TuningOptions::default() },
            known: KnownState::default(),
        };
        // Destructured without `..`: a new field breaks this test until it has a row below.
        let StageRequest { target: _, stage: _, module: _, entry_point: _, specialization: _, wave: _, options, known } =
            base.clone();
        let TuningOptions { generator: _, unroll: _, licm: _, vgpr_limit: _, cu_mode: _, llvm, native } = options;
        let LlvmOptions { scheduler: _, opt_level: _ } = llvm;
        let NativeOptions { without: _, schedule: _ } = native;
        let KnownState {
            operands: _,
            layout: _,
            vertex: _,
            reads: _,
            constants: _,
            multiview: _,
            sample_shading: _,
            colors: _,
        } = known;
        let with = |f: &dyn Fn(&mut StageRequest)| {
            let mut r = base.clone();
            f(&mut r);
            stage(&r, &id).unwrap()
        };
        // A layout whose sampler converts, and the same with one field of the conversion changed.
        let converting = |f: &dyn Fn(&mut BindingLayout, &mut YcbcrConversion)| {
            let mut conversion = YcbcrConversion {
                format: VkFormat(1_000_156_003),
                model: Default::default(),
                range: Default::default(),
                components: Default::default(),
                x_chroma_offset: Default::default(),
                y_chroma_offset: Default::default(),
                chroma_filter: Default::default(),
                explicit_reconstruction: false,
            };
            let kind = ResourceKind::CombinedImageSampler.into();
            let mut binding =
                BindingLayout { binding: 0, kind, count: 1, dynamic: false, offset: None, samplers: Vec::new() };
            f(&mut binding, &mut conversion);
            let words = SamplerWords::default();
            binding.samplers.push(ImmutableSampler { words, conversion: Some(conversion) });
            let sets = vec![SetLayout { set: 0, root: None, bindings: vec![binding] }];
            with(&|r| r.known.layout = Known::Known(ResourceLayout { sets: sets.clone(), ..Default::default() }))
        };
        let constant = ParamConstant { semantic: Semantic::Location(1), component: 2, bits: 3 };
        let mut keys = vec![
            converting(&|_, _| {}),
            converting(&|b, _| b.samplers.push(ImmutableSampler { words: SamplerWords([1; 4]), conversion: None })),
            converting(&|_, c| c.format = VkFormat(1_000_156_002)),
            converting(&|_, c| c.model = YcbcrModel::Ycbcr709),
            converting(&|_, c| c.range = YcbcrRange::Narrow),
            converting(&|_, c| c.components[3] = Swizzle::One),
            converting(&|_, c| c.x_chroma_offset = ChromaLocation::Midpoint),
            converting(&|_, c| c.y_chroma_offset = ChromaLocation::Midpoint),
            converting(&|_, c| c.chroma_filter = ChromaFilter::Linear),
            converting(&|_, c| c.explicit_reconstruction = true),
            stage(&base, &id).unwrap(),
            stage(&base, &CompilerId { sources: "b".into(), ..id.clone() }).unwrap(),
            stage(&base, &CompilerId { backend: "llvm 20".into(), ..id.clone() }).unwrap(),
            with(&|r| r.stage = Stage::Fragment),
            with(&|r| r.module = ModuleDigest([2; 32])),
            with(&|r| r.entry_point = "main2".into()),
            with(&|r| r.specialization = vec![(0, 65)]),
            with(&|r| r.specialization = vec![(1, 64)]),
            with(&|r| r.wave = WaveSize::W64),
            with(&|r| r.options.generator = GeneratorKind::Native),
            with(&|r| r.options.unroll = false),
            with(&|r| r.options.licm = false),
            with(&|r| r.options.vgpr_limit = 64),
            with(&|r| r.options.llvm.scheduler = Some("max-ilp".into())),
            with(&|r| r.options.llvm.opt_level = 1),
            with(&|r| r.options.native.without = Phases::default().with(Phase::Number)),
            with(&|r| r.options.native.without = Phases::default().with(Phase::Clauses)),
            with(&|r| r.options.native.schedule = Scheduling::Random(1)),
            with(&|r| r.options.cu_mode = true),
            with(&|r| r.known.operands = Known::Known(Vec::new())),
            with(&|r| r.known.operands = Known::Known(vec![(0, 1)])),
            with(&|r| r.known.layout = Known::Known(Default::default())),
            with(&|r| r.known.vertex = Known::Known(Default::default())),
            with(&|r| r.known.reads = Known::Known(Default::default())),
            with(&|r| r.known.reads = Known::Known(FragmentReads { inputs: Vec::new(), constants: vec![constant] })),
            with(&|r| r.known.constants = Known::Known(Vec::new())),
            with(&|r| r.known.constants = Known::Known(vec![constant])),
            with(&|r| r.known.multiview = Known::Known(false)),
            with(&|r| r.known.multiview = Known::Known(true)),
            with(&|r| r.known.sample_shading = Known::Known(true)),
            with(&|r| r.known.colors = Known::Known(Default::default())),
        ];
        let n = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), n);
    }
    /// A layout without immutable samplers serializes without the field, so its keys stay the same.
    #[test]
    fn layouts_without_samplers_have_the_keys_they_had() {
        let kind = ResourceKind::Sampler.into();
        let binding = BindingLayout { binding: 0, kind, count: 1, dynamic: false, offset: None, samplers: Vec::new() };
        let fields = |binding: &BindingLayout| rmp_serde::to_vec_named(binding).unwrap()[0];
        assert_eq!(fields(&binding), 0x85, "a map of five");
        let sampler = ImmutableSampler { words: SamplerWords::default(), conversion: None };
        assert_eq!(fields(&BindingLayout { samplers: vec![sampler], ..binding }), 0x86);
    }
}
