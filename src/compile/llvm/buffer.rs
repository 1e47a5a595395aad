//! Memory accessed through buffer descriptors: raw, by texel, and by vertex format.
//!
//! Intrinsics take no alignment and are never split, so an access is cut here into what its alignment and the
//! instruction's widths allow: one to four dwords (sixteen through the scalar cache), or single bytes and shorts.

use super::values::{Cx, Llvm, as_vector};
use crate::error::{Error, Result};
use crate::ir::{Access, Align, Bits, BufferKind, Type, Value};
use smallvec::SmallVec;

/// Cache policy bits of an instruction.
const GLC: u32 = 1;
const SLC: u32 = 2;
const DLC: u32 = 4;

/// Cache policy of a load: device coherence bypasses both levels that a workgroup or a shader array keeps to itself.
pub(super) fn load_policy(access: Access) -> u32 {
    let coherent = if access.coherent || access.volatile { GLC | DLC } else { 0 };
    coherent | if access.nontemporal { SLC } else { 0 }
}

/// Cache policy of a store or an atomic: both are seen by the device anyhow.
pub(super) fn store_policy(access: Access) -> u32 {
    if access.nontemporal { SLC } else { 0 }
}

/// Bytes of one piece of memory that an access of this alignment can move: 1, 2, or 4.
fn unit(align: Align, bytes: u32) -> u32 {
    let mut unit = align.bytes().min(4);
    while !bytes.is_multiple_of(unit) {
        unit /= 2;
    }
    unit
}

/// Cuts `n` units into runs of these lengths (longest first, ending in 1): start and length of each.
fn runs(n: u32, lengths: &[u32]) -> SmallVec<[(u32, u32); 4]> {
    let (mut out, mut at) = (SmallVec::new(), 0);
    while at < n {
        let len = lengths.iter().copied().find(|&l| l <= n - at).unwrap_or(1);
        out.push((at, len));
        at += len;
    }
    out
}

/// What memory holds of a type: truth values are 32 bits there.
pub(super) fn memory_type(ty: Type) -> Type {
    if ty.bits() == Bits::B1 { Type::vector(Bits::B32, ty.lanes()).unwrap_or(Type::B32) } else { ty }
}

