//! The crates that a driver loads with ours.

use crate::support::root;
use std::collections::BTreeSet;
use std::process::Command;

/// Crates of the half that a driver loads, with its C interface; those that only build scripts use do not count.
const MOST: usize = 40;
/// None of the driver's business: thread pools, JSON, a second store, a compiler.
const NEVER: [&str; 4] = ["rayon", "serde_json", "sled", "rspirv"];

#[test]
fn a_driver_loads_few_crates() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--locked", "--no-default-features", "--features", "capi"]);
    let out = cargo.args(["-e", "normal", "--prefix", "none"]).current_dir(root()).output().expect("cargo");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("names of crates");
    // A name and a version a line, and marks after them.
    let crates: BTreeSet<Vec<&str>> = text.lines().map(|line| line.split(' ').take(2).collect()).collect();
    let crates: BTreeSet<_> = crates.into_iter().filter(|one| one.first() != Some(&"dovetail")).collect();
    assert!(crates.len() > 10, "{crates:?}");
    assert!(crates.len() <= MOST, "{} crates: {crates:?}", crates.len());
    let unwanted: Vec<_> = crates.iter().filter(|one| NEVER.contains(&one[0])).collect();
    assert!(unwanted.is_empty(), "{unwanted:?}");
}
