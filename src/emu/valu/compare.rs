//! Comparisons and class tests, as a table by opcode.

use crate::mode::{Mode, from_f16};
use dovetail_isa::Op;
use std::cmp::Ordering::{Equal, Greater, Less};

/// A comparison of one lane.
pub type Test = fn(Mode, u64, u64) -> bool;

/// Comparisons of one type: the operations that set a mask and that set EXEC, and the test of each pair.
struct Group {
    ops: &'static [[Op; 2]],
    tests: &'static [Test],
}

macro_rules! integers {
    (|$a:ident, $b:ident| $order:expr; $($mask:ident $exec:ident,)*) => {
        Group {
            ops: &[$([Op::$mask, Op::$exec],)*],
            tests: &[
                |_, $a, $b| $order == Less,
                |_, $a, $b| $order == Equal,
                |_, $a, $b| $order != Greater,
                |_, $a, $b| $order == Greater,
                |_, $a, $b| $order != Equal,
                |_, $a, $b| $order != Less,
                |_, _, _| false,
                |_, _, _| true,
            ],
        }
    };
}

macro_rules! floats {
    ($class:expr, |$m:ident, $a:ident, $b:ident| $order:expr; $($mask:ident $exec:ident,)*) => {
        Group {
            ops: &[$([Op::$mask, Op::$exec],)*],
            tests: &[
                |_, _, _| false,
                |$m, $a, $b| $order == Some(Less),
                |$m, $a, $b| $order == Some(Equal),
                |$m, $a, $b| matches!($order, Some(Less | Equal)),
                |$m, $a, $b| $order == Some(Greater),
                |$m, $a, $b| matches!($order, Some(Less | Greater)),
                |$m, $a, $b| matches!($order, Some(Greater | Equal)),
                |$m, $a, $b| $order.is_some(),
                |$m, $a, $b| $order.is_none(),
                |$m, $a, $b| !matches!($order, Some(Greater | Equal)),
                |$m, $a, $b| !matches!($order, Some(Less | Greater)),
                |$m, $a, $b| $order != Some(Greater),
                |$m, $a, $b| !matches!($order, Some(Less | Equal)),
                |$m, $a, $b| $order != Some(Equal),
                |$m, $a, $b| $order != Some(Less),
                |_, _, _| true,
                $class,
            ],
        }
    };
}

