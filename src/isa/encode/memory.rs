//! DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG, EXP.

use super::{Encoder, ensure, field, flag, scalars, signed, vgprs};
use crate::error::Result;
use crate::isa::instruction::{BufferFields, DsFields, ExportFields, FlatFields, ImageFields};
use crate::isa::{Format, Scalar, Src, Traits, Vgpr};

/// SADDR of a flat access without one, and of a scratch access without any address.
const NO_SADDR: u32 = 125;
const NO_ADDRESS: u32 = 127;

impl Encoder<'_> {
    pub(super) fn ds(&mut self, f: &DsFields) -> Result<()> {
        let entry = self.inst.entry;
        ensure(f.gds || !entry.is(Traits::GDS), || "gds: has to be set".to_owned())?;
        let dst = vgprs("result", f.dst, entry.dst.first().map_or(0, |kind| kind.registers()))?;
        for (register, kind) in f.sources(entry) {
            vgprs("source", register, kind.registers())?;
        }
        let [first, second] = f.offsets.map(u32::from);
        self.out.push(0xd800_0000 | u32::from(entry.number) << 18 | flag(f.gds, 17) | second << 8 | first);
        let [low, high] = f.data.map(|v| u32::from(v.0));
        self.out.push(dst << 24 | high << 16 | low << 8 | u32::from(f.addr.0));
        Ok(())
    }

    pub(super) fn flat(&mut self, f: &FlatFields) -> Result<()> {
        let entry = self.inst.entry;
        let scratch = entry.format == Format::Scratch;
        let own = entry.is(Traits::OWN_ADDRESS);
        let (segment, offset) = match entry.format {
            Format::Flat => (0, field("offset", f.offset.cast_unsigned(), 11)?),
            Format::Scratch => (1, signed("offset", f.offset, 12)?),
            _ => (2, signed("offset", f.offset, 12)?),
        };
        ensure(f.saddr.is_none() || entry.format != Format::Flat, || "scalar address: FLAT has none".to_owned())?;
        ensure(!f.no_vaddr || scratch, || "no address: scratch only".to_owned())?;
        ensure(!scratch || f.saddr.is_none() || f.no_vaddr, || "address: one of two in scratch".to_owned())?;
        let saddr = match f.saddr {
            Some(s) => scalars("scalar address", s, if scratch { 1 } else { 2 })?,
            None if f.no_vaddr => NO_ADDRESS,
            None => NO_SADDR,
        };
        let wide = f.saddr.is_none() && !scratch && !own;
        let addr = vgprs("address", f.addr, if wide { 2 } else { 1 })?;
        let registers = entry.data_registers();
        let atomic = entry.is(Traits::ATOMIC);
        let data = vgprs("data", f.data, if entry.dst.is_empty() { registers } else { 0 })?;
        let dst = vgprs("result", f.dst, if atomic && f.cache.glc { registers } else { 0 }.max(result(entry.dst)))?;
        let cache = flag(f.cache.slc, 17) | flag(f.cache.glc, 16) | flag(f.cache.dlc, 12);
        let number = u32::from(entry.number) << 18;
        self.out.push(0xdc00_0000 | number | cache | segment << 14 | flag(f.lds, 13) | offset);
        self.out.push(dst << 24 | saddr << 16 | data << 8 | addr);
        Ok(())
    }

    pub(super) fn buffer(&mut self, f: &BufferFields) -> Result<()> {
        let entry = self.inst.entry;
        let number = u32::from(entry.number);
        if entry.is(Traits::INVALIDATES) {
            self.out.extend([0xe000_0000 | number << 18, 0]);
            return Ok(());
        }
        let data = vgprs("data", f.data, entry.data_registers() + u8::from(f.tfe))?;
        let vaddr = vgprs("address", f.vaddr, f.address_registers())?;
        let resource = scalars("descriptor", f.resource, 4)?;
        ensure(matches!(f.resource, Scalar::Sgpr(_)), || "descriptor: SGPRs only".to_owned())?;
        let soffset = match f.soffset {
            Src::Scalar(_) | Src::Int(_) | Src::Float(_) => self.source(0, f.soffset, crate::isa::OperandKind::B32)?,
            other => return Err(crate::error::Error::bug(format!("scalar offset: {other} has no place here"))),
        };
        let offset = field("offset", f.offset.into(), 12)?;
        let low = flag(f.cache.dlc, 15) | flag(f.cache.glc, 14) | flag(f.idxen, 13) | flag(f.offen, 12) | offset;
        let high = soffset << 24 | flag(f.tfe, 23) | flag(f.cache.slc, 22) | (resource >> 2) << 16 | data << 8 | vaddr;
        ensure(f.format.is_some() == (entry.format == Format::Mtbuf), || "format: typed access only".to_owned())?;
        match f.format {
            Some(format) => {
                ensure(!f.lds, || "lds: untyped access only".to_owned())?;
                let format = field("format", format.into(), 7)?;
                self.out.push(0xe800_0000 | format << 19 | (number & 7) << 16 | low);
                self.out.push(high | number >> 3 << 21);
            }
            None => {
                self.out.push(0xe000_0000 | number << 18 | flag(f.lds, 16) | low);
                self.out.push(high);
            }
        }
        Ok(())
    }

    pub(super) fn image(&mut self, f: &ImageFields) -> Result<()> {
        let entry = self.inst.entry;
        let number = u32::from(entry.number);
        let data = vgprs("data", f.data, f.data_registers(entry) + f.status_registers())?;
        let count = f.address_registers(entry);
        let addresses = f.addresses.as_slice();
        let given = u8::try_from(addresses.len()).unwrap_or(u8::MAX);
        let wanted = if f.nsa { count } else { 1 };
        ensure(given == wanted, || format!("addresses: {given} given, {wanted} wanted"))?;
        let first = addresses.first().copied().unwrap_or(Vgpr(0));
        let vaddr = vgprs("addresses", first, if f.nsa { 1 } else { count })?;
        let resource = scalars("descriptor", f.resource, f.resource_registers(entry))?;
        let sampler = scalars("sampler", f.sampler, if entry.is(Traits::SAMPLES) { 4 } else { 1 })?;
        let registers = [f.resource, f.sampler].into_iter().all(|s| matches!(s, Scalar::Sgpr(_)));
        ensure(registers && sampler.is_multiple_of(4), || "descriptor, sampler: SGPRs only".to_owned())?;
        let dim = field("dimension", f.dim.into(), 3)?;
        let dmask = field("component mask", f.dmask.into(), 4)?;
        let cache = flag(f.cache.slc, 25) | flag(f.cache.glc, 13) | flag(f.cache.dlc, 7);
        let flags = flag(f.lwe, 17) | flag(f.tfe, 16) | flag(f.r128, 15) | flag(f.unorm, 12);
        let operation = (number & 0x7f) << 18 | number >> 7;
        let nsa = u32::from(f.nsa_dwords()) << 1;
        self.out.push(0xf000_0000 | operation | cache | flags | dmask << 8 | dim << 3 | nsa);
        let halves = flag(f.d16, 31) | flag(f.a16, 30);
        self.out.push(halves | (sampler >> 2) << 21 | (resource >> 2) << 16 | data << 8 | vaddr);
        if f.nsa {
            let rest = addresses.get(1..).unwrap_or_default();
            self.out.extend(rest.chunks(4).map(|four| {
                let mut bytes = [0; 4];
                bytes.iter_mut().zip(four).for_each(|(byte, v)| *byte = v.0);
                u32::from_le_bytes(bytes)
            }));
        }
        Ok(())
    }

    pub(super) fn export(&mut self, f: &ExportFields) -> Result<()> {
        let known = matches!(f.target, 0..=9 | 12..=16 | 20 | 32..=63);
        ensure(known, || format!("target: no export target {}", f.target))?;
        let enabled = field("components", f.enabled.into(), 4)?;
        let flags = flag(f.vm, 12) | flag(f.done, 11) | flag(f.compr, 10);
        self.out.push(0xf800_0000 | flags | u32::from(f.target) << 4 | enabled);
        self.out.push(u32::from_le_bytes(f.data.map(Vgpr::number)));
        Ok(())
    }
}

fn result(kinds: &[crate::isa::OperandKind]) -> u8 {
    kinds.first().map_or(0, |kind| kind.registers())
}
