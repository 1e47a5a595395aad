//! Everything that decides a stage's code. All of it is in the cache key, and the compiler sees nothing else.

use super::operands::operand_ids;
use super::phases::{Phase, Phases};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_metadata::interface::{FragmentReads, ParamConstant};
use dovetail_state::{ColorState, Known, ResourceLayout, VertexInputState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Digest of the sources that decide the form of a request, and so its key: programs with different digests may give the
/// same request different keys.
pub const SOURCES: &str = env!("DOVETAIL_REQUEST_SOURCES");

/// BLAKE3 of a SPIR-V module's bytes (in the byte order of the file).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleDigest(pub [u8; 32]);

impl ModuleDigest {
    /// The first bytes in hexadecimal, to identify modules in messages.
    fn short(self) -> String {
        self.0.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A SPIR-V module, hashed once.
#[derive(Clone, Debug)]
pub struct Module {
    bytes: Vec<u8>,
    digest: ModuleDigest,
    operands: OnceLock<Vec<u32>>,
}

impl Module {
    /// Takes the bytes of a SPIR-V file. Only the length and the magic number are checked.
    ///
    /// # Errors
    /// Malformed: not a whole number of words, or no SPIR-V magic in either byte order.
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        const MAGIC: u32 = 0x0723_0203;
        let head = bytes.first_chunk::<4>().map(|b| u32::from_le_bytes(*b));
        if !bytes.len().is_multiple_of(4) {
            return Err(Error::malformed(format!("{} bytes are not a whole number of SPIR-V words", bytes.len())));
        }
        if head != Some(MAGIC) && head != Some(MAGIC.swap_bytes()) {
            return Err(Error::malformed("word 0: no SPIR-V magic number"));
        }
        let digest = ModuleDigest(*blake3::hash(&bytes).as_bytes());
        Ok(Self { bytes, digest, operands: OnceLock::new() })
    }

    /// The bytes as given.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Their hash.
    pub fn digest(&self) -> ModuleDigest {
        self.digest
    }

    /// `SpecId`s of the constants that are only operands, sorted: a compile without pipeline state makes them
    /// relocations.
    pub fn operand_ids(&self) -> &[u32] {
        self.operands.get_or_init(|| operand_ids(&self.bytes))
    }
}

/// Everything except the request that affects code: it changes with our passes and the code generators.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CompilerId {
    /// Digest of the sources of our front end and passes (`build.rs`).
    pub sources: String,
    /// Code generators and their versions, e.g. `llvm 19.1.7, native 1`.
    pub backend: String,
}

/// Everything that decides the code of one stage. A field that a program does not know is an error when it reads a
/// request; so a new field must have a default that is not serialized, or older services serve no request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageRequest {
    /// GPU.
    pub target: Gpu,
    /// Stage.
    pub stage: Stage,
    /// SPIR-V module.
    pub module: ModuleDigest,
    /// Entry point name.
    pub entry_point: String,
    /// Specialization values that become constants in the code, sorted by id, without duplicates. A request without
    /// pipeline state has those of the constants that shape code; [`KnownState::operands`] has the others.
    pub specialization: Vec<(u32, u64)>,
    /// Wave size.
    pub wave: WaveSize,
    /// Tuning. Default options are not serialized.
    #[serde(default, skip_serializing_if = "TuningOptions::is_default")]
    pub options: TuningOptions,
    /// Known state of the pipeline.
    #[serde(default)]
    pub known: KnownState,
}

/// The specialization values of one stage, divided as in requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecValues {
    /// Values of constants that shape code.
    pub shaping: Vec<(u32, u64)>,
    /// Values of constants that are only operands.
    pub operands: Vec<(u32, u64)>,
}

impl SpecValues {
    /// Divides values by the kind of their constants, and sorts them by id; if an id is given twice, the last value
    /// counts.
    pub fn new(values: impl IntoIterator<Item = (u32, u64)>, operand_ids: &[u32]) -> Self {
        let values: BTreeMap<u32, u64> = values.into_iter().collect();
        let (operands, shaping) = values.into_iter().partition(|(id, _)| operand_ids.binary_search(id).is_ok());
        Self { shaping, operands }
    }
}

impl StageRequest {
    /// The same for another GPU.
    #[must_use]
    pub fn for_gpu(&self, target: Gpu) -> Self {
        Self { target, ..self.clone() }
    }

    /// Checks that the request is for this module.
    ///
    /// # Errors
    /// Malformed: it is for another module.
    pub fn check_module(&self, module: &Module) -> Result<()> {
        if self.module == module.digest() {
            return Ok(());
        }
        let [asked, given] = [self.module, module.digest()].map(|digest| digest.short());
        Err(Error::malformed(format!("the request is for the module {asked}…, and the module given is {given}…")))
    }

    /// The same stage with layout and all specialization values known, which is what a driver knows when it compiles a
    /// stage for a library.
    pub fn laid_out(&self, module: &Module, layout: ResourceLayout) -> Self {
        let values = SpecValues::new(self.specialization.iter().copied(), module.operand_ids());
        let known = KnownState {
            operands: Known::Known(values.operands),
            layout: Known::Known(layout),
            ..KnownState::default()
        };
        Self { specialization: values.shaping, known, ..self.clone() }
    }
}

