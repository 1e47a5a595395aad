//! Tests of the machine-code checks: our listing against LLVM's, and the checker against code that violates its rules.

#[path = "../support/by_hand.rs"]
mod by_hand;
#[path = "../support/cases.rs"]
mod cases;
#[path = "../support/chosen.rs"]
mod chosen;
#[path = "../support/elfs.rs"]
mod elfs;
mod golden;
mod hazards;
mod lanes;
#[path = "../support/link_support.rs"]
mod link_support;
mod listing;
mod mutations;
#[cfg(feature = "llvm")]
mod native;
mod optimised;
mod packed;
mod paths;
mod rules;

use dovetail_testing as support;
