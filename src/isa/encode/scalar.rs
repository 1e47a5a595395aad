//! Encodes scalar instructions and scalar memory: SOP1, SOP2, SOPC, SOPK, SOPP, SMEM.

use super::{Encoder, ensure, flag, scalars, signed};
use crate::error::Result;
use crate::isa::instruction::{ScalarFields, SmemFields};
use crate::isa::{Format, Scalar, Src, Traits};

impl Encoder<'_> {
    pub(super) fn scalar(&mut self, f: &ScalarFields) -> Result<()> {
        let entry = self.inst.entry;
        let number = u32::from(entry.number);
        ensure(f.dst.is_some() != entry.dst.is_empty(), || "result: one too many or too few".to_owned())?;
        let dst = match f.dst {
            Some(dst) => self.scalars("result", dst, entry.dst_kind(0))?,
            None => 0,
        };
        let mut codes = [0; 2];
        for (i, (code, src)) in codes.iter_mut().zip(f.srcs).enumerate() {
            ensure(src.is_some() == (i < entry.src.len()), || format!("source {i}: one too many or too few"))?;
            let Some(src) = src else { continue };
            ensure(entry.scalar_source().accepts(src), || format!("source {i}: {src} has no place here"))?;
            *code = self.source(i, src, entry.src_kind(i))?;
        }
        let [a, b] = codes;
        let constant = matches!(entry.format, Format::Sopk | Format::Sopp);
        ensure(constant || f.imm == 0, || format!("constant: {} has none", entry.format))?;
        let imm = u32::from(f.imm);
        self.out.push(match entry.format {
            Format::Sop1 => 0xbe80_0000 | dst << 16 | number << 8 | a,
            Format::Sop2 => 0x8000_0000 | number << 23 | dst << 16 | b << 8 | a,
            Format::Sopc => 0xbf00_0000 | number << 16 | b << 8 | a,
            Format::Sopp => 0xbf80_0000 | number << 16 | imm,
            // The only register field is the result or the source.
            _ => {
                let register = match f.srcs[0] {
                    Some(Src::Scalar(_)) => a,
                    _ => dst,
                };
                0xb000_0000 | number << 23 | register << 16 | imm
            }
        });
        self.out.extend(self.literal);
        Ok(())
    }

    pub(super) fn smem(&mut self, f: &SmemFields) -> Result<()> {
        let entry = self.inst.entry;
        let first = 0xf400_0000 | u32::from(entry.number) << 18;
        if entry.is(Traits::INVALIDATES) {
            self.out.extend([first, 0]);
            return Ok(());
        }
        // A probe has a constant in place of the data.
        let data = scalars("data", f.data, entry.data_registers())?;
        if entry.is(Traits::TIMER) {
            self.out.extend([first | data << 6, 0]);
            return Ok(());
        }
        let base = scalars("base", f.base, if entry.is(Traits::DESCRIPTOR) { 4 } else { 2 })?;
        ensure(!f.cache.slc, || "slc: scalar memory has none".to_owned())?;
        let soffset = scalars("scalar offset", f.soffset.unwrap_or(Scalar::Null), 1)?;
        let offset = signed("offset", f.offset, 21)?;
        self.out.push(first | flag(f.cache.glc, 16) | flag(f.cache.dlc, 14) | data << 6 | base >> 1);
        self.out.push(soffset << 25 | offset);
        Ok(())
    }
}
