//! Atomic operations on a memory cell, for buffers, images, addresses and LDS alike.

use super::mode::{Round, from_f16, to_f16};
use dovetail_isa::{MachineAtomic, OpcodeRow, Traits};

/// Operands of an atomic operation, in the low bits.
#[derive(Clone, Copy)]
pub struct Cell {
    /// Old value.
    pub old: u64,
    /// The operand.
    pub data: u64,
    /// Expected value of a compare and swap, or the second operand.
    pub compare: u64,
    /// Width in bits.
    pub bits: u32,
}

impl Cell {
    fn signed(self, value: u64) -> i64 {
        (value << (64 - self.bits)).cast_signed() >> (64 - self.bits)
    }

    fn float(self, value: u64) -> f64 {
        if self.bits == 64 { f64::from_bits(value) } else { f64::from(f32::from_bits(value as u32)) }
    }
}

/// The new value; excess bits are dropped.
pub type Atomic = fn(Cell) -> u64;

/// Function of an atomic operation.
pub fn resolve(op: MachineAtomic) -> Atomic {
    match op {
        MachineAtomic::Swap => |c| c.data,
        MachineAtomic::CompareSwap => |c| if c.old == c.compare { c.data } else { c.old },
        MachineAtomic::FloatCompareSwap => |c| if c.float(c.old) == c.float(c.compare) { c.data } else { c.old },
        MachineAtomic::FloatAdd => |c| {
            let sum = f32::from_bits(c.old as u32) + f32::from_bits(c.data as u32);
            u64::from(sum.to_bits())
        },
        MachineAtomic::CondSub => |c| if c.old >= c.data { c.old - c.data } else { c.old },
        MachineAtomic::PackedAddF16 => |c| {
            let half = |word: u64, shift: u32| from_f16((word >> shift) as u16);
            let sum = |shift| u64::from(to_f16(half(c.old, shift) + half(c.data, shift), Round::Nearest));
            sum(0) | sum(16) << 16
        },
        MachineAtomic::PackedAddBf16 => |c| {
            // A bfloat16 is the high half of a float; the sum is rounded to the nearest, ties to even.
            let wide = |word: u64, shift: u32| f32::from_bits((word >> shift) as u32 & 0xffff_0000);
            let sum = |shift: u32| {
                let bits = (wide(c.old << 16 >> shift, 0) + wide(c.data << 16 >> shift, 0)).to_bits();
                u64::from(bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16)
            };
            sum(0) | sum(16) << 16
        },
        MachineAtomic::Add => |c| c.old.wrapping_add(c.data),
        MachineAtomic::Sub => |c| c.old.wrapping_sub(c.data),
        MachineAtomic::SubClamped => |c| c.old.saturating_sub(c.data),
        MachineAtomic::ReverseSub => |c| c.data.wrapping_sub(c.old),
        MachineAtomic::SignedMin => |c| if c.signed(c.data) < c.signed(c.old) { c.data } else { c.old },
        MachineAtomic::SignedMax => |c| if c.signed(c.data) > c.signed(c.old) { c.data } else { c.old },
        MachineAtomic::UnsignedMin => |c| c.old.min(c.data),
        MachineAtomic::UnsignedMax => |c| c.old.max(c.data),
        MachineAtomic::FloatMin => |c| if c.float(c.data) < c.float(c.old) { c.data } else { c.old },
        MachineAtomic::FloatMax => |c| if c.float(c.data) > c.float(c.old) { c.data } else { c.old },
        MachineAtomic::And => |c| c.old & c.data,
        MachineAtomic::Or => |c| c.old | c.data,
        MachineAtomic::Xor => |c| c.old ^ c.data,
        MachineAtomic::Inc => |c| if c.old >= c.data { 0 } else { c.old + 1 },
        MachineAtomic::Dec => |c| if c.old == 0 || c.old > c.data { c.data } else { c.old - 1 },
        MachineAtomic::MaskedOr => |c| c.old & !c.data | c.compare,
        MachineAtomic::Wrap => |c| if c.old >= c.data { c.old - c.data } else { c.old.wrapping_add(c.compare) },
    }
}

/// An atomic instruction on memory.
#[derive(Clone, Copy)]
pub struct MemoryAtomic {
    /// New value of a cell.
    pub apply: Atomic,
    /// Width of the cell in bits.
    pub bits: u32,
    /// There is a second operand after the first, so one more data register.
    pub compares: bool,
}

/// The atomic of an opcode row; `None` if the row has none. Image cells have 32 bits.
pub fn of_memory(entry: &OpcodeRow) -> Option<MemoryAtomic> {
    let compares = entry.is(Traits::COMPARES);
    let dwords = entry.data_registers().max(1) / if compares { 2 } else { 1 };
    Some(MemoryAtomic { apply: resolve(entry.atomic()?), bits: 32 * u32::from(dwords.max(1)), compares })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_change_as_described() {
        use MachineAtomic::*;
        let new = |op, old, data, compare| resolve(op)(Cell { old, data, compare, bits: 32 }) & 0xffff_ffff;
        assert_eq!(new(SignedMin, 3, 0xffff_ffff, 0), 0xffff_ffff);
        assert_eq!(new(UnsignedMin, 3, 0xffff_ffff, 0), 3);
        assert_eq!(new(SignedMax, 0xffff_fff0, 0xffff_fff5, 0), 0xffff_fff5);
        assert_eq!([new(Inc, 5, 5, 0), new(Inc, 4, 5, 0), new(Inc, 9, 5, 0)], [0, 5, 0]);
        assert_eq!([new(Dec, 0, 5, 0), new(Dec, 4, 5, 0), new(Dec, 9, 5, 0)], [5, 3, 5]);
        assert_eq!([new(CompareSwap, 7, 1, 7), new(CompareSwap, 7, 1, 8)], [1, 7]);
        assert_eq!([new(Wrap, 7, 5, 9), new(Wrap, 3, 5, 9)], [2, 12]);
        assert_eq!(new(SubClamped, 3, 5, 0), 0);
        assert_eq!(new(MaskedOr, 0b1111, 0b0110, 0b0010), 0b1011);
        assert_eq!(f32::from_bits(new(FloatMin, 1f32.to_bits().into(), (-2f32).to_bits().into(), 0) as u32), -2.0);
        assert_eq!(f32::from_bits(new(FloatAdd, 1f32.to_bits().into(), 2f32.to_bits().into(), 0) as u32), 3.0);
    }
}
