//! What a driver sees of compiling: the requests ([`request`]), what `operands` reads in a module, and [`Compiler`].
//!
//! The crates in this folder do it, one stage at a time; whole pipelines take the same path, with all state known. `compiler`
//! runs the phases: `spirv` translates one entry point to upper-level IR, `passes` lower it to what the hardware has, `opt`
//! optimises it whatever the hardware is, a `backend::Generator` (`native` or `llvm`) makes machine code of it, and
//! `compiler/unlinked` writes the ELF. `worker` does it in watched processes.

pub mod operands;
pub mod phases;
pub mod request;
mod variant;

pub use operands::operand_ids;
pub use variant::{constants_read, for_fragment, for_vertex, needs_variant, variant, variant_of};

use dovetail_base::error::Result;
use dovetail_base::target::Gpu;
use request::{CompilerId, Module, StageRequest};

/// An unlinked ELF (or, with all state known, one that needs no glue): what the cache holds and the linker takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageElf(pub Vec<u8>);

/// A compiler of stages, in this process or in worker processes.
pub trait Compiler: Send + Sync {
    /// Everything except the request that affects code; part of every key.
    fn id(&self) -> &CompilerId;

    /// Compiles one stage. Deterministic: the same request and module give the same bytes.
    ///
    /// # Errors
    /// Malformed or unsupported SPIR-V, too many values between parts (`NeedsFullCompile`), bugs, dead workers.
    fn compile(&self, module: &Module, request: &StageRequest) -> Result<StageElf>;

    /// Compiles one stage for several GPUs, in their order, in place of the request's: the same bytes as one request for
    /// each. What does not depend on the GPU need be done only once.
    fn compile_for(&self, module: &Module, request: &StageRequest, targets: &[Gpu]) -> Vec<Result<StageElf>> {
        targets.iter().map(|target| self.compile(module, &request.for_gpu(*target))).collect()
    }
}
