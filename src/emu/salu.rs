//! Scalar arithmetic: SOP1, SOP2, SOPC, SOPK (isa-gfx10 3.1).
//!
//! An operation is a function from operands and SCC to result and SCC; operations on EXEC are separate, because they
//! write two registers. To add an operation, add a line to [`resolve`].

use super::wave::Wave;
use dovetail_base::error::Result;
use dovetail_isa::instruction::ScalarFields;
use dovetail_isa::{Op, OpcodeRow, OperandKind, Scalar};

/// Inputs of a scalar operation.
#[derive(Clone, Copy)]
pub struct Args {
    a: u64,
    b: u64,
    /// Old value of the destination.
    old: u64,
    scc: bool,
}

impl Args {
    fn a32(self) -> u32 {
        self.a as u32
    }
    fn b32(self) -> u32 {
        self.b as u32
    }
    fn a_signed(self) -> i32 {
        self.a32().cast_signed()
    }
    fn b_signed(self) -> i32 {
        self.b32().cast_signed()
    }
}

/// A resolved scalar operation.
#[derive(Clone, Copy)]
pub enum Salu {
    /// Computes a result and SCC.
    Value(fn(Args) -> (u64, bool)),
    /// Computes SCC only.
    Test(fn(Args) -> bool),
    /// EXEC becomes a function of the source and the old EXEC; the destination gets the old EXEC, or the new one.
    Exec {
        /// New EXEC from source and old EXEC.
        combine: fn(u64, u64) -> u64,
        /// The destination gets the new EXEC.
        write: bool,
    },
    /// Reads or writes a register selected by M0.
    MoveRelative {
        /// Whether the source and the destination are indexed.
        indexed: [bool; 2],
    },
}

/// Operation of an instruction row.
pub fn resolve(entry: &OpcodeRow) -> Option<Salu> {
    if let Some((combine, write)) = exec_operation(entry.op) {
        return Some(Salu::Exec { combine, write });
    }
    let indexed = match entry.op {
        Op::SMovrelsB32 | Op::SMovrelsB64 => Some([true, false]),
        Op::SMovreldB32 | Op::SMovreldB64 => Some([false, true]),
        Op::SMovrelsd2B32 => Some([true, true]),
        _ => None,
    };
    if let Some(indexed) = indexed {
        return Some(Salu::MoveRelative { indexed });
    }
    test(entry.op).map(Salu::Test).or_else(|| value(entry.op).map(Salu::Value))
}

/// New EXEC from source and old EXEC, and whether the destination gets the new one.
type ExecOperation = (fn(u64, u64) -> u64, bool);

fn exec_operation(op: Op) -> Option<ExecOperation> {
    Some(match op {
        Op::SAndSaveexecB32 | Op::SAndSaveexecB64 => (|s, exec| s & exec, false),
        Op::SOrSaveexecB32 | Op::SOrSaveexecB64 => (|s, exec| s | exec, false),
        Op::SXorSaveexecB32 | Op::SXorSaveexecB64 => (|s, exec| s ^ exec, false),
        Op::SAndn2SaveexecB32 | Op::SAndn2SaveexecB64 => (|s, exec| s & !exec, false),
        Op::SOrn2SaveexecB32 | Op::SOrn2SaveexecB64 => (|s, exec| s | !exec, false),
        Op::SAndn1SaveexecB32 | Op::SAndn1SaveexecB64 => (|s, exec| !s & exec, false),
        Op::SOrn1SaveexecB32 | Op::SOrn1SaveexecB64 => (|s, exec| !s | exec, false),
        Op::SNandSaveexecB32 | Op::SNandSaveexecB64 => (|s, exec| !(s & exec), false),
        Op::SNorSaveexecB32 | Op::SNorSaveexecB64 => (|s, exec| !(s | exec), false),
        Op::SXnorSaveexecB32 | Op::SXnorSaveexecB64 => (|s, exec| !(s ^ exec), false),
        Op::SAndn1WrexecB32 | Op::SAndn1WrexecB64 => (|s, exec| !s & exec, true),
        Op::SAndn2WrexecB32 | Op::SAndn2WrexecB64 => (|s, exec| s & !exec, true),
        _ => return None,
    })
}

