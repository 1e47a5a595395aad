//! The benchmark's requests and answers.

use serde::{Deserialize, Serialize};

/// A stage to compile.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// File of the SPIR-V module.
    pub spirv: String,
    /// `vertex`, `fragment` or `compute`.
    pub stage: String,
    /// Entry point.
    pub entry: String,
    /// Lanes per wave; only for compute shaders, other stages use the environment's setting.
    pub wave: u32,
    /// Specialization: id, value, bytes.
    pub specialization: Vec<(u32, u64, u8)>,
    /// Descriptors: set, binding, kind as in the state file, count.
    pub bindings: Vec<(u32, u32, String, u32)>,
    /// Bytes of push constants.
    pub push: u32,
    /// Whether to return the machine code; such a compile is not timed.
    pub code: bool,
}

/// Answer to a request; `Driver` comes once, at the start.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Name and version of the driver.
    Driver(String),
    /// CPU time of the compiling thread, in nanoseconds.
    Nanoseconds(u64),
    /// Instruction words.
    Code(Vec<u32>),
    /// An error instead of another answer.
    Error(String),
}
