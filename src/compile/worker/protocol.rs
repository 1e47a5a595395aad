//! The messages between parent and worker, in [`dovetail_base::frame`]s of at most [`MAX_FRAME`] bytes.
//!
//! The worker speaks first (a [`WorkerHello`]), then answers each [`Request`] with one [`Response`] of the same id.

use dovetail_base::error::Result;
use dovetail_base::frame::Bytes;
use dovetail_base::target::Gpu;
use dovetail_compile::request::{CompilerId, StageRequest};
use serde::{Deserialize, Serialize};

/// Version of this protocol; both sides must have the same.
pub const PROTOCOL: u32 = 4;

/// Longest frame that either side accepts, in bytes.
pub const MAX_FRAME: u32 = 256 << 20;

/// A worker's first message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerHello {
    /// Must be [`PROTOCOL`].
    pub protocol: u32,
    /// The compiler in the worker.
    pub compiler: CompilerId,
    /// The rights that this process has given up, in words ([`super::sandbox`]).
    pub sandbox: String,
}

/// One stage to compile.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Repeated in the response.
    pub id: u64,
    /// SPIR-V bytes.
    pub module: Bytes,
    /// Everything that decides the code.
    pub request: StageRequest,
    /// Further GPUs to compile the same for.
    #[serde(default)]
    pub also: Vec<Gpu>,
}

/// A [`Request`] for sending: the module is copied only once, into the frame.
#[derive(Debug, Serialize)]
pub struct RequestRef<'a> {
    /// As in [`Request`].
    pub id: u64,
    /// As in [`Request`].
    pub module: &'a serde_bytes::Bytes,
    /// As in [`Request`].
    pub request: &'a StageRequest,
    /// As in [`Request`].
    #[serde(skip_serializing_if = "<[Gpu]>::is_empty")]
    pub also: &'a [Gpu],
}

/// The answer to one [`Request`].
#[derive(Debug, Serialize, Deserialize)]
pub struct Response {
    /// Id of the request.
    pub id: u64,
    /// The stage's ELF, or the error.
    pub result: Result<Bytes>,
    /// The same for the further GPUs of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Result<Bytes>>,
}
