//! Comparisons and class tests: a table of their names.

use crate::emu::mode::{Mode, from_f16};
use std::cmp::Ordering::{Equal, Greater, Less};

/// A comparison of one lane.
pub type Test = fn(Mode, u64, u64) -> bool;

/// The operation that sets a mask, the one that sets EXEC, and what they test.
type Row = (&'static str, &'static str, Test);

macro_rules! row {
    ($relation:literal, $ty:literal, $test:expr) => {
        (concat!("v_cmp_", $relation, "_", $ty), concat!("v_cmpx_", $relation, "_", $ty), $test)
    };
}

macro_rules! integers {
    ($ty:literal, |$a:ident, $b:ident| $order:expr) => {
        [
            row!("f", $ty, |_, _, _| false),
            row!("lt", $ty, |_, $a: u64, $b: u64| $order == Less),
            row!("eq", $ty, |_, $a: u64, $b: u64| $order == Equal),
            row!("le", $ty, |_, $a: u64, $b: u64| $order != Greater),
            row!("gt", $ty, |_, $a: u64, $b: u64| $order == Greater),
            row!("ne", $ty, |_, $a: u64, $b: u64| $order != Equal),
            row!("ge", $ty, |_, $a: u64, $b: u64| $order != Less),
            row!("t", $ty, |_, _, _| true),
        ]
    };
}

macro_rules! floats {
    ($ty:literal, $class:expr, |$m:ident, $a:ident, $b:ident| $order:expr) => {
        [
            row!("f", $ty, |_, _, _| false),
            row!("lt", $ty, |$m, $a, $b| $order == Some(Less)),
            row!("eq", $ty, |$m, $a, $b| $order == Some(Equal)),
            row!("le", $ty, |$m, $a, $b| matches!($order, Some(Less | Equal))),
            row!("gt", $ty, |$m, $a, $b| $order == Some(Greater)),
            row!("lg", $ty, |$m, $a, $b| matches!($order, Some(Less | Greater))),
            row!("ge", $ty, |$m, $a, $b| matches!($order, Some(Greater | Equal))),
            row!("o", $ty, |$m, $a, $b| $order.is_some()),
            row!("u", $ty, |$m, $a, $b| $order.is_none()),
            row!("nge", $ty, |$m, $a, $b| !matches!($order, Some(Greater | Equal))),
            row!("nlg", $ty, |$m, $a, $b| !matches!($order, Some(Less | Greater))),
            row!("ngt", $ty, |$m, $a, $b| $order != Some(Greater)),
            row!("nle", $ty, |$m, $a, $b| !matches!($order, Some(Less | Equal))),
            row!("neq", $ty, |$m, $a, $b| $order != Some(Equal)),
            row!("nlt", $ty, |$m, $a, $b| $order != Some(Less)),
            row!("tru", $ty, |_, _, _| true),
            row!("class", $ty, $class),
        ]
    };
}

/// Every comparison.
const TESTS: [&[Row]; 9] = [
    &floats!("f32", class32, |m, a, b| m.in32(a).partial_cmp(&m.in32(b))),
    &floats!("f16", class16, |m, a, b| m.in16(a).partial_cmp(&m.in16(b))),
    &floats!("f64", class64, |m, a, b| m.in64(a).partial_cmp(&m.in64(b))),
    &integers!("i16", |a, b| (a as i16).cmp(&(b as i16))),
    &integers!("u16", |a, b| (a as u16).cmp(&(b as u16))),
    &integers!("i32", |a, b| (a as i32).cmp(&(b as i32))),
    &integers!("u32", |a, b| (a as u32).cmp(&(b as u32))),
    &integers!("i64", |a, b| a.cast_signed().cmp(&b.cast_signed())),
    &integers!("u64", |a, b| a.cmp(&b)),
];

/// Comparison of a mnemonic, and whether it writes EXEC.
pub fn resolve(name: &str) -> Option<(Test, bool)> {
    let row = TESTS.iter().copied().flatten().find(|(mask, exec, _)| *mask == name || *exec == name)?;
    Some((row.2, row.1 == name))
}

// Class tests never flush denormals.

fn class16(_: Mode, a: u64, mask: u64) -> bool {
    let x = from_f16(a as u16);
    member(x, x.abs() < crate::emu::mode::power(-14), a >> 9 & 1 == 1, mask)
}

fn class32(_: Mode, a: u64, mask: u64) -> bool {
    let x = f32::from_bits(a as u32);
    member(f64::from(x), x.is_subnormal(), a >> 22 & 1 == 1, mask)
}

fn class64(_: Mode, a: u64, mask: u64) -> bool {
    let x = f64::from_bits(a);
    member(x, x.is_subnormal(), a >> 51 & 1 == 1, mask)
}

/// Tests the class of x: signalling NaN, quiet NaN, then −∞, −normal, −denormal, −0, and mirrored to +∞.
fn member(x: f64, denormal: bool, quiet: bool, mask: u64) -> bool {
    let bit = if x.is_nan() {
        u32::from(quiet)
    } else {
        let size = if x.is_infinite() {
            0
        } else if x == 0.0 {
            3
        } else if denormal {
            2
        } else {
            1
        };
        if x.is_sign_negative() { 2 + size } else { 9 - size }
    };
    mask >> bit & 1 == 1
}
