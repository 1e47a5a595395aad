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
//! | a SPIR-V instruction | the module of its family in `compile/spirv` (arithmetic: `arith.rs`, conversions: `convert.rs`, memory: `memory.rs`, …; instructions in its `mod.rs`); new IR operations: `ir/mod.rs` |
//! | merge rule of a register or metadata key | the tables of `metadata/registers.rs` (applied in `register_words.rs`) and `metadata/schema.rs` |
//! | lowering of an image operand | `compile/passes/lower_images.rs` |
//! | a format or a step of the Y'CBCR conversion | `state/planes.rs`, `compile/passes/lower_ycbcr.rs` |
//! | a code generator | the trait in `compile/backend.rs`; `compile/llvm/generator.rs` is an example |
//! | instruction selection, register allocation, waits of the native generator | `compile/native/mod.rs`, `docs/native.md` |
//! | a machine instruction | see `isa/mod.rs` |
//! | a step of building a pipeline | `pipeline/recipe.rs`; its drivers `pipeline.rs`, `runtime/search.rs` and `service/pipelines.rs` then do not compile without it |
//! | a GPU of a known family, a number in which families differ | a row in `target/mod.rs`; `target/facts.rs` |
//! | which hardware stages run which API stages | the table of `target/shape.rs` |
//! | a cache store | see `cache/mod.rs` |
//! | a field of the pipeline state that reaches a register | `state.rs`, `metadata/graphics.rs` (compute: `finalize.rs`), `capi/state.rs` |
//! | the pipeline hash in the metadata | `link/pipeline_hash.rs` |
//! | a Vulkan structure or dynamic state in recordings | see `capture/mod.rs`; the layer itself is `layer/` |
//! | a function of the C interface | see `capi/mod.rs` |
//! | scheduling in the service | `service/broker.rs`, `service/jobs.rs`; `docs/service.md` |
//! | an error message or exit code | `error.rs`, `docs/errors.md` |
//!
//! A driver builds this crate with `--no-default-features`: linker and cache, no compiler. The features are `compiler`
//! (front end and passes), `llvm` and `native` (code generators), `proof` (checkers), `bundles` (scenes with their inputs, as
//! files), `sled` (a store), `service` (compiles for many clients, and its worker processes), `capture` (recordings of
//! applications), `cli` (the program), `runtime` (the driver interface) and `capi` (the driver interface in C).
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

pub mod abi;
pub mod cache;
#[cfg(feature = "capi")]
pub mod capi;
#[cfg(feature = "capture")]
pub mod capture;
#[cfg(feature = "proof")]
pub mod check;
pub mod compile;
#[cfg(feature = "cli")]
pub mod corpus;
pub(crate) mod elf;
#[cfg(feature = "proof")]
pub mod emu;
pub mod error;
mod fallible;
#[cfg(any(feature = "bundles", feature = "service"))]
pub mod files;
mod fixed;
pub mod frame;
pub mod glue;
#[cfg(feature = "compiler")]
pub mod ir;
pub mod isa;
pub mod keys;
pub mod kinds;
pub mod link;
pub mod metadata;
mod near_table;
pub mod pipeline;
#[cfg(feature = "proof")]
pub mod proof;
pub mod reloc;
pub mod rows;
#[cfg(feature = "runtime")]
pub mod runtime;
#[cfg(feature = "service")]
pub mod service;
pub mod state;
mod table;
pub mod target;
#[cfg(feature = "compiler")]
pub mod template;
pub mod toolchain;
#[cfg(feature = "runtime")]
pub mod wire;
pub mod workspace;
