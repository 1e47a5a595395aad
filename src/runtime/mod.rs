//! What a driver calls while a game runs: shaders and pipelines by handle, linked from parts that are in memory or in a cache.
//!
//! ```text
//! Context            tables of parts and of plans of glue, the cache on disk (read only), events; shared by all threads
//!   Layout           descriptor sets, resolved once
//!   Shader           a stage's request ── find ──> its part: memory, then disk; else pending or not cached
//!   Pipeline         shaders + layout + state ── link ──> ELF, generation 1
//!   link_into        the same without a handle, into the caller's memory
//! ```
//!
//! There is no compiler here, no thread, no process and no socket: everything is done on the thread that calls, and nothing is
//! waited for. What is read from the disk is checked by its digest before it is parsed. A table is locked for a look-up or an
//! insertion, never while something is read, parsed or linked. `docs/capi.md` has the whole contract, `capi` is its C form.
//!
//! Until there is a service that compiles, [`Answer::NotCached`] is final for a part: the caller compiles by its own means.

mod context;
mod events;
mod flags;
mod layout;
mod link;
mod parts;
mod pipeline;
mod scan;
mod shader;

pub use crate::link::Size;
pub use context::{Context, ContextInfo, Stats, note_fork};
pub use events::{Event, EventKind};
pub use flags::PipelineFlags;
pub use layout::Layout;
pub use link::{Answer, PipelineInfo, Route};
pub use pipeline::{Phase, Pipeline, PipelineStatus};
pub use shader::{ModuleRef, Shader, ShaderInfo, ShaderStatus};
