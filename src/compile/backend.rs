//! The seam to code generators: what one takes and what it gives.
//!
//! A [`Generator`] takes [`Lowered`], which only [`super::passes::lower`] makes and only of a shader that the verifier
//! accepts at the lower level, and gives [`MachineCode`]. It never sees SPIR-V, metadata keys or ELF files: the front end,
//! the passes and [`super::unlinked`] are the same for all generators. To add a generator: a folder beside `llvm`, this
//! trait, and its name, which is part of every cache key.

use super::passes::Lowered;
use super::request::TuningOptions;
use super::watch::Watch;
use crate::error::Result;
use crate::isa::RegisterSet;
use crate::metadata::notes::Fields;
use crate::metadata::registers::Registers;
use crate::reloc::kind::RelocKind;
use crate::reloc::symbol::LinkSymbol;

/// Makes machine code of lowered shaders.
pub trait Generator: Send + Sync {
    /// Name and version, such as `llvm 19.1.7`; part of every key.
    fn name(&self) -> String;

    /// Generates the code of one stage. Deterministic: the same shader and options give the same code.
    ///
    /// # Errors
    /// `NeedsFullCompile` for more values than registers can carry at a joint; features that the generator lacks; bugs.
    fn generate(&self, lowered: &Lowered, options: &TuningOptions, watch: &mut dyn Watch) -> Result<MachineCode>;
}

/// The code of one stage, before it has a file format.
#[derive(Clone, Debug, Default)]
pub struct MachineCode {
    /// Instructions of all functions, without padding after the last one.
    pub code: Vec<u8>,
    /// Functions in the order of their places. The first is at offset 0: the stage's body.
    pub functions: Vec<Function>,
    /// Read-only data that the code addresses.
    pub constants: Vec<ConstantData>,
    /// Places in the read-only data.
    pub tables: Vec<Table>,
    /// What has to be filled in before the code can run, in the order of offsets.
    pub patches: Vec<Patch>,
    /// Register counts and scratch of the stage, by their metadata keys.
    pub counts: Fields,
    /// The register words that code generation decides (`Owner::Code` of the register table).
    pub registers: Registers,
    /// VGPRs in which the code may have put a value, with those that the hardware or the prolog fills; `None`: any. A result
    /// returned in another VGPR is one that the generator found undefined.
    pub written: Option<RegisterSet>,
    /// Why the code is simpler than the options ask for; `None`: it is not.
    pub simplified: Option<String>,
}

/// A function and where it stands in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
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
    /// Size of an entry in bytes, where entries are constants that may be merged with equal ones.
    pub entry: Option<u32>,
}

/// A place in the read-only data that code addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name of its symbol; `None`: the start of the section, which has none.
    pub name: Option<String>,
    /// Position of its section in [`MachineCode::constants`].
    pub section: usize,
    /// Offset in the section, in bytes.
    pub start: u32,
    /// Size, in bytes.
    pub size: u32,
}

/// Bytes of the code that wait for a value or for an address; the addend is in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Offset in the code, in bytes.
    pub offset: u32,
    /// How the value is computed and stored.
    pub kind: RelocKind,
    /// Whose value or address it is.
    pub target: Target,
}

/// What a patch waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// What the linker knows.
    Link(LinkSymbol),
    /// A table, by its position in [`MachineCode::tables`].
    Table(usize),
    /// A function, by its position in [`MachineCode::functions`].
    Function(usize),
}
