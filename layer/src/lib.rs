//! `VK_LAYER_DOVETAIL_capture`: between an application and its Vulkan driver, whichever that is.
//!
//! ```text
//! loader ── entry ──> dispatch: the next layer's or driver's functions, of each instance and device
//!             │
//!             └ after the driver's own answer, which is never changed:
//!                 read ──> model ──> session ──> recorder ──> NAME.foz, modules/*.spv, pipelines/*.toml   (a thread of its own)
//!                                       ├──────> times ─────> the same pipeline by the run time, and a report at the end
//!                                       └──────> shadow ────> sampled dispatches with what the driver made of them
//! ```
//!
//! Invariants: a call is passed on with what the application gave (`shadow` says what it adds), before anything else is done, and
//! its result is what the application gets; nothing here unwinds into it; nothing is kept of the application's memory after a
//! call; where something fails here, the application does not notice, and the report does. After a fork the child's calls are
//! passed on only.
//!
//! All unsafe code is in `entry`, `chain`, `exit`, `functions`, `read`, and `shadow::{hooks, copies, descriptors, tracker}`. A function that is
//! looked at gets a row in `functions`, and a hook of that name in `entry` or `shadow::hooks`, which their `HOOKS` list.
//! `docs/layer.md` is the manual.

mod chain;
mod complain;
mod config;
mod dispatch;
mod entry;
mod exit;
mod functions;
mod guard;
mod handles;
mod read;
mod recorder;
mod report;
mod session;
mod shadow;
mod times;