impl<'c> Cx<'_, 'c> {
    /// A value out of what memory holds of it.
    pub fn of_memory_form(&self, v: Llvm<'c>, ty: Type) -> Result<Llvm<'c>> {
        if ty == Type::B1 {
            let v = self.cast(v, self.i32_type().into())?.into_int_value();
            return Ok(self.b.build_int_truncate(v, self.ctx.bool_type(), "")?.into());
        }
        self.cast(v, self.int_type(ty)?)
    }

    /// What memory holds of a value.
    pub fn memory_form(&self, v: Value) -> Result<Llvm<'c>> {
        match self.int(v)? {
            Llvm::IntValue(i) if self.shader.ty(v) == Type::B1 => Ok(self.widen(i)?.into()),
            other => Ok(other),
        }
    }

    fn at_offset(&self, offset: Value, add: u32) -> Result<Llvm<'c>> {
        let offset = self.i(offset)?;
        if add == 0 {
            return Ok(offset.into());
        }
        Ok(self.b.build_int_add(offset, self.c32(add), "")?.into())
    }

    pub fn buffer_load(
        &self,
        kind: BufferKind,
        align: Align,
        access: Access,
        args: &[Value],
        ty: Type,
    ) -> Result<Llvm<'c>> {
        let memory = memory_type(ty);
        let unit = unit(align, memory.bytes());
        let count = memory.bytes() / unit;
        let ordered = access.coherent || access.volatile;
        // The scalar cache neither sees writes nor takes a descriptor that differs between lanes.
        let unwritten = kind == BufferKind::Uniform || access.read_only;
        let scalar = unwritten && unit == 4 && !access.non_uniform && !ordered;
        let lengths: &[u32] = match (scalar, unit) {
            (true, _) => &[16, 8, 4, 2, 1],
            (false, 4) => &[4, 3, 2, 1],
            (false, _) => &[1],
        };
        let descriptor = self.int(Self::arg(args, 0)?)?;
        let element = self.int_bits(unit * 8)?;
        let mut parts: SmallVec<[Llvm<'c>; 8]> = SmallVec::new();
        let runs = runs(count, lengths);
        for &(start, len) in &runs {
            let run = if len == 1 { element.into() } else { element.vec_type(len).into() };
            let offset = self.at_offset(Self::arg(args, 1)?, start * unit)?;
            let (zero, policy) = (self.c32(0).into(), self.c32(load_policy(access)).into());
            let part = if scalar {
                self.call("llvm.amdgcn.s.buffer.load", &[run], &[descriptor, offset, policy])?
            } else {
                // The atomic form is never merged with its like.
                let name = if ordered { "llvm.amdgcn.raw.atomic.buffer.load" } else { "llvm.amdgcn.raw.buffer.load" };
                self.call(name, &[run], &[descriptor, offset, zero, policy])?
            };
            if runs.len() == 1 {
                return self.of_memory_form(part, ty);
            }
            parts.extend(self.lanes(part)?);
        }
        self.of_memory_form(self.gather(&parts)?, ty)
    }

    pub fn buffer_store(&self, align: Align, access: Access, args: &[Value]) -> Result<()> {
        let value = Self::arg(args, 2)?;
        let memory = memory_type(self.shader.ty(value));
        let unit = unit(align, memory.bytes());
        let count = memory.bytes() / unit;
        let element = self.int_bits(unit * 8)?;
        let whole = if count == 1 { element.into() } else { element.vec_type(count).into() };
        let parts = self.lanes(self.cast(self.memory_form(value)?, whole)?)?;
        let descriptor = self.int(Self::arg(args, 0)?)?;
        let lengths: &[u32] = if unit == 4 { &[4, 3, 2, 1] } else { &[1] };
        for (start, len) in runs(count, lengths) {
            let data = self.gather(parts.get(start as usize..(start + len) as usize).unwrap_or_default())?;
            let offset = self.at_offset(Self::arg(args, 1)?, start * unit)?;
            let (zero, policy) = (self.c32(0).into(), self.c32(store_policy(access)).into());
            self.call_void(
                "llvm.amdgcn.raw.buffer.store",
                &[data.get_type()],
                &[data, descriptor, offset, zero, policy],
            )?;
        }
        Ok(())
    }

    /// Bytes of the bound range: dword 2 of the descriptor.
    pub fn buffer_size(&self, args: &[Value]) -> Result<Llvm<'c>> {
        self.lane(as_vector(self.int(Self::arg(args, 0)?)?)?, 2)
    }

    pub fn texel_load(&self, access: Access, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        let data = self.f32_vector(channels(ty)?);
        let (descriptor, index) = (self.int(Self::arg(args, 0)?)?, self.int(Self::arg(args, 1)?)?);
        let (zero, policy) = (self.c32(0).into(), self.c32(load_policy(access)).into());
        self.call("llvm.amdgcn.struct.buffer.load.format", &[data], &[descriptor, index, zero, zero, policy])
    }

    pub fn texel_store(&self, access: Access, args: &[Value]) -> Result<()> {
        let value = Self::arg(args, 2)?;
        let data = self.cast(self.value(value)?, self.f32_vector(channels(self.shader.ty(value))?))?;
        let (descriptor, index) = (self.int(Self::arg(args, 0)?)?, self.int(Self::arg(args, 1)?)?);
        let (zero, policy) = (self.c32(0).into(), self.c32(store_policy(access)).into());
        let args = [data, descriptor, index, zero, zero, policy];
        self.call_void("llvm.amdgcn.struct.buffer.store.format", &[data.get_type()], &args)
    }

    pub fn typed_load(&self, format: u8, offset: u32, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        let data = self.f32_vector(channels(ty)?);
        let (descriptor, index) = (self.int(Self::arg(args, 0)?)?, self.int(Self::arg(args, 1)?)?);
        let (zero, offset) = (self.c32(0).into(), self.c32(offset).into());
        let format = self.c32(u32::from(format)).into();
        let args = [descriptor, index, offset, zero, format, zero];
        self.call("llvm.amdgcn.struct.tbuffer.load", &[data], &args)
    }
}

/// Channels of a converted texel.
fn channels(ty: Type) -> Result<u32> {
    if ty.bits() == Bits::B32 && ty.lanes() <= 4 {
        Ok(ty.lanes())
    } else {
        Err(Error::bug(format!("a texel of type {ty}")))
    }
}
