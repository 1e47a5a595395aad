//! Emits memory accesses and exports from machine IR.

use super::operands::{Operands, wrong_extra};
use super::scratch;
use crate::code::{Item, Merging, Open};
use crate::mir::{Extra, LinkedDescriptor, MachineFunction, MachineInst};
use crate::widths::SCALAR_LOADS;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::List;
use dovetail_isa::instruction::{
    Addresses, BufferFields, CachePolicy, DsFields, ExportFields, Fields, FlatFields, ImageFields, Instruction,
    SmemFields,
};
use dovetail_isa::{Format, OpcodeRow, OperandKind, Scalar, Src, Takes, Traits, Vgpr};

/// Operands that a buffer access supports as its scalar offset.
const SCALAR_OFFSET: Takes =
    Takes { vector: false, scalar: true, special: false, inline: true, literal: false, low_vgprs: false };

/// SMEM.
pub(super) fn smem(entry: &'static OpcodeRow, inst: &MachineInst, operands: &mut Operands<'_>) -> Result<Instruction> {
    let (offset, cache) = match inst.extra {
        Extra::Smem { offset, cache } => (offset, cache),
        Extra::None => (0, CachePolicy::default()),
        _ => return Err(wrong_extra(inst)),
    };
    let mut f = SmemFields { data: Scalar::Null, base: Scalar::Null, offset, soffset: None, cache };
    if !entry.dst.is_empty() {
        f.data = operands.def_scalar()?;
    }
    if !entry.is(Traits::INVALIDATES.or(Traits::TIMER)) {
        f.base = operands.scalar()?;
        f.soffset = if operands.uses_left() > 0 { operands.load_offset()? } else { None };
    }
    Ok(Instruction { entry, fields: Fields::Smem(f) })
}

/// Loads of descriptors whose places the linker decides, into registers one after the other.
pub(super) fn descriptors(
    function: &MachineFunction,
    inst: &MachineInst,
    descriptors: &[LinkedDescriptor],
    items: &mut List<Item>,
) -> Result<()> {
    let mut operands = Operands::new(inst, function.defs(inst), function.uses(inst), function.wave);
    let (mut data, table) = (operands.def_scalar()?, operands.scalar()?);
    let root = if operands.uses_left() > 0 { Some(operands.scalar()?) } else { None };
    operands.finish()?;
    let several = descriptors.len() > 1;
    for (n, one) in descriptors.iter().enumerate() {
        let row = SCALAR_LOADS.iter().find(|row| row.0 == usize::from(one.dwords));
        let (_, op, _) = *row.ok_or_else(|| wrong_extra(inst))?;
        let merging = match n {
            0 if several => Merging::First,
            0 => Merging::Alone,
            _ => Merging::Next,
        };
        // The register of the root table's address is where an offset register would be, until the linker takes one.
        let soffset = root.filter(|_| one.in_root.is_some());
        let fields = SmemFields { data, base: table, offset: 0, soffset, cache: CachePolicy::default() };
        items.push(Item {
            inst: Instruction { entry: function.isa.row(op), fields: Fields::Smem(fields) },
            open: Some(Open::Descriptor { offset: one.offset, in_root: one.in_root, merging }),
        });
        if n + 1 < descriptors.len() {
            let next = Scalar::at(data.index() + one.dwords);
            data = next.ok_or_else(|| Error::bug("descriptors outside of the scalar registers"))?;
        }
    }
    Ok(())
}

/// DS.
pub(super) fn ds(entry: &'static OpcodeRow, inst: &MachineInst, operands: &mut Operands<'_>) -> Result<Instruction> {
    let offsets = match inst.extra {
        Extra::Ds { offsets } => offsets,
        Extra::None => [0; 2],
        _ => return Err(wrong_extra(inst)),
    };
    let none = Vgpr(0);
    let gds = entry.is(Traits::GDS);
    let mut f = DsFields { dst: none, addr: none, data: [none; 2], offsets, gds };
    if !entry.dst.is_empty() {
        f.dst = operands.def_vgpr()?;
    }
    let mut sources = entry.src.len();
    if sources > 0 && !entry.is(Traits::OWN_ADDRESS) {
        f.addr = operands.vgpr()?;
        sources -= 1;
    }
    for data in f.data.iter_mut().take(sources) {
        *data = operands.vgpr()?;
    }
    Ok(Instruction { entry, fields: Fields::Ds(f) })
}

/// FLAT, GLOBAL, SCRATCH.
pub(super) fn flat(entry: &'static OpcodeRow, inst: &MachineInst, operands: &mut Operands<'_>) -> Result<Instruction> {
    let Extra::Flat { offset, saddr, cache } = inst.extra else { return Err(wrong_extra(inst)) };
    let none = Vgpr(0);
    if entry.is(Traits::INVALIDATES) {
        let f =
            FlatFields { dst: none, addr: none, data: none, saddr: None, no_vaddr: false, offset, lds: false, cache };
        return Ok(Instruction { entry, fields: Fields::Flat(f) });
    }
    let no_vaddr = saddr && entry.format == Format::Scratch;
    let mut f = FlatFields { dst: none, addr: none, data: none, saddr: None, no_vaddr, offset, lds: false, cache };
    if returns(entry, cache) {
        f.dst = operands.def_vgpr()?;
    }
    if !no_vaddr && !entry.is(Traits::OWN_ADDRESS) {
        f.addr = operands.vgpr()?;
    }
    if takes_data(entry) {
        f.data = operands.vgpr()?;
    }
    if saddr {
        f.saddr = Some(operands.scalar()?);
    }
    Ok(Instruction { entry, fields: Fields::Flat(f) })
}

