//! The order of memory accesses: which ones must not be swapped.
//!
//! Memory of different kinds does not alias (as in the IR's value numbering). Within a kind, two accesses are
//! independent if they have the same address registers and offsets that do not overlap. Scalar loads read only memory
//! that nothing writes.

use crate::mir::{Extra, MachineFunction, MachineInst, Opcode, OperandValue, PhysReg, Pseudo, runs};
use dovetail_isa::{Format, Op, OpcodeRow, Traits};
use smallvec::SmallVec;

/// Kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Buffers,
    Images,
    Shared,
    Locals,
    /// Not memory: exports keep their order among themselves.
    Exports,
}

impl Kind {
    pub(super) const COUNT: usize = 5;
}

/// Constraints on the order of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ordering {
    /// Not ordered.
    Free,
    /// After stores to its kind of memory.
    Load(Kind, AccessRange),
    /// After loads and stores of its kind of memory.
    Store(Kind, AccessRange),
    /// Ordered with every ordered access.
    Accesses,
    /// Ordered with everything.
    All,
}

/// Where an access is, as far as that can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AccessRange {
    /// The operands that make the address; empty if the address is unknown.
    base: SmallVec<[OperandValue; 8]>,
    /// Byte offsets from that address, first and end, of up to two parts.
    parts: [(u32, u32); 2],
}

impl AccessRange {
    /// Whether two accesses certainly touch different bytes.
    pub(super) fn is_apart(&self, other: &Self) -> bool {
        let meet = |a: (u32, u32), b: (u32, u32)| a.0 < b.1 && b.0 < a.1;
        let known = !self.base.is_empty() && self.base == other.base;
        known && !self.parts.iter().any(|a| other.parts.iter().any(|b| meet(*a, *b)))
    }
}

/// Traits of instructions across which nothing moves.
const WITH_ALL: Traits =
    Traits::ACTS.or(Traits::TIMER).or(Traits::INDIRECT).or(Traits::BRANCH).or(Traits::JUMPS).or(Traits::ENDS);
const WITH_ACCESSES: Traits = Traits::BARRIER.or(Traits::WAITS).or(Traits::INVALIDATES).or(Traits::MESSAGE);

/// The constraints on the order of an instruction.
pub(super) fn ordering(f: &MachineFunction, inst: &MachineInst) -> Ordering {
    let op = match inst.op {
        Opcode::Isa(op) => op,
        Opcode::Pseudo(Pseudo::Fence) => return Ordering::Accesses,
        Opcode::Pseudo(Pseudo::Return) => return Ordering::All,
        Opcode::Pseudo(Pseudo::Copy | Pseudo::Choose | Pseudo::TableAddress) => return Ordering::Free,
    };
    let row = f.isa.row(op);
    // The address of the code must be known before the addresses that use the other half of its register pair.
    if row.is(WITH_ALL) || op == Op::SGetpcB64 {
        return Ordering::All;
    }
    if row.is(WITH_ACCESSES) {
        return Ordering::Accesses;
    }
    let scratch = || f.uses(inst).iter().any(|one| one.what == OperandValue::Fixed(PhysReg::SCRATCH));
    let kind = match row.format {
        Format::Smem if row.is(Traits::LOADS) => return Ordering::Free,
        Format::Smem => return Ordering::All,
        Format::Ds if row.is(Traits::GDS) => return Ordering::All,
        Format::Ds if row.is(Traits::NO_MEMORY) => return Ordering::Free,
        Format::Ds => Kind::Shared,
        Format::Mubuf | Format::Mtbuf if scratch() => Kind::Locals,
        Format::Mubuf | Format::Mtbuf | Format::Flat | Format::Global | Format::Scratch => Kind::Buffers,
        Format::Mimg | Format::Vsample => Kind::Images,
        Format::Exp => return Ordering::Store(Kind::Exports, AccessRange::default()),
        // A program instruction without a trait is a hint, or something new.
        Format::Sopp => return Ordering::All,
        _ => return Ordering::Free,
    };
    let place = place(f, inst, row).unwrap_or_default();
    // Coherent loads of one place stay in order too.
    if row.is(Traits::STORES.or(Traits::ATOMIC)) || is_coherent(inst) || !row.is(Traits::LOADS) {
        Ordering::Store(kind, place)
    } else {
        Ordering::Load(kind, place)
    }
}

fn is_coherent(inst: &MachineInst) -> bool {
    match inst.extra {
        Extra::Flat { cache, .. }
        | Extra::Buffer { cache, .. }
        | Extra::SparseTexel { cache }
        | Extra::Image { cache, .. } => cache.sees_others(),
        _ => false,
    }
}

fn place(f: &MachineFunction, inst: &MachineInst, row: &OpcodeRow) -> Option<AccessRange> {
    let bytes = match () {
        () if row.is(Traits::BYTE) => 1,
        () if row.is(Traits::HALF) => 2,
        () => 4 * row.dst.iter().chain(row.src).map(|kind| u32::from(kind.registers())).max().unwrap_or(1),
    };
    if f.uses(inst).iter().any(|one| one.what == OperandValue::Undef) {
        return None;
    }
    let base = |count: usize| {
        let runs = || runs(f.uses(inst)).take(count);
        (runs().count() == count).then(|| runs().flatten().map(|one| one.what).collect())
    };
    match inst.extra {
        Extra::Ds { offsets } => {
            let base = base(1)?;
            let parts = match row.two_offsets() {
                Some((each, unit)) => offsets.map(|at| (u32::from(at) * unit, u32::from(at) * unit + each)),
                None => {
                    let at = u32::from(u16::from_le_bytes(offsets));
                    [(at, at + bytes); 2]
                }
            };
            Some(AccessRange { base, parts })
        }
        Extra::Buffer { offset, idxen: false, offen, format: None, .. } => {
            // Address, descriptor, scalar offset: everything that forms the address, except the constant.
            let base = base(2 + usize::from(offen))?;
            let at = offset;
            Some(AccessRange { base, parts: [(at, at + bytes); 2] })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::Val;

    #[test]
    fn only_the_same_base_can_be_told_apart() {
        let place = |val: u32, from: u32, to: u32| AccessRange {
            base: [OperandValue::Val(Val(val))].into_iter().collect(),
            parts: [(from, to); 2],
        };
        assert!(place(1, 0, 4).is_apart(&place(1, 4, 8)));
        assert!(!place(1, 0, 8).is_apart(&place(1, 4, 8)));
        assert!(!place(1, 0, 4).is_apart(&place(2, 4, 8)));
        assert!(!AccessRange::default().is_apart(&AccessRange::default()));
    }
}
