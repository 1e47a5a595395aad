//! DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG, EXP.

use super::{Read, Reader, bit, bits, field, low16, scalar, scalars, source, vgpr, vgprs};
use crate::error::{Error, Result};
use crate::isa::instruction::{Addresses, BufferFields, DsFields, ExportFields, Fields, FlatFields, ImageFields};
use crate::isa::{CachePolicy, Format, Traits, Vgpr};

impl Reader<'_> {
    pub(super) fn ds(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let entry = self.entry(Format::Ds, bits(word, 25, 18))?;
        let fields = DsFields {
            dst: vgpr(bits(second, 31, 24)),
            addr: vgpr(bits(second, 7, 0)),
            data: [vgpr(bits(second, 15, 8)), vgpr(bits(second, 23, 16))],
            offsets: [field(word, 7, 0), field(word, 15, 8)],
            gds: bit(word, 17),
        };
        if let Some(kind) = entry.dst.first() {
            vgprs(fields.dst, kind.registers())?;
        }
        for (data, kind) in fields.data.iter().zip(entry.src.iter().skip(1)) {
            vgprs(*data, kind.registers())?;
        }
        Ok((entry, Fields::Ds(fields)))
    }

    pub(super) fn flat(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let format = match bits(word, 15, 14) {
            0 => Format::Flat,
            1 => Format::Scratch,
            2 => Format::Global,
            _ => return Err(Error::malformed("no such segment")),
        };
        let entry = self.entry(format, bits(word, 24, 18))?;
        let offset = bits(word, 11, 0);
        let scratch = format == Format::Scratch;
        let code = bits(second, 22, 16);
        let none = code == 125 || code == 127 && scratch || format == Format::Flat;
        let fields = FlatFields {
            dst: vgpr(bits(second, 31, 24)),
            addr: vgpr(bits(second, 7, 0)),
            data: vgpr(bits(second, 15, 8)),
            saddr: if none { None } else { Some(scalar(code)?) },
            no_vaddr: scratch && code != 125,
            offset: if format == Format::Flat {
                bits(offset, 10, 0).cast_signed()
            } else {
                // Sign extension from 12 bits.
                (offset << 20).cast_signed() >> 20
            },
            lds: bit(word, 13),
            cache: CachePolicy { glc: bit(word, 16), slc: bit(word, 17), dlc: bit(word, 12) },
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

    pub(super) fn buffer(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let typed = word >> 26 == 0b11_1010;
        let entry = if typed {
            self.entry(Format::Mtbuf, bits(word, 18, 16) | bits(second, 21, 21) << 3)?
        } else {
            self.entry(Format::Mubuf, bits(word, 24, 18) | bits(word, 25, 25) << 7)?
        };
        // An invalidation has no operands; the bits of their fields are ignored.
        let (word, second) = if entry.is(Traits::INVALIDATES) { (0, 0) } else { (word, second) };
        let fields = BufferFields {
            data: vgpr(bits(second, 15, 8)),
            vaddr: vgpr(bits(second, 7, 0)),
            idxen: bit(word, 13),
            offen: bit(word, 12),
            resource: scalar(bits(second, 20, 16) << 2)?,
            soffset: source(bits(second, 31, 24), None)?,
            offset: low16(bits(word, 11, 0)),
            format: if typed { Some(field(word, 25, 19)) } else { None },
            lds: !typed && bit(word, 16),
            tfe: bit(second, 23),
            cache: CachePolicy { glc: bit(word, 14), slc: bit(second, 22), dlc: bit(word, 15) },
        };
        vgprs(fields.data, entry.data_registers() + u8::from(fields.tfe))?;
        vgprs(fields.vaddr, u8::from(fields.idxen) + u8::from(fields.offen))?;
        scalars(fields.resource, 4)?;
        Ok((entry, Fields::Buffer(fields)))
    }

    pub(super) fn image(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let entry = self.entry(Format::Mimg, bits(word, 24, 18) | bits(word, 0, 0) << 7)?;
        let nsa = bits(word, 2, 1);
        let mut addresses = [vgpr(bits(second, 7, 0)); Addresses::MOST];
        for more in addresses[1..].chunks_exact_mut(4).take(nsa as usize) {
            more.copy_from_slice(&self.take()?.to_le_bytes().map(Vgpr));
        }
        let mut fields = ImageFields {
            data: vgpr(bits(second, 15, 8)),
            addresses: Addresses::new(&addresses[..1]),
            nsa: nsa != 0,
            resource: scalar(bits(second, 20, 16) << 2)?,
            sampler: scalar(bits(second, 25, 21) << 2)?,
            dim: field(word, 5, 3),
            dmask: field(word, 11, 8),
            unorm: bit(word, 12),
            r128: bit(word, 15),
            a16: bit(second, 30),
            d16: bit(second, 31),
            tfe: bit(word, 16),
            lwe: bit(word, 17),
            cache: CachePolicy { glc: bit(word, 13), slc: bit(word, 25), dlc: bit(word, 7) },
        };
        vgprs(fields.data, fields.data_registers(entry) + fields.status_registers())?;
        scalars(fields.resource, fields.resource_registers(entry))?;
        let count = usize::from(fields.address_registers(entry));
        if fields.nsa {
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
        let word = self.word;
        let second = self.take()?;
        let fields = ExportFields {
            target: field(word, 9, 4),
            enabled: field(word, 3, 0),
            data: second.to_le_bytes().map(Vgpr),
            compr: bit(word, 10),
            done: bit(word, 11),
            vm: bit(word, 12),
        };
        Ok((self.entry(Format::Exp, 0)?, Fields::Export(fields)))
    }
}
