//! DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG, EXP.

use super::{Read, Reader, scalars, vgprs};
use crate::instruction::{
    Addresses, BufferFields, DsFields, ExportFields, Fields, FlatFields, ImageFields, LdsDirectFields,
};
use crate::layout::{CacheLayout, CodeField};
use crate::{CachePolicy, Format, Op, Traits, Vgpr};
use dovetail_base::error::{Error, Result};

impl Reader<'_> {
    pub(super) fn cache(&self, layout: &CacheLayout) -> CachePolicy {
        CachePolicy {
            glc: self.is_set(layout.glc),
            slc: self.is_set(layout.slc),
            dlc: self.is_set(layout.dlc),
            scope: self.small(layout.scope),
            hint: self.small(layout.hint),
        }
    }

    pub(super) fn ds(&mut self) -> Result<Read> {
        let layout = &self.isa.layout.ds;
        let entry = self.entry(Format::Ds, layout.op)?;
        let fields = DsFields {
            dst: self.vgpr(layout.dst),
            addr: self.vgpr(layout.addr),
            data: layout.data.map(|field| self.vgpr(field)),
            offsets: layout.offsets.map(|field| self.small(field)),
            gds: self.is_set(layout.gds),
        };
        if let Some(kind) = entry.dst.first() {
            vgprs(fields.dst, kind.registers())?;
        }
        for (data, kind) in fields.data.iter().zip(entry.src.iter().skip(1)) {
            vgprs(*data, kind.registers())?;
        }
        Ok((entry, Fields::Ds(fields)))
    }

    pub(super) fn lds_direct(&mut self) -> Result<Read> {
        let layout = &self.isa.layout.ldsdir;
        let entry = self.entry(Format::Ldsdir, layout.op)?;
        // Without a parameter, the fields that name one are ignored.
        let of_parameter = |field: CodeField| if entry.op == Op::LdsParamLoad { self.small(field) } else { 0 };
        let fields = LdsDirectFields {
            dst: self.vgpr(layout.dst),
            attribute: of_parameter(layout.attribute),
            channel: of_parameter(layout.channel),
            wait: self.small(layout.wait),
            memory: self.is_set(layout.memory),
        };
        Ok((entry, Fields::LdsDirect(fields)))
    }

    pub(super) fn flat(&mut self, format: Format) -> Result<Read> {
        let layout = self.isa.layout.flat(format);
        let entry = self.entry(format, layout.op)?;
        let cache = self.cache(&layout.cache);
        if entry.is(Traits::INVALIDATES) {
            let (v, none) = (Vgpr(0), None);
            let fields =
                FlatFields { dst: v, addr: v, data: v, saddr: none, no_vaddr: false, offset: 0, lds: false, cache };
            return Ok((entry, Fields::Flat(fields)));
        }
        let scratch = format == Format::Scratch;
        let code = self.get(layout.saddr);
        let no_saddr = code == u32::from(self.isa.codes.null);
        let switched = layout.vaddr_enabled != CodeField::NONE;
        let no_address = scratch && !switched && code == self.isa.layout.no_address;
        let none = no_saddr || no_address || format == Format::Flat;
        let no_vaddr = if switched { !self.is_set(layout.vaddr_enabled) } else { scratch && !no_saddr };
        let fields = FlatFields {
            dst: self.vgpr(layout.dst),
            addr: self.vgpr(layout.addr),
            data: self.vgpr(layout.data),
            saddr: if none { None } else { Some(self.scalar_code(code)?) },
            no_vaddr,
            offset: layout.offset.number(self.word),
            lds: self.is_set(layout.lds),
            cache,
        };
        match (entry.dst.first(), entry.src.first()) {
            (Some(kind), _) => vgprs(fields.dst, kind.registers())?,
            (None, Some(kind)) => vgprs(fields.data, kind.registers())?,
            (None, None) => {}
        }
        if fields.saddr.is_none() && !scratch && !entry.is(Traits::OWN_ADDRESS) {
            vgprs(fields.addr, 2)?;
        }
        Ok((entry, Fields::Flat(fields)))
    }

    pub(super) fn buffer(&mut self, format: Format) -> Result<Read> {
        let typed = format == Format::Mtbuf;
        let layout = if typed { &self.isa.layout.mtbuf } else { &self.isa.layout.mubuf };
        let entry = self.entry(format, layout.op)?;
        // An invalidation has no operands; the bits of their fields are ignored.
        if entry.is(Traits::INVALIDATES) {
            self.word = 0;
        }
        let fields = BufferFields {
            data: self.vgpr(layout.data),
            vaddr: self.vgpr(layout.vaddr),
            idxen: self.is_set(layout.idxen),
            offen: self.is_set(layout.offen),
            resource: self.scalar_code(self.get(layout.resource) * layout.register_unit)?,
            soffset: self.source_with(self.get(layout.soffset), None)?,
            offset: self.get(layout.offset),
            format: if typed { Some(self.small(layout.format)) } else { None },
            lds: self.is_set(layout.lds),
            tfe: self.is_set(layout.tfe),
            cache: self.cache(&layout.cache),
        };
        vgprs(fields.data, entry.data_registers() + u8::from(fields.tfe))?;
        vgprs(fields.vaddr, u8::from(fields.idxen) + u8::from(fields.offen))?;
        scalars(fields.resource, 4)?;
        Ok((entry, Fields::Buffer(fields)))
    }

    pub(super) fn image(&mut self, format: Format) -> Result<Read> {
        let layout = self.isa.layout.image(format);
        let entry = self.entry(format, layout.op)?;
        let nsa = self.get(layout.nsa);
        let mut addresses = [self.vgpr(layout.vaddr); Addresses::MOST];
        for more in addresses[1..].chunks_exact_mut(4).take(nsa as usize) {
            more.copy_from_slice(&self.take()?.to_le_bytes().map(Vgpr));
        }
        let separate = layout.more_addresses[0] != CodeField::NONE;
        if separate {
            let fields = layout.more_addresses.map(|field| self.vgpr(field));
            addresses[1..].iter_mut().zip(fields).for_each(|(to, v)| *to = v);
        }
        let mut fields = ImageFields {
            data: self.vgpr(layout.data),
            addresses: Addresses::new(&addresses[..1]),
            nsa: separate || nsa != 0,
            resource: self.scalar_code(self.get(layout.resource) * layout.register_unit)?,
            sampler: self.scalar_code(self.get(layout.sampler) * layout.register_unit)?,
            dim: self.small(layout.dim),
            dmask: self.small(layout.dmask),
            unorm: self.is_set(layout.unorm),
            r128: self.is_set(layout.r128),
            a16: self.is_set(layout.a16),
            d16: self.is_set(layout.d16),
            tfe: self.is_set(layout.tfe),
            lwe: self.is_set(layout.lwe),
            cache: self.cache(&layout.cache),
        };
        vgprs(fields.data, fields.data_registers(entry) + fields.status_registers())?;
        scalars(fields.resource, fields.resource_registers(entry))?;
        let count = usize::from(fields.address_registers(entry));
        if let Some(groups) = fields.address_groups(entry, layout.groups, self.isa.image_addresses(entry)) {
            // A group is named by its first register; surplus bytes are ignored.
            let named: Vec<(Vgpr, u8)> = addresses.iter().copied().zip(groups.iter().copied()).collect();
            let wrong = || Error::malformed(format!("{count} image addresses in {nsa} extra dwords"));
            named.iter().try_for_each(|(first, count)| vgprs(*first, *count))?;
            fields.addresses = Addresses::grouped(&named);
            if u32::from(fields.nsa_dwords(entry)) != nsa {
                return Err(wrong());
            }
        } else if separate {
            fields.addresses = Addresses::new(addresses.get(..count).unwrap_or(&addresses));
        } else if fields.nsa {
            // Surplus bytes of the last address dword are ignored; a dword without any address is invalid.
            let named = addresses.get(..count).filter(|_| (count - 1).div_ceil(4) == nsa as usize);
            let wrong = || Error::malformed(format!("{count} image addresses in {nsa} extra dwords"));
            fields.addresses = Addresses::new(named.ok_or_else(wrong)?);
        } else {
            vgprs(addresses[0], fields.address_registers(entry))?;
        }
        Ok((entry, Fields::Image(fields)))
    }

    pub(super) fn export(&mut self) -> Result<Read> {
        let layout = &self.isa.layout.exp;
        let fields = ExportFields {
            target: self.small(layout.target),
            enabled: self.small(layout.enabled),
            data: layout.data.map(|field| self.vgpr(field)),
            compr: self.is_set(layout.compr),
            done: self.is_set(layout.done),
            vm: self.is_set(layout.vm),
            row: self.is_set(layout.row),
        };
        Ok((self.entry(Format::Exp, CodeField::NONE)?, Fields::Export(fields)))
    }
}
