//! An emulator of the GPU: runs machine code as the hardware would, from registers and memory alone.
//!
//! It tests compiler and linker output without a GPU. An unimplemented instruction, an access outside the given memory,
//! or a meaningless register setting is an error that names the instruction and its address. `(K)` marks hardware
//! behaviour that no source states (`docs/hardware.md`). Entry point: [`Machine`]. Each class of instructions is a
//! file, and most instructions are one line in it.

mod access;
mod atomic;
pub mod bind;
mod block;
mod buffer;
mod control;
mod dispatch;
pub mod draw;
mod export;
mod fixed_function;
mod format;
mod global;
pub mod image;
pub mod inputs;
mod interp;
mod issue;
mod lds;
mod load;
mod machine;
mod memory;
mod mode;
mod named_format;
mod placed;
mod planes;
pub mod pointers;
mod program;
mod run;
mod salu;
mod smem;
mod stale;
mod trace;
mod valu;
mod waits;
mod watch;
mod wave;

pub use dispatch::{Tables, set_sgpr};
pub use fixed_function::{Export, InterpolationPlane, Parameters};
pub use format::DataFormat;
pub use load::{CodePart, LoadedPipeline, StageCode};
pub use machine::{INSTRUCTION_LIMIT, Machine, RunLimits, RunStats};
pub use memory::Memory;
pub use mode::Mode;
pub use named_format::NamedFormat;
pub use program::{Class, Step};
pub use run::{RunOutcome, run, run_traced};
pub use trace::{Change, Executed, Follow, Trace, TraceEvent};
pub use wave::{LANES, Wave, WaveState};

#[cfg(test)]
mod tests;
