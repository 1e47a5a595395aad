//! Frames between parent and worker: a 32-bit little-endian length, then MessagePack of that many bytes.
//!
//! The worker speaks first (a [`Hello`]), then answers each [`Request`] with one [`Response`] of the same id. A frame
//! longer than [`MAX_FRAME`] is refused before it is read, so that a mad peer cannot exhaust the other's memory.

use crate::compile::request::{CompilerId, StageRequest};
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of this protocol; the two sides must agree.
pub const PROTOCOL: u32 = 1;

/// Longest frame either side accepts, in bytes.
pub const MAX_FRAME: u32 = 256 << 20;
/// Values in values of a message: a real one has a dozen, and the reader calls itself for each.
const MAX_DEPTH: usize = 64;

/// What a worker says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Must be [`PROTOCOL`].
    pub protocol: u32,
    /// Who compiles.
    pub compiler: CompilerId,
}

/// One stage to compile.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Comes back in the response.
    pub id: u64,
    /// SPIR-V bytes.
    pub module: Vec<u8>,
    /// All that decides the code.
    pub request: StageRequest,
}

/// The answer to one request.
#[derive(Debug, Serialize, Deserialize)]
pub struct Response {
    /// Of the request.
    pub id: u64,
    /// Stage ELF, or why there is none.
    pub result: Result<Vec<u8>>,
}

/// A message with its length before it.
///
/// # Errors
/// Bug: not serializable. Unsupported: longer than a frame may be.
pub fn frame<T: Serialize>(message: &T) -> Result<Vec<u8>> {
    let mut out = vec![0; 4];
    rmp_serde::encode::write_named(&mut out, message).map_err(|e| Error::bug(format!("worker message: {e}")))?;
    let length = u32::try_from(out.len() - 4).ok().filter(|&n| n <= MAX_FRAME).ok_or_else(|| {
        Error::unsupported("module over 256 MiB", format!("{} bytes do not fit a worker's frame", out.len()))
    })?;
    out[..4].copy_from_slice(&length.to_le_bytes());
    Ok(out)
}

/// Length of the frame that this head announces.
///
/// # Errors
/// Malformed: longer than [`MAX_FRAME`].
pub fn frame_length(head: [u8; 4]) -> Result<usize> {
    let length = u32::from_le_bytes(head);
    if length > MAX_FRAME {
        return Err(Error::malformed(format!("worker frame of {length} bytes, at most {MAX_FRAME}")));
    }
    Ok(length as usize)
}

/// The message in a frame's body.
///
/// # Errors
/// Malformed: something else.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(body);
    reader.set_max_depth(MAX_DEPTH);
    T::deserialize(&mut reader).map_err(|e| Error::malformed(format!("worker message: {e}")))
}
