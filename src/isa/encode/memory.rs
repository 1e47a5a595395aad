//! DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG, EXP.

use super::{Encoder, ensure, vgprs};
use crate::instruction::{Addresses, BufferFields, DsFields, ExportFields, FlatFields, ImageFields, LdsDirectFields};
use crate::layout::CodeField;
use crate::{ExpTarget, Format, Op, OperandKind, Scalar, Src, Traits, Vgpr};
use dovetail_base::error::{Error, Result};

impl Encoder<'_> {
    pub(super) fn ds(&mut self, f: &DsFields) -> Result<()> {
        let entry = self.inst.entry;
        let layout = &self.isa.layout.ds;
        self.begin(Format::Ds, layout.op, entry.number)?;
        ensure(f.gds || !entry.is(Traits::GDS), || "gds: has to be set".to_owned())?;
        ensure(!f.gds || !entry.is(Traits::STACK), || "gds: never".to_owned())?;
        let dst = vgprs("result", f.dst, entry.dst.first().map_or(0, |kind| kind.registers()))?;
        for (register, kind) in f.sources(entry) {
            vgprs("source", register, kind.registers())?;
        }
        self.put_flags([("gds", layout.gds, f.gds)])?;
        for (field, offset) in layout.offsets.into_iter().zip(f.offsets) {
            self.put("offset", field, offset.into())?;
        }
        for (field, data) in layout.data.into_iter().zip(f.data) {
            self.put("data", field, data.0.into())?;
        }
        self.put("address", layout.addr, f.addr.0.into())?;
        self.put("result", layout.dst, dst)?;
        self.end(self.inst.entry.format);
        Ok(())
    }

    pub(super) fn flat(&mut self, f: &FlatFields) -> Result<()> {
        let entry = self.inst.entry;
        let layout = self.isa.layout.flat(entry.format);
        self.begin(entry.format, layout.op, entry.number)?;
        if entry.is(Traits::INVALIDATES) {
            self.put("scalar address", layout.saddr, self.isa.codes.null.into())?;
            self.put_cache(&layout.cache, f.cache)?;
            self.end(self.inst.entry.format);
            return Ok(());
        }
        let scratch = entry.format == Format::Scratch;
        let own = entry.is(Traits::OWN_ADDRESS);
        ensure(f.saddr.is_none() || entry.format != Format::Flat, || "scalar address: FLAT has none".to_owned())?;
        ensure(!f.no_vaddr || scratch, || "no address: scratch only".to_owned())?;
        let switched = layout.vaddr_enabled != CodeField::NONE;
        let one = !scratch || switched || f.saddr.is_none() || f.no_vaddr;
        ensure(one, || "address: one of two in scratch".to_owned())?;
        let saddr = match f.saddr {
            Some(s) => self.scalars("scalar address", s, if scratch { 1 } else { 2 })?,
            None if f.no_vaddr && !switched => self.isa.layout.no_address,
            None => self.isa.codes.null.into(),
        };
        let wide = f.saddr.is_none() && !scratch && !own;
        let addr = vgprs("address", f.addr, if wide { 2 } else { 1 })?;
        let registers = entry.data_registers();
        let atomic = entry.is(Traits::ATOMIC);
        let data = vgprs("data", f.data, if entry.dst.is_empty() { registers } else { 0 })?;
        let dst =
            vgprs("result", f.dst, if atomic && f.cache.returns() { registers } else { 0 }.max(result(entry.dst)))?;
        self.put_number("offset", layout.offset, f.offset)?;
        self.put("scalar address", layout.saddr, saddr)?;
        self.put("address", layout.addr, addr)?;
        self.put("data", layout.data, data)?;
        self.put("result", layout.dst, dst)?;
        self.put_flags([
            ("vector address", layout.vaddr_enabled, switched && !f.no_vaddr),
            ("lds", layout.lds, f.lds),
        ])?;
        self.put_cache(&layout.cache, f.cache)?;
        self.end(self.inst.entry.format);
        Ok(())
    }

    pub(super) fn buffer(&mut self, f: &BufferFields) -> Result<()> {
        let entry = self.inst.entry;
        let typed = entry.format == Format::Mtbuf;
        let layout = if typed { &self.isa.layout.mtbuf } else { &self.isa.layout.mubuf };
        self.begin(entry.format, layout.op, entry.number)?;
        if entry.is(Traits::INVALIDATES) {
            self.end(self.inst.entry.format);
            return Ok(());
        }
        let data = vgprs("data", f.data, entry.data_registers() + u8::from(f.tfe))?;
        let vaddr = vgprs("address", f.vaddr, f.address_registers())?;
        let resource = self.scalars("descriptor", f.resource, 4)?;
        ensure(matches!(f.resource, Scalar::Sgpr(_)), || "descriptor: SGPRs only".to_owned())?;
        let soffset = match f.soffset {
            Src::Scalar(_) | Src::Int(_) | Src::Float(_) => self.source(0, f.soffset, OperandKind::B32)?,
            other => return Err(Error::bug(format!("scalar offset: {other} has no place here"))),
        };
        ensure(f.format.is_some() == typed, || "format: typed access only".to_owned())?;
        ensure(!typed || !f.lds, || "lds: untyped access only".to_owned())?;
        // Where both kinds have the field, an access without a type has format 1.
        let untyped = u8::from(layout.format != CodeField::NONE);
        self.put("format", layout.format, f.format.unwrap_or(untyped).into())?;
        self.put("offset", layout.offset, f.offset)?;
        self.put("address", layout.vaddr, vaddr)?;
        self.put("data", layout.data, data)?;
        self.put("descriptor", layout.resource, resource / layout.register_unit)?;
        self.put("scalar offset", layout.soffset, soffset)?;
        self.put_flags([
            ("offen", layout.offen, f.offen),
            ("idxen", layout.idxen, f.idxen),
            ("lds", layout.lds, f.lds),
            ("tfe", layout.tfe, f.tfe),
        ])?;
        self.put_cache(&layout.cache, f.cache)?;
        self.end(self.inst.entry.format);
        Ok(())
    }

    pub(super) fn image(&mut self, f: &ImageFields) -> Result<()> {
        let entry = self.inst.entry;
        let layout = self.isa.layout.image(entry.format);
        self.begin(entry.format, layout.op, entry.number)?;
        let separate = layout.more_addresses[0] != CodeField::NONE;
        ensure(f.nsa || !separate, || "addresses: separate ones only".to_owned())?;
        let data = vgprs("data", f.data, f.data_registers(entry) + f.status_registers())?;
        let count = f.address_registers(entry);
        let addresses = f.addresses.as_slice();
        let given = u8::try_from(addresses.len()).unwrap_or(u8::MAX);
        let wanted = if f.nsa { count } else { 1 };
        ensure(given == wanted, || format!("addresses: {given} given, {wanted} wanted"))?;
        let named = self.named_addresses(f)?;
        let first = addresses.first().copied().unwrap_or(Vgpr(0));
        let vaddr = vgprs("addresses", first, if f.nsa { 1 } else { count })?;
        let resource = self.scalars("descriptor", f.resource, f.resource_registers(entry))?;
        let sampler = self.scalars("sampler", f.sampler, if entry.is(Traits::SAMPLES) { 4 } else { 1 })?;
        let registers = [f.resource, f.sampler].into_iter().all(|s| matches!(s, Scalar::Sgpr(_)));
        ensure(registers && sampler.is_multiple_of(4), || "descriptor, sampler: SGPRs only".to_owned())?;
        self.put("address", layout.vaddr, vaddr)?;
        self.put("data", layout.data, data)?;
        self.put("descriptor", layout.resource, resource / layout.register_unit)?;
        self.put("sampler", layout.sampler, sampler / layout.register_unit)?;
        self.put("dimension", layout.dim, f.dim.into())?;
        self.put("component mask", layout.dmask, f.dmask.into())?;
        self.put("further addresses", layout.nsa, f.nsa_dwords(entry).into())?;
        if separate {
            let rest = named.as_slice().get(1..).unwrap_or_default();
            for (field, v) in layout.more_addresses.into_iter().zip(rest) {
                self.put("address", field, v.0.into())?;
            }
        }
        self.put_flags([
            ("unorm", layout.unorm, f.unorm),
            ("r128", layout.r128, f.r128),
            ("tfe", layout.tfe, f.tfe),
            ("lwe", layout.lwe, f.lwe),
            ("a16", layout.a16, f.a16),
            ("d16", layout.d16, f.d16),
        ])?;
        self.put_cache(&layout.cache, f.cache)?;
        self.end(self.inst.entry.format);
        if f.nsa && !separate {
            let rest = named.as_slice().get(1..).unwrap_or_default();
            self.out.extend(rest.chunks(4).map(|four| {
                let mut bytes = [0; 4];
                bytes.iter_mut().zip(four).for_each(|(byte, v)| *byte = v.0);
                u32::from_le_bytes(bytes)
            }));
        }
        Ok(())
    }

    /// The address registers that the encoding names: of each group the first, which the others have to follow.
    fn named_addresses(&self, f: &ImageFields) -> Result<Addresses> {
        let entry = self.inst.entry;
        let grouped = self.isa.layout.image(entry.format).groups;
        let groups = f.address_groups(entry, grouped, self.isa.image_addresses(entry));
        let Some(groups) = groups else { return Ok(f.addresses) };
        let (mut rest, mut named) = (f.addresses.as_slice(), [(Vgpr(0), 1); Addresses::MOST]);
        let mut count = 0;
        for length in groups.iter().copied() {
            let (group, after) = rest.split_at_checked(usize::from(length)).unwrap_or((rest, &[]));
            let follows = group.windows(2).all(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
            ensure(follows, || format!("addresses: {length} from {} on have to follow one another", group[0]))?;
            if let (Some(to), Some(first)) = (named.get_mut(count), group.first()) {
                *to = (*first, 1);
                count += 1;
            }
            rest = after;
        }
        ensure(count == usize::from(f.addresses.named()), || "addresses: other groups".to_owned())?;
        Ok(Addresses::grouped(named.get(..count).unwrap_or(&named)))
    }

    pub(super) fn lds_direct(&mut self, f: &LdsDirectFields) -> Result<()> {
        let entry = self.inst.entry;
        let layout = &self.isa.layout.ldsdir;
        self.begin(Format::Ldsdir, layout.op, entry.number)?;
        let none = entry.op == Op::LdsParamLoad || (f.attribute, f.channel) == (0, 0);
        ensure(none, || "attribute: parameters only".to_owned())?;
        self.put("result", layout.dst, f.dst.0.into())?;
        self.put("attribute", layout.attribute, f.attribute.into())?;
        self.put("channel", layout.channel, f.channel.into())?;
        self.put("wait", layout.wait, f.wait.into())?;
        self.put_flags([("memory", layout.memory, f.memory)])?;
        self.end(self.inst.entry.format);
        Ok(())
    }

    pub(super) fn export(&mut self, f: &ExportFields) -> Result<()> {
        let layout = &self.isa.layout.exp;
        self.begin(Format::Exp, CodeField::NONE, 0)?;
        let exists = f.target < 64 && layout.targets >> f.target & 1 == 1;
        ensure(exists && ExpTarget::from_number(f.target).is_some(), || {
            format!("target: no export target {}", f.target)
        })?;
        self.put("components", layout.enabled, f.enabled.into())?;
        self.put("target", layout.target, f.target.into())?;
        let flags = [("vm", layout.vm, f.vm), ("done", layout.done, f.done), ("compr", layout.compr, f.compr)];
        self.put_flags(flags)?;
        self.put_flags([("row", layout.row, f.row)])?;
        for (field, data) in layout.data.into_iter().zip(f.data) {
            self.put("data", field, data.0.into())?;
        }
        self.end(self.inst.entry.format);
        Ok(())
    }
}

fn result(kinds: &[OperandKind]) -> u8 {
    kinds.first().map_or(0, |kind| kind.registers())
}