/// Every comparison. 16-bit integers lack the constant comparisons, so these come last.
const GROUPS: [Group; 9] = [
    floats! {
        class32, |m, a, b| m.in32(a).partial_cmp(&m.in32(b));
        VCmpFF32 VCmpxFF32, VCmpLtF32 VCmpxLtF32, VCmpEqF32 VCmpxEqF32, VCmpLeF32 VCmpxLeF32, VCmpGtF32 VCmpxGtF32,
        VCmpLgF32 VCmpxLgF32, VCmpGeF32 VCmpxGeF32, VCmpOF32 VCmpxOF32, VCmpUF32 VCmpxUF32, VCmpNgeF32 VCmpxNgeF32,
        VCmpNlgF32 VCmpxNlgF32, VCmpNgtF32 VCmpxNgtF32, VCmpNleF32 VCmpxNleF32, VCmpNeqF32 VCmpxNeqF32,
        VCmpNltF32 VCmpxNltF32, VCmpTruF32 VCmpxTruF32, VCmpClassF32 VCmpxClassF32,
    },
    floats! {
        class16, |m, a, b| m.in16(a).partial_cmp(&m.in16(b));
        VCmpFF16 VCmpxFF16, VCmpLtF16 VCmpxLtF16, VCmpEqF16 VCmpxEqF16, VCmpLeF16 VCmpxLeF16, VCmpGtF16 VCmpxGtF16,
        VCmpLgF16 VCmpxLgF16, VCmpGeF16 VCmpxGeF16, VCmpOF16 VCmpxOF16, VCmpUF16 VCmpxUF16, VCmpNgeF16 VCmpxNgeF16,
        VCmpNlgF16 VCmpxNlgF16, VCmpNgtF16 VCmpxNgtF16, VCmpNleF16 VCmpxNleF16, VCmpNeqF16 VCmpxNeqF16,
        VCmpNltF16 VCmpxNltF16, VCmpTruF16 VCmpxTruF16, VCmpClassF16 VCmpxClassF16,
    },
    floats! {
        class64, |m, a, b| m.in64(a).partial_cmp(&m.in64(b));
        VCmpFF64 VCmpxFF64, VCmpLtF64 VCmpxLtF64, VCmpEqF64 VCmpxEqF64, VCmpLeF64 VCmpxLeF64, VCmpGtF64 VCmpxGtF64,
        VCmpLgF64 VCmpxLgF64, VCmpGeF64 VCmpxGeF64, VCmpOF64 VCmpxOF64, VCmpUF64 VCmpxUF64, VCmpNgeF64 VCmpxNgeF64,
        VCmpNlgF64 VCmpxNlgF64, VCmpNgtF64 VCmpxNgtF64, VCmpNleF64 VCmpxNleF64, VCmpNeqF64 VCmpxNeqF64,
        VCmpNltF64 VCmpxNltF64, VCmpTruF64 VCmpxTruF64, VCmpClassF64 VCmpxClassF64,
    },
    integers! {
        |a, b| (a as i16).cmp(&(b as i16));
        VCmpLtI16 VCmpxLtI16, VCmpEqI16 VCmpxEqI16, VCmpLeI16 VCmpxLeI16, VCmpGtI16 VCmpxGtI16, VCmpNeI16 VCmpxNeI16,
        VCmpGeI16 VCmpxGeI16,
    },
    integers! {
        |a, b| (a as u16).cmp(&(b as u16));
        VCmpLtU16 VCmpxLtU16, VCmpEqU16 VCmpxEqU16, VCmpLeU16 VCmpxLeU16, VCmpGtU16 VCmpxGtU16, VCmpNeU16 VCmpxNeU16,
        VCmpGeU16 VCmpxGeU16,
    },
    integers! {
        |a, b| (a as i32).cmp(&(b as i32));
        VCmpLtI32 VCmpxLtI32, VCmpEqI32 VCmpxEqI32, VCmpLeI32 VCmpxLeI32, VCmpGtI32 VCmpxGtI32, VCmpNeI32 VCmpxNeI32,
        VCmpGeI32 VCmpxGeI32, VCmpFI32 VCmpxFI32, VCmpTI32 VCmpxTI32,
    },
    integers! {
        |a, b| (a as u32).cmp(&(b as u32));
        VCmpLtU32 VCmpxLtU32, VCmpEqU32 VCmpxEqU32, VCmpLeU32 VCmpxLeU32, VCmpGtU32 VCmpxGtU32, VCmpNeU32 VCmpxNeU32,
        VCmpGeU32 VCmpxGeU32, VCmpFU32 VCmpxFU32, VCmpTU32 VCmpxTU32,
    },
    integers! {
        |a, b| a.cast_signed().cmp(&b.cast_signed());
        VCmpLtI64 VCmpxLtI64, VCmpEqI64 VCmpxEqI64, VCmpLeI64 VCmpxLeI64, VCmpGtI64 VCmpxGtI64, VCmpNeI64 VCmpxNeI64,
        VCmpGeI64 VCmpxGeI64, VCmpFI64 VCmpxFI64, VCmpTI64 VCmpxTI64,
    },
    integers! {
        |a, b| a.cmp(&b);
        VCmpLtU64 VCmpxLtU64, VCmpEqU64 VCmpxEqU64, VCmpLeU64 VCmpxLeU64, VCmpGtU64 VCmpxGtU64, VCmpNeU64 VCmpxNeU64,
        VCmpGeU64 VCmpxGeU64, VCmpFU64 VCmpxFU64, VCmpTU64 VCmpxTU64,
    },
];

/// Comparison of an opcode, and whether it writes EXEC.
pub fn resolve(op: Op) -> Option<(Test, bool)> {
    GROUPS.iter().find_map(|group| {
        let (pair, test) = group.ops.iter().zip(group.tests).find(|(pair, _)| pair.contains(&op))?;
        Some((*test, pair[1] == op))
    })
}

// Class tests never flush denormals.

fn class16(_: Mode, a: u64, mask: u64) -> bool {
    let x = from_f16(a as u16);
    member(x, x.abs() < crate::mode::power(-14), a >> 9 & 1 == 1, mask)
}

fn class32(_: Mode, a: u64, mask: u64) -> bool {
    let x = f32::from_bits(a as u32);
    member(f64::from(x), x.is_subnormal(), a >> 22 & 1 == 1, mask)
}

fn class64(_: Mode, a: u64, mask: u64) -> bool {
    let x = f64::from_bits(a);
    member(x, x.is_subnormal(), a >> 51 & 1 == 1, mask)
}

/// Tests the class of x. Bits: signalling NaN, quiet NaN, −∞, −normal, −denormal, −0, then +0 to +∞.
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
