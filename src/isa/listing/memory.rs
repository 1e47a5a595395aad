//! Text of memory accesses and exports.

use super::Listing;
use super::registers::{Scalars, Vgprs};
use crate::instruction::{BufferFields, DsFields, ExportFields, FlatFields, ImageFields, LdsDirectFields};
use crate::layout::CodeField;
use crate::{BufferFormat, ExpTarget, Format, Op, Traits, Vgpr};
use std::fmt::Write;

impl Listing<'_> {
    pub(super) fn ds(&mut self, f: &DsFields) {
        let entry = self.inst.entry;
        if let Some(kind) = entry.dst.first() {
            self.push(Vgprs(f.dst, kind.registers()));
        }
        for (register, kind) in f.sources(entry) {
            self.push(Vgprs(register, kind.registers()));
        }
        let offset = u16::from_le_bytes(f.offsets);
        if entry.is(Traits::TWO_OFFSETS) {
            for (name, offset) in ["offset0", "offset1"].iter().zip(f.offsets).filter(|(_, offset)| *offset != 0) {
                let _ = write!(self.tail, " {name}:{offset}");
            }
        } else if offset != 0 {
            let _ = write!(self.tail, " offset:{offset}");
        }
        self.tail(&[(f.gds, "gds")]);
    }

    pub(super) fn lds_direct(&mut self, f: &LdsDirectFields) {
        const CHANNELS: [&str; 4] = ["x", "y", "z", "w"];
        self.push(f.dst);
        if self.inst.entry.op == Op::LdsParamLoad {
            let channel = CHANNELS.get(usize::from(f.channel)).copied().unwrap_or("?");
            self.push(format!("attr{}.{channel}", f.attribute));
        }
        if self.isa.layout.ldsdir.memory == CodeField::NONE {
            let _ = write!(self.tail, " wait_vdst:{}", f.wait);
        } else {
            let _ = write!(self.tail, " wait_va_vdst:{} wait_vm_vsrc:{}", f.wait, u8::from(f.memory));
        }
    }

    pub(super) fn flat(&mut self, f: &FlatFields) {
        let entry = self.inst.entry;
        if entry.is(Traits::INVALIDATES) {
            return self.cache(f.cache);
        }
        let load = entry.dst.first();
        let atomic = entry.is(Traits::ATOMIC);
        let own = entry.is(Traits::OWN_ADDRESS);
        let scratch = entry.format == Format::Scratch;
        let wide = f.saddr.is_none() && !scratch;
        if let Some(kind) = load {
            self.push(Vgprs(f.dst, kind.registers_in(self.wave)));
        } else if atomic && f.cache.returns() {
            // The comparator of a compare-and-swap is not returned.
            let halved = if entry.is(Traits::COMPARES) { 2 } else { 1 };
            self.push(Vgprs(f.dst, entry.data_registers() / halved));
        }
        match (own, f.no_vaddr) {
            (true, _) => {}
            (_, true) => self.push("off"),
            _ => self.push(Vgprs(f.addr, if wide { 2 } else { 1 })),
        }
        if let Some(kind) = entry.src.first() {
            self.push(Vgprs(f.data, kind.registers()));
        }
        match f.saddr {
            _ if entry.format == Format::Flat => {}
            Some(s) => self.push(Scalars(s, if scratch { 1 } else { 2 })),
            None => self.push("off"),
        }
        if f.offset != 0 {
            let _ = write!(self.tail, " offset:{}", f.offset);
        }
        self.cache(f.cache);
        self.tail(&[(f.lds, "lds")]);
    }

    pub(super) fn buffer(&mut self, f: &BufferFields) {
        let entry = self.inst.entry;
        if entry.is(Traits::INVALIDATES) {
            return;
        }
        if !f.lds {
            self.push(Vgprs(f.data, entry.data_registers() + u8::from(f.tfe)));
        }
        match f.address_registers() {
            0 => self.push("off"),
            n => self.push(Vgprs(f.vaddr, n)),
        }
        self.push(Scalars(f.resource, 4));
        // The format is printed before the flags, as if it belonged to the offset.
        let format = f.format.filter(|n| *n != 1).and_then(BufferFormat::new);
        let soffset = f.soffset.to_string();
        let layouts = self.isa.facts().buffer_layouts;
        self.push(format.map_or(soffset.clone(), |format| format!("{soffset} {}", format.text(layouts))));
        self.tail(&[(f.idxen, "idxen"), (f.offen, "offen")]);
        if f.offset != 0 {
            let _ = write!(self.tail, " offset:{}", f.offset);
        }
        self.cache(f.cache);
        self.tail(&[(f.tfe, "tfe"), (f.lds, "lds")]);
    }

    pub(super) fn image(&mut self, f: &ImageFields) {
        const DIMS: [&str; 8] = ["1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"];
        let entry = self.inst.entry;
        self.push(Vgprs(f.data, f.data_registers(entry) + f.status_registers()));
        let count = f.address_registers(entry);
        if f.nsa && (count > 1 || entry.dwords == 2) {
            let groups =
                f.address_groups(entry, self.isa.layout.image(entry.format).groups, self.isa.image_addresses(entry));
            let mut rest = f.addresses.as_slice();
            let group = |length: &u8| {
                let (group, after) = rest.split_at_checked(usize::from(*length)).unwrap_or((rest, &[]));
                rest = after;
                Vgprs(group.first().copied().unwrap_or(Vgpr(0)), *length).to_string()
            };
            let list: Vec<String> = match groups {
                Some(groups) => groups.iter().map(group).collect(),
                None => rest.iter().map(Vgpr::to_string).collect(),
            };
            self.push(format!("[{}]", list.join(", ")));
        } else if let Some(first) = f.addresses.as_slice().first() {
            self.push(Vgprs(*first, count));
        }
        // A descriptor of four dwords is printed as if it had eight.
        self.push(Scalars(f.resource, if entry.is(Traits::RAY) { 4 } else { 8 }));
        if entry.is(Traits::RAY) {
            self.tail(&[(f.a16, "a16")]);
            return;
        }
        if entry.is(Traits::SAMPLES) {
            self.push(Scalars(f.sampler, 4));
        }
        let dim = DIMS.get(usize::from(f.dim)).copied().unwrap_or("?");
        let _ = write!(self.tail, " dmask:{:#x} dim:SQ_RSRC_IMG_{dim}", f.dmask);
        self.tail(&[(f.unorm, "unorm")]);
        self.cache(f.cache);
        self.tail(&[(f.r128, "r128"), (f.a16, "a16"), (f.tfe, "tfe"), (f.lwe, "lwe"), (f.d16, "d16")]);
    }

    pub(super) fn export(&mut self, f: &ExportFields, name: &str) -> String {
        let target = ExpTarget::from_number(f.target);
        let target = target.map_or_else(|| format!("invalid_target_{}", f.target), |target| target.to_string());
        for i in 0..4usize {
            let register = f.data[if f.compr { i / 2 } else { i }];
            let on = f.enabled >> i & 1 == 1;
            self.push(if on { register.to_string() } else { "off".to_owned() });
        }
        self.tail(&[(f.done, "done"), (f.compr, "compr"), (f.vm, "vm"), (f.row, "row_en")]);
        format!("{name} {target}")
    }
}
