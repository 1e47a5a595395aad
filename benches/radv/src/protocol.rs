//! The benchmarks' requests and answers.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A request.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Compile a stage.
    Stage(StageRequest),
    /// Make the libraries of a pair, and keep them.
    Pair(PairRequest),
    /// Link some of the pairs that are kept, one after the other.
    Links(Range<usize>),
    /// Make the libraries of some of the pairs anew, of a pipeline cache that has them, and link them.
    CachedLinks(Range<usize>),
}

/// A module, and how it is specialized.
#[derive(Debug, Serialize, Deserialize)]
pub struct Code {
    /// File of the SPIR-V module.
    pub spirv: String,
    /// Entry point.
    pub entry: String,
    /// Specialization: id, value, bytes.
    pub specialization: Vec<(u32, u64, u8)>,
}

/// A pipeline layout.
#[derive(Debug, Serialize, Deserialize)]
pub struct LayoutRequest {
    /// Descriptors: set, binding, kind as in the state file, count.
    pub bindings: Vec<(u32, u32, String, u32)>,
    /// Bytes of push constants.
    pub push: u32,
}

/// A stage to compile.
#[derive(Debug, Serialize, Deserialize)]
pub struct StageRequest {
    /// Its code.
    pub code: Code,
    /// `vertex`, `fragment` or `compute`.
    pub stage: String,
    /// Lanes per wave; only for compute shaders, other stages use the environment's setting.
    pub wave: u32,
    /// Its layout.
    pub layout: LayoutRequest,
    /// Whether to return the machine code; such a compile is not timed.
    pub listing: bool,
}

/// Two stages and the state of their pipeline.
#[derive(Debug, Serialize, Deserialize)]
pub struct PairRequest {
    /// Vertex shader.
    pub vertex: Code,
    /// Fragment shader.
    pub fragment: Code,
    /// Layout of both.
    pub layout: LayoutRequest,
    /// Vertex bindings: number, stride, whether per instance.
    pub bindings: Vec<(u32, u32, bool)>,
    /// Attributes: location, binding, `VkFormat`, offset.
    pub attributes: Vec<(u32, u32, i32, u32)>,
    /// `VkFormat` of each attachment, by location; 0 for none.
    pub colors: Vec<i32>,
}

/// Answer to a request, as a JSON object: the reader skips other lines, which the driver printed. `Driver` comes once, at the
/// start.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Name and version of the driver.
    Driver(String),
    /// CPU time of the compiling thread, in nanoseconds.
    Nanoseconds(u64),
    /// Instruction words.
    Code(Vec<u32>),
    /// The pair was added.
    Kept {},
    /// Wall-clock time of each pair, in nanoseconds.
    Times(Vec<u64>),
    /// An error instead of another answer.
    Error(String),
}
