//! The messages between a service that compiles and its clients, over a Unix stream socket in [`crate::frame`]s.
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
//! Each request carries an id that the client chooses, and all that is said of it carries the same id. The service computes
//! every key itself, so no client can store code under another key.

mod connection;
mod message;
mod status;

pub use connection::{Arrival, Connection, Receiver, Sender};
pub use message::{
    Ask, Cached, ClientLimits, Hello, PartAnswer, PipelineAsk, Priority, StageAsk, Tell, Verdict, Welcome,
};
pub use status::{ClassStatus, ServiceStatus, Times};

/// The versions of this protocol that this program speaks, first and last.
pub const PROTOCOLS: (u32, u32) = (1, 1);

/// Digest of the sources that decide how a request looks (`build.rs`). Where client and service differ in it they may name one
/// request by two keys, so the client reads no cache and is sent what it asks for.
pub const REQUEST_SCHEMA: &str = env!("DOVETAIL_REQUEST_SOURCES");

/// Longest frame that either side sends, in bytes.
pub const MAX_FRAME: u32 = 64 << 20;
/// Longest frame of a client before it is welcome, in bytes.
pub const MAX_HELLO: u32 = 64 << 10;
/// Largest SPIR-V module, in bytes.
pub const MAX_MODULE: usize = 16 << 20;

/// The socket of this user's service where none is named: `dovetail/serve.sock` in the folder for run-time files
/// (`$XDG_RUNTIME_DIR`); none if the session has no such folder.
pub fn default_socket() -> Option<std::path::PathBuf> {
    let dir = std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty())?;
    Some(std::path::Path::new(&dir).join("dovetail/serve.sock"))
}
