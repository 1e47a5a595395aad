//! Atomics: read the old value and write the new one. Lanes take turns in ascending order.

use super::memory::ShadowedMemory;
use super::shadow::{Shadow, of_float};
use dovetail_ir::number::{float, integer};
use dovetail_ir::{AluOp, AtomicOp, Bits};

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
    let old = memory.load(at, bits);
    if let Some(new) = updated(op, bits, old, data) {
        memory.store_at((at, address), bits, new.0, new.1);
    }
    (old.0, if address.is_exact() { old.1 } else { Shadow::UNCERTAIN })
}

/// [`value`] and its shadow, from those of the old value and of `data`.
pub(super) fn updated(op: AtomicOp, bits: Bits, old: (u64, Shadow), data: [(u64, Shadow); 2]) -> Option<(u64, Shadow)> {
    let new = value(op, bits, old.0, [data[0].0, data[1].0])?;
    let float = |alu| {
        of_float(alu, [old.0, data[0].0, 0], [old.1, data[0].1, Shadow::NONE], bits, bits, new, Default::default())
    };
    let shadow = match op {
        AtomicOp::FAdd => float(AluOp::FAdd),
        AtomicOp::FMin | AtomicOp::FMax => float(AluOp::FMin),
        AtomicOp::Store | AtomicOp::Exchange => data[0].1,
        _ => Shadow::of_bits(&[old.1, data[0].1, data[1].1]),
    };
    Some((new, shadow))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_ir::number::encode;

    #[test]
    fn sums_are_bounded_and_uncertain_places_are_not() {
        let third = encode(1.0 / 3.0, Bits::B32);
        let (new, shadow) =
            updated(AtomicOp::FAdd, Bits::B32, (third, Shadow::NONE), [(third, Shadow::NONE); 2]).unwrap();
        assert!(new == encode(2.0 / 3.0, Bits::B32) && shadow.bound.is_finite(), "{shadow:?}");
        let mut memory = ShadowedMemory::new(vec![0; 4]);
        run(&mut memory, 0, AtomicOp::FAdd, Bits::B32, [(third, Shadow::NONE); 2], Shadow::UNCERTAIN);
        assert!(memory.load(0, Bits::B32).1.is_uncertain());
    }
}
