//! The connection to a service that compiles, on a thread of the context's own.
//!
//! ```text
//! callers' threads ── Order ──> desk ──> io: the thread `dvt-io` ── session ──> the service
//!        ^                               requests: jobs without an answer          │
//!        └── tables, events, generations, the desk's `changed` <── answers ────────┘
//! ```
//!
//! A caller's thread never touches the socket. The thread is started by the first order, and ends with the context. Requests are
//! named by what they are, so after a lost connection all that have no answer are asked again. The thread does not know what
//! a shader or a pipeline is: each is a [`job::ServiceJob`].

mod answers;
pub(super) mod desk;
pub(super) mod io;
pub(super) mod job;
mod modules;
mod requests;
mod session;
