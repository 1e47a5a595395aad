//! The connection to the compile service, on the context's own thread.
//!
//! ```text
//! callers' threads ── Order ──> desk ──> io: the thread `dvt-io` ── session ──> the service
//!        ^                               requests: jobs without an answer          │
//!        └── tables, events, generations, the desk's `changed` <── answers ────────┘
//! ```
//!
//! Callers' threads never touch the socket. The first order starts the thread, and it ends with the context. Request
//! ids are unique, so after a lost connection all unanswered requests are sent again. The thread does not distinguish
//! shaders and pipelines: each is a [`job::ServiceJob`].

mod answers;
pub(super) mod desk;
pub(super) mod io;
pub(super) mod job;
mod modules;
mod requests;
mod session;
mod waiting;
mod window;
