//! Gets stage ELFs from the cache, or from the compiler on a cache miss, and keeps in memory what links need.
//!
//! A driver has a cache and no compiler: it computes the same keys with the [`CompilerId`] recorded in the cache's
//! manifest, and a miss is [`Fetched::NotCached`], not an error.

mod pairs;

pub use pairs::{Pair, PairNote, noted_pair};

use crate::keys;
use dovetail_abi::layout::ResolvedLayout;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::near_table::NearTable;
use dovetail_base::table::{SharedTable, hash};
use dovetail_base::target::Gpu;
use dovetail_cache::{Cache, Key, KeyBuilder, Payload};
use dovetail_compile::request::{CompilerId, Module, ModuleDigest, StageRequest};
use dovetail_compile::{Compiler, StageElf};
use dovetail_glue as glue;
use dovetail_glue::{GlueKey, GluePiece};
use dovetail_link::{GlueSource, MetadataVersion, Object, Plans, SharedGlue};
use dovetail_state::ResourceLayout;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Result of a request for a stage ELF, with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// From the cache.
    Hit(StageElf),
    /// Just compiled, and stored.
    Compiled(StageElf),
    /// Not in the cache, and there is no compiler.
    NotCached,
}

impl Fetched {
    /// The ELF, if there is one.
    pub fn elf(&self) -> Option<&StageElf> {
        match self {
            Self::Hit(elf) | Self::Compiled(elf) => Some(elf),
            Self::NotCached => None,
        }
    }
}

/// A part ready for linking.
#[derive(Clone, Debug)]
pub struct ReadyPart {
    /// The parsed part.
    pub object: Arc<Object>,
    /// Whether it was in the cache or in memory.
    pub hit: bool,
    /// Size of its ELF in bytes.
    pub bytes: usize,
    /// Its number among the parts that the toolchain keeps.
    number: Option<PartNumber>,
    /// Of a vertex part: its pairs, by the numbers of the fragment parts. A copy starts without them.
    pairs: NearTable<PartNumber, Option<Box<Pair>>, MOST_PAIRS>,
}

/// A kept part's number, smaller than its digest.
type PartNumber = NonZeroU32;

/// Number of pairs that a vertex part keeps in its table; further ones are searched for each time.
const MOST_PAIRS: usize = 4088;

impl ReadyPart {
    fn cached(elf: &Payload) -> Result<Self> {
        let object = Object::parse_digested(elf, elf.digest())?;
        Ok(Self::new(object, true, elf.len()))
    }

    fn new(object: Object, hit: bool, bytes: usize) -> Self {
        Self { object: Arc::new(object), hit, bytes, number: None, pairs: NearTable::default() }
    }
}

/// A part that the toolchain keeps, or one that was just read.
#[derive(Clone, Debug)]
pub enum PartRef<'t> {
    /// Kept in memory.
    Kept(&'t ReadyPart),
    /// Just read.
    Own(Box<ReadyPart>),
}

impl Deref for PartRef<'_> {
    type Target = ReadyPart;
    fn deref(&self) -> &ReadyPart {
        match self {
            Self::Kept(part) => part,
            Self::Own(part) => part,
        }
    }
}

