//! Decodes scalar instructions and scalar memory: SOP1, SOP2, SOPC, SOPK, SOPP, SMEM.

use super::{Read, Reader, scalars};
use crate::instruction::{Fields, ScalarFields, SmemFields};
use crate::layout::CodeField;
use crate::{CachePolicy, Format, Op, Scalar, Src, Traits};
use dovetail_base::error::Result;

impl Reader<'_> {
    pub(super) fn scalar(&mut self, format: Format) -> Result<Read> {
        let isa = self.isa;
        let layout = isa.layout.scalar(format).unwrap_or(&isa.layout.sop2);
        let entry = self.entry(format, layout.op)?;
        let mut fields = ScalarFields { dst: None, srcs: [None; 3], imm: self.get(layout.imm) as u16 };
        if !entry.dst.is_empty() {
            fields.dst = Some(self.scalar_of(layout.dst)?);
        }
        if format == Format::Sopk {
            let literal = if entry.op == Op::SSetregImm32B32 { Some(self.take()?) } else { None };
            let of_register = if entry.src.is_empty() { None } else { Some(self.scalar_of(layout.dst)?) };
            fields.srcs[0] = literal.map(Src::Literal).or(of_register.map(Src::Scalar));
        } else if entry.is(Traits::MESSAGE) && format == Format::Sop1 {
            fields.imm = self.get(layout.srcs[0]) as u16;
        } else {
            let codes = layout.srcs.map(|field| self.get(field));
            let named = |n: usize| layout.srcs[n] != CodeField::NONE && n < entry.src.len();
            for n in (0..2).filter(|n| named(*n)) {
                fields.srcs[n] = Some(self.source(codes[n])?);
            }
            if entry.is(Traits::CONSTANT_SECOND.or(Traits::CONSTANT_THIRD)) {
                // It always follows, and another operand may use it too.
                let constant = Some(Src::Literal(self.take()?));
                let [first, second, _] = fields.srcs;
                let second_is = entry.is(Traits::CONSTANT_SECOND);
                fields.srcs = if second_is { [first, constant, second] } else { [first, second, constant] };
            } else {
                self.pass_literal(&codes[..entry.src.len().min(codes.len())])?;
            }
        }
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
        let layout = &self.isa.layout.smem;
        let entry = self.entry(Format::Smem, layout.op)?;
        let prefetches = entry.is(Traits::PREFETCHES);
        if entry.is(Traits::INVALIDATES.or(Traits::NO_ADDRESS)) && !prefetches {
            // Without an address, its fields are ignored.
            let data = if entry.dst.is_empty() { Scalar::Null } else { self.scalar_of(layout.data)? };
            scalars(data, entry.data_registers())?;
            let (base, cache) = (Scalar::Null, CachePolicy::default());
            return Ok((entry, Fields::Smem(SmemFields { data, base, offset: 0, soffset: None, cache })));
        }
        let data = if entry.is(Traits::NO_DATA) { Scalar::Null } else { self.scalar_of(layout.data)? };
        scalars(data, entry.data_registers())?;
        let fields = SmemFields {
            data,
            base: if entry.is(Traits::NO_ADDRESS) {
                Scalar::Null
            } else {
                self.scalar_code(self.get(layout.base) << 1)?
            },
            offset: layout.offset.number(self.word),
            soffset: Some(self.scalar_of(layout.soffset)?).filter(|s| *s != Scalar::Null),
            cache: if prefetches { CachePolicy::default() } else { self.cache(&layout.cache) },
        };
        Ok((entry, Fields::Smem(fields)))
    }
}
