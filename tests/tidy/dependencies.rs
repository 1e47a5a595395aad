//! The crates that a driver loads with ours.

use crate::support::root;
use std::collections::BTreeSet;
use std::process::Command;

/// Limit of crates in the driver's half, including its C interface; crates used only by build scripts do not count.
const MOST: usize = 40;
/// Crates that a driver must not load: thread pools, JSON, a second store, a compiler.
const NEVER: [&str; 4] = ["rayon", "serde_json", "sled", "rspirv"];

#[test]
fn a_driver_loads_few_crates() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--locked", "-p", "dovetail-capi"]);
    let out = cargo.args(["-e", "normal", "--prefix", "none"]).current_dir(root()).output().expect("cargo");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("names of crates");
    // Each line is a name and a version, and possibly marks.
    let crates: BTreeSet<Vec<&str>> = text.lines().map(|line| line.split(' ').take(2).collect()).collect();
    let crates: BTreeSet<_> = crates.into_iter().filter(|one| !one[0].starts_with("dovetail")).collect();
    assert!(crates.len() > 10, "{crates:?}");
    assert!(crates.len() <= MOST, "{} crates: {crates:?}", crates.len());
    let unwanted: Vec<_> = crates.iter().filter(|one| NEVER.contains(&one[0])).collect();
    assert!(unwanted.is_empty(), "{unwanted:?}");
}
