//! The small SSA IR between SPIR-V and machine code.
//!
//! One [`Shader`] is one entry point with every call inlined. It exists at two [`ShaderLevel`]s in one data structure:
//!
//! * **Upper**, created by the front end: nothing specific to AMD. Descriptors, push constants, inputs, outputs,
//!   subgroup and image operations have their own operations ([`Op::Descriptor`], [`Op::LoadInput`], [`Op::Image`], …).
//! * **Lower**, created by the `lower_*` passes: nothing specific to SPIR-V, and nothing implicit. Entry arguments and
//!   returns have a register class; unknown state is an [`Op::Reloc`], an argument or a return; everything else maps
//!   one to one to what a code generator emits ([`Op::Target`]: [`AmdOp`]).
//!
//! Values are untyped bits: scalars of 1, 8, 16, 32 or 64 bits, and small vectors of them. The operation determines
//! whether bits are an integer or a float, so a bit cast between equal widths is free. **Arithmetic is scalar only**;
//! vectors appear where memory, images and descriptors need them, and are split by [`Op::Extract`]. Control flow is a
//! CFG with block parameters; headers keep SPIR-V's merge and continue blocks, which the verifier checks against
//! dominance. [`Shader::cfg`] is the graph with its dominators and loops, rebuilt only when a jump has changed.
//!
//! To add an operation: a variant in `op.rs` (arithmetic: one line of the table in `alu.rs`), its rule in `rules.rs`,
//! its mnemonic and fields in `text.rs`, its side effects in `effects.rs`, its uniformity in `uniform.rs` and
//! `wave_wide.rs`, its code in `compile/native/select`, `compile/llvm` and the reference interpreter `ir/interp`. A pass
//! expands what the hardware does in several steps, and `Rule::lowered` forbids it afterwards, so that no code generator
//! has to handle it.

mod alu;
mod amd;
mod args;
mod block;
pub mod bounds;
mod builder;
pub mod cfg;
mod compact;
mod descriptors;
mod dominators;
mod effects;
mod graph;
mod ids;
mod image;
mod interface;
mod kept;
mod lanes;
pub mod loops;
mod memory;
mod name;
pub mod number;
mod op;
pub mod parse;
mod pool;
mod print;
mod regions;
pub mod rewrite;
mod rules;
pub mod sample_shading;
mod shader;
pub mod structure;
mod symbols;
mod text;
mod tracked;
mod types;
pub mod uniform;
mod uniform_locals;
mod uniform_ways;
pub mod verify;
pub mod watch;
pub mod wave_wide;
mod words;

pub use alu::{AluOp, FpFlags, Sig};
pub use amd::{AmdOp, WorkgroupWord};
pub use args::InstArgs;
pub use block::{BasicBlock, BlockCall, Blocks, Cases, End, Merge, Terminator};
pub use builder::Builder;
pub use dovetail_base::kinds::{DepthMode, NumericKind, ResourceKind, SpecOperand, SpecValue};
pub use graph::{Graph, PerBlock};
pub use ids::{BlockId, ConstTableId, InstId, LocalId, ResourceId, SymbolId, Value};
pub use image::{Dim, ImageInst, ImageOp, ImageOperand, LodMode, MimgDim, MimgInst, MimgOp};
pub use interface::{BuiltIn, ExportTarget, Interp, InterpPlace, OutputSlot};
pub use lanes::{DerivativeKind, LaneOp, QuadSwap, ReduceOp, SubgroupOp};
pub use memory::{Access, AtomicMemory, AtomicOp, BufferKind, DescriptorPart, FenceOrder, MemoryClasses, Scope};
pub use name::Name;
pub use op::Op;
pub use shader::{
    ArgRole, ConstTable, DenormMode, DerivativeGroup, EntryArg, Inst, Local, LowerInfo, Modes, RegClass, Resource,
    RoundMode, Shader, ShaderLevel, ValueData, ValueDef,
};
pub use symbols::Symbols;
pub use types::{Align, Bits, Type};
