//! Compiles in other processes, so that an abort, crash, hang or memory exhaustion in LLVM costs one shader.
//!
//! [`protocol`] defines the messages, [`serve()`] is the worker's side, [`attempt`] the parent's side of one process.
//! [`WorkerPool`] has several processes and is a [`dovetail_compile::Compiler`] like any other. A worker first sends a hello. Each
//! request has an id and a deadline. A worker that fails is replaced, and the request is retried once on a fresh one;
//! if that fails too, the request is quarantined. Dropping a pool waits for every process that it started.

mod clock;
mod pool;
mod process;
pub mod protocol;
pub mod sandbox;
mod serve;

pub use pool::WorkerPool;
pub use process::{Attempt, TRIES_IF_KILLED, Worker, WorkerConfig, attempt};
pub use serve::{Fault, serve};
