//! Packs: immutable files of results, and caches that read them below their store.
//!
//! ```text
//! write   one pack, from keys in order          read     one pack, by `pread`
//!   └ merge   packs and caches into one           └ list     which packs a cache has, and which roots it accepts
//!                                                 └ system   packs that the system has installed
//!                                                     └ layers   a store above packs, which is a store
//! ```
//!
//! [`mod@format`] is the file, byte by byte in `docs/cache-format.md`. A driver reads packs with this crate; what is signed, compressed
//! and sent from machine to machine is in `dovetail-ship`, which no driver has.

pub mod format;
mod layers;
mod list;
mod merge;
mod read;
mod system;
#[cfg(test)]
mod testing;
mod write;

pub use format::{PackMeta, Root};
pub use layers::{Layers, open};
pub use list::{Listed, PackList, PackStanding, packs_dir};
pub use merge::{Merged, PackSource, Resolve, merge};
pub use read::{Pack, PackChecks, PayloadPlace};
pub use system::{SYSTEM_PACKS, system_folder, system_packs};
pub use write::PackWriter;
