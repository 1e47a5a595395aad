//! Dovetail: a shader cache creator and pipeline linker for AMD GPUs.
//!
//! ```text
//! SPIR-V words
//!   └ compile::spirv     parse, check, translate one entry point       ─> ir::Shader, upper level
//!       └ compile::passes    descriptors, inputs, outputs, images, …   ─> ir::Shader, lower level + StageInterface
//!           └ compile::llvm      LLVM's AMDGPU back end                ─> object with relocations
//!               └ compile::unlinked  joint and pre-link metadata       ─> unlinked ELF ──> cache
//! unlinked ELFs + state::PipelineState
//!   └ abi       plans: how attributes are fetched, parameters packed, colours exported
//!   └ glue      plan -> keys -> prologs and epilogs in machine code (isa), no compiler
//!   └ link      attach, lay out, resolve relocations, merge and finalize metadata, write  ─> pipeline ELF
//! ```
//!
//! [`toolchain::Toolchain`] finds stage ELFs in a [`cache::Cache`] or has them compiled, [`pipeline::build`] makes a pipeline
//! of them: linked where it can be, whole where the link answers [`error::ErrorKind::NeedsFullCompile`].
//! A driver builds this crate with `--no-default-features`: everything but `compile::llvm` is there, LLVM is not.
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
pub mod check;
pub mod compile;
#[cfg(feature = "cli")]
pub mod corpus;
pub(crate) mod elf;
pub mod emu;
pub mod error;
pub mod files;
pub mod glue;
pub mod ir;
pub mod isa;
pub mod keys;
pub mod link;
pub mod metadata;
pub mod pipeline;
pub mod proof;
pub mod reloc;
pub mod state;
pub mod target;
pub mod template;
pub mod toolchain;
