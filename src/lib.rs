//! Dovetail: a shader cache creator and pipeline linker for AMD GPUs.
//!
//! ```text
//! compilation path                                                                             checkers
//!
//! SPIR-V words
//!   └ compile::spirv     parse, check, translate one entry point   ─> ir::Shader, upper level  <── ir::interp
//!       └ compile::passes    descriptors, inputs, outputs, …       ─> Lowered: lower level     <── ir::verify
//!           └ compile::llvm      a compile::backend::Generator     ─> MachineCode
//!             compile::native    our own, without LLVM
//!               └ compile::unlinked  joint, pre-link metadata      ─> unlinked ELF ──> cache
//! unlinked ELFs + state::PipelineState
//!   └ abi       plans: how attributes are fetched, parameters packed, colours exported
//!   └ glue      plan -> keys -> prologs and epilogs in machine code (isa), no compiler
//!   └ link      attach, lay out, resolve relocations, merge and finalize metadata, write
//!               ─> pipeline ELF                                                  <── link::verify, check, emu, proof
//! ```
//!
//! [`compile`] compiles one stage, in `compile::compiler`. [`toolchain::Toolchain`] finds stage ELFs in a
//! [`cache::Cache`] or has them compiled, [`pipeline::build`] makes a pipeline of them: linked where it can be, whole where
//! the link answers [`error::ErrorKind::NeedsFullCompile`].
//!
//! | a change of | goes to |
//! | --- | --- |
//! | a SPIR-V instruction | the module of its family in `compile/spirv` (arithmetic: `arith.rs`, conversions: `convert.rs`, memory: `memory.rs`, …; `mod.rs` there says how); new IR: `ir/mod.rs` |
//! | how a register or metadata key is merged | the tables of `metadata/registers.rs` (the rule is applied in `register_words.rs`) and `metadata/schema.rs` |
//! | the lowering of an image operand | `compile/passes/lower_images.rs` |
//! | a format or a step of Y'CBCR conversions | `state/planes.rs`, `compile/passes/lower_ycbcr.rs` |
//! | a code generator | `compile/backend.rs` is the trait, `compile/llvm/generator.rs` an example |
//! | instruction selection, allocation, waits of our own generator | `compile/native/mod.rs`, `docs/native.md` |
//! | a machine instruction | `isa/mod.rs` says how |
//! | a cache store | `cache/mod.rs` says how |
//! | a field of the pipeline state that reaches a register | `state.rs`, `metadata/graphics.rs` (compute: `finalize.rs`), `capi/state.rs` |
//! | the hash that names a pipeline | `link/pipeline_hash.rs` |
//! | a structure or dynamic state of Vulkan's in a recording | `capture/mod.rs` says how; the layer itself is `layer/` |
//! | a function of the C interface | `capi/mod.rs` says how |
//! | what the service decides, and in which order | `service/broker.rs`, `service/jobs.rs`; `docs/service.md` |
//! | what an error says, or its exit code | `error.rs`, `docs/errors.md` |
//!
//! A driver builds this crate with `--no-default-features`: linker and cache, no compiler. The features are `compiler` (front
//! end and passes), `llvm` and `native` (code generators), `proof` (checkers), `sled` (a store), `service` (compiles for many clients,
//! and its worker processes), `capture` (recordings of applications), `cli` (the program), `runtime` (what a driver calls) and
//! `capi` (the same for C).
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
pub mod pipeline;
#[cfg(feature = "proof")]
pub mod proof;
pub mod reloc;
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