/// MUBUF, MTBUF.
pub(super) fn buffer(
    function: &MachineFunction,
    entry: &'static OpcodeRow,
    inst: &MachineInst,
    operands: &mut Operands<'_>,
) -> Result<Instruction> {
    let (offset, idxen, offen, format, cache) = match inst.extra {
        Extra::Buffer { offset, idxen, offen, format, cache } => (offset, idxen, offen, format, cache),
        Extra::SparseTexel { cache } => (0, true, false, None, cache),
        Extra::None if entry.is(Traits::INVALIDATES) => (0, false, false, None, CachePolicy::default()),
        _ => return Err(wrong_extra(inst)),
    };
    let mut f = BufferFields {
        data: Vgpr(0),
        vaddr: Vgpr(0),
        idxen,
        offen,
        resource: Scalar::Null,
        soffset: Src::Int(0),
        offset,
        format,
        lds: false,
        tfe: matches!(inst.extra, Extra::SparseTexel { .. }),
        cache,
    };
    if entry.is(Traits::INVALIDATES) {
        return Ok(Instruction { entry, fields: Fields::Buffer(f) });
    }
    let result = if returns(entry, cache) { Some(operands.def_vgpr()?) } else { None };
    if idxen || offen {
        f.vaddr = operands.vgpr()?;
    }
    f.resource = operands.scalar()?;
    f.soffset = match operands.source(OperandKind::B32, SCALAR_OFFSET)? {
        Src::Int(0) => function.isa.no_offset(),
        other => other,
    };
    f.data = data(entry, result, operands)?;
    scratch::access(function, entry.op, f)
}

/// MIMG.
pub(super) fn image(
    function: &MachineFunction,
    entry: &'static OpcodeRow,
    inst: &MachineInst,
    operands: &mut Operands<'_>,
) -> Result<Instruction> {
    let Extra::Image { dim, dmask, unorm, tfe, d16, nsa, cache } = inst.extra else {
        return Err(wrong_extra(inst));
    };
    let none = Scalar::Sgpr(dovetail_isa::Sgpr::new(0).ok_or_else(|| Error::bug("no SGPR"))?);
    let mut f = ImageFields {
        data: Vgpr(0),
        addresses: Addresses::new(&[]),
        nsa,
        resource: none,
        sampler: none,
        dim,
        dmask,
        unorm: unorm && function.isa.says_texels(entry),
        r128: false,
        a16: false,
        d16,
        tfe,
        lwe: false,
        cache,
    };
    let result = if returns(entry, cache) { Some(operands.def_vgpr()?) } else { None };
    let mut addresses = [(Vgpr(0), 1); Addresses::MOST];
    let all = f.address_registers(entry);
    let most = function.isa.image_addresses(entry).min(addresses.len());
    let count = if nsa { usize::from(all).min(most) } else { 1 };
    for (address, _) in addresses.iter_mut().take(count) {
        *address = operands.vgpr()?;
    }
    if let Some((_, last)) = addresses.get_mut(most - 1).filter(|_| nsa) {
        *last = all.saturating_sub(most as u8 - 1).max(1);
    }
    f.addresses = Addresses::grouped(&addresses[..count]);
    f.resource = operands.scalar()?;
    if entry.is(Traits::SAMPLES) {
        f.sampler = operands.scalar()?;
    }
    f.data = data(entry, result, operands)?;
    Ok(Instruction { entry, fields: Fields::Image(f) })
}

/// EXP.
pub(super) fn export(
    entry: &'static OpcodeRow,
    inst: &MachineInst,
    operands: &mut Operands<'_>,
) -> Result<Instruction> {
    let Extra::Export { target, enabled, compr, done, vm } = inst.extra else { return Err(wrong_extra(inst)) };
    let mut data = [Vgpr(0); 4];
    for register in &mut data {
        *register = operands.vgpr()?;
    }
    Ok(Instruction {
        entry,
        fields: Fields::Export(ExportFields { target, enabled, data, compr, done, vm, row: false }),
    })
}

/// The only data field of a buffer or image access: the stored data or the result; for an atomic both.
fn data(entry: &OpcodeRow, result: Option<Vgpr>, operands: &mut Operands<'_>) -> Result<Vgpr> {
    let stored = if takes_data(entry) { Some(operands.vgpr()?) } else { None };
    match (stored, result) {
        (Some(stored), Some(result)) if stored != result => {
            Err(Error::bug(format!("the data are in {stored}, and their result in {result}")))
        }
        _ => Ok(stored.or(result).unwrap_or(Vgpr(0))),
    }
}

fn takes_data(entry: &OpcodeRow) -> bool {
    entry.is(Traits::STORES.or(Traits::ATOMIC))
}

fn returns(entry: &OpcodeRow, cache: CachePolicy) -> bool {
    if entry.is(Traits::ATOMIC) { cache.returns() } else { !entry.is(Traits::STORES) }
}
