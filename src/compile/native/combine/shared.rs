//! Accesses to workgroup memory: two dwords at distances from one address are one instruction with two offsets.

use super::Combine;
use crate::mir::{Extra, MachineBlock, MachineInst, Opcode, Operand, Pseudo, run_of};
use dovetail_isa::{Format, Op, Traits};
use smallvec::SmallVec;

/// Accesses farther apart are not merged, because their values would be live too long.
const REACH: u32 = 32;

/// An access of one dword.
#[derive(Clone, Copy)]
struct Access {
    inst: u32,
    address: Operand,
    offset: u16,
    /// The result of a load, or the value that a store writes.
    value: Operand,
}

/// Loads, or stores, with which a later one may be merged: no access in between conflicts with it.
type Open = SmallVec<[Access; 8]>;

impl Combine<'_> {
    /// Merges pairs of loads, and pairs of stores.
    pub(super) fn shared_pairs(&mut self, block: &MachineBlock) {
        let (mut loads, mut stores) = (Open::new(), Open::new());
        for n in block.insts.clone() {
            if self.gone[n as usize] {
                continue;
            }
            let inst = self.f.insts[n as usize];
            match inst.isa() {
                Some(Op::DsReadB32) => {
                    stores.clear();
                    self.join(&mut loads, n, &inst);
                }
                Some(Op::DsWriteB32) => {
                    loads.clear();
                    self.join(&mut stores, n, &inst);
                    // An earlier store may be to the same address, and must stay before this one.
                    let last = stores.len().saturating_sub(1);
                    stores.drain(..last);
                }
                _ if self.orders_shared(&inst) => {
                    loads.clear();
                    stores.clear();
                }
                _ => {}
            }
        }
    }

    /// Whether accesses to workgroup memory must not move across an instruction.
    fn orders_shared(&self, inst: &MachineInst) -> bool {
        let other = match inst.op {
            Opcode::Isa(op) => {
                let row = self.f.isa.row(op);
                let free = row.is(Traits::NO_MEMORY) && !row.is(Traits::GDS);
                matches!(row.format, Format::Sopp | Format::Flat) || row.format == Format::Ds && !free
            }
            Opcode::Pseudo(Pseudo::Copy | Pseudo::Choose | Pseudo::TableAddress) => false,
            Opcode::Pseudo(_) => true,
        };
        other || self.f.writes_exec(inst)
    }

    /// Merges an access with an open one, or adds it to them.
    fn join(&mut self, open: &mut Open, n: u32, inst: &MachineInst) {
        let Some(access) = self.access(n, inst) else {
            open.clear();
            return;
        };
        open.retain(|one| n - one.inst <= REACH);
        let fits =
            |one: &Access| one.address.what == access.address.what && offsets(one.offset, access.offset).is_some();
        match open.iter().position(fits) {
            Some(at) => {
                let first = open.remove(at);
                self.merge_pair(first, access);
            }
            None => open.push(access),
        }
    }

    fn access(&self, n: u32, inst: &MachineInst) -> Option<Access> {
        let Extra::Ds { offsets } = inst.extra else { return None };
        let free = |one: &Operand| one.as_val().is_some_and(|val| !self.f.values[val.index()].variable);
        let (address, value) = match (self.f.defs(inst), self.f.uses(inst)) {
            (&[made], &[address]) if made.as_val().is_some_and(|val| !self.in_runs[val.index()]) => (address, made),
            (&[], &[address, stored]) => (address, stored),
            _ => return None,
        };
        let access = Access { inst: n, address, offset: u16::from_le_bytes(offsets), value };
        (free(&address) && free(&value)).then_some(access)
    }

    /// Two loads become one at the place of the first, two stores at that of the second.
    fn merge_pair(&mut self, first: Access, second: Access) {
        let Some((strided, offsets)) = offsets(first.offset, second.offset) else { return };
        let is_load = self.f.insts[first.inst as usize].defs == 1;
        let (place, gone) = if is_load { (first.inst, second.inst) } else { (second.inst, first.inst) };
        let op = match (is_load, strided) {
            (true, false) => Op::DsRead2B32,
            (true, true) => Op::DsRead2st64B32,
            (false, false) => Op::DsWrite2B32,
            (false, true) => Op::DsWrite2st64B32,
        };
        self.count(place, false);
        self.remove(gone);
        let operands = self.f.operands.len() as u32;
        let values = [first.value, second.value];
        let (defs, uses) = if is_load { (2, 1) } else { (0, 3) };
        if is_load {
            self.f.operands.extend(run_of(values.iter().map(|one| one.what)));
        }
        self.f.operands.push(first.address);
        if !is_load {
            self.f.operands.extend(values);
        }
        let extra = Extra::Ds { offsets };
        self.f.insts[place as usize] = MachineInst { op: Opcode::Isa(op), operands, defs, uses, tied: false, extra };
        self.count(place, true);
    }
}

/// The fields for two byte offsets, and whether they count in units of 64 dwords.
fn offsets(a: u16, b: u16) -> Option<(bool, [u8; 2])> {
    let in_units = |unit: u16| {
        let field = |at: u16| u8::try_from(at / unit).ok().filter(|_| at.is_multiple_of(unit));
        Some([field(a)?, field(b)?])
    };
    let near = in_units(4).map(|fields| (false, fields));
    near.or_else(|| in_units(256).map(|fields| (true, fields))).filter(|_| a != b)
}