fn test(op: Op) -> Option<fn(Args) -> bool> {
    Some(match op {
        Op::SCmpEqI32 | Op::SCmpEqU32 | Op::SCmpEqU64 | Op::SCmpkEqI32 | Op::SCmpkEqU32 => |x| x.a == x.b,
        Op::SCmpLgI32 | Op::SCmpLgU32 | Op::SCmpLgU64 | Op::SCmpkLgI32 | Op::SCmpkLgU32 => |x| x.a != x.b,
        Op::SCmpGtI32 | Op::SCmpkGtI32 => |x| x.a_signed() > x.b_signed(),
        Op::SCmpGeI32 | Op::SCmpkGeI32 => |x| x.a_signed() >= x.b_signed(),
        Op::SCmpLtI32 | Op::SCmpkLtI32 => |x| x.a_signed() < x.b_signed(),
        Op::SCmpLeI32 | Op::SCmpkLeI32 => |x| x.a_signed() <= x.b_signed(),
        Op::SCmpGtU32 | Op::SCmpkGtU32 => |x| x.a > x.b,
        Op::SCmpGeU32 | Op::SCmpkGeU32 => |x| x.a >= x.b,
        Op::SCmpLtU32 | Op::SCmpkLtU32 => |x| x.a < x.b,
        Op::SCmpLeU32 | Op::SCmpkLeU32 => |x| x.a <= x.b,
        Op::SBitcmp0B32 => |x| x.a >> (x.b & 31) & 1 == 0,
        Op::SBitcmp1B32 => |x| x.a >> (x.b & 31) & 1 == 1,
        Op::SBitcmp0B64 => |x| x.a >> (x.b & 63) & 1 == 0,
        Op::SBitcmp1B64 => |x| x.a >> (x.b & 63) & 1 == 1,
        _ => return None,
    })
}

/// Result with SCC = "not zero", the rule of bit operations; the result has 32 bits.
fn nonzero32(value: u64) -> (u64, bool) {
    let value = value & 0xffff_ffff;
    (value, value != 0)
}

/// [`nonzero32`] for 64 bits.
fn nonzero64(value: u64) -> (u64, bool) {
    (value, value != 0)
}

fn signed_overflow((value, overflow): (i32, bool)) -> (u64, bool) {
    (u64::from(value.cast_unsigned()), overflow)
}

fn add_shifted(x: Args, shift: u32) -> (u64, bool) {
    // The carry is that of the whole sum, including bits shifted out.
    let sum = (x.a << shift) + x.b;
    (sum & 0xffff_ffff, sum >> 32 != 0)
}

fn sub_borrow(x: Args, borrow: bool) -> (u64, bool) {
    let take = x.b + u64::from(borrow);
    (x.a.wrapping_sub(take) & 0xffff_ffff, take > x.a)
}

/// Bit field of the scalar operations; the width is clamped to the available bits.
fn extract(x: Args, bits: u32, signed: bool) -> u64 {
    let offset = x.b32() & (bits - 1);
    let width = (x.b32() >> 16 & 0x7f).min(bits - offset);
    if width == 0 {
        return 0;
    }
    let up = x.a << (64 - offset - width);
    if signed { (up.cast_signed() >> (64 - width)).cast_unsigned() } else { up >> (64 - width) }
}

fn first_bit(value: u64) -> u64 {
    if value == 0 { 0xffff_ffff } else { u64::from(value.trailing_zeros()) }
}

fn leading(value: u64, bits: u32) -> u64 {
    let zeros = (value << (64 - bits)).leading_zeros();
    if value == 0 { 0xffff_ffff } else { u64::from(zeros) }
}