/// The hash of a key, which is a digest: any of its bits serve.
fn hash_of(key: &Key) -> u64 {
    key.0.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// Limit of part ELFs kept in memory, in bytes; beyond it, parts are parsed anew each time.
const MOST_BYTES: usize = 64 << 20;

/// A toolchain's number in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToolchainId(u64);

impl ToolchainId {
    fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// A cache, with or without a compiler.
///
/// Parts (up to 64 MiB of ELFs, and each part's code for each of up to 64 layouts), layouts and glue plans stay in memory, keyed by their request. A second pipeline of
/// the same parts costs little more than its link.
pub struct Toolchain<'a> {
    id: ToolchainId,
    cache: &'a Cache,
    compiler: Option<&'a dyn Compiler>,
    compiler_id: Arc<CompilerId>,
    parts: SharedTable<Key, ReadyPart>,
    /// Total size of the ELFs of `parts`.
    bytes: AtomicUsize,
    layouts: SharedTable<ResourceLayout, ResolvedLayout>,
    plans: Plans,
    /// The number of the next part.
    numbers: AtomicU32,
    /// Whether the cache may have notes of pairs.
    noted_pairs: bool,
    makes_pairs: bool,
    metadata: MetadataVersion,
}

impl<'a> Toolchain<'a> {
    /// Creates a toolchain with this compiler, or with the identity of the one that last filled the cache.
    ///
    /// # Errors
    /// Environment: there is neither a compiler nor a manifest. Malformed: the manifest.
    pub fn new(cache: &'a Cache, compiler: Option<&'a dyn Compiler>) -> Result<Self> {
        let (id, noted_pairs) = match compiler {
            Some(compiler) => (compiler.id().clone(), true),
            None => {
                let manifest = CacheManifest::of(cache)?.ok_or_else(|| {
                    Error::environment(
                        "this library has no compiler, and the cache does not record which compiler filled it: populate it first",
                    )
                })?;
                (manifest.compiler, manifest.pairs)
            }
        };
        let (parts, layouts, plans) = (SharedTable::default(), SharedTable::default(), Plans::default());
        Ok(Self {
            id: ToolchainId::next(),
            cache,
            compiler,
            compiler_id: Arc::new(id),
            parts,
            bytes: AtomicUsize::new(0),
            numbers: AtomicU32::new(1),
            layouts,
            plans,
            noted_pairs,
            makes_pairs: false,
            metadata: Default::default(),
        })
    }

    /// Records in the cache's manifest which compiler's code it holds.
    ///
    /// # Errors
    /// Environment: the store is full or fails, or cannot be written.
    pub fn record_compiler(&self) -> Result<()> {
        if self.compiler.is_none() { Ok(()) } else { record_compiler(self.cache, &self.compiler_id) }
    }

    /// The identity of the compiler whose code this toolchain uses.
    pub fn compiler_id(&self) -> &Arc<CompilerId> {
        &self.compiler_id
    }

    pub(crate) fn id(&self) -> ToolchainId {
        self.id
    }

    /// One stage.
    ///
    /// # Errors
    /// Those of the compiler. Malformed: the request is for another module, so that its key would lead to this module's
    /// code.
    pub fn stage(&self, module: &Module, request: &StageRequest) -> Result<Fetched> {
        match self.looked_up(module, request)? {
            (_, Some(hit)) => Ok(hit),
            (key, None) => Ok(self.compiled(module, request, &key)?.map_or(Fetched::NotCached, Fetched::Compiled)),
        }
    }

    /// A stage's key, and the stage if the cache has it.
    fn looked_up(&self, module: &Module, request: &StageRequest) -> Result<(Key, Option<Fetched>)> {
        request.check_module(module)?;
        let key = keys::stage(request, &self.compiler_id)?;
        Ok((key, self.cache.get(&key).map(|bytes| Fetched::Hit(StageElf(bytes)))))
    }

    /// One stage for several GPUs, in their order, in place of the request's.
    ///
    /// # Errors
    /// Each as [`Self::stage`].
    pub fn stages(&self, module: &Module, request: &StageRequest, targets: &[Gpu]) -> Vec<Result<Fetched>> {
        let found: Vec<Result<(Key, Option<Fetched>)>> =
            targets.iter().map(|target| self.looked_up(module, &request.for_gpu(*target))).collect();
        let missing = found.iter().zip(targets).filter(|(found, _)| matches!(found, Ok((_, None))));
        let missing: Vec<Gpu> = missing.map(|(_, target)| *target).collect();
        let compiler = self.compiler.filter(|_| !missing.is_empty());
        let mut made = compiler.map(|compiler| compiler.compile_for(module, request, &missing).into_iter());
        let one = |found: Result<(Key, Option<Fetched>)>| match found? {
            (_, Some(hit)) => Ok(hit),
            (key, None) => match made.as_mut().map(Iterator::next) {
                None => Ok(Fetched::NotCached),
                Some(None) => Err(Error::bug("a compiler without a result")),
                Some(Some(elf)) => Ok(Fetched::Compiled(self.stored(module, &key, elf?)?)),
            },
        };
        found.into_iter().map(one).collect()
    }

    /// Compiles a stage and stores it, if there is a compiler.
    fn compiled(&self, module: &Module, request: &StageRequest, key: &Key) -> Result<Option<StageElf>> {
        let Some(compiler) = self.compiler else { return Ok(None) };
        self.stored(module, key, compiler.compile(module, request)?).map(Some)
    }

    /// Stores a stage that was just compiled.
    fn stored(&self, module: &Module, key: &Key, elf: StageElf) -> Result<StageElf> {
        let note = operands_note(module)?;
        let note = note.iter().map(|(key, bytes)| (*key, &bytes[..]));
        self.cache.keep_all(&note.chain([(*key, &elf.0[..])]).collect::<Vec<_>>());
        Ok(elf)
    }

    /// One stage, parsed; `None` if it is not in the cache and there is no compiler.
    ///
    /// # Errors
    /// As [`Self::stage`] and [`Object::parse`].
    pub fn part(&self, module: &Module, request: &StageRequest) -> Result<Option<PartRef<'_>>> {
        request.check_module(module)?;
        self.part_under(keys::stage(request, &self.compiler_id)?, module, || Ok(Cow::Borrowed(request)))
    }

    /// The same with a known key; the request is only made if the stage has to be compiled.
    ///
    /// # Errors
    /// As [`Self::part`], and the request's own.
    pub(crate) fn part_under<'r>(
        &self,
        key: Key,
        module: &Module,
        request: impl FnOnce() -> Result<Cow<'r, StageRequest>>,
    ) -> Result<Option<PartRef<'_>>> {
        let hash = hash_of(&key);
        if let Some(part) = self.parts.find(hash, |kept| *kept == key) {
            return Ok(Some(PartRef::Kept(part)));
        }
        let mut part = match self.cache.get_digested(&key) {
            Some(elf) => ReadyPart::cached(&elf)?,
            None => match self.compiled(module, &*request()?, &key)? {
                Some(StageElf(elf)) => ReadyPart::new(Object::parse_new(&elf)?, false, elf.len()),
                None => return Ok(None),
            },
        };
        if self.bytes.fetch_add(part.bytes, Ordering::Relaxed) < MOST_BYTES {
            let number = PartNumber::new(self.numbers.fetch_add(1, Ordering::Relaxed));
            let kept = self.parts.keep(hash, key, ReadyPart { hit: true, number, ..part.clone() });
            part.number = kept.ok().and_then(|kept| kept.number);
        }
        Ok(Some(PartRef::Own(Box::new(part))))
    }

    /// A layout with every offset resolved.
    ///
    /// # Errors
    /// As [`ResolvedLayout::new`].
    pub fn layout(&self, given: &ResourceLayout) -> Result<Cow<'_, ResolvedLayout>> {
        let hash = hash(given);
        if let Some(kept) = self.layouts.find(hash, |kept| kept == given) {
            return Ok(Cow::Borrowed(kept));
        }
        let made = ResolvedLayout::new(given).at(|| "resource layout")?;
        let kept = self.layouts.keep(hash, given.clone(), made);
        Ok(kept.map_or_else(Cow::Owned, Cow::Borrowed))
    }

    /// Sets the metadata version of its pipelines.
    #[must_use]
    pub fn with_metadata(self, metadata: MetadataVersion) -> Self {
        Self { metadata, ..self }
    }

    /// Metadata version of its pipelines.
    pub fn metadata(&self) -> MetadataVersion {
        self.metadata
    }

    /// The link plans of this toolchain.
    pub fn plans(&self) -> &Plans {
        &self.plans
    }
}

