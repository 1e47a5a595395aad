//! The interface of code generators.
//!
//! A [`Generator`] takes a [`LoweredShader`], which only [`crate::lower`] makes, and only from a shader that the
//! verifier accepts at the lower level; it returns [`MachineCode`]. It never sees SPIR-V, metadata keys or ELF files:
//! all generators share the front end, the passes and `compiler::unlinked`. To add a generator, add a folder beside
//! `llvm` that implements this trait; its name is part of every cache key.

use crate::LoweredShader;
use dovetail_base::error::Result;
use dovetail_base::target::Family;
use dovetail_compile::request::TuningOptions;
use dovetail_ir::watch::Watch;
use dovetail_isa::{Register, RegisterSet};
use dovetail_metadata::interface::{ResultSource, StageInterface};
use dovetail_metadata::notes::MetadataFields;
use dovetail_metadata::registers::RegisterWords;
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;
use std::fmt;

/// Generates machine code from lowered shaders.
pub trait Generator: Send + Sync {
    /// Name and version, such as `llvm 19.1.7`; part of every key.
    fn name(&self) -> String;

    /// The phases whose results an observer can print, in order.
    fn phases(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Generates the code of one stage. Deterministic: the same shader and options give the same code.
    ///
    /// # Errors
    /// `NeedsFullCompile` for more values than registers can pass between parts; missing features; bugs.
    fn generate(
        &self,
        shader: LoweredShader,
        interface: &StageInterface,
        options: &TuningOptions,
        watch: &mut dyn Watch,
    ) -> Result<MachineCode>;

    /// The options of further attempts, in their order, at a shader that is [`ErrorKind::Unsupported`] with these.
    ///
    /// [`ErrorKind::Unsupported`]: dovetail_base::error::ErrorKind::Unsupported
    fn fallbacks(&self, _: &TuningOptions) -> Vec<TuningOptions> {
        Vec::new()
    }
}

/// The code of one stage, before it has a file format.
#[derive(Clone, Debug)]
pub struct MachineCode {
    /// Instructions of all functions, without padding after the last one.
    pub code: Vec<u8>,
    /// Alignment in bytes that the code assumes; 0: that of an instruction.
    pub align: u32,
    /// Functions in the order of their offsets. The first is at offset 0: the stage's body.
    pub functions: Vec<FunctionSymbol>,
    /// Read-only data that the code addresses.
    pub constants: Vec<ConstantData>,
    /// Symbols in the read-only data.
    pub tables: Vec<DataAddress>,
    /// Patches to apply before the code can run, sorted by offset.
    pub patches: Vec<Patch>,
    /// Register counts and scratch of the stage, by their metadata keys.
    pub counts: MetadataFields,
    /// The register words that code generation decides (`Owner::Code` of the register table).
    pub registers: RegisterWords,
    /// Whether the code waits for the attributes that a prolog loads before it uses them.
    pub awaits_inputs: bool,
    /// Whether the code takes the high half of its address from a prolog.
    pub takes_address_high: bool,
    /// Where the results of a body with an epilog are.
    pub results: Results,
    /// Why the code is simpler than the options request; `None`: it is not.
    pub simplified: Option<String>,
    /// The feature that the requested generator does not support, so that another one made the code; `None`: the
    /// requested one made it.
    pub fallback: Option<String>,
}

impl MachineCode {
    /// No code for GPUs of this family.
    pub fn new(family: Family) -> Self {
        Self {
            code: Vec::new(),
            align: 0,
            functions: Vec::new(),
            constants: Vec::new(),
            tables: Vec::new(),
            patches: Vec::new(),
            counts: MetadataFields::new(),
            registers: RegisterWords::new(family),
            awaits_inputs: false,
            takes_address_high: false,
            results: Results::default(),
            simplified: None,
            fallback: None,
        }
    }
}

/// Sources of the results of a body with an epilog, by their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Results {
    /// Each in the VGPR of its number.
    #[default]
    InOrder,
    /// Likewise, but undefined unless its register is in this set.
    Written(RegisterSet),
    /// As listed; `None` is an undefined result.
    Placed(Vec<Option<ResultSource>>),
}

impl Results {
    /// The source of a result; `None` if it is undefined.
    pub fn source(&self, number: u32) -> Option<ResultSource> {
        match self {
            Self::InOrder => Some(ResultSource::Vgpr(number)),
            Self::Written(registers) => {
                let register = u8::try_from(number).ok().filter(|n| registers.contains(Register::vgpr(*n)));
                register.map(|n| ResultSource::Vgpr(n.into()))
            }
            Self::Placed(sources) => sources.get(number as usize).copied().flatten(),
        }
    }
}

/// A function and its location in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSymbol {
    /// Name of its symbol.
    pub symbol: String,
    /// Offset in the code, in bytes.
    pub start: u32,
    /// Size, in bytes.
    pub size: u32,
}

/// A section of read-only data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantData {
    /// Content.
    pub bytes: Vec<u8>,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// Size of an entry in bytes, if entries are constants that may be merged with equal ones; else `None`.
    pub entry: Option<u32>,
}

/// Name of a symbol in the read-only data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataName {
    /// The start of the section, whose symbol has no name.
    Section,
    /// The constant table with this number.
    Table(u32),
    /// As the code generator has named it.
    Text(String),
}

impl fmt::Display for DataName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Section => Ok(()),
            Self::Table(number) => write!(f, "table{number}"),
            Self::Text(name) => f.write_str(name),
        }
    }
}

/// An address in the read-only data that code uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataAddress {
    /// Its symbol.
    pub name: DataName,
    /// Index of its section in [`MachineCode::constants`].
    pub section: usize,
    /// Offset in the section, in bytes.
    pub start: u32,
    /// Size, in bytes.
    pub size: u32,
}

/// Bytes of the code that need a value or an address; the addend is stored in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Offset in the code, in bytes.
    pub offset: u32,
    /// How the value is computed and stored.
    pub kind: RelocKind,
    /// What the value or address is of.
    pub target: PatchTarget,
}

/// Target of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchTarget {
    /// A value that the linker supplies.
    Link(LinkSymbol),
    /// A table, by its index in [`MachineCode::tables`].
    Table(usize),
    /// A function, by its index in [`MachineCode::functions`].
    Function(usize),
}
