//! AMDGPU machine instructions: registers and operands, instructions, and their two forms, dwords and text.
//!
//! [`Inst`] is what glue writes: [`encode`] turns it into dwords, `Display` into the text that LLVM's disassembler prints for
//! those dwords. [`disassemble`] reads whatever anyone may have written as an [`instruction::Instruction`], every opcode of
//! the machine; [`decode`] narrows that to an [`Inst`]. Invariant: they agree, for every instruction in [`Op::ALL`]; the
//! tests of `oracle` hold it against `llvm-mc`.
//! To add an instruction to glue: a line in `op.rs`; its number is in the table under `tables/`. Only a new encoding format
//! needs a variant of [`Inst`] and code. To add a generation: a table, and its field positions in `encode.rs` and
//! `disassemble.rs`.

mod buffer_format;
mod decode;
mod disassemble;
mod effects;
#[cfg(test)]
mod effects_oracle;
mod encode;
mod inst;
pub mod instruction;
mod listing;
mod op;
#[cfg(test)]
pub(crate) mod oracle;
mod print;
mod reg;
mod register_set;
mod table;
mod tables;

pub use buffer_format::BufferFormat;
pub use decode::decode;
pub use disassemble::disassemble;
pub use effects::{Access, Effects, ExportKind, VectorPath};
pub use encode::{encode, encode_all};
pub use inst::{Buffer, BufferAddress, Cache, ExpSources, ExpTarget, Inst, LaneMask, Waitcnt};
pub use op::{Format, Op};
pub use reg::{InlineFloat, Scalar, Sgpr, Special, Src, Vgpr};
pub use register_set::{Register, RegisterSet};
pub use table::{Entry, Kind};
pub use tables::opcode;
