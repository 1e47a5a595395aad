//! Decodes scalar instructions and scalar memory: SOP1, SOP2, SOPC, SOPK, SOPP, SMEM.

use super::{Read, Reader, bit, bits, low16, scalar, scalars};
use crate::error::Result;
use crate::isa::instruction::{Fields, ScalarFields, SmemFields};
use crate::isa::{CachePolicy, Format, Op, Scalar, Src, Traits};

impl Reader<'_> {
    pub(super) fn scalar(&mut self) -> Result<Read> {
        let word = self.word;
        let (low, high, dst) = (bits(word, 7, 0), bits(word, 15, 8), bits(word, 22, 16));
        let imm = low16(word);
        let none = ScalarFields { dst: None, srcs: [None; 2], imm: 0 };
        let (entry, fields) = match bits(word, 31, 23) {
            0b1_0111_1101 => {
                let entry = self.entry(Format::Sop1, high)?;
                let dst = if entry.dst.is_empty() { None } else { Some(scalar(dst)?) };
                let src = if entry.src.is_empty() { None } else { Some(self.source(low)?) };
                if src.is_some() {
                    self.pass_literal(&[low])?;
                }
                (entry, ScalarFields { dst, srcs: [src, None], ..none })
            }
            0b1_0111_1110 => {
                let entry = self.entry(Format::Sopc, dst)?;
                let srcs = [Some(self.source(low)?), Some(self.source(high)?)];
                self.pass_literal(&[low, high])?;
                (entry, ScalarFields { srcs, ..none })
            }
            0b1_0111_1111 => (self.entry(Format::Sopp, dst)?, ScalarFields { imm, ..none }),
            top if top >> 5 == 0b1011 => {
                let entry = self.entry(Format::Sopk, bits(word, 27, 23))?;
                let register = scalar(dst)?;
                let literal = if entry.op == Op::SSetregImm32B32 { Some(self.take()?) } else { None };
                let of_register = (!entry.src.is_empty()).then_some(Src::Scalar(register));
                let src = literal.map(Src::Literal).or(of_register);
                let dst = if entry.dst.is_empty() { None } else { Some(register) };
                (entry, ScalarFields { dst, srcs: [src, None], imm })
            }
            _ => {
                let entry = self.entry(Format::Sop2, bits(word, 29, 23))?;
                let srcs = [Some(self.source(low)?), Some(self.source(high)?)];
                self.pass_literal(&[low, high])?;
                (entry, ScalarFields { dst: Some(scalar(dst)?), srcs, ..none })
            }
        };
        if let (Some(dst), Some(kind)) = (fields.dst, entry.dst.first()) {
            scalars(dst, kind.registers())?;
        }
        for (src, kind) in fields.srcs.iter().zip(entry.src) {
            if let Some(Src::Scalar(s)) = src {
                scalars(*s, kind.registers())?;
            }
        }
        Ok((entry, Fields::Scalar(fields)))
    }

    pub(super) fn smem(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let entry = self.entry(Format::Smem, bits(word, 25, 18))?;
        if entry.is(Traits::INVALIDATES.or(Traits::TIMER)) {
            // Without an address, its fields are ignored.
            let data = if entry.dst.is_empty() { Scalar::Null } else { scalar(bits(word, 12, 6))? };
            scalars(data, entry.data_registers())?;
            let (base, cache) = (Scalar::Null, CachePolicy::default());
            return Ok((entry, Fields::Smem(SmemFields { data, base, offset: 0, soffset: None, cache })));
        }
        let base = scalar(bits(word, 5, 0) << 1)?;
        let data = scalar(bits(word, 12, 6))?;
        scalars(data, entry.data_registers())?;
        let fields = SmemFields {
            data,
            base,
            // Sign extension from 21 bits.
            offset: (second << 11).cast_signed() >> 11,
            soffset: Some(scalar(bits(second, 31, 25))?).filter(|s| *s != Scalar::Null),
            cache: CachePolicy { glc: bit(word, 16), dlc: bit(word, 14), slc: false },
        };
        Ok((entry, Fields::Smem(fields)))
    }
}
