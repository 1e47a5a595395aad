//! The service as clients see it: the real program, a real socket, real faults.

mod answers;
mod faults;
mod harness;
mod hostile;
mod kills;
#[path = "../capi/library.rs"]
mod library;
mod life;
mod minidriver;
mod optimize;
#[cfg(feature = "llvm")]
mod order;
mod readme;
mod sandbox;
#[path = "../support/shaders.rs"]
mod shaders;
mod skew;
mod slow_disk;
#[path = "../support/smallest.rs"]
mod smallest;
mod stopped;

use dovetail_testing as support;
