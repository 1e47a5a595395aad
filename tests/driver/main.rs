//! The driver's half: placement, symbol resolution and errors of the linker, and damage to stores.

#[path = "../support/alloc.rs"]
mod alloc;
#[path = "../support/by_hand.rs"]
mod by_hand;
#[cfg(feature = "sled")]
mod damaged_stores;
mod fitted;
mod format_numbers;
mod functions;
mod halves;
mod kills;
mod layout;
#[path = "../support/link_support.rs"]
mod link_support;
mod metadata;
mod metadata_versions;
mod prepared;
mod refusals;
mod register_cases;
mod registers;
mod resolve;
mod robust;
#[cfg(feature = "sled")]
mod stores;
mod verify;

use dovetail_testing as support;

#[global_allocator]
static COUNTING: alloc::Counting = alloc::Counting;
