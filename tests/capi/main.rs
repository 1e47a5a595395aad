//! The interface for drivers, from Rust and from C: `runtime`, the header, and C programs against both kinds of library.

#[path = "../support/alloc.rs"]
mod alloc;
mod cache;
mod export;
mod folders;
mod header;
mod library;
#[path = "../support/link_support.rs"]
mod link_support;
mod packs;
mod programs;
mod runtime;
mod service;
#[path = "../support/service_double.rs"]
mod service_double;
mod toolchain;

use dovetail_testing as support;

#[global_allocator]
static COUNTING: alloc::Counting = alloc::Counting;
