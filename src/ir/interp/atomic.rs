//! Atomics: read the old value and write the new one. Lanes take turns in ascending order.

use super::super::{AluOp, AtomicOp, Bits};
use super::memory::ShadowedMemory;
use super::shadow::{Shadow, of_float};
use crate::ir::number::{float, integer};

/// The value to write; `None`: nothing is written. `data` is the operand and, for compare-exchange, the comparator.
pub(super) fn value(op: AtomicOp, bits: Bits, old: u64, [data, comparator]: [u64; 2]) -> Option<u64> {
    let int = |alu| integer(alu, [old, data, 0], bits, bits);
    let real = |alu| float(alu, [old, data, 0], bits, bits);
    match op {
        AtomicOp::Load => None,
        AtomicOp::Store | AtomicOp::Exchange => Some(data),
        AtomicOp::CompareExchange => (old == comparator).then_some(data),
        AtomicOp::IAdd => int(AluOp::IAdd),
        AtomicOp::ISub => int(AluOp::ISub),
        AtomicOp::SMin => int(AluOp::SMin),
        AtomicOp::UMin => int(AluOp::UMin),
        AtomicOp::SMax => int(AluOp::SMax),
        AtomicOp::UMax => int(AluOp::UMax),
        AtomicOp::And => int(AluOp::IAnd),
        AtomicOp::Or => int(AluOp::IOr),
        AtomicOp::Xor => int(AluOp::IXor),
        AtomicOp::FAdd => real(AluOp::FAdd),
        AtomicOp::FMin => real(AluOp::FMin),
        AtomicOp::FMax => real(AluOp::FMax),
    }
}

/// Runs the atomic on memory and returns the old value.
pub(super) fn run(
    memory: &mut ShadowedMemory,
    at: u64,
    op: AtomicOp,
    bits: Bits,
    data: [(u64, Shadow); 2],
    address: Shadow,
) -> (u64, Shadow) {
    let (old, behind) = memory.load(at, bits);
    if let Some(new) = value(op, bits, old, [data[0].0, data[1].0]) {
        let args = [old, data[0].0, 0];
        let shadows = [behind, data[0].1, Shadow::NONE];
        let shadow = match op {
            AtomicOp::FAdd => of_float(AluOp::FAdd, args, shadows, bits, bits, new, Default::default()),
            AtomicOp::FMin | AtomicOp::FMax => {
                of_float(AluOp::FMin, args, shadows, bits, bits, new, Default::default())
            }
            AtomicOp::Store | AtomicOp::Exchange => data[0].1,
            _ => Shadow::of_bits(&[behind, data[0].1, data[1].1, address]),
        };
        memory.store(at, bits, new, shadow);
    }
    (old, if address.is_exact() { behind } else { Shadow::UNCERTAIN })
}
