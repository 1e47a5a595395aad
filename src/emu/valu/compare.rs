//! Comparisons and class tests, by the parts of their names: `v_cmp_` or `v_cmpx_`, relation, type.

use crate::emu::mode::{Mode, from_f16};
use std::cmp::Ordering;

/// A comparison of one lane.
pub type Test = fn(Mode, u64, u64) -> bool;

macro_rules! integer {
    ($relation:expr, |$a:ident, $b:ident| $order:expr) => {{
        let test: Test = match $relation {
            "f" => |_, _, _| false,
            "lt" => |_, $a: u64, $b: u64| $order == Ordering::Less,
            "eq" => |_, $a: u64, $b: u64| $order == Ordering::Equal,
            "le" => |_, $a: u64, $b: u64| $order != Ordering::Greater,
            "gt" => |_, $a: u64, $b: u64| $order == Ordering::Greater,
            "ne" => |_, $a: u64, $b: u64| $order != Ordering::Equal,
            "ge" => |_, $a: u64, $b: u64| $order != Ordering::Less,
            "t" => |_, _, _| true,
            _ => return None,
        };
        test
    }};
}
macro_rules! float {
    ($relation:expr, |$m:ident: Mode, $a:ident, $b:ident| $order:expr) => {{
        use Ordering::{Equal, Greater, Less};
        let test: Test = match $relation {
            "f" => |_, _, _| false,
            "lt" => |$m, $a, $b| $order == Some(Less),
            "eq" => |$m, $a, $b| $order == Some(Equal),
            "le" => |$m, $a, $b| matches!($order, Some(Less | Equal)),
            "gt" => |$m, $a, $b| $order == Some(Greater),
            "lg" => |$m, $a, $b| matches!($order, Some(Less | Greater)),
            "ge" => |$m, $a, $b| matches!($order, Some(Greater | Equal)),
            "o" => |$m, $a, $b| $order.is_some(),
            "u" => |$m, $a, $b| $order.is_none(),
            "nge" => |$m, $a, $b| !matches!($order, Some(Greater | Equal)),
            "nlg" => |$m, $a, $b| !matches!($order, Some(Less | Greater)),
            "ngt" => |$m, $a, $b| $order != Some(Greater),
            "nle" => |$m, $a, $b| !matches!($order, Some(Less | Equal)),
            "neq" => |$m, $a, $b| $order != Some(Equal),
            "nlt" => |$m, $a, $b| $order != Some(Less),
            "tru" => |_, _, _| true,
            _ => return None,
        };
        test
    }};
}
/// Comparison of a mnemonic, and whether it writes EXEC.
pub fn resolve(name: &str) -> Option<(Test, bool)> {
    let (rest, exec) = match name.strip_prefix("v_cmpx_") {
        Some(rest) => (rest, true),
        None => (name.strip_prefix("v_cmp_")?, false),
    };
    let (relation, ty) = rest.rsplit_once('_')?;
    let test = match ty {
        "f16" | "f32" | "f64" if relation == "class" => class(ty)?,
        "f32" => float!(relation, |m: Mode, a, b| m.in32(a).partial_cmp(&m.in32(b))),
        "f16" => float!(relation, |m: Mode, a, b| m.in16(a).partial_cmp(&m.in16(b))),
        "f64" => float!(relation, |m: Mode, a, b| m.in64(a).partial_cmp(&m.in64(b))),
        "i16" => integer!(relation, |a, b| (a as i16).cmp(&(b as i16))),
        "u16" => integer!(relation, |a, b| (a as u16).cmp(&(b as u16))),
        "i32" => integer!(relation, |a, b| (a as i32).cmp(&(b as i32))),
        "u32" => integer!(relation, |a, b| (a as u32).cmp(&(b as u32))),
        "i64" => integer!(relation, |a, b| a.cast_signed().cmp(&b.cast_signed())),
        "u64" => integer!(relation, |a, b| a.cmp(&b)),
        _ => return None,
    };
    Some((test, exec))
}

/// Class tests never flush denormals.
fn class(ty: &str) -> Option<Test> {
    Some(match ty {
        "f16" => |_, a, mask| {
            let x = from_f16(a as u16);
            member(x, x.abs() < crate::emu::mode::power(-14), a >> 9 & 1 == 1, mask)
        },
        "f32" => |_, a, mask| {
            let x = f32::from_bits(a as u32);
            member(f64::from(x), x.is_subnormal(), a >> 22 & 1 == 1, mask)
        },
        "f64" => |_, a, mask| {
            let x = f64::from_bits(a);
            member(x, x.is_subnormal(), a >> 51 & 1 == 1, mask)
        },
        _ => return None,
    })
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