/// Number of leading bits equal to the sign; `None` for 0 and −1.
fn sign_bits(value: u64, bits: u32) -> u64 {
    let up = (value << (64 - bits)).cast_signed();
    let other = (if up < 0 { !up } else { up }).cast_unsigned() >> (64 - bits);
    leading(other, bits)
}

fn quads(value: u64) -> u64 {
    let any = value | value >> 1;
    (any | any >> 2) & 0x1111_1111_1111_1111
}

fn pack(low: u64, high: u64) -> u64 {
    low & 0xffff | (high & 0xffff) << 16
}

fn value(op: Op) -> Option<fn(Args) -> (u64, bool)> {
    Some(match op {
        Op::SMovB32 | Op::SMovB64 | Op::SMovkI32 => |x| (x.a, x.scc),
        Op::SCmovB32 | Op::SCmovB64 | Op::SCmovkI32 => |x| (if x.scc { x.a } else { x.old }, x.scc),
        Op::SNotB32 => |x| nonzero32(!x.a),
        Op::SNotB64 => |x| nonzero64(!x.a),
        Op::SWqmB32 => |x| nonzero32(quads(x.a) * 15),
        Op::SWqmB64 => |x| nonzero64(quads(x.a) * 15),
        Op::SQuadmaskB32 | Op::SQuadmaskB64 => |x| {
            let quads = quads(x.a);
            nonzero64((0..16).fold(0, |mask, i| mask | (quads >> (4 * i) & 1) << i))
        },
        Op::SBrevB32 => |x| (u64::from(x.a32().reverse_bits()), x.scc),
        Op::SBrevB64 => |x| (x.a.reverse_bits(), x.scc),
        Op::SBcnt0I32B32 => |x| nonzero64(u64::from(x.a32().count_zeros())),
        Op::SBcnt0I32B64 => |x| nonzero64(u64::from(x.a.count_zeros())),
        Op::SBcnt1I32B32 | Op::SBcnt1I32B64 => |x| nonzero64(u64::from(x.a.count_ones())),
        Op::SFf0I32B32 => |x| (first_bit(!x.a & 0xffff_ffff), x.scc),
        Op::SFf0I32B64 => |x| (first_bit(!x.a), x.scc),
        Op::SFf1I32B32 | Op::SFf1I32B64 => |x| (first_bit(x.a), x.scc),
        Op::SFlbitI32B32 => |x| (leading(x.a, 32), x.scc),
        Op::SFlbitI32B64 => |x| (leading(x.a, 64), x.scc),
        Op::SFlbitI32 => |x| (sign_bits(x.a, 32), x.scc),
        Op::SFlbitI32I64 => |x| (sign_bits(x.a, 64), x.scc),
        Op::SSextI32I8 => |x| (u64::from(i32::from(x.a as i8).cast_unsigned()), x.scc),
        Op::SSextI32I16 => |x| (u64::from(i32::from(x.a as i16).cast_unsigned()), x.scc),
        Op::SBitset0B32 => |x| (x.old & !(1 << (x.a & 31)), x.scc),
        Op::SBitset1B32 => |x| (x.old | 1 << (x.a & 31), x.scc),
        Op::SBitset0B64 => |x| (x.old & !(1 << (x.a & 63)), x.scc),
        Op::SBitset1B64 => |x| (x.old | 1 << (x.a & 63), x.scc),
        Op::SAbsI32 => |x| nonzero64(u64::from(x.a_signed().unsigned_abs())),
        Op::SBitreplicateB64B32 => |x| ((0..32).fold(0, |all, i| all | ((x.a >> i & 1) * 3) << (2 * i)), x.scc),
        Op::SAddU32 => |x| add_shifted(x, 0),
        Op::SAddcU32 => |x| {
            let sum = x.a + x.b + u64::from(x.scc);
            (sum & 0xffff_ffff, sum >> 32 != 0)
        },
        Op::SSubU32 => |x| sub_borrow(x, false),
        Op::SSubbU32 => |x| sub_borrow(x, x.scc),
        Op::SAddI32 => |x| signed_overflow(x.a_signed().overflowing_add(x.b_signed())),
        Op::SSubI32 => |x| signed_overflow(x.a_signed().overflowing_sub(x.b_signed())),
        Op::SAddkI32 => |x| signed_overflow((x.old as i32).overflowing_add(x.a_signed())),
        Op::SMulkI32 => |x| (u64::from((x.old as u32).wrapping_mul(x.a32())), x.scc),
        Op::SMinI32 => |x| if x.a_signed() < x.b_signed() { (x.a, true) } else { (x.b, false) },
        Op::SMinU32 => |x| if x.a < x.b { (x.a, true) } else { (x.b, false) },
        Op::SMaxI32 => |x| if x.a_signed() >= x.b_signed() { (x.a, true) } else { (x.b, false) },
        Op::SMaxU32 => |x| if x.a >= x.b { (x.a, true) } else { (x.b, false) },
        Op::SCselectB32 | Op::SCselectB64 => |x| (if x.scc { x.a } else { x.b }, x.scc),
        Op::SAndB32 | Op::SAndB64 => |x| nonzero64(x.a & x.b),
        Op::SOrB32 | Op::SOrB64 => |x| nonzero64(x.a | x.b),
        Op::SXorB32 | Op::SXorB64 => |x| nonzero64(x.a ^ x.b),
        Op::SAndn2B32 | Op::SAndn2B64 => |x| nonzero64(x.a & !x.b),
        Op::SOrn2B32 => |x| nonzero32(x.a | !x.b),
        Op::SOrn2B64 => |x| nonzero64(x.a | !x.b),
        Op::SNandB32 => |x| nonzero32(!(x.a & x.b)),
        Op::SNandB64 => |x| nonzero64(!(x.a & x.b)),
        Op::SNorB32 => |x| nonzero32(!(x.a | x.b)),
        Op::SNorB64 => |x| nonzero64(!(x.a | x.b)),
        Op::SXnorB32 => |x| nonzero32(!(x.a ^ x.b)),
        Op::SXnorB64 => |x| nonzero64(!(x.a ^ x.b)),
        Op::SLshlB32 => |x| nonzero32(x.a << (x.b & 31)),
        Op::SLshlB64 => |x| nonzero64(x.a << (x.b & 63)),
        Op::SLshrB32 => |x| nonzero32(x.a >> (x.b & 31)),
        Op::SLshrB64 => |x| nonzero64(x.a >> (x.b & 63)),
        Op::SAshrI32 => |x| nonzero32(u64::from((x.a_signed() >> (x.b & 31)).cast_unsigned())),
        Op::SAshrI64 => |x| nonzero64((x.a.cast_signed() >> (x.b & 63)).cast_unsigned()),
        Op::SBfmB32 => |x| (((1 << (x.a & 31)) - 1) << (x.b & 31) & 0xffff_ffff, x.scc),
        Op::SBfmB64 => |x| (((1 << (x.a & 63)) - 1) << (x.b & 63), x.scc),
        Op::SMulI32 => |x| (u64::from(x.a32().wrapping_mul(x.b32())), x.scc),
        Op::SMulHiU32 => |x| ((x.a * x.b) >> 32, x.scc),
        Op::SMulHiI32 => |x| {
            let product = i64::from(x.a_signed()) * i64::from(x.b_signed());
            (product.cast_unsigned() >> 32, x.scc)
        },
        Op::SBfeU32 => |x| nonzero32(extract(x, 32, false)),
        Op::SBfeI32 => |x| nonzero32(extract(x, 32, true)),
        Op::SBfeU64 => |x| nonzero64(extract(x, 64, false)),
        Op::SBfeI64 => |x| nonzero64(extract(x, 64, true)),
        Op::SAbsdiffI32 => |x| nonzero32(u64::from(x.a_signed().wrapping_sub(x.b_signed()).unsigned_abs())),
        Op::SLshl1AddU32 => |x| add_shifted(x, 1),
        Op::SLshl2AddU32 => |x| add_shifted(x, 2),
        Op::SLshl3AddU32 => |x| add_shifted(x, 3),
        Op::SLshl4AddU32 => |x| add_shifted(x, 4),
        Op::SPackLlB32B16 => |x| (pack(x.a, x.b), x.scc),
        Op::SPackLhB32B16 => |x| (pack(x.a, x.b >> 16), x.scc),
        Op::SPackHhB32B16 => |x| (pack(x.a >> 16, x.b >> 16), x.scc),
        _ => return None,
    })
}