/// Source of glue. A link asks for each piece once; after that the piece is in the plans. With a compiler, which fills
/// the store, pieces are stored under their keys, so that the store shows what its pipelines consist of. Without one
/// they are generated, once in a process, which is faster than looking them up.
impl GlueSource for Toolchain<'_> {
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>> {
        if self.compiler.is_none() {
            return SharedGlue.piece(key);
        }
        let name = keys::glue(key)?;
        if let Some(bytes) = self.cache.get(&name) {
            let piece = rmp_serde::from_slice(&bytes).map_err(|e| Error::malformed(format!("cached glue: {e}")))?;
            return Ok(Arc::new(piece));
        }
        let piece = glue::emit(key)?;
        let bytes = rmp_serde::to_vec_named(&piece).map_err(|e| Error::bug(format!("glue piece: {e}")))?;
        self.cache.keep(&name, &bytes);
        Ok(Arc::new(piece))
    }
}

/// A cache's record of its own contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheManifest {
    /// The compiler that filled it last.
    pub compiler: CompilerId,
    /// Whether it has notes of pairs ([`PairNote`]); if not, nobody looks for them.
    pub pairs: bool,
}

impl CacheManifest {
    /// The manifest of a cache; `None` if it has none yet.
    ///
    /// # Errors
    /// Malformed: the manifest.
    pub fn of(cache: &Cache) -> Result<Option<Self>> {
        let key = Self::key()?;
        let Some(mut manifest) = cache.get(&key).map(|bytes| Self::read(&bytes)).transpose()? else { return Ok(None) };
        // A store without pairs may be above a pack that has them.
        let has_pairs =
            |bytes: &Payload| Self::read(bytes).is_ok_and(|other| other.pairs && other.compiler == manifest.compiler);
        manifest.pairs = manifest.pairs || cache.get_each(&key).iter().any(has_pairs);
        Ok(Some(manifest))
    }

