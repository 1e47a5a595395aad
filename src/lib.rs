//! Dovetail: a shader cache creator and pipeline linker for AMD GPUs.
//!
//! ```text
//! compilation path                                                                             checkers
//!
//! SPIR-V words
//!   └ compile::spirv     parse, check, translate one entry point   ─> ir::Shader, upper level  <── ir::interp
//!       └ compile::passes    descriptors, inputs, outputs, …       ─> Lowered: lower level     <── ir::verify
//!           └ compile::llvm      a compile::backend::Generator     ─> MachineCode
//!             compile::native    the native generator, without LLVM
//!               └ compile::unlinked  joint, pre-link metadata      ─> unlinked ELF ──> cache
//! unlinked ELFs + state::PipelineState
//!   └ abi       plans: how attributes are fetched, parameters packed, colours exported
//!   └ glue      plans -> keys -> prologs and epilogs in machine code (isa), without a compiler
//!   └ link      attach, lay out, resolve relocations, merge and finalize metadata, write
//!               ─> pipeline ELF                                                  <── link::verify, check, emu, proof
//! ```
//!
//! [`compile`] compiles one stage, in `compile::compiler`. [`toolchain::Toolchain`] finds stage ELFs in a
//! [`cache::Cache`] or compiles them. [`pipeline::build`] builds a pipeline: it links the parts, or compiles the whole
//! pipeline if the link returns [`error::ErrorKind::NeedsFullCompile`]. [`pipeline::recipe`] is the order of these steps.
//!
//! | change | location |
//! | --- | --- |
//! | a SPIR-V instruction | the module of its family in `compile/spirv` (arithmetic: `arith.rs`, conversions: `convert.rs`, memory: `memory.rs`, …; instructions in its `mod.rs`); new IR operations: `ir/lib.rs` |
//! | merge rule of a register or metadata key | the tables of `metadata/registers.rs` (applied in `register_words.rs`) and `metadata/schema.rs` |
//! | lowering of an image operand | `compile/passes/lower_images.rs` |
//! | a format or a step of the Y'CBCR conversion | `state/planes.rs`, `compile/passes/lower_ycbcr.rs` |
//! | a code generator | the trait in `compile/passes/backend.rs`; `compile/llvm/generator.rs` is an example |
//! | instruction selection, register allocation, waits of the native generator | `compile/native/lib.rs`, `docs/native.md` |
//! | a machine instruction | see `isa/lib.rs` |
//! | a step of building a pipeline | `pipeline/recipe.rs`; its drivers `pipeline/lib.rs`, `runtime/search.rs` and `service/pipelines.rs` then do not compile without it |
//! | a GPU of a known family, a number in which families differ | a row in `base/target/mod.rs`; `base/target/facts.rs` |
//! | which hardware stages run which API stages | the table of `base/target/shape.rs` |
//! | a cache store | see `cache/lib.rs` |
//! | the format of packs, and how caches read them | `cache/pack/format.rs`, `cache/pack/layers.rs` |
//! | whose packs are accepted, and how they are sent | `cache/ship/lib.rs` |
//! | a field of the pipeline state that reaches a register | `state/lib.rs`, `metadata/graphics.rs` (compute: `finalize.rs`), `capi/state.rs` |
//! | the pipeline hash in the metadata | `link/pipeline_hash.rs` |
//! | a Vulkan structure or dynamic state in recordings | see `capture/lib.rs`; the layer itself is `layer/` |
//! | a function of the C interface | see `capi/lib.rs` |
//! | scheduling in the service | `service/broker.rs`, `service/jobs.rs`; `docs/service.md` |
//! | an error message or exit code | `base/error.rs`, `docs/errors.md` |
//!
//! Each folder of `src` with a `Cargo.toml` is a crate, `dovetail-link` in `src/link`; this one is all of them under one
//! name, and has the program. They depend on each other in one direction:
//!
//! ```text
//! base ─ state ─ isa, metadata, reloc ─ abi ─ glue ─ link ─ pipeline ─ wire ─ runtime ─ capi       what a driver loads
//!           └ compile (requests)  └ cache ─ pack         └ service
//!                                           └ ship (packs between machines: the service, the program)
//! base ─ ir ─ spirv, opt, passes ─ native, llvm ─ compiler ─ worker                                the compiler
//!         └ interp     isa, metadata ─ check, emu ─ proof                                          the judges
//! base ─ state ─ capture, corpus                                                                   other people's shaders
//! ```
//!
//! A driver depends on `dovetail-runtime`, or loads `dovetail-capi`; neither contains a compiler. Two things are optional:
//! `llvm` (the second code generator) and `sled` (a second store).
//!
//! ```
//! use dovetail::abi::layout::ResolvedLayout;
//! use dovetail::state::PipelineState;
//!
//! // The empty state is a pipeline without resources, vertex buffers or attachments.
//! let layout = ResolvedLayout::new(&PipelineState::default().layout)?;
//! assert_eq!(layout.root_dwords(), 0);
//! # Ok::<(), dovetail::error::Error>(())
//! ```

pub use dovetail_abi as abi;
pub use dovetail_base::{error, files, frame, kinds, rows, target, workspace};
pub use dovetail_cache as cache;
pub use dovetail_capi as capi;
pub use dovetail_capture as capture;
pub use dovetail_check as check;
pub use dovetail_corpus as corpus;
pub use dovetail_emu as emu;
pub use dovetail_glue as glue;
pub use dovetail_isa as isa;
pub use dovetail_link as link;
pub use dovetail_metadata as metadata;
pub use dovetail_pack as pack;
pub use dovetail_pipeline as pipeline;
pub use dovetail_pipeline::{keys, toolchain};
pub use dovetail_proof as proof;
pub use dovetail_proof::template;
pub use dovetail_reloc as reloc;
pub use dovetail_runtime as runtime;
pub use dovetail_service as service;
pub use dovetail_ship as ship;
pub use dovetail_wire as wire;

/// The intermediate representation of one shader, and its interpreter.
pub mod ir {
    pub use dovetail_interp as interp;
    pub use dovetail_ir::*;
}

/// The pipeline state besides the shaders, and its file.
pub mod state {
    pub use dovetail_state::*;
    pub use dovetail_state_file as file;
}

/// What compiles a stage: requests, and every step from SPIR-V to an unlinked ELF.
pub mod compile {
    pub use dovetail_compile::*;
    pub use dovetail_compiler as compiler;
    pub use dovetail_compiler::{generators, unlinked};
    #[cfg(feature = "llvm")]
    pub use dovetail_llvm as llvm;
    pub use dovetail_native as native;
    pub use dovetail_opt as opt;
    pub use dovetail_passes as passes;
    pub use dovetail_passes::{backend, entry_facts};
    pub use dovetail_spirv as spirv;
    pub use dovetail_worker as worker;
}