fn compares_unsigned(op: Op) -> bool {
    use Op::{SCmpkEqU32, SCmpkGeU32, SCmpkGtU32, SCmpkLeU32, SCmpkLgU32, SCmpkLtU32};
    matches!(op, SCmpkEqU32 | SCmpkLgU32 | SCmpkGtU32 | SCmpkGeU32 | SCmpkLtU32 | SCmpkLeU32)
}

/// Executes one operation.
pub fn execute(op: Salu, entry: &OpcodeRow, fields: &ScalarFields, wave: &mut Wave) -> Result<()> {
    let kind = |i: usize| entry.src.get(i).copied().unwrap_or(OperandKind::B32);
    let read = |wave: &Wave, i: usize| match fields.srcs.get(i).copied().flatten() {
        Some(src) => wave.uniform(src, kind(i)),
        None => Ok(0),
    };
    let wide = entry.dst.first() == Some(&OperandKind::B64);
    let dst = fields.dst.unwrap_or(Scalar::Null);
    let (mut a, mut b) = (read(wave, 0)?, read(wave, 1)?);
    if entry.format == dovetail_isa::Format::Sopk {
        // Only unsigned comparisons zero-extend the constant.
        let signed = u64::from(i32::from(fields.imm.cast_signed()).cast_unsigned());
        let constant = if compares_unsigned(entry.op) { u64::from(fields.imm) } else { signed };
        // A comparison has the register as its first operand.
        if entry.dst.is_empty() { b = constant } else { a = constant }
    }
    match op {
        Salu::Test(test) => wave.scc = test(Args { a, b, old: 0, scc: wave.scc }),
        Salu::Value(value) => {
            let old = if wide { wave.scalar64(dst) } else { u64::from(wave.scalar(dst)) };
            let (result, scc) = value(Args { a, b, old, scc: wave.scc });
            wave.scc = scc;
            if wide { wave.set_scalar64(dst, result) } else { wave.set_scalar(dst, result as u32) }
        }
        Salu::Exec { combine, write } => {
            let pair = Scalar::ExecLo;
            let old = if wide { wave.scalar64(pair) } else { u64::from(wave.scalar(pair)) };
            let new = combine(a, old) & if wide { u64::MAX } else { 0xffff_ffff };
            let saved = if write { new } else { old };
            if wide {
                wave.set_scalar64(dst, saved)
            } else {
                wave.set_scalar(dst, saved as u32)
            }
            if wide {
                wave.set_scalar64(pair, new)
            } else {
                wave.set_scalar(pair, new as u32)
            }
            wave.scc = new != 0;
        }
        Salu::MoveRelative { indexed: [from, to] } => {
            let m0 = wave.scalar(Scalar::M0) as usize;
            let both = from && to;
            let source_step = if !from {
                0
            } else if both {
                m0 & 0x3ff
            } else {
                m0
            };
            let target_step = if !to {
                0
            } else if both {
                m0 >> 16 & 0x3ff
            } else {
                m0
            };
            for n in 0..if wide { 2 } else { 1 } {
                let value = match fields.srcs[0] {
                    Some(dovetail_isa::Src::Scalar(s)) => wave.sgpr(s, source_step.saturating_add(n)),
                    _ => (a >> (32 * n)) as u32,
                };
                wave.set_sgpr(dst, target_step.saturating_add(n), value);
            }
        }
    }
    Ok(())
}
