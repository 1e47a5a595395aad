//! AMDGPU machine instructions: registers and operands, instructions, and their two forms, dwords and text.
//!
//! [`Inst`] is the one description in the middle: [`encode`] turns it into dwords, `Display` into the text that LLVM's
//! disassembler prints for those dwords, [`decode`] takes dwords back. Invariant: the three agree, for every
//! instruction in [`Op::ALL`]; the tests of `oracle` hold it against `llvm-mc`.
//! To add an instruction: a line in `op.rs` and a line in each table under `tables/`; only a new encoding format needs a
//! variant of [`Inst`] and code. To add a generation: a table, and its field positions in `encode.rs` and `decode.rs`.

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
