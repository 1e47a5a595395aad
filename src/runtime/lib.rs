//! The interface for drivers while a game runs: shaders and pipelines as handles, linked from parts in memory or in a
//! cache.
//!
//! ```text
//! Context            tables of parts and of plans of glue, the cache on disk (read only), events; shared by all threads
//!   Layout           descriptor sets, resolved once
//!   Shader           a stage's request ── find ──> its part: memory, disk, service; else pending or not cached
//!   Pipeline         shaders + layout + state ── link ──> ELF, generation 1; 2 if a service finds better code
//!   link_into        the same without a handle, into the caller's memory
//!   export, import   the parts in memory, for a driver to keep and to give to another context
//! ```
//!
//! There is no compiler here and no process. Without a service there is no thread and no socket either: everything runs
//! on the calling thread, and nothing waits. With a service ([`ContextInfo::socket`]), the context's own thread obtains
//! missing parts, and only this thread uses the socket; callers wait only in calls whose name says so.
//!
//! Data from the disk is checked by its digest before it is parsed. A table is locked for a lookup or an insertion,
//! never while something is read, parsed or linked. `docs/capi.md` is the whole contract; `capi` is the C form.

mod answer;
mod constants;
mod context;
mod events;
mod export;
mod flags;
mod held;
mod layout;
mod link;
mod parts;
mod pipeline;
mod recompile;
mod requesters;
mod scan;
mod search;
mod service;
mod shader;
mod signals;
mod urgency;
mod variants;

pub use answer::{Answer, PipelineRoute};
pub use context::{Context, ContextInfo, Stats, note_fork};
pub use dovetail_link::Size;
pub use events::{Event, EventKind};
pub use export::Imported;
pub use flags::PipelineFlags;
pub use layout::Layout;
pub use link::PipelineInfo;
pub use pipeline::{Optimization, Phase, Pipeline, PipelineStatus};
pub use service::desk::Reach;
pub use shader::{ModuleRef, Shader, ShaderInfo, ShaderStatus};
