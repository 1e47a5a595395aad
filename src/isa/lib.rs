//! AMDGPU machine instructions: a table of operations, a model of an instruction, and its forms, dwords and text.
//!
//! ```text
//! Op                  an operation, by meaning, the same for all families
//! Isa::of(gpu)        what a GPU has
//!   ├ tables/         one row per operation: format, number, operands, latency class, traits
//!   └ layout/         the fields of each format
//! Instruction { entry, fields }       made by build.rs, read by the emulator, the checker, effects()
//!   ├ encode ──> dwords ──> disassemble ──> Instruction      the same value again
//!   ├ text()     what LLVM's disassembler prints for those dwords
//!   └ Assembler  labels, relocated literals
//! ```
//!
//! To write an instruction: a constructor of `build.rs` ([`Instruction::vector`] selects the shortest form), then set
//! the other fields, then [`mod@encode`]. An operand or modifier that the form does not accept is an error that names
//! it. The rules are in `operands.rs`; code can check them beforehand ([`OpcodeRow::vector_source`],
//! [`OpcodeRow::modifiers`]).
//!
//! ```
//! use dovetail_isa::{Instruction, Isa, Op, Sgpr, Src, Vgpr, encode};
//! use dovetail_base::target::{Gpu, WaveSize};
//!
//! let isa = Isa::of(Gpu::Gfx1030);
//! let s4 = Src::from(Sgpr::new(4).unwrap());
//! // The second source is no VGPR: the long form.
//! let add = Instruction::vector(isa, Op::VAddF32, Vgpr(0), &[Vgpr(1).into(), s4]);
//! assert_eq!(add.text(isa, WaveSize::W32), "v_add_f32_e64 v0, v1, s4");
//! let mut dwords = Vec::new();
//! encode(isa, WaveSize::W32, &add, &mut dwords)?;
//! assert_eq!(dwords, [0xd503_0000, 0x0000_0901]);
//! # Ok::<(), dovetail_base::error::Error>(())
//! ```
//!
//! To add an operation: its name in `op.rs` and a row in a table, and nothing else unless it has an effect without a
//! trait; then a line in `traits.rs` and its use in `effects.rs`. To add a family of GPUs: a table of its rows in
//! `tables/`, its fields in `layout/`, and its `Isa` in `instruction_set.rs`. The tests in `oracle/` check every row and every form against `llvm-mc`.

mod assemble;
mod buffer_format;
mod build;
mod cache;
mod counters;
mod cycles;
mod decode;
mod delay;
mod effects;
#[cfg(test)]
mod effects_oracle;
mod encode;
mod export;
pub mod export_priority;
mod format;
mod hazard_watch;
mod hazards;
pub mod instruction;
mod instruction_set;
mod layout;
mod link_words;
mod listing;
mod op;
mod operand_codes;
mod operands;
#[cfg(test)]
pub(crate) mod oracle;
mod program_names;
mod reg;
mod register_set;
mod sampling;
mod table;
mod tables;
mod traits;
mod waits;

pub use assemble::{Assembled, Assembler, Label, Relocation};
pub use buffer_format::BufferFormat;
pub use cache::{CacheAccess, CacheReach, CacheScope};
pub use counters::{Counter, WaitCounts, WaitLayout};
pub use cycles::{is_padding, loop_weight};
pub use decode::disassemble;
pub use delay::AluDependence;
pub use effects::{CountedAccess, Effects, ExportKind, VectorPath};
pub use encode::{encode, encode_all};
pub use export::{ExpSources, ExpTarget};
pub use format::Format;
pub use hazard_watch::{HazardState, HazardWatch, RegisterWatch, Seen};
pub use hazards::{Hazard, HazardEvent, RegisterHazard, Remedy, depctr};
pub use instruction::{CachePolicy, Instruction, half_of};
pub use instruction_set::{Isa, IsaLimits};
pub use link_words::{LinkWords, ScalarLoad, WordRun};
pub use op::Op;
pub use operands::Takes;
pub use program_names::{ASKS_REAL_TIME, SHADER_CYCLES, SHADER_CYCLES_HI};
pub use reg::{InlineFloat, Scalar, Sgpr, Special, Src, Vgpr};
pub use register_set::{Register, RegisterSet};
pub use table::{OpcodeRow, OperandKind};
pub use traits::{Latency, MachineAtomic, Traits};