    /// The key of manifests.
    ///
    /// # Errors
    /// Bug: it cannot be made.
    pub fn key() -> Result<Key> {
        Ok(KeyBuilder::new("dovetail cache manifest 2").field("manifest", "compiler")?.finish())
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// Malformed: the manifest.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        rmp_serde::from_slice(bytes).map_err(|e| Error::malformed(format!("cache manifest: {e}")))
    }

    /// Its bytes.
    ///
    /// # Errors
    /// Bug: it cannot be serialized.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        rmp_serde::to_vec_named(self).map_err(|e| Error::bug(format!("cache manifest: {e}")))
    }

    fn put(&self, cache: &Cache) -> Result<()> {
        cache.put_lasting(&Self::key()?, &self.bytes()?)
    }
}

/// Records in a cache's manifest which compiler's code it holds from now on.
///
/// # Errors
/// Environment: the store is full or fails, or cannot be written.
pub fn record_compiler(cache: &Cache, compiler: &CompilerId) -> Result<()> {
    // A manifest that cannot be read is replaced.
    let before = CacheManifest::of(cache).ok().flatten().filter(|before| before.compiler == *compiler);
    CacheManifest { compiler: compiler.clone(), pairs: before.is_some_and(|before| before.pairs) }.put(cache)
}

/// The compiler that last filled a cache, from its manifest; `None` if the cache has none yet.
///
/// # Errors
/// Malformed: the manifest.
pub fn recorded_compiler(cache: &Cache) -> Result<Option<CompilerId>> {
    Ok(CacheManifest::of(cache)?.map(|manifest| manifest.compiler))
}

/// Records in a cache which of a module's specialization constants are only operands, if any are, for callers that have
/// only the module's digest.
///
/// # Errors
/// Bug: the note cannot be serialized.
pub fn note_operands(cache: &Cache, module: &Module) -> Result<()> {
    if let Some((key, bytes)) = operands_note(module)? {
        cache.keep(&key, &bytes);
    }
    Ok(())
}

/// Key and contents of the entry that [`note_operands`] writes.
///
/// # Errors
/// Bug: the entry cannot be serialized.
pub fn operands_note(module: &Module) -> Result<Option<(Key, Vec<u8>)>> {
    if module.operand_ids().is_empty() {
        return Ok(None);
    }
    let bytes = rmp_serde::to_vec(module.operand_ids()).map_err(|e| Error::bug(format!("note of a module: {e}")))?;
    Ok(Some((keys::module(module.digest())?, bytes)))
}

/// The ids stored by [`note_operands`]; empty if there is no entry.
///
/// # Errors
/// Malformed: the note.
pub fn noted_operands(cache: &Cache, module: ModuleDigest) -> Result<Vec<u32>> {
    let Some(bytes) = cache.get(&keys::module(module)?) else { return Ok(Vec::new()) };
    rmp_serde::from_slice(&bytes).map_err(|e| Error::malformed(format!("note of a module: {e}")))
}

#[cfg(test)]
mod tests {
    use crate::toolchain::*;
    use dovetail_base::target::{Gpu, Stage, WaveSize};
    use dovetail_cache::MemoryStore;
    use dovetail_compile::request::{KnownState, TuningOptions};

    /// A compiler whose "code" of a module is the module itself.
    struct Copies(CompilerId);

    impl Compiler for Copies {
        fn id(&self) -> &CompilerId {
            &self.0
        }

        fn compile(&self, module: &Module, _: &StageRequest) -> Result<StageElf> {
            Ok(StageElf(module.bytes().to_vec()))
        }
    }

    #[test]
    fn code_of_one_module_is_never_kept_under_anothers_key() {
        let module = |n: u32| Module::new([0x0723_0203, n].into_iter().flat_map(u32::to_le_bytes).collect()).unwrap();
        let (asked, given) = (module(1), module(2));
        let request = StageRequest {
            target: Gpu::Gfx1030,
            stage: Stage::Compute,
            module: asked.digest(),
            entry_point: "main".into(),
            specialization: Vec::new(),
            wave: WaveSize::W32,
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        let cache = Cache::new(Box::new(MemoryStore::default()));
        let compiler = Copies(CompilerId { sources: String::new(), backend: String::new() });
        let tools = Toolchain::new(&cache, Some(&compiler)).unwrap();
        let refused = tools.stage(&given, &request).unwrap_err();
        assert!(refused.to_string().contains("the request is for the module"), "{refused}");
        assert_eq!(tools.stage(&asked, &request).unwrap(), Fetched::Compiled(StageElf(asked.bytes().to_vec())));
        assert!(tools.stage(&given, &request).is_err(), "a hit must not hide it");
    }
}
