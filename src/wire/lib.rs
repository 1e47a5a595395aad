//! The messages between the compile service and its clients, over a Unix stream socket, in [`dovetail_base::frame`]s.
//!
//! ```text
//! client                          service
//! Hello ────────────────────────> who asks, which versions it speaks, which cache it reads
//!       <──────────────── Welcome or Refused
//! Stage, Pipeline ──────────────> one job for all who ask for the same
//!       <──── NeedModule, Queued, Busy, Stage or Pipeline, Failed
//! Module, NoModule, Used, Class, Cancel, Status, Ping, Bye
//!       <──── Status, Pong, Draining
//! ```
//!
//! Each request has an id chosen by the client, and all messages about it carry that id. The service computes all keys
//! itself, so no client can store code under another request's key.

mod connection;
mod message;
mod status;

pub use connection::{Arrival, Connection, Receiver, Sender};
pub use message::{
    Ask, Cached, ClientLimits, Hello, Numbered, PartAnswer, PipelineAsk, Priority, StageAsk, Tell, Verdict, Welcome,
};
pub use status::{ClassStatus, ServiceStatus, Times};

/// Protocol versions that this program supports, first and last.
pub const PROTOCOLS: (u32, u32) = (1, 1);

/// Digest of the sources that decide the form of a request (`build/sources.rs`). If client and service differ in it, they may
/// compute different keys for a request, so the client does not read the cache and is sent its results.
pub const REQUEST_SCHEMA: &str = dovetail_compile::request::SOURCES;

/// Longest frame that either side sends, in bytes.
pub const MAX_FRAME: u32 = 64 << 20;
/// Longest frame of a client before it is welcome, in bytes.
pub const MAX_HELLO: u32 = 64 << 10;
/// Largest SPIR-V module, in bytes.
pub const MAX_MODULE: usize = 16 << 20;

/// The default socket of this user's service: `dovetail/serve.sock` in the runtime directory (`$XDG_RUNTIME_DIR`);
/// `None` if the session has no such directory.
pub fn default_socket() -> Option<std::path::PathBuf> {
    let dir = std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty())?;
    Some(std::path::Path::new(&dir).join("dovetail/serve.sock"))
}
