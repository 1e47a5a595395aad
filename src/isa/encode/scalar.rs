//! Encodes scalar instructions and scalar memory: SOP1, SOP2, SOPC, SOPK, SOPP, SMEM.

use super::{Encoder, ensure};
use crate::instruction::{ScalarFields, SmemFields};
use crate::{Format, Scalar, Src, Traits};
use dovetail_base::error::Result;

impl Encoder<'_> {
    pub(super) fn scalar(&mut self, f: &ScalarFields) -> Result<()> {
        let entry = self.inst.entry;
        let Some(layout) = self.isa.layout.scalar(entry.format) else { return Ok(()) };
        self.begin(entry.format, layout.op, entry.number)?;
        ensure(f.dst.is_some() != entry.dst.is_empty(), || "result: one too many or too few".to_owned())?;
        let dst = match f.dst {
            Some(dst) => self.mask("result", dst, entry.dst_kind(0))?,
            None => 0,
        };
        let mut codes = [0; 3];
        for (i, (code, src)) in codes.iter_mut().zip(f.srcs).enumerate() {
            ensure(src.is_some() == (i < entry.src.len()), || format!("source {i}: one too many or too few"))?;
            let Some(src) = src else { continue };
            let none = !entry.is(Traits::NULL_ONLY) || src == Src::Scalar(Scalar::Null);
            ensure(none && entry.scalar_source(i).accepts(src), || format!("source {i}: {src} has no place here"))?;
            *code = self.source(i, src, entry.src_kind(i))?;
        }
        let asks = entry.is(Traits::MESSAGE) && entry.format == Format::Sop1;
        let constant = matches!(entry.format, Format::Sopk | Format::Sopp) || asks;
        ensure(constant || f.imm == 0, || format!("constant: {} has none", entry.format))?;
        let (dst, [a, b]) = match (entry.format, f.srcs[0]) {
            // The only register field is the result or the source.
            (Format::Sopk, Some(Src::Scalar(_))) => (codes[0], [0; 2]),
            (Format::Sopk, _) => (dst, [0; 2]),
            _ if asks => (dst, [f.imm.into(), 0]),
            _ if entry.is(Traits::CONSTANT_SECOND) => (dst, [codes[0], codes[2]]),
            _ => (dst, [codes[0], codes[1]]),
        };
        self.put("result", layout.dst, dst)?;
        self.put("source 0", layout.srcs[0], a)?;
        self.put("source 1", layout.srcs[1], b)?;
        self.put("constant", layout.imm, if asks { 0 } else { f.imm.into() })?;
        self.end(entry.format);
        self.out.extend(self.literal);
        Ok(())
    }

    pub(super) fn smem(&mut self, f: &SmemFields) -> Result<()> {
        let entry = self.inst.entry;
        let layout = &self.isa.layout.smem;
        self.begin(Format::Smem, layout.op, entry.number)?;
        if !entry.is(Traits::INVALIDATES) {
            if !entry.is(Traits::NO_DATA) {
                // A probe has a constant in place of the data.
                let data = self.scalars("data", f.data, entry.data_registers())?;
                self.put("data", layout.data, data)?;
            }
            if !entry.is(Traits::NO_ADDRESS) {
                let base = self.scalars("base", f.base, if entry.is(Traits::DESCRIPTOR) { 4 } else { 2 })?;
                self.put("base", layout.base, base >> 1)?;
            }
            if !entry.is(Traits::NO_ADDRESS) || entry.is(Traits::PREFETCHES) {
                let soffset = self.scalars("scalar offset", f.soffset.unwrap_or(Scalar::Null), 1)?;
                ensure(!f.cache.slc, || "slc: scalar memory has none".to_owned())?;
                self.put("scalar offset", layout.soffset, soffset)?;
                self.put_number("offset", layout.offset, f.offset)?;
                self.put_cache(&layout.cache, f.cache)?;
            }
        }
        self.end(Format::Smem);
        Ok(())
    }
}
