//! Accesses to scratch memory. In machine IR they are buffer accesses by the descriptor in [`PhysReg::SCRATCH`]; where the
//! hardware knows the wave's memory, they become instructions of their own, and nothing loads a descriptor.

use crate::mir::{MachineFunction, PhysReg};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::ScratchAccess;
use dovetail_isa::instruction::{BufferFields, Fields, FlatFields};
use dovetail_isa::{Instruction, Op, Scalar, Src};

/// Accesses by descriptor, and those that need none.
const BY_BASE: [(Op, Op); 6] = [
    (Op::BufferLoadUbyte, Op::ScratchLoadUbyte),
    (Op::BufferLoadUshort, Op::ScratchLoadUshort),
    (Op::BufferLoadDword, Op::ScratchLoadDword),
    (Op::BufferStoreByte, Op::ScratchStoreByte),
    (Op::BufferStoreShort, Op::ScratchStoreShort),
    (Op::BufferStoreDword, Op::ScratchStoreDword),
];

/// Whether the function loads a descriptor of its scratch memory.
pub(super) fn has_descriptor(function: &MachineFunction) -> bool {
    function.scratch_bytes > 0 && function.isa.facts().scratch == ScratchAccess::Descriptor
}

/// A buffer access as the hardware has it.
///
/// # Errors
/// A bug: an access to scratch memory that is in no row, or whose scalar offset is no register.
pub(super) fn access(function: &MachineFunction, op: Op, f: BufferFields) -> Result<Instruction> {
    let isa = function.isa;
    let scratch = u16::from(f.resource.index()) == PhysReg::SCRATCH.0 && function.scratch_bytes > 0;
    if !scratch || isa.facts().scratch == ScratchAccess::Descriptor {
        return Ok(Instruction::new(isa, op, Fields::Buffer(f)));
    }
    let row = BY_BASE.iter().find(|(by_descriptor, _)| *by_descriptor == op);
    let (_, op) = row.ok_or_else(|| Error::bug(format!("no access to scratch memory: {}", isa.row(op).mnemonic)))?;
    let saddr = match f.soffset {
        Src::Int(0) | Src::Scalar(Scalar::Null) => None,
        Src::Scalar(register @ Scalar::Sgpr(_)) => Some(register),
        other => return Err(Error::bug(format!("an offset of scratch memory: {other:?}"))),
    };
    let offset = f.offset.cast_signed();
    let (dst, addr, data) = (f.data, f.vaddr, f.data);
    let fields = FlatFields { dst, addr, data, saddr, no_vaddr: !f.offen, offset, lds: false, cache: f.cache };
    Ok(Instruction::new(isa, *op, Fields::Flat(fields)))
}