/// The pipeline state that is known when a stage is compiled. A separate compile knows nothing.
///
/// Unknown facts are not serialized, so that programs of different versions understand each other's requests as long as
/// these contain no fact that one of them does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KnownState {
    /// Specialization values of the constants that are only operands ([`Module::operand_ids`]), sorted by id, without
    /// duplicates; unknown ones are relocations.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub operands: Known<Vec<(u32, u64)>>,
    /// Layout of descriptors and push constants.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub layout: Known<ResourceLayout>,
    /// Vertex: the vertex input state; the body then fetches the attributes itself.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub vertex: Known<VertexInputState>,
    /// Vertex: the fragment stage's reads; the body then exports its parameters itself and computes no others.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub reads: Known<FragmentReads>,
    /// Fragment: constant parameters of the vertex shader, sorted; the body then contains them and does not read them.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub constants: Known<Vec<ParamConstant>>,
    /// Vertex: whether multiview is used; the body then exports its view as the layer.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub multiview: Known<bool>,
    /// Fragment: whether every sample is shaded by itself, where the attachments are unknown; the body then reads its inputs
    /// at the sample.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub sample_shading: Known<bool>,
    /// Fragment: the attachments; the body then exports its colours itself.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub colors: Known<ColorState>,
}

/// A code generator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GeneratorKind {
    /// LLVM.
    Llvm,
    /// The native generator. If LLVM is built in, it compiles what this does not support, and the ELF records it.
    #[default]
    Native,
}

impl std::str::FromStr for GeneratorKind {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        match s {
            "llvm" => Ok(Self::Llvm),
            "native" => Ok(Self::Native),
            _ => Err(Error::malformed(format!("code generator `{s}`: llvm or native"))),
        }
    }
}

impl std::fmt::Display for GeneratorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Llvm => "llvm",
            Self::Native => "native",
        })
    }
}

/// Options that change code but not its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TuningOptions {
    /// Code generator.
    pub generator: GeneratorKind,
    /// Unroll loops.
    pub unroll: bool,
    /// Hoist loop invariants.
    pub licm: bool,
    /// Largest number of VGPRs; 0: no limit; otherwise at least [`TuningOptions::MIN_VGPR_LIMIT`].
    pub vgpr_limit: u32,
    /// Compute: workgroups on a single compute unit rather than a workgroup processor.
    pub cu_mode: bool,
    /// Options for LLVM only.
    pub llvm: LlvmOptions,
    /// Options for the native generator only.
    pub native: NativeOptions,
}

impl TuningOptions {
    /// The smallest limit of VGPRs. If an instruction needs more registers than the limit, LLVM ends the process; and
    /// the native generator cannot fit the 16 components of four colours and what their export needs.
    pub const MIN_VGPR_LIMIT: u32 = 24;

    /// Whether they are the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the values that the types do not restrict.
    ///
    /// # Errors
    /// Malformed: no code can be made within the limit of VGPRs.
    pub fn check(&self) -> Result<()> {
        match self.vgpr_limit {
            0 | Self::MIN_VGPR_LIMIT.. => Ok(()),
            limit => Err(Error::malformed(format!(
                "a limit of {limit} VGPRs: it is at least {}, or 0 for none",
                Self::MIN_VGPR_LIMIT
            ))),
        }
    }
}

impl Default for TuningOptions {
    fn default() -> Self {
        Self {
            generator: GeneratorKind::default(),
            unroll: true,
            licm: true,
            vgpr_limit: 0,
            cu_mode: false,
            llvm: LlvmOptions::default(),
            native: NativeOptions::default(),
        }
    }
}

/// Options of LLVM's code generator; other generators ignore them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LlvmOptions {
    /// Scheduling strategy attribute, if it is not the default.
    pub scheduler: Option<String>,
    /// Code generation level, 0 to 3.
    pub opt_level: u8,
}

impl Default for LlvmOptions {
    fn default() -> Self {
        Self { scheduler: None, opt_level: 2 }
    }
}

/// Options of the native code generator; other generators ignore them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NativeOptions {
    /// Phases to leave out.
    pub without: Phases,
    /// The order of instructions within blocks, unless the phase is left out.
    pub schedule: Scheduling,
}

/// Order of instructions within blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scheduling {
    /// Loads early, no long waits, as many waves as before.
    #[default]
    Cycles,
    /// Any that keeps the meaning, from a seed: for tests.
    Random(u64),
}

impl NativeOptions {
    /// Whether a phase runs.
    pub const fn runs(&self, phase: Phase) -> bool {
        !self.without.has(phase)
    }
}

/// The wave size of a stage if none is requested: for fragments that which the GPU runs them best in, else 32; and 64, the size
/// announced to applications, for shaders that use subgroups.
pub fn default_wave(gpu: Gpu, stage: Stage, uses_subgroups: bool) -> WaveSize {
    match stage {
        Stage::Fragment if !uses_subgroups => gpu.facts().fragment_wave,
        Stage::Fragment => WaveSize::W64,
        Stage::Vertex | Stage::Compute if uses_subgroups => WaveSize::W64,
        Stage::Vertex | Stage::Compute => WaveSize::W32,
    }
}
