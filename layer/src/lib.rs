//! `VK_LAYER_DOVETAIL_capture`: a layer between an application and any Vulkan driver.
//!
//! ```text
//! loader ── entry ──> dispatch: the next layer's or driver's functions, of each instance and device
//!             │
//!             └ after the driver's own answer, which is never changed:
//!                 read ──> model ──> session ──> recorder ──> NAME.foz, modules/*.spv, pipelines/*.toml   (a thread of its own)
//!                                       ├──────> times ─────> the same pipeline by Dovetail's run time, and a report at exit
//!                                       └──────> shadow ────> sampled dispatches and draws with the driver's results
//! ```
//!
//! Invariants: a call is first passed on with the application's arguments (`shadow` documents its additions), and the
//! application gets its result. The layer never unwinds into the application, and keeps nothing of the application's
//! memory after a call. A failure in the layer shows in the report, not in the application. After a fork the child's
//! calls are only passed on.
//!
//! All unsafe code is in `entry`, `hook`, `dispatch`, `chain`, `exit`, `functions`, `late`, `read`, and
//! `shadow::{hooks, copies, descriptors, passes, tracker, unroll}`. To hook a function, add a row to `functions`, and a
//! hook of that name to `entry`, `late` or `shadow::hooks` and its `HOOKS` list. `docs/layer.md` is the manual.

mod chain;
mod complain;
mod config;
mod dispatch;
mod entry;
mod exit;
mod functions;
mod guard;
mod handles;
mod hook;
mod late;
mod read;
mod recorder;
mod report;
mod session;
mod shadow;
mod times;
